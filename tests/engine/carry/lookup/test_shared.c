/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that many jobs name: the runtimes of tests/abi/plugins/expand.c. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/lookup/shared.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"

#define JOBS 1000
/* Every tenth job names another runtime. */
#define OTHERS (JOBS / 10)

static const struct rh_resource shared_runtimes = {"example.org/v1alpha1", "NodesRuntime", "nodesruntimes"};

/* What the store was asked. */
struct shared_gate {
	size_t reads;                 /* of runtimes */
	size_t answers;               /* of them, those that get a usual answer; SIZE_MAX: all */
	enum rh_outcome_code instead; /* else */
};

static bool shared_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct shared_gate *gate = arg;

	if (request->verb != RH_VERB_FIND || strcmp(request->resource->kind, shared_runtimes.kind) != 0 ||
	    gate->reads++ < gate->answers)
		return false;
	*ret_outcome = (struct rh_outcome){.code = gate->instead, .message = "no answer"};
	*ret_apply = false;
	return true;
}

static void shared_open(struct sim *sim, struct shared_gate *gate)
{
	struct rh_error err = {0};

	sim_open(sim, false);
	sim->jobs = (struct rh_resource){"example.org/v1", "NodesJob", "nodesjobs"};
	if (rh_host_load_file(sim->host, RH_EXPAND, &err) < 0)
		fail_msg("%s", err.message);
	rh_memory_store_set_gate(sim->store, shared_gate, gate);
	sim_start(sim);
}

/* Its pods have the image. @param pad bytes that nobody needs */
static void shared_runtime(struct sim *sim, enum rh_verb verb, const char *name, const char *image, size_t pad)
{
	rh_auto_free char *filler = rh_alloc(pad + 1);
	rh_auto_free char *text = NULL;

	assert_non_null(filler);
	memset(filler, 'x', pad);
	text = rh_asprintf("{'metadata':{'name':'%s'},'spec':{'pad':'%s',"
	                   "'node':{'spec':{'containers':[{'name':'c','image':'%s'}]}}}}",
	                   name, filler, image);
	assert_non_null(text);
	assert_int_equal(sim_user(sim, (struct rh_request){.verb = verb,
	                                                   .resource = &shared_runtimes,
	                                                   .namespace_ = "",
	                                                   .name = name,
	                                                   .body = verb == RH_VERB_DELETE ? NULL : sim_json(text),
	                                                   .grace_seconds = -1}),
	                 RH_OUTCOME_OK);
}

static void shared_job(struct sim *sim, int i, const char *runtime)
{
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'j%03d'},'spec':{'runtimeRef':{'name':'%s'}}}", i, runtime);

	assert_non_null(text);
	sim_create(sim, sim_json(text));
}

static const char *shared_image(const struct sim *sim, const char *pod)
{
	return rh_json_string_at(sim_pod(sim, pod), "spec.containers[0].image");
}

/* Jobs that are due, and the next timers are not. */
static size_t shared_due(const struct sim *sim)
{
	struct rh_engine_load load;

	rh_engine_load(sim->engine, &load);
	return load.due;
}

/* A thousand jobs that are there when the engine starts. */
static void shared_start_all(struct sim *sim)
{
	for (int i = 0; i < JOBS; i++)
		shared_job(sim, i, i % (JOBS / OTHERS) ? "torch" : "jax");
	sim_settle(sim);
	assert_int_equal(shared_due(sim), 0);
}

static void test_shared__each_is_read_once(void **state)
{
	struct shared_gate gate = {.answers = SIZE_MAX};
	auto_sim sim = {0};

	(void)state;
	shared_open(&sim, &gate);
	shared_runtime(&sim, RH_VERB_CREATE, "torch", "blue", 0);
	shared_runtime(&sim, RH_VERB_CREATE, "jax", "green", 0);
	shared_start_all(&sim);
	assert_int_equal(gate.reads, 2);
	assert_string_equal(shared_image(&sim, "j001-node-0"), "blue");
	assert_string_equal(shared_image(&sim, "j000-node-0"), "green");
	assert_int_equal(snapshot_engine(sim.engine).lookups, 2);
	sim_wait(&sim, 600);
	assert_int_equal(gate.reads, 2);
}

/* A change makes those jobs due that name the object, and the watch has brought what they see then. */
static void test_shared__a_change(void **state)
{
	struct shared_gate gate = {.answers = SIZE_MAX};
	auto_sim sim = {0};

	(void)state;
	shared_open(&sim, &gate);
	shared_runtime(&sim, RH_VERB_CREATE, "torch", "blue", 0);
	shared_runtime(&sim, RH_VERB_CREATE, "jax", "green", 0);
	shared_start_all(&sim);
	shared_runtime(&sim, RH_VERB_PATCH, "jax", "red", 0);
	rh_memory_store_drain(sim.store);
	assert_int_equal(shared_due(&sim), OTHERS);
	sim_settle(&sim);
	sim_delete_pod(&sim, "j000-node-0", 0);
	sim_delete_pod(&sim, "j001-node-0", 0);
	sim_wait(&sim, 60);
	assert_string_equal(shared_image(&sim, "j000-node-0"), "red");
	assert_string_equal(shared_image(&sim, "j001-node-0"), "blue");
	assert_int_equal(gate.reads, 2);
}

/* One that is missing is looked for once, whoever waits for it. */
static void test_shared__it_comes_and_goes(void **state)
{
	struct shared_gate gate = {.answers = SIZE_MAX};
	auto_sim sim = {0};

	(void)state;
	shared_open(&sim, &gate);
	shared_start_all(&sim);
	sim_assert(&sim, "j001", "Stalled | ");
	assert_int_equal(gate.reads, 2);
	shared_runtime(&sim, RH_VERB_CREATE, "torch", "blue", 0);
	rh_memory_store_drain(sim.store);
	assert_int_equal(shared_due(&sim), JOBS - OTHERS);
	sim_settle(&sim);
	sim_assert(&sim, "j001", "Created | node-0 Pending");
	sim_assert(&sim, "j000", "Stalled | ");
	shared_runtime(&sim, RH_VERB_DELETE, "torch", "", 0);
	sim_settle(&sim);
	shared_runtime(&sim, RH_VERB_CREATE, "torch", "red", 0);
	sim_settle(&sim);
	sim_delete_pod(&sim, "j001-node-0", 0);
	sim_wait(&sim, 60);
	assert_string_equal(shared_image(&sim, "j001-node-0"), "red");
	assert_int_equal(gate.reads, 2);
}

/* What no job names is forgotten. */
static void test_shared__jobs_go(void **state)
{
	struct shared_gate gate = {.answers = SIZE_MAX};
	auto_sim sim = {0};

	(void)state;
	shared_open(&sim, &gate);
	shared_runtime(&sim, RH_VERB_CREATE, "torch", "blue", 0);
	shared_job(&sim, 0, "torch");
	shared_job(&sim, 1, "torch");
	sim_settle(&sim);
	sim_delete(&sim, "j000");
	sim_settle(&sim);
	assert_int_equal(snapshot_engine(sim.engine).lookups, 1);
	sim_patch(&sim, "j001", "{'spec':{'runtimeRef':{'name':'jax'}}}");
	sim_settle(&sim);
	assert_int_equal(snapshot_engine(sim.engine).lookups, 1);
	sim_delete(&sim, "j001");
	sim_settle(&sim);
	assert_int_equal(snapshot_engine(sim.engine).lookups, 0);
	assert_int_equal(snapshot_engine(sim.engine).lookup_bytes, 0);
}

/* No answer: all jobs wait, and one of them asks again. */
static void test_shared__no_answer(void **state)
{
	struct shared_gate gate = {.answers = 0, .instead = RH_OUTCOME_UNKNOWN};
	auto_sim sim = {0};

	(void)state;
	shared_open(&sim, &gate);
	shared_runtime(&sim, RH_VERB_CREATE, "torch", "blue", 0);
	for (int i = 0; i < 10; i++)
		shared_job(&sim, i, "torch");
	sim_wait(&sim, 60);
	assert_in_range(gate.reads, 2, 20);
	assert_null(sim_pod(&sim, "j000-node-0"));
	gate.answers = SIZE_MAX;
	sim_wait(&sim, 120);
	for (int i = 0; i < 10; i++) {
		char pod[32];

		snprintf(pod, sizeof(pod), "j%03d-node-0", i);
		assert_string_equal(shared_image(&sim, pod), "blue");
	}
}

static void shared_step(struct sim *sim)
{
	(void)rh_memory_store_pump(sim->store, 0);
	rh_engine_step(sim->engine, sim->now);
}

/* An answer that is older than what a watch has shown meanwhile does not count. */
static void test_shared__an_old_answer(void **state)
{
	struct shared_gate gate = {.answers = SIZE_MAX};
	auto_sim sim = {0};

	(void)state;
	shared_open(&sim, &gate);
	shared_runtime(&sim, RH_VERB_CREATE, "torch", "blue", 0);
	shared_runtime(&sim, RH_VERB_CREATE, "jax", "green", 0);
	shared_job(&sim, 0, "torch");
	sim_settle(&sim);
	shared_job(&sim, 1, "jax");
	while (gate.reads < 2)
		shared_step(&sim);
	/* the answer is pending: the event overtakes it */
	shared_runtime(&sim, RH_VERB_PATCH, "jax", "red", 0);
	while (rh_memory_store_pending(sim.store) > 1)
		assert_true(rh_memory_store_pump(sim.store, rh_memory_store_pending(sim.store) - 1));
	sim_settle(&sim);
	assert_string_equal(shared_image(&sim, "j001-node-0"), "red");
	assert_int_equal(gate.reads, 3);
}

/* All of them together take little memory: jobs at rest have none where there are too many, and go on all the same. */
static void test_shared__bytes(void **state)
{
	struct shared_gate gate = {.answers = SIZE_MAX};
	auto_sim sim = {0};
	char name[32];

	(void)state;
	shared_open(&sim, &gate);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		shared_runtime(&sim, RH_VERB_CREATE, name, "blue", (size_t)3 << 20);
		shared_job(&sim, i, name);
		sim_settle(&sim);
	}
	assert_int_equal(gate.reads, 12);
	rh_engine_rest(sim.engine);
	assert_in_range(snapshot_engine(sim.engine).lookup_bytes, 1, RH_SHARED_BYTES);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "j%03d", i);
		sim_patch(&sim, name, "{'spec':{'trainer':{'numNodes':2}}}");
		sim_settle(&sim);
		sim_assert(&sim, name, "Created | node-0 Pending, node-1 Pending");
	}
	assert_in_range(gate.reads, 13, 36);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared__each_is_read_once),
		cmocka_unit_test(test_shared__a_change),
		cmocka_unit_test(test_shared__it_comes_and_goes),
		cmocka_unit_test(test_shared__jobs_go),
		cmocka_unit_test(test_shared__no_answer),
		cmocka_unit_test(test_shared__an_old_answer),
		cmocka_unit_test(test_shared__bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
