/* SPDX-License-Identifier: Apache-2.0 */
/* Two kinds that are versions of one resource: each job is one kind's alone, and all writes are of that version. */
#include <string.h>

#include "engine/carry/sim.h"

static const struct rh_replica_type worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const types[] = {&worker, NULL};

/* Both controllers have one name. */
#define KIND(NAME, FLAGS)                                                                                     \
	{                                                                                                         \
		.head = RH_HEAD(struct rh_kind), .group = "example.org", .version = (NAME), .kind = "DualJob",        \
		.plural = "dualjobs", .singular = "dualjob", .framework = "dual", .controller = "dualjob-controller", \
		.replicas_field = "replicas", .types = types, .restart_policy = "Never", .flags = (FLAGS),            \
	}
static const struct rh_kind kinds[] = {KIND("v1", RH_KIND_FALLBACK), KIND("v2beta1", RH_KIND_STORAGE)};

static const struct rh_services *services;

static int32_t init(const struct rh_services *given, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self;
	(void)reply;
	services = given;
	return 0;
}

static const struct rh_kind *describe_first(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &kinds[0] : NULL;
}

static const struct rh_kind *describe_second(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &kinds[1] : NULL;
}

static int32_t pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	(void)self;
	(void)me;
	return services->env(reply, NULL, "BY", services->text(view, "apiVersion"));
}

static const struct rh_plugin first = {.head = RH_HEAD(struct rh_plugin),
                                       .name = "first",
                                       .release = "1",
                                       .init = init,
                                       .describe = describe_first,
                                       .pod = pod};
static const struct rh_plugin second = {.head = RH_HEAD(struct rh_plugin),
                                        .name = "second",
                                        .release = "1",
                                        .init = init,
                                        .describe = describe_second,
                                        .pod = pod};
static const struct rh_resource old_jobs = {"example.org/v1", "DualJob", "dualjobs"};
static const struct rh_resource new_jobs = {"example.org/v2beta1", "DualJob", "dualjobs"};

/* What was asked of the store. */
struct asked {
	int writes_v1;
	int writes_v2;
};

static bool count_writes(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct asked *asked = arg;

	(void)ret_outcome;
	(void)ret_apply;
	if (strcmp(request->resource->kind, "DualJob") != 0 || request->verb == RH_VERB_CREATE)
		return false;
	asked->writes_v1 += strcmp(request->resource->api_version, old_jobs.api_version) == 0;
	asked->writes_v2 += strcmp(request->resource->api_version, new_jobs.api_version) == 0;
	return false;
}

/* @param serves NULL: all kinds */
static void open_dual(struct sim *sim, struct asked *asked, bool (*serves)(void *arg, const struct rh_kind *kind))
{
	struct rh_error err = {0};

	sim_open(sim, false);
	if (rh_host_add(sim->host, "first", &first, &err) < 0 || rh_host_add(sim->host, "second", &second, &err) < 0)
		fail_msg("%s", err.message);
	rh_memory_store_set_gate(sim->store, count_writes, asked);
	sim->options.serves = serves;
	sim_start(sim);
}

static void create(struct sim *sim, const char *name, const char *metadata)
{
	rh_auto_free char *text = rh_asprintf(
		"{'metadata':{'name':'%s'%s},'spec':{'replicas':{'Worker':{'replicas':1,'template':{'spec':{'containers':[{"
		"'name':'main','image':'i'}]}}}}}}",
		name, metadata);

	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &new_jobs, .body = sim_json(text)}),
		RH_OUTCOME_OK);
	sim_settle(sim);
}

static void assert_by(const struct sim *sim, const char *name, const char *version)
{
	rh_auto_free char *pod_name = rh_asprintf("%s-worker-0", name);
	const struct rh_json *made = sim_pod(sim, pod_name);
	const struct rh_json *job = rh_memory_store_find(sim->store, &new_jobs, "default", name);

	assert_non_null(made);
	assert_string_equal(rh_json_string_at(made, "spec.containers[0].env[0].value"), version);
	assert_string_equal(rh_json_string_at(made, "metadata.ownerReferences[0].apiVersion"), version);
	assert_string_equal(rh_json_string_at(job, "metadata.annotations[\"roundhouse.dev/version\"]"),
	                    strchr(version, '/') + 1);
	assert_string_equal(rh_json_string_at(job, "status.conditions[0].type"), "Created");
}

static void test_versions__each_job_is_one_kinds(void **state)
{
	auto_sim sim = {0};
	struct asked asked = {0};

	(void)state;
	open_dual(&sim, &asked, NULL);
	create(&sim, "a", ",'annotations':{'roundhouse.dev/version':'v1'}");
	assert_by(&sim, "a", "example.org/v1");
	assert_true(asked.writes_v1 > 0);
	assert_int_equal(asked.writes_v2, 0);
	asked = (struct asked){0};
	create(&sim, "b", ",'annotations':{'roundhouse.dev/version':'v2beta1'}");
	assert_by(&sim, "b", "example.org/v2beta1");
	assert_true(asked.writes_v2 > 0);
	assert_int_equal(asked.writes_v1, 0);
	create(&sim, "c", "");
	assert_by(&sim, "c", "example.org/v1");
	assert_false(rh_engine_busy(sim.engine));
}

static void test_versions__a_job_stays_where_it_is(void **state)
{
	auto_sim sim = {0};
	struct asked asked = {0};

	(void)state;
	open_dual(&sim, &asked, NULL);
	create(&sim, "a", "");
	sim_play_pod(&sim, "a-worker-0", "Running");
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	asked = (struct asked){0};
	sim_play_pod(&sim, "a-worker-0", "Succeeded");
	assert_by(&sim, "a", "example.org/v1");
	assert_true(asked.writes_v1 > 0);
	assert_int_equal(asked.writes_v2, 0);
	assert_string_equal(
		rh_json_string_at(rh_memory_store_find(sim.store, &new_jobs, "default", "a"), "status.conditions[2].type"),
		"Succeeded");
}

static void test_versions__a_job_of_no_kind_here_is_left_alone(void **state)
{
	auto_sim sim = {0};
	struct asked asked = {0};

	(void)state;
	open_dual(&sim, &asked, NULL);
	create(&sim, "a", ",'annotations':{'roundhouse.dev/version':'v9'}");
	assert_null(sim_pod(&sim, "a-worker-0"));
	assert_int_equal(asked.writes_v1 + asked.writes_v2, 0);
	assert_false(rh_engine_busy(sim.engine));
}

static bool serves_second(void *arg, const struct rh_kind *kind)
{
	(void)arg;
	return kind == &kinds[1];
}

static void test_versions__a_kind_that_is_not_served_keeps_its_jobs(void **state)
{
	auto_sim sim = {0};
	struct asked asked = {0};

	(void)state;
	open_dual(&sim, &asked, serves_second);
	create(&sim, "a", "");
	create(&sim, "b", ",'annotations':{'roundhouse.dev/version':'v2beta1'}");
	assert_null(sim_pod(&sim, "a-worker-0"));
	assert_by(&sim, "b", "example.org/v2beta1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions__each_job_is_one_kinds),
		cmocka_unit_test(test_versions__a_job_stays_where_it_is),
		cmocka_unit_test(test_versions__a_job_of_no_kind_here_is_left_alone),
		cmocka_unit_test(test_versions__a_kind_that_is_not_served_keeps_its_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
