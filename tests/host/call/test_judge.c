/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/str.h"
#include "host/call/reply.h"
#include "host/call/view.h"
#include "host/fixture.h"

/** Counts of two replica types, and all that the default judge says of them. */
struct judge_case {
	const char *name;
	struct rh_counts first;
	struct rh_counts second;
	const char *verdicts; /**< number, type and message, one a line */
};

static const struct judge_case judge_with_leader[] = {
	{"nothing yet", {.desired = 1}, {.desired = 2}, ""},
	{"workers alone run", {.desired = 1}, {.desired = 2, .active = 2}, ""},
	{"the leader runs", {.desired = 1, .active = 1}, {.desired = 2}, "1 - PyTorchJob mnist is running.\n"},
	{"the leader is done",
     {.desired = 1, .succeeded = 1},
     {.desired = 2, .active = 2},
     "2 - PyTorchJob mnist is successfully completed.\n"},
	{"workers alone are done",
     {.desired = 1, .active = 1},
     {.desired = 2, .succeeded = 2},
     "1 - PyTorchJob mnist is running.\n"},
	{"the leader's success wins over a failed worker",
     {.desired = 1, .succeeded = 1},
     {.desired = 2, .failed = 1},
     "2 - PyTorchJob mnist is successfully completed.\n"},
	{"a worker failed",
     {.desired = 1, .active = 1},
     {.desired = 2, .active = 1, .failed = 1},
     "1 - PyTorchJob mnist is running.\n3 Worker PyTorchJob mnist is failed because 1 Worker replica(s) failed.\n"},
	{"the leader failed",
     {.desired = 1, .failed = 1},
     {.desired = 2, .active = 2},
     "3 Master PyTorchJob mnist is failed because 1 Master replica(s) failed.\n"},
	{"workers restart",
     {.desired = 1, .active = 1},
     {.desired = 2, .restarting = 2},
     "4 Worker PyTorchJob mnist is restarting because 2 Worker replica(s) failed.\n"},
	{"one restarts, one failed",
     {.desired = 1, .restarting = 1},
     {.desired = 2, .failed = 1},
     "3 Worker PyTorchJob mnist is failed because 1 Worker replica(s) failed.\n"},
};

static const char judge_workers_only[] =
	"apiVersion: kubeflow.org/v1\n"
	"kind: PyTorchJob\n"
	"metadata: {name: mnist}\n"
	"spec:\n"
	"  pytorchReplicaSpecs:\n"
	"    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}\n";

/* v1-behaviour E.3: where no leader decides, V1 names the namespace. */
static const struct judge_case judge_without_leader[] = {
	{"nothing yet", {.desired = 2}, {.desired = 0}, ""},
	{"one runs", {.desired = 2, .active = 1}, {.desired = 0}, "1 - PyTorchJob default/mnist is running.\n"},
	{"one is done",
     {.desired = 2, .active = 1, .succeeded = 1},
     {.desired = 0},
     "1 - PyTorchJob default/mnist is running.\n"},
	{"all are done",
     {.desired = 2, .succeeded = 2},
     {.desired = 0},
     "2 - PyTorchJob default/mnist successfully completed.\n"},
};

static void judge_print(const struct rh_judgement *judgement, struct rh_str *out)
{
	for (size_t i = 0; i < judgement->count; i++) {
		const struct rh_verdict *verdict = &judgement->items[i];

		rh_str_appendf(out, "%d %s %s\n", (int)verdict->verdict, verdict->type ? verdict->type : "-", verdict->message);
	}
}

static void judge_check(struct fixture *fixture, const struct judge_case *row)
{
	struct rh_judgement judgement = {0};
	rh_auto_str printed = {0};

	fixture->counts[0] = row->first;
	fixture->counts[1] = row->second;
	assert_int_equal(rh_host_judge(&fixture->snapshot, &judgement, &fixture->err), 0);
	judge_print(&judgement, &printed);
	print_message("%s\n", row->name);
	assert_string_equal(rh_str_text(&printed), row->verdicts);
	rh_judgement_deinit(&judgement);
}

static void test_judge__default_with_a_leader(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	for (size_t i = 0; i < sizeof(judge_with_leader) / sizeof(judge_with_leader[0]); i++)
		judge_check(&fixture, &judge_with_leader[i]);
}

static void test_judge__default_without_a_leader(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), judge_workers_only);
	for (size_t i = 0; i < sizeof(judge_without_leader) / sizeof(judge_without_leader[0]); i++)
		judge_check(&fixture, &judge_without_leader[i]);
}

static int32_t judge_own(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	(void)self;
	(void)view;
	(void)reply;
	return 0;
}

static void test_judge__a_plugin_that_says_nothing_is_taken_at_its_word(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	struct rh_judgement judgement = {0};
	auto_fixture fixture;

	(void)state;
	plugin.judge = judge_own;
	fixture_open(&fixture, &plugin, fixture_job);
	fixture.counts[0].succeeded = 1;
	assert_int_equal(rh_host_judge(&fixture.snapshot, &judgement, NULL), 0);
	assert_int_equal(judgement.count, 0);
}

static int32_t judge_and_default(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	(void)self;
	(void)view;
	return rh_reply_verdict(reply, RH_VERDICT_RUNNING, NULL, "mine") == 0 ? RH_DEFAULT : RH_EPLUGIN;
}

/* The verdicts of the plugin stay; those of the core follow them. */
static void test_judge__a_plugin_can_leave_it_to_the_core(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	struct rh_judgement judgement = {0};
	rh_auto_str printed = {0};
	auto_fixture fixture;

	(void)state;
	plugin.judge = judge_and_default;
	fixture_open(&fixture, &plugin, fixture_job);
	fixture.counts[0].succeeded = 1;
	assert_int_equal(rh_host_judge(&fixture.snapshot, &judgement, NULL), 0);
	judge_print(&judgement, &printed);
	rh_judgement_deinit(&judgement);
	assert_string_equal(rh_str_text(&printed), "1 - mine\n2 - PyTorchJob mnist is successfully completed.\n");
}

static void test_judge__survives_allocation_failures(void **state)
{
	int r = RH_ENOMEM;
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	fixture.counts[0].active = 1;
	fixture.counts[1].failed = 1;
	for (long n = 0; r == RH_ENOMEM && n < 100; n++) {
		struct rh_judgement judgement = {0};

		rh_mem_fail_after(n);
		r = rh_host_judge(&fixture.snapshot, &judgement, NULL);
		rh_mem_fail_after(-1);
		assert_int_equal(judgement.count, r == 0 ? 2 : 0);
		rh_judgement_deinit(&judgement);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge__default_with_a_leader),
		cmocka_unit_test(test_judge__default_without_a_leader),
		cmocka_unit_test(test_judge__a_plugin_that_says_nothing_is_taken_at_its_word),
		cmocka_unit_test(test_judge__a_plugin_can_leave_it_to_the_core),
		cmocka_unit_test(test_judge__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
