/* SPDX-License-Identifier: Apache-2.0 */
/* Creates that the store refuses for good, such as by an exhausted quota, and how often that is reported. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"

#define QUOTA "pods is forbidden: exceeded quota: q"

/* A quota of pods, or of Services, as admission keeps it: what is over it is refused. */
struct quota {
	const char *kind;
	int room;
	int asked; /* creates so far */
};

static bool quota_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct quota *quota = arg;

	if (request->verb != RH_VERB_CREATE || strcmp(request->resource->kind, quota->kind) != 0)
		return false;
	quota->asked++;
	if (quota->room > 0) {
		quota->room--;
		return false;
	}
	*ret_outcome = (struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = QUOTA};
	*ret_apply = false;
	return true;
}

static void open_quota(struct sim *sim, struct quota *quota)
{
	sim_open(sim, false);
	rh_memory_store_set_gate(sim->store, quota_gate, quota);
	sim_start(sim);
}

static void create(struct sim *sim, const char *replicas)
{
	sim_create(sim, sim_new_job("j", replicas, NULL, NULL));
	sim_settle(sim);
}

static const char *stalled(const struct sim *sim)
{
	const struct rh_json *item = rh_json_first(rh_json_at(sim_job(sim, "j"), "status.conditions"));

	while (item && !rh_text_equal(rh_json_string_at(item, "type"), RH_CONDITION_STALLED))
		item = rh_json_next(item);
	return rh_json_string_at(item, "message");
}

static size_t count_pods(const struct sim *sim, int count)
{
	size_t found = 0;

	for (int i = 0; i < count; i++) {
		rh_auto_free char *name = rh_asprintf("j-worker-%d", i);

		found += sim_pod(sim, name) != NULL;
	}
	return found;
}

static void test_refusals__a_quota_is_one_condition(void **state)
{
	struct quota quota = {.kind = "Pod", .room = 3};
	auto_sim sim = {0};

	(void)state;
	open_quota(&sim, &quota);
	create(&sim, "Worker=OnFailure*200");
	assert_int_equal(count_pods(&sim, 200), 3);
	assert_non_null(stalled(&sim));
	assert_non_null(strstr(stalled(&sim), "PyTorchJob j cannot create Pod j-worker-"));
	assert_non_null(strstr(stalled(&sim), ": " QUOTA));
	/* One window that was sent before the first answer, then one at a time. */
	assert_in_range(quota.asked, 4, 64 + 15);
	assert_true(sim_assert_event(&sim, "Warning FailedCreatePod Error creating: " QUOTA) > 1);
}

static void test_refusals__are_asked_rarely(void **state)
{
	struct quota quota = {.kind = "Pod", .room = 1};
	auto_sim sim = {0};
	rh_auto_free char *version = NULL;

	(void)state;
	open_quota(&sim, &quota);
	create(&sim, "Worker=OnFailure*200");
	sim_wait(&sim, 60);
	quota.asked = 0;
	version = rh_strdup(rh_json_string_at(sim_job(&sim, "j"), "metadata.resourceVersion"));
	sim_wait(&sim, 3600);
	assert_in_range(quota.asked, 3, 15);
	assert_string_equal(rh_json_string_at(sim_job(&sim, "j"), "metadata.resourceVersion"), version);
}

static void test_refusals__end_when_there_is_room(void **state)
{
	struct quota quota = {.kind = "Pod", .room = 3};
	auto_sim sim = {0};

	(void)state;
	open_quota(&sim, &quota);
	create(&sim, "Worker=OnFailure*200");
	quota.room = 1000;
	sim_wait(&sim, 1001);
	assert_int_equal(count_pods(&sim, 200), 200);
	assert_null(stalled(&sim));
}

static void test_refusals__a_little_room_is_taken(void **state)
{
	struct quota quota = {.kind = "Pod", .room = 3};
	auto_sim sim = {0};

	(void)state;
	open_quota(&sim, &quota);
	create(&sim, "Worker=OnFailure*20");
	quota.room = 5;
	sim_wait(&sim, 1001);
	assert_int_equal(count_pods(&sim, 20), 8);
	assert_non_null(stalled(&sim));
}

static void test_refusals__services_do_not_hold_pods_up(void **state)
{
	struct quota quota = {.kind = "Service", .room = 1};
	auto_sim sim = {0};

	(void)state;
	open_quota(&sim, &quota);
	create(&sim, "Worker=OnFailure*20");
	assert_int_equal(count_pods(&sim, 20), 20);
	assert_non_null(strstr(stalled(&sim), "cannot create Service j-worker-"));
	quota.room = 1000;
	sim_wait(&sim, 1001);
	assert_null(stalled(&sim));
}

static void test_refusals__a_start_keeps_the_condition(void **state)
{
	struct quota quota = {.kind = "Pod", .room = 1};
	auto_sim sim = {0};

	(void)state;
	open_quota(&sim, &quota);
	create(&sim, "Worker=OnFailure*5");
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	assert_non_null(stalled(&sim));
	quota.room = 100;
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	assert_null(stalled(&sim));
	assert_int_equal(count_pods(&sim, 5), 5);
}

static void test_refusals__go_with_what_is_not_wanted_any_more(void **state)
{
	struct quota quota = {.kind = "Pod", .room = 3};
	auto_sim sim = {0};

	(void)state;
	open_quota(&sim, &quota);
	create(&sim, "Worker=OnFailure*5");
	assert_non_null(stalled(&sim));
	sim_patch(&sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':2}}}}");
	sim_settle(&sim);
	assert_null(stalled(&sim));
	sim_patch(&sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':7}}}}");
	sim_settle(&sim);
	assert_non_null(stalled(&sim));
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&sim);
	assert_null(stalled(&sim));
}

/* What two controllers without a common Lease ask of one store. */
struct crowd {
	struct rh_engine *other;
	int tries;  /* pods that were refused */
	int writes; /* of a status */
};

/* Each refusal has words of its own, as a quota's counts have. */
static bool crowd_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	static char words[64];
	struct crowd *crowd = arg;
	const char *kind = request->resource->kind;

	crowd->writes += request->verb == RH_VERB_PATCH_STATUS;
	if (request->verb != RH_VERB_CREATE || strcmp(kind, "Pod") != 0)
		return false;
	(void)snprintf(words, sizeof(words), QUOTA ", used: %d", ++crowd->tries);
	*ret_outcome = (struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = words};
	*ret_apply = false;
	return true;
}

/* Everything that happens to both until @p until. */
static void run_both(struct sim *sim, const struct crowd *crowd, int64_t until)
{
	for (int round = 0; round < 10000; round++) {
		int64_t next, other;

		rh_memory_store_drain(sim->store);
		rh_engine_step(sim->engine, sim->now);
		rh_engine_step(crowd->other, sim->now);
		next = rh_engine_deadline(sim->engine);
		other = rh_engine_deadline(crowd->other);
		next = other < next ? other : next;
		if (rh_memory_store_pending(sim->store) > 0 || next <= sim->now)
			continue;
		if (next > until)
			return;
		sim->now = next;
		rh_memory_store_set_time(sim->store, next);
	}
	fail_msg("they never become quiet");
}

/* Each controller writes its message once, when it gets it. */
static void test_refusals__two_controllers_do_not_fight(void **state)
{
	struct crowd crowd = {0};
	auto_sim sim = {0};
	rh_auto_free char *version = NULL;
	int tries;

	(void)state;
	sim_open(&sim, false);
	rh_memory_store_set_gate(sim.store, crowd_gate, &crowd);
	sim_start(&sim);
	assert_int_equal(rh_engine_new(&sim.options, &crowd.other, NULL), 0);
	sim_create(&sim, sim_new_job("j", "Worker=OnFailure*3", NULL, NULL));
	run_both(&sim, &crowd, sim.now + 60 * RH_SECOND);
	assert_non_null(stalled(&sim));
	/* Words that are new are worth a write, and the conflict of two writes another; nothing else is. */
	assert_in_range(crowd.writes, 2, 2 * crowd.tries + 8);
	version = rh_strdup(rh_json_string_at(sim_job(&sim, "j"), "metadata.resourceVersion"));
	tries = crowd.tries;
	run_both(&sim, &crowd, sim.now + RH_SECOND);
	assert_int_equal(crowd.tries, tries);
	assert_string_equal(rh_json_string_at(sim_job(&sim, "j"), "metadata.resourceVersion"), version);
	rh_memory_store_set_gate(sim.store, NULL, NULL);
	run_both(&sim, &crowd, sim.now + 1001 * RH_SECOND);
	assert_int_equal(count_pods(&sim, 3), 3);
	assert_null(stalled(&sim));
	rh_engine_free(crowd.other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals__a_quota_is_one_condition),
		cmocka_unit_test(test_refusals__are_asked_rarely),
		cmocka_unit_test(test_refusals__end_when_there_is_room),
		cmocka_unit_test(test_refusals__a_little_room_is_taken),
		cmocka_unit_test(test_refusals__services_do_not_hold_pods_up),
		cmocka_unit_test(test_refusals__a_start_keeps_the_condition),
		cmocka_unit_test(test_refusals__go_with_what_is_not_wanted_any_more),
		cmocka_unit_test(test_refusals__two_controllers_do_not_fight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
