/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificate/rotation.h"

#include <string.h>

#include "base/crypto/base64.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/support.h"
#include "httpd/certificate.h"
#include "kube/fake_http.h"

#define SECRET "/api/v1/namespaces/kubeflow/secrets/cert"
#define HOOKS "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/" RH_ROTATION_WEBHOOKS
#define NAME "training-operator.kubeflow.svc"
#define EMPTY_SECRET "{\"metadata\":{\"name\":\"cert\",\"resourceVersion\":\"7\"},\"type\":\"Opaque\"}"
#define UNTRUSTING \
	"{\"metadata\":{\"resourceVersion\":\"8\"},\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{}},{\"name\":\"b\"}]}"

/* A rotation, its requests and its callbacks. */
struct stage {
	struct rh_loop *loop;
	struct rh_http *http;
	struct rh_rotation *rotation;
	int64_t now;
	int reported; /* calls of changed() */
	char *certificate;
};

static void on_changed(void *arg, const char *certificate, const char *key)
{
	struct stage *stage = arg;

	assert_non_null(strstr(key, "PRIVATE KEY"));
	stage->reported++;
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
	assert_int_equal(rh_loop_new(&stage->loop, NULL), 0);
	options.loop = stage->loop;
	options.http = stage->http;
	assert_int_equal(rh_rotation_new(&options, &stage->rotation, NULL), 0);
}

static void close_stage(struct stage *stage)
{
	rh_rotation_free(stage->rotation);
	assert_int_equal(fake_http_count(stage->http), 0);
	rh_http_free(stage->http);
	rh_loop_free(stage->loop);
	rh_free(stage->certificate);
}

/* @return the request of a round that is under way, or NULL; watches are none */
static struct fake_call *current(const struct stage *stage)
{
	for (size_t i = 0; i < fake_http_count(stage->http); i++) {
		struct fake_call *call = fake_http_call(stage->http, i);

		if (!strstr(call->path, "watch=true"))
			return call;
	}
	return NULL;
}

/* @return when the next request of a round is due, or something else of it; watches are open then. RH_NEVER */
static int64_t due_of(const struct stage *stage)
{
	/* at that time nothing is due but watches that were never begun */
	return rh_loop_turn(stage->loop, 0);
}

/* @return the deadline without doing anything: nothing is due before time 0 */
static int64_t deadline_of(const struct stage *stage)
{
	return rh_loop_turn(stage->loop, -1);
}

/* Let the time come for the next request, which must be this one. */
static struct fake_call *expect(struct stage *stage, const char *method, const char *path)
{
	struct fake_call *call;

	assert_null(current(stage));
	for (int i = 0; i < 3 && !current(stage); i++) { /* to show a certificate is a step without a request */
		assert_true(deadline_of(stage) != RH_NEVER);
		(void)rh_loop_turn(stage->loop, deadline_of(stage));
	}
	call = current(stage);
	assert_non_null(call);
	assert_string_equal(call->method, method);
	assert_string_equal(call->path, path);
	return call;
}

/* Let the time come for what is due, which must be no request: a certificate is shown, if it is new. */
static void settle(struct stage *stage)
{
	assert_null(current(stage));
	(void)rh_loop_turn(stage->loop, due_of(stage));
	assert_null(current(stage));
}

/* @return the wait until the next request */
static int64_t wait_of(const struct stage *stage)
{
	return due_of(stage) - rh_clock_monotonic();
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
	assert_int_equal(stage->reported, 0);
	fake_http_answer(stage->http, expect(stage, "GET", HOOKS), 200, UNTRUSTING);
	configuration = accept_update(stage, HOOKS);
	assert_true(wait_of(stage) <= 0);
	settle(stage);
	assert_int_equal(stage->reported, 1);
	assert_string_equal(stage->certificate, made.crt);
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
	settle(&stage);
	assert_true(wait_of(&stage) > 60 * RH_SECOND);
	assert_int_equal(stage.reported, 1);
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
	assert_int_equal(second.reported, 0);
	assert_true(wait_of(&second) < 2 * RH_SECOND);
	fake_http_answer(second.http, expect(&second, "GET", SECRET), 200, secret);
	fake_http_answer(second.http, expect(&second, "GET", HOOKS), 200, UNTRUSTING);
	fake_http_answer(second.http, expect(&second, "PUT", HOOKS), 409, "{}");
	fake_http_answer(second.http, expect(&second, "GET", SECRET), 200, secret);
	fake_http_answer(second.http, expect(&second, "GET", HOOKS), 200, UNTRUSTING);
	rh_free(accept_update(&second, HOOKS));
	settle(&second);
	assert_int_equal(second.reported, 1);
	assert_string_equal(second.certificate, first.certificate);
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
		assert_int_equal(stage.reported, 0);
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
	assert_true(deadline_of(&stage) <= rh_clock_monotonic());
	fake_http_answer(stage.http, expect(&stage, "GET", SECRET), 200, secret);
	assert_int_equal(stage.reported, 1);
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

/* @return the answer to a read of the webhooks that trust @p bundle, PEM; the caller frees it */
static char *trusting(const char *bundle)
{
	rh_auto_str text = {0};

	rh_base64_encode(bundle, strlen(bundle), &text);
	return rh_asprintf(
		"{\"metadata\":{\"resourceVersion\":\"9\"},\"webhooks\":[{\"clientConfig\":{\"caBundle\":\"%s\"}}]}",
		rh_str_text(&text));
}

/* @return the bundle of the first webhook, PEM; the caller frees it */
static char *bundle_of(const char *hooks)
{
	rh_auto(json) json = support_json(hooks);
	const char *text = rh_json_string_at(rh_json_item(rh_json_get(json, "webhooks"), 0), "clientConfig.caBundle");
	char *value = rh_alloc(rh_base64_room(strlen(text)));
	size_t length;

	assert_true(rh_base64_decode(text, value, &length));
	return value;
}

static int count_of(const char *text, const char *part)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

/* The Secret was emptied. The new authority is trusted beside the former before its certificate is shown, and the
 * former is dropped an hour later. */
static void test_rotation__changes_authority(void **state)
{
	struct stage stage;
	rh_auto_free char *first = NULL;
	rh_auto_free char *second = NULL;
	rh_auto_free char *former = NULL;
	rh_auto_free char *hooks = NULL;
	rh_auto_free char *both = NULL;
	rh_auto_free char *both_hooks = NULL;
	rh_auto_free char *last_hooks = NULL;
	rh_auto_free char *last = NULL;
	rh_auto(json) json = NULL;

	(void)state;
	open_stage(&stage);
	first = fill(&stage);
	json = support_json(first);
	former = decoded(json, "ca.crt");
	hooks = trusting(former);
	fake_http_answer(stage.http, expect(&stage, "GET", SECRET), 200, EMPTY_SECRET);
	second = accept_update(&stage, SECRET);
	fake_http_answer(stage.http, expect(&stage, "GET", HOOKS), 200, hooks);
	both_hooks = accept_update(&stage, HOOKS);
	both = bundle_of(both_hooks);
	assert_int_equal(count_of(both, "BEGIN CERTIFICATE"), 2);
	assert_non_null(strstr(both, former));
	assert_int_equal(stage.reported, 1); /* served only after the API servers could load the CA */
	settle(&stage);
	assert_int_equal(stage.reported, 2);
	fake_http_answer(stage.http, expect(&stage, "GET", SECRET), 200, second);
	fake_http_answer(stage.http, expect(&stage, "GET", HOOKS), 200, both_hooks);
	last_hooks = accept_update(&stage, HOOKS);
	last = bundle_of(last_hooks);
	assert_int_equal(count_of(last, "BEGIN CERTIFICATE"), 1);
	assert_null(strstr(last, former));
	assert_int_equal(stage.reported, 2);
	close_stage(&stage);
}

/* While the authority is good, a new certificate needs no new trust. */
static void test_rotation__keeps_authority(void **state)
{
	struct stage stage;
	rh_auto_free char *first = NULL;
	rh_auto_free char *second = NULL;
	rh_auto_free char *cut = NULL;
	rh_auto_free char *hooks = NULL;
	rh_auto_free char *authority = NULL;
	rh_auto(json) json = NULL;
	rh_auto(json) renewed = NULL;
	int64_t at;

	(void)state;
	open_stage(&stage);
	first = fill(&stage);
	json = support_json(first);
	authority = decoded(json, "ca.crt");
	hooks = trusting(authority);
	assert_int_equal(rh_json_set_string(rh_json_get(json, "data"), "tls.crt", ""), 0);
	cut = rh_json_text(json);
	at = due_of(&stage);
	fake_http_answer(stage.http, expect(&stage, "GET", SECRET), 200, cut);
	second = accept_update(&stage, SECRET);
	renewed = support_json(second);
	assert_string_equal(rh_json_string(rh_json_get(rh_json_get(renewed, "data"), "ca.crt")),
	                    rh_json_string(rh_json_get(rh_json_get(json, "data"), "ca.crt")));
	fake_http_answer(stage.http, expect(&stage, "GET", HOOKS), 200, hooks);
	assert_int_equal(due_of(&stage), at);
	settle(&stage);
	assert_int_equal(stage.reported, 2);
	close_stage(&stage);
}

/* Another instance changed the Secret: the watch reports it, and a round starts at once. */
static void test_rotation__notices_a_change(void **state)
{
	static const char same[] = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n";
	static const char other[] = "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"resourceVersion\":\"70\"}}}\n";
	struct stage stage;
	struct fake_call *watch;

	(void)state;
	open_stage(&stage);
	rh_free(fill(&stage));
	assert_true(wait_of(&stage) > 60 * RH_SECOND);
	watch = fake_http_find(stage.http, "GET", "/secrets?watch=true&fieldSelector=metadata.name%3Dcert&");
	assert_non_null(watch);
	assert_non_null(fake_http_find(stage.http, "GET", "configurations?watch=true"));
	assert_true(fake_http_feed(stage.http, watch, same, strlen(same)));
	assert_true(wait_of(&stage) > 60 * RH_SECOND);
	assert_true(fake_http_feed(stage.http, watch, other, 20));
	assert_true(fake_http_feed(stage.http, watch, other + 20, strlen(other) - 20));
	assert_true(deadline_of(&stage) <= rh_clock_monotonic());
	(void)expect(&stage, "GET", SECRET);
	close_stage(&stage);
}

/* A role without watch: the objects are read each minute. */
static void test_rotation__may_not_watch(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	rh_free(fill(&stage));
	assert_true(wait_of(&stage) > 60 * RH_SECOND);
	fake_http_answer(stage.http, fake_http_find(stage.http, "GET", "/secrets?watch=true"), 403, "{}");
	(void)rh_loop_turn(stage.loop, rh_clock_monotonic()); /* the test began the watch at another time */
	assert_in_range(wait_of(&stage), 1, 70 * RH_SECOND);
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
		cmocka_unit_test(test_rotation__changes_authority),
		cmocka_unit_test(test_rotation__keeps_authority),
		cmocka_unit_test(test_rotation__notices_a_change),
		cmocka_unit_test(test_rotation__may_not_watch),
		cmocka_unit_test(test_rotation__hurries),
		cmocka_unit_test(test_rotation__hurries_after_a_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
