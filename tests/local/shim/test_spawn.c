/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
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
#include "base/str.h"
#include "local/scratch.h"

/* One container to start, and its output. */
struct fixture {
	char *folder;
	struct rh_shim_spec spec;
	struct rh_shim_refusal refusal;
	char output[4096];
	int status;
};

static const char *const plain_argv[] = {"tool", NULL};
static const char *const plain_env[] = {"A=b", NULL};

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));

	fixture->folder = test_scratch();
	/* others than root get in too */
	assert_int_equal(chmod(fixture->folder, 0755), 0);
	fixture->spec = (struct rh_shim_spec){.name = "main",
	                                      .argv = (const char **)(uintptr_t)plain_argv,
	                                      .env = (const char **)(uintptr_t)plain_env,
	                                      .cwd = fixture->folder,
	                                      .uid = -1,
	                                      .gid = -1};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	test_scratch_remove(fixture->folder);
	rh_free(fixture);
	return 0;
}

/* Start the container and wait for its end. @return result of rh_shim_spawn() */
static int spawn(struct fixture *fixture)
{
	int ends[2];
	size_t output = 0;
	pid_t pid = 0;
	ssize_t n;
	int r;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	r = rh_shim_spawn(&(struct rh_shim_spawn){.spec = &fixture->spec, .streams = {-1, ends[1], ends[1]}}, &pid,
	                  &fixture->refusal);
	(void)close(ends[1]);
	if (r == 0) {
		while ((n = read(ends[0], fixture->output + output, sizeof(fixture->output) - output - 1)) > 0)
			output += (size_t)n;
		fixture->output[output] = '\0';
		assert_int_equal(waitpid(pid, &fixture->status, 0), pid);
	}
	(void)close(ends[0]);
	/* one that was refused is no zombie */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return r;
}

/* A script FOLDER/PATH that says what it is called. */
static void put_tool(const struct fixture *fixture, const char *path, mode_t mode)
{
	rh_auto_free char *whole = rh_path_join(fixture->folder, path);
	rh_auto_free char *folder = rh_strdup(whole);
	rh_auto_free char *text = rh_asprintf("#!/bin/sh\necho %s\n", path);

	*strrchr(folder, '/') = '\0';
	assert_int_equal(rh_dir_make(folder, 0755, NULL), 0);
	assert_int_equal(rh_file_write_atomic(whole, text, strlen(text), mode, NULL), 0);
}

static void test_spawn__searches_the_containers_path(void **state)
{
	struct fixture *fixture = *state;
	static const struct {
		const char *name;
		const char *path;   /* @ is the folder */
		const char *output; /* NULL: refused */
		int exit_code;
	} rows[] = {
		{"one folder", "PATH=@/a", "a/tool\n", 0},
		{"the first one counts", "PATH=@/a:@/b", "a/tool\n", 0},
		{"missing folders are passed over", "PATH=@/none:@/b", "b/tool\n", 0},
		{"a file in place of a folder", "PATH=@/a/tool:@/b", "b/tool\n", 0},
		{"one that may not be run is passed over", "PATH=@/plain:@/b", "b/tool\n", 0},
		{"and is the reason when it is the only one", "PATH=@/plain:@/none", NULL, 126},
		{"nothing there", "PATH=@/none", NULL, 127},
		{"an empty entry is the working directory", "PATH=@/none:", "tool\n", 0},
		{"no PATH", "OTHER=@", NULL, 127},
	};

	put_tool(fixture, "a/tool", 0755);
	put_tool(fixture, "b/tool", 0755);
	put_tool(fixture, "plain/tool", 0644);
	put_tool(fixture, "tool", 0755);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str path = {0};
		const char *env[2] = {NULL};
		int r;

		for (const char *at = rows[i].path; *at; at++)
			rh_str_appendf(&path, "%.*s", *at == '@' ? 4096 : 1, *at == '@' ? fixture->folder : at);
		env[0] = rh_str_text(&path);
		fixture->spec.env = env;
		r = spawn(fixture);
		if (r != (rows[i].output ? 0 : RH_EINVAL))
			fail_msg("%s: %d %s", rows[i].name, r, fixture->refusal.message);
		if (r == 0)
			assert_string_equal(fixture->output, rows[i].output);
		else
			assert_int_equal(fixture->refusal.exit_code, rows[i].exit_code);
	}
}

static void test_spawn__finds_the_basics_without_path(void **state)
{
	struct fixture *fixture = *state;
	const char *argv[] = {"sh", "-c", "echo found", NULL};

	fixture->spec.argv = argv;
	assert_int_equal(spawn(fixture), 0);
	assert_string_equal(fixture->output, "found\n");
}

/* A path is taken as it is, from the working directory on; PATH does not count. */
static void test_spawn__takes_paths_as_they_are(void **state)
{
	struct fixture *fixture = *state;
	const char *argv[] = {"./sub/tool", NULL};

	put_tool(fixture, "sub/tool", 0755);
	fixture->spec.argv = argv;
	assert_int_equal(spawn(fixture), 0);
	assert_string_equal(fixture->output, "sub/tool\n");
}

static void test_spawn__gives_exactly_the_environment(void **state)
{
	struct fixture *fixture = *state;
	const char *argv[] = {"/usr/bin/env", NULL};
	const char *env[] = {"B=two words", "A=", "PATH=/none", NULL};

	fixture->spec.argv = argv;
	fixture->spec.env = env;
	assert_int_equal(spawn(fixture), 0);
	assert_string_equal(fixture->output, "B=two words\nA=\nPATH=/none\n");
}

static void test_spawn__gives_arguments_as_they_are(void **state)
{
	struct fixture *fixture = *state;
	const char *argv[] = {"/usr/bin/printf", "<%s>", "a b", "", "$HOME", "*", "\"q\"", NULL};

	fixture->spec.argv = argv;
	assert_int_equal(spawn(fixture), 0);
	assert_string_equal(fixture->output, "<a b><><$HOME><*><\"q\">");
}

/* Supplementary groups of root must not stay with a container that runs as another user. */
static void test_spawn__becomes_another_user(void **state)
{
	struct fixture *fixture = *state;
	const char *argv[] = {"/bin/sh", "-c", "id -u; id -g; id -G; grep -c 'CapEff:.*[1-9a-f]' /proc/self/status", NULL};

	static const gid_t extra[] = {34567};
	gid_t before[64];
	int count;

	if (geteuid() != 0)
		skip();
	count = getgroups(64, before);
	assert_true(count >= 0);
	assert_int_equal(setgroups(1, extra), 0);
	fixture->spec.argv = argv;
	fixture->spec.uid = 12345;
	fixture->spec.gid = 23456;
	assert_int_equal(spawn(fixture), 0);
	assert_int_equal(setgroups((size_t)count, before), 0);
	assert_string_equal(fixture->output, "12345\n23456\n23456\n0\n");
}

static void test_spawn__says_when_it_cannot_become_another_user(void **state)
{
	struct fixture *fixture = *state;
	const char *argv[] = {"/bin/true", NULL};
	int status = 0;
	pid_t pid;

	fixture->spec.argv = argv;
	fixture->spec.uid = 0;
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		bool dropped = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
		int r = dropped ? spawn(fixture) : 0;

		_exit(r == RH_EINVAL && fixture->refusal.exit_code == 126 && strstr(fixture->refusal.message, "user 0") ? 0
		                                                                                                        : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Another user's folder in PATH has nothing that could be found: no reason to speak of permissions. */
static void test_spawn__passes_over_closed_folders(void **state)
{
	struct fixture *fixture = *state;
	rh_auto_free char *path = rh_asprintf("PATH=%s/closed:%s/none", fixture->folder, fixture->folder);
	rh_auto_free char *closed = rh_path_join(fixture->folder, "closed");
	const char *env[] = {path, NULL};
	int status = 0;
	pid_t pid;

	put_tool(fixture, "closed/tool", 0755);
	assert_int_equal(chmod(closed, 0), 0);
	fixture->spec.env = env;
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		bool dropped = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);

		_exit(dropped && spawn(fixture) == RH_EINVAL && fixture->refusal.exit_code == 127 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(closed, 0755), 0);
}

/* A very long PATH and program name: the words are cut, nothing else breaks. */
static void test_spawn__cuts_long_words(void **state)
{
	struct fixture *fixture = *state;
	char path[20000] = "PATH=";
	char program[6000];
	const char *argv[] = {program, NULL};
	const char *env[] = {path, NULL};

	memset(path + 5, 'p', sizeof(path) - 6);
	memset(program, 'x', sizeof(program) - 1);
	program[sizeof(program) - 1] = '\0';
	fixture->spec.argv = argv;
	fixture->spec.env = env;
	assert_int_equal(spawn(fixture), RH_EINVAL);
	assert_int_equal(fixture->refusal.exit_code, 127);
	assert_int_equal(strlen(fixture->refusal.message), sizeof(fixture->refusal.message) - 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_spawn__searches_the_containers_path),
		CASE(test_spawn__finds_the_basics_without_path),
		CASE(test_spawn__takes_paths_as_they_are),
		CASE(test_spawn__gives_exactly_the_environment),
		CASE(test_spawn__gives_arguments_as_they_are),
		CASE(test_spawn__becomes_another_user),
		CASE(test_spawn__says_when_it_cannot_become_another_user),
		CASE(test_spawn__passes_over_closed_folders),
		CASE(test_spawn__cuts_long_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
