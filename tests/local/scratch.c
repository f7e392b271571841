/* SPDX-License-Identifier: Apache-2.0 */
#include "local/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"

char *test_scratch(void)
{
	const char *above = getenv("TMPDIR");
	char *path = rh_asprintf("%s/roundhouse-test-XXXXXX", above && *above ? above : "/tmp");

	assert_non_null(path);
	assert_non_null(mkdtemp(path));
	return path;
}

void test_scratch_remove(char *folder)
{
	struct rh_error err = {0};

	if (rh_dir_remove(folder, &err) < 0)
		fail_msg("%s", err.message);
	rh_free(folder);
}

void test_scratch_append(const char *folder, const char *name, const char *text, size_t length)
{
	rh_auto_free char *path = rh_path_join(folder, name);
	rh_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(rh_fd_write_all(fd, text, length, NULL), 0);
}

size_t test_scratch_count(const char *folder)
{
	DIR *open_folder = opendir(folder);
	const struct dirent *entry;
	size_t count = 0;

	while (open_folder && (entry = readdir(open_folder)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 ? 1 : 0;
	if (open_folder)
		(void)closedir(open_folder);
	return count;
}
