/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/fixture.h"

/** A host that has PyTorch's plugin in a process of its own, and the job of the fixture. */
static void open_remote(struct fixture *fixture)
{
	fixture->config = rh_config_new();
	assert_non_null(fixture->config);
	fixture->config->plugin_isolation = RH_ISOLATION_PROCESS;
	assert_int_equal(rh_host_new(fixture->config, &fixture->host, NULL), 0);
	if (rh_host_try_file(fixture->host, RH_PLUGIN_DIR "/pytorch.so", &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	assert_int_equal(rh_host_parse(fixture->host, fixture_yaml(fixture_job), &fixture->job, NULL), 0);
	fixture->snapshot = (struct rh_snapshot){.host = fixture->host, .job = fixture->job};
}

/** @return the one child of this process */
static pid_t only_child(void)
{
	char path[64], text[32] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
	file = fopen(path, "r");
	if (!file)
		skip(); /* a kernel without this file */
	assert_non_null(fgets(text, sizeof(text), file));
	(void)fclose(file);
	return (pid_t)strtol(text, NULL, 10);
}

static void test_worker__pods_of_a_batch_are_those_of_single_calls(void **state)
{
	auto_fixture fixture = {0};
	struct rh_pods_ahead *ahead = NULL;

	(void)state;
	open_remote(&fixture);
	for (int32_t i = 0; i < 2; i++) {
		rh_auto(json) one = fixture_yaml("spec: {containers: [{name: pytorch}]}");
		rh_auto(json) next = fixture_yaml("spec: {containers: [{name: pytorch}]}");
		rh_auto_free char *text = NULL;

		assert_int_equal(rh_host_pod(&fixture.snapshot, "Worker", i, one, NULL), 0);
		assert_int_equal(rh_host_next_pod(&fixture.snapshot, &ahead, "Worker", i, next, NULL), 0);
		text = rh_json_text(one);
		assert_non_null(strstr(text, i == 0 ? "\"RANK\",\"value\":\"1\"" : "\"RANK\",\"value\":\"2\""));
		fixture_assert_json(next, text);
	}
	rh_pods_ahead_free(ahead);
}

static void test_worker__one_that_ended_meanwhile_is_started_again(void **state)
{
	auto_fixture fixture = {0};
	rh_auto_findings findings = {0};
	siginfo_t ended;
	pid_t first;

	(void)state;
	open_remote(&fixture);
	assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, NULL), 0);
	first = only_child();
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)first, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, &fixture.err), 0);
	assert_int_not_equal(only_child(), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worker__pods_of_a_batch_are_those_of_single_calls),
		cmocka_unit_test(test_worker__one_that_ended_meanwhile_is_started_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
