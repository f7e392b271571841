/* SPDX-License-Identifier: Apache-2.0 */
/* The suite of every store, on a real API server: that of $KUBECONFIG, which loses all its pods and Services. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "kube/real.h"
#include "store/conformance.h"

#define PATIENCE (60 * RH_SECOND)
#define WATCHES 8
/* Pods that come and go, to know that all earlier events have arrived. */
#define SENTINEL "sentinel-"

/* A watch of a test. */
struct target_watch {
	struct target *target;
	rh_watch_fn *fn;
	void *arg;
	uint64_t id;
	bool synced;
	int came, went; /* numbers of the sentinels that were seen last */
};

/* A request of a test. */
struct target_call {
	struct target *target;
	struct target_call *next;
	uint64_t id;
	rh_done_fn *done;
	void *arg;
};

/* The store with a face that counts what is owed to the test. */
struct target {
	struct rh_store face;
	struct real real;
	struct target_watch watches[WATCHES];
	size_t watch_count;
	struct target_call *calls;
	int sentinels;
};

static bool target_is_busy(void *arg)
{
	struct target *target = arg;

	return target->calls != NULL;
}

static struct rh_store *inner(struct target *target)
{
	return rh_kube_store_face(target->real.store);
}

static void on_watch(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct target_watch *watch = arg;
	const char *name = object ? rh_json_string_at(object, "metadata.name") : "";

	if (event == RH_WATCH_SYNCED)
		watch->synced = true;
	if (!rh_starts_with(name, SENTINEL))
		watch->fn(watch->arg, event, object);
	else if (event == RH_WATCH_ADDED)
		watch->came = (int)strtol(name + strlen(SENTINEL), NULL, 10);
	else if (event == RH_WATCH_DELETED)
		watch->went = (int)strtol(name + strlen(SENTINEL), NULL, 10);
}

static uint64_t target_watch(struct rh_store *face, const struct rh_resource *resource, const char *label,
                             rh_watch_fn *fn, void *arg)
{
	struct target *target = (struct target *)face;
	struct target_watch *watch = &target->watches[target->watch_count++];

	*watch = (struct target_watch){.target = target, .fn = fn, .arg = arg};
	watch->id = inner(target)->watch(inner(target), resource, label, on_watch, watch);
	return watch->id;
}

static void target_unwatch(struct rh_store *face, uint64_t id)
{
	struct target *target = (struct target *)face;

	inner(target)->unwatch(inner(target), id);
	for (size_t i = 0; i < target->watch_count; i++) {
		struct target_watch *watch = &target->watches[i];

		if (watch->id != id)
			continue;
		watch->synced = true; /* it owes nothing any more */
		watch->came = watch->went = INT_MAX;
	}
}

static struct target_call *target_take(struct target *target, uint64_t id)
{
	struct target_call **at = &target->calls;
	struct target_call *call;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	call = *at;
	if (call)
		*at = call->next;
	return call;
}

static void on_done(void *arg, const struct rh_outcome *outcome)
{
	struct target_call *call = arg;

	(void)target_take(call->target, call->id);
	call->done(call->arg, outcome);
	rh_free(call);
}

static int target_submit(struct rh_store *face, struct rh_request *request, rh_done_fn *done, void *arg,
                         uint64_t *ret_id, struct rh_error *err)
{
	struct target *target = (struct target *)face;
	struct target_call *call = rh_alloc(sizeof(*call));
	int r;

	*call = (struct target_call){.target = target, .next = target->calls, .done = done, .arg = arg};
	r = inner(target)->submit(inner(target), request, on_done, call, &call->id, err);
	target->calls = call;
	if (ret_id)
		*ret_id = call->id;
	return r;
}

static void target_cancel(struct rh_store *face, uint64_t id)
{
	struct target *target = (struct target *)face;

	inner(target)->cancel(inner(target), id);
	rh_free(target_take(target, id));
}

static void on_cleaned(void *arg, const struct rh_http_response *response)
{
	assert_int_equal(response->status, 200);
	*(bool *)arg = false;
}

static bool still(void *arg)
{
	return *(bool *)arg;
}

static void clean(struct target *target, const char *path)
{
	static const char body[] = "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0}";
	struct rh_http_request request = {.method = "DELETE",
	                                  .path = path,
	                                  .content_type = "application/json",
	                                  .body = body,
	                                  .body_length = sizeof(body) - 1};
	bool under_way = true;

	target->real.turn = still;
	target->real.arg = &under_way;
	assert_int_equal(rh_http_send(target->real.http, &request, on_cleaned, &under_way, NULL, NULL), 0);
	assert_true(real_run(&target->real, PATIENCE));
}

static void *open_target(void)
{
	struct target *target = rh_alloc(sizeof(*target));

	assert_non_null(target);
	target->face = (struct rh_store){
		.watch = target_watch, .unwatch = target_unwatch, .submit = target_submit, .cancel = target_cancel};
	real_open(&target->real, &(struct rh_kube_store_options){.window = 0});
	clean(target, "/api/v1/namespaces/default/pods");
	clean(target, "/api/v1/namespaces/other/pods");
	clean(target, "/api/v1/namespaces/default/services?labelSelector=%21component");
	return target;
}

static void close_target(void *sut)
{
	struct target *target = sut;

	real_close(&target->real);
	rh_free(target);
}

static struct rh_store *face_of(void *sut)
{
	return &((struct target *)sut)->face;
}

static void wait_for(struct target *target, bool (*turn)(void *arg))
{
	target->real.turn = turn;
	target->real.arg = target;
	if (!real_run(&target->real, PATIENCE))
		fail_msg("no more events arrive");
}

/* Does any watch still owe the sentinel that came, or that it went? */
static bool sentinel_is_awaited(void *arg)
{
	const struct target *target = arg;

	if (target->calls)
		return true;
	for (size_t i = 0; i < target->watch_count; i++) {
		if (!target->watches[i].synced || target->watches[i].came < target->sentinels)
			return true;
	}
	return false;
}

static bool sentinel_is_seen_off(void *arg)
{
	const struct target *target = arg;

	for (size_t i = 0; i < target->watch_count; i++) {
		if (target->watches[i].went < target->sentinels)
			return true;
	}
	return target->calls != NULL;
}

static void settle(void *sut)
{
	struct target *target = sut;
	rh_auto_free char *name = rh_asprintf(SENTINEL "%d", target->sentinels + 1);
	rh_auto_free char *body = rh_asprintf(
		"{'metadata':{'name':'%s','labels':{'app':'x'}},'spec':{'containers':[{'name':'c','image':'i'}]}}", name);
	struct rh_request request = {.verb = RH_VERB_CREATE, .resource = &rh_resource_pods, .namespace_ = "default"};
	auto_answer answer = {0};

	wait_for(target, target_is_busy);
	if (target->watch_count == 0)
		return;
	target->sentinels++;
	request.body = conformance_json(body);
	assert_int_equal(target_submit(&target->face, &request, answer_take, &answer, NULL, NULL), 0);
	wait_for(target, sentinel_is_awaited);
	assert_int_equal(answer.code, RH_OUTCOME_OK);
	request = (struct rh_request){
		.verb = RH_VERB_DELETE, .resource = &rh_resource_pods, .namespace_ = "default", .name = name};
	assert_int_equal(target_submit(&target->face, &request, answer_take, &answer, NULL, NULL), 0);
	wait_for(target, sentinel_is_seen_off);
}

/* Send a request about an object in the namespace default, and wait for its answer. @param body NULL: none */
static void ask(struct target *target, struct rh_request request, const char *body, struct answer *answer)
{
	answer_deinit(answer);
	request.namespace_ = "default";
	if (body)
		request.body = conformance_json(body);
	assert_int_equal(target_submit(&target->face, &request, answer_take, answer, NULL, NULL), 0);
	wait_for(target, target_is_busy);
}

/* Pod p, which runs and is ready, and a PodDisruptionBudget that no controller keeps, so that its status is ours. */
static void make_budget(struct target *target, const struct rh_resource *budgets)
{
	auto_answer answer = {0};

	ask(target, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &rh_resource_pods},
	    "{'metadata':{'name':'p','labels':{'app':'x'}},'spec':{'containers':[{'name':'c','image':'i'}]}}", &answer);
	assert_int_equal(answer.code, RH_OUTCOME_OK);
	ask(target, (struct rh_request){.verb = RH_VERB_PATCH_STATUS, .resource = &rh_resource_pods, .name = "p"},
	    "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}", &answer);
	assert_int_equal(answer.code, RH_OUTCOME_OK);
	ask(target, (struct rh_request){.verb = RH_VERB_CREATE, .resource = budgets},
	    "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'selector':{'matchLabels':{'app':'x'}}}}", &answer);
	assert_int_equal(answer.code, RH_OUTCOME_OK);
}

static void allow(struct target *target, const struct rh_resource *budgets, int count)
{
	rh_auto_free char *status = rh_asprintf("{'status':{'observedGeneration':1,'disruptionsAllowed':%d,"
	                                        "'currentHealthy':1,'desiredHealthy':1,'expectedPods':1}}",
	                                        count);
	auto_answer answer = {0};

	ask(target, (struct rh_request){.verb = RH_VERB_PATCH_STATUS, .resource = budgets, .name = "b"}, status, &answer);
	assert_int_equal(answer.code, RH_OUTCOME_OK);
}

static void note_eviction(void *arg, const struct rh_outcome *outcome)
{
	assert_int_equal(outcome->budget, outcome->code == RH_OUTCOME_THROTTLED);
	answer_take(arg, outcome);
}

/* @param uid NULL: of whatever pod has the name */
static void evict(struct target *target, const char *uid, struct answer *answer)
{
	struct rh_request request = {
		.verb = RH_VERB_EVICT, .resource = &rh_resource_pods, .namespace_ = "default", .name = "p", .uid = uid};

	answer_deinit(answer);
	assert_int_equal(target_submit(&target->face, &request, note_eviction, answer, NULL, NULL), 0);
	wait_for(target, target_is_busy);
}

static void test_real__a_budget_forbids_an_eviction(void **state)
{
	static const struct rh_resource budgets = {"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"};
	struct target *target = open_target();
	auto_answer answer = {0};

	(void)state;
	make_budget(target, &budgets);
	allow(target, &budgets, 0);
	evict(target, NULL, &answer);
	assert_int_equal(answer.code, RH_OUTCOME_THROTTLED);
	assert_non_null(strstr(answer.message, "The disruption budget b needs 1 healthy pods"));
	allow(target, &budgets, 1);
	evict(target, "another", &answer);
	assert_int_equal(answer.code, RH_OUTCOME_CONFLICT);
	allow(target, &budgets, 1); /* the server has taken that one from the budget before it compared the UID */
	evict(target, NULL, &answer);
	assert_int_equal(answer.code, RH_OUTCOME_OK);
	evict(target, NULL, &answer);
	assert_int_equal(answer.code, RH_OUTCOME_GONE);
	ask(target, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &budgets, .name = "b", .grace_seconds = -1},
	    NULL, &answer);
	close_target(target);
}

int main(void)
{
	static const struct conformance_target target = {open_target, close_target,      face_of,
	                                                 settle,      .graceful = false, .server = true};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real__a_budget_forbids_an_eviction),
	};
	int r = conformance_run(&target);

	return r ? r : cmocka_run_group_tests(tests, NULL, NULL);
}
