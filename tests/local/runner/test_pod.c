/* SPDX-License-Identifier: Apache-2.0 */
#include "local/runner/pod.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"
#include "job/pod.h"

#define START INT64_C(1700000000000000)
#define MASTER_END (START + 2 * RH_SECOND + 123456)

/* One container as a word: "-" not reported, "r" running, "aN" waits for a restart after code N, an exit code. */
static void fill_report(struct rh_runner_container *container, const char *word)
{
	struct rh_shim_report *report = &container->report;

	if (word[0] == '-')
		return;
	container->reported = true;
	report->started_at = START;
	report->running = word[0] == 'r';
	report->again = word[0] == 'a';
	if (report->running)
		return;
	report->exit_code = (int32_t)strtol(word + (report->again ? 1 : 0), NULL, 10);
	report->signal = report->exit_code > 128 ? report->exit_code - 128 : 0;
	report->finished_at = MASTER_END;
	rh_copy(report->reason, sizeof(report->reason), report->exit_code == 0 ? "Completed" : "Error");
	container->ended = *report;
}

/* A pod from words: those before "|" are init containers, and those that start with "s" sidecars. */
static struct rh_runner_pod *make_pod(const char *words, enum rh_runner_stage stage)
{
	struct rh_runner_pod *pod = rh_alloc(sizeof(*pod));
	bool init = strchr(words, '|') != NULL;
	char text[64];
	char *rest = text;
	const char *word;

	rh_copy(text, sizeof(text), words);
	pod->line = -1;
	pod->stage = stage;
	pod->created_at = START;
	pod->started_at = stage == RH_RUNNER_QUEUED || stage == RH_RUNNER_REFUSED ? 0 : START;
	pod->ip = rh_strdup("127.3.4.5");
	pod->containers = rh_alloc_array(8, sizeof(*pod->containers));
	while ((word = strsep(&rest, " "))) {
		struct rh_runner_container *container = &pod->containers[pod->container_count];

		if (word[0] == '|') {
			init = false;
			continue;
		}
		container->init = init;
		container->sidecar = word[0] == 's';
		word += container->sidecar ? 1 : 0;
		container->ran = strcmp(word, "-") != 0;
		container->name = rh_asprintf("c%zu", pod->container_count++);
		container->image = rh_strdup("image");
		fill_report(container, word);
	}
	return pod;
}

/* Containers, how far the pod is, and its phase by the rules of a kubelet. */
struct phase_row {
	const char *words;
	enum rh_runner_stage stage;
	const char *phase;
	bool ready;
};

static const struct phase_row phase_rows[] = {
	{"-", RH_RUNNER_QUEUED, "Pending", false},        {"-", RH_RUNNER_STARTED, "Pending", false},
	{"r", RH_RUNNER_STARTED, "Running", true},        {"r -", RH_RUNNER_STARTED, "Pending", false},
	{"r r", RH_RUNNER_STARTED, "Running", true},      {"r 0", RH_RUNNER_STARTED, "Running", false},
	{"r 1", RH_RUNNER_STARTED, "Running", false},     {"a1", RH_RUNNER_STARTED, "Running", false},
	{"0", RH_RUNNER_STARTED, "Running", false},       {"0", RH_RUNNER_ENDED, "Succeeded", false},
	{"0 0", RH_RUNNER_ENDED, "Succeeded", false},     {"0 3", RH_RUNNER_ENDED, "Failed", false},
	{"137", RH_RUNNER_ENDED, "Failed", false},        {"-", RH_RUNNER_ENDED, "Failed", false},
	{"r | -", RH_RUNNER_STARTED, "Pending", false},   {"0 | -", RH_RUNNER_STARTED, "Pending", false},
	{"0 | r", RH_RUNNER_STARTED, "Running", true},    {"a1 | -", RH_RUNNER_STARTED, "Pending", false},
	{"1 | -", RH_RUNNER_STARTED, "Pending", false},   {"1 | -", RH_RUNNER_ENDED, "Failed", false},
	{"0 0 | 0", RH_RUNNER_ENDED, "Succeeded", false}, {"-", RH_RUNNER_REFUSED, "Pending", false},
	{"s- | -", RH_RUNNER_STARTED, "Pending", false},  {"sr | -", RH_RUNNER_STARTED, "Pending", false},
	{"sr | r", RH_RUNNER_STARTED, "Running", true},   {"sa1 | r", RH_RUNNER_STARTED, "Running", false},
	{"sr | 0", RH_RUNNER_STARTED, "Running", false},  {"s143 | 0", RH_RUNNER_ENDED, "Succeeded", false},
	{"s0 | 3", RH_RUNNER_ENDED, "Failed", false},     {"s143 1 | -", RH_RUNNER_ENDED, "Failed", false},
	{"sr 0 | r", RH_RUNNER_STARTED, "Running", true},
};

static void test_pod__phase(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(phase_rows) / sizeof(phase_rows[0]); i++) {
		const struct phase_row *row = &phase_rows[i];
		rh_auto(runner_pod) pod = make_pod(row->words, row->stage);

		rh_runner_pod_settle(pod, START);
		if (strcmp(rh_runner_pod_phase(pod), row->phase) != 0 || pod->ready != row->ready)
			fail_msg("\"%s\": %s, ready %d", row->words, rh_runner_pod_phase(pod), pod->ready);
	}
}

static void test_pod__broken_pod_has_failed(void **state)
{
	rh_auto(runner_pod) pod = make_pod("0", RH_RUNNER_ENDED);
	rh_auto(json) patch = NULL;

	(void)state;
	pod->broken = true;
	pod->reason = "ContainerStatusUnknown";
	pod->message = rh_strdup("killed");
	rh_runner_pod_settle(pod, START);
	patch = rh_runner_pod_status(pod);
	assert_string_equal(rh_json_string_at(patch, "status.phase"), "Failed");
	assert_string_equal(rh_json_string_at(patch, "status.reason"), "ContainerStatusUnknown");
	assert_string_equal(rh_json_string_at(patch, "status.message"), "killed");
}

static const char *condition_of(const struct rh_json *patch, const char *type, const char *member)
{
	const struct rh_json *item = rh_json_first(rh_json_at(patch, "status.conditions"));

	while (item && strcmp(rh_json_string(rh_json_get(item, "type")), type) != 0)
		item = rh_json_next(item);
	return rh_json_string(rh_json_get(item, member));
}

static void test_pod__status_while_running(void **state)
{
	rh_auto(runner_pod) pod = make_pod("0 | r", RH_RUNNER_STARTED);
	rh_auto(json) patch = NULL;

	(void)state;
	rh_runner_pod_settle(pod, START + 5 * RH_SECOND);
	patch = rh_runner_pod_status(pod);
	assert_string_equal(rh_json_string_at(patch, "status.podIP"), "127.3.4.5");
	assert_string_equal(rh_json_string_at(patch, "status.podIPs[0].ip"), "127.3.4.5");
	assert_string_equal(rh_json_string_at(patch, "status.hostIP"), "127.0.0.1");
	assert_string_equal(rh_json_string_at(patch, "status.startTime"), "2023-11-14T22:13:20Z");
	assert_string_equal(condition_of(patch, "Ready", "status"), "True");
	assert_string_equal(condition_of(patch, "Ready", "lastTransitionTime"), "2023-11-14T22:13:25Z");
	assert_string_equal(condition_of(patch, "Initialized", "status"), "True");
	assert_string_equal(condition_of(patch, "PodScheduled", "status"), "True");
	assert_string_equal(rh_json_string_at(patch, "status.initContainerStatuses[0].state.terminated.reason"),
	                    "Completed");
	assert_string_equal(rh_json_string_at(patch, "status.containerStatuses[0].state.running.startedAt"),
	                    "2023-11-14T22:13:20.000000Z");
	assert_true(rh_json_bool(rh_json_at(patch, "status.containerStatuses[0].ready"), false));
	assert_true(rh_json_bool(rh_json_at(patch, "status.containerStatuses[0].started"), false));
	assert_null(rh_json_at(patch, "status.reason"));
}

static void test_pod__status_of_an_end(void **state)
{
	rh_auto(runner_pod) pod = make_pod("137", RH_RUNNER_ENDED);
	rh_auto(json) patch = NULL;
	int64_t code = 0;

	(void)state;
	pod->containers[0].last_lines = rh_strdup("out of luck");
	rh_runner_pod_settle(pod, START);
	patch = rh_runner_pod_status(pod);
	assert_true(rh_json_integer(rh_json_at(patch, "status.containerStatuses[0].state.terminated.exitCode"), &code));
	assert_int_equal(code, 137);
	assert_true(rh_json_integer(rh_json_at(patch, "status.containerStatuses[0].state.terminated.signal"), &code));
	assert_int_equal(code, 9);
	assert_string_equal(rh_json_string_at(patch, "status.containerStatuses[0].state.terminated.message"),
	                    "out of luck");
	assert_string_equal(rh_json_string_at(patch, "status.containerStatuses[0].state.terminated.finishedAt"),
	                    "2023-11-14T22:13:22.123456Z");
	assert_string_equal(condition_of(patch, "Ready", "reason"), "ContainersNotReady");
}

static void test_pod__status_between_restarts(void **state)
{
	rh_auto(runner_pod) pod = make_pod("a7", RH_RUNNER_STARTED);
	rh_auto(json) patch = NULL;
	int64_t number = 0;

	(void)state;
	pod->containers[0].report.restarts = 2;
	rh_copy(pod->containers[0].ended.message, sizeof(pod->containers[0].ended.message), "cannot start \"x\"");
	rh_runner_pod_settle(pod, START);
	patch = rh_runner_pod_status(pod);
	assert_string_equal(rh_json_string_at(patch, "status.phase"), "Running");
	assert_string_equal(rh_json_string_at(patch, "status.containerStatuses[0].state.waiting.reason"),
	                    "CrashLoopBackOff");
	assert_non_null(strstr(rh_json_string_at(patch, "status.containerStatuses[0].state.waiting.message"),
	                       "ended with exit code 7: cannot start \"x\"; it waits to be restarted"));
	assert_true(
		rh_json_integer(rh_json_at(patch, "status.containerStatuses[0].lastState.terminated.exitCode"), &number));
	assert_int_equal(number, 7);
	assert_true(rh_json_integer(rh_json_at(patch, "status.containerStatuses[0].restartCount"), &number));
	assert_int_equal(number, 2);
}

static void test_pod__status_of_a_refused_pod(void **state)
{
	rh_auto(runner_pod) pod = make_pod("-", RH_RUNNER_REFUSED);
	rh_auto(json) patch = NULL;

	(void)state;
	pod->reason = "CreateContainerConfigError";
	pod->message = rh_strdup("configmap \"x\" not found");
	rh_runner_pod_settle(pod, START);
	patch = rh_runner_pod_status(pod);
	assert_string_equal(rh_json_string_at(patch, "status.phase"), "Pending");
	assert_string_equal(rh_json_string_at(patch, "status.containerStatuses[0].state.waiting.reason"),
	                    "CreateContainerConfigError");
	assert_string_equal(rh_json_string_at(patch, "status.containerStatuses[0].state.waiting.message"),
	                    "configmap \"x\" not found");
	assert_string_equal(condition_of(patch, "Initialized", "status"), "False");
}

/* What is written is what decisions read. */
static void test_pod__status_is_read_back(void **state)
{
	static const struct rh_replica_type *const types[] = {NULL};
	static const struct rh_kind kind = {.container = "c0", .types = types};
	rh_auto(runner_pod) pod = make_pod("137 0", RH_RUNNER_ENDED);
	rh_auto(json) patch = NULL;
	rh_auto(pod) read = NULL;

	(void)state;
	rh_runner_pod_settle(pod, START);
	patch = rh_runner_pod_status(pod);
	assert_int_equal(rh_pod_parse(&kind, patch, &read), 0);
	assert_int_equal(read->phase, RH_PHASE_FAILED);
	assert_int_equal(read->exit_code, 137);
	assert_int_equal(read->started_at, START);
	assert_int_equal(read->finished_at, MASTER_END);
	assert_false(read->ready);
}

/* The end of a sidecar is never the reason for that of its pod. */
static void test_pod__sidecar_is_not_to_blame(void **state)
{
	static const struct rh_replica_type *const types[] = {NULL};
	static const struct rh_kind kind = {.container = "c1", .types = types};
	rh_auto(runner_pod) pod = make_pod("s143 | 0 3", RH_RUNNER_ENDED);
	rh_auto(json) patch = NULL;
	rh_auto(pod) read = NULL;

	(void)state;
	rh_runner_pod_settle(pod, START);
	patch = rh_runner_pod_status(pod);
	assert_int_equal(rh_pod_parse(&kind, patch, &read), 0);
	assert_int_equal(read->phase, RH_PHASE_FAILED);
	assert_string_equal(read->failed_container, "c2");
	assert_int_equal(read->failed_code, 3);
}

static void test_pod__ready_remembers_when_it_changed(void **state)
{
	rh_auto(runner_pod) pod = make_pod("r", RH_RUNNER_STARTED);

	(void)state;
	rh_runner_pod_settle(pod, START);
	rh_runner_pod_settle(pod, START + 1);
	assert_int_equal(pod->ready_at, START);
	pod->containers[0].report.running = false;
	rh_runner_pod_settle(pod, START + 2);
	assert_int_equal(pod->ready_at, START + 2);
	assert_int_equal(pod->initialized_at, START);
}

static void test_pod__without_memory(void **state)
{
	rh_auto(runner_pod) pod = make_pod("0 | 137 r", RH_RUNNER_ENDED);
	struct rh_json *patch = NULL;

	(void)state;
	for (long count = 0; count < 1000 && !patch; count++) {
		(void)rh_mem_fail_after(count);
		patch = rh_runner_pod_status(pod);
		(void)rh_mem_fail_after(-1);
	}
	assert_non_null(patch);
	rh_json_free(patch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pod__phase),
		cmocka_unit_test(test_pod__broken_pod_has_failed),
		cmocka_unit_test(test_pod__status_while_running),
		cmocka_unit_test(test_pod__status_of_an_end),
		cmocka_unit_test(test_pod__status_between_restarts),
		cmocka_unit_test(test_pod__status_of_a_refused_pod),
		cmocka_unit_test(test_pod__status_is_read_back),
		cmocka_unit_test(test_pod__sidecar_is_not_to_blame),
		cmocka_unit_test(test_pod__ready_remembers_when_it_changed),
		cmocka_unit_test(test_pod__without_memory),
	};

	return cmocka_run_group_tests_name("local/runner_pod", tests, NULL, NULL);
}
