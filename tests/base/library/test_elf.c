/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static int reads;

ssize_t __real_pread(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at);

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at)
{
	reads++;
	return __real_pread(fd, to, size, at);
}

struct found {
	int texts;
	int libc;
};

static int find(void *arg, int64_t tag, const char *text)
{
	struct found *found = arg;

	found->texts++;
	found->libc += tag == DT_NEEDED && strncmp(text, "libc.so.", 8) == 0;
	return 0;
}

/* Headers are together at the start, so they are read at once; then the dynamic section, and each text. */
static void test_elf__the_headers_are_read_once(void **state)
{
	struct found found = {0};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(rh_elf_each_link(fd, find, &found), 0);
	(void)close(fd);
	assert_int_equal(found.libc, 1);
	assert_int_equal(reads, 2 + found.texts);
}

/* Files that end within what their headers promise, at each of the first bytes. */
static void test_elf__a_file_that_is_cut(void **state)
{
	char start[4096];
	int whole = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(__real_pread(whole, start, sizeof(start), 0), sizeof(start));
	(void)close(whole);
	for (size_t size = 0; size < sizeof(start); size += 7) {
		struct found found = {0};
		char path[] = "/tmp/roundhouse-test-elf-XXXXXX";
		int fd = mkstemp(path);

		assert_true(fd >= 0);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(write(fd, start, size), size);
		(void)rh_elf_each_link(fd, find, &found); /* whatever it says, it reads nothing that is not there */
		assert_int_equal(found.texts, 0);
		(void)close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf__the_headers_are_read_once),
		cmocka_unit_test(test_elf__a_file_that_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
