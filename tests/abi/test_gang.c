/* SPDX-License-Identifier: Apache-2.0 */
/* gang.c: a plugin that does gang scheduling itself. */
#include <string.h>

#include "abi/plugins/both.h"
#include "config/gang.h"
#include "engine/decide.h"

static const char gang_job[] =
	"apiVersion: example.org/v1\n"
	"kind: GangJob\n"
	"metadata: {name: g, uid: u}\n"
	"spec: {gangReplicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: i}]}}}}}\n";

/** Open it with a gang scheduler. */
static void gang_open(struct fixture *fixture, void **state, struct rh_gang *gang)
{
	both_open(fixture, state, gang_job);
	assert_int_equal(rh_gang_parse("volcano", gang, NULL), 0);
	fixture->snapshot.gang = gang;
}

static void gang_objects(struct fixture *fixture, struct rh_json **ret_objects)
{
	rh_auto(builder) builder = NULL;

	assert_int_equal(rh_builder_new(&fixture->snapshot, &builder, NULL), 0);
	if (rh_build_objects(builder, ret_objects, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
}

static void test_gang__the_plugin_makes_the_group_and_the_core_none(void **state)
{
	rh_auto(json) objects = NULL;
	rh_auto(json) pod = NULL;
	struct rh_gang gang;
	auto_fixture fixture;

	gang_open(&fixture, state, &gang);
	gang_objects(&fixture, &objects);
	assert_int_equal(rh_json_size(objects), 2);
	both_assert_text(rh_json_item(objects, 0), "kind", "Service");
	both_assert_text(rh_json_item(objects, 1), "kind", "PodGroup");
	assert_null(rh_json_at(rh_json_item(objects, 1), "spec.queue"));
	pod = both_pod(&fixture, "Worker", 0);
	both_assert_text(pod, "spec.schedulerName", "volcano");
	assert_null(rh_json_at(pod, "metadata.annotations[\"scheduling.k8s.io/group-name\"]"));
}

static void test_gang__without_a_scheduler_there_is_none(void **state)
{
	rh_auto(json) objects = NULL;
	rh_auto(json) pod = NULL;
	auto_fixture fixture;

	both_open(&fixture, state, gang_job);
	gang_objects(&fixture, &objects);
	assert_int_equal(rh_json_size(objects), 1);
	pod = both_pod(&fixture, "Worker", 0);
	assert_null(rh_json_at(pod, "spec.schedulerName"));
}

/* Whether pods wait is the plugin's affair, too. */
static void test_gang__no_pod_waits_for_a_group(void **state)
{
	static const struct rh_ledger ledger;
	struct rh_plan plan = {0};
	size_t pods = 0;
	struct rh_gang gang;
	auto_fixture fixture;

	gang_open(&fixture, state, &gang);
	const struct rh_world world = {.host = fixture.host,
	                               .job = fixture.job,
	                               .ledger = &ledger,
	                               .gang = &gang,
	                               .now = INT64_C(1767225600) * 1000000};

	if (rh_decide(&world, &plan, &fixture.err) < 0)
		fail_msg("%s", fixture.err.message);
	for (size_t i = 0; i < plan.action_count; i++)
		pods += plan.actions[i].verb == RH_CREATE_POD;
	/* the others follow when the first one is there */
	assert_int_equal(pods, 1);
	rh_plan_deinit(&plan);
}

static int gang_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_gang__the_plugin_makes_the_group_and_the_core_none),
		BOTH_TEST(test_gang__without_a_scheduler_there_is_none),
		BOTH_TEST(test_gang__no_pod_waits_for_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(gang_run);
}
