/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a pod as its runner sees it: with real processes. */
#include "local/shim.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
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

static void run_one(struct test_shim *shim, const char *script, struct rh_shim_report *ret_report)
{
	test_shim_add(shim, "containers", "main", script);
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", ret_report);
}

static void test_shim__ends(void **state)
{
	static const struct {
		const char *name;
		const char *script;
		int32_t exit_code;
		int32_t signal;
		const char *reason;
	} rows[] = {
		{"success", "exit 0", 0, 0, "Completed"},      {"failure", "exit 3", 3, 0, "Error"},
		{"highest code", "exit 255", 255, 0, "Error"}, {"SIGKILL", "kill -9 $$", 137, 9, "Error"},
		{"SIGTERM", "kill -15 $$", 143, 15, "Error"},  {"SIGSEGV", "kill -11 $$", 139, 11, "Error"},
		{"SIGINT", "kill -2 $$", 130, 2, "Error"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report;
		void *own = NULL;

		(void)test_shim_setup(&own);
		run_one(own, rows[i].script, &report);
		if (report.exit_code != rows[i].exit_code || report.signal != rows[i].signal ||
		    strcmp(report.reason, rows[i].reason) != 0)
			fail_msg("%s: code %d signal %d reason %s", rows[i].name, report.exit_code, report.signal, report.reason);
		assert_true(report.finished_at >= report.started_at && report.started_at > 0);
		assert_int_equal(report.restarts, 0);
		assert_int_equal(test_shim_wait(own), 0);
		(void)test_shim_teardown(&own);
	}
}

static void set_argv(struct rh_json *container, const char *program)
{
	struct rh_json *argv = rh_json_new_array();

	assert_int_equal(rh_json_append(argv, rh_json_new_string(program)), 0);
	assert_int_equal(rh_json_set(container, "argv", argv), 0);
}

static void test_shim__refuses_programs(void **state)
{
	static const struct {
		const char *name;
		const char *program; /* relative to the pod's folder */
		int32_t exit_code;
		const char *word;
	} rows[] = {
		{"not in PATH", "no-such-program-at-all", 127, "no such program in PATH="},
		{"no such file", "./nothing", 127, "no such file"},
		{"not executable", "./plain", 126, "Permission denied"},
		{"a folder", "./folder", 126, "Permission denied"},
		{"missing interpreter", "./script", 127, "interpreter"},
		{"no format", "./junk", 126, "Exec format error"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report;
		struct test_shim *shim;
		void *own = NULL;
		rh_auto_free char *prepare = NULL;

		(void)test_shim_setup(&own);
		shim = own;
		test_shim_add(shim, "init", "prepare",
		              "echo x > plain; chmod 600 plain; mkdir folder; echo '#!/no/such/interpreter' > script; "
		              "printf '\\001\\002' > junk; chmod 700 script junk");
		set_argv(test_shim_add(shim, "containers", "main", ""), rows[i].program);
		test_shim_start(shim);
		test_shim_receive_end(shim, "main", &report);
		if (report.exit_code != rows[i].exit_code || !strstr(report.message, rows[i].word))
			fail_msg("%s: code %d: %s", rows[i].name, report.exit_code, report.message);
		assert_string_equal(report.reason, "StartError");
		assert_non_null(strstr(report.message, rows[i].program));
		assert_int_equal(test_shim_wait(shim), 0);
		(void)test_shim_teardown(&own);
	}
}

static void test_shim__refuses_a_working_directory(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	struct rh_json *container = test_shim_add(shim, "containers", "main", "exit 0");

	assert_int_equal(rh_json_set_string(container, "cwd", "/no/such/folder"), 0);
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 126);
	assert_non_null(strstr(report.message, "/no/such/folder"));
}

static void test_shim__starts_in_order(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *order = NULL;
	rh_auto_free char *path = rh_path_join(shim->folder, "order");

	test_shim_add(shim, "init", "one", "sleep 0.1; echo one >> order");
	test_shim_add(shim, "init", "two", "echo two >> order");
	test_shim_add(shim, "containers", "main", "echo main >> order");
	test_shim_start(shim);
	test_shim_receive_start(shim, "one");
	assert_true(test_shim_receive(shim, &report));
	assert_true(report.init && !report.running && report.exit_code == 0);
	test_shim_receive_start(shim, "two");
	test_shim_receive_end(shim, "main", &report);
	assert_false(report.init);
	assert_int_equal(test_shim_wait(shim), 0);
	assert_int_equal(rh_file_read(path, 1000, &order, NULL, NULL), 0);
	assert_string_equal(order, "one\ntwo\nmain\n");
}

/* Both regular containers wait for each other: they must run at once. */
static void test_shim__runs_containers_together(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	test_shim_add(shim, "containers", "left", "touch l; while ! test -e r; do sleep 0.01; done; exit 4");
	test_shim_add(shim, "containers", "right", "touch r; while ! test -e l; do sleep 0.01; done; sleep 0.2; exit 5");
	test_shim_start(shim);
	test_shim_receive_end(shim, "left", &report);
	assert_int_equal(report.exit_code, 4);
	test_shim_receive_end(shim, "right", &report);
	assert_int_equal(report.exit_code, 5);
	assert_int_equal(test_shim_wait(shim), 0);
}

static void test_shim__failed_init_ends_the_pod(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	test_shim_add(shim, "init", "first", "exit 7");
	test_shim_add(shim, "init", "second", "touch started");
	test_shim_add(shim, "containers", "main", "touch started");
	test_shim_start(shim);
	test_shim_receive_end(shim, "first", &report);
	assert_int_equal(report.exit_code, 7);
	assert_false(test_shim_receive(shim, &report));
	assert_int_equal(test_shim_wait(shim), 0);
}

/* The container counts its own starts in a file. */
static void test_shim__restarts_in_place(void **state)
{
	static const struct {
		const char *name;
		const char *policy;
		const char *list;
		const char *script;
		int32_t restarts;
		int32_t exit_code;
	} rows[] = {
		{"never", "Never", "containers", "exit 1", 0, 1},
		{"on failure, ends well", "OnFailure", "containers", "echo >> n; test $(wc -l < n) -ge 4", 3, 0},
		{"on failure, success", "OnFailure", "containers", "exit 0", 0, 0},
		{"init container", "Always", "init", "echo >> n; test $(wc -l < n) -ge 3", 2, 0},
		{"init container that fails", "Never", "init", "exit 9", 0, 9},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report;
		struct test_shim *shim;
		void *own = NULL;

		(void)test_shim_setup(&own);
		shim = own;
		assert_int_equal(rh_json_set_string(shim->plan, "restartPolicy", rows[i].policy), 0);
		test_shim_add(shim, rows[i].list, "it", rows[i].script);
		if (strcmp(rows[i].list, "init") == 0)
			test_shim_add(shim, "containers", "main", "sleep 1000");
		test_shim_start(shim);
		test_shim_receive_end(shim, "it", &report);
		if (report.restarts != rows[i].restarts || report.exit_code != rows[i].exit_code)
			fail_msg("%s: %d restarts, code %d", rows[i].name, report.restarts, report.exit_code);
		(void)test_shim_teardown(&own);
	}
}

static void test_shim__always_restarts_success(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	int32_t ends = 0;

	assert_int_equal(rh_json_set_string(shim->plan, "restartPolicy", "Always"), 0);
	test_shim_add(shim, "containers", "main", "exit 0");
	test_shim_start(shim);
	while (ends < 5 && test_shim_receive(shim, &report)) {
		if (report.running)
			continue;
		assert_true(report.again);
		assert_int_equal(report.restarts, ends);
		ends++;
	}
	test_shim_stop(shim, 1000000);
	do
		assert_true(test_shim_receive(shim, &report));
	while (report.running || report.again);
	assert_int_equal(test_shim_wait(shim), 0);
}

/* With a back-off of hours a second start would be a bug. */
static void test_shim__stop_ends_a_back_off(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	assert_int_equal(rh_json_set_string(shim->plan, "restartPolicy", "OnFailure"), 0);
	assert_int_equal(rh_json_set_integer(shim->plan, "backoff", INT64_C(3600000000)), 0);
	assert_int_equal(rh_json_set_integer(shim->plan, "backoffMax", INT64_C(7200000000)), 0);
	test_shim_add(shim, "containers", "main", "exit 6");
	test_shim_start(shim);
	test_shim_receive_start(shim, "main");
	assert_true(test_shim_receive(shim, &report));
	assert_true(report.again && !report.running);
	test_shim_stop(shim, 1000000);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 6);
	assert_int_equal(report.restarts, 0);
	assert_int_equal(test_shim_wait(shim), 0);
}

static void test_shim__reports_each_step(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	test_shim_add(shim, "containers", "main", "exit 2");
	test_shim_start(shim);
	assert_true(test_shim_receive(shim, &report));
	assert_true(report.running && report.pid > 0 && report.started_at > 0 && report.finished_at == 0);
	assert_true(test_shim_receive(shim, &report));
	assert_true(!report.running && !report.again && report.finished_at > 0);
	assert_false(test_shim_receive(shim, &report));
	assert_int_equal(test_shim_wait(shim), 0);
}

static void test_shim__writes_the_exit_record(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *path = rh_path_join(shim->folder, "exit.json");
	rh_auto_free char *text = NULL;
	rh_auto(json) record = NULL;

	test_shim_add(shim, "init", "first", "exit 0");
	test_shim_add(shim, "containers", "main", "exit 8");
	test_shim_start(shim);
	assert_int_equal(test_shim_wait(shim), 0);
	assert_int_equal(rh_file_read(path, 10000, &text, NULL, NULL), 0);
	assert_int_equal(rh_json_parse(text, strlen(text), &record, NULL), 0);
	assert_int_equal(rh_json_size(rh_json_get(record, "containers")), 2);
	assert_int_equal(rh_shim_report_parse(rh_json_at(record, "containers[1]"), &report), 0);
	assert_string_equal(report.container, "main");
	assert_int_equal(report.exit_code, 8);
}

static void test_shim__refuses_a_broken_plan(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	int status;

	test_shim_start(shim);
	assert_false(test_shim_receive(shim, &report));
	status = test_shim_wait(shim);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 2);
	assert_non_null(strstr(rh_str_text(&shim->notes), "containers"));
}

/* Runs a program that looks at itself, under a shim whose own parent ignores one signal and blocks another. @return the
 * log, owned by the caller */
static char *look_at_itself(const char *script)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before;
	struct rh_shim_report report;
	void *own = NULL;
	sigset_t set;
	sigset_t mask;
	char *log;

	(void)test_shim_setup(&own);
	(void)sigaction(SIGUSR1, &ignore, &before);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &set, &mask);
	run_one(own, script, &report);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	(void)sigaction(SIGUSR1, &before, NULL);
	log = test_shim_log(own, "main");
	(void)test_shim_teardown(&own);
	return log;
}

static void test_shim__gives_a_clean_process(void **state)
{
	rh_auto_free char *status = look_at_itself("exec cat /proc/self/status");
	rh_auto_free char *files =
		look_at_itself("cd /proc/self/fd; exec readlink 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
	rh_auto_free char *ids = look_at_itself("exec cut -d ' ' -f 1,6 /proc/self/stat");
	int pid = -1;
	int session = -2;
	char kind[2][32];
	char more;

	(void)state;
	assert_non_null(strstr(status, "Umask:\t0022"));
	assert_non_null(strstr(status, "SigBlk:\t0000000000000000"));
	assert_non_null(strstr(status, "SigIgn:\t0000000000000000"));
	assert_int_equal(sscanf(ids, "%d %d", &pid, &session), 2);
	assert_int_equal(pid, session);
	/* standard input, output and error: and nothing else */
	assert_int_equal(sscanf(files, "/dev/null\npipe:%31s\npipe:%31s\n%c", kind[0], kind[1], &more), 2);
	assert_string_equal(kind[0], kind[1]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_shim_setup, test_shim_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shim__ends),
		cmocka_unit_test(test_shim__refuses_programs),
		cmocka_unit_test(test_shim__restarts_in_place),
		CASE(test_shim__refuses_a_working_directory),
		CASE(test_shim__starts_in_order),
		CASE(test_shim__runs_containers_together),
		CASE(test_shim__failed_init_ends_the_pod),
		CASE(test_shim__always_restarts_success),
		CASE(test_shim__stop_ends_a_back_off),
		CASE(test_shim__reports_each_step),
		CASE(test_shim__writes_the_exit_record),
		CASE(test_shim__refuses_a_broken_plan),
		cmocka_unit_test(test_shim__gives_a_clean_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
