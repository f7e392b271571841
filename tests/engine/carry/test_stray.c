/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod that appears when its job has ended: the create of an instance that does not work any more came to the server
 * late. The job's clean-up policy holds for it, too.
 */
#include "base/json.h"
#include "base/mem.h"
#include "engine/carry/sim.h"

static void create_job(struct sim *sim, const char *policy)
{
	rh_auto_free char *text = rh_asprintf("{'cleanPodPolicy':'%s'}", policy);

	sim_create(sim, sim_new_job("j", "Master=OnFailure Worker=OnFailure", text, NULL));
	sim_settle(sim);
	sim_play_pod(sim, "j-master-0", "Running");
	sim_play_pod(sim, "j-worker-0", "Running");
}

/* @return the body of the create of a pod that is there, owned by the caller */
static struct rh_json *body_of(const struct sim *sim, const char *name)
{
	static const char *const given[] = {"uid", "resourceVersion", "creationTimestamp"};
	struct rh_json *body = rh_json_copy(sim_pod(sim, name));

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		rh_json_remove(rh_json_get(body, "metadata"), given[i]);
	rh_json_remove(body, "status");
	return body;
}

/* The master ends the job; then a worker comes that another instance wanted. @param anew the engine starts after that
 */
static void end_job(struct sim *sim, struct rh_json *worker, bool anew)
{
	rh_auto_free char *status = NULL;
	rh_auto_free char *after = NULL;

	sim_set_pod(sim, "j-master-0", "Succeeded", 0, 0);
	sim_settle(sim);
	if (sim_pod(sim, "j-worker-0")) /* a policy that keeps it */
		sim_delete_pod(sim, "j-worker-0", 0);
	sim_settle(sim);
	status = rh_json_text(rh_json_get(sim_job(sim, "j"), "status"));
	if (anew)
		sim_kill(sim);
	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                                   .resource = &rh_resource_pods,
	                                                   .namespace_ = "default",
	                                                   .body = worker}),
	                 RH_OUTCOME_OK);
	if (anew)
		sim_start(sim);
	sim_wait(sim, 60);
	after = rh_json_text(rh_json_get(sim_job(sim, "j"), "status"));
	assert_string_equal(after, status);
}

static void test_stray__is_cleaned_up(void **state)
{
	static const struct {
		const char *policy, *expected;
	} rows[] = {
		{"All", "Created Succeeded | "},
		{"Running", "Created Succeeded | master-0 Succeeded"},
		{"None", "Created Succeeded | master-0 Succeeded, worker-0 Pending"},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		auto_sim sim = {0};

		print_message("%s, %s\n", rows[i / 2].policy, i % 2 ? "and a new engine" : "and the same engine");
		sim_open(&sim, false);
		sim_start(&sim);
		create_job(&sim, rows[i / 2].policy);
		end_job(&sim, body_of(&sim, "j-worker-0"), i % 2);
		sim_assert(&sim, "j", rows[i / 2].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stray__is_cleaned_up),
	};

	return cmocka_run_group_tests_name("engine/carry/stray", tests, NULL, NULL);
}
