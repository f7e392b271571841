/* SPDX-License-Identifier: Apache-2.0 */
#include "store/memory.h"

#include <string.h>

#include "base/os/clock.h"
#include "store/conformance.h"

#define POD_P "{'metadata':{'name':'p'},'spec':{}}"
#define POD_Q "{'metadata':{'name':'q'},'spec':{}}"

static void *open_graceful(void)
{
	struct rh_memory_store *store;

	assert_int_equal(rh_memory_store_new(true, NULL, NULL, &store), 0);
	return store;
}

static void *open_prompt(void)
{
	struct rh_memory_store *store;

	assert_int_equal(rh_memory_store_new(false, NULL, NULL, &store), 0);
	return store;
}

static void close_store(void *store)
{
	rh_memory_store_free(store);
}

static struct rh_store *face_of(void *store)
{
	return rh_memory_store_face(store);
}

static void settle(void *store)
{
	rh_memory_store_drain(store);
}

static int setup(void **state)
{
	*state = open_graceful();
	return 0;
}

static int teardown(void **state)
{
	rh_memory_store_free(*state);
	return 0;
}

static void submit(struct rh_memory_store *store, enum rh_verb verb, const char *name, const char *body,
                   struct answer *answer)
{
	struct rh_store *face = rh_memory_store_face(store);
	struct rh_request request = {.verb = verb,
	                             .resource = &rh_resource_pods,
	                             .namespace_ = "default",
	                             .name = name,
	                             .body = body ? conformance_json(body) : NULL,
	                             .grace_seconds = -1};

	assert_int_equal(face->submit(face, &request, answer_take, answer, NULL, NULL), 0);
}

static void watch(struct rh_memory_store *store, struct rh_str *log)
{
	struct rh_store *face = rh_memory_store_face(store);

	assert_true(face->watch(face, &rh_resource_pods, NULL, watch_note, log));
}

static void add_pods(struct rh_memory_store *store)
{
	auto_answer a = {0};
	auto_answer b = {0};

	submit(store, RH_VERB_CREATE, NULL, POD_P, &a);
	submit(store, RH_VERB_CREATE, NULL, POD_Q, &b);
	rh_memory_store_drain(store);
}

static void test_memory__requests_are_independent_heads(void **state)
{
	auto_answer a = {0};
	auto_answer b = {0};

	submit(*state, RH_VERB_CREATE, NULL, POD_P, &a);
	submit(*state, RH_VERB_CREATE, NULL, POD_Q, &b);
	assert_int_equal(rh_memory_store_pending(*state), 2);
	assert_true(rh_memory_store_pump(*state, 1));
	assert_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"));
	assert_non_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "q"));
	assert_int_equal(b.calls, 0);
	assert_int_equal(rh_memory_store_pending(*state), 2);
	assert_true(rh_memory_store_pump(*state, 1));
	assert_int_equal(b.calls, 1);
	assert_int_equal(a.calls, 0);
	rh_memory_store_drain(*state);
	assert_int_equal(a.calls, 1);
	assert_int_equal(rh_memory_store_pending(*state), 0);
	assert_false(rh_memory_store_pump(*state, 0));
}

static void test_memory__events_of_a_watch_keep_their_order(void **state)
{
	rh_auto_str one = {0};
	rh_auto_str two = {0};

	add_pods(*state);
	watch(*state, &one);
	watch(*state, &two);
	assert_int_equal(rh_memory_store_pending(*state), 2);
	assert_true(rh_memory_store_pump(*state, 1));
	assert_string_equal(rh_str_text(&two), "ADDED p\n");
	assert_true(rh_memory_store_pump(*state, 1));
	assert_true(rh_memory_store_pump(*state, 1));
	assert_string_equal(rh_str_text(&two), "ADDED p\nADDED q\nSYNCED\n");
	assert_string_equal(rh_str_text(&one), "");
	assert_int_equal(rh_memory_store_pending(*state), 1);
	assert_false(rh_memory_store_pump(*state, 1));
	rh_memory_store_drain(*state);
	assert_string_equal(rh_str_text(&one), "ADDED p\nADDED q\nSYNCED\n");
}

static void test_memory__an_event_shows_what_was_then(void **state)
{
	auto_answer a = {0};
	rh_auto_str log = {0};

	submit(*state, RH_VERB_CREATE, NULL, POD_P, &a);
	assert_true(rh_memory_store_pump(*state, 0));
	submit(*state, RH_VERB_PATCH, "p", "{'spec':{'x':1}}", NULL);
	assert_true(rh_memory_store_pump(*state, 1));
	assert_true(rh_memory_store_pump(*state, 0));
	assert_int_equal(rh_json_size(rh_json_at(a.object, "spec")), 0);
	assert_int_equal(rh_json_size(rh_json_at(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"), "spec")),
	                 1);
	rh_memory_store_disconnect(*state);
}

static void test_memory__disconnect_loses_what_was_pending(void **state)
{
	auto_answer a = {0};
	rh_auto_str log = {0};

	watch(*state, &log);
	submit(*state, RH_VERB_CREATE, NULL, POD_P, &a);
	assert_true(rh_memory_store_pump(*state, 1));
	submit(*state, RH_VERB_CREATE, NULL, POD_Q, &a);
	rh_memory_store_disconnect(*state);
	assert_int_equal(rh_memory_store_pending(*state), 0);
	rh_memory_store_drain(*state);
	assert_int_equal(a.calls, 0);
	assert_string_equal(rh_str_text(&log), "");
	assert_non_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"));
	assert_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "q"));
	submit(*state, RH_VERB_GET, "p", NULL, &a);
	rh_memory_store_drain(*state);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_string_equal(rh_str_text(&log), "");
}

static void note_name(void *arg, const struct rh_json *object)
{
	rh_str_appendf(arg, "%s ", rh_json_string_at(object, "metadata.name"));
}

static void test_memory__each_goes_in_order_of_creation(void **state)
{
	auto_answer a = {0};
	rh_auto_str log = {0};

	add_pods(*state);
	submit(*state, RH_VERB_DELETE, "p", NULL, &a);
	submit(*state, RH_VERB_CREATE, NULL, "{'metadata':{'name':'a'},'spec':{}}", &a);
	rh_memory_store_drain(*state);
	rh_memory_store_each(*state, &rh_resource_pods, note_name, &log);
	assert_string_equal(rh_str_text(&log), "p q a ");
	rh_memory_store_each(*state, &rh_resource_services, note_name, &log);
	assert_string_equal(rh_str_text(&log), "p q a ");
}

static void test_memory__time_is_the_owners(void **state)
{
	auto_answer a = {0};
	const struct rh_json *pod;

	rh_memory_store_set_time(*state, 1000 * RH_SECOND);
	submit(*state, RH_VERB_CREATE, NULL, POD_P, &a);
	rh_memory_store_drain(*state);
	assert_string_equal(rh_json_string_at(a.object, "metadata.creationTimestamp"), "1970-01-01T00:16:40Z");
	rh_memory_store_set_time(*state, 1001 * RH_SECOND);
	submit(*state, RH_VERB_DELETE, "p", NULL, &a);
	rh_memory_store_drain(*state);
	pod = rh_memory_store_find(*state, &rh_resource_pods, "default", "p");
	assert_string_equal(rh_json_string_at(pod, "metadata.deletionTimestamp"), "1970-01-01T00:17:11Z");
}

static void count_ready(void *arg)
{
	++*(int *)arg;
}

static void test_memory__ready_is_called_when_an_item_is_pending(void **state)
{
	rh_auto(memory_store) store = NULL;
	auto_answer a = {0};
	int ready = 0;

	(void)state;
	assert_int_equal(rh_memory_store_new(false, count_ready, &ready, &store), 0);
	submit(store, RH_VERB_CREATE, NULL, POD_P, &a);
	submit(store, RH_VERB_CREATE, NULL, POD_Q, &a);
	assert_int_equal(ready, 1);
	rh_memory_store_drain(store);
	submit(store, RH_VERB_GET, "p", NULL, &a);
	assert_int_equal(ready, 2);
	rh_memory_store_drain(store);
}

/* A gate that settles every create: @p arg says how. */
struct verdict {
	struct rh_outcome outcome;
	bool apply;
};

static bool gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	const struct verdict *verdict = arg;

	if (request->verb != RH_VERB_CREATE)
		return false;
	*ret_outcome = verdict->outcome;
	*ret_apply = verdict->apply;
	return true;
}

static void test_memory__a_gate_settles_requests(void **state)
{
	struct verdict verdict = {{.code = RH_OUTCOME_THROTTLED, .message = "busy", .retry_after = 7}, false};
	auto_answer a = {0};

	rh_memory_store_set_gate(*state, gate, &verdict);
	submit(*state, RH_VERB_CREATE, NULL, POD_P, &a);
	rh_memory_store_drain(*state);
	assert_int_equal(a.code, RH_OUTCOME_THROTTLED);
	assert_string_equal(a.message, "busy");
	assert_int_equal(a.retry_after, 7);
	assert_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"));
	verdict = (struct verdict){{.code = RH_OUTCOME_UNKNOWN, .message = "lost"}, true};
	submit(*state, RH_VERB_CREATE, NULL, POD_P, &a);
	rh_memory_store_drain(*state);
	assert_int_equal(a.code, RH_OUTCOME_UNKNOWN);
	assert_null(a.object);
	assert_non_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"));
	rh_memory_store_set_gate(*state, NULL, NULL);
	submit(*state, RH_VERB_CREATE, NULL, POD_P, &a);
	rh_memory_store_drain(*state);
	assert_int_equal(a.code, RH_OUTCOME_EXISTS);
}

static void test_memory__without_a_collector_the_owned_stay(void **state)
{
	auto_answer a = {0};
	rh_auto_free char *owned = NULL;

	rh_memory_store_set_collector(*state, false);
	submit(*state, RH_VERB_CREATE, NULL, POD_P, &a);
	rh_memory_store_drain(*state);
	owned = rh_asprintf("{'metadata':{'name':'q','ownerReferences':[{'uid':'%s'}]},'spec':{}}",
	                    rh_json_string_at(a.object, "metadata.uid"));
	submit(*state, RH_VERB_CREATE, NULL, owned, &a);
	submit(*state, RH_VERB_PATCH_STATUS, "p", "{'status':{'phase':'Failed'}}", &a);
	submit(*state, RH_VERB_DELETE, "p", NULL, &a);
	rh_memory_store_drain(*state);
	assert_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"));
	assert_non_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "q"));
}

static void test_memory__a_finalizer_keeps_what_is_to_go(void **state)
{
	auto_answer a = {0};
	const struct rh_json *pod;

	submit(*state, RH_VERB_CREATE, NULL, "{'metadata':{'name':'p','finalizers':['a/b','c/d']},'spec':{}}", &a);
	submit(*state, RH_VERB_PATCH_STATUS, "p", "{'status':{'phase':'Failed'}}", &a);
	submit(*state, RH_VERB_DELETE, "p", NULL, &a);
	rh_memory_store_drain(*state);
	pod = rh_memory_store_find(*state, &rh_resource_pods, "default", "p");
	assert_non_null(rh_json_at(pod, "metadata.deletionTimestamp"));
	submit(*state, RH_VERB_PATCH, "p", "{'metadata':{'finalizers':['c/d']}}", &a);
	rh_memory_store_drain(*state);
	assert_non_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"));
	submit(*state, RH_VERB_PATCH, "p", "{'metadata':{'finalizers':null}}", &a);
	rh_memory_store_drain(*state);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"));
}

/* A pod that a kubelet has not stopped stays, too. */
static void test_memory__a_finalizer_does_not_stop_a_kubelet(void **state)
{
	auto_answer a = {0};

	submit(*state, RH_VERB_CREATE, NULL, "{'metadata':{'name':'p','finalizers':['a/b']},'spec':{}}", &a);
	submit(*state, RH_VERB_DELETE, "p", NULL, &a);
	submit(*state, RH_VERB_PATCH, "p", "{'metadata':{'finalizers':null}}", &a);
	rh_memory_store_drain(*state);
	assert_non_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "p"));
}

static void test_memory__a_grace_period_without_end_ends(void **state)
{
	auto_answer a = {0};
	const struct rh_json *pod;
	int64_t grace;

	submit(*state, RH_VERB_CREATE, NULL,
	       "{'metadata':{'name':'p'},'spec':{'terminationGracePeriodSeconds':9007199254740992}}", &a);
	submit(*state, RH_VERB_DELETE, "p", NULL, &a);
	rh_memory_store_drain(*state);
	pod = rh_memory_store_find(*state, &rh_resource_pods, "default", "p");
	assert_true(rh_json_integer(rh_json_at(pod, "metadata.deletionGracePeriodSeconds"), &grace));
	assert_int_equal(grace, INT32_MAX);
	assert_string_equal(rh_json_string_at(pod, "metadata.deletionTimestamp"), "2038-01-19T03:14:07Z");
}

static void test_memory__a_chain_of_owners_goes_whole(void **state)
{
	auto_answer a = {0};

	submit(*state, RH_VERB_CREATE, NULL, "{'metadata':{'name':'0'},'spec':{}}", &a);
	rh_memory_store_drain(*state);
	for (int i = 1; i < 50; i++) {
		rh_auto_free char *owned = rh_asprintf("{'metadata':{'name':'%d','ownerReferences':[{'uid':'%s'}]},'spec':{}}",
		                                       i, rh_json_string_at(a.object, "metadata.uid"));
		rh_auto_free char *name = rh_asprintf("%d", i);

		submit(*state, RH_VERB_CREATE, NULL, owned, &a);
		rh_memory_store_drain(*state);
		submit(*state, RH_VERB_PATCH_STATUS, name, "{'status':{'phase':'Failed'}}", &a);
		rh_memory_store_drain(*state);
	}
	submit(*state, RH_VERB_PATCH_STATUS, "0", "{'status':{'phase':'Failed'}}", &a);
	submit(*state, RH_VERB_DELETE, "0", NULL, &a);
	rh_memory_store_drain(*state);
	assert_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "1"));
	assert_null(rh_memory_store_find(*state, &rh_resource_pods, "default", "49"));
}

/* A life of one pod under a watch. @return 0 or RH_ENOMEM */
static int live_once(struct rh_memory_store *store)
{
	static const struct {
		enum rh_verb verb;
		const char *body;
	} steps[] = {
		{RH_VERB_CREATE, POD_P},
		{RH_VERB_PATCH, "{'metadata':{'labels':{'a':'b'}},'spec':{'x':1}}"},
		{RH_VERB_PATCH_STATUS, "{'status':{'phase':'Running'}}"},
		{RH_VERB_DELETE, NULL},
		{RH_VERB_PATCH_STATUS, "{'status':{'phase':'Failed'}}"},
		{RH_VERB_DELETE, NULL},
	};
	struct rh_store *face = rh_memory_store_face(store);
	rh_auto_str log = {0};
	auto_answer a = {0};
	int r = face->watch(face, &rh_resource_pods, NULL, watch_note, &log) ? 0 : RH_ENOMEM;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r == 0; i++) {
		struct rh_request request = {.verb = steps[i].verb, .resource = &rh_resource_pods, .namespace_ = "default"};
		rh_auto_free char *text = steps[i].body ? rh_strdup(steps[i].body) : NULL;

		for (char *c = text; c && *c; c++)
			*c = *c == '\'' ? '"' : *c;
		request.name = "p";
		request.grace_seconds = -1;
		if (text && rh_json_parse(text, strlen(text), &request.body, NULL) < 0)
			r = RH_ENOMEM;
		else
			r = face->submit(face, &request, answer_take, &a, NULL, NULL);
		rh_memory_store_drain(store);
		if (a.code != RH_OUTCOME_OK || rh_memory_store_pending(store) > 0)
			r = RH_ENOMEM;
	}
	rh_memory_store_disconnect(store);
	return r;
}

static void test_memory__without_memory_nothing_breaks(void **state)
{
	int r = RH_ENOMEM;

	(void)state;
	for (long n = 0; r != 0; n++) {
		rh_auto(memory_store) store = NULL;

		assert_true(n < 100000);
		rh_mem_fail_after(n);
		if (rh_memory_store_new(true, NULL, NULL, &store) == 0)
			r = live_once(store);
		rh_mem_fail_after(-1);
		if (store)
			rh_memory_store_drain(store);
	}
}

static const struct CMUnitTest memory_tests[] = {
	cmocka_unit_test_setup_teardown(test_memory__requests_are_independent_heads, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__events_of_a_watch_keep_their_order, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__an_event_shows_what_was_then, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__disconnect_loses_what_was_pending, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__each_goes_in_order_of_creation, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__time_is_the_owners, setup, teardown),
	cmocka_unit_test(test_memory__ready_is_called_when_an_item_is_pending),
	cmocka_unit_test_setup_teardown(test_memory__a_gate_settles_requests, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__without_a_collector_the_owned_stay, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__a_finalizer_keeps_what_is_to_go, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__a_finalizer_does_not_stop_a_kubelet, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__a_grace_period_without_end_ends, setup, teardown),
	cmocka_unit_test_setup_teardown(test_memory__a_chain_of_owners_goes_whole, setup, teardown),
	cmocka_unit_test(test_memory__without_memory_nothing_breaks),
};

int main(void)
{
	static const struct conformance_target graceful = {open_graceful, close_store, face_of, settle, true, false};
	static const struct conformance_target prompt = {open_prompt, close_store, face_of, settle, false, false};
	int failed = conformance_run(&graceful);

	failed += conformance_run(&prompt);
	failed += cmocka_run_group_tests(memory_tests, NULL, NULL);
	return failed;
}
