/* SPDX-License-Identifier: Apache-2.0 */
/* Further objects: a PyTorchJob with elasticPolicy.metrics has a HorizontalPodAutoscaler. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/child/match.h"
#include "engine/carry/patch.h"
#include "engine/carry/sim.h"

static void open_elastic(struct sim *sim)
{
	sim_open(sim, false);
	sim_start(sim);
	sim_create(sim, sim_elastic_job());
	sim_settle(sim);
}

static void test_objects__are_made_with_the_job(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_elastic(&sim);
	assert_int_equal(sim_max_replicas(&sim), 3);
	assert_string_equal(rh_json_string_at(sim_autoscaler(&sim), "metadata.ownerReferences[0].uid"),
	                    rh_json_string_at(sim_job(&sim, "j"), "metadata.uid"));
	sim_assert(&sim, "j", "Created | worker-0 Pending");
	assert_false(rh_engine_busy(sim.engine));
}

static void test_objects__follow_the_spec(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_elastic(&sim);
	sim_patch(&sim, "j", "{'spec':{'elasticPolicy':{'maxReplicas':5}}}");
	sim_settle(&sim);
	assert_int_equal(sim_max_replicas(&sim), 5);
	sim_patch(&sim, "j", "{'spec':{'elasticPolicy':{'metrics':null}}}");
	sim_settle(&sim);
	assert_null(sim_autoscaler(&sim));
}

static void test_objects__go_with_suspension_and_come_again(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_elastic(&sim);
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&sim);
	assert_null(sim_autoscaler(&sim));
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'suspend':false}}}");
	sim_settle(&sim);
	assert_int_equal(sim_max_replicas(&sim), 3);
}

static void test_objects__are_not_written_again_after_a_start(void **state)
{
	auto_sim sim = {0};
	rh_auto_free char *version = NULL;

	(void)state;
	open_elastic(&sim);
	version = rh_strdup(rh_json_string_at(sim_autoscaler(&sim), "metadata.resourceVersion"));
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	assert_string_equal(rh_json_string_at(sim_autoscaler(&sim), "metadata.resourceVersion"), version);
}

static void patch_autoscaler(struct sim *sim, const char *patch)
{
	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                   .resource = &sim_autoscalers,
	                                                   .name = "j",
	                                                   .body = sim_json(patch)}),
	                 RH_OUTCOME_OK);
}

static void test_objects__that_were_changed_are_put_right_after_a_start(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_elastic(&sim);
	sim_kill(&sim);
	patch_autoscaler(&sim, "{'spec':{'maxReplicas':9,'behavior':{'x':1}},'metadata':{'labels':{'a':'b'}}}");
	sim_start(&sim);
	sim_settle(&sim);
	assert_int_equal(sim_max_replicas(&sim), 3);
	assert_null(rh_json_at(sim_autoscaler(&sim), "spec.behavior"));
	assert_string_equal(rh_json_string_at(sim_autoscaler(&sim), "metadata.labels.a"), "b");
}

static void test_objects__what_a_server_fills_in_is_no_change(void **state)
{
	auto_sim sim = {0};
	rh_auto_free char *version = NULL;

	(void)state;
	open_elastic(&sim);
	sim_kill(&sim);
	patch_autoscaler(&sim, "{'spec':{'behavior':{'scaleUp':{}}},'metadata':{'annotations':{'a':'b'}}}");
	version = rh_strdup(rh_json_string_at(sim_autoscaler(&sim), "metadata.resourceVersion"));
	sim_start(&sim);
	sim_settle(&sim);
	assert_string_equal(rh_json_string_at(sim_autoscaler(&sim), "metadata.resourceVersion"), version);
}

static void test_objects__left_by_a_killed_engine_go(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_elastic(&sim);
	sim_kill(&sim);
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_start(&sim);
	sim_settle(&sim);
	assert_null(sim_autoscaler(&sim));
	sim_assert(&sim, "j", "Created Suspended | ");
}

static void test_objects__of_others_are_left_alone(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                         .resource = &sim_autoscalers,
	                                         .body = sim_json("{'metadata':{'name':'j'},'spec':{'maxReplicas':9}}")});
	sim_create(&sim, sim_elastic_job());
	sim_settle(&sim);
	assert_int_equal(sim_max_replicas(&sim), 9);
	sim_assert_event(&sim, "Warning FailedCreateHorizontalPodAutoscaler Error creating: horizontalpodautoscalers \"j\" "
	                       "already exists, and belongs to nobody");
	sim_assert(&sim, "j", "Created Stalled | worker-0 Pending");
}

static void test_objects__go_when_the_job_has_finished(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_elastic(&sim);
	sim_set_pod(&sim, "j-worker-0", "Succeeded", 0, 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Succeeded | worker-0 Succeeded");
	assert_null(sim_autoscaler(&sim));
}

static void open_mpi(struct sim *sim)
{
	sim_open(sim, false);
	sim_start_mpi(sim);
}

/* v1-behaviour C.11: discover_hosts.sh names the workers that run. */
static void test_objects__follow_the_pods_that_run(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_mpi(&sim);
	sim_assert_hosts(&sim, "#!/bin/sh");
	sim_play_pod(&sim, "m-worker-1", "Running");
	sim_assert_hosts(&sim, "#!/bin/sh\necho m-worker-1:1");
	sim_play_pod(&sim, "m-worker-0", "Running");
	sim_assert_hosts(&sim, "#!/bin/sh\necho m-worker-0:1\necho m-worker-1:1");
	sim_play_pod(&sim, "m-worker-1", "Succeeded");
	sim_assert_hosts(&sim, "#!/bin/sh\necho m-worker-0:1");
	sim_kill(&sim);
	sim_delete_pod(&sim, "m-worker-0", 0);
	sim_start(&sim);
	sim_settle(&sim);
	sim_assert_hosts(&sim, "#!/bin/sh");
}

static void test_objects__that_follow_pods_are_written_only_when_they_change(void **state)
{
	const struct rh_json *map;
	auto_sim sim = {0};
	rh_auto_free char *version = NULL;

	(void)state;
	open_mpi(&sim);
	sim_play_pod(&sim, "m-worker-0", "Running");
	map = rh_memory_store_find(sim.store, &sim_config_maps, "default", "m-config");
	version = rh_strdup(rh_json_string_at(map, "metadata.resourceVersion"));
	sim_play_pod(&sim, "m-launcher", "Running");
	sim_wait(&sim, 3600);
	map = rh_memory_store_find(sim.store, &sim_config_maps, "default", "m-config");
	assert_string_equal(rh_json_string_at(map, "metadata.resourceVersion"), version);
}

/* v1-behaviour B.2: the word differs from kind to kind; test_engine.c has PyTorch's. */
static void test_objects__the_end_of_an_mpi_job_is_reported_with_v1s_messages(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_mpi(&sim);
	assert_int_equal(
		sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                       .resource = &sim_mpi_jobs,
	                                       .name = "m",
	                                       .body = sim_json("{'spec':{'runPolicy':{'ttlSecondsAfterFinished':5}}}")}),
		RH_OUTCOME_OK);
	sim_play_pod(&sim, "m-launcher", "Succeeded");
	sim_wait(&sim, 6);
	assert_null(rh_memory_store_find(sim.store, &sim_mpi_jobs, "default", "m"));
	sim_assert_event(&sim, "Normal SuccessfulDeleteJob Deleted job: m");
}

static void test_objects__one_that_vanished_before_an_update_is_made_again(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_elastic(&sim);
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &sim_autoscalers, .name = "j"});
	sim_patch(&sim, "j", "{'spec':{'elasticPolicy':{'maxReplicas':5}}}");
	sim_settle(&sim);
	assert_int_equal(sim_max_replicas(&sim), 5);
}

static void test_objects__covers_compares_what_is_expected(void **state)
{
	static const struct {
		const char *actual;
		const char *wanted;
		bool covers;
	} rows[] = {
		{"{}", "{}", true},
		{"{'a':1,'b':2}", "{'a':1}", true},
		{"{'a':1}", "{'a':1,'b':2}", false},
		{"{'a':1}", "{'a':2}", false},
		{"{'a':{'x':1,'y':2}}", "{'a':{'y':2}}", true},
		{"{'a':[1,2]}", "{'a':[1]}", false},
		{"{'a':[{'x':1,'y':2}]}", "{'a':[{'x':1}]}", true},
		{"{'a':[{'x':1},{'x':2}]}", "{'a':[{'x':2},{'x':1}]}", false},
		{"{'a':'1'}", "{'a':1}", false},
		{"{'a':null}", "{'a':null}", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) actual = sim_json(rows[i].actual);
		rh_auto(json) wanted = sim_json(rows[i].wanted);

		if (rh_match_covers(actual, wanted) != rows[i].covers)
			fail_msg("%s and %s", rows[i].actual, rows[i].wanted);
	}
}

/* What an API server lets anybody change of a Job: of one that ran only whether it is suspended. */
static void test_objects__a_job_is_changed_where_a_server_allows_it(void **state)
{
#define JOB(rest) "{'apiVersion':'batch/v1','kind':'Job'," rest "}"
#define POD(labels, more) "'template':{'metadata':{'labels':{" labels "}},'spec':{'containers':[]" more "}}"
	static const struct {
		const char *actual, *wanted, *sent;
		bool current;
	} rows[] = {
		{JOB("'spec':{'parallelism':1," POD("'a':'1'", "") "}"), JOB("'spec':{'suspend':false," POD("'a':'2'", "") "}"),
	     JOB("'spec':{'parallelism':1,'suspend':false," POD("'a':'1'", "") "}"), true},
		{JOB("'spec':{" POD("'a':'1'", "") "}"), JOB("'spec':{'suspend':true," POD("'b':'1'", "") "}"),
	     JOB("'spec':{'suspend':true," POD("'a':'1'", "") "}"), false},
		{JOB("'spec':{'suspend':true," POD("'a':'1','uid':'u'", ",'x':1") "}"),
	     JOB("'spec':{'suspend':false," POD("'a':'2'", ",'nodeSelector':{'n':'1'},'x':2") "}"),
	     JOB("'spec':{'suspend':false," POD("'a':'2','uid':'u'", ",'nodeSelector':{'n':'1'},'x':1") "}"), false},
		{JOB("'status':{'startTime':'t'},'spec':{'suspend':true," POD("'a':'1'", "") "}"),
	     JOB("'spec':{'suspend':false," POD("'a':'2'", ",'nodeSelector':{'n':'1'}") "}"),
	     JOB("'status':{'startTime':'t'},'spec':{'suspend':false," POD("'a':'1'", "") "}"), false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const struct rh_resource jobs = {"batch/v1", "Job", "jobs"};
		rh_auto(json) actual = sim_json(rows[i].actual);
		rh_auto(json) wanted = sim_json(rows[i].wanted);
		rh_auto(json) want = sim_json(rows[i].sent);
		rh_auto(json) sent = rh_match_replacement(actual, wanted);
		struct rh_inflight inflight = {.body = wanted, .resource = &jobs};

		if (!rh_json_equal(sent, want))
			fail_msg("row %zu: %s", i, rh_json_text(sent));
		assert_int_equal(rh_match_is_current(&inflight, actual), rows[i].current);
	}
#undef JOB
#undef POD
}

static void test_objects__diff_is_the_least_patch(void **state)
{
	static const char *const rows[][3] = {
		{"{}", "{}", "{}"},
		{"{'a':1}", "{'a':1}", "{}"},
		{"{'a':1}", "{'a':2}", "{'a':2}"},
		{"{'a':1}", "{}", "{'a':null}"},
		{"{'a':{'b':1,'c':2}}", "{'a':{'b':1,'d':3}}", "{'a':{'d':3,'c':null}}"},
		{"{'a':[1,2]}", "{'a':[1]}", "{'a':[1]}"},
		{"{'a':{'b':1}}", "{'a':7}", "{'a':7}"},
		{"{'a':7}", "{'a':{'b':1}}", "{'a':{'b':1}}"},
		{"{'w':{'active':2,'selector':'s'}}", "{'w':{'selector':'s'}}", "{'w':{'active':null}}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) from = sim_json(rows[i][0]);
		rh_auto(json) to = sim_json(rows[i][1]);
		rh_auto(json) expected = sim_json(rows[i][2]);
		rh_auto(json) diff = rh_patch_diff(from, to);

		if (!rh_json_equal(diff, expected))
			fail_msg("%s to %s", rows[i][0], rows[i][1]);
		assert_int_equal(rh_json_merge(from, diff), 0);
		assert_true(rh_json_equal(from, to));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects__are_made_with_the_job),
		cmocka_unit_test(test_objects__follow_the_spec),
		cmocka_unit_test(test_objects__go_with_suspension_and_come_again),
		cmocka_unit_test(test_objects__are_not_written_again_after_a_start),
		cmocka_unit_test(test_objects__that_were_changed_are_put_right_after_a_start),
		cmocka_unit_test(test_objects__what_a_server_fills_in_is_no_change),
		cmocka_unit_test(test_objects__left_by_a_killed_engine_go),
		cmocka_unit_test(test_objects__go_when_the_job_has_finished),
		cmocka_unit_test(test_objects__follow_the_pods_that_run),
		cmocka_unit_test(test_objects__that_follow_pods_are_written_only_when_they_change),
		cmocka_unit_test(test_objects__the_end_of_an_mpi_job_is_reported_with_v1s_messages),
		cmocka_unit_test(test_objects__of_others_are_left_alone),
		cmocka_unit_test(test_objects__one_that_vanished_before_an_update_is_made_again),
		cmocka_unit_test(test_objects__covers_compares_what_is_expected),
		cmocka_unit_test(test_objects__a_job_is_changed_where_a_server_allows_it),
		cmocka_unit_test(test_objects__diff_is_the_least_patch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
