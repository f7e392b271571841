/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/folders/dir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"
#include "base/str.h"
#include "local/scratch.h"

struct fixture {
	char *scratch;
	char *before; /* TMPDIR */
	char *base;   /* where runs make their folders */
};

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));

	fixture->before = rh_strdup(getenv("TMPDIR"));
	fixture->scratch = test_scratch();
	fixture->base = rh_asprintf("%s/roundhouse-%u", fixture->scratch, (unsigned)geteuid());
	*state = fixture;
	return setenv("TMPDIR", fixture->scratch, 1);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->before)
		(void)setenv("TMPDIR", fixture->before, 1);
	else
		(void)unsetenv("TMPDIR");
	test_scratch_remove(fixture->scratch);
	rh_free(fixture->before);
	rh_free(fixture->base);
	rh_free(fixture);
	return 0;
}

static struct rh_run_dir *open_dir(void)
{
	struct rh_run_dir *dir = NULL;
	struct rh_error err = {0};

	if (rh_run_dir_new(&dir, &err) < 0)
		fail_msg("%s", err.message);
	return dir;
}

static void test_dir__is_private_and_goes(void **state)
{
	struct fixture *fixture = *state;
	struct rh_run_dir *dir = open_dir();
	struct stat st;

	assert_int_equal(stat(rh_run_dir_path(dir), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(strncmp(rh_run_dir_path(dir), fixture->base, strlen(fixture->base)), 0);
	test_scratch_append(rh_run_dir_path(dir), "file", "x", 1);
	rh_run_dir_free(dir);
	assert_int_equal(test_scratch_count(fixture->scratch), 0);
}

static void test_dir__two_at_a_time(void **state)
{
	struct fixture *fixture = *state;
	struct rh_run_dir *one = open_dir();
	struct rh_run_dir *two = open_dir();

	assert_string_not_equal(rh_run_dir_path(one), rh_run_dir_path(two));
	assert_int_equal(test_scratch_count(fixture->base), 2);
	rh_run_dir_free(one);
	assert_int_equal(test_scratch_count(fixture->base), 1);
	rh_run_dir_free(two);
	assert_int_equal(test_scratch_count(fixture->scratch), 0);
}

static void note_dir(void *arg, const char *path)
{
	rh_str_appendf(arg, "%s\n", path);
}

static void test_dir__lists_all(void **state)
{
	struct fixture *fixture = *state;
	rh_auto_str reported = {0};
	rh_auto_free char *foreign = rh_path_join(fixture->base, "other");
	struct rh_run_dir *one;
	struct rh_run_dir *two;

	assert_int_equal(rh_run_dir_each(note_dir, &reported), 0);
	assert_string_equal(rh_str_text(&reported), "");
	one = open_dir();
	two = open_dir();
	assert_int_equal(mkdir(foreign, 0700), 0);
	assert_int_equal(rh_run_dir_each(note_dir, &reported), 0);
	assert_non_null(strstr(rh_str_text(&reported), rh_run_dir_path(one)));
	assert_non_null(strstr(rh_str_text(&reported), rh_run_dir_path(two)));
	assert_int_equal(reported.length, strlen(rh_run_dir_path(one)) + strlen(rh_run_dir_path(two)) + 2);
	rh_mem_fail_after(0);
	assert_int_equal(rh_run_dir_each(note_dir, &reported), RH_ENOMEM);
	rh_mem_fail_after(1);
	assert_int_equal(rh_run_dir_each(note_dir, &reported), RH_ENOMEM);
	rh_mem_fail_after(-1);
	rh_run_dir_free(one);
	rh_run_dir_free(two);
}

/* A child that makes a folder with a file in it and is killed. */
static void leave_a_folder(void)
{
	int pipes[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		struct rh_run_dir *dir = NULL;

		if (rh_run_dir_new(&dir, NULL) < 0 || mkdirat(open(rh_run_dir_path(dir), O_RDONLY), "pods", 0700) < 0)
			_exit(1);
		(void)!write(pipes[1], "x", 1);
		for (;;)
			(void)pause();
	}
	(void)close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	(void)close(pipes[0]);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_dir__what_killed_runs_left_goes(void **state)
{
	struct fixture *fixture = *state;
	struct rh_run_dir *alive = open_dir();
	struct rh_run_dir *dir;

	leave_a_folder();
	assert_int_equal(test_scratch_count(fixture->base), 2);
	dir = open_dir();
	assert_int_equal(test_scratch_count(fixture->base), 2);
	assert_int_equal(access(rh_run_dir_path(alive), F_OK), 0);
	rh_run_dir_free(alive);
	rh_run_dir_free(dir);
	assert_int_equal(test_scratch_count(fixture->scratch), 0);
}

static void test_dir__folder_of_a_starting_run_stays(void **state)
{
	struct fixture *fixture = *state;
	rh_auto_free char *young = rh_path_join(fixture->base, "run-young");
	rh_auto_free char *old = rh_path_join(fixture->base, "run-old");
	rh_auto_free char *foreign = rh_path_join(fixture->base, "other");
	const struct timespec hour_ago[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
	struct rh_run_dir *dir;

	assert_int_equal(mkdir(fixture->base, 0700), 0);
	assert_int_equal(mkdir(young, 0700), 0);
	assert_int_equal(mkdir(old, 0700), 0);
	assert_int_equal(mkdir(foreign, 0700), 0);
	assert_int_equal(utimensat(AT_FDCWD, old, hour_ago, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, foreign, hour_ago, 0), 0);
	dir = open_dir();
	assert_int_equal(access(young, F_OK), 0);
	assert_int_equal(access(foreign, F_OK), 0);
	assert_int_equal(access(old, F_OK), -1);
	rh_run_dir_free(dir);
}

static void test_dir__foreign_place_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct rh_run_dir *dir = NULL;
	struct rh_error err = {0};

	assert_int_equal(symlink("/etc", fixture->base), 0);
	assert_int_equal(rh_run_dir_new(&dir, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, fixture->base));
	rh_run_dir_free(NULL);
}

static void test_dir__without_memory(void **state)
{
	struct fixture *fixture = *state;
	int r = RH_ENOMEM;

	for (long count = 0; count < 50 && r < 0; count++) {
		struct rh_run_dir *dir = NULL;

		(void)rh_mem_fail_after(count);
		r = rh_run_dir_new(&dir, NULL);
		(void)rh_mem_fail_after(-1);
		rh_run_dir_free(dir);
	}
	assert_int_equal(r, 0);
	assert_int_equal(test_scratch_count(fixture->scratch), 0);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_dir__is_private_and_goes),
		ROW(test_dir__two_at_a_time),
		ROW(test_dir__what_killed_runs_left_goes),
		ROW(test_dir__folder_of_a_starting_run_stays),
		ROW(test_dir__foreign_place_is_refused),
		ROW(test_dir__without_memory),
		ROW(test_dir__lists_all),
	};

	return cmocka_run_group_tests_name("local/run_dir", tests, NULL, NULL);
}
