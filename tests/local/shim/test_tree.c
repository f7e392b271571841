/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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
#include "local/shim/harness.h"

/* A process that waits to be killed. */
static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	return pid;
}

/* A child with `depth` descendants below it in a row; each in a session of its own. */
static pid_t start_chain(int depth)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)setsid();
	if (depth > 0)
		(void)start_chain(depth - 1);
	for (;;)
		(void)pause();
}

static void reap_all(void)
{
	int cursor = 0;

	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return;
		if (pid == 0 && !test_shim_pause(&cursor))
			fail_msg("children do not end");
	}
}

static size_t await_count(size_t count)
{
	rh_auto_shim_tree tree = {0};
	int cursor = 0;

	do
		assert_int_equal(rh_shim_tree_scan(&tree), 0);
	while (tree.count != count && test_shim_pause(&cursor));
	return tree.count;
}

static int set_up(void **state)
{
	(void)state;
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int tear_down(void **state)
{
	(void)state;
	(void)rh_shim_tree_signal_all(SIGKILL);
	reap_all();
	return prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void test_tree__is_empty_without_children(void **state)
{
	rh_auto_shim_tree tree = {0};

	(void)state;
	assert_int_equal(rh_shim_tree_scan(&tree), 0);
	assert_int_equal(tree.count, 0);
	assert_int_equal(rh_shim_tree_signal_all(SIGKILL), 0);
}

static void test_tree__finds_parents_before_children(void **state)
{
	rh_auto_shim_tree tree = {0};
	pid_t first;

	(void)state;
	first = start_chain(5);
	assert_int_equal(await_count(6), 6);
	assert_int_equal(rh_shim_tree_scan(&tree), 0);
	assert_int_equal(tree.items[0].pid, first);
	assert_int_equal(tree.items[0].parent, getpid());
	assert_true(tree.items[0].above == SIZE_MAX);
	for (size_t i = 1; i < tree.count; i++) {
		assert_int_equal(tree.items[i].above, i - 1);
		assert_int_equal(tree.items[i].parent, tree.items[i - 1].pid);
		/* the one above has a child, so it had its setsid() before */
		assert_int_equal(tree.items[i - 1].session, tree.items[i - 1].pid);
		assert_int_equal(tree.items[i].owner, -1);
	}
}

static void test_tree__leaves_out_the_dead(void **state)
{
	pid_t pid;

	(void)state;
	pid = start_sleeper();
	(void)start_sleeper();
	assert_int_equal(await_count(2), 2);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(await_count(1), 1);
}

static void test_tree__signals_all(void **state)
{
	(void)state;
	(void)start_chain(3);
	for (int i = 0; i < 20; i++)
		(void)start_sleeper();
	assert_int_equal(await_count(24), 24);
	assert_int_equal(rh_shim_tree_signal_all(SIGKILL), 24);
	reap_all();
	assert_int_equal(await_count(0), 0);
}

/* Forks and ends, over and over: the signal for one generation finds the next. Ends by itself in the end, so that a bug
 * here does not eat the machine.
 */
static void run_storm(void)
{
	for (int generation = 0; generation < 10000; generation++) {
		if (fork() != 0)
			_exit(0);
		(void)usleep(2000);
	}
	_exit(0);
}

/* Its children fork while they are killed; the signal is repeated until no process is left, as a shim does. */
static void test_tree__outruns_a_fork_storm(void **state)
{
	int rounds = 0;
	pid_t pid;

	(void)state;
	for (int i = 0; i < 4; i++) {
		if (fork() == 0)
			run_storm();
	}
	do {
		(void)rh_shim_tree_signal_all(SIGKILL);
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			continue;
	} while (pid == 0 && ++rounds < 5000);
	/* no child is left: a look at /proc could miss one that is just changing its parent */
	assert_int_equal(pid, -1);
}

/* Whether SIGUSR1, which the process has blocked, waits for it. */
static bool has_pending_signal(pid_t pid)
{
	rh_auto_free char *path = rh_asprintf("/proc/%d/status", (int)pid);
	rh_auto_free char *text = NULL;
	unsigned long long mask = 0;
	const char *line;

	assert_int_equal(rh_file_read(path, 10000, &text, NULL, NULL), 0);
	line = strstr(text, "ShdPnd:");
	assert_non_null(line);
	assert_int_equal(sscanf(line, "ShdPnd: %llx", &mask), 1);
	return (mask >> (SIGUSR1 - 1) & 1) != 0;
}

/* A number that was seen below one process and now stands below another belongs to somebody else. */
static void test_tree__spares_who_took_the_number(void **state)
{
	rh_auto_shim_tree tree = {0};
	struct rh_shim_process stale;
	sigset_t set;

	(void)state;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)start_chain(1);
	assert_int_equal(await_count(2), 2);
	assert_int_equal(rh_shim_tree_scan(&tree), 0);
	stale = tree.items[1];
	stale.parent = 1;
	rh_shim_tree_signal(&stale, SIGUSR1);
	assert_false(has_pending_signal(tree.items[1].pid));
	rh_shim_tree_signal(&tree.items[1], SIGUSR1);
	assert_true(has_pending_signal(tree.items[1].pid));
	/* one that does not exist */
	stale.pid = 0x3fffff;
	rh_shim_tree_signal(&stale, SIGUSR1);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void test_tree__reads_marks(void **state)
{
	int cursor = 0;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) {
		char name[] = "sleep";
		char time[] = "1000";
		char mark[] = "ROUNDHOUSE_TEST=one";
		char other[] = "B=2";
		char *argv[] = {name, time, NULL};
		char *env[] = {other, mark, NULL};

		(void)execve("/bin/sleep", argv, env);
		_exit(127);
	}
	while (!rh_shim_tree_has_entry(pid, "ROUNDHOUSE_TEST=one"))
		assert_true(test_shim_pause(&cursor));
	assert_true(rh_shim_tree_has_entry(pid, "B=2"));
	assert_false(rh_shim_tree_has_entry(pid, "ROUNDHOUSE_TEST=on"));
	assert_false(rh_shim_tree_has_entry(pid, "ROUNDHOUSE_TEST"));
	assert_false(rh_shim_tree_has_entry(0x3fffff, "B=2"));
}

static void test_tree__survives_a_lack_of_memory(void **state)
{
	(void)state;
	(void)start_chain(3);
	assert_int_equal(await_count(4), 4);
	for (long i = 0; i < 6; i++) {
		rh_auto_shim_tree tree = {0};
		int r;

		(void)rh_mem_fail_after(i);
		r = rh_shim_tree_scan(&tree);
		(void)rh_mem_fail_after(-1);
		assert_true((r < 0 && tree.count < 4) || (r == 0 && tree.count == 4));
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_tree__is_empty_without_children),
		CASE(test_tree__finds_parents_before_children),
		CASE(test_tree__leaves_out_the_dead),
		CASE(test_tree__signals_all),
		CASE(test_tree__outruns_a_fork_storm),
		CASE(test_tree__spares_who_took_the_number),
		CASE(test_tree__reads_marks),
		CASE(test_tree__survives_a_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
