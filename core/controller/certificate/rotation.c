/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round: get the Secret; if its certificate expires soon, create a new one and update the Secret; get the webhook
 * configuration; if it does not trust the CA, add it; when the API servers have had time to load it, serve the
 * certificate. The loser of a race reads what the winner wrote. A change of either object starts a round.
 */
#include "controller/certificate/rotation.h"

#include <string.h>

#include "base/crypto/base64.h"
#include "base/json.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "controller/certificate/object_watch.h"
#include "httpd/certificate.h"

#define ROTATION_OBJECT "webhooks"
/* How long a certificate must be good to be left alone, as V1. */
#define ROTATION_AHEAD (90 * 24 * 3600 * RH_SECOND)
/* Between two rounds: after a good one, where changes cannot be watched, after one that failed, and after a lost race.
 */
#define ROTATION_PAUSE (3600 * RH_SECOND)
#define ROTATION_POLL (60 * RH_SECOND)
#define ROTATION_RETRY (5 * RH_SECOND)
#define ROTATION_RACE (RH_SECOND / 10)
#define ROTATION_TIMEOUT (30 * RH_SECOND)
/* Time for API servers to load a change of the trusted CAs. */
#define ROTATION_SPREAD (5 * RH_SECOND)
/* How long an authority is trusted after another has taken its place. */
#define ROTATION_TRUST (3600 * RH_SECOND)

#define ROTATION_HOOKS_COLLECTION "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

/* What is asked for next, or under way; SHOW asks for nothing. */
enum rotation_stage { ROTATION_GET_SECRET, ROTATION_PUT_SECRET, ROTATION_GET_HOOKS, ROTATION_PUT_HOOKS, ROTATION_SHOW };

struct rh_rotation {
	struct rh_rotation_options options;
	struct rh_loop_entry *source;
	char *secret_path;
	char *name; /* of the server */
	struct rh_object_watch *secret_watch;
	struct rh_object_watch *hooks_watch;
	enum rotation_stage stage;
	struct rh_certificates certificates; /* of the Secret, or new */
	struct rh_json *body;                /* of the object that is to be updated */
	char *shown;                         /* the certificate that is shown */
	char *shown_ca;                      /* its authority */
	char *mixed_ca;                      /* the authority that is trusted beside others; NULL: there are no others */
	int64_t mixed_at;                    /* monotonic microseconds since when */
	uint64_t id;                         /* of the request under way; 0: none */
	int64_t now;
	int64_t due;
	int32_t absent; /* status of the last answer, if it was 403 or 404 */
	bool hurry;     /* the next round is not to wait */
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

static void rotation_on_change(void *arg)
{
	rh_rotation_hurry(arg);
}

static void rotation_know(struct rh_object_watch *watch, const struct rh_json *object)
{
	rh_object_watch_know(watch, rh_json_string_at(object, "metadata.resourceVersion"));
}

/* @return the text, owned by the caller; NULL: there is none */
static char *rotation_decode(const char *text)
{
	char *value = text ? rh_alloc(rh_base64_room(strlen(text))) : NULL;
	size_t length;

	if (value && (!rh_base64_decode(text, value, &length) || strlen(value) != length)) {
		rh_free(value);
		return NULL;
	}
	return value;
}

/* @return the text behind @p key of the Secret, owned by the caller; NULL: it is not there, or memory is out */
static char *rotation_value(const struct rh_json *secret, const char *key)
{
	return rotation_decode(rh_json_string(rh_json_get(rh_json_get(secret, "data"), key)));
}

static int rotation_set_value(struct rh_json *secret, const char *key, const char *value)
{
	struct rh_json *data = rh_json_ensure_object(secret, "data");
	rh_auto_str text = {0};

	rh_base64_encode(value, strlen(value), &text);
	return data && !text.failed ? rh_json_set_string(data, key, rh_str_text(&text)) : RH_ENOMEM;
}

static void rotation_show(struct rh_rotation *rotation)
{
	const struct rh_certificates *certificates = &rotation->certificates;

	if (rh_text_equal(rotation->shown, certificates->crt))
		return;
	rh_free(rotation->shown);
	rh_free(rotation->shown_ca);
	rotation->shown = rh_strdup(certificates->crt);
	rotation->shown_ca = rh_strdup(certificates->ca);
	rotation->options.changed(rotation->options.arg, certificates->crt, certificates->key);
}

static int64_t rotation_wall(const struct rh_rotation *rotation)
{
	return rotation->options.wall ? rotation->options.wall() : rh_clock_wall();
}

static int rotation_renew(struct rh_rotation *rotation, struct rh_json *secret, struct rh_error *err)
{
	struct rh_certificates *made = &rotation->certificates;
	int r = rh_certificates_renew(made, rotation->name, rotation_wall(rotation), ROTATION_AHEAD, err);

	if (r < 0)
		return r;
	if (rotation_set_value(secret, "ca.crt", made->ca) < 0 || rotation_set_value(secret, "ca.key", made->ca_key) < 0 ||
	    rotation_set_value(secret, "tls.crt", made->crt) < 0 || rotation_set_value(secret, "tls.key", made->key) < 0)
		return rh_fail_oom(err);
	return 0;
}

static void rotation_fail(struct rh_rotation *rotation, const char *what, const char *message)
{
	rh_log(RH_LOG_ERROR, ROTATION_OBJECT, "%s: %s", what, message);
	rotation_rest(rotation, ROTATION_RETRY);
}

static void rotation_on_secret(struct rh_rotation *rotation, struct rh_json *secret)
{
	struct rh_certificates *held = &rotation->certificates;
	struct rh_error err = {0};

	rh_certificates_deinit(held);
	*held = (struct rh_certificates){rotation_value(secret, "ca.crt"), rotation_value(secret, "ca.key"),
	                                 rotation_value(secret, "tls.crt"), rotation_value(secret, "tls.key")};
	rotation_know(rotation->secret_watch, secret);
	if (rh_certificates_good(held, rotation->name, rotation_wall(rotation), ROTATION_AHEAD)) {
		rh_json_free(secret);
		rotation_next(rotation, ROTATION_GET_HOOKS, 0);
		return;
	}
	rotation->body = secret;
	if (rotation_renew(rotation, secret, &err) < 0)
		rotation_fail(rotation, "no new certificate", err.message);
	else
		rotation_next(rotation, ROTATION_PUT_SECRET, 0);
}

/* What becomes of whom the webhooks trust. */
struct rotation_trust {
	bool keep;    /* other authorities than ours, which are good */
	bool changed; /* a webhook is to have another bundle than it has */
	bool others;  /* a webhook is to trust another authority, too */
};

/* @return 0 or RH_ENOMEM */
static int rotation_trust_hook(const struct rh_rotation *rotation, struct rh_json *hook, struct rotation_trust *trust)
{
	struct rh_json *client = rh_json_ensure_object(hook, "clientConfig");
	const char *present = client ? rh_json_string_at(client, "caBundle") : NULL;
	rh_auto_free char *text = rotation_decode(present);
	rh_auto_str expected = {0};
	rh_auto_str bundle = {0};
	int others =
		rh_certificates_trust(rotation->certificates.ca, trust->keep ? text : NULL, rotation_wall(rotation), &expected);

	if (!client || others < 0)
		return RH_ENOMEM;
	trust->others = trust->others || others > 0;
	rh_base64_encode(expected.data, expected.length, &bundle);
	if (bundle.failed)
		return RH_ENOMEM;
	if (rh_text_equal(present, rh_str_text(&bundle)))
		return 0;
	trust->changed = true;
	return rh_json_set_string(client, "caBundle", rh_str_text(&bundle));
}

/* Note since when there are others beside our authority. */
static int rotation_note_others(struct rh_rotation *rotation, bool others)
{
	if (others && rh_text_equal(rotation->mixed_ca, rotation->certificates.ca))
		return 0;
	rh_free(rotation->mixed_ca);
	rotation->mixed_ca = others ? rh_strdup(rotation->certificates.ca) : NULL;
	rotation->mixed_at = rotation->now;
	return others && !rotation->mixed_ca ? RH_ENOMEM : 0;
}

static bool rotation_trusts_others_long(const struct rh_rotation *rotation)
{
	return rh_text_equal(rotation->mixed_ca, rotation->certificates.ca) &&
	       rotation->now - rotation->mixed_at >= ROTATION_TRUST;
}

/* Who calls the webhooks may not know yet that another authority is trusted: show its certificate a little later. */
static int64_t rotation_spread(const struct rh_rotation *rotation)
{
	if (rh_text_equal(rotation->shown, rotation->certificates.crt))
		return 0;
	if (rotation->shown_ca)
		return rh_text_equal(rotation->shown_ca, rotation->certificates.ca) ? 0 : ROTATION_SPREAD;
	return rotation->mixed_ca ? ROTATION_SPREAD : 0;
}

static void rotation_on_hooks(struct rh_rotation *rotation, struct rh_json *configuration)
{
	struct rotation_trust trust = {.keep = !rotation_trusts_others_long(rotation)};
	int r = 0;

	rotation->body = configuration;
	rotation_know(rotation->hooks_watch, configuration);
	for (struct rh_json *hook = rh_json_first(rh_json_get(configuration, "webhooks")); hook && r == 0;
	     hook = rh_json_next(hook))
		r = rotation_trust_hook(rotation, hook, &trust);
	if (r == 0)
		r = rotation_note_others(rotation, trust.others);
	if (r < 0)
		rotation_rest(rotation, ROTATION_RETRY);
	else if (trust.changed)
		rotation_next(rotation, ROTATION_PUT_HOOKS, 0);
	else
		rotation_next(rotation, ROTATION_SHOW, rotation_spread(rotation));
}

static void rotation_on_update(struct rh_rotation *rotation, const struct rh_json *object)
{
	rh_json_free(rh_take(rotation->body));
	if (rotation->stage == ROTATION_PUT_SECRET) {
		rotation_know(rotation->secret_watch, object);
		rh_log(RH_LOG_INFO, ROTATION_OBJECT, "a new certificate was put into Secret %s/%s",
		       rotation->options.namespace_, rotation->options.secret);
		rotation_next(rotation, ROTATION_GET_HOOKS, 0);
		return;
	}
	rotation_know(rotation->hooks_watch, object);
	rh_log(RH_LOG_INFO, ROTATION_OBJECT, "ValidatingWebhookConfiguration %s trusts the certificate now",
	       RH_ROTATION_WEBHOOKS);
	rotation_next(rotation, ROTATION_SHOW, rotation_spread(rotation));
}

static void rotation_on_object(struct rh_rotation *rotation, const struct rh_http_response *response)
{
	rh_auto(json) object = NULL;
	struct rh_error err = {0};

	if (rh_json_parse_lenient(response->body, response->body_length, &object, &err) < 0)
		rotation_fail(rotation, "the server's answer", err.message);
	else if (rotation->stage == ROTATION_GET_SECRET)
		rotation_on_secret(rotation, rh_take(object));
	else if (rotation->stage == ROTATION_GET_HOOKS)
		rotation_on_hooks(rotation, rh_take(object));
	else
		rotation_on_update(rotation, object);
}

static bool rotation_is_about_secret(const struct rh_rotation *rotation)
{
	return rotation->stage < ROTATION_GET_HOOKS;
}

static const char *rotation_path(const struct rh_rotation *rotation)
{
	return rotation_is_about_secret(rotation) ? rotation->secret_path
	                                          : ROTATION_HOOKS_COLLECTION "/" RH_ROTATION_WEBHOOKS;
}

/* 404 and 403 mean that somebody else looks after the object, or nobody; that may change. */
static void rotation_on_absence(struct rh_rotation *rotation, int32_t status, const char *message)
{
	struct rh_object_watch *watch = rotation_is_about_secret(rotation) ? rotation->secret_watch : rotation->hooks_watch;

	if (rotation->absent != status)
		rh_log(RH_LOG_INFO, ROTATION_OBJECT, "the certificate is not looked after: %s %s", message,
		       rotation_path(rotation));
	rotation->absent = status;
	if (status == 404)
		rh_object_watch_know(watch, "");
	if (rotation_is_about_secret(rotation))
		rotation_rest(rotation, ROTATION_PAUSE);
	else
		rotation_next(rotation, ROTATION_SHOW, 0);
}

static void rotation_on_answer(void *arg, const struct rh_http_response *response)
{
	struct rh_rotation *rotation = arg;
	int64_t now = rh_clock_monotonic();
	rh_auto_free char *message = NULL;

	rotation->id = 0;
	rotation->now = now > rotation->now ? now : rotation->now;
	if (response->status == 200) {
		rotation->absent = 0;
		rotation_on_object(rotation, response);
		return;
	}
	if (response->status == 409) {
		rotation_rest(rotation, ROTATION_RACE);
		return;
	}
	message =
		response->status ? rh_asprintf("the server answered %d", (int)response->status) : rh_strdup(response->message);
	if (response->status == 404 || response->status == 403) {
		rotation_on_absence(rotation, response->status, message ? message : "");
		return;
	}
	/* to be trusted late is better than not to answer at all */
	if (!rotation_is_about_secret(rotation) && !rotation->shown)
		rotation_show(rotation);
	rotation_fail(rotation, rotation_path(rotation), message ? message : "out of memory");
}

static int rotation_open_watches(struct rh_rotation *rotation, struct rh_error *err)
{
	rh_auto_free char *secrets = rh_asprintf("/api/v1/namespaces/%s/secrets", rotation->options.namespace_);
	struct rh_object_watch_options options = {.loop = rotation->options.loop,
	                                          .order = rotation->options.order,
	                                          .http = rotation->options.http,
	                                          .collection = secrets,
	                                          .name = rotation->options.secret,
	                                          .changed = rotation_on_change,
	                                          .arg = rotation};
	int r = secrets ? rh_object_watch_new(&options, &rotation->secret_watch, err) : rh_fail_oom(err);

	options.collection = ROTATION_HOOKS_COLLECTION;
	options.name = RH_ROTATION_WEBHOOKS;
	return r < 0 ? r : rh_object_watch_new(&options, &rotation->hooks_watch, err);
}

void rh_rotation_free(struct rh_rotation *rotation)
{
	if (!rotation)
		return;
	rh_loop_remove(rotation->options.loop, rotation->source);
	if (rotation->id)
		rh_http_cancel(rotation->options.http, rotation->id);
	rh_object_watch_free(rotation->secret_watch);
	rh_object_watch_free(rotation->hooks_watch);
	rh_json_free(rotation->body);
	rh_certificates_deinit(&rotation->certificates);
	rh_free((char *)rotation->options.namespace_);
	rh_free((char *)rotation->options.secret);
	rh_free(rotation->secret_path);
	rh_free(rotation->name);
	rh_free(rotation->shown);
	rh_free(rotation->shown_ca);
	rh_free(rotation->mixed_ca);
	rh_free(rotation);
}

static int rotation_send(struct rh_rotation *rotation)
{
	bool puts = rotation->stage == ROTATION_PUT_SECRET || rotation->stage == ROTATION_PUT_HOOKS;
	rh_auto_free char *body = puts ? rh_json_text(rotation->body) : NULL;
	const struct rh_http_request request = {
		.method = puts ? "PUT" : "GET",
		.path = rotation_path(rotation),
		.content_type = puts ? "application/json" : NULL,
		.body = body,
		.body_length = body ? strlen(body) : 0,
		.timeout = ROTATION_TIMEOUT,
	};

	if (puts && !body)
		return RH_ENOMEM;
	return rh_http_send(rotation->options.http, &request, rotation_on_answer, rotation, &rotation->id, NULL);
}

static bool rotation_is_blind(const struct rh_rotation *rotation)
{
	return rh_object_watch_is_refused(rotation->secret_watch) || rh_object_watch_is_refused(rotation->hooks_watch);
}

/* Changes that no watch reports are looked for. */
static int64_t rotation_due(const struct rh_rotation *rotation)
{
	int64_t latest = rotation->now + ROTATION_POLL;

	return rotation_is_blind(rotation) && latest < rotation->due ? latest : rotation->due;
}

static void rotation_step(void *arg, int64_t now)
{
	struct rh_rotation *rotation = arg;

	if (rotation->id || now < rotation_due(rotation))
		return;
	rotation->now = now;
	if (rotation->stage == ROTATION_SHOW) {
		rotation_show(rotation);
		rotation_rest(rotation, ROTATION_PAUSE);
	} else if (rotation_send(rotation) < 0) {
		rotation->due = now + ROTATION_RETRY;
	}
}

void rh_rotation_hurry(struct rh_rotation *rotation)
{
	if (rotation->id || rotation->stage != ROTATION_GET_SECRET)
		rotation->hurry = true;
	else
		rotation->due = 0;
}

static int64_t rotation_deadline(void *arg)
{
	const struct rh_rotation *rotation = arg;

	return rotation->id ? RH_NEVER : rotation_due(rotation);
}

int rh_rotation_new(const struct rh_rotation_options *options, struct rh_rotation **ret_rotation, struct rh_error *err)
{
	rh_auto(rotation) rotation = rh_alloc(sizeof(*rotation));
	int r;

	if (!rotation)
		return rh_fail_oom(err);
	rotation->options = *options;
	rotation->options.namespace_ = rh_strdup(options->namespace_);
	rotation->options.secret = rh_strdup(options->secret);
	rotation->options.service = NULL;
	rotation->secret_path = rh_asprintf("/api/v1/namespaces/%s/secrets/%s", options->namespace_, options->secret);
	rotation->name = rh_asprintf("%s.%s.svc", options->service, options->namespace_);
	if (!rotation->options.namespace_ || !rotation->options.secret || !rotation->secret_path || !rotation->name)
		return rh_fail_oom(err);
	r = rotation_open_watches(rotation, err);
	if (r == 0)
		r = rh_loop_add(options->loop,
		                &(struct rh_loop_source){rotation_step, rotation_deadline, rotation, options->order},
		                &rotation->source, err);
	if (r == 0)
		*ret_rotation = rh_take(rotation);
	return r;
}
