/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/store/outcome.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/os/clock.h"

/* Pause without a Retry-After: the server cannot be reached, or refuses temporarily. */
#define OUTCOME_PAUSE RH_SECOND
#define OUTCOME_PAUSE_LOGIN (5 * RH_SECOND)
/* Longest shown part of a body that is not a Status, such as a proxy's page. */
#define OUTCOME_WORDS_MAX 160

void rh_kube_outcome_deinit(struct rh_kube_outcome *outcome)
{
	rh_json_free(outcome->body);
	rh_free(outcome->text);
	*outcome = (struct rh_kube_outcome){0};
}

static const char *outcome_text(const struct rh_json *body, const char *path)
{
	const char *text = rh_json_string_at(body, path);

	return text ? text : "";
}

static bool outcome_is_status(const struct rh_json *body)
{
	return strcmp(outcome_text(body, "kind"), "Status") == 0;
}

static const char *outcome_status_name(int32_t status)
{
	static const struct {
		int32_t status;
		const char *name;
	} names[] = {{400, "bad request"},    {401, "unauthorized"}, {403, "forbidden"},
	             {404, "not found"},      {408, "timeout"},      {409, "conflict"},
	             {410, "gone"},           {413, "too large"},    {429, "too many requests"},
	             {500, "internal error"}, {502, "bad gateway"},  {503, "service unavailable"},
	             {504, "timeout"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].status == status)
			return names[i].name;
	}
	return "an answer without words";
}

/* Write the message of the response as one line. */
static void outcome_print(int32_t status, const struct rh_json *body, const char *text, char *room, size_t size)
{
	const char *message = outcome_text(body, "message");
	int shown = (int)strcspn(text, "\r\n");

	if (outcome_is_status(body) && *message)
		rh_copy(room, size, message);
	else if (shown > 0 && !body)
		snprintf(room, size, "%s (%d): %.*s", outcome_status_name(status), (int)status,
		         shown < OUTCOME_WORDS_MAX ? shown : OUTCOME_WORDS_MAX, text);
	else
		snprintf(room, size, "%s (%d)", outcome_status_name(status), (int)status);
}

const char *rh_kube_outcome_message(int32_t status, const char *body, char *room, size_t size)
{
	rh_auto(json) json = NULL;

	(void)rh_json_parse_lenient(body, strlen(body), &json, NULL);
	outcome_print(status, json, body, room, size);
	return room;
}

/* Is @p field among the causes of a refusal? */
static bool outcome_blames(const struct rh_json *body, const char *field)
{
	const struct rh_json *causes = rh_json_at(body, "details.causes");

	for (const struct rh_json *cause = rh_json_first(causes); cause; cause = rh_json_next(cause)) {
		if (rh_text_equal(rh_json_string(rh_json_get(cause, "field")), field))
			return true;
	}
	return false;
}

/* Of an eviction: a PodDisruptionBudget forbids it now, unlike a server that has no time (policy/v1,
 * DisruptionBudgetCause). */
static bool outcome_is_budget(enum rh_verb verb, int32_t status, const struct rh_json *body)
{
	const struct rh_json *causes = rh_json_at(body, "details.causes");

	return verb == RH_VERB_EVICT && status == 429 && rh_json_find(causes, "reason", "DisruptionBudget");
}

/* The server's words name no budget; the cause does. */
static void outcome_add_budget(const struct rh_json *body, char *room, size_t size)
{
	const struct rh_json *cause = rh_json_find(rh_json_at(body, "details.causes"), "reason", "DisruptionBudget");
	const char *message = rh_json_string_at(cause, "message");
	size_t length = strlen(room);

	if (message && *message)
		snprintf(room + length, size - length, " %s", message);
}

/* A conflict in something that the object depends on, such as a quota: the request itself is valid. */
static enum rh_outcome_code outcome_of_conflict(enum rh_verb verb, const struct rh_json *body)
{
	if (strcmp(outcome_text(body, "reason"), "AlreadyExists") == 0)
		return RH_OUTCOME_EXISTS;
	return verb == RH_VERB_CREATE ? RH_OUTCOME_THROTTLED : RH_OUTCOME_CONFLICT;
}

/* The object, its namespace or the resource does not exist. */
static enum rh_outcome_code outcome_of_missing(enum rh_verb verb, const struct rh_json *body)
{
	if (verb == RH_VERB_CREATE || !*outcome_text(body, "details.name"))
		return RH_OUTCOME_DENIED;
	return RH_OUTCOME_GONE;
}

/* A patch with another UID would change the object's UID: this error means that it is another object. */
static enum rh_outcome_code outcome_of_invalid(enum rh_verb verb, const struct rh_json *body)
{
	bool patch = verb == RH_VERB_PATCH || verb == RH_VERB_PATCH_STATUS;

	return patch && outcome_blames(body, "metadata.uid") ? RH_OUTCOME_CONFLICT : RH_OUTCOME_DENIED;
}

static enum rh_outcome_code outcome_of_status(enum rh_verb verb, int32_t status, const struct rh_json *body)
{
	switch (status) {
	case 401:
	case 429:
	case 503:
		return RH_OUTCOME_THROTTLED;
	case 404:
	case 410:
		return outcome_of_missing(verb, body);
	case 409:
		return outcome_of_conflict(verb, body);
	case 422:
		return outcome_of_invalid(verb, body);
	case 408:
		return RH_OUTCOME_UNKNOWN;
	default:
		return status >= 400 && status < 500 ? RH_OUTCOME_DENIED : RH_OUTCOME_UNKNOWN;
	}
}

static int64_t outcome_pause(const struct rh_http_response *response, const struct rh_json *body)
{
	int64_t seconds = 0;

	if (response->retry_after > 0)
		return response->retry_after;
	if (rh_json_integer(rh_json_at(body, "details.retryAfterSeconds"), &seconds) && seconds > 0 && seconds < 3600)
		return seconds * RH_SECOND;
	return response->status == 401 ? OUTCOME_PAUSE_LOGIN : OUTCOME_PAUSE;
}

/* Append the missing RBAC rule to the message of Kubernetes' authorizer, which names all its parts. */
static void outcome_add_rule(char *room, size_t size)
{
	const char *at = strstr(room, "\" cannot ");
	size_t length = strlen(room);
	char verb[32];
	char resource[128];
	char group[128] = "";

	if (!at ||
	    sscanf(at, "\" cannot %31[a-z] resource \"%127[^\"]\" in API group \"%127[^\"]", verb, resource, group) < 2)
		return;
	snprintf(room + length, size - length,
	         "; add to the role of its service account: {apiGroups: [\"%s\"], resources: [%s], verbs: [%s]}", group,
	         resource, verb);
}

/* No response: a request that was not sent has no effect. */
static void outcome_of_silence(const struct rh_http_response *response, struct rh_kube_outcome *out)
{
	out->outcome.code = response->sent ? RH_OUTCOME_UNKNOWN : RH_OUTCOME_THROTTLED;
	out->outcome.retry_after = response->sent ? 0 : OUTCOME_PAUSE;
	rh_copy(out->message, sizeof(out->message),
	        response->message && *response->message ? response->message : "no answer");
}

/* The current object; the response to a delete is the object, or a Status when it is gone. */
static void outcome_of_success(struct rh_kube_outcome *out)
{
	if (!out->body) {
		out->outcome.code = RH_OUTCOME_UNKNOWN;
		rh_copy(out->message, sizeof(out->message), "the server's answer cannot be read");
		return;
	}
	out->outcome.code = RH_OUTCOME_OK;
	out->outcome.object = outcome_is_status(out->body) ? NULL : out->body;
	rh_json_remove(rh_json_get(out->body, "metadata"), "managedFields");
}

/* Programs write any bytes; a NUL must not end the text. */
static void outcome_of_log(const struct rh_http_response *response, struct rh_kube_outcome *out)
{
	out->text = rh_alloc(response->body_length + 1);
	if (!out->text) {
		out->outcome.code = RH_OUTCOME_UNKNOWN;
		rh_copy(out->message, sizeof(out->message), "out of memory");
		return;
	}
	for (size_t i = 0; i < response->body_length; i++)
		out->text[i] = (char)(response->body[i] ? response->body[i] : ' ');
	out->outcome.text = out->text;
}

/* The items of a list have no kind; the list has, as "PodList". */
static int outcome_name_item(const struct rh_json *list, struct rh_json *item)
{
	static const char ending[] = "List";
	const char *kind = outcome_text(list, "kind");
	size_t length = strlen(kind);
	rh_auto_free char *own = NULL;

	if (length > sizeof(ending) - 1 && strcmp(kind + length - (sizeof(ending) - 1), ending) == 0)
		length -= sizeof(ending) - 1;
	own = rh_strndup(kind, length);
	if (!own)
		return RH_ENOMEM;
	if (!rh_json_get(item, "kind") && rh_json_set_string(item, "kind", own) < 0)
		return RH_ENOMEM;
	return rh_json_get(item, "apiVersion") ? 0
	                                       : rh_json_set_string(item, "apiVersion", outcome_text(list, "apiVersion"));
}

/* The list of one name: the object is its item, or there is none. */
static void outcome_of_list(struct rh_kube_outcome *out)
{
	struct rh_json *items = rh_json_get(out->body, "items");
	struct rh_json *item = rh_json_item(items, 0);

	if (!items || (item && outcome_name_item(out->body, item) < 0)) {
		out->outcome.code = RH_OUTCOME_UNKNOWN;
		rh_copy(out->message, sizeof(out->message), "the server's answer cannot be read");
		return;
	}
	out->outcome.code = item ? RH_OUTCOME_OK : RH_OUTCOME_GONE;
	out->outcome.object = item;
	if (!item)
		rh_copy(out->message, sizeof(out->message), "not found");
	rh_json_remove(rh_json_get(item, "metadata"), "managedFields");
}

void rh_kube_outcome_read(enum rh_verb verb, const struct rh_http_response *response,
                          struct rh_kube_outcome *ret_outcome)
{
	struct rh_kube_outcome *out = ret_outcome;

	*out = (struct rh_kube_outcome){0};
	out->outcome.message = out->message;
	if (response->status == 0) {
		outcome_of_silence(response, out);
		return;
	}
	if (verb == RH_VERB_LOG && response->status == 200) {
		outcome_of_log(response, out);
		return;
	}
	(void)rh_json_parse_lenient(response->body, response->body_length, &out->body, NULL);
	if (response->status >= 200 && response->status < 300) {
		if (verb == RH_VERB_FIND)
			outcome_of_list(out);
		else
			outcome_of_success(out);
		return;
	}
	out->outcome.code = outcome_of_status(verb, response->status, out->body);
	if (out->outcome.code == RH_OUTCOME_THROTTLED)
		out->outcome.retry_after = outcome_pause(response, out->body);
	outcome_print(response->status, out->body, response->body, out->message, sizeof(out->message));
	out->outcome.budget = outcome_is_budget(verb, response->status, out->body);
	if (out->outcome.budget)
		outcome_add_budget(out->body, out->message, sizeof(out->message));
	out->outcome.forbidden = response->status == 403;
	if (response->status == 403)
		outcome_add_rule(out->message, sizeof(out->message));
}

void rh_kube_outcome_name(struct rh_kube_outcome *outcome, const char *api_version, const char *kind)
{
	const struct rh_json *object = outcome->outcome.object;
	rh_auto(json) bare = object ? rh_json_new_object() : NULL;

	if (!object)
		return;
	outcome->outcome.object = NULL;
	if (!bare || rh_json_set_string(bare, "apiVersion", api_version) < 0 ||
	    rh_json_set_string(bare, "kind", kind) < 0 ||
	    rh_json_set(bare, "metadata", rh_json_copy(rh_json_get(object, "metadata"))) < 0) {
		outcome->outcome.code = RH_OUTCOME_UNKNOWN;
		return;
	}
	rh_json_free_secret(outcome->body);
	outcome->body = rh_take(bare);
	outcome->outcome.object = outcome->body;
}

uint64_t rh_kube_outcome_gist(const char *message)
{
	uint64_t gist = 0;

	for (size_t length; *message; message += length) {
		length = strspn(message, "0123456789");
		if (length > 0)
			continue;
		length = strcspn(message, "0123456789");
		gist = gist * 31 + rh_hash(message, length);
	}
	return gist;
}
