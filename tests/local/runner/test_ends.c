/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that a shim reports late, in whole runs. */
#include "local/runner.h"

#include <signal.h>
#include <stdio.h>
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

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/harness.h"
#include "local/runner/parts.h"
#include "local/shim.h"

/* The Master fails when Worker-0 has. No script can wait for a file, or for the end of another's process, but by
 * looking again. */
#define VICTIM                                                                                                 \
	"cd \"%s\"; until [ -e culprit ]; do sleep 0.02; done; read -r pid shim <culprit; "                        \
	"until read -r p name state rest </proc/$pid/stat && [ $state = Z ]; do sleep 0.02; done; echo \"%s\"; : " \
	">victim; "                                                                                                \
	"exit 3"
/* Worker-0 stops its shim and fails. Worker-1 goes on when the Master fails. */
#define WORKERS                                                                                                      \
	"cd \"%s\"; if [ $RANK = 1 ]; then echo ready; until [ -e seen ]; do sleep 0.02; done; echo \"%s\"; kill -STOP " \
	"$PPID; read -r pid rest </proc/self/stat; "                                                                     \
	"echo $pid $PPID >new; mv new culprit; exit 4; fi; "                                                             \
	"until [ -e victim ]; do sleep 0.02; done; read -r pid shim <culprit; %s"

static void touch(const struct test_run *run, const char *name)
{
	rh_auto_free char *path = rh_asprintf("%s/../ends-%d/%s", run->scratch, (int)getpid(), name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

/* The run knows of the start of a replica whose output it has. */
static void let_culprit_go(struct test_run *run, const char *line)
{
	if (strcmp(line, "ready") == 0)
		touch(run, "seen");
}

/* Run such a job. @param words what both write before they fail @param then what Worker-1 does at the end. @return the
 * message of the condition Failed */
static const char *run_pair(struct test_run *run, const char *words, const char *then)
{
	rh_auto_free char *place = rh_asprintf("%s/../ends-%d", run->scratch, (int)getpid());
	rh_auto_free char *master = rh_asprintf(VICTIM, place, words);
	rh_auto_free char *worker = rh_asprintf(WORKERS, place, words, then);
	const struct test_job job = {.master = master, .worker = worker, .workers = 2};

	(void)rh_dir_remove(place, NULL);
	assert_int_equal(rh_dir_make(place, 0700, &run->err), 0);
	run->on_line = let_culprit_go;
	test_run_job(run, &job);
	assert_int_equal(rh_dir_remove(place, NULL), 0);
	assert_int_equal(run->result, RH_RUN_FAILED);
	assert_non_null(test_run_condition(run, "Failed"));
	return test_run_condition(run, "Failed");
}

static void expect_culprit(struct test_run *run, const char *words)
{
	const char *message = run_pair(run, words, "sleep 2; kill -CONT $shim; exec sleep 600");

	if (!strstr(message, "First fault: Worker-0 (pod j-worker-0, container pytorch) exited with code 4"))
		fail_msg("%s", message);
	test_run_expect(&run->table, "j Master-0 Failed 3 restarts=0\n");
	test_run_expect(&run->table, "j Worker-0 Failed 4 restarts=0\n");
	test_run_expect(&run->table, "j Worker-1 Stopped 143 restarts=0\n");
}

static void test_ends__late_report_of_a_silent_end(void **state)
{
	expect_culprit(*state, "");
}

static void test_ends__late_report_of_an_error(void **state)
{
	expect_culprit(*state, "ValueError: bad batch");
}

/* The wait has an end: then what is known is judged. */
static void test_ends__shim_that_never_reports(void **state)
{
	struct test_run *run = *state;
	const char *message;

	run->config->grace_period = RH_SECOND / 10;
	message = run_pair(run, "", "exec sleep 600");
	if (!strstr(message, "First fault: Master-0 (pod j-master-0, container pytorch) exited with code 3"))
		fail_msg("%s", message);
}

/* The Master sees the end of the Worker, whose shim is stopped, and says so. */
#define OBSERVER                                                                                           \
	"cd \"%s\"; until [ -e culprit ]; do sleep 0.02; done; read -r pid shim <culprit; "                    \
	"until read -r p name state rest </proc/$pid/stat && [ $state = Z ]; do sleep 0.02; done; echo gone; " \
	"until [ -e over ]; do sleep 0.02; done; %s; exec sleep 600"
#define CULPRIT                                                                                                        \
	"cd \"%s\"; [ -e over ] && exec sleep 600; echo ready; until [ -e seen ]; do sleep 0.02; done; kill -STOP $PPID; " \
	"read -r pid rest </proc/self/stat; echo $pid $PPID >new; mv new culprit; exit 4"

static void interrupt(struct test_run *run, const char *line)
{
	let_culprit_go(run, line);
	if (strcmp(line, "gone") == 0)
		(void)raise(SIGINT);
}

static void time_out(struct test_run *run, const char *line)
{
	let_culprit_go(run, line);
	if (strcmp(line, "gone") == 0)
		run->options.timeout = 1;
}

/* The run is to stop: only now the shim goes on, if the Master lets it. */
static void let_shim_go(struct test_run *run, const char *note)
{
	if (strstr(note, "stopping the replicas"))
		touch(run, "over");
}

/* Run until the Worker has failed, which its shim has not reported, and give the run up then. */
static void give_up(struct test_run *run, void (*how)(struct test_run *run, const char *line), const char *then)
{
	rh_auto_free char *place = rh_asprintf("%s/../ends-%d", run->scratch, (int)getpid());
	rh_auto_free char *master = rh_asprintf(OBSERVER, place, then);
	rh_auto_free char *worker = rh_asprintf(CULPRIT, place);
	const struct test_job job = {.policy = "OnFailure", .master = master, .worker = worker};

	(void)rh_dir_remove(place, NULL);
	assert_int_equal(rh_dir_make(place, 0700, &run->err), 0);
	run->on_line = how;
	run->on_note = run->on_note ? run->on_note : let_shim_go;
	test_run_job(run, &job);
	assert_int_equal(rh_dir_remove(place, NULL), 0);
}

static void test_ends__an_interrupt_waits_for_a_late_report(void **state)
{
	struct test_run *run = *state;

	give_up(run, interrupt, "kill -CONT $shim");
	assert_int_equal(run->result, RH_RUN_INTERRUPTED);
	test_run_expect(&run->faults, "Worker-0 (container pytorch) exited with code 4");
}

static void test_ends__a_time_limit_waits_for_a_late_report(void **state)
{
	struct test_run *run = *state;

	give_up(run, time_out, "kill -CONT $shim");
	assert_int_equal(run->result, RH_RUN_TIMED_OUT);
	test_run_expect(&run->faults, "Worker-0 (container pytorch) exited with code 4");
}

static void interrupt_again(struct test_run *run, const char *note)
{
	if (strstr(note, "stopping the replicas") && run->counter++ == 0)
		(void)raise(SIGINT);
}

/* A second Ctrl-C does not wait: nothing is known of the Worker's end. */
static void test_ends__a_second_interrupt_does_not_wait(void **state)
{
	struct test_run *run = *state;

	run->on_note = interrupt_again;
	give_up(run, interrupt, ":");
	assert_int_equal(run->result, RH_RUN_INTERRUPTED);
	test_run_expect(&run->notes, "killing the replicas\n");
	assert_int_equal(test_run_times(&run->faults, "exited with code"), 0);
}

/* One container as a word: "-" not reported, "r" running, "e" running by its report, though its process was seen to
 * have ended; "0" and "1" reported ends, "a" one before a restart. "s" before it: a sidecar. */
static void fill_container(struct rh_runner_container *container, const char *word, int64_t until)
{
	container->process = -1;
	container->sidecar = *word == 's';
	container->init = container->sidecar;
	word += container->sidecar ? 1 : 0;
	container->reported = *word != '-';
	container->report.running = *word == 'r' || *word == 'e';
	container->report.again = *word == 'a';
	container->report.exit_code = *word == '1' || *word == 'a' ? 1 : 0;
	container->await_until = *word == 'r' || *word == '-' || container->sidecar ? 0 : until;
}

static struct rh_runner_pod *make_pod(const char *words, int64_t until)
{
	struct rh_runner_pod *pod = rh_alloc(sizeof(*pod));
	rh_auto_free char *text = rh_strdup(words);
	char *rest = text;
	const char *word;

	pod->line = -1;
	pod->stage = RH_RUNNER_STARTED;
	pod->job = rh_strdup("j");
	pod->await_until = until;
	pod->containers = rh_alloc_array(4, sizeof(*pod->containers));
	while ((word = strsep(&rest, " ")))
		fill_container(&pod->containers[pod->container_count++], word, until);
	return pod;
}

/* The containers of a pod, and whether a verdict has to wait for what is not reported of it. */
static const struct {
	const char *words;
	bool waits;
} waits_rows[] = {
	{"-", true},       {"r", false},      {"e", true},       {"1", true},      {"0", true},    {"a", false},
	{"1 r", false},    {"0 r", false},    {"1 e", true},     {"a e", true},    {"1 1", true},  {"1 a", false},
	{"sr -", false},   {"sr r", false},   {"sr e", true},    {"sr 1", true},   {"sr 0", true}, {"s0 1", true},
	{"s0 sr 1", true}, {"s0 s1 1", true}, {"sr 1 r", false}, {"sr 1 e", true}, {"sa 1", true},
};

/* An end that is reported, and not that of its whole pod, holds no verdict: not for containers that run, nor for
 * sidecars that take their time. */
static void test_ends__who_is_waited_for(void **state)
{
	int64_t until = rh_clock_monotonic() + 3600 * RH_SECOND;

	(void)state;
	for (size_t i = 0; i < sizeof(waits_rows) / sizeof(waits_rows[0]); i++) {
		struct rh_runner runner = {.pods = rh_map_new()};
		rh_auto(runner_pod) pod = make_pod(waits_rows[i].words, until);
		int64_t found;

		assert_int_equal(rh_map_set(runner.pods, "1", pod, NULL), 0);
		found = rh_runner_awaited(&runner, "j");
		assert_int_equal(rh_runner_awaited(&runner, "other"), 0);
		rh_map_free(runner.pods);
		if (found != (waits_rows[i].waits ? until : 0))
			fail_msg("\"%s\": %s", waits_rows[i].words, found == 0 ? "no wait" : "it waits");
	}
}

/* Without a descriptor of the process the report is all that is known: until the shim ends, the pod's status lacks the
 * end. */
static void test_ends__report_without_a_descriptor(void **state)
{
	rh_auto(runner_pod) pod = make_pod("r", 0);
	struct rh_runner runner = {.pods = rh_map_new(), .ends = -1};
	struct rh_shim_report report = {.exit_code = 1, .started_at = 1, .finished_at = 2};

	(void)state;
	pod->runner = &runner;
	assert_int_equal(rh_map_set(runner.pods, "1", pod, NULL), 0);
	rh_runner_end_report(pod, &pod->containers[0], &report);
	pod->containers[0].report = report;
	assert_true(rh_runner_awaited(&runner, "j") > 0);
	assert_int_equal(report.finished_at, 2);
	rh_map_free(runner.pods);
}

/* A pod whose container's process runs until it is killed. */
static struct rh_runner_pod *start_pod(struct rh_runner *runner, pid_t *ret_pid)
{
	struct rh_runner_pod *pod = make_pod("r", 0);
	struct rh_shim_report report = {.running = true, .started_at = 1};

	*ret_pid = fork();
	assert_true(*ret_pid >= 0);
	if (*ret_pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	report.pid = *ret_pid;
	pod->runner = runner;
	rh_runner_end_report(pod, &pod->containers[0], &report);
	return pod;
}

/* @return the time that the end gets when its shim reports it, with a time of its own */
static int64_t report_end(const struct rh_runner_pod *pod, int64_t at)
{
	struct rh_shim_report report = {.exit_code = 1, .started_at = 1, .finished_at = at};

	rh_runner_end_report(pod, &pod->containers[0], &report);
	return report.finished_at;
}

/* The last one to end is reported first, and each shim's time says the opposite of what happened. The loop has not
 * looked at any process by then. */
static void test_ends__reports_in_another_order(void **state)
{
	enum { PODS = 40 }; /* more than are taken at once */
	struct rh_runner runner = {.waits = -1, .ends = -1};
	rh_auto(loop) loop = NULL;
	struct rh_runner_pod *pods[PODS];
	int64_t times[PODS];
	pid_t pids[PODS];

	(void)state;
	assert_int_equal(rh_loop_new(&loop, NULL), 0);
	runner.options.loop = loop;
	assert_int_equal(rh_runner_ends_open(&runner, NULL), 0);
	for (int i = 0; i < PODS; i++)
		pods[i] = start_pod(&runner, &pids[i]);
	for (int i = 0; i < PODS; i++) {
		siginfo_t info;

		assert_int_equal(kill(pids[i], SIGKILL), 0);
		assert_int_equal(waitid(P_PID, (id_t)pids[i], &info, WEXITED), 0);
	}
	for (int i = PODS - 1; i >= 0; i--)
		times[i] = report_end(pods[i], PODS - i);
	for (int i = 1; i < PODS; i++)
		assert_true(times[i] > times[i - 1]);
	for (int i = 0; i < PODS; i++)
		rh_runner_pod_free(pods[i]);
	rh_runner_ends_close(&runner);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, test_run_set_up, test_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends__who_is_waited_for),
		cmocka_unit_test(test_ends__report_without_a_descriptor),
		cmocka_unit_test(test_ends__reports_in_another_order),
		ROW(test_ends__late_report_of_a_silent_end),
		ROW(test_ends__late_report_of_an_error),
		ROW(test_ends__shim_that_never_reports),
		ROW(test_ends__an_interrupt_waits_for_a_late_report),
		ROW(test_ends__a_time_limit_waits_for_a_late_report),
		ROW(test_ends__a_second_interrupt_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
