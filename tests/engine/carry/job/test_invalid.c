/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are stored and cannot be read, or are not valid: a new one fails, with an Event, and begins when corrected.
 */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"

#define BROKEN "{'backoffLimit':1099511627776}"
#define BREAK "{'spec':{'runPolicy':{'backoffLimit':1099511627776}}}"
#define CORRECT "{'spec':{'runPolicy':{'backoffLimit':3}}}"
#define REFUSED "{'cleanPodPolicy':'Sometimes'}"
#define MESSAGE "PyTorchJob failed validation because spec.runPolicy.backoffLimit: Invalid value: 1099511627776"
#define EVENT "Warning PyTorchJobFailedValidation " MESSAGE

/* Counts writes of a status, and answers the first ones with a failure. */
struct gate {
	int patches;
	int times;
	enum rh_outcome_code code;
};

static bool gate_patches(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct gate *gate = arg;

	if (request->verb != RH_VERB_PATCH_STATUS || strcmp(request->resource->kind, "PyTorchJob") != 0)
		return false;
	gate->patches++;
	assert_string_equal(request->name, "j");
	assert_true(request->uid && *request->uid);
	assert_true(request->resource_version && *request->resource_version);
	if (gate->times == 0)
		return false;
	gate->times--;
	*ret_outcome = (struct rh_outcome){.code = gate->code, .message = "no"};
	*ret_apply = false;
	return true;
}

static void start(struct sim *sim, struct gate *gate)
{
	sim_open(sim, false);
	rh_memory_store_set_gate(sim->store, gate_patches, gate);
	sim_start(sim);
}

static void create(struct sim *sim, const char *policy)
{
	sim_create(sim, sim_new_job("j", "Worker=OnFailure*2", policy, NULL));
	sim_settle(sim);
}

static void patch(struct sim *sim, const char *text)
{
	sim_patch(sim, "j", text);
	sim_settle(sim);
}

static const char *text_at(const struct sim *sim, const char *path)
{
	const char *text = rh_json_string_at(sim_job(sim, "j"), path);

	return text ? text : "";
}

static void test_invalid__a_new_job_fails(void **state)
{
	struct gate gate = {0};
	auto_sim sim = {0};

	(void)state;
	start(&sim, &gate);
	create(&sim, BROKEN);
	sim_assert(&sim, "j", "Failed | ");
	assert_string_equal(text_at(&sim, "status.conditions[0].reason"), "PyTorchJobFailedValidation");
	assert_memory_equal(text_at(&sim, "status.conditions[0].message"), MESSAGE, strlen(MESSAGE));
	assert_true(*text_at(&sim, "status.completionTime"));
	assert_int_equal(sim_assert_event(&sim, EVENT), 1);
	assert_int_equal(gate.patches, 1);
	assert_false(rh_engine_busy(sim.engine));
	/* neither an edit elsewhere nor a restart has anything written again */
	patch(&sim, "{'metadata':{'annotations':{'note':'x'}}}");
	sim_kill(&sim);
	sim_start(&sim);
	sim_wait(&sim, 600);
	assert_int_equal(sim_assert_event(&sim, EVENT), 1);
	assert_int_equal(gate.patches, 1);
}

static void test_invalid__begins_when_it_is_corrected(void **state)
{
	struct gate gate = {0};

	(void)state;
	for (int restart = 0; restart < 2; restart++) {
		auto_sim sim = {0};

		start(&sim, &gate);
		create(&sim, BROKEN);
		if (restart)
			sim_kill(&sim);
		sim_patch(&sim, "j", CORRECT);
		if (restart)
			sim_start(&sim);
		sim_settle(&sim);
		sim_assert(&sim, "j", "Created | worker-0 Pending, worker-1 Pending");
		assert_string_equal(text_at(&sim, "status.completionTime"), "");
	}
}

/* What is at rest keeps its text alone: that is read back with the condition. */
static void test_invalid__begins_from_its_text(void **state)
{
	struct gate gate = {.code = RH_OUTCOME_UNKNOWN};
	auto_sim sim = {0};

	(void)state;
	start(&sim, &gate);
	create(&sim, BROKEN);
	gate.times = 1;
	sim_patch(&sim, "j", CORRECT);
	rh_memory_store_drain(sim.store);
	rh_engine_rest(sim.engine);
	sim_wait(&sim, 10);
	sim_assert(&sim, "j", "Created | worker-0 Pending, worker-1 Pending");
}

static void test_invalid__another_mistake_is_another_message(void **state)
{
	struct gate gate = {0};
	auto_sim sim = {0};

	(void)state;
	start(&sim, &gate);
	create(&sim, BROKEN);
	patch(&sim, "{'spec':{'runPolicy':{'backoffLimit':3,'suspend':'yes'}}}");
	sim_assert(&sim, "j", "Failed | ");
	assert_non_null(strstr(text_at(&sim, "status.conditions[0].message"), "spec.runPolicy.suspend: Invalid value"));
	assert_string_equal(text_at(&sim, "status.conditions[1].type"), "");
	assert_int_equal(gate.patches, 2);
	/* a job that can be read and is not valid has been created */
	patch(&sim, "{'spec':{'runPolicy':{'suspend':null,'cleanPodPolicy':'Sometimes'}}}");
	sim_assert(&sim, "j", "Created Failed | ");
	assert_non_null(strstr(text_at(&sim, "status.conditions[1].message"), "cleanPodPolicy"));
}

/* A job that can be read and is not valid fails, too, and begins when it is corrected. */
static void test_invalid__a_refused_job_begins_when_it_is_corrected(void **state)
{
	struct gate gate = {0};

	(void)state;
	for (int restart = 0; restart < 2; restart++) {
		auto_sim sim = {0};

		start(&sim, &gate);
		create(&sim, REFUSED);
		sim_assert(&sim, "j", "Created Failed | ");
		assert_true(*text_at(&sim, "status.completionTime"));
		if (restart)
			sim_kill(&sim);
		sim_patch(&sim, "j", "{'spec':{'runPolicy':{'cleanPodPolicy':'None'}}}");
		if (restart)
			sim_start(&sim);
		sim_settle(&sim);
		sim_assert(&sim, "j", "Created | worker-0 Pending, worker-1 Pending");
		assert_string_equal(text_at(&sim, "status.completionTime"), "");
		assert_true(*text_at(&sim, "status.startTime"));
	}
}

static void test_invalid__a_refused_job_is_reported_once(void **state)
{
	struct gate gate = {0};
	auto_sim sim = {0};

	(void)state;
	start(&sim, &gate);
	create(&sim, REFUSED);
	assert_int_equal(gate.patches, 1);
	patch(&sim, "{'metadata':{'annotations':{'note':'x'}}}");
	sim_kill(&sim);
	sim_start(&sim);
	sim_wait(&sim, 600);
	assert_int_equal(gate.patches, 1);
	assert_int_equal(sim_assert_event(&sim, "Warning PyTorchJobFailedValidation PyTorchJob failed validation because "),
	                 1);
	/* another mistake is another message */
	patch(&sim, "{'spec':{'runPolicy':{'cleanPodPolicy':'Seldom'}}}");
	sim_assert(&sim, "j", "Created Failed | ");
	assert_non_null(strstr(text_at(&sim, "status.conditions[1].message"), "Seldom"));
	assert_int_equal(gate.patches, 2);
	assert_false(rh_engine_busy(sim.engine));
}

/* What has started fails for good, whatever is edited. */
static void test_invalid__a_job_that_ran_and_failed_stays_failed(void **state)
{
	struct gate gate = {0};
	auto_sim sim = {0};

	(void)state;
	start(&sim, &gate);
	sim_create(&sim, sim_new_job("j", "Worker=Never", NULL, NULL));
	sim_settle(&sim);
	sim_set_pod(&sim, "j-worker-0", "Failed", 1, 0);
	sim_settle(&sim);
	assert_true(rh_json_size(rh_json_at(sim_job(&sim, "j"), "status.conditions")) >= 2);
	gate.patches = 0;
	patch(&sim, "{'spec':{'runPolicy':{'cleanPodPolicy':'Sometimes'}}}");
	patch(&sim, "{'spec':{'runPolicy':{'cleanPodPolicy':'None'}}}");
	assert_true(*text_at(&sim, "status.completionTime"));
	assert_int_equal(gate.patches, 0);
}

static void test_invalid__a_job_that_has_begun_goes_on(void **state)
{
	struct gate gate = {0};
	auto_sim sim = {0};

	(void)state;
	start(&sim, &gate);
	create(&sim, NULL);
	gate.patches = 0;
	patch(&sim, BREAK);
	patch(&sim, "{'metadata':{'annotations':{'note':'x'}}}");
	sim_assert(&sim, "j", "Created | worker-0 Pending, worker-1 Pending");
	assert_int_equal(sim_assert_event(&sim, EVENT), 1);
	assert_int_equal(gate.patches, 0);
	patch(&sim, CORRECT);
	sim_set_pod(&sim, "j-worker-0", "Running", 0, 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | worker-0 Running, worker-1 Pending");
}

static void test_invalid__jobs_of_others_are_left_alone(void **state)
{
	struct gate gate = {0};
	auto_sim sim = {0};

	(void)state;
	start(&sim, &gate);
	create(&sim, "{'backoffLimit':1099511627776,'managedBy':'kueue.x-k8s.io/multikueue'}");
	sim_assert(&sim, "j", "| ");
	assert_int_equal(gate.patches, 0);
	sim_assert_no_event(&sim, "Warning");
}

static void test_invalid__foreign_status_stays(void **state)
{
	struct gate gate = {0};
	auto_sim sim = {0};
	rh_auto(json) job = sim_new_job("j", "Worker=OnFailure", BROKEN, NULL);

	(void)state;
	start(&sim, &gate);
	assert_int_equal(rh_json_set(job, "status", sim_json("{'note':'mine'}")), 0);
	sim_create(&sim, rh_take(job));
	sim_settle(&sim);
	sim_assert(&sim, "j", "Failed | ");
	patch(&sim, CORRECT);
	sim_assert(&sim, "j", "Created | worker-0 Pending");
}

/* A write that fails is tried again, and the Event is one. */
static void test_invalid__writes_are_tried_again(void **state)
{
	static const enum rh_outcome_code codes[] = {RH_OUTCOME_CONFLICT, RH_OUTCOME_DENIED, RH_OUTCOME_UNKNOWN,
	                                             RH_OUTCOME_THROTTLED, RH_OUTCOME_GONE};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct gate gate = {.times = 3, .code = codes[i]};
		auto_sim sim = {0};

		start(&sim, &gate);
		create(&sim, BROKEN);
		sim_wait(&sim, 30);
		sim_assert(&sim, "j", "Failed | ");
		assert_int_equal(sim_assert_event(&sim, EVENT), 1);
		assert_int_equal(gate.patches, 4);
		assert_false(rh_engine_busy(sim.engine));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_invalid__a_new_job_fails),
		cmocka_unit_test(test_invalid__begins_when_it_is_corrected),
		cmocka_unit_test(test_invalid__begins_from_its_text),
		cmocka_unit_test(test_invalid__another_mistake_is_another_message),
		cmocka_unit_test(test_invalid__a_refused_job_begins_when_it_is_corrected),
		cmocka_unit_test(test_invalid__a_refused_job_is_reported_once),
		cmocka_unit_test(test_invalid__a_job_that_ran_and_failed_stays_failed),
		cmocka_unit_test(test_invalid__a_job_that_has_begun_goes_on),
		cmocka_unit_test(test_invalid__jobs_of_others_are_left_alone),
		cmocka_unit_test(test_invalid__foreign_status_stays),
		cmocka_unit_test(test_invalid__writes_are_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
