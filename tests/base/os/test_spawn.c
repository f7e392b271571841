/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/support.h"

/* Start `sh -c @p script` with a pipe of ours as its standard output. @param state how. @return its end of ours */
static int start(void **state, const char *script, enum rh_spawn_place place, pid_t *ret_pid)
{
	rh_auto_free char *copy = rh_strdup(script);
	char name[] = "sh";
	char option[] = "-c";
	char *argv[] = {name, option, copy, NULL};
	char *envp[] = {NULL};
	int ends[2];
	struct rh_error err = {0};

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	{
		const struct rh_spawn_fd fds[] = {{RH_SPAWN_NULL, STDIN_FILENO}, {ends[1], STDOUT_FILENO}, {STDOUT_FILENO, 7}};
		const struct rh_spawn how = {.program = "sh",
		                             .argv = argv,
		                             .envp = envp,
		                             .place = place,
		                             .at_once = *(const bool *)*state,
		                             .fds = fds,
		                             .fd_count = sizeof(fds) / sizeof(fds[0])};

		if (rh_spawn(&how, ret_pid, &err) < 0)
			fail_msg("%s", err.message);
	}
	(void)close(ends[1]);
	return ends[0];
}

/* @return all that it wrote, owned by the caller; it has ended well */
static char *finish(int fd, pid_t pid)
{
	rh_auto_str text = {0};
	char buffer[512];
	ssize_t n;
	int status = -1;

	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		rh_str_append_bytes(&text, buffer, (size_t)n);
	(void)close(fd);
	assert_int_equal(n, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return rh_str_take(&text);
}

static void test_spawn__descriptors_are_handed_over_in_order(void **state)
{
	rh_auto_free char *output = NULL;
	pid_t pid = 0;
	int fd = start(state, "read word || echo nothing to read; echo seven >&7", RH_SPAWN_WITH_US, &pid);

	output = finish(fd, pid);
	assert_string_equal(output, "nothing to read\nseven\n");
}

/* What we block, or ignore, is our own matter. */
static void test_spawn__signals_are_as_after_a_boot(void **state)
{
	rh_auto_free char *output = NULL;
	sigset_t blocked;
	sigset_t before;
	void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
	pid_t pid = 0;
	int fd;

	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &blocked, &before);
	fd = start(state,
	           "while read -r key value; do case $key in SigBlk:) echo $value;; esac; done </proc/self/status; "
	           "(sh -c 'kill -PIPE $$; echo lives'); echo $?",
	           RH_SPAWN_WITH_US, &pid);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)signal(SIGPIPE, handler);
	output = finish(fd, pid);
	assert_string_equal(output, "0000000000000000\n141\n");
}

static void test_spawn__its_place_among_others(void **state)
{
	static const struct {
		enum rh_spawn_place place;
		bool group;
		bool session;
	} rows[] = {
		{RH_SPAWN_WITH_US, false, false},
		{RH_SPAWN_OWN_GROUP, true, false},
		{RH_SPAWN_OWN_SESSION, true, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *output = NULL;
		siginfo_t ended;
		pid_t pid = 0;
		int fd = start(state, "true", rows[i].place, &pid);

		/* until it is waited for, it can be asked about */
		assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
		assert_int_equal(getpgid(pid), rows[i].group ? pid : getpgid(0));
		assert_int_equal(getsid(pid), rows[i].session ? pid : getsid(0));
		output = finish(fd, pid);
		assert_string_equal(output, "");
	}
}

static void test_spawn__what_cannot_be_started(void **state)
{
	static const struct {
		const char *program;
		int status;
		const char *message;
	} rows[] = {
		{"no-such-program-anywhere", RH_ENOENT, "cannot start \"it\": No such file or directory"},
		{"/dev/null", RH_EIO, "cannot start \"it\": Permission denied"},
	};
	char name[] = "it";
	char *argv[] = {name, NULL};
	char *envp[] = {NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_spawn how = {.program = rows[i].program, .argv = argv, .envp = envp};
		struct rh_error err = {0};
		pid_t pid = 77;

		assert_int_equal(rh_spawn(&how, &pid, &err), rows[i].status);
		assert_string_equal(err.message, rows[i].message);
		assert_int_equal(pid, 77);
	}
}

/* Nobody waited for it: the process says so itself. */
static void test_spawn__what_cannot_be_started_at_once(void **state)
{
	char name[] = "it";
	char *argv[] = {name, NULL};
	char *envp[] = {NULL};
	char text[128] = "";
	pid_t pid = 0;
	int ends[2];
	int status = -1;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	{
		const struct rh_spawn_fd fds[] = {{ends[1], STDERR_FILENO}};
		const struct rh_spawn how = {
			.program = "/nowhere/it", .argv = argv, .envp = envp, .at_once = true, .fds = fds, .fd_count = 1};

		assert_int_equal(rh_spawn(&how, &pid, NULL), 0);
	}
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), RH_SPAWN_FAILED);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "cannot start \"it\": No such file or directory\n");
	(void)close(ends[0]);
}

int main(void)
{
	static bool waits = false, at_once = true;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_spawn__descriptors_are_handed_over_in_order, &waits),
		cmocka_unit_test_prestate(test_spawn__descriptors_are_handed_over_in_order, &at_once),
		cmocka_unit_test_prestate(test_spawn__signals_are_as_after_a_boot, &waits),
		cmocka_unit_test_prestate(test_spawn__signals_are_as_after_a_boot, &at_once),
		cmocka_unit_test_prestate(test_spawn__its_place_among_others, &waits),
		cmocka_unit_test_prestate(test_spawn__its_place_among_others, &at_once),
		cmocka_unit_test(test_spawn__what_cannot_be_started),
		cmocka_unit_test(test_spawn__what_cannot_be_started_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
