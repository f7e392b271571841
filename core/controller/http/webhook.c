/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/webhook.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "build/validate.h"
#include "job/rules/validate.h"

#define WEBHOOK_PREFIX "/validate-"
/* Room for the path of one kind. */
#define WEBHOOK_PATH_SIZE 256
/* Warnings of one answer; an API server cuts longer lists. */
#define WEBHOOK_WARNINGS_MAX 10
#define WEBHOOK_FORBIDDEN 403
#define WEBHOOK_BAD_REQUEST 400

/* One review. */
struct webhook_review {
	const struct rh_webhook *webhook;
	const struct rh_kind *kind;
	const struct rh_json *request;
	struct rh_findings findings; /* reported as warnings or refusal */
	struct rh_str message;       /* why the job is refused; empty: it is allowed */
	int32_t code;                /* with words */
};

static void webhook_deinit(struct webhook_review *review)
{
	rh_findings_deinit(&review->findings);
	rh_str_deinit(&review->message);
}

/* V1 wrote the dots of a group as dashes, and the kind in lower case. */
static bool webhook_is_path(const char *path, const struct rh_kind *kind)
{
	char own[WEBHOOK_PATH_SIZE];

	(void)snprintf(own, sizeof(own), "%s-%s-%s", kind->group, kind->version, kind->singular);
	for (char *at = own; *at; at++) {
		if (*at == '.')
			*at = '-';
	}
	return strcmp(path + strlen(WEBHOOK_PREFIX), own) == 0;
}

static const struct rh_kind *webhook_kind(const struct rh_webhook *webhook, const char *path)
{
	for (size_t i = 0; i < rh_host_plugin_count(webhook->host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(webhook->host, i, &info);
		for (size_t k = 0; info.state == RH_PLUGIN_READY && info.kinds[k]; k++) {
			if (webhook_is_path(path, info.kinds[k]) &&
			    (!webhook->serves || webhook->serves(webhook->arg, info.kinds[k])))
				return info.kinds[k];
		}
	}
	return NULL;
}

/* @return 0, RH_EINVAL (the object cannot be understood), RH_EPLUGIN or RH_ENOMEM */
static int webhook_findings(const struct webhook_review *review, const struct rh_json *object, struct rh_job **ret_job,
                            struct rh_findings *findings, struct rh_error *err)
{
	rh_auto(json) copy = rh_json_copy(object);
	rh_auto(job) job = NULL;
	struct rh_snapshot snapshot = {.host = review->webhook->host};
	int r;

	if (!copy)
		return rh_fail_oom(err);
	r = rh_job_parse(review->kind, rh_take(copy), &job, err);
	snapshot.job = job;
	if (r == 0)
		r = rh_host_expand(&snapshot, job, err);
	if (r == 0)
		r = rh_build_validate(&snapshot, findings, err);
	if (r == 0)
		*ret_job = rh_take(job);
	return r;
}

static bool webhook_has(const struct rh_findings *findings, const struct rh_finding *finding)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (strcmp(findings->items[i].path, finding->path) == 0 &&
		    strcmp(findings->items[i].detail, finding->detail) == 0)
			return true;
	}
	return false;
}

/* Keep the findings that the old version did not have: jobs that were stored under other rules can still be updated. */
static int webhook_keep_new(struct webhook_review *review, const struct rh_findings *before,
                            const struct rh_findings *after)
{
	for (size_t i = 0; i < after->count; i++) {
		const struct rh_finding *finding = &after->items[i];

		if (!webhook_has(before, finding) &&
		    rh_findings_add(&review->findings, finding->severity, finding->path, "%s", finding->detail) < 0)
			return RH_ENOMEM;
	}
	return before->failed || after->failed ? RH_ENOMEM : 0;
}

static int webhook_judge_objects(struct webhook_review *review, struct rh_error *err)
{
	const struct rh_json *old_object = rh_json_get(review->request, "oldObject");
	rh_auto_findings before = {0};
	rh_auto_findings after = {0};
	rh_auto(job) old = NULL;
	rh_auto(job) job = NULL;
	int was =
		rh_json_type(old_object) == RH_JSON_OBJECT ? webhook_findings(review, old_object, &old, &before, NULL) : 1;
	int r = webhook_findings(review, rh_json_get(review->request, "object"), &job, &after, err);

	/* the plugin's process is in trouble: the engine asks it again, and reports what it says */
	if (r == RH_EAGAIN || r == RH_EIO)
		return 0;
	/* an invalid stored job may stay invalid, or else its finalizers could not be removed */
	if (r == RH_EINVAL && was == RH_EINVAL)
		return 0;
	if (r < 0)
		return r;
	if (was == 0)
		r = rh_job_validate_update(old, job, &after);
	if (r == 0)
		r = webhook_keep_new(review, &before, &after);
	return r < 0 ? rh_fail_oom(err) : 0;
}

static bool webhook_is_job(const struct webhook_review *review)
{
	const char *operation = rh_json_string_at(review->request, "operation");
	const char *subresource = rh_json_string_at(review->request, "subResource");

	if (subresource && *subresource)
		return false;
	return rh_text_equal(operation, "CREATE") || rh_text_equal(operation, "UPDATE");
}

/* @return 0, or RH_ENOMEM: there is nothing to say then */
static int webhook_judge(struct webhook_review *review)
{
	struct rh_error err = {0};
	int r = webhook_is_job(review) ? webhook_judge_objects(review, &err) : 0;

	if (r == RH_ENOMEM)
		return r;
	review->code = r < 0 ? WEBHOOK_BAD_REQUEST : WEBHOOK_FORBIDDEN;
	if (r < 0)
		rh_str_append(&review->message, err.message);
	else if (rh_findings_errors(&review->findings) > 0)
		rh_findings_print_v1(&review->findings, &review->message);
	return review->message.failed ? RH_ENOMEM : 0;
}

static int webhook_set_refusal(const struct webhook_review *review, struct rh_json *response)
{
	struct rh_json *status = rh_json_ensure_object(response, "status");

	if (!status || rh_json_set_integer(status, "code", review->code) < 0 ||
	    rh_json_set_string(status, "message", rh_str_text(&review->message)) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(status, "reason", review->code == WEBHOOK_FORBIDDEN ? "Forbidden" : "BadRequest");
}

static int webhook_set_warnings(const struct webhook_review *review, struct rh_json *response)
{
	struct rh_json *list = NULL;
	int r = 0;

	for (size_t i = 0; i < review->findings.count && rh_json_size(list) < WEBHOOK_WARNINGS_MAX && r == 0; i++) {
		const struct rh_finding *finding = &review->findings.items[i];
		rh_auto_free char *text = NULL;

		if (finding->severity != RH_FINDING_WARNING)
			continue;
		text = *finding->path ? rh_asprintf("%s: %s", finding->path, finding->detail) : rh_strdup(finding->detail);
		list = list ? list : rh_json_ensure_array(response, "warnings");
		r = list ? rh_json_append(list, rh_json_new_string(text)) : RH_ENOMEM;
	}
	return r;
}

/* @return owned by the caller; NULL when memory is out */
static struct rh_json *webhook_response(const struct webhook_review *review)
{
	const char *uid = rh_json_string_at(review->request, "uid");
	rh_auto(json) out = rh_json_new_object();
	struct rh_json *response = out ? rh_json_ensure_object(out, "response") : NULL;
	bool allowed = review->message.length == 0;

	if (!response || rh_json_set_string(out, "apiVersion", "admission.k8s.io/v1") < 0 ||
	    rh_json_set_string(out, "kind", "AdmissionReview") < 0 ||
	    rh_json_set_string(response, "uid", uid ? uid : "") < 0 || rh_json_set_bool(response, "allowed", allowed) < 0)
		return NULL;
	if (!allowed && webhook_set_refusal(review, response) < 0)
		return NULL;
	return webhook_set_warnings(review, response) < 0 ? NULL : rh_take(out);
}

static void webhook_count(const struct webhook_review *review)
{
	const char *const labels[] = {review->kind->kind, review->message.length == 0 ? "true" : "false"};

	if (review->webhook->metrics)
		rh_metrics_add(review->webhook->metrics, RH_METRIC_WEBHOOK_REQUESTS, labels, 1);
}

static void webhook_fail(struct rh_httpd_reply *reply, unsigned int status, const char *message)
{
	reply->status = status;
	rh_str_append(&reply->body, message);
	rh_str_append(&reply->body, "\n");
}

static void webhook_answer(const struct rh_webhook *webhook, const struct rh_kind *kind, const struct rh_json *body,
                           struct rh_httpd_reply *reply)
{
	__attribute__((cleanup(webhook_deinit))) struct webhook_review review = {
		.webhook = webhook, .kind = kind, .request = rh_json_get(body, "request")};
	rh_auto(json) out = NULL;

	if (webhook_judge(&review) == 0)
		out = webhook_response(&review);
	if (!out) {
		webhook_fail(reply, 500, "out of memory");
		return;
	}
	webhook_count(&review);
	reply->status = 200;
	reply->content_type = "application/json";
	rh_json_print(out, false, &reply->body);
}

bool rh_webhook_answer(const struct rh_webhook *webhook, const struct rh_httpd_request *request,
                       struct rh_httpd_reply *reply)
{
	const struct rh_kind *kind;
	rh_auto(json) body = NULL;
	struct rh_error err = {0};

	if (!rh_starts_with(request->path, WEBHOOK_PREFIX))
		return false;
	kind = webhook_kind(webhook, request->path);
	if (!kind)
		return true; /* 404, as where V1 did not serve a kind */
	if (strcmp(request->method, "POST") != 0)
		webhook_fail(reply, 405, "method not allowed");
	else if (rh_json_parse_lenient(request->body, request->body_length, &body, &err) < 0)
		webhook_fail(reply, 400, err.message);
	else if (rh_json_type(rh_json_get(body, "request")) != RH_JSON_OBJECT)
		webhook_fail(reply, 400, "request: Required value: the body is not an AdmissionReview");
	else
		webhook_answer(webhook, kind, body, reply);
	return true;
}
