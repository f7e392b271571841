/* SPDX-License-Identifier: Apache-2.0 */
#include "local/locks.h"

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

static struct rh_locks *open_locks(const char *folder)
{
	struct rh_locks *locks = NULL;
	struct rh_error err = {0};

	if (rh_locks_open(folder, &locks, &err) < 0)
		fail_msg("%s", err.message);
	return locks;
}

static void test_locks__numbers_exclude_each_other(void **state)
{
	char *folder = test_scratch();
	struct rh_locks *one = open_locks(folder);
	struct rh_locks *two = open_locks(folder);

	(void)state;
	assert_true(rh_locks_take(one, RH_LOCK_PORT + 20000));
	assert_false(rh_locks_take(two, RH_LOCK_PORT + 20000));
	assert_true(rh_locks_take(two, RH_LOCK_PORT + 20001));
	assert_true(rh_locks_take(two, RH_LOCK_BLOCK + 20000));
	rh_locks_drop(one, RH_LOCK_PORT + 20000);
	assert_true(rh_locks_take(two, RH_LOCK_PORT + 20000));
	assert_false(rh_locks_take(one, RH_LOCK_PORT + 20000));
	rh_locks_free(two);
	assert_true(rh_locks_take(one, RH_LOCK_PORT + 20000));
	rh_locks_free(one);
	test_scratch_remove(folder);
}

static void test_locks__last_user_removes_the_file(void **state)
{
	char *folder = test_scratch();
	struct rh_locks *one = open_locks(folder);
	struct rh_locks *two = open_locks(folder);

	(void)state;
	assert_int_equal(test_scratch_count(folder), 1);
	rh_locks_free(one);
	assert_int_equal(test_scratch_count(folder), 1);
	rh_locks_free(two);
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
		struct rh_locks *locks = NULL;

		(void)close(pipes[0]);
		if (rh_locks_open(folder, &locks, NULL) < 0 || !rh_locks_take(locks, number))
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

static void test_locks__end_with_the_process(void **state)
{
	char *folder = test_scratch();
	pid_t pid = holder_start(folder, RH_LOCK_GPU);
	struct rh_locks *locks = open_locks(folder);

	(void)state;
	assert_false(rh_locks_take(locks, RH_LOCK_GPU));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(rh_locks_take(locks, RH_LOCK_GPU));
	rh_locks_free(locks);
	assert_int_equal(test_scratch_count(folder), 0);
	test_scratch_remove(folder);
}

static void test_locks__folder_is_made_private(void **state)
{
	char *folder = test_scratch();
	rh_auto_free char *inner = rh_path_join(folder, "a");
	struct stat st;

	(void)state;
	assert_int_equal(rh_locks_folder(inner, NULL), 0);
	assert_int_equal(stat(inner, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	test_scratch_remove(folder);
}

/* Runs that begin while others end share the folder, which the last user removes. */
static void test_locks__folder_is_removed_meanwhile(void **state)
{
	char *folder = test_scratch();
	rh_auto_free char *inner = rh_path_join(folder, "a");
	struct rh_error err = {0};
	pid_t child = fork();
	int r = 0;

	(void)state;
	while (child == 0 && getppid() != 1)
		(void)rmdir(inner);
	for (int i = 0; i < 20000 && r == 0; i++)
		r = rh_locks_folder(inner, &err);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	if (r < 0)
		fail_msg("%s", err.message);
	test_scratch_remove(folder);
}

/* A user may name any folder, /tmp for one, and be root. */
static void test_locks__mode_of_a_folder_is_left_alone(void **state)
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
		assert_int_equal(rh_locks_folder(inner, &err), rows[i].result);
		assert_int_equal(stat(inner, &st), 0);
		assert_int_equal(st.st_mode & 07777, rows[i].mode);
		assert_true(rows[i].result == 0 || strstr(err.message, "others may write into"));
	}
	test_scratch_remove(folder);
}

static void test_locks__foreign_folder_is_refused(void **state)
{
	char *folder = test_scratch();
	rh_auto_free char *link_path = rh_path_join(folder, "link");
	struct rh_locks *locks = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(symlink(folder, link_path), 0);
	assert_int_equal(rh_locks_open(link_path, &locks, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "is not a folder of this user"));
	test_scratch_remove(folder);
}

static void test_locks__without_memory(void **state)
{
	char *folder = test_scratch();
	int r = RH_ENOMEM;

	(void)state;
	for (long count = 0; count < 100 && r < 0; count++) {
		struct rh_locks *locks = NULL;

		(void)rh_mem_fail_after(count);
		r = rh_locks_open(folder, &locks, NULL);
		(void)rh_mem_fail_after(-1);
		rh_locks_free(locks);
	}
	assert_int_equal(r, 0);
	test_scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locks__numbers_exclude_each_other),
		cmocka_unit_test(test_locks__last_user_removes_the_file),
		cmocka_unit_test(test_locks__end_with_the_process),
		cmocka_unit_test(test_locks__folder_is_made_private),
		cmocka_unit_test(test_locks__folder_is_removed_meanwhile),
		cmocka_unit_test(test_locks__mode_of_a_folder_is_left_alone),
		cmocka_unit_test(test_locks__foreign_folder_is_refused),
		cmocka_unit_test(test_locks__without_memory),
	};

	return cmocka_run_group_tests_name("local/locks", tests, NULL, NULL);
}
