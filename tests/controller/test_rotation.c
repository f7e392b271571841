/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rotation.h"

#include <string.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/support.h"
#include "controller/certificate.h"
#include "kube/fake_http.h"

#define SECRET "/api/v1/namespaces/kubeflow/secrets/cert"
#define HOOKS "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/" RH_ROTATION_WEBHOOKS
#define NAME "training-operator.kubeflow.svc"
#define EMPTY_SECRET "{\"metadata\":{\"name\":\"cert\",\"resourceVersion\":\"7\"},\"type\":\"Opaque\"}"
#define UNTRUSTING \
	"{\"metadata\":{\"resourceVersion\":\"8\"},\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{}},{\"name\":\"b\"}]}"

/* A rotation, the calls that it makes, and what it told. */
struct stage {
	struct rh_http *http;
	struct rh_rotation *rotation;
	int64_t now;
	int told;
	char *certificate;
};

static void on_changed(void *arg, const char *certificate, const char *key)
{
	struct stage *stage = arg;

	assert_non_null(strstr(key, "PRIVATE KEY"));
	stage->told++;
	rh_free(stage->certificate);
	stage->certificate = rh_strdup(certificate);
}

static void open_stage(struct stage *stage)
{
	struct rh_rotation_options options = {.namespace_ = "kubeflow",
	                                      .secret = "cert",
	                                      .service = "training-operator",
	                                      .changed = on_changed,
	                                      .arg = stage};

	memset(stage, 0, sizeof(*stage));
	rh_log_setup(RH_LOG_ERROR + 1, false);
	stage->http = fake_http_new();
	options.http = stage->http;
	assert_int_equal(rh_rotation_new(&options, &stage->rotation, NULL), 0);
}

static void close_stage(struct stage *stage)
{
	rh_rotation_free(stage->rotation);
	assert_int_equal(fake_http_count(stage->http), 0);
	rh_http_free(stage->http);
	rh_free(stage->certificate);
}

/* Let the time come for the next request, which must be this one. */
static struct fake_call *expect(struct stage *stage, const char *method, const char *path)
{
	struct fake_call *call;

	assert_int_equal(fake_http_count(stage->http), 0);
	assert_true(rh_rotation_deadline(stage->rotation) != RH_NEVER);
	rh_rotation_step(stage->rotation, rh_rotation_deadline(stage->rotation));
	assert_int_equal(fake_http_count(stage->http), 1);
	call = fake_http_call(stage->http, 0);
	assert_string_equal(call->method, method);
	assert_string_equal(call->path, path);
	assert_true(rh_rotation_deadline(stage->rotation) == RH_NEVER);
	rh_rotation_step(stage->rotation, RH_NEVER - 1);
	assert_int_equal(fake_http_count(stage->http), 1);
	return call;
}

/* @return the wait until the next request */
static int64_t wait_of(const struct stage *stage)
{
	return rh_rotation_deadline(stage->rotation) - rh_clock_monotonic();
}

/* Answer the update with what it asks for. @return it, owned by the caller */
static char *accept_update(struct stage *stage, const char *path)
{
	struct fake_call *call = expect(stage, "PUT", path);
	char *body = rh_strdup(call->body);

	assert_string_equal(call->content_type, "application/json");
	fake_http_answer(stage->http, call, 200, body);
	return body;
}

static char *decoded(const struct rh_json *secret, const char *key)
{
	const char *text = rh_json_string(rh_json_get(rh_json_get(secret, "data"), key));
	char *value = rh_alloc(rh_base64_room(strlen(text)));
	size_t length;

	assert_true(rh_base64_decode(text, value, &length));
	return value;
}

/* V1's manifests: an empty Secret, webhooks that trust nobody. @return the Secret as it was written; the caller frees
 */
static char *fill(struct stage *stage)
{
	rh_auto(json) secret = NULL;
	rh_auto(json) hooks = NULL;
	rh_auto_free char *configuration = NULL;
	rh_auto_certificates made = {0};
	char *text;

	fake_http_answer(stage->http, expect(stage, "GET", SECRET), 200, EMPTY_SECRET);
	text = accept_update(stage, SECRET);
	secret = support_json(text);
	assert_string_equal(rh_json_string_at(secret, "metadata.resourceVersion"), "7");
	made = (struct rh_certificates){decoded(secret, "ca.crt"), decoded(secret, "ca.key"), decoded(secret, "tls.crt"),
	                                decoded(secret, "tls.key")};
	assert_true(rh_certificates_good(&made, NAME, rh_clock_wall(), 90 * 86400 * RH_SECOND));
	assert_int_equal(stage->told, 1);
	assert_string_equal(stage->certificate, made.crt);
	fake_http_answer(stage->http, expect(stage, "GET", HOOKS), 200, UNTRUSTING);
	configuration = accept_update(stage, HOOKS);
	hooks = support_json(configuration);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(rh_json_string_at(rh_json_item(rh_json_get(hooks, "webhooks"), i), "clientConfig.caBundle"),
		                    rh_json_string(rh_json_get(rh_json_get(secret, "data"), "ca.crt")));
	assert_true(wait_of(stage) > 60 * RH_SECOND);
	return text;
}

static void test_rotation__fills_what_is_empty(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	rh_free(fill(&stage));
	close_stage(&stage);
}

/* What is good is left alone: two reads, no write. */
static void test_rotation__leaves_what_is_good(void **state)
{
	struct stage stage;
	rh_auto_free char *secret = NULL;
	rh_auto_free char *hooks = NULL;
	rh_auto(json) json = NULL;

	(void)state;
	open_stage(&stage);
	secret = fill(&stage);
	json = support_json(secret);
	hooks = rh_asprintf("{\"webhooks\":[{\"clientConfig\":{\"caBundle\":\"%s\"}}]}",
	                    rh_json_string(rh_json_get(rh_json_get(json, "data"), "ca.crt")));
	fake_http_answer(stage.http, expect(&stage, "GET", SECRET), 200, secret);
	fake_http_answer(stage.http, expect(&stage, "GET", HOOKS), 200, hooks);
	assert_true(wait_of(&stage) > 60 * RH_SECOND);
	assert_int_equal(stage.told, 1);
	close_stage(&stage);
}

/* Another instance was faster: its certificate is taken. */
static void test_rotation__loses_a_race(void **state)
{
	struct stage first;
	struct stage second;
	rh_auto_free char *secret = NULL;

	(void)state;
	open_stage(&first);
	secret = fill(&first);
	open_stage(&second);
	fake_http_answer(second.http, expect(&second, "GET", SECRET), 200, EMPTY_SECRET);
	fake_http_answer(second.http, expect(&second, "PUT", SECRET), 409, "{}");
	assert_int_equal(second.told, 0);
	assert_true(wait_of(&second) < 2 * RH_SECOND);
	fake_http_answer(second.http, expect(&second, "GET", SECRET), 200, secret);
	assert_int_equal(second.told, 1);
	assert_string_equal(second.certificate, first.certificate);
	fake_http_answer(second.http, expect(&second, "GET", HOOKS), 200, UNTRUSTING);
	fake_http_answer(second.http, expect(&second, "PUT", HOOKS), 409, "{}");
	fake_http_answer(second.http, expect(&second, "GET", SECRET), 200, secret);
	assert_int_equal(second.told, 1);
	close_stage(&first);
	close_stage(&second);
}

/* An answer to the first request, and how long it waits then. */
struct answer {
	const char *name;
	int32_t status;
	const char *body;
	int64_t at_least;
	int64_t at_most;
};

static const struct answer answers[] = {
	{"no Secret", 404, "{}", 600 * RH_SECOND, 7200 * RH_SECOND},
	{"no right", 403, "{}", 600 * RH_SECOND, 7200 * RH_SECOND},
	{"server in trouble", 500, "{}", RH_SECOND, 60 * RH_SECOND},
	{"no JSON", 200, "<html>", RH_SECOND, 60 * RH_SECOND},
};

static void test_rotation__answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct stage stage;

		support_row(answers[i].name);
		open_stage(&stage);
		fake_http_answer(stage.http, expect(&stage, "GET", SECRET), answers[i].status, answers[i].body);
		assert_in_range(wait_of(&stage), answers[i].at_least, answers[i].at_most);
		assert_int_equal(stage.told, 0);
		(void)expect(&stage, "GET", SECRET);
		close_stage(&stage);
	}
}

/* The clock was set while nothing is due: a round begins. */
static void test_rotation__hurries(void **state)
{
	struct stage stage;
	rh_auto_free char *secret = NULL;

	(void)state;
	open_stage(&stage);
	secret = fill(&stage);
	rh_rotation_hurry(stage.rotation);
	assert_true(wait_of(&stage) <= 0);
	fake_http_answer(stage.http, expect(&stage, "GET", SECRET), 200, secret);
	assert_int_equal(stage.told, 1);
	close_stage(&stage);
}

/* Set in the middle of a round, which goes on; the next does not wait, the one after it does. */
static void test_rotation__hurries_after_a_round(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	(void)expect(&stage, "GET", SECRET);
	rh_rotation_hurry(stage.rotation);
	fake_http_answer(stage.http, fake_http_call(stage.http, 0), 404, "{}");
	assert_true(wait_of(&stage) <= RH_SECOND);
	fake_http_answer(stage.http, expect(&stage, "GET", SECRET), 404, "{}");
	assert_true(wait_of(&stage) >= 600 * RH_SECOND);
	close_stage(&stage);
}

static void test_rotation__no_answer(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	fake_http_cut(stage.http, expect(&stage, "GET", SECRET), true);
	assert_in_range(wait_of(&stage), RH_SECOND, 60 * RH_SECOND);
	(void)expect(&stage, "GET", SECRET);
	close_stage(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rotation__fills_what_is_empty),
		cmocka_unit_test(test_rotation__leaves_what_is_good),
		cmocka_unit_test(test_rotation__loses_a_race),
		cmocka_unit_test(test_rotation__answers),
		cmocka_unit_test(test_rotation__no_answer),
		cmocka_unit_test(test_rotation__hurries),
		cmocka_unit_test(test_rotation__hurries_after_a_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
