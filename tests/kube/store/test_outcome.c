/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/clock.h"
#include "base/support.h"
#include "kube/store/outcome.h"

#define STATUS(reason, message, details)                                                       \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" message \
	"\",\"reason\":\"" reason "\",\"details\":{" details "}}"

static struct rh_http_response response_of(int32_t status, const char *body)
{
	return (struct rh_http_response){
		.status = status, .sent = true, .message = "", .body = body, .body_length = strlen(body)};
}

/* A program may write any bytes. */
static void test_outcome__a_log(void **state)
{
	struct rh_http_response response = response_of(200, "");
	rh_auto_kube_outcome read = {0};

	(void)state;
	response.body = "a\0b\xff";
	response.body_length = 4;
	rh_kube_outcome_read(RH_VERB_LOG, &response, &read);
	assert_int_equal(read.outcome.code, RH_OUTCOME_OK);
	assert_string_equal(read.outcome.text, "a b\xff");
	assert_null(read.outcome.object);
}

/* The bodies are what a Kubernetes 1.34 API server says. */
static void test_outcome__refusals(void **state)
{
	static const struct {
		const char *name;
		enum rh_verb verb;
		int32_t status;
		const char *body;
		enum rh_outcome_code code;
		const char *message;
		int64_t retry_after;
	} rows[] = {
		{"name is taken", RH_VERB_CREATE, 409,
	     STATUS("AlreadyExists", "pods \\\"p\\\" already exists", "\"name\":\"p\",\"kind\":\"pods\""),
	     RH_OUTCOME_EXISTS, "pods \"p\" already exists", 0},
		{"a quota was counted by two", RH_VERB_CREATE, 409,
	     STATUS("Conflict", "Operation cannot be fulfilled on resourcequotas \\\"q\\\"", "\"name\":\"q\""),
	     RH_OUTCOME_THROTTLED, "Operation cannot be fulfilled on resourcequotas \"q\"", RH_SECOND},
		{"other version", RH_VERB_PATCH, 409, STATUS("Conflict", "the object has been modified", "\"name\":\"p\""),
	     RH_OUTCOME_CONFLICT, "the object has been modified", 0},
		{"other uid", RH_VERB_PATCH_STATUS, 422,
	     STATUS("Invalid", "metadata.uid: Invalid value",
	            "\"causes\":[{\"field\":\"spec\"},{\"reason\":\"FieldValueInvalid\",\"field\":\"metadata.uid\"}]"),
	     RH_OUTCOME_CONFLICT, "metadata.uid: Invalid value", 0},
		{"a uid that cannot be, in a create", RH_VERB_CREATE, 422,
	     STATUS("Invalid", "bad", "\"causes\":[{\"field\":\"metadata.uid\"}]"), RH_OUTCOME_DENIED, "bad", 0},
		{"invalid", RH_VERB_PATCH, 422, STATUS("Invalid", "spec.x: bad", "\"causes\":[{\"field\":\"spec.x\"}]"),
	     RH_OUTCOME_DENIED, "spec.x: bad", 0},
		{"delete of another", RH_VERB_DELETE, 409, STATUS("Conflict", "the UID in the precondition", "\"name\":\"p\""),
	     RH_OUTCOME_CONFLICT, "the UID in the precondition", 0},
		{"replacing another version", RH_VERB_REPLACE, 409,
	     STATUS("Conflict", "the object has been modified", "\"name\":\"p\""), RH_OUTCOME_CONFLICT,
	     "the object has been modified", 0},
		{"no such resource to find in", RH_VERB_FIND, 404, "404 page not found\n", RH_OUTCOME_DENIED,
	     "not found (404): 404 page not found", 0},
		{"not there", RH_VERB_GET, 404,
	     STATUS("NotFound", "pods \\\"p\\\" not found", "\"name\":\"p\",\"kind\":\"pods\""), RH_OUTCOME_GONE,
	     "pods \"p\" not found", 0},
		{"deleted before", RH_VERB_DELETE, 404, STATUS("NotFound", "no", "\"name\":\"p\""), RH_OUTCOME_GONE, "no", 0},
		{"no such namespace", RH_VERB_CREATE, 404,
	     STATUS("NotFound", "namespaces \\\"n\\\" not found", "\"name\":\"n\",\"kind\":\"namespaces\""),
	     RH_OUTCOME_DENIED, "namespaces \"n\" not found", 0},
		{"no such resource", RH_VERB_PATCH, 404, "404 page not found\n", RH_OUTCOME_DENIED,
	     "not found (404): 404 page not found", 0},
		{"namespace goes away", RH_VERB_CREATE, 403,
	     STATUS("Forbidden", "namespace n is being terminated", "\"causes\":[{\"reason\":\"NamespaceTerminating\"}]"),
	     RH_OUTCOME_DENIED, "namespace n is being terminated", 0},
		{"quota", RH_VERB_CREATE, 403, STATUS("Forbidden", "exceeded quota: q", ""), RH_OUTCOME_DENIED,
	     "exceeded quota: q", 0},
		{"no right in the core's group", RH_VERB_CREATE, 403,
	     STATUS("Forbidden",
	            "User \\\"u\\\" cannot create resource \\\"pods\\\" in API group \\\"\\\" in the namespace \\\"n\\\"",
	            ""),
	     RH_OUTCOME_DENIED,
	     "User \"u\" cannot create resource \"pods\" in API group \"\" in the namespace \"n\"; add to the role of its "
	     "service "
	     "account: {apiGroups: [\"\"], resources: [pods], verbs: [create]}",
	     0},
		{"no right in another group", RH_VERB_PATCH_STATUS, 403,
	     STATUS("Forbidden",
	            "User \\\"u\\\" cannot patch resource \\\"tfjobs/status\\\" in API group \\\"kubeflow.org\\\"", ""),
	     RH_OUTCOME_DENIED,
	     "User \"u\" cannot patch resource \"tfjobs/status\" in API group \"kubeflow.org\"; add to the role of its "
	     "service "
	     "account: {apiGroups: [\"kubeflow.org\"], resources: [tfjobs/status], verbs: [patch]}",
	     0},
		{"words that only begin so", RH_VERB_CREATE, 403, STATUS("Forbidden", "User \\\"u\\\" cannot fly", ""),
	     RH_OUTCOME_DENIED, "User \"u\" cannot fly", 0},
		{"bad request", RH_VERB_PATCH, 400, STATUS("BadRequest", "no", ""), RH_OUTCOME_DENIED, "no", 0},
		{"too large", RH_VERB_CREATE, 413, "", RH_OUTCOME_DENIED, "too large (413)", 0},
		{"login ran out", RH_VERB_CREATE, 401, STATUS("Unauthorized", "Unauthorized", ""), RH_OUTCOME_THROTTLED,
	     "Unauthorized", 5 * RH_SECOND},
		{"too many", RH_VERB_CREATE, 429, STATUS("TooManyRequests", "slow", "\"retryAfterSeconds\":7"),
	     RH_OUTCOME_THROTTLED, "slow", 7 * RH_SECOND},
		{"too many, odd time", RH_VERB_CREATE, 429, STATUS("TooManyRequests", "slow", "\"retryAfterSeconds\":-7"),
	     RH_OUTCOME_THROTTLED, "slow", RH_SECOND},
		{"a budget", RH_VERB_EVICT, 429,
	     STATUS("TooManyRequests", "Cannot evict pod.",
	            "\"causes\":[{\"reason\":\"DisruptionBudget\",\"message\":\"The disruption budget b needs 1.\"}]"),
	     RH_OUTCOME_THROTTLED, "Cannot evict pod. The disruption budget b needs 1.", RH_SECOND},
		{"evicted before", RH_VERB_EVICT, 404, STATUS("NotFound", "no", "\"name\":\"p\""), RH_OUTCOME_GONE, "no", 0},
		{"not ready", RH_VERB_DELETE, 503, "", RH_OUTCOME_THROTTLED, "service unavailable (503)", RH_SECOND},
		{"it broke", RH_VERB_CREATE, 500, STATUS("InternalError", "etcd", ""), RH_OUTCOME_UNKNOWN, "etcd", 0},
		{"it took too long", RH_VERB_PATCH, 504, STATUS("Timeout", "slow", ""), RH_OUTCOME_UNKNOWN, "slow", 0},
		{"a proxy's page", RH_VERB_PATCH, 502, "<html>\nbad</html>", RH_OUTCOME_UNKNOWN, "bad gateway (502): <html>",
	     0},
		{"sent elsewhere", RH_VERB_PATCH, 302, "", RH_OUTCOME_UNKNOWN, "an answer without words (302)", 0},
		{"timeout", RH_VERB_PATCH, 408, "", RH_OUTCOME_UNKNOWN, "timeout (408)", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_http_response response = response_of(rows[i].status, rows[i].body);
		rh_auto_kube_outcome out = {0};

		support_row(rows[i].name);
		rh_kube_outcome_read(rows[i].verb, &response, &out);
		assert_int_equal(out.outcome.code, rows[i].code);
		assert_string_equal(out.outcome.message, rows[i].message);
		assert_int_equal(out.outcome.retry_after, rows[i].retry_after);
		assert_null(out.outcome.object);
		assert_int_equal(out.outcome.budget, strcmp(rows[i].name, "a budget") == 0);
	}
}

static void test_outcome__retry_after_of_the_head_counts(void **state)
{
	struct rh_http_response response = response_of(429, STATUS("TooManyRequests", "s", "\"retryAfterSeconds\":7"));
	rh_auto_kube_outcome out = {0};

	(void)state;
	response.retry_after = 3 * RH_SECOND;
	rh_kube_outcome_read(RH_VERB_CREATE, &response, &out);
	assert_int_equal(out.outcome.retry_after, 3 * RH_SECOND);
}

static void test_outcome__no_answer(void **state)
{
	static const struct {
		bool sent;
		const char *received;
		enum rh_outcome_code code;
		int64_t retry_after;
		const char *message;
	} rows[] = {
		{true, "the connection broke", RH_OUTCOME_UNKNOWN, 0, "the connection broke"},
		{false, "connection refused", RH_OUTCOME_THROTTLED, RH_SECOND, "connection refused"},
		{true, "", RH_OUTCOME_UNKNOWN, 0, "no answer"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_http_response response = {.sent = rows[i].sent, .message = rows[i].received, .body = ""};
		rh_auto_kube_outcome out = {0};

		rh_kube_outcome_read(RH_VERB_CREATE, &response, &out);
		assert_int_equal(out.outcome.code, rows[i].code);
		assert_int_equal(out.outcome.retry_after, rows[i].retry_after);
		assert_string_equal(out.outcome.message, rows[i].message);
	}
}

static void test_outcome__success(void **state)
{
	struct rh_http_response response =
		response_of(201, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"managedFields\":[1]}}");
	rh_auto_kube_outcome out = {0};
	rh_auto_kube_outcome gone = {0};
	rh_auto_kube_outcome broken = {0};

	(void)state;
	rh_kube_outcome_read(RH_VERB_CREATE, &response, &out);
	assert_int_equal(out.outcome.code, RH_OUTCOME_OK);
	support_assert_json(out.outcome.object, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}");
	response = response_of(200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
	rh_kube_outcome_read(RH_VERB_DELETE, &response, &gone);
	assert_int_equal(gone.outcome.code, RH_OUTCOME_OK);
	assert_null(gone.outcome.object);
	response = response_of(200, "{\"kind\":");
	rh_kube_outcome_read(RH_VERB_CREATE, &response, &broken);
	assert_int_equal(broken.outcome.code, RH_OUTCOME_UNKNOWN);
	assert_string_equal(broken.outcome.message, "the server's answer cannot be read");
}

static void test_outcome__the_list_of_one_name(void **state)
{
	static const struct {
		const char *body;
		enum rh_outcome_code code;
		const char *object;
	} rows[] = {
		{"{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"c\",\"managedFields\":"
	     "[1]}}]}",
	     RH_OUTCOME_OK, "{\"metadata\":{\"name\":\"c\"},\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}"},
		{"{\"kind\":\"PodGroupList\",\"apiVersion\":\"a/v1\",\"items\":[{\"kind\":\"K\",\"apiVersion\":\"b/v2\"}]}",
	     RH_OUTCOME_OK, "{\"kind\":\"K\",\"apiVersion\":\"b/v2\"}"},
		{"{\"kind\":\"RoleList\",\"apiVersion\":\"v1\",\"items\":[]}", RH_OUTCOME_GONE, NULL},
		{"{\"kind\":\"RoleList\",\"apiVersion\":\"v1\",\"items\":null}", RH_OUTCOME_GONE, NULL},
		{"{\"kind\":\"Role\",\"apiVersion\":\"v1\"}", RH_OUTCOME_UNKNOWN, NULL},
		{"<html>", RH_OUTCOME_UNKNOWN, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_http_response response = response_of(200, rows[i].body);
		rh_auto_kube_outcome out = {0};

		support_row(rows[i].body);
		rh_kube_outcome_read(RH_VERB_FIND, &response, &out);
		assert_int_equal(out.outcome.code, rows[i].code);
		assert_true(!out.outcome.object == !rows[i].object);
		if (rows[i].object)
			support_assert_json(out.outcome.object, rows[i].object);
		assert_true(rows[i].object || strlen(out.outcome.message) > 0);
	}
}

/* Without memory it never says more than that it does not know. */
static void test_outcome__survives_out_of_memory(void **state)
{
	struct rh_http_response response = response_of(409, STATUS("AlreadyExists", "taken", ""));
	enum rh_outcome_code code = RH_OUTCOME_UNKNOWN;

	(void)state;
	for (long n = 0; code != RH_OUTCOME_EXISTS; n++) {
		rh_auto_kube_outcome out = {0};

		assert_true(n < 1000);
		rh_mem_fail_after(n);
		rh_kube_outcome_read(RH_VERB_PATCH, &response, &out);
		rh_mem_fail_after(-1);
		code = out.outcome.code;
		assert_true(code == RH_OUTCOME_EXISTS || code == RH_OUTCOME_CONFLICT);
		assert_true(strlen(out.outcome.message) > 0);
	}
}

static void test_outcome__words(void **state)
{
	char room[64];

	(void)state;
	assert_string_equal(rh_kube_outcome_message(403, STATUS("Forbidden", "no list", ""), room, sizeof(room)),
	                    "no list");
	assert_string_equal(rh_kube_outcome_message(404, "404 page not found\n", room, sizeof(room)),
	                    "not found (404): 404 page not found");
	assert_string_equal(rh_kube_outcome_message(500, "", room, sizeof(room)), "internal error (500)");
	assert_string_equal(rh_kube_outcome_message(500, "{}", room, sizeof(room)), "internal error (500)");
}

static void test_outcome__gist(void **state)
{
	static const struct {
		const char *one, *other;
		bool same;
	} rows[] = {
		{"stream 7 broke", "stream 12 broke", true},
		{"stream 7 broke", "stream 7 ended", false},
		{"", "17", true},
		{"", "x", false},
		{"ab", "ba", false},
		{"port 1 of host", "host of port 1", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		support_row(rows[i].one);
		assert_int_equal(rh_kube_outcome_gist(rows[i].one) == rh_kube_outcome_gist(rows[i].other), rows[i].same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcome__a_log),
		cmocka_unit_test(test_outcome__refusals),
		cmocka_unit_test(test_outcome__retry_after_of_the_head_counts),
		cmocka_unit_test(test_outcome__no_answer),
		cmocka_unit_test(test_outcome__success),
		cmocka_unit_test(test_outcome__the_list_of_one_name),
		cmocka_unit_test(test_outcome__survives_out_of_memory),
		cmocka_unit_test(test_outcome__words),
		cmocka_unit_test(test_outcome__gist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
