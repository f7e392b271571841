/* SPDX-License-Identifier: Apache-2.0 */
/* The engine when the store refuses or does not respond, and when memory is out. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"
#include "job/values/names.h"

#define WRONG_LABELS                                                                                                  \
	"Warning FailedCreatePod Error creating: pods \"j-worker-0\" already exists, and is labelled as another replica " \
	"or as "                                                                                                          \
	"none: delete it, or correct its labels training.kubeflow.org/replica-type and "                                  \
	"training.kubeflow.org/replica-index"
#define PAIR "Master=OnFailure Worker=OnFailure"

/* Sets the outcome of the next @p times requests that match. */
struct fault {
	enum rh_verb verb;
	const char *kind;
	const char *name; /* prefix of names; NULL: any */
	struct rh_outcome outcome;
	bool apply;
	int times;
	int seen; /* requests that match so far */
};

/* @return a fault with outcome @p code and message "no", without a limit */
static struct fault fault_of(enum rh_verb verb, const char *kind, const char *name, enum rh_outcome_code code)
{
	return (struct fault){
		.verb = verb, .kind = kind, .name = name, .outcome = {.code = code, .message = "no"}, .times = -1};
}

static const char *request_name(const struct rh_request *request)
{
	const char *name = request->name && *request->name ? request->name : NULL;

	return name ? name : rh_json_string_at(request->body, "metadata.name");
}

static bool fault_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct fault *fault = arg;

	if (request->verb != fault->verb || strcmp(request->resource->kind, fault->kind) != 0 ||
	    (fault->name && !rh_starts_with(request_name(request), fault->name)))
		return false;
	fault->seen++;
	if (fault->times == 0)
		return false;
	fault->times--;
	*ret_outcome = fault->outcome;
	*ret_apply = fault->apply;
	return true;
}

static void open_faulty(struct sim *sim, struct fault *fault)
{
	sim_open(sim, false);
	rh_memory_store_set_gate(sim->store, fault_gate, fault);
	sim_start(sim);
}

static void create(struct sim *sim, const char *replicas)
{
	sim_create(sim, sim_new_job("j", replicas, NULL, NULL));
	sim_settle(sim);
}

static void test_faults__a_refused_template_is_one_refusal(void **state)
{
	struct fault fault = fault_of(RH_VERB_CREATE, "Pod", "j-worker", RH_OUTCOME_DENIED);
	auto_sim sim = {0};

	(void)state;
	open_faulty(&sim, &fault);
	create(&sim, "Master=OnFailure Worker=OnFailure*100");
	sim_assert(&sim, "j", "Created Stalled | master-0 Pending");
	assert_true(sim_assert_event(&sim, "Warning FailedCreatePod Error creating: no") > 0);
	assert_in_range(fault.seen, 6, 10); /* in the first second: 5, 10, 20, … ms */
	fault.seen = 0;
	sim_wait(&sim, 3600);
	assert_in_range(fault.seen, 5, 15); /* at last every 1000 s */
	fault.times = 0;
	sim_wait(&sim, 1001);
	assert_non_null(sim_pod(&sim, "j-worker-99"));
}

static void test_faults__a_corrected_job_does_not_wait(void **state)
{
	struct fault fault = fault_of(RH_VERB_CREATE, "Pod", NULL, RH_OUTCOME_DENIED);
	auto_sim sim = {0};

	(void)state;
	open_faulty(&sim, &fault);
	create(&sim, PAIR);
	sim_wait(&sim, 600);
	fault.times = 0;
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'backoffLimit':7}}}");
	rh_memory_store_drain(sim.store);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

static void test_faults__one_refusal_holds_up_nothing_else(void **state)
{
	struct fault fault = fault_of(RH_VERB_CREATE, "Pod", "j-worker-2", RH_OUTCOME_DENIED);
	auto_sim sim = {0};

	(void)state;
	open_faulty(&sim, &fault);
	create(&sim, "Worker=OnFailure*5");
	sim_assert(&sim, "j", "Created Stalled | worker-0 Pending, worker-1 Pending, worker-3 Pending, worker-4 Pending");
}

static void test_faults__a_busy_server_says_how_long_to_wait(void **state)
{
	struct fault fault = fault_of(RH_VERB_CREATE, "Pod", "j-master", RH_OUTCOME_THROTTLED);
	auto_sim sim = {0};

	(void)state;
	fault.outcome.retry_after = 30 * RH_SECOND;
	fault.times = 1;
	open_faulty(&sim, &fault);
	create(&sim, PAIR);
	sim_wait(&sim, 29);
	sim_assert(&sim, "j", "Created | worker-0 Pending");
	assert_int_equal(fault.seen, 1);
	sim_wait(&sim, 2);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
	sim_assert_no_event(&sim, "Warning");
}

static void test_faults__a_create_without_answer_is_settled(void **state)
{
	static const bool applied[] = {true, false};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fault fault = fault_of(RH_VERB_CREATE, "Pod", NULL, RH_OUTCOME_UNKNOWN);
		auto_sim sim = {0};

		fault.apply = applied[i];
		fault.times = 2;
		open_faulty(&sim, &fault);
		create(&sim, PAIR);
		sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
		assert_int_equal(fault.seen, applied[i] ? 2 : 4);
		assert_int_equal(sim_assert_event(&sim, "Normal SuccessfulCreatePod Created pod: j-master-0"), 1);
		sim_assert_no_event(&sim, "Warning");
	}
}

static void test_faults__a_delete_without_answer_is_asked_again(void **state)
{
	static const bool applied[] = {true, false};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fault fault = fault_of(RH_VERB_DELETE, "Pod", NULL, RH_OUTCOME_UNKNOWN);
		auto_sim sim = {0};

		fault.apply = applied[i];
		fault.times = 1;
		open_faulty(&sim, &fault);
		create(&sim, "Worker=OnFailure*2");
		sim_patch(&sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':1}}}}");
		sim_settle(&sim);
		sim_assert(&sim, "j", "Created | worker-0 Pending");
	}
}

static void test_faults__a_delete_that_meets_a_conflict_is_looked_into(void **state)
{
	static const struct {
		const char *name, *kind;
		bool apply;
		int seen;
	} rows[] = {
		{"a Service that stays", "Service", false, 2},
		{"a pod that stays", "Pod", false, 2},
		{"a Service that went", "Service", true, 1},
		{"a pod that went", "Pod", true, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault fault = fault_of(RH_VERB_DELETE, rows[i].kind, NULL, RH_OUTCOME_CONFLICT);
		auto_sim sim = {0};

		print_message("%s\n", rows[i].name);
		fault.apply = rows[i].apply;
		fault.times = 1;
		open_faulty(&sim, &fault);
		create(&sim, "Worker=OnFailure*2");
		sim_patch(&sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':1}}}}");
		sim_settle(&sim);
		sim_assert(&sim, "j", "Created | worker-0 Pending");
		assert_null(rh_memory_store_find(sim.store, &rh_resource_services, "default", "j-worker-1"));
		assert_int_equal(fault.seen, rows[i].seen);
		sim_assert_no_event(&sim, "Warning");
	}
}

static void test_faults__a_refused_delete_is_reported(void **state)
{
	struct fault fault = fault_of(RH_VERB_DELETE, "Service", NULL, RH_OUTCOME_DENIED);
	auto_sim sim = {0};

	(void)state;
	fault.times = 3;
	open_faulty(&sim, &fault);
	create(&sim, "Worker=OnFailure*2");
	sim_patch(&sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':1}}}}");
	sim_settle(&sim);
	sim_assert_event(&sim, "Warning FailedDeleteService Error deleting: no");
	assert_null(rh_memory_store_find(sim.store, &rh_resource_services, "default", "j-worker-1"));
	assert_int_equal(fault.seen, 4);
}

static void test_faults__a_foreign_pod_is_named_and_left_alone(void **state)
{
	struct fault fault = fault_of(RH_VERB_CREATE, "Pod", "j-worker", RH_OUTCOME_OK);
	auto_sim sim = {0};

	(void)state;
	fault.times = 0;
	open_faulty(&sim, &fault);
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                         .resource = &rh_resource_pods,
	                                         .body = sim_json("{'metadata':{'name':'j-worker-0','ownerReferences':[{"
	                                                          "'kind':'ReplicaSet','name':'web','uid':'u1',"
	                                                          "'controller':true}]},'spec':{}}")});
	create(&sim, PAIR);
	sim_assert(&sim, "j", "Created Stalled | master-0 Pending");
	sim_assert_event(&sim, "Warning FailedCreatePod Error creating: pods \"j-worker-0\" already exists, and belongs to "
	                       "ReplicaSet \"web\" (UID u1)");
	fault.seen = 0;
	sim_wait(&sim, 3600);
	assert_in_range(fault.seen, 5, 15);
	sim_delete_pod(&sim, "j-worker-0", 0);
	sim_wait(&sim, 1001);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

/* The CustomResourceDefinition is older: pods are created, and an Event names the missing status and the remedy. */
static void test_faults__a_kind_without_status_is_reported(void **state)
{
	struct fault fault = fault_of(RH_VERB_PATCH_STATUS, "PyTorchJob", "j", RH_OUTCOME_GONE);
	auto_sim sim = {0};

	(void)state;
	fault.times = 3;
	open_faulty(&sim, &fault);
	create(&sim, PAIR);
	sim_wait(&sim, 60);
	(void)sim_assert_event(&sim, "Warning FailedUpdatePyTorchJob Error updating: pytorchjobs has no status, its "
	                             "CustomResourceDefinition is older; install it: roundhouse crds --kind PyTorchJob");
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

/*
 * A user edits labels: the pod counts for another replica, or for none, while its own replica cannot use its name. A
 * second pod of the other replica is removed.
 */
static void test_faults__a_pod_with_wrong_labels_is_named(void **state)
{
	static const struct {
		const char *label;
		bool removed;
	} rows[] = {
		{"'replica-index':'7'", true},   {"'replica-type':'master'", true}, {"'replica-index':'x'", false},
		{"'replica-index':null", false}, {"'replica-type':null", false},    {"'replica-type':'other'", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *patch =
			rh_asprintf("{'metadata':{'labels':{'training.kubeflow.org/%s}}}", rows[i].label + 1);
		struct fault fault = fault_of(RH_VERB_CREATE, "Pod", "j-worker", RH_OUTCOME_OK);
		auto_sim sim = {0};

		fault.times = 0;
		open_faulty(&sim, &fault);
		create(&sim, PAIR);
		assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
		                                                    .resource = &rh_resource_pods,
		                                                    .name = "j-worker-0",
		                                                    .body = sim_json(patch)}),
		                 RH_OUTCOME_OK);
		fault.seen = 0;
		sim_wait(&sim, 3600);
		assert_in_range(fault.seen, 1, 25);
		if (!rows[i].removed) {
			sim_assert(&sim, "j", "Created Stalled | master-0 Pending, worker-0 Pending");
			sim_assert_event(&sim, WRONG_LABELS);
			sim_delete_pod(&sim, "j-worker-0", 0);
			sim_wait(&sim, 1001);
		}
		sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
	}
}

static void test_faults__a_conflict_is_decided_again(void **state)
{
	static const enum rh_verb verbs[] = {RH_VERB_PATCH, RH_VERB_PATCH_STATUS};
	static const enum rh_outcome_code codes[] = {RH_OUTCOME_CONFLICT, RH_OUTCOME_UNKNOWN, RH_OUTCOME_THROTTLED};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct fault fault = fault_of(verbs[i % 2], "PyTorchJob", NULL, codes[i / 2]);
		auto_sim sim = {0};

		fault.outcome.retry_after = 1000;
		fault.apply = codes[i / 2] == RH_OUTCOME_UNKNOWN;
		fault.times = 0;
		open_faulty(&sim, &fault);
		create(&sim, "Master=ExitCode Worker=ExitCode");
		sim_set_pod(&sim, "j-master-0", "Running", 0, 0);
		sim_set_pod(&sim, "j-worker-0", "Running", 0, 0);
		sim_settle(&sim);
		fault.times = 2;
		sim_set_pod(&sim, "j-worker-0", "Failed", 137, 0);
		sim_settle(&sim);
		assert_int_equal(fault.times, 0);
		sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Pending");
		assert_non_null(strstr(
			rh_json_string(rh_json_get(rh_json_at(sim_job(&sim, "j"), "metadata.annotations"), RH_ANNOTATION_LEDGER)),
			"\"exit\":1"));
	}
}

static void test_faults__writes_that_others_overtake_are_decided_again(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	for (int i = 0; i < 200; i++) {
		rh_auto_free char *patch = rh_asprintf("{'metadata':{'labels':{'n':'%d'}}}", i);

		if (i % 3 == 0)
			sim_patch(&sim, "j", patch);
		if (!rh_memory_store_pump(sim.store, 0))
			rh_engine_step(sim.engine, sim.now);
	}
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
	assert_int_equal(sim_assert_event(&sim, "Normal SuccessfulCreatePod Created pod: j-worker-0"), 1);
}

static void test_faults__a_refused_status_is_reported_and_retried(void **state)
{
	struct fault fault = fault_of(RH_VERB_PATCH_STATUS, "PyTorchJob", NULL, RH_OUTCOME_DENIED);
	auto_sim sim = {0};

	(void)state;
	fault.times = 4;
	open_faulty(&sim, &fault);
	create(&sim, PAIR);
	sim_assert_event(&sim, "Warning FailedUpdatePyTorchJob Error updating: no");
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

static void test_faults__a_refused_ledger_keeps_the_pod(void **state)
{
	struct fault fault = fault_of(RH_VERB_PATCH, "PyTorchJob", NULL, RH_OUTCOME_DENIED);
	auto_sim sim = {0};

	(void)state;
	fault.times = 0;
	open_faulty(&sim, &fault);
	create(&sim, "Master=ExitCode Worker=ExitCode");
	fault.times = -1;
	sim_set_pod(&sim, "j-worker-0", "Failed", 137, 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Failed");
	fault.times = 0;
	sim_wait(&sim, 2);
	sim_assert(&sim, "j", "Created Restarting | master-0 Pending, worker-0 Pending");
}

static void test_faults__an_invalid_job_is_reported(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	sim_create(&sim, sim_json("{'metadata':{'name':'j'},'spec':{'pytorchReplicaSpecs':7}}"));
	sim_settle(&sim);
	sim_assert_event(&sim, "Warning PyTorchJobFailedValidation PyTorchJob failed validation because ");
	assert_false(rh_engine_busy(sim.engine));
	sim_delete(&sim, "j");
	create(&sim, PAIR);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

static void test_faults__events_that_cannot_be_written_stop_nothing(void **state)
{
	static const enum rh_outcome_code codes[] = {RH_OUTCOME_DENIED, RH_OUTCOME_UNKNOWN, RH_OUTCOME_THROTTLED};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct fault fault = fault_of(RH_VERB_CREATE, "Event", NULL, codes[i]);
		auto_sim sim = {0};

		open_faulty(&sim, &fault);
		create(&sim, PAIR);
		sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
		assert_false(rh_engine_busy(sim.engine));
	}
}

/* Let @p span turns happen in which only @p n allocations succeed. @return whether they were too few */
static bool live_with_little(struct sim *sim, long n, int span)
{
	(void)rh_mem_fail_after(n);
	for (int i = 0; i < span; i++) {
		if (!rh_memory_store_pump(sim->store, 0))
			rh_engine_step(sim->engine, sim->now);
	}
	return rh_mem_fail_after(-1) > n;
}

/* A failed replica with little memory. @return whether it was too little */
static bool fail_with_little(long n)
{
	auto_sim sim = {0};
	bool lacked;

	sim_open(&sim, false);
	sim_start(&sim);
	create(&sim, "Master=ExitCode Worker=ExitCode");
	sim_set_pod(&sim, "j-master-0", "Running", 0, 0);
	sim_settle(&sim);
	sim_set_pod(&sim, "j-worker-0", "Failed", 137, 0);
	lacked = live_with_little(&sim, n, 60);
	sim_wait(&sim, 5);
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Pending");
	assert_non_null(strstr(
		rh_json_string(rh_json_get(rh_json_at(sim_job(&sim, "j"), "metadata.annotations"), RH_ANNOTATION_LEDGER)),
		"\"exit\":1"));
	return lacked;
}

static void test_faults__without_memory_a_restart_is_counted_once_all_the_same(void **state)
{
	(void)state;
	for (long n = 0; fail_with_little(n); n += 5)
		assert_true(n < 100000);
}

static void test_faults__without_memory_a_start_is_late_but_right(void **state)
{
	bool lacked = true;

	(void)state;
	for (long n = 0; lacked; n += 7) {
		auto_sim sim = {0};

		sim_open(&sim, false);
		sim_start(&sim);
		sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
		lacked = live_with_little(&sim, n, 150);
		sim_wait(&sim, 5);
		sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
		assert_non_null(rh_memory_store_find(sim.store, &rh_resource_services, "default", "j-worker-0"));
	}
}

/* Memory is out for a new version of the job, unless it was for an earlier one, and nothing is listed again since. */
static void lose_event(const struct sim *sim, const struct rh_json *job)
{
	if (snapshot_engine(sim->engine).lost)
		return;
	rh_mem_fail_after(0);
	sim_deliver(sim, "PyTorchJob", RH_WATCH_MODIFIED, job);
	assert_true(snapshot_engine(sim->engine).lost);
}

/* One watch each for jobs, pods and Services: the engine ends those that it replaces. */
static void test_faults__listing_again_opens_no_more_watches(void **state)
{
	auto_sim sim = {0};
	rh_auto(json) job = NULL;

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	create(&sim, PAIR);
	job = rh_json_copy(sim_job(&sim, "j"));
	assert_int_equal(rh_json_set_string(rh_json_get(job, "metadata"), "resourceVersion", "99999"), 0);
	assert_int_equal(sim_watches(&sim), 3);
	for (long n = 0; n < 200; n++) {
		lose_event(&sim, job);
		rh_mem_fail_after(n);
		rh_engine_step(sim.engine, sim.now);
		rh_mem_fail_after(-1);
		assert_true(sim_watches(&sim) <= 3);
	}
	sim_wait(&sim, 5);
	assert_int_equal(sim_watches(&sim), 3);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
	rh_engine_free(rh_take(sim.engine));
	assert_int_equal(sim_watches(&sim), 0);
}

static void test_faults__an_engine_that_has_no_memory_does_not_start(void **state)
{
	struct rh_engine *engine = NULL;
	int r = RH_ENOMEM;

	(void)state;
	for (long n = 0; r != 0; n++) {
		auto_sim sim = {0};

		assert_true(n < 10000);
		sim_open(&sim, false);
		sim.options.host = sim.host;
		sim.options.store = sim_store(&sim);
		rh_mem_fail_after(n);
		r = rh_engine_new(&sim.options, &engine, NULL);
		rh_mem_fail_after(-1);
		if (r == 0)
			rh_engine_free(engine);
		else
			assert_int_equal(r, RH_ENOMEM);
		assert_int_equal(sim_watches(&sim), 0);
		rh_memory_store_disconnect(sim.store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults__a_refused_template_is_one_refusal),
		cmocka_unit_test(test_faults__a_corrected_job_does_not_wait),
		cmocka_unit_test(test_faults__one_refusal_holds_up_nothing_else),
		cmocka_unit_test(test_faults__a_busy_server_says_how_long_to_wait),
		cmocka_unit_test(test_faults__a_create_without_answer_is_settled),
		cmocka_unit_test(test_faults__a_delete_without_answer_is_asked_again),
		cmocka_unit_test(test_faults__a_delete_that_meets_a_conflict_is_looked_into),
		cmocka_unit_test(test_faults__a_refused_delete_is_reported),
		cmocka_unit_test(test_faults__a_foreign_pod_is_named_and_left_alone),
		cmocka_unit_test(test_faults__a_kind_without_status_is_reported),
		cmocka_unit_test(test_faults__a_pod_with_wrong_labels_is_named),
		cmocka_unit_test(test_faults__a_conflict_is_decided_again),
		cmocka_unit_test(test_faults__writes_that_others_overtake_are_decided_again),
		cmocka_unit_test(test_faults__a_refused_status_is_reported_and_retried),
		cmocka_unit_test(test_faults__a_refused_ledger_keeps_the_pod),
		cmocka_unit_test(test_faults__an_invalid_job_is_reported),
		cmocka_unit_test(test_faults__events_that_cannot_be_written_stop_nothing),
		cmocka_unit_test(test_faults__without_memory_a_restart_is_counted_once_all_the_same),
		cmocka_unit_test(test_faults__without_memory_a_start_is_late_but_right),
		cmocka_unit_test(test_faults__listing_again_opens_no_more_watches),
		cmocka_unit_test(test_faults__an_engine_that_has_no_memory_does_not_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
