/* SPDX-License-Identifier: Apache-2.0 */
/* A job asks that ranks which do not come are named: the engine reads the log of rank 0 while it runs. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/missing.h"
#include "engine/plan.h"

#define REPORT \
	"rh_comm: rank 1 has waited 12 s in number 3, barrier; it waited for rank 2 at node (has not posted it)\n"
#define MESSAGE \
	"PyTorchJob j: rank 1 has waited 12 s in number 3, barrier; it waited for rank 2 at node (has not posted it)"
#define NAMED \
	"rh_comm: rank 1 has waited 12 s in number 3, barrier; it waited for rank 2 at 10.0.0.2 (has not posted it)\n"
#define PAUSE (RH_PLAN_STALLS_PAUSE / RH_SECOND)

/* What the log of rank 0 has, and how often it was asked for. */
struct stalls {
	struct sim sim;
	const char *log;
	size_t asked;
	bool forbidden;
	/* Of evictions: how many were tried, and how they are answered; OK: by the store. */
	size_t evictions;
	struct rh_outcome eviction;
	/* Nobody waits any more once the ledger notes an eviction. */
	bool over;
};

static const char *stalls_text(void *arg, const struct rh_request *request)
{
	const struct stalls *stalls = arg;

	assert_string_equal(request->name, "j-master-0");
	assert_string_equal(request->log->container, "pytorch");
	return stalls->log;
}

/* Nobody waits any more once the ledger is written that notes an eviction. */
static void stalls_go_on(struct stalls *stalls, const struct rh_request *request)
{
	const struct rh_missing_report none = {.text = NULL, .address = "", .rank = -1};
	const struct rh_kind *kind = rh_host_kind(stalls->sim.host, "kubeflow.org/v1", "PyTorchJob", NULL);
	rh_auto_free char *text = rh_json_text(request->body);

	if (!strstr(text, "stalled/"))
		return;
	stalls->log = "";
	rh_engine_note_missing(stalls->sim.engine, kind, "default", "j", &none, stalls->sim.now);
}

static bool stalls_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct stalls *stalls = arg;

	*ret_apply = false;
	if (stalls->over && request->verb == RH_VERB_PATCH)
		stalls_go_on(stalls, request);
	if (request->verb == RH_VERB_EVICT) {
		assert_string_equal(request->name, "j-worker-1");
		stalls->evictions++;
		*ret_outcome = stalls->eviction;
		return stalls->eviction.code != RH_OUTCOME_OK;
	}
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
	} rows[] = {{true, NULL}, {false, "{'roundhouse.dev/stalls':'evict'}"}};

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

/* As a kubelet: the pods run, at 10.0.0.0, 10.0.0.1 and 10.0.0.2. */
static void stalls_run(struct stalls *stalls)
{
	static const char *const pods[] = {"j-master-0", "j-worker-0", "j-worker-1"};

	for (int i = 0; i < 3; i++) {
		rh_auto_free char *status = rh_asprintf("{'status':{'podIP':'10.0.0.%d'}}", i);

		sim_set_pod(&stalls->sim, pods[i], "Running", 0, 0);
		(void)sim_user(&stalls->sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
		                                                 .resource = &rh_resource_pods,
		                                                 .name = pods[i],
		                                                 .body = sim_json(status)});
	}
	sim_settle(&stalls->sim);
}

/* A job that asks for an action; in ten seconds its rank 2 does not come. */
static void stalls_begin(struct stalls *stalls, const char *annotations)
{
	stalls_open(stalls, true, annotations);
	stalls_run(stalls);
	sim_wait(&stalls->sim, 10);
	stalls->log = NAMED;
}

static char *stalls_uid(const struct stalls *stalls, const char *pod)
{
	return rh_strdup(rh_json_string_at(sim_pod(&stalls->sim, pod), "metadata.uid"));
}

static void stalls_assert_same(const struct stalls *stalls, const char *pod, const char *uid, bool same)
{
	assert_int_equal(rh_text_equal(rh_json_string_at(sim_pod(&stalls->sim, pod), "metadata.uid"), uid), same);
}

static const char *stalls_ledger(const struct stalls *stalls)
{
	const struct rh_json *annotations = rh_json_at(sim_job(&stalls->sim, "j"), "metadata.annotations");
	const char *ledger = rh_json_string(rh_json_get(annotations, "roundhouse.dev/ledger"));

	return ledger ? ledger : "";
}

static void test_stalls__restart_all(void **state)
{
	struct stalls stalls;
	rh_auto_free char *master = NULL;
	rh_auto_free char *worker = NULL;

	(void)state;
	stalls_begin(&stalls, "{'roundhouse.dev/stalls':'restart','roundhouse.dev/stalls-limit':'1'}");
	master = stalls_uid(&stalls, "j-master-0");
	worker = stalls_uid(&stalls, "j-worker-1");
	sim_wait(&stalls.sim, PAUSE + 40);
	stalls_assert_same(&stalls, "j-master-0", master, true);
	sim_wait(&stalls.sim, 20);
	stalls_assert_same(&stalls, "j-master-0", master, false);
	stalls_assert_same(&stalls, "j-worker-1", worker, false);
	assert_int_equal(sim_assert_event(&stalls.sim, "Warning PyTorchJobRestarting PyTorchJob j is restarting all "
	                                               "replicas: rank 1 has waited 12 s"),
	                 1);
	assert_int_equal(stalls.evictions, 0);
	/* the log of the new rank 0 has nothing yet; later it says the same */
	stalls.log = "";
	stalls_run(&stalls);
	assert_null(stalls_message(&stalls));
	rh_free(master);
	master = stalls_uid(&stalls, "j-master-0");
	sim_wait(&stalls.sim, PAUSE + 1);
	stalls.log = NAMED;
	sim_wait(&stalls.sim, 10 * PAUSE);
	stalls_assert_same(&stalls, "j-master-0", master, true);
	assert_non_null(stalls_message(&stalls));
	assert_non_null(strstr(stalls_message(&stalls), "; nothing more is done, roundhouse.dev/stalls-limit is 1"));
	sim_close(&stalls.sim);
}

static void test_stalls__evict_one(void **state)
{
	struct stalls stalls;
	rh_auto_free char *master = NULL;
	rh_auto_free char *worker = NULL;

	(void)state;
	stalls_begin(&stalls, "{'roundhouse.dev/stalls':'evict','roundhouse.dev/stalls-after':'0s'}");
	sim_patch(&stalls.sim, "j", "{'spec':{'runPolicy':{'backoffLimit':0}}}");
	master = stalls_uid(&stalls, "j-master-0");
	worker = stalls_uid(&stalls, "j-worker-1");
	sim_wait(&stalls.sim, PAUSE);
	assert_int_equal(stalls.evictions, 1);
	stalls_assert_same(&stalls, "j-master-0", master, true);
	stalls_assert_same(&stalls, "j-worker-1", worker, false);
	(void)sim_assert_event(&stalls.sim, "Warning SuccessfulEvictPod Evicted pod: j-worker-1; rank 1 has waited 12 s");
	assert_non_null(strstr(stalls_ledger(&stalls), "\"stalled\":1"));
	assert_null(strstr(stalls_ledger(&stalls), "stalled/"));
	/* the same report is about the pod that is gone, even where the new one has its address */
	stalls_run(&stalls);
	sim_wait(&stalls.sim, 10 * PAUSE);
	assert_int_equal(stalls.evictions, 1);
	sim_assert(&stalls.sim, "j", "Created Running Stalled | master-0 Running, worker-0 Running, worker-1 Running");
	sim_close(&stalls.sim);
}

static void test_stalls__ranks_that_go_on_cancel(void **state)
{
	static const char *const actions[] = {"{'roundhouse.dev/stalls':'evict'}", "{'roundhouse.dev/stalls':'restart'}"};

	(void)state;
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		rh_auto_free char *master = NULL;
		struct stalls stalls;

		stalls_begin(&stalls, actions[i]);
		master = stalls_uid(&stalls, "j-master-0");
		sim_wait(&stalls.sim, PAUSE + 40);
		assert_non_null(stalls_message(&stalls));
		stalls.log = NAMED "rh_comm: ranks go on\n";
		sim_wait(&stalls.sim, 10 * PAUSE);
		assert_int_equal(stalls.evictions, 0);
		stalls_assert_same(&stalls, "j-master-0", master, true);
		assert_null(stalls_message(&stalls));
		sim_close(&stalls.sim);
	}
}

static void test_stalls__another_rank_begins_anew(void **state)
{
	struct stalls stalls;

	(void)state;
	stalls_begin(&stalls, "{'roundhouse.dev/stalls':'evict'}");
	stalls.log = "rh_comm: rank 1 has waited 12 s in barrier; it waited for rank 1 at 10.0.0.1 (has not posted it)\n";
	sim_wait(&stalls.sim, PAUSE + 20);
	stalls.log = NAMED;
	sim_wait(&stalls.sim, PAUSE + 50);
	assert_int_equal(stalls.evictions, 0);
	sim_wait(&stalls.sim, 20);
	assert_int_equal(stalls.evictions, 1);
	sim_close(&stalls.sim);
}

/* The ranks go on while the ledger is written, before the eviction is sent. */
static void test_stalls__nothing_is_sent_for_a_report_that_is_over(void **state)
{
	struct stalls stalls;

	(void)state;
	stalls_begin(&stalls, "{'roundhouse.dev/stalls':'evict','roundhouse.dev/stalls-after':'0s'}");
	stalls.over = true;
	sim_wait(&stalls.sim, 10 * PAUSE);
	assert_int_equal(stalls.evictions, 0);
	assert_null(strstr(stalls_ledger(&stalls), "stalled"));
	sim_close(&stalls.sim);
}

static void test_stalls__a_budget_delays_an_eviction(void **state)
{
	struct stalls stalls;
	rh_auto_free char *worker = NULL;
	size_t tried;

	(void)state;
	stalls_begin(&stalls, "{'roundhouse.dev/stalls':'evict','roundhouse.dev/stalls-after':'0s'}");
	worker = stalls_uid(&stalls, "j-worker-1");
	stalls.eviction = (struct rh_outcome){
		.code = RH_OUTCOME_THROTTLED, .message = "the budget b needs 3", .retry_after = RH_SECOND, .budget = true};
	sim_wait(&stalls.sim, PAUSE);
	assert_int_equal(stalls.evictions, 1);
	sim_wait(&stalls.sim, 2 * PAUSE);
	assert_int_equal(stalls.evictions, 3);
	(void)sim_assert_event(&stalls.sim, "Warning FailedEvictPod Error evicting j-worker-1: the budget b needs 3; it is "
	                                    "tried again while the rank does not come");
	assert_non_null(stalls_message(&stalls));
	assert_non_null(strstr(stalls_message(&stalls), "; its pod is not evicted: the budget b needs 3"));
	assert_non_null(strstr(stalls_ledger(&stalls), "stalled/Worker-1"));
	/* the ranks go on before the budget allows it */
	stalls.log = NAMED "rh_comm: ranks go on\n";
	sim_wait(&stalls.sim, PAUSE);
	tried = stalls.evictions;
	stalls.eviction.code = RH_OUTCOME_OK;
	sim_wait(&stalls.sim, 10 * PAUSE);
	assert_int_equal(stalls.evictions, tried);
	stalls_assert_same(&stalls, "j-worker-1", worker, true);
	assert_null(strstr(stalls_ledger(&stalls), "stalled"));
	/* and stop again */
	stalls.log = NAMED;
	sim_wait(&stalls.sim, PAUSE);
	stalls_assert_same(&stalls, "j-worker-1", worker, false);
	sim_close(&stalls.sim);
}

static void test_stalls__a_right_to_evict_that_is_missing(void **state)
{
	struct stalls stalls;

	(void)state;
	stalls_begin(&stalls, "{'roundhouse.dev/stalls':'evict','roundhouse.dev/stalls-after':'0s'}");
	stalls.eviction =
		(struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = "may not create pods/eviction", .forbidden = true};
	sim_wait(&stalls.sim, PAUSE);
	assert_int_equal(stalls.evictions, 1);
	assert_non_null(strstr(stalls_message(&stalls), "; its pod is not evicted: may not create pods/eviction"));
	sim_wait(&stalls.sim, RH_PLAN_STALLS_PAUSE_MAX / RH_SECOND - PAUSE);
	assert_int_equal(stalls.evictions, 1);
	stalls.eviction.code = RH_OUTCOME_OK;
	sim_wait(&stalls.sim, 2 * PAUSE);
	assert_int_equal(stalls.evictions, 2);
	assert_non_null(strstr(stalls_ledger(&stalls), "\"stalled\":1"));
	sim_close(&stalls.sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalls__restart_all),
		cmocka_unit_test(test_stalls__evict_one),
		cmocka_unit_test(test_stalls__ranks_that_go_on_cancel),
		cmocka_unit_test(test_stalls__another_rank_begins_anew),
		cmocka_unit_test(test_stalls__nothing_is_sent_for_a_report_that_is_over),
		cmocka_unit_test(test_stalls__a_budget_delays_an_eviction),
		cmocka_unit_test(test_stalls__a_right_to_evict_that_is_missing),
		cmocka_unit_test(test_stalls__come_and_go),
		cmocka_unit_test(test_stalls__a_rank_that_comes_last_is_counted),
		cmocka_unit_test(test_stalls__a_right_that_is_missing_is_not_asked_for_each_time),
		cmocka_unit_test(test_stalls__are_not_read_unless_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
