/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger as the text of an annotation. Users can edit it, so it is validated like any input. What does not fit is
 * left out, least important first: it is observed again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "engine/ledger.h"
#include "job/values/names.h"

/* Longest last lines that the ledger keeps. */
#define LEDGER_LINES_MAX RH_LAST_LINES_MAX
/* Longest text of an index set that is kept when room is scarce. */
#define LEDGER_SET_MAX 2048
/* Larger counts are invalid; sums of smaller ones cannot overflow. */
#define LEDGER_COUNT_MAX (INT64_C(1) << 52)
/* Indices that are read for a type with fewer replicas, so that those of surplus replicas survive. */
#define LEDGER_INDEX_LIMIT 4096
/* Longest UID or note that is read: a prefix and a UID of any length that Kubernetes accepts. */
#define LEDGER_KEY_MAX 256
/* Longest token of a restart that is read: what rh_services.restart takes. */
#define LEDGER_TOKEN_MAX 63

static const char *const ledger_causes[RH_CAUSES] = {"exit", "deleted", "evicted", "in-place",
                                                     "job",  "plugin",  "stalled"};
static const char *const ledger_ends[] = {NULL, "backoff", "deadline"};

const char *rh_restart_cause_name(enum rh_restart_cause cause)
{
	return ledger_causes[cause];
}

/* How much is left out, in this order, until the text fits. */
enum ledger_cut { LEDGER_ALL, LEDGER_NO_LINES, LEDGER_SHORT_SETS, LEDGER_NO_COUNTED, LEDGER_NO_TYPES, LEDGER_CUTS };

static int ledger_put_set(struct rh_json *object, const char *key, const struct rh_index_set *set, enum ledger_cut cut)
{
	rh_auto_str text = {0};

	rh_index_set_print(set, &text);
	if (text.failed)
		return RH_ENOMEM;
	if (text.length == 0 || (cut >= LEDGER_SHORT_SETS && text.length > LEDGER_SET_MAX))
		return 0;
	return rh_json_set_string(object, key, rh_str_text(&text));
}

static int ledger_put_type(struct rh_json *types, const struct rh_ledger_type *type, enum ledger_cut cut)
{
	struct rh_json *entry = rh_json_ensure_object(types, type->type);
	struct rh_json *restarts = NULL;

	for (int cause = 0; entry && cause < RH_CAUSES; cause++) {
		if (type->restarts[cause] == 0)
			continue;
		restarts = rh_json_ensure_object(entry, "restarts");
		if (!restarts || rh_json_set_integer(restarts, ledger_causes[cause], type->restarts[cause]) < 0)
			return RH_ENOMEM;
	}
	if (!entry || ledger_put_set(entry, "succeeded", &type->succeeded, cut) < 0)
		return RH_ENOMEM;
	if (ledger_put_set(entry, "lost", &type->lost, cut) < 0 || ledger_put_set(entry, "again", &type->again, cut) < 0)
		return RH_ENOMEM;
	return type->token ? rh_json_set_string(entry, "token", type->token) : 0;
}

static int ledger_put_types(struct rh_json *root, const struct rh_ledger *ledger, enum ledger_cut cut)
{
	struct rh_json *types;

	if (ledger->type_count == 0 || cut >= LEDGER_NO_TYPES)
		return 0;
	types = rh_json_ensure_object(root, "types");
	for (size_t i = 0; types && i < ledger->type_count; i++) {
		if (ledger_put_type(types, &ledger->types[i], cut) < 0)
			return RH_ENOMEM;
	}
	return types ? 0 : RH_ENOMEM;
}

static int ledger_put_counted(struct rh_json *root, const struct rh_ledger *ledger, enum ledger_cut cut)
{
	struct rh_json *list;

	if (ledger->counted_count == 0 || cut >= LEDGER_NO_COUNTED)
		return 0;
	list = rh_json_ensure_array(root, "counted");
	for (size_t i = 0; list && i < ledger->counted_count; i++) {
		if (rh_json_append(list, rh_json_new_string(ledger->counted[i])) < 0)
			return RH_ENOMEM;
	}
	return list ? 0 : RH_ENOMEM;
}

/* @return the end of the text, cut at the start of a character */
static const char *ledger_tail(const char *text)
{
	size_t length = strlen(text);

	if (length <= LEDGER_LINES_MAX)
		return text;
	text += length - LEDGER_LINES_MAX;
	while (((unsigned char)*text & 0xC0) == 0x80)
		text++;
	return text;
}

static int ledger_put_text(struct rh_json *object, const char *key, const char *text)
{
	return *text ? rh_json_set_string(object, key, text) : 0;
}

/* Members with their usual value are left out. */
static int ledger_put_blame(struct rh_json *entry, const struct rh_first_fault *fault)
{
	char until[RH_TIME_SIZE];

	if (fault->blame != RH_BLAME_NONE &&
	    rh_json_set_string(entry, "class", rh_blame_name((enum rh_blame)fault->blame)) < 0)
		return RH_ENOMEM;
	if (fault->rank >= 0 && rh_json_set_integer(entry, "rank", fault->rank) < 0)
		return RH_ENOMEM;
	if (fault->until > 0 && rh_json_set_string(entry, "until", rh_time_format_micro(fault->until, until)) < 0)
		return RH_ENOMEM;
	if (fault->message_offset > 0 && rh_json_set_integer(entry, "messageOffset", fault->message_offset) < 0)
		return RH_ENOMEM;
	return fault->reported_by ? ledger_put_text(entry, "reportedBy", fault->reported_by) : 0;
}

static int ledger_put_fault(struct rh_json *root, const struct rh_first_fault *fault, enum ledger_cut cut)
{
	struct rh_json *entry;
	char at[RH_TIME_SIZE];

	if (!fault->type || cut >= LEDGER_NO_TYPES)
		return 0;
	entry = rh_json_ensure_object(root, "fault");
	if (!entry || rh_json_set_string(entry, "type", fault->type) < 0 ||
	    rh_json_set_integer(entry, "index", fault->index) < 0 ||
	    rh_json_set_integer(entry, "attempt", fault->attempt) < 0 ||
	    rh_json_set_integer(entry, "exitCode", fault->exit_code) < 0 ||
	    rh_json_set_string(entry, "at", rh_time_format_micro(fault->at, at)) < 0 ||
	    ledger_put_text(entry, "pod", fault->pod) < 0 || ledger_put_text(entry, "node", fault->node) < 0 ||
	    ledger_put_text(entry, "container", fault->container) < 0 ||
	    ledger_put_text(entry, "reason", fault->reason) < 0 || ledger_put_blame(entry, fault) < 0)
		return RH_ENOMEM;
	return cut >= LEDGER_NO_LINES ? 0 : ledger_put_text(entry, "lastLines", ledger_tail(fault->last_lines));
}

static struct rh_json *ledger_json(const struct rh_ledger *ledger, const char *uid, enum ledger_cut cut)
{
	rh_auto(json) root = rh_json_new_object();

	if (!root || rh_json_set_string(root, "uid", uid) < 0 || rh_json_set_integer(root, "attempt", ledger->attempt) < 0)
		return NULL;
	if (ledger->stopping && rh_json_set_bool(root, "stopping", true) < 0)
		return NULL;
	if (ledger->token && rh_json_set_string(root, "token", ledger->token) < 0)
		return NULL;
	if (ledger->end != RH_END_NONE && rh_json_set_string(root, "end", ledger_ends[ledger->end]) < 0)
		return NULL;
	if (rh_uid_map_put(&ledger->made, root, "made") < 0 || ledger_put_types(root, ledger, cut) < 0 ||
	    ledger_put_fault(root, &ledger->fault, cut) < 0 || ledger_put_counted(root, ledger, cut) < 0)
		return NULL;
	return rh_take(root);
}

char *rh_ledger_text(const struct rh_ledger *ledger, const struct rh_job *job)
{
	rh_auto_free char *text = NULL;

	for (int cut = LEDGER_ALL; cut < LEDGER_CUTS; cut++) {
		rh_auto(json) root = ledger_json(ledger, job->uid, (enum ledger_cut)cut);

		rh_free(text);
		text = root ? rh_json_text(root) : NULL;
		if (!text || strlen(text) <= RH_LEDGER_TEXT_MAX)
			break;
	}
	return rh_take(text);
}

static int64_t ledger_get_count(const struct rh_json *object, const char *key, int64_t most)
{
	int64_t count = 0;

	if (!rh_json_integer(rh_json_get(object, key), &count) || count < 0)
		return 0;
	return count < most ? count : most;
}

static int ledger_get_set(const struct rh_json *entry, const char *key, int32_t limit, struct rh_index_set *set)
{
	const char *text = rh_json_string(rh_json_get(entry, key));

	return text ? rh_index_set_parse(set, text, limit) : 0;
}

static int ledger_get_token(const struct rh_json *entry, char **ret_token)
{
	const char *token = rh_json_string(rh_json_get(entry, "token"));

	return token && strlen(token) <= LEDGER_TOKEN_MAX ? rh_ledger_set_token(ret_token, token) : 0;
}

static int ledger_get_type(const struct rh_json *entry, const struct rh_job *job, struct rh_ledger *ledger)
{
	const char *name = rh_json_key(entry);
	const struct rh_replica_spec *spec = rh_job_spec(job, name);
	const struct rh_json *restarts = rh_json_get(entry, "restarts");
	struct rh_ledger_type *type = rh_ledger_type_of(ledger, name);
	int32_t limit = spec && spec->replicas > LEDGER_INDEX_LIMIT ? spec->replicas : LEDGER_INDEX_LIMIT;

	if (limit > RH_INDEX_MAX)
		limit = RH_INDEX_MAX;
	if (!type || ledger_get_set(entry, "succeeded", limit, &type->succeeded) < 0 ||
	    ledger_get_set(entry, "lost", limit, &type->lost) < 0 ||
	    ledger_get_set(entry, "again", limit, &type->again) < 0 || ledger_get_token(entry, &type->token) < 0)
		return RH_ENOMEM;
	for (int cause = 0; cause < RH_CAUSES; cause++)
		type->restarts[cause] = ledger_get_count(restarts, ledger_causes[cause], LEDGER_COUNT_MAX);
	return 0;
}

static int ledger_get_types(const struct rh_json *types, const struct rh_job *job, struct rh_ledger *ledger)
{
	if (rh_json_type(types) != RH_JSON_OBJECT)
		return 0;
	for (const struct rh_json *entry = rh_json_first(types); entry; entry = rh_json_next(entry)) {
		if (ledger->type_count < RH_TYPES_MAX && ledger_get_type(entry, job, ledger) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static int ledger_get_counted(const struct rh_json *list, struct rh_ledger *ledger)
{
	if (rh_json_type(list) != RH_JSON_ARRAY)
		return 0;
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		const char *uid = rh_json_string(item);

		if (uid && strlen(uid) <= LEDGER_KEY_MAX && rh_ledger_note(ledger, uid) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static char *ledger_get_text(const struct rh_json *object, const char *key)
{
	const char *text = rh_json_string(rh_json_get(object, key));

	return rh_strdup(text ? text : "");
}

static int32_t ledger_get_rank(const struct rh_json *entry)
{
	int64_t rank;

	return rh_json_integer(rh_json_get(entry, "rank"), &rank) && rank >= 0 && rank <= INT32_MAX ? (int32_t)rank : -1;
}

static int ledger_get_fault(const struct rh_json *entry, struct rh_first_fault *fault)
{
	const char *type = rh_json_string(rh_json_get(entry, "type"));
	const char *at = rh_json_string(rh_json_get(entry, "at"));
	const char *until = rh_json_string(rh_json_get(entry, "until"));
	int64_t code;

	if (!type || !at || rh_time_parse(at, &fault->at, NULL) < 0)
		return 0;
	fault->type = rh_strdup(type);
	fault->pod = ledger_get_text(entry, "pod");
	fault->node = ledger_get_text(entry, "node");
	fault->container = ledger_get_text(entry, "container");
	fault->reason = ledger_get_text(entry, "reason");
	fault->last_lines = ledger_get_text(entry, "lastLines");
	fault->reported_by = ledger_get_text(entry, "reportedBy");
	fault->blame = rh_blame_of(rh_json_string(rh_json_get(entry, "class")));
	fault->rank = ledger_get_rank(entry);
	if (!until || rh_time_parse(until, &fault->until, NULL) < 0)
		fault->until = 0;
	fault->index = (int32_t)ledger_get_count(entry, "index", INT32_MAX);
	fault->attempt = (int32_t)ledger_get_count(entry, "attempt", INT32_MAX);
	fault->message_offset = (int32_t)ledger_get_count(entry, "messageOffset", INT32_MAX);
	fault->exit_code = -1;
	if (rh_json_integer(rh_json_get(entry, "exitCode"), &code) && code >= 0 && code <= INT32_MAX)
		fault->exit_code = (int32_t)code;
	return fault->type && fault->pod && fault->node && fault->container && fault->reason && fault->last_lines &&
	               fault->reported_by
	           ? 0
	           : RH_ENOMEM;
}

static enum rh_ledger_end ledger_get_end(const struct rh_json *root)
{
	const char *end = rh_json_string(rh_json_get(root, "end"));

	for (int i = RH_END_BACKOFF; end && i <= RH_END_DEADLINE; i++) {
		if (strcmp(end, ledger_ends[i]) == 0)
			return (enum rh_ledger_end)i;
	}
	return RH_END_NONE;
}

static int ledger_get(const struct rh_json *root, const struct rh_job *job, struct rh_ledger *ledger)
{
	if (ledger_get_types(rh_json_get(root, "types"), job, ledger) < 0 ||
	    ledger_get_counted(rh_json_get(root, "counted"), ledger) < 0 ||
	    ledger_get_fault(rh_json_get(root, "fault"), &ledger->fault) < 0 ||
	    rh_uid_map_get(&ledger->made, rh_json_get(root, "made")) < 0 || ledger_get_token(root, &ledger->token) < 0)
		return RH_ENOMEM;
	ledger->attempt = (int32_t)ledger_get_count(root, "attempt", INT32_MAX);
	ledger->stopping = rh_json_bool(rh_json_get(root, "stopping"), false);
	ledger->end = ledger_get_end(root);
	return 0;
}

int rh_ledger_read(const struct rh_job *job, struct rh_ledger *ret_ledger)
{
	const struct rh_json *annotations = rh_json_get(rh_json_get(job->object, "metadata"), "annotations");
	const char *text = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_LEDGER));
	rh_auto(json) root = NULL;
	rh_auto_ledger ledger = {0};
	int r = text ? rh_json_parse(text, strlen(text), &root, NULL) : 0;

	if (r == RH_ENOMEM)
		return r;
	if (root && rh_text_equal(rh_json_string(rh_json_get(root, "uid")), job->uid) && ledger_get(root, job, &ledger) < 0)
		return RH_ENOMEM;
	*ret_ledger = ledger;
	ledger = (struct rh_ledger){0};
	return 0;
}
