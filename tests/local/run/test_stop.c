/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/stop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/harness.h"

/* cleanPodPolicy, linger, and what becomes of a worker that would go on when the master has succeeded. */
struct clean_row {
	const char *policy;
	int64_t linger;
	const char *worker;
	const char *table;
};

static const struct clean_row clean_rows[] = {
	{"None", 0, TEST_MARK("up") "exec sleep 600", "j Worker-0 Stopped 143 restarts=0\n"},
	{"Running", RH_NEVER / 4, TEST_MARK("up") "exec sleep 600", "j Worker-0 Stopped 143 restarts=0\n"},
	{"All", RH_NEVER / 4, TEST_MARK("up") "exec sleep 600", "j Worker-0 Stopped 143 restarts=0\n"},
	{"None", RH_NEVER / 4, TEST_MARK("up") TEST_AWAIT("over") "exit 0", "j Worker-0 Succeeded 0 restarts=0\n"},
	{"None", RH_NEVER / 4, TEST_MARK("up") TEST_AWAIT("over") "exit 4", "j Worker-0 Failed 4 restarts=0\n"},
};

static void (*note_job)(void *arg, const struct rh_json *job, const struct rh_run_fault *fault);

static void mark_success(void *arg, const struct rh_json *job, const struct rh_run_fault *fault)
{
	note_job(arg, job, fault);
	if (test_run_condition(arg, "Succeeded"))
		test_run_mark("over");
}

static void test_stop__clean_pod_policy(void **state)
{
	struct test_run *run = *state;

	run->config->grace_period = 60 * RH_SECOND;
	note_job = run->options.hooks.job;
	run->options.hooks.job = mark_success;
	for (size_t i = 0; i < sizeof(clean_rows) / sizeof(clean_rows[0]); i++) {
		const struct clean_row *row = &clean_rows[i];
		rh_auto_free char *spec = rh_asprintf("  runPolicy: {cleanPodPolicy: %s}\n", row->policy);
		const struct test_job job = {.spec = spec, .master = TEST_AWAIT("up") "exit 0", .worker = row->worker};

		rh_str_clear(&run->table);
		run->options.linger = row->linger;
		test_run_in_place(run, &job);
		test_run_expect_result(run, RH_RUN_SUCCEEDED);
		test_run_expect(&run->table, "j Master-0 Succeeded 0 restarts=0\n");
		test_run_expect(&run->table, row->table);
	}
}

static void mark_note(struct test_run *run, const char *text)
{
	(void)run;
	if (strstr(text, " has succeeded, but "))
		test_run_mark("over");
}

/* A run that waits for the rest of a job says so: the worker ends when the note has come. */
static void test_stop__waits_with_a_note(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = TEST_AWAIT("up") "exit 0",
	                             .worker = TEST_MARK("up") TEST_AWAIT("over") "exit 0"};

	run->options.linger = 24 * 3600 * RH_SECOND;
	run->on_note = mark_note;
	test_run_in_place(run, &job);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	test_run_expect(&run->table, "j Worker-0 Succeeded 0 restarts=0\n");
	test_run_expect(&run->notes, "PyTorchJob j has succeeded, but 1 of its replicas still runs; they are stopped in ");
}

static void interrupt_when_ready(struct test_run *run, const char *line)
{
	if (strcmp(line, "ready") == 0 && run->counter++ == 0)
		(void)raise(SIGINT);
	if (strcmp(line, "ignored") == 0)
		(void)raise(SIGINT);
}

static void test_stop__interrupt_once_is_graceful(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = "trap \"echo bye; exit 0\" TERM; echo ready; while :; do sleep 0.05; done",
	                             .worker = "exec sleep 600"};

	run->on_line = interrupt_when_ready;
	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_INTERRUPTED);
	test_run_expect(&run->lines, "master-0 pytorch: bye\n");
	assert_int_equal(test_run_times(&run->table, "Stopped"), 2);
	assert_int_equal(run->faults.length, 0); /* they worked until then */
}

static void test_stop__interrupt_twice_is_at_once(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = "trap \"echo ignored\" TERM; echo ready; while :; do sleep 0.05; done"};
	int64_t start = rh_clock_monotonic();

	run->config->grace_period = 600 * RH_SECOND;
	run->on_line = interrupt_when_ready;
	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_INTERRUPTED);
	test_run_expect(&run->table, "j Master-0 Stopped 137 restarts=0\n");
	assert_true(rh_clock_monotonic() - start < 300 * RH_SECOND);
}

static void test_stop__timeout(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.policy = "OnFailure", .master = "exec sleep 600", .worker = "exec sleep 600"};

	run->options.timeout = RH_SECOND / 2;
	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_TIMED_OUT);
	assert_int_equal(test_run_times(&run->table, "Stopped 143"), 2);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, test_run_set_up, test_run_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		ROW(test_stop__clean_pod_policy),
		ROW(test_stop__waits_with_a_note),
		ROW(test_stop__interrupt_once_is_graceful),
		ROW(test_stop__interrupt_twice_is_at_once),
		ROW(test_stop__timeout),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("local/run/stop", tests, NULL, NULL);
}
