/* SPDX-License-Identifier: Apache-2.0 */
#include "local/holds.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"
#include "local/scratch.h"

static struct rh_holds *open_holds(const char *folder)
{
	struct rh_holds *holds = NULL;
	struct rh_error err = {0};

	if (rh_holds_open(folder, &holds, &err) < 0)
		fail_msg("%s", err.message);
	return holds;
}

static void test_holds__numbers_exclude_each_other(void **state)
{
	char *folder = test_scratch();
	struct rh_holds *one = open_holds(folder);
	struct rh_holds *two = open_holds(folder);

	(void)state;
	assert_true(rh_holds_take(one, RH_HOLD_PORT + 20000));
	assert_false(rh_holds_take(two, RH_HOLD_PORT + 20000));
	assert_true(rh_holds_take(two, RH_HOLD_PORT + 20001));
	assert_true(rh_holds_take(two, RH_HOLD_BLOCK + 20000));
	rh_holds_drop(one, RH_HOLD_PORT + 20000);
	assert_true(rh_holds_take(two, RH_HOLD_PORT + 20000));
	assert_false(rh_holds_take(one, RH_HOLD_PORT + 20000));
	rh_holds_free(two);
	assert_true(rh_holds_take(one, RH_HOLD_PORT + 20000));
	rh_holds_free(one);
	test_scratch_remove(folder);
}

static void test_holds__last_user_removes_the_file(void **state)
{
	char *folder = test_scratch();
	struct rh_holds *one = open_holds(folder);
	struct rh_holds *two = open_holds(folder);

	(void)state;
	assert_int_equal(test_scratch_count(folder), 1);
	rh_holds_free(one);
	assert_int_equal(test_scratch_count(folder), 1);
	rh_holds_free(two);
	assert_int_equal(test_scratch_count(folder), 0);
	test_scratch_remove(folder);
}

/* A child that takes a number, says so, and waits to be killed. */
static pid_t holder_start(const char *folder, int64_t number)
{
	int pipes[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		struct rh_holds *holds = NULL;

		(void)close(pipes[0]);
		if (rh_holds_open(folder, &holds, NULL) < 0 || !rh_holds_take(holds, number))
			_exit(1);
		(void)!write(pipes[1], "x", 1);
		for (;;)
			(void)pause();
	}
	(void)close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	(void)close(pipes[0]);
	return pid;
}

static void test_holds__end_with_the_process(void **state)
{
	char *folder = test_scratch();
	pid_t pid = holder_start(folder, RH_HOLD_GPU);
	struct rh_holds *holds = open_holds(folder);

	(void)state;
	assert_false(rh_holds_take(holds, RH_HOLD_GPU));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(rh_holds_take(holds, RH_HOLD_GPU));
	rh_holds_free(holds);
	assert_int_equal(test_scratch_count(folder), 0);
	test_scratch_remove(folder);
}

static void test_holds__folder_is_made_private(void **state)
{
	char *folder = test_scratch();
	rh_auto_free char *inner = rh_path_join(folder, "a");
	struct stat st;

	(void)state;
	assert_int_equal(rh_holds_folder(inner, NULL), 0);
	assert_int_equal(stat(inner, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	test_scratch_remove(folder);
}

/* A user may name any folder, /tmp for one, and be root. */
static void test_holds__mode_of_a_folder_is_left_alone(void **state)
{
	static const struct {
		mode_t mode;
		int result;
	} rows[] = {{0755, 0}, {0750, 0}, {0777, RH_EINVAL}, {01777, RH_EINVAL}, {0720, RH_EINVAL}};
	char *folder = test_scratch();
	rh_auto_free char *inner = rh_path_join(folder, "a");

	(void)state;
	assert_int_equal(mkdir(inner, 0700), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		struct stat st;

		assert_int_equal(chmod(inner, rows[i].mode), 0);
		assert_int_equal(rh_holds_folder(inner, &err), rows[i].result);
		assert_int_equal(stat(inner, &st), 0);
		assert_int_equal(st.st_mode & 07777, rows[i].mode);
		assert_true(rows[i].result == 0 || strstr(err.message, "others may write into"));
	}
	test_scratch_remove(folder);
}

static void test_holds__foreign_folder_is_refused(void **state)
{
	char *folder = test_scratch();
	rh_auto_free char *link_path = rh_path_join(folder, "link");
	struct rh_holds *holds = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(symlink(folder, link_path), 0);
	assert_int_equal(rh_holds_open(link_path, &holds, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "is not a folder of this user"));
	test_scratch_remove(folder);
}

static void test_holds__without_memory(void **state)
{
	char *folder = test_scratch();
	int r = RH_ENOMEM;

	(void)state;
	for (long count = 0; count < 100 && r < 0; count++) {
		struct rh_holds *holds = NULL;

		(void)rh_mem_fail_after(count);
		r = rh_holds_open(folder, &holds, NULL);
		(void)rh_mem_fail_after(-1);
		rh_holds_free(holds);
	}
	assert_int_equal(r, 0);
	test_scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holds__numbers_exclude_each_other),
		cmocka_unit_test(test_holds__last_user_removes_the_file),
		cmocka_unit_test(test_holds__end_with_the_process),
		cmocka_unit_test(test_holds__folder_is_made_private),
		cmocka_unit_test(test_holds__mode_of_a_folder_is_left_alone),
		cmocka_unit_test(test_holds__foreign_folder_is_refused),
		cmocka_unit_test(test_holds__without_memory),
	};

	return cmocka_run_group_tests_name("local/holds", tests, NULL, NULL);
}
