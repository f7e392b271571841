/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/notify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"

/* A folder that is watched, by a loop that ends with the first change. */
struct watched {
	char folder[64];
	struct rh_loop *loop;
	struct rh_notify *notify;
	int changes;
};

static void on_change(void *arg)
{
	struct watched *watched = arg;

	watched->changes++;
	rh_loop_stop(watched->loop);
}

static int open_folder(void **state)
{
	struct watched *watched = rh_alloc(sizeof(*watched));

	assert_non_null(watched);
	(void)snprintf(watched->folder, sizeof(watched->folder), "/tmp/rh-notify-XXXXXX");
	assert_non_null(mkdtemp(watched->folder));
	assert_int_equal(rh_loop_new(&watched->loop, NULL), 0);
	assert_int_equal(rh_notify_new(watched->loop, on_change, watched, &watched->notify, NULL), 0);
	*state = watched;
	return 0;
}

static int close_folder(void **state)
{
	struct watched *watched = *state;

	rh_notify_free(watched->notify);
	rh_loop_free(watched->loop);
	assert_int_equal(rh_dir_remove(watched->folder, NULL), 0);
	rh_free(watched);
	return 0;
}

static char *path_in(const struct watched *watched, const char *name)
{
	char *path = rh_path_join(watched->folder, name);

	assert_non_null(path);
	return path;
}

static void write_in(const struct watched *watched, const char *name)
{
	rh_auto_free char *path = path_in(watched, name);
	rh_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
}

static void test_notify__reports_a_file_that_was_written(void **state)
{
	struct watched *watched = *state;

	assert_int_equal(rh_notify_add(watched->notify, watched->folder, NULL), 0);
	write_in(watched, "a.so");
	rh_loop_run(watched->loop);
	assert_int_equal(watched->changes, 1);
}

/* As the kubelet does it: the files are links through ..data, which is replaced by a rename. */
static void test_notify__reports_the_swap_of_a_mounted_folder(void **state)
{
	struct watched *watched = *state;
	rh_auto_free char *one = path_in(watched, "..1"), *two = path_in(watched, "..2");
	rh_auto_free char *data = path_in(watched, "..data"), *new_data = path_in(watched, "..data_tmp");

	assert_int_equal(mkdir(one, 0700), 0);
	assert_int_equal(mkdir(two, 0700), 0);
	assert_int_equal(symlink("..1", data), 0);
	assert_int_equal(symlink("..2", new_data), 0);
	assert_int_equal(rh_notify_add(watched->notify, watched->folder, NULL), 0);
	assert_int_equal(rename(new_data, data), 0);
	rh_loop_run(watched->loop);
	assert_int_equal(watched->changes, 1);
}

static void test_notify__watches_the_folder_that_took_the_place_of_another(void **state)
{
	struct watched *watched = *state;
	rh_auto_free char *folder = path_in(watched, "plugins"), *away = path_in(watched, "away");

	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(rh_notify_add(watched->notify, folder, NULL), 0);
	assert_int_equal(rename(folder, away), 0);
	rh_loop_run(watched->loop);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(rh_notify_add(watched->notify, folder, NULL), 0);
	watched->changes = 0;
	write_in(watched, "plugins/a.so");
	rh_loop_run(watched->loop);
	assert_int_equal(watched->changes, 1);
}

static void test_notify__refuses_what_is_no_folder(void **state)
{
	struct watched *watched = *state;
	rh_auto_free char *missing = path_in(watched, "missing"), *file = path_in(watched, "file");
	struct rh_error err = {0};

	assert_int_equal(rh_notify_add(watched->notify, missing, &err), RH_ENOENT);
	assert_non_null(strstr(err.message, missing));
	write_in(watched, "file");
	assert_int_equal(rh_notify_add(watched->notify, file, NULL), RH_ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_notify__reports_a_file_that_was_written, open_folder, close_folder),
		cmocka_unit_test_setup_teardown(test_notify__reports_the_swap_of_a_mounted_folder, open_folder, close_folder),
		cmocka_unit_test_setup_teardown(test_notify__watches_the_folder_that_took_the_place_of_another, open_folder,
	                                    close_folder),
		cmocka_unit_test_setup_teardown(test_notify__refuses_what_is_no_folder, open_folder, close_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
