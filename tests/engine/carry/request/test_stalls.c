/* SPDX-License-Identifier: Apache-2.0 */
/* A job asks that ranks which do not come are named: the engine reads the log of rank 0 while it runs. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/plan.h"

#define REPORT \
	"rh_comm: rank 1 has waited 12 s in number 3, barrier; it waited for rank 2 at node (has not posted it)\n"
#define MESSAGE \
	"PyTorchJob j: rank 1 has waited 12 s in number 3, barrier; it waited for rank 2 at node (has not posted it)"
#define PAUSE (RH_PLAN_STALLS_PAUSE / RH_SECOND)

/* What the log of rank 0 has, and how often it was asked for. */
struct stalls {
	struct sim sim;
	const char *log;
	size_t asked;
	bool forbidden;
};

static const char *stalls_text(void *arg, const struct rh_request *request)
{
	const struct stalls *stalls = arg;

	assert_string_equal(request->name, "j-master-0");
	assert_string_equal(request->log->container, "pytorch");
	return stalls->log;
}

static bool stalls_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct stalls *stalls = arg;

	*ret_apply = false;
	if (request->verb != RH_VERB_LOG)
		return false;
	stalls->asked++;
	if (stalls->forbidden)
		*ret_outcome = (struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = "forbidden", .forbidden = true};
	return stalls->forbidden;
}

/* A job of a master and two workers that run. */
static void stalls_open(struct stalls *stalls, bool reads, const char *annotations)
{
	static const char *const pods[] = {"j-master-0", "j-worker-0", "j-worker-1"};

	*stalls = (struct stalls){.log = "step 1\n"};
	sim_open(&stalls->sim, false);
	rh_memory_store_set_gate(stalls->sim.store, stalls_gate, stalls);
	rh_memory_store_set_logs(stalls->sim.store, stalls_text, stalls);
	stalls->sim.options.reads_logs = reads;
	sim_start(&stalls->sim);
	sim_create(&stalls->sim, sim_new_job("j", "Master=OnFailure Worker=OnFailure*2", NULL, annotations));
	sim_settle(&stalls->sim);
	for (size_t i = 0; i < sizeof(pods) / sizeof(*pods); i++)
		sim_set_pod(&stalls->sim, pods[i], "Running", 0, 0);
	sim_settle(&stalls->sim);
}

/* @return the message of the condition Stalled; NULL: the job is not stalled */
static const char *stalls_message(const struct stalls *stalls)
{
	const struct rh_json *conditions = rh_json_at(sim_job(&stalls->sim, "j"), "status.conditions");

	for (const struct rh_json *item = rh_json_first(conditions); item; item = rh_json_next(item)) {
		if (strcmp(rh_json_string_at(item, "type"), "Stalled") == 0)
			return rh_json_string_at(item, "message");
	}
	return NULL;
}

static void test_stalls__come_and_go(void **state)
{
	struct stalls stalls;

	(void)state;
	stalls_open(&stalls, true, "{'roundhouse.dev/stalls':'report'}");
	assert_int_equal(stalls.asked, 1);
	assert_null(stalls_message(&stalls));
	stalls.log = "step 1\n" REPORT;
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_int_equal(stalls.asked, 2);
	assert_non_null(stalls_message(&stalls));
	assert_string_equal(stalls_message(&stalls), MESSAGE);
	stalls.log = "step 1\n" REPORT "rh_comm: ranks go on\nstep 2\n";
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_null(stalls_message(&stalls));
	stalls.log = REPORT;
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_non_null(stalls_message(&stalls));
	sim_set_pod(&stalls.sim, "j-master-0", "Succeeded", 0, 0);
	sim_settle(&stalls.sim);
	assert_null(stalls_message(&stalls));
	stalls.asked = 0;
	sim_wait(&stalls.sim, 10 * PAUSE);
	assert_int_equal(stalls.asked, 0);
	sim_close(&stalls.sim);
}

static size_t stalls_slowed(const struct stalls *stalls)
{
	struct rh_engine_load load;

	rh_engine_load(stalls->sim.engine, &load);
	return load.slowed;
}

static void test_stalls__a_rank_that_comes_last_is_counted(void **state)
{
	struct stalls stalls;

	(void)state;
	stalls_open(&stalls, true, "{'roundhouse.dev/stalls':'report'}");
	assert_int_equal(stalls_slowed(&stalls), 0);
	stalls.log = "rh_comm: rank 2 at node comes last: the others wait for it in 9 % of the time\n";
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_int_equal(stalls_slowed(&stalls), 1);
	assert_null(stalls_message(&stalls));
	/* other lines have pushed it out */
	stalls.log = "step 7\n";
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_int_equal(stalls_slowed(&stalls), 1);
	stalls.log = "rh_comm: rank 2 no longer comes last\n";
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_int_equal(stalls_slowed(&stalls), 0);
	stalls.log = "rh_comm: rank 2 at node comes last: the others wait for it in 9 % of the time\n";
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_int_equal(stalls_slowed(&stalls), 1);
	/* the job ends: nobody reads its log any more */
	sim_set_pod(&stalls.sim, "j-master-0", "Succeeded", 0, 0);
	sim_settle(&stalls.sim);
	sim_wait(&stalls.sim, 3 * PAUSE);
	assert_int_equal(stalls_slowed(&stalls), 0);
	sim_close(&stalls.sim);
}

static void test_stalls__a_right_that_is_missing_is_not_asked_for_each_time(void **state)
{
	struct stalls stalls;

	(void)state;
	stalls_open(&stalls, true, "{'roundhouse.dev/stalls':'report'}");
	stalls.log = REPORT;
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_non_null(stalls_message(&stalls));
	stalls.forbidden = true;
	sim_wait(&stalls.sim, PAUSE + 1);
	assert_null(stalls_message(&stalls));
	stalls.asked = 0;
	sim_wait(&stalls.sim, RH_PLAN_STALLS_PAUSE_MAX / RH_SECOND - PAUSE);
	assert_int_equal(stalls.asked, 0);
	stalls.forbidden = false;
	sim_wait(&stalls.sim, 2 * PAUSE);
	assert_non_null(stalls_message(&stalls));
	sim_close(&stalls.sim);
}

static void test_stalls__are_not_read_unless_wanted(void **state)
{
	static const struct {
		bool reads;
		const char *annotations;
	} rows[] = {{true, NULL}, {true, "{'roundhouse.dev/stalls':'off'}"}, {false, "{'roundhouse.dev/stalls':'report'}"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct stalls stalls;

		stalls_open(&stalls, rows[i].reads, rows[i].annotations);
		stalls.log = REPORT;
		sim_wait(&stalls.sim, 3 * PAUSE);
		assert_int_equal(stalls.asked, 0);
		assert_null(stalls_message(&stalls));
		sim_close(&stalls.sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalls__come_and_go),
		cmocka_unit_test(test_stalls__a_rank_that_comes_last_is_counted),
		cmocka_unit_test(test_stalls__a_right_that_is_missing_is_not_asked_for_each_time),
		cmocka_unit_test(test_stalls__are_not_read_unless_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
