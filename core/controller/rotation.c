/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round is: get the Secret; if what it holds is not good for long, make a new certificate and update it; get the
 * webhook configuration; if it trusts another authority, update it. Whoever loses a race reads what the winner wrote.
 */
#include "controller/rotation.h"

#include <string.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "controller/certificate.h"

#define ROTATION_OBJECT "webhooks"
/* How long a certificate must be good to be left alone, as V1. */
#define ROTATION_AHEAD (90 * 24 * 3600 * RH_SECOND)
/* Between two rounds: after a good one, after one that failed, and after a lost race. */
#define ROTATION_PAUSE (3600 * RH_SECOND)
#define ROTATION_RETRY (5 * RH_SECOND)
#define ROTATION_RACE (RH_SECOND / 10)
#define ROTATION_TIMEOUT (30 * RH_SECOND)

/* What is asked for next, or under way. */
enum rotation_stage { ROTATION_GET_SECRET, ROTATION_PUT_SECRET, ROTATION_GET_HOOKS, ROTATION_PUT_HOOKS };

struct rh_rotation {
	struct rh_rotation_options options;
	char *secret_path;
	char *hooks_path;
	char *name; /* of the server */
	enum rotation_stage stage;
	struct rh_certificates certificates; /* of the Secret, or new */
	struct rh_json *body;                /* of the object that is to be updated */
	char *told;                          /* the certificate that was told last */
	uint64_t id;                         /* of the request under way; 0: none */
	int64_t now;
	int64_t due;
	bool hurry; /* the next round is not to wait */
};

static void rotation_next(struct rh_rotation *rotation, enum rotation_stage stage, int64_t pause)
{
	rotation->stage = stage;
	rotation->due = rotation->now + pause;
}

/* Begin again, after a while. */
static void rotation_rest(struct rh_rotation *rotation, int64_t pause)
{
	rh_json_free(rh_take(rotation->body));
	rh_certificates_deinit(&rotation->certificates);
	rotation_next(rotation, ROTATION_GET_SECRET, rotation->hurry && pause > ROTATION_RACE ? ROTATION_RACE : pause);
	rotation->hurry = false;
}

/* @return the text behind @p key of the Secret, owned by the caller; NULL: it is not there, or memory is out */
static char *rotation_value(const struct rh_json *secret, const char *key)
{
	const char *text = rh_json_string(rh_json_get(rh_json_get(secret, "data"), key));
	char *value = text ? rh_alloc(rh_base64_room(strlen(text))) : NULL;
	size_t length;

	if (value && (!rh_base64_decode(text, value, &length) || strlen(value) != length)) {
		rh_free(value);
		return NULL;
	}
	return value;
}

static int rotation_set_value(struct rh_json *secret, const char *key, const char *value)
{
	struct rh_json *data = rh_json_ensure_object(secret, "data");
	rh_auto_str text = {0};

	rh_base64_encode(value, strlen(value), &text);
	return data && !text.failed ? rh_json_set_string(data, key, rh_str_text(&text)) : RH_ENOMEM;
}

static void rotation_tell(struct rh_rotation *rotation)
{
	const struct rh_certificates *certificates = &rotation->certificates;

	if (rh_text_equal(rotation->told, certificates->crt))
		return;
	rh_free(rotation->told);
	rotation->told = rh_strdup(certificates->crt);
	rotation->options.changed(rotation->options.arg, certificates->crt, certificates->key);
}

static int64_t rotation_wall(const struct rh_rotation *rotation)
{
	return rotation->options.wall ? rotation->options.wall() : rh_clock_wall();
}

static int rotation_renew(struct rh_rotation *rotation, struct rh_json *secret, struct rh_error *err)
{
	struct rh_certificates *made = &rotation->certificates;
	int r;

	rh_certificates_deinit(made);
	r = rh_certificates_make(rotation->name, rotation_wall(rotation), made, err);
	if (r < 0)
		return r;
	if (rotation_set_value(secret, "ca.crt", made->ca) < 0 || rotation_set_value(secret, "ca.key", made->ca_key) < 0 ||
	    rotation_set_value(secret, "tls.crt", made->crt) < 0 || rotation_set_value(secret, "tls.key", made->key) < 0)
		return rh_fail_oom(err);
	return 0;
}

static void rotation_fail(struct rh_rotation *rotation, const char *what, const char *words)
{
	rh_log(RH_LOG_ERROR, ROTATION_OBJECT, "%s: %s", what, words);
	rotation_rest(rotation, ROTATION_RETRY);
}

static void rotation_on_secret(struct rh_rotation *rotation, struct rh_json *secret)
{
	struct rh_certificates *held = &rotation->certificates;
	struct rh_error err = {0};

	rh_certificates_deinit(held);
	*held = (struct rh_certificates){rotation_value(secret, "ca.crt"), rotation_value(secret, "ca.key"),
	                                 rotation_value(secret, "tls.crt"), rotation_value(secret, "tls.key")};
	if (rh_certificates_good(held, rotation->name, rotation_wall(rotation), ROTATION_AHEAD)) {
		rh_json_free(secret);
		rotation_tell(rotation);
		rotation_next(rotation, ROTATION_GET_HOOKS, 0);
		return;
	}
	rotation->body = secret;
	if (rotation_renew(rotation, secret, &err) < 0)
		rotation_fail(rotation, "no new certificate", err.message);
	else
		rotation_next(rotation, ROTATION_PUT_SECRET, 0);
}

/* @return 1 when a webhook trusts another authority, and was changed; 0 when all are right; or RH_ENOMEM */
static int rotation_trust(struct rh_json *configuration, const char *bundle)
{
	int changed = 0;

	for (struct rh_json *hook = rh_json_first(rh_json_get(configuration, "webhooks")); hook;
	     hook = rh_json_next(hook)) {
		struct rh_json *client = rh_json_ensure_object(hook, "clientConfig");

		if (client && rh_text_equal(rh_json_string_at(client, "caBundle"), bundle))
			continue;
		if (!client || rh_json_set_string(client, "caBundle", bundle) < 0)
			return RH_ENOMEM;
		changed = 1;
	}
	return changed;
}

static void rotation_on_hooks(struct rh_rotation *rotation, struct rh_json *configuration)
{
	rh_auto_str bundle = {0};
	int r;

	rh_base64_encode(rotation->certificates.ca, strlen(rotation->certificates.ca), &bundle);
	r = bundle.failed ? RH_ENOMEM : rotation_trust(configuration, rh_str_text(&bundle));
	rotation->body = configuration;
	if (r < 0)
		rotation_rest(rotation, ROTATION_RETRY);
	else if (r == 0)
		rotation_rest(rotation, ROTATION_PAUSE);
	else
		rotation_next(rotation, ROTATION_PUT_HOOKS, 0);
}

static void rotation_done(struct rh_rotation *rotation)
{
	rh_json_free(rh_take(rotation->body));
	if (rotation->stage == ROTATION_PUT_SECRET) {
		rh_log(RH_LOG_INFO, ROTATION_OBJECT, "a new certificate was put into Secret %s/%s",
		       rotation->options.namespace_, rotation->options.secret);
		rotation_tell(rotation);
		rotation_next(rotation, ROTATION_GET_HOOKS, 0);
		return;
	}
	rh_log(RH_LOG_INFO, ROTATION_OBJECT, "ValidatingWebhookConfiguration %s trusts the certificate now",
	       RH_ROTATION_WEBHOOKS);
	rotation_rest(rotation, ROTATION_PAUSE);
}

static void rotation_on_object(struct rh_rotation *rotation, const struct rh_http_response *response)
{
	struct rh_json *object = NULL;
	struct rh_error err = {0};

	if (rotation->stage == ROTATION_PUT_SECRET || rotation->stage == ROTATION_PUT_HOOKS) {
		rotation_done(rotation);
		return;
	}
	if (rh_json_parse_lenient(response->body, response->body_length, &object, &err) < 0)
		rotation_fail(rotation, "the server's answer", err.message);
	else if (rotation->stage == ROTATION_GET_SECRET)
		rotation_on_secret(rotation, object);
	else
		rotation_on_hooks(rotation, object);
}

/* 404 and 403 mean that somebody else looks after the certificate, or nobody; that may change. */
static void rotation_on_answer(void *arg, const struct rh_http_response *response)
{
	struct rh_rotation *rotation = arg;
	rh_auto_free char *words = NULL;

	rotation->id = 0;
	rotation->now = rh_clock_monotonic();
	if (response->status == 200) {
		rotation_on_object(rotation, response);
		return;
	}
	if (response->status == 409) {
		rotation_rest(rotation, ROTATION_RACE);
		return;
	}
	words =
		response->status ? rh_asprintf("the server answered %d", (int)response->status) : rh_strdup(response->words);
	if (response->status == 404 || response->status == 403) {
		rh_log(RH_LOG_INFO, ROTATION_OBJECT, "the certificate is not looked after: %s %s", words ? words : "",
		       rotation->stage < ROTATION_GET_HOOKS ? rotation->secret_path : rotation->hooks_path);
		rotation_rest(rotation, ROTATION_PAUSE);
		return;
	}
	rotation_fail(rotation, rotation->stage < ROTATION_GET_HOOKS ? rotation->secret_path : rotation->hooks_path,
	              words ? words : "out of memory");
}

int rh_rotation_new(const struct rh_rotation_options *options, struct rh_rotation **ret_rotation, struct rh_error *err)
{
	rh_auto(rotation) rotation = rh_alloc(sizeof(*rotation));

	if (!rotation)
		return rh_fail_oom(err);
	rotation->options = *options;
	rotation->options.namespace_ = rh_strdup(options->namespace_);
	rotation->options.secret = rh_strdup(options->secret);
	rotation->options.service = NULL;
	rotation->secret_path = rh_asprintf("/api/v1/namespaces/%s/secrets/%s", options->namespace_, options->secret);
	rotation->hooks_path =
		rh_strdup("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/" RH_ROTATION_WEBHOOKS);
	rotation->name = rh_asprintf("%s.%s.svc", options->service, options->namespace_);
	if (!rotation->options.namespace_ || !rotation->options.secret || !rotation->secret_path || !rotation->hooks_path ||
	    !rotation->name)
		return rh_fail_oom(err);
	*ret_rotation = rh_take(rotation);
	return 0;
}

void rh_rotation_free(struct rh_rotation *rotation)
{
	if (!rotation)
		return;
	if (rotation->id)
		rh_http_cancel(rotation->options.http, rotation->id);
	rh_json_free(rotation->body);
	rh_certificates_deinit(&rotation->certificates);
	rh_free((char *)rotation->options.namespace_);
	rh_free((char *)rotation->options.secret);
	rh_free(rotation->secret_path);
	rh_free(rotation->hooks_path);
	rh_free(rotation->name);
	rh_free(rotation->told);
	rh_free(rotation);
}

static int rotation_send(struct rh_rotation *rotation)
{
	bool puts = rotation->stage == ROTATION_PUT_SECRET || rotation->stage == ROTATION_PUT_HOOKS;
	rh_auto_free char *body = puts ? rh_json_text(rotation->body) : NULL;
	const struct rh_http_request request = {
		.method = puts ? "PUT" : "GET",
		.path = rotation->stage < ROTATION_GET_HOOKS ? rotation->secret_path : rotation->hooks_path,
		.content_type = puts ? "application/json" : NULL,
		.body = body,
		.body_length = body ? strlen(body) : 0,
		.timeout = ROTATION_TIMEOUT,
	};

	if (puts && !body)
		return RH_ENOMEM;
	return rh_http_send(rotation->options.http, &request, rotation_on_answer, rotation, &rotation->id, NULL);
}

void rh_rotation_step(struct rh_rotation *rotation, int64_t now)
{
	if (rotation->id || now < rotation->due)
		return;
	rotation->now = now;
	if (rotation_send(rotation) < 0)
		rotation->due = now + ROTATION_RETRY;
}

void rh_rotation_hurry(struct rh_rotation *rotation)
{
	if (rotation->id || rotation->stage != ROTATION_GET_SECRET)
		rotation->hurry = true;
	else
		rotation->due = 0;
}

int64_t rh_rotation_deadline(const struct rh_rotation *rotation)
{
	return rotation->id ? RH_NEVER : rotation->due;
}
