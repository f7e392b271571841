/* SPDX-License-Identifier: Apache-2.0 */
/* Further objects that the store refuses to have read, made or changed, and what the job says of it. */
#include <limits.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"

/* Settles the next requests about objects of a kind (NULL: autoscalers). */
struct fault {
	enum rh_verb verb;
	enum rh_outcome_code code;
	bool apply;
	int times;
	const char *kind;
};

#define FAULT(verb_, code_, apply_, times_)                                                                     \
	{                                                                                                           \
		.verb = RH_VERB_##verb_, .code = RH_OUTCOME_##code_, .apply = (apply_), .times = (times_), .kind = NULL \
	}

static bool fault_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct fault *fault = arg;

	const char *kind = fault->kind ? fault->kind : sim_autoscalers.kind;

	if (strcmp(request->resource->kind, kind) != 0 || request->verb != fault->verb || fault->times == 0)
		return false;
	fault->times--;
	*ret_outcome = (struct rh_outcome){.code = fault->code, .message = "no"};
	*ret_apply = fault->apply;
	return true;
}

static void test_rights__every_fault_is_overcome(void **state)
{
	static const struct fault faults[] = {
		FAULT(FIND, UNKNOWN, false, 3),   FAULT(FIND, DENIED, false, 2),      FAULT(FIND, THROTTLED, false, 2),
		FAULT(CREATE, UNKNOWN, true, 1),  FAULT(CREATE, UNKNOWN, false, 2),   FAULT(CREATE, DENIED, false, 2),
		FAULT(REPLACE, UNKNOWN, true, 1), FAULT(REPLACE, CONFLICT, false, 2), FAULT(REPLACE, DENIED, false, 2),
		FAULT(DELETE, UNKNOWN, true, 1),  FAULT(DELETE, THROTTLED, false, 2), FAULT(DELETE, DENIED, false, 2),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct fault fault = faults[i];
		auto_sim sim = {0};

		print_message("           row: %zu\n", i);
		sim_open(&sim, false);
		rh_memory_store_set_gate(sim.store, fault_gate, &fault);
		sim_start(&sim);
		sim_create(&sim, sim_elastic_job());
		sim_settle(&sim);
		assert_int_equal(sim_max_replicas(&sim), 3);
		sim_patch(&sim, "j", "{'spec':{'elasticPolicy':{'maxReplicas':5}}}");
		sim_settle(&sim);
		assert_int_equal(sim_max_replicas(&sim), 5);
		sim_patch(&sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
		sim_settle(&sim);
		assert_null(sim_autoscaler(&sim));
		assert_int_equal(fault.times, 0);
	}
}

static void open_gated_mpi(struct sim *sim, struct fault *fault)
{
	sim_open(sim, false);
	rh_memory_store_set_gate(sim->store, fault_gate, fault);
	sim_start_mpi(sim);
}

static const struct rh_json *job_of(const struct sim *sim, const struct rh_resource *resource, const char *name)
{
	return rh_memory_store_find(sim->store, resource, "default", name);
}

/* @return the message of a condition that is true, or NULL */
static const char *condition_of(const struct rh_json *job, const char *type)
{
	const struct rh_json *item = rh_json_first(rh_json_at(job, "status.conditions"));

	while (item && !rh_text_equal(rh_json_string_at(item, "type"), type))
		item = rh_json_next(item);
	return rh_text_equal(rh_json_string_at(item, "status"), "True") ? rh_json_string_at(item, "message") : NULL;
}

static void assert_stalled(const struct sim *sim, const char *message)
{
	const char *stalled = condition_of(job_of(sim, &sim_mpi_jobs, "m"), RH_CONDITION_STALLED);

	if (message)
		assert_string_equal(stalled ? stalled : "", message);
	else
		assert_null(stalled);
}

static void test_rights__that_may_not_be_read_are_reported(void **state)
{
	struct fault fault = {.verb = RH_VERB_FIND, .code = RH_OUTCOME_DENIED, .times = 3};
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	rh_memory_store_set_gate(sim.store, fault_gate, &fault);
	sim_start(&sim);
	sim_create(&sim, sim_elastic_job());
	sim_settle(&sim);
	sim_assert_event(&sim, "Warning FailedReadHorizontalPodAutoscaler Error reading: no");
	assert_int_equal(sim_max_replicas(&sim), 3);
	sim_assert(&sim, "j", "Created | worker-0 Pending");
}

/* Until the right is granted the job says what is missing, and the rest of it goes on; it asks ever more rarely. */
static void test_rights__that_may_not_be_read_stall_the_job(void **state)
{
	struct fault fault = {.verb = RH_VERB_FIND, .code = RH_OUTCOME_DENIED, .times = INT_MAX, .kind = "ConfigMap"};
	auto_sim sim = {0};
	int before;

	(void)state;
	open_gated_mpi(&sim, &fault);
	/* It is made all the same: what may not be read may be written. */
	assert_stalled(&sim, NULL);
	sim_assert_hosts(&sim, "#!/bin/sh");
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	assert_stalled(&sim, "MPIJob m cannot read ConfigMap m-config: no");
	sim_play_pod(&sim, "m-launcher", "Running");
	assert_non_null(condition_of(job_of(&sim, &sim_mpi_jobs, "m"), RH_CONDITION_RUNNING));
	before = fault.times;
	sim_wait(&sim, 3600);
	assert_in_range(before - fault.times, 2, 30);
	fault.times = 0;
	sim_wait(&sim, 1001);
	assert_stalled(&sim, NULL);
	sim_play_pod(&sim, "m-worker-1", "Running");
	sim_assert_hosts(&sim, "#!/bin/sh\necho m-worker-1:1");
}

static void test_rights__that_may_not_be_made_stall_the_job(void **state)
{
	struct fault fault = {.verb = RH_VERB_CREATE, .code = RH_OUTCOME_DENIED, .times = INT_MAX, .kind = "ConfigMap"};
	auto_sim sim = {0};

	(void)state;
	open_gated_mpi(&sim, &fault);
	assert_stalled(&sim, "MPIJob m cannot create ConfigMap m-config: no");
	sim_wait(&sim, 3600);
	assert_stalled(&sim, "MPIJob m cannot create ConfigMap m-config: no");
	fault.times = 0;
	sim_wait(&sim, 1001);
	sim_assert_hosts(&sim, "#!/bin/sh");
	assert_stalled(&sim, NULL);
}

static void test_rights__that_may_not_be_changed_stall_the_job(void **state)
{
	struct fault fault = {.verb = RH_VERB_REPLACE, .code = RH_OUTCOME_DENIED, .times = INT_MAX, .kind = "ConfigMap"};
	auto_sim sim = {0};

	(void)state;
	open_gated_mpi(&sim, &fault);
	assert_stalled(&sim, NULL);
	sim_play_pod(&sim, "m-worker-1", "Running");
	assert_stalled(&sim, "MPIJob m cannot update ConfigMap m-config: no");
	sim_assert_event(&sim, "Warning FailedUpdateConfigMap Error updating: no");
	/* What is not wanted any more stalls nothing. */
	sim_play_pod(&sim, "m-worker-1", "Succeeded");
	assert_stalled(&sim, NULL);
	sim_play_pod(&sim, "m-worker-0", "Running");
	assert_stalled(&sim, "MPIJob m cannot update ConfigMap m-config: no");
	fault.times = 0;
	sim_wait(&sim, 1001);
	sim_assert_hosts(&sim, "#!/bin/sh\necho m-worker-0:1");
	assert_stalled(&sim, NULL);
}

/* V1's role for what an MPIJob needs: ConfigMaps, roles and bindings may be made, listed and updated. */
static bool v1_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	bool further = strcmp(request->resource->kind, "MPIJob") != 0 && strcmp(request->resource->kind, "Pod") != 0 &&
	               strcmp(request->resource->kind, "Event") != 0;
	bool granted = request->verb == RH_VERB_FIND || request->verb == RH_VERB_CREATE || request->verb == RH_VERB_REPLACE;

	(void)arg;
	*ret_outcome = (struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = "not in V1's role"};
	*ret_apply = false;
	return further && !granted;
}

static void test_rights__v1s_role_is_enough(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	rh_memory_store_set_gate(sim.store, v1_gate, NULL);
	sim_start_mpi(&sim);
	sim_play_pod(&sim, "m-worker-0", "Running");
	sim_assert_hosts(&sim, "#!/bin/sh\necho m-worker-0:1");
	sim_kill(&sim);
	sim_start(&sim);
	sim_play_pod(&sim, "m-worker-1", "Running");
	sim_assert_hosts(&sim, "#!/bin/sh\necho m-worker-0:1\necho m-worker-1:1");
	sim_play_pod(&sim, "m-launcher", "Succeeded");
	assert_non_null(condition_of(job_of(&sim, &sim_mpi_jobs, "m"), RH_CONDITION_SUCCEEDED));
	sim_assert_no_event(&sim, "Warning");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights__every_fault_is_overcome),
		cmocka_unit_test(test_rights__that_may_not_be_read_are_reported),
		cmocka_unit_test(test_rights__that_may_not_be_read_stall_the_job),
		cmocka_unit_test(test_rights__that_may_not_be_made_stall_the_job),
		cmocka_unit_test(test_rights__that_may_not_be_changed_stall_the_job),
		cmocka_unit_test(test_rights__v1s_role_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
