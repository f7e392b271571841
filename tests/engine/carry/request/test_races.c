/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes that arrive long after the watch events, and outdated watch events. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"
#include "job/values/names.h"

/* A store that delays the outcome of one request. */
struct late {
	struct rh_store face; /* first */
	struct rh_store *inner;
	enum rh_verb verb;
	const char *name; /* of the object */
	rh_done_fn *done; /* of the delayed request; NULL: not sent yet */
	void *arg;
	bool answered;
	enum rh_outcome_code code;
	struct rh_json *object;
};

static uint64_t late_watch(struct rh_store *face, const struct rh_resource *resource, const char *label,
                           rh_watch_fn *fn, void *arg)
{
	struct rh_store *inner = ((struct late *)face)->inner;

	return inner->watch(inner, resource, label, fn, arg);
}

static void late_unwatch(struct rh_store *face, uint64_t id)
{
	struct rh_store *inner = ((struct late *)face)->inner;

	inner->unwatch(inner, id);
}

static void late_keep(void *arg, const struct rh_outcome *outcome)
{
	struct late *late = arg;

	late->answered = true;
	late->code = outcome->code;
	late->object = outcome->object ? rh_json_copy(outcome->object) : NULL;
}

static int late_submit(struct rh_store *face, struct rh_request *request, rh_done_fn *done, void *arg, uint64_t *ret_id,
                       struct rh_error *err)
{
	struct late *late = (struct late *)face;
	const char *name = request->body ? rh_json_string_at(request->body, "metadata.name") : NULL;
	bool fits = request->verb == late->verb && strcmp(request->resource->kind, "Event") != 0 &&
	            strcmp(name ? name : request->name, late->name) == 0;

	if (late->done || !fits)
		return late->inner->submit(late->inner, request, done, arg, ret_id, err);
	late->done = done;
	late->arg = arg;
	return late->inner->submit(late->inner, request, late_keep, late, ret_id, err);
}

static void late_cancel(struct rh_store *face, uint64_t id)
{
	struct late *late = (struct late *)face;

	late->inner->cancel(late->inner, id);
}

/* Deliver the delayed outcome. */
static void late_deliver(struct late *late)
{
	struct rh_outcome outcome = {.code = late->code, .object = late->object, .message = ""};

	assert_true(late->answered);
	late->done(late->arg, &outcome);
	rh_json_free(rh_take(late->object));
}

/* Start an engine on a store that delays the outcome of @p verb of @p name. */
static void start_late(struct sim *sim, struct late *late, enum rh_verb verb, const char *name)
{
	struct rh_error err = {0};

	*late = (struct late){
		.face = {.watch = late_watch, .unwatch = late_unwatch, .submit = late_submit, .cancel = late_cancel},
		.inner = sim_store(sim),
		.verb = verb,
		.name = name};
	sim->options.host = sim->host;
	sim->options.store = &late->face;
	if (rh_engine_new(&sim->options, &sim->engine, &err) < 0)
		fail_msg("%s", err.message);
}

static void open_late(struct sim *sim, struct late *late, enum rh_verb verb, const char *name)
{
	sim_open(sim, false);
	start_late(sim, late, verb, name);
}

static void create(struct sim *sim, const char *replicas)
{
	sim_create(sim, sim_new_job("j", replicas, NULL, NULL));
	sim_settle(sim);
}

/* @return the first worker of the job "j" as the engine knows it; it does */
static struct snapshot_child worker(const struct sim *sim)
{
	struct snapshot_child pod;

	assert_true(snapshot_pod(sim->engine, "j-worker-0", &pod));
	return pod;
}

static void test_races__a_pod_may_run_before_its_create_is_answered(void **state)
{
	auto_sim sim = {0};
	struct late late;

	(void)state;
	open_late(&sim, &late, RH_VERB_CREATE, "j-worker-0");
	create(&sim, "Master=OnFailure Worker=OnFailure*2");
	sim_set_pod(&sim, "j-master-0", "Running", 0, 0);
	sim_set_pod(&sim, "j-worker-0", "Running", 0, 0);
	sim_set_pod(&sim, "j-worker-1", "Running", 0, 0);
	sim_settle(&sim);
	late_deliver(&late);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Running, worker-1 Running");
	assert_int_equal(worker(&sim).phase, RH_PHASE_RUNNING);
	assert_false(rh_engine_busy(sim.engine));
}

/* What is known to be gone is not taken for there because an old answer says so. */
static void test_races__a_pod_may_be_gone_before_its_create_is_answered(void **state)
{
	auto_sim sim = {0};
	struct snapshot_child pod;
	struct late late;

	(void)state;
	open_late(&sim, &late, RH_VERB_CREATE, "j-worker-0");
	create(&sim, "Worker=OnFailure");
	sim_set_pod(&sim, "j-worker-0", "Running", 0, 0);
	sim_settle(&sim);
	sim_delete_pod(&sim, "j-worker-0", 0);
	rh_memory_store_drain(sim.store);
	late_deliver(&late);
	assert_false(snapshot_pod(sim.engine, "j-worker-0", &pod));
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Restarting | worker-0 Pending");
	sim_assert_no_event(&sim, "Warning Failed");
}

static const struct rh_resource groups = {"scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"};

/* Under Volcano, a job whose PodGroup was created, and that create is not answered yet. */
static void create_with_late_group(struct sim *sim, struct late *late, struct rh_gang *gang)
{
	sim_open(sim, false);
	assert_int_equal(rh_gang_parse("volcano", gang, NULL), 0);
	sim->options.gang = gang;
	start_late(sim, late, RH_VERB_CREATE, "j");
	create(sim, "Master=OnFailure Worker=OnFailure");
	sim_assert(sim, "j", "Created | ");
	assert_non_null(rh_memory_store_find(sim->store, &groups, "default", "j"));
}

/* T3: an answer that is older than what the watch has shown does not take the phase back. */
static void test_races__a_podgroup_may_be_enqueued_before_its_create_is_answered(void **state)
{
	auto_sim sim = {0};
	struct rh_gang gang;
	struct late late;

	(void)state;
	create_with_late_group(&sim, &late, &gang);
	assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
	                                                    .resource = &groups,
	                                                    .name = "j",
	                                                    .body = sim_json("{'status':{'phase':'Inqueue'}}")}),
	                 RH_OUTCOME_OK);
	rh_memory_store_drain(sim.store);
	late_deliver(&late);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
	assert_false(rh_engine_busy(sim.engine));
}

/* Likewise one that is gone does not come back. */
static void test_races__a_podgroup_may_be_gone_before_its_create_is_answered(void **state)
{
	auto_sim sim = {0};
	struct rh_gang gang;
	struct late late;
	struct rh_request request = {.verb = RH_VERB_DELETE, .resource = &groups, .name = "j", .grace_seconds = -1};

	(void)state;
	create_with_late_group(&sim, &late, &gang);
	assert_int_equal(sim_user(&sim, request), RH_OUTCOME_OK);
	rh_memory_store_drain(sim.store);
	late_deliver(&late);
	sim_settle(&sim);
	assert_non_null(rh_memory_store_find(sim.store, &groups, "default", "j"));
}

static void test_races__an_answer_is_seen_before_the_watch(void **state)
{
	auto_sim sim = {0};
	struct snapshot_child pod;
	size_t creates = 0;

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", "Worker=OnFailure", NULL, NULL));
	rh_memory_store_drain(sim.store);
	rh_engine_step(sim.engine, sim.now);
	/* the newest heads first: answers, and events only when nothing else is left */
	for (int i = 0; i < 100; i++) {
		size_t pending = rh_memory_store_pending(sim.store);

		if (pending > 0)
			assert_true(rh_memory_store_pump(sim.store, pending - 1));
		rh_engine_step(sim.engine, sim.now);
		creates += snapshot_pod(sim.engine, "j-worker-0", &pod);
	}
	assert_true(creates > 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | worker-0 Pending");
	assert_int_equal(sim_assert_event(&sim, "Normal SuccessfulCreatePod Created pod: j-worker-0"), 1);
}

static void test_races__nothing_is_asked_for_twice(void **state)
{
	auto_sim sim = {0};
	struct late late;

	(void)state;
	open_late(&sim, &late, RH_VERB_DELETE, "j-worker-1");
	create(&sim, "Worker=OnFailure*2");
	rh_memory_store_set_gate(sim.store, NULL, NULL);
	sim_patch(&sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':1}}}}");
	rh_memory_store_drain(sim.store);
	rh_engine_step(sim.engine, sim.now);
	while (!late.done) {
		assert_true(rh_memory_store_pump(sim.store, 0));
		rh_engine_step(sim.engine, sim.now);
	}
	sim_set_pod(&sim, "j-worker-1", "Running", 0, 0);
	sim_settle(&sim);
	assert_int_equal(snapshot_job(sim.engine, "j").requests, 1);
	late_deliver(&late);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | worker-0 Pending");
	assert_int_equal(sim_assert_event(&sim, "Normal SuccessfulDeletePod Deleted pod: j-worker-1"), 1);
}

static void test_races__a_job_may_be_gone_before_its_writes_are_answered(void **state)
{
	static const struct {
		enum rh_verb verb;
		const char *name;
	} rows[] = {
		{RH_VERB_CREATE, "j-worker-0"},
		{RH_VERB_PATCH_STATUS, "j"},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_sim sim = {0};
		struct late late;

		open_late(&sim, &late, rows[i].verb, rows[i].name);
		create(&sim, "Worker=OnFailure");
		sim_delete(&sim, "j");
		sim_settle(&sim);
		if (rows[i].verb == RH_VERB_CREATE) /* the other one was cancelled */
			late_deliver(&late);
		rh_json_free(late.object);
		sim_settle(&sim);
		assert_int_equal(snapshot_engine(sim.engine).jobs, 0);
		assert_int_equal(snapshot_engine(sim.engine).requests, 0);
		sim_assert_no_event(&sim, "Warning");
		if (rows[i].verb == RH_VERB_CREATE)
			sim_assert_no_event(&sim, "Normal SuccessfulCreatePod");
	}
}

static bool ledger_says(const struct sim *sim, const char *text)
{
	const char *ledger =
		rh_json_string(rh_json_get(rh_json_at(sim_job(sim, "j"), "metadata.annotations"), RH_ANNOTATION_LEDGER));

	return ledger && strstr(ledger, text);
}

/*
 * The plan that counts a lost pod and makes it again has its ledger written, and meanwhile the user suspends the job.
 */
static void test_races__what_is_overtaken_is_not_carried_out(void **state)
{
	auto_sim sim = {0};
	struct late late;

	(void)state;
	open_late(&sim, &late, RH_VERB_PATCH, "-");
	create(&sim, "Worker=OnFailure*2");
	sim_set_pod(&sim, "j-worker-0", "Running", 0, 0);
	sim_set_pod(&sim, "j-worker-1", "Running", 0, 0);
	sim_settle(&sim);
	late.name = "j";
	sim_delete_pod(&sim, "j-worker-1", 0);
	sim_settle(&sim);
	assert_true(ledger_says(&sim, "\"deleted\":1"));
	assert_null(sim_pod(&sim, "j-worker-1"));
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&sim);
	late_deliver(&late);
	assert_int_equal(snapshot_job(sim.engine, "j").requests, 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Suspended | ");
	sim_assert_no_event(&sim, "Warning Failed");
}

/* Deliver an event about @p object, which is taken. */
static void deliver(const struct sim *sim, enum rh_watch_event event, struct rh_json *object)
{
	sim_deliver(sim, rh_json_string_at(object, "kind"), event, object);
	rh_json_free(object);
}

/* A copy of @p object as version @p version, with another UID where @p uid is not NULL. */
static struct rh_json *as_version(const struct rh_json *object, const char *version, const char *uid)
{
	struct rh_json *copy = rh_json_copy(object);
	struct rh_json *metadata = rh_json_get(copy, "metadata");

	assert_int_equal(rh_json_set_string(metadata, "resourceVersion", version), 0);
	if (uid)
		assert_int_equal(rh_json_set_string(metadata, "uid", uid), 0);
	return copy;
}

static void test_races__old_events_change_nothing(void **state)
{
	static const char *const uids[] = {NULL, "another"};
	auto_sim sim = {0};
	rh_auto_free char *job_uid = NULL;
	rh_auto_free char *pod_uid = NULL;

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	create(&sim, "Worker=OnFailure");
	job_uid = rh_strdup(snapshot_job(sim.engine, "j").uid);
	pod_uid = rh_strdup(rh_json_string_at(sim_pod(&sim, "j-worker-0"), "metadata.uid"));
	for (size_t i = 0; i < 2; i++) {
		deliver(&sim, RH_WATCH_MODIFIED, as_version(sim_job(&sim, "j"), "1", uids[i]));
		assert_string_equal(snapshot_job(sim.engine, "j").uid, job_uid);
		assert_string_not_equal(snapshot_job(sim.engine, "j").version, "1");
		deliver(&sim, RH_WATCH_MODIFIED, as_version(sim_pod(&sim, "j-worker-0"), "1", uids[i]));
		assert_string_equal(worker(&sim).uid, pod_uid);
		assert_string_not_equal(worker(&sim).version, "1");
	}
	deliver(&sim, RH_WATCH_DELETED, as_version(sim_pod(&sim, "j-worker-0"), "1", "another"));
	(void)worker(&sim);
	deliver(&sim, RH_WATCH_DELETED, as_version(sim_job(&sim, "j"), "1", "another"));
	assert_string_equal(snapshot_job(sim.engine, "j").uid, job_uid);
	assert_int_equal(rh_memory_store_pending(sim.store), 0);
}

/* A store whose versions are no numbers: then nothing counts as old. */
static void test_races__versions_may_be_anything(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	create(&sim, "Worker=OnFailure");
	deliver(&sim, RH_WATCH_MODIFIED, as_version(sim_pod(&sim, "j-worker-0"), "b-7", NULL));
	assert_string_equal(worker(&sim).version, "b-7");
	deliver(&sim, RH_WATCH_MODIFIED, as_version(sim_job(&sim, "j"), "a", NULL));
	assert_string_equal(snapshot_job(sim.engine, "j").version, "a");
}

static bool deny_delete(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	(void)arg;
	*ret_outcome = (struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = "no"};
	*ret_apply = false;
	return request->verb == RH_VERB_DELETE;
}

static void test_races__a_stopping_pod_that_changes_is_still_stopping(void **state)
{
	auto_sim sim = {0};
	struct late late;

	(void)state;
	open_late(&sim, &late, RH_VERB_DELETE, "j-worker-0");
	rh_memory_store_set_gate(sim.store, deny_delete, NULL);
	create(&sim, "Worker=OnFailure");
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&sim);
	assert_true(late.answered);
	assert_true(worker(&sim).deleting);
	deliver(&sim, RH_WATCH_MODIFIED, as_version(sim_pod(&sim, "j-worker-0"), "99999", NULL));
	assert_string_equal(worker(&sim).version, "99999");
	assert_true(worker(&sim).deleting);
	late_deliver(&late);
	assert_false(worker(&sim).deleting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_races__a_pod_may_run_before_its_create_is_answered),
		cmocka_unit_test(test_races__a_pod_may_be_gone_before_its_create_is_answered),
		cmocka_unit_test(test_races__a_podgroup_may_be_enqueued_before_its_create_is_answered),
		cmocka_unit_test(test_races__a_podgroup_may_be_gone_before_its_create_is_answered),
		cmocka_unit_test(test_races__an_answer_is_seen_before_the_watch),
		cmocka_unit_test(test_races__nothing_is_asked_for_twice),
		cmocka_unit_test(test_races__a_job_may_be_gone_before_its_writes_are_answered),
		cmocka_unit_test(test_races__what_is_overtaken_is_not_carried_out),
		cmocka_unit_test(test_races__old_events_change_nothing),
		cmocka_unit_test(test_races__versions_may_be_anything),
		cmocka_unit_test(test_races__a_stopping_pod_that_changes_is_still_stopping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
