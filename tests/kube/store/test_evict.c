/* SPDX-License-Identifier: Apache-2.0 */
/* Evictions: what is sent, and that a budget that forbids one holds nothing else back. */
#include "base/support.h"
#include "kube/fake_http.h"
#include "kube/store/store.h"

#define BUDGET                                                                         \
	"{\"kind\":\"Status\",\"message\":\"Cannot evict pod.\",\"details\":{\"causes\":[" \
	"{\"reason\":\"DisruptionBudget\",\"message\":\"The disruption budget b needs 1.\"}]}}"

static int64_t evict_clock(void *arg)
{
	return *(const int64_t *)arg;
}

static void evict_note(void *arg, const struct rh_outcome *outcome)
{
	*(struct rh_outcome *)arg = (struct rh_outcome){.code = outcome->code, .budget = outcome->budget};
}

static void test_evict__a_budget_holds_nothing_else_back(void **state)
{
	int64_t now = 1000;
	rh_auto(http) http = fake_http_new();
	struct rh_kube_store_options options = {.http = http, .seed = 1, .arg = &now, .clock = evict_clock, .window = 2};
	struct rh_request evict = {
		.verb = RH_VERB_EVICT, .resource = &rh_resource_pods, .namespace_ = "d", .name = "p", .uid = "u"};
	struct rh_request get = {.verb = RH_VERB_GET, .resource = &rh_resource_pods, .namespace_ = "d", .name = "p"};
	rh_auto(kube_store) store = NULL;
	struct rh_outcome outcome = {.code = RH_OUTCOME_UNKNOWN};
	struct rh_store *face;
	struct fake_call *call;

	(void)state;
	assert_int_equal(rh_kube_store_new(&options, &store, NULL), 0);
	face = rh_kube_store_face(store);
	assert_int_equal(face->submit(face, &evict, evict_note, &outcome, NULL, NULL), 0);
	rh_kube_store_step(store, now);
	call = fake_http_call(http, 0);
	assert_string_equal(call->method, "POST");
	assert_string_equal(call->path, "/api/v1/namespaces/d/pods/p/eviction");
	assert_string_equal(call->body, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\"},\"deleteOptions\":"
	                                "{\"preconditions\":{\"uid\":\"u\"}},\"kind\":\"Eviction\","
	                                "\"apiVersion\":\"policy/v1\"}");
	fake_http_answer(http, call, 429, BUDGET);
	assert_int_equal(outcome.code, RH_OUTCOME_THROTTLED);
	assert_true(outcome.budget);
	assert_int_equal(face->submit(face, &get, evict_note, &outcome, NULL, NULL), 0);
	rh_kube_store_step(store, now);
	assert_int_equal(fake_http_count(http), 1);
	fake_http_answer(http, fake_http_call(http, 0), 200, "{\"metadata\":{\"name\":\"p\"}}");
	assert_int_equal(outcome.code, RH_OUTCOME_OK);
	assert_false(outcome.budget);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evict__a_budget_holds_nothing_else_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
