/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in pods, as `roundhouse exec` asks for them: with a real shim. */
#include "local/exec.h"

#include <fcntl.h>
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

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/scratch.h"
#include "local/shim/harness.h"

#define PATIENCE (60 * RH_SECOND)

/* A pod of a run, without the run: $TMPDIR/roundhouse-UID/run-x/pods/team.p leads to the shim's folder. */
struct fixture {
	struct test_shim *shim;
	char *tmp;
	char *before; /* $TMPDIR; NULL: it was not set */
	char *run;
	char *pods;
};

static void link_pod(const struct fixture *fixture, const char *run)
{
	rh_auto_free char *pods = rh_path_join(run, "pods");
	rh_auto_free char *name = rh_path_join(pods, "team.p");
	const struct rh_pod_record record = {"team", "p", "j", "w-0"};

	assert_int_equal(rh_dir_make(pods, 0700, NULL), 0);
	assert_int_equal(rh_pod_record_write(fixture->shim->folder, &record, NULL), 0);
	assert_int_equal(symlink(fixture->shim->folder, name), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));
	const char *before = getenv("TMPDIR");
	void *shim = NULL;

	(void)test_shim_setup(&shim);
	fixture->shim = shim;
	fixture->before = rh_strdup(before);
	fixture->tmp = test_scratch();
	fixture->run = rh_asprintf("%s/roundhouse-%u/run-x", fixture->tmp, (unsigned)geteuid());
	fixture->pods = rh_path_join(fixture->run, "pods");
	assert_int_equal(setenv("TMPDIR", fixture->tmp, 1), 0);
	link_pod(fixture, fixture->run);
	test_shim_add(fixture->shim, "containers", "main", "exec sleep 600");
	test_shim_add(fixture->shim, "containers", "side", "exec sleep 600");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	void *shim = fixture->shim;

	assert_int_equal(fixture->before ? setenv("TMPDIR", fixture->before, 1) : unsetenv("TMPDIR"), 0);
	(void)test_shim_teardown(&shim);
	test_scratch_remove(fixture->tmp);
	rh_free(fixture->before);
	rh_free(fixture->run);
	rh_free(fixture->pods);
	rh_free(fixture);
	return 0;
}

/* A link leads to the record of the pod whose name it has. */
static void test_exec__reads_links(void **state)
{
	static const char *const others[] = {"team.p.9d0c-uid", "team.missing", "team.other"};
	const struct fixture *fixture = *state;
	rh_auto_free char *made = rh_path_join(fixture->pods, others[0]);
	rh_auto_free char *bare = rh_path_join(fixture->pods, others[2]);
	rh_auto_pod_record record = {0};

	assert_int_equal(symlink(fixture->shim->folder, made), 0); /* before it is renamed */
	assert_int_equal(symlink(fixture->tmp, bare), 0);          /* a folder without a record */
	assert_int_equal(rh_exec_link_read(fixture->pods, "team.p", &record), 0);
	assert_string_equal(record.namespace_, "team");
	assert_string_equal(record.pod, "p");
	assert_string_equal(record.job, "j");
	assert_string_equal(record.replica, "w-0");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct rh_pod_record none = {0};

		assert_int_equal(rh_exec_link_read(fixture->pods, others[i], &none), RH_ENOENT);
	}
}

/* Run `sh -c SCRIPT` in the pod. @return result of rh_exec() */
static int run(const char *pods, const char *container, const char *script, struct rh_error *err)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	const struct rh_exec exec = {
		.pods = pods, .namespace_ = "team", .pod = "p", .container = container, .argv = argv, .patience = PATIENCE};

	return rh_exec(&exec, err);
}

static void test_exec__reports_the_exit_status(void **state)
{
	const struct fixture *fixture = *state;
	static const struct {
		const char *name;
		const char *container;
		const char *script;
		int status;
		const char *message; /* NULL: none */
	} rows[] = {
		{"success", NULL, "exit 0", 0, NULL},
		{"failure", NULL, "exit 9", 9, NULL},
		{"a signal", NULL, "kill -15 $$", 143, NULL},
		{"another container", "side", "exit 3", 3, NULL},
		{"no such container", "none", "exit 3", 1,
	     "container \"none\" is not in pod \"p\", which has \"main\", \"side\""},
	};

	test_shim_start(fixture->shim);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		int r = run(fixture->run, rows[i].container, rows[i].script, &err);

		if (r != rows[i].status)
			fail_msg("%s: %d %s", rows[i].name, r, err.message);
		assert_string_equal(err.message, rows[i].message ? rows[i].message : "");
	}
}

static void test_exec__says_what_cannot_be_started(void **state)
{
	const struct fixture *fixture = *state;
	const char *const argv[] = {"no-such-program", NULL};
	const struct rh_exec exec = {.namespace_ = "team", .pod = "p", .argv = argv, .patience = PATIENCE};
	struct rh_error err = {0};

	test_shim_start(fixture->shim);
	assert_int_equal(rh_exec(&exec, &err), 127);
	assert_non_null(strstr(err.message, "no such program in PATH"));
}

/* In a process of its own, whose streams are the command's. */
static void test_exec__passes_the_streams(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_free char *path = rh_path_join(fixture->tmp, "out");
	rh_auto_free char *text = NULL;
	int status = 0;
	pid_t pid;

	test_shim_start(fixture->shim);
	test_scratch_append(fixture->tmp, "in", "from input\n", 11);
	pid = fork();
	if (pid == 0) {
		rh_auto_free char *in = rh_path_join(fixture->tmp, "in");

		(void)dup2(open(in, O_RDONLY), STDIN_FILENO);
		(void)dup2(open(path, O_WRONLY | O_CREAT | O_APPEND, 0600), STDOUT_FILENO);
		(void)dup2(STDOUT_FILENO, STDERR_FILENO);
		_exit(run(fixture->run, NULL, "cat; echo to error >&2; exit 4", NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 4);
	assert_int_equal(rh_file_read(path, 1000, &text, NULL, NULL), 0);
	assert_string_equal(text, "from input\nto error\n");
}

static void test_exec__finds_the_pod(void **state)
{
	const struct fixture *fixture = *state;
	struct rh_error err = {0};

	test_shim_start(fixture->shim);
	assert_int_equal(run(fixture->run, NULL, "exit 5", &err), 5);
	assert_int_equal(run(fixture->pods, NULL, "exit 6", &err), 6);
	assert_int_equal(run(NULL, NULL, "exit 7", &err), 7);
	assert_string_equal(err.message, "");
}

/* Two runs of one job: a guess would be wrong half of the time. */
static void test_exec__does_not_guess(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_free char *other = rh_asprintf("%s/roundhouse-%u/run-y", fixture->tmp, (unsigned)geteuid());
	struct rh_error err = {0};

	link_pod(fixture, other);
	test_shim_start(fixture->shim);
	assert_int_equal(run(fixture->run, NULL, "exit 5", &err), 5);
	assert_int_equal(run(NULL, NULL, "exit 5", &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "2 runs have a pod \"p\""));
	assert_non_null(strstr(err.message, fixture->run));
	assert_non_null(strstr(err.message, other));
}

static void test_exec__finds_no_pod(void **state)
{
	const struct fixture *fixture = *state;
	const char *const argv[] = {"true", NULL};
	struct rh_error err = {0};
	const struct {
		const char *name;
		const char *pods;
		const char *namespace_;
		const char *pod;
		const char *message;
	} rows[] = {
		{"another namespace", fixture->run, "default", "p",
	     "pod \"p\" does not run in namespace \"default\"; no pod runs"},
		{"another name", fixture->run, "team", "q", "pod \"q\" does not run in namespace \"team\"; no pod runs"},
		{"in all runs", NULL, "team", "q", "pod \"q\" does not run in namespace \"team\"; no pod runs"},
		{"its shim does not run", fixture->run, "team", "p",
	     "pod \"p\" does not run in namespace \"team\"; no pod runs"},
		{"no such run", "/no/such/run", "team", "p", "there is no run in \"/no/such/run\""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_exec exec = {
			.pods = rows[i].pods, .namespace_ = rows[i].namespace_, .pod = rows[i].pod, .argv = argv};

		err = (struct rh_error){0};
		if (rh_exec(&exec, &err) != RH_ENOENT || strcmp(err.message, rows[i].message) != 0)
			fail_msg("%s: %s", rows[i].name, err.message);
	}
}

/* The log calls it p-master-0's "master-0": the error for that name suggests the pod's name. */
static void test_exec__lists_the_pods_that_run(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_free char *gone = rh_path_join(fixture->pods, "team.gone");
	const char *const argv[] = {"true", NULL};
	const struct {
		const char *pods;
		const char *namespace_;
		const char *message;
	} rows[] = {
		{fixture->run, "team", "pod \"q\" does not run in namespace \"team\"; there are p"},
		{NULL, "team", "pod \"q\" does not run in namespace \"team\"; there are p"},
		{fixture->run, "default", "pod \"q\" does not run in namespace \"default\"; there are p (-n team)"},
	};

	test_shim_start(fixture->shim);
	assert_int_equal(run(fixture->run, NULL, "exit 0", NULL), 0);
	assert_int_equal(symlink("/no/such/folder", gone), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_exec exec = {.pods = rows[i].pods, .namespace_ = rows[i].namespace_, .pod = "q", .argv = argv};
		struct rh_error err = {0};

		assert_int_equal(rh_exec(&exec, &err), RH_ENOENT);
		assert_string_equal(err.message, rows[i].message);
	}
}

/* A launcher is often there before its workers. */
static void test_exec__waits_for_the_pod(void **state)
{
	const struct fixture *fixture = *state;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run(fixture->run, NULL, "exit 8", NULL));
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	test_shim_start(fixture->shim);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 8);
}

/* A container that does not run is waited for so long and no longer; one that runs may take its time. */
static void test_exec__waits_no_longer_than_asked(void **state)
{
	const struct fixture *fixture = *state;
	const char *const argv[] = {"sh", "-c", "sleep 0.2; exit 3", NULL};
	struct rh_exec exec = {.pods = fixture->run, .namespace_ = "team", .pod = "p", .argv = argv, .patience = 100000};
	rh_auto_free char *gate = rh_path_join(fixture->shim->folder, "gate");
	struct rh_error err = {0};

	test_shim_add(fixture->shim, "init", "prepare", "while ! [ -e gate ]; do sleep 0.01; done");
	test_shim_start(fixture->shim);
	test_shim_receive_start(fixture->shim, "prepare");
	assert_int_equal(rh_exec(&exec, &err), RH_ENOENT);
	assert_string_equal(err.message, "pod \"p\": the container does not run in time");
	assert_int_equal(rh_file_write_atomic(gate, "", 0, 0600, NULL), 0);
	assert_int_equal(run(fixture->run, NULL, "exit 0", NULL), 0);
	exec.patience = PATIENCE;
	assert_int_equal(rh_exec(&exec, NULL), 3);
}

static void test_exec__reports_the_end_of_the_pod(void **state)
{
	const struct fixture *fixture = *state;
	struct rh_error err = {0};
	rh_auto_free char *script = NULL;

	test_shim_start(fixture->shim);
	script = rh_asprintf("kill -9 %d; exec sleep 600", (int)fixture->shim->pid);
	assert_int_equal(run(fixture->run, NULL, script, &err), RH_EIO);
	assert_string_equal(err.message, "pod \"p\" ended while the command ran");
}

static void test_exec__passes_long_commands(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_free char *word = rh_alloc(120001);
	const char *const argv[] = {"sh", "-c", "[ ${#1} = 120000 ] && [ ${#8} = 120000 ] && exit 5",
	                            "sh", word, word,
	                            word, word, word,
	                            word, word, word,
	                            NULL};
	const struct rh_exec exec = {
		.pods = fixture->run, .namespace_ = "team", .pod = "p", .argv = argv, .patience = PATIENCE};

	memset(word, 'x', 120000);
	test_shim_start(fixture->shim);
	assert_int_equal(rh_exec(&exec, NULL), 5);
}

static void test_exec__without_memory(void **state)
{
	const struct fixture *fixture = *state;
	int r = RH_ENOMEM;

	test_shim_start(fixture->shim);
	assert_int_equal(run(fixture->run, NULL, "exit 5", NULL), 5);
	for (long count = 0; r != 5; count++) {
		struct rh_error err = {0};

		assert_true(count < 10000);
		rh_mem_fail_after(count);
		r = run(fixture->run, "main", "exit 5", &err);
		rh_mem_fail_after(-1);
		assert_true(r == 5 || r < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_exec__reads_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__reports_the_exit_status, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__says_what_cannot_be_started, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__passes_the_streams, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__finds_the_pod, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__does_not_guess, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__finds_no_pod, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__lists_the_pods_that_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__waits_for_the_pod, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__waits_no_longer_than_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__reports_the_end_of_the_pod, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__passes_long_commands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec__without_memory, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
