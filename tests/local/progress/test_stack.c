/* SPDX-License-Identifier: Apache-2.0 */
/* What processes of ours do, and what py-spy 0.4 wrote of one. */
#include "local/progress/stack.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/support.h"
#include "local/scratch.h"

#define PATH "/tmp/rh-stack-XXXXXX"

/* How long a process may take to reach what it is started for; only a hang gets there. */
#define PATIENCE (60 * RH_SECOND)

/* Wait until the kernel says that of a process, for it takes a moment to get there. */
static void expect_kernel(pid_t process, const char *expected)
{
	int64_t until = rh_clock_monotonic() + PATIENCE;
	rh_auto_str text = {0};

	for (;;) {
		rh_str_clear(&text);
		rh_stack_kernel(process, &text);
		if (strstr(rh_str_text(&text), expected))
			return;
		if (rh_clock_monotonic() > until)
			fail_msg("\"%s\" does not have \"%s\"", rh_str_text(&text), expected);
		(void)usleep(10000);
	}
}

static void end(pid_t process)
{
	assert_int_equal(kill(process, SIGKILL), 0);
	assert_int_equal(waitpid(process, NULL, 0), process);
}

static pid_t start(void (*what)(const char *path), const char *path)
{
	pid_t process = fork();

	assert_true(process >= 0);
	if (process > 0)
		return process;
	what(path);
	_exit(0);
}

static void lock(const char *path)
{
	(void)flock(open(path, O_RDWR | O_CLOEXEC), LOCK_EX);
}

static void stop(const char *path)
{
	(void)path;
	(void)raise(SIGSTOP);
}

static void compute(const char *path)
{
	for (volatile unsigned i = 0; path; i++)
		;
}

static void test_stack__a_lock(void **state)
{
	char path[] = PATH;
	int fd = mkstemp(path);
	pid_t process;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	process = start(lock, path);
	expect_kernel(process, "waits in flock on ");
	expect_kernel(process, path);
	end(process);
	(void)close(fd);
	assert_int_equal(unlink(path), 0);
}

static void test_stack__states(void **state)
{
	pid_t process = start(stop, NULL);

	(void)state;
	expect_kernel(process, "is stopped (SIGSTOP or Ctrl-Z)");
	end(process);
	expect_kernel(process, "has ended");
	process = start(compute, "");
	expect_kernel(process, "computes");
	end(process);
}

static void test_stack__output_of_py_spy(void **state)
{
	static const char written[] = "Process 31: python3 train.py\n"
								  "Python v3.11.7 (/usr/bin/python3.11)\n"
								  "\n"
								  "Thread 33 (idle): \"Thread-1 (sleep)\"\n"
								  "    run (threading.py:982)\n"
								  "Thread 31 (idle): \"MainThread\"\n"
								  "    hold (train.py:3)\n"
								  "    main (train.py:5)\n"
								  "    <module> (train.py:7)\n";
	static const char *const others[] = {"", "Error: Permission denied (os error 13)\n",
	                                     "Thread 31 (idle): \"MainThread\"", "Thread 31 (idle): \"MainThread\"\n\n"};
	rh_auto_str text = {0};

	(void)state;
	assert_true(rh_stack_read(written, &text));
	assert_string_equal(rh_str_text(&text),
	                    "is in hold (train.py:3), called by main (train.py:5), called by <module> (train.py:7)");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(rh_stack_read(others[i], &text));
}

/* Programs named py-spy: one that never ends, one that writes a stack, none. */
static void poll_with(const char *script, int64_t later, const char *expected)
{
	char *folder = test_scratch();
	rh_auto_free char *path = rh_path_join(folder, "py-spy");
	struct rh_stack stack;
	rh_auto_str text = {0};
	int64_t until = rh_clock_monotonic() + PATIENCE;
	FILE *file;

	file = script ? fopen(path, "w") : NULL;
	if (file) {
		(void)fprintf(file, "#!/bin/sh\n%s\n", script);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(chmod(path, 0700), 0);
	}
	(void)setenv("PATH", folder, 1);
	assert_true(rh_stack_start(&stack, getpid(), "test_local_progress_stack", 1));
	while (!rh_stack_poll(&stack, 1 + later, &text)) {
		assert_true(rh_clock_monotonic() < until);
		(void)usleep(10000);
	}
	if (!strstr(rh_str_text(&text), expected))
		fail_msg("\"%s\" does not have \"%s\"", rh_str_text(&text), expected);
	rh_stack_deinit(&stack);
	test_scratch_remove(folder);
}

static void test_stack__programs(void **state)
{
	struct rh_stack stack;

	(void)state;
	poll_with("echo 'Thread 1 (active): \"MainThread\"'; echo '    f (x.py:1)'", 0, "is in f (x.py:1)");
	poll_with("exit 1", 0, "computes");
	poll_with("while :; do :; done", RH_STACK_LIMIT, "computes");
	poll_with(NULL, 0, "computes");
	assert_false(rh_stack_start(&stack, getpid(), "no file of this process", 1));
	assert_false(rh_stack_start(&stack, 0, "", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack__a_lock),
		cmocka_unit_test(test_stack__states),
		cmocka_unit_test(test_stack__output_of_py_spy),
		cmocka_unit_test(test_stack__programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
