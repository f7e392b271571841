/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/discovery.h"

#include "base/support.h"
#include "kube/fake_http.h"

#define ALL "[\"create\",\"delete\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]"
#define JOBS                                                                                                         \
	"{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"pytorchjobs\",\"verbs\":" ALL "},"                     \
	"{\"name\":\"pytorchjobs/status\",\"verbs\":[\"get\",\"patch\",\"update\"]},{\"name\":\"tfjobs\",\"verbs\":" ALL \
	"}]}"

static const struct rh_discovery_want wants[] = {
	{"kubeflow.org/v1", "pytorchjobs", true, "roundhouse crds | kubectl apply -f -"},
	{"kubeflow.org/v1", "tfjobs", true, "roundhouse crds | kubectl apply -f -"},
	{"kubeflow.org/v1", "mpijobs", true, NULL},
	{"v1", "pods", false, NULL},
	{"scheduling.volcano.sh/v1beta1", "podgroups", false, "see volcano.sh"},
};

#define COUNT (sizeof(wants) / sizeof(wants[0]))

static void count_end(void *arg)
{
	++*(int *)arg;
}

static struct rh_discovery *ask(struct rh_http *http, int *ends)
{
	struct rh_discovery_options options = {
		.http = http, .wants = wants, .count = COUNT, .done = count_end, .arg = ends};
	struct rh_discovery *discovery = NULL;

	assert_int_equal(rh_discovery_new(&options, &discovery, NULL), 0);
	return discovery;
}

static void assert_explained(const struct rh_discovery *discovery, size_t index, const char *expected)
{
	rh_auto_str out = {0};

	rh_discovery_explain(discovery, index, &out);
	assert_string_equal(rh_str_text(&out), expected);
}

static void test_discovery__one_question_for_each_group(void **state)
{
	rh_auto(http) http = fake_http_new();
	int ends = 0;
	rh_auto(discovery) discovery = ask(http, &ends);

	(void)state;
	assert_int_equal(fake_http_count(http), 3);
	assert_explained(discovery, 0,
	                 "whether the API server has pytorchjobs.kubeflow.org (v1) is not known: not answered yet");
	fake_http_answer(http, fake_http_find(http, "GET", "/apis/kubeflow.org/v1"), 200, JOBS);
	fake_http_answer(http, fake_http_find(http, "GET", "/apis/scheduling.volcano.sh/v1beta1"), 404,
	                 "404 page not found\n");
	assert_int_equal(ends, 0);
	fake_http_answer(http, fake_http_find(http, "GET", "/api/v1"), 200,
	                 "{\"resources\":[{\"name\":\"pods\",\"verbs\":" ALL "}]}");
	assert_int_equal(ends, 1);
	assert_int_equal(rh_discovery_state(discovery, 0), RH_DISCOVERY_THERE);
	assert_int_equal(rh_discovery_state(discovery, 1), RH_DISCOVERY_OLDER);
	assert_int_equal(rh_discovery_state(discovery, 2), RH_DISCOVERY_MISSING);
	assert_int_equal(rh_discovery_state(discovery, 3), RH_DISCOVERY_THERE);
	assert_int_equal(rh_discovery_state(discovery, 4), RH_DISCOVERY_MISSING);
	assert_explained(discovery, 0, "");
	assert_explained(discovery, 1,
	                 "the API server has an older definition, without a status subresource or a verb, of "
	                 "tfjobs.kubeflow.org (v1); install it: roundhouse crds | kubectl apply -f -");
	assert_explained(discovery, 2, "the API server does not have mpijobs.kubeflow.org (v1)");
	assert_explained(discovery, 4,
	                 "the API server does not have podgroups.scheduling.volcano.sh (v1beta1); install it: see "
	                 "volcano.sh");
}

static void test_discovery__answers_that_do_not_tell(void **state)
{
	static const struct {
		int32_t status;
		const char *body, *words;
	} rows[] = {
		{403, "{}", "status 403"}, {503, "", "status 503"}, {200, "<html>", "the answer is no JSON"}, {0, "", "cut"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(http) http = fake_http_new();
		int ends = 0;
		rh_auto(discovery) discovery = ask(http, &ends);
		rh_auto_str out = {0};

		(void)support_row(rows[i].words);
		while (fake_http_count(http) > 0 && rows[i].status)
			fake_http_answer(http, fake_http_call(http, 0), rows[i].status, rows[i].body);
		while (fake_http_count(http) > 0)
			fake_http_end(http, fake_http_call(http, 0), &(struct rh_http_response){.words = "cut", .body = ""});
		assert_int_equal(ends, 1);
		for (size_t w = 0; w < COUNT; w++)
			assert_int_equal(rh_discovery_state(discovery, w), RH_DISCOVERY_UNKNOWN);
		rh_discovery_explain(discovery, 3, &out);
		assert_true(rh_starts_with(rh_str_text(&out), "whether the API server has pods (v1) is not known: "));
		assert_non_null(strstr(rh_str_text(&out), rows[i].words));
	}
}

static void test_discovery__judge(void **state)
{
	static const struct {
		const char *name, *list;
		enum rh_discovery_state expected;
	} rows[] = {
		{"all", JOBS, RH_DISCOVERY_THERE},
		{"another list", "{\"resources\":[{\"name\":\"pytorchjobsx\",\"verbs\":" ALL "}]}", RH_DISCOVERY_MISSING},
		{"no list", "{}", RH_DISCOVERY_MISSING},
		{"list of nonsense", "{\"resources\":[1,{},{\"name\":2}]}", RH_DISCOVERY_MISSING},
		{"no verbs", "{\"resources\":[{\"name\":\"pytorchjobs\"}]}", RH_DISCOVERY_OLDER},
		{"cannot be patched",
	     "{\"resources\":[{\"name\":\"pytorchjobs\",\"verbs\":[\"create\",\"delete\",\"get\",\"list\",\"watch\"]},{"
	     "\"name\":"
	     "\"pytorchjobs/status\",\"verbs\":" ALL "}]}",
	     RH_DISCOVERY_OLDER},
		{"status cannot be patched",
	     "{\"resources\":[{\"name\":\"pytorchjobs\",\"verbs\":" ALL
	     "},{\"name\":\"pytorchjobs/status\",\"verbs\":[\"get\"]}]}",
	     RH_DISCOVERY_OLDER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) list = support_json(rows[i].list);

		(void)support_row(rows[i].name);
		assert_int_equal(rh_discovery_judge(&wants[0], list), rows[i].expected);
	}
	assert_int_equal(rh_discovery_judge(&wants[0], NULL), RH_DISCOVERY_MISSING);
}

static void test_discovery__free_cancels(void **state)
{
	rh_auto(http) http = fake_http_new();
	int ends = 0;
	struct rh_discovery *discovery = ask(http, &ends);

	(void)state;
	fake_http_answer(http, fake_http_call(http, 0), 404, "");
	rh_discovery_free(discovery);
	rh_discovery_free(NULL);
	assert_int_equal(fake_http_count(http), 0);
	assert_int_equal(ends, 0);
}

static int ask_all(void *arg)
{
	struct rh_discovery_options options = {.http = arg, .wants = wants, .count = COUNT, .done = count_end};
	struct rh_discovery *discovery = NULL;
	int r = rh_discovery_new(&options, &discovery, NULL);

	rh_discovery_free(discovery);
	return r;
}

static void test_discovery__without_memory(void **state)
{
	rh_auto(http) http = fake_http_new();

	(void)state;
	support_fail_each(ask_all, http);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_discovery__one_question_for_each_group),
		cmocka_unit_test(test_discovery__answers_that_do_not_tell),
		cmocka_unit_test(test_discovery__judge),
		cmocka_unit_test(test_discovery__free_cancels),
		cmocka_unit_test(test_discovery__without_memory),
	};

	return cmocka_run_group_tests_name("kube/discovery", tests, NULL, NULL);
}
