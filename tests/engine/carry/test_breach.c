/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose operations fail is not called for ever, and running pods do not end because of it. */
#include <string.h>

#include "engine/carry/sim.h"

static const struct rh_replica_type worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const types[] = {&worker, NULL};

static const struct rh_kind faulty = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "FaultyJob",
	.plural = "faultyjobs",
	.singular = "faultyjob",
	.framework = "faulty",
	.controller = "faultyjob-controller",
	.replicas_field = "replicas",
	.types = types,
	.restart_policy = "Never",
};

static const struct rh_resource faulty_jobs = {"example.org/v1", "FaultyJob", "faultyjobs"};

/* The operation that fails, and how often it was called. */
struct faults {
	const struct rh_services *services;
	const char *operation; /* that fails */
	int32_t code;
	int asked;
};

static struct faults faults;

static int32_t init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	faults.services = services;
	*ret_self = &faults;
	return 0;
}

static const struct rh_kind *describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &faulty : NULL;
}

static int32_t fail_in(const char *operation, struct rh_reply *reply)
{
	if (strcmp(faults.operation, operation) != 0)
		return 0;
	faults.asked++;
	return (faults.services->fail)(reply, faults.code, "these words");
}

static int32_t validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	(void)self;
	(void)view;
	return fail_in("validate", reply);
}

static int32_t pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	(void)self;
	(void)view;
	(void)me;
	return fail_in("pod", reply);
}

static int32_t objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	(void)self;
	(void)view;
	return fail_in("objects", reply);
}

static int32_t judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};
	int32_t r;

	(void)self;
	(void)faults.services->counts(view, "Worker", &counts);
	r = fail_in(counts.active > 0 ? "judge running" : "judge", reply);
	return r < 0 ? r : RH_DEFAULT;
}

static const struct rh_plugin plugin = {.head = RH_HEAD(struct rh_plugin),
                                        .name = "faulty",
                                        .release = "1",
                                        .init = init,
                                        .describe = describe,
                                        .validate = validate,
                                        .pod = pod,
                                        .objects = objects,
                                        .judge = judge};

static void start_faulty(struct sim *sim, const char *operation, int32_t code)
{
	struct rh_error err = {0};

	faults = (struct faults){.operation = operation, .code = code};
	sim_open(sim, false);
	if (rh_host_add(sim->host, "faulty", &plugin, &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                      .resource = &faulty_jobs,
	                                      .body = sim_json("{'metadata':{'name':'j'},'spec':{'replicas':{'Worker':{"
	                                                       "'template':{'spec':{'containers':[{'name':'main','image':"
	                                                       "'i'}]}}}}}}")}),
		RH_OUTCOME_OK);
	sim_settle(sim);
}

/* @return the condition Failed of the job, borrowed; NULL: it has not failed */
static const struct rh_json *failed(const struct sim *sim)
{
	const struct rh_json *job = rh_memory_store_find(sim->store, &faulty_jobs, "default", "j");
	const struct rh_json *condition = rh_json_first(rh_json_at(job, "status.conditions"));

	while (condition && !rh_text_equal(rh_json_string_at(condition, "type"), "Failed"))
		condition = rh_json_next(condition);
	return condition;
}

static void test_breach__a_job_without_pods_fails(void **state)
{
	static const char *const operations[] = {"validate", "pod", "objects", "judge"};
	static const int32_t codes[] = {RH_EPLUGIN, RH_EINVAL, RH_EAGAIN};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 3; k++) {
			auto_sim sim = {0};
			int asked;

			start_faulty(&sim, operations[i], codes[k]);
			sim_wait(&sim, 2);
			assert_non_null(failed(&sim));
			assert_string_equal(rh_json_string_at(failed(&sim), "reason"), "FaultyJobPluginFailed");
			assert_non_null(strstr(rh_json_string_at(failed(&sim), "message"), "these words"));
			assert_null(sim_pod(&sim, "j-worker-0"));
			asked = faults.asked;
			sim_wait(&sim, 3600);
			assert_int_equal(faults.asked, asked);
			assert_false(rh_engine_busy(sim.engine));
		}
	}
}

/* A plugin may have been replaced by a faulty one. */
static void test_breach__a_job_with_pods_goes_on(void **state)
{
	auto_sim sim = {0};
	int asked;

	(void)state;
	start_faulty(&sim, "judge running", RH_EPLUGIN);
	sim_play_pod(&sim, "j-worker-0", "Running");
	sim_wait(&sim, 60);
	assert_null(failed(&sim));
	assert_non_null(sim_pod(&sim, "j-worker-0"));
	sim_assert_event(&sim, "Warning FaultyJobFailedReconcile");
	asked = faults.asked;
	sim_wait(&sim, 3600);
	assert_true(faults.asked > asked);
	faults.operation = "";
	sim_play_pod(&sim, "j-worker-0", "Succeeded");
	sim_wait(&sim, 3600);
	assert_null(failed(&sim));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breach__a_job_without_pods_fails),
		cmocka_unit_test(test_breach__a_job_with_pods_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
