/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "host/call/reply.h"
#include "job/expansion.h"
#include "job/keep.h"
#include "job/status/shown.h"

/** Longest variable that Linux takes, its name, the equals sign and the final zero included (MAX_ARG_STRLEN). */
#define REPLY_ENV_MAX (128 * 1024)

/* Longest reason of a verdict. */
#define REPLY_REASON_MAX 128
/* Longest token of a restart. */
#define REPLY_TOKEN_MAX 63

/** Parts of a Pod that only the core writes. */
static const char *const reply_core_paths[] = {
	"apiVersion", "kind", "status", "metadata.namespace", "metadata.ownerReferences", NULL};
/** Parts of a further object that stay as it was named. */
static const char *const reply_object_paths[] = {"apiVersion", "kind", "status", "metadata", NULL};

/** Remember the first error, so that a plugin that goes on after it still fails. @return @p code */
static int reply_stick(struct rh_reply *reply, int code, const struct rh_error *error)
{
	if (reply->status == 0) {
		reply->status = code;
		reply->error = *error;
	}
	return code;
}

/** reply_blame() of an error about a topic. */
static int reply_blame_for(struct rh_reply *reply, const char *service, enum rh_error_topic topic, const char *what)
{
	struct rh_error error = {0};

	(void)rh_fail(&error, RH_EPLUGIN, "%s(): %s", service, what);
	rh_error_set_topic(&error, topic);
	return reply_stick(reply, RH_EPLUGIN, &error);
}

/** reply_stick() of RH_EPLUGIN in words that say what the plugin did wrong. */
static int reply_blame(struct rh_reply *reply, const char *service, const char *what)
{
	return reply_blame_for(reply, service, RH_ERROR_OTHER, what);
}

static int reply_oom(struct rh_reply *reply)
{
	struct rh_error error = {0};

	return reply_stick(reply, rh_fail_oom(&error), &error);
}

static int32_t reply_check(struct rh_reply *reply, enum rh_operation operation, const char *service)
{
	if (reply->operation == operation)
		return 0;
	return reply_blame(reply, service, "is not a service of this operation");
}

/** Count texts (NULL: none) to what the plugin answers in this call. @return 0 or RH_EPLUGIN */
static int32_t reply_charge(struct rh_reply *reply, const char *service, const char *first, const char *second)
{
	struct rh_error error = {0};
	size_t bytes = RH_ANSWER_TEXT_COST + (first ? strlen(first) : 0) + (second ? strlen(second) : 0);

	if (bytes <= RH_ANSWER_BYTES_MAX - reply->bytes) {
		reply->bytes += bytes;
		return 0;
	}
	reply->bytes = RH_ANSWER_BYTES_MAX;
	return reply_stick(reply,
	                   rh_fail(&error, RH_EPLUGIN, "%s(): the answer is larger than the limit of %zu bytes", service,
	                           RH_ANSWER_BYTES_MAX),
	                   &error);
}

static bool reply_is_status(int32_t code)
{
	return code < 0 && code >= RH_ECONFLICT;
}

int32_t rh_reply_fail(struct rh_reply *reply, int32_t code, const char *text)
{
	struct rh_error error = {0};

	if (!reply_is_status(code) || !text)
		return reply_blame(reply, "fail", !text ? "the text is NULL" : "the code is not a negative enum rh_status");
	return reply_stick(reply, rh_fail(&error, code, "%s", text), &error);
}

int32_t rh_reply_note(struct rh_reply *reply, int32_t level, const char *text)
{
	static const enum rh_log_level levels[] = {RH_LOG_DEBUG, RH_LOG_INFO, RH_LOG_WARN};

	int32_t r;

	if (!text || level < RH_NOTE_DEBUG || level > RH_NOTE_WARN)
		return reply_blame(reply, "note", !text ? "the text is NULL" : "the level is not an RH_NOTE_*");
	r = reply_charge(reply, "note", text, NULL);
	if (r < 0)
		return r;
	if (level == RH_NOTE_WARN && reply->operation == RH_OPERATION_VALIDATE)
		return rh_findings_add(reply->findings, RH_FINDING_WARNING, "", "%s", text) < 0 ? reply_oom(reply) : 0;
	rh_log(levels[level], reply->object, "plugin %s: %s", reply->plugin, text);
	return 0;
}

int32_t rh_reply_refuse(struct rh_reply *reply, const char *path, const char *detail)
{
	int32_t r = reply->operation == RH_OPERATION_EXPAND ? 0 : reply_check(reply, RH_OPERATION_VALIDATE, "refuse");
	rh_auto_str place = {0};

	if (r < 0)
		return r;
	if (!path || !detail)
		return reply_blame(reply, "refuse", !path ? "the path is NULL" : "the detail is NULL");
	r = reply_charge(reply, "refuse", path, detail);
	if (r < 0)
		return r;
	rh_lookups_print_path(reply->lookups, path, &place);
	if (place.failed)
		return reply_oom(reply);
	return rh_findings_add(reply->findings, RH_FINDING_ERROR, rh_str_text(&place), "%s", detail) < 0 ? reply_oom(reply)
	                                                                                                 : 0;
}

/** @return a new entry of an env list, or NULL when memory is out */
static struct rh_json *reply_env_entry(const char *name, const char *value)
{
	rh_auto(json) entry = rh_json_new_object();

	if (!entry || rh_json_set_string(entry, "name", name) < 0 || rh_json_set_string(entry, "value", value) < 0)
		return NULL;
	return rh_take(entry);
}

static int reply_add_env(struct rh_json *container, const char *name, const char *value)
{
	struct rh_json *env;

	if (rh_json_type(container) != RH_JSON_OBJECT)
		return 0;
	env = rh_json_ensure_array(container, "env");
	return env ? rh_json_append(env, reply_env_entry(name, value)) : RH_ENOMEM;
}

/** A container with a longer variable could not start: "argument list too long". */
static int32_t reply_check_size(struct rh_reply *reply, const char *name, const char *value)
{
	size_t bytes = strlen(name) + strlen(value) + sizeof("=");
	struct rh_error error = {0};

	if (bytes <= REPLY_ENV_MAX)
		return 0;
	(void)rh_fail(&error, RH_EINVAL,
	              "variable %s would have %zu bytes, and Linux takes %d: the job needs fewer replicas (plugin %s)",
	              name, bytes, REPLY_ENV_MAX, reply->plugin);
	rh_error_set_topic(&error, RH_ERROR_ENV_SIZE);
	return reply_stick(reply, RH_EINVAL, &error);
}

int32_t rh_reply_env(struct rh_reply *reply, const char *container, const char *name, const char *value)
{
	int32_t r = reply_check(reply, RH_OPERATION_POD, "env");
	struct rh_json *item;
	bool found = false;

	if (r < 0)
		return r;
	if (!name || !*name || !value)
		return reply_blame(reply, "env", value ? "the name is empty" : "the value is NULL");
	r = reply_check_size(reply, name, value);
	if (r == 0)
		r = reply_charge(reply, "env", name, value);
	if (r < 0)
		return r;
	for (item = rh_json_first(rh_json_at(reply->pod, "spec.containers")); item; item = rh_json_next(item)) {
		if (container && !rh_text_equal(rh_json_string(rh_json_get(item, "name")), container))
			continue;
		found = true;
		if (reply_add_env(item, name, value) < 0)
			return reply_oom(reply);
	}
	return found ? 0 : reply_blame(reply, "env", "the pod has no such container");
}

/** @return whether @p path is, or lies below, one of @p places, which end with NULL */
static bool reply_is_below(const char *path, const char *const *places)
{
	for (; *places; places++) {
		size_t length = strlen(*places);

		if (strncmp(path, *places, length) == 0 && strchr(".[", path[length]))
			return true;
	}
	return false;
}

/** Parse what a plugin wrote. @return 0, RH_ENOMEM or RH_EPLUGIN, remembered */
static int reply_parse(struct rh_reply *reply, const char *service, const char *json, struct rh_json **ret_value)
{
	struct rh_error error = {0};
	int r;

	if (!json)
		return reply_blame(reply, service, "the JSON is NULL");
	r = rh_json_parse(json, strlen(json), ret_value, &error);
	if (r == RH_EINVAL)
		r = rh_wrap(&error, RH_EPLUGIN, "%s(): no JSON", service);
	return r < 0 ? reply_stick(reply, r, &error) : 0;
}

/** @return 0, or RH_EPLUGIN for a path that edit() does not take */
static int reply_check_edit(struct rh_reply *reply, const char *path)
{
	if (!path)
		return reply_blame(reply, "edit", "the path is NULL");
	if (reply->operation == RH_OPERATION_POD)
		return reply_is_below(path, reply_core_paths)
		           ? reply_blame_for(reply, "edit", RH_ERROR_CORE_FIELD, "this part of a pod is the core's")
		           : 0;
	if (rh_json_size(reply->objects) == 0)
		return reply_blame(reply, "edit", "no object was named before");
	if (*path == '[' || reply_is_below(path, reply_object_paths))
		return reply_blame(reply, "edit", "this part of an object is given when it is named");
	return 0;
}

/** @return what edit() edits: the pod, or the object that was named last */
static struct rh_json *reply_edited(const struct rh_reply *reply)
{
	return reply->operation == RH_OPERATION_POD ? reply->pod
	                                            : rh_json_item(reply->objects, rh_json_size(reply->objects) - 1);
}

int32_t rh_reply_edit(struct rh_reply *reply, const char *path, const char *json)
{
	struct rh_json *value;
	struct rh_error error = {0};
	int32_t r = reply->operation == RH_OPERATION_OBJECTS ? 0 : reply_check(reply, RH_OPERATION_POD, "edit");

	if (r == 0)
		r = reply_check_edit(reply, path);
	if (r == 0)
		r = reply_charge(reply, "edit", path, json);
	if (r == 0)
		r = reply_parse(reply, "edit", json, &value);
	if (r < 0)
		return r;
	r = rh_edit(reply_edited(reply), path, value, &error);
	return r < 0 ? reply_stick(reply, r, &error) : 0;
}

static int32_t reply_check_count(struct rh_reply *reply)
{
	struct rh_error error = {0};

	if (rh_json_size(reply->objects) < RH_ANSWER_OBJECTS_MAX)
		return 0;
	return reply_stick(
		reply, rh_fail(&error, RH_EPLUGIN, "object(): more than the limit of %zu objects", RH_ANSWER_OBJECTS_MAX),
		&error);
}

/** @return how many of the objects so far are made once */
static size_t reply_count_once(const struct rh_reply *reply)
{
	size_t count = 0;

	for (const struct rh_json *object = rh_json_first(reply->objects); object; object = rh_json_next(object))
		count += rh_keep_read(object).once;
	return count;
}

static int32_t reply_check_object(struct rh_reply *reply, const char *service, const struct rh_json *object)
{
	if (!rh_json_string_at(object, "apiVersion") || !rh_json_string_at(object, "kind") ||
	    !rh_json_string_at(object, "metadata.name"))
		return reply_blame_for(reply, service, RH_ERROR_IDENTITY, "apiVersion, kind or metadata.name is missing");
	return 0;
}

/** Add an object. @param keep NULL: it is kept as usual */
static int32_t reply_add_object(struct rh_reply *reply, const char *service, const char *json,
                                const struct rh_keep *keep)
{
	rh_auto(json) object = NULL;
	int32_t r = reply_charge(reply, service, json, NULL);

	if (r == 0)
		r = reply_check_count(reply);
	if (r == 0)
		r = reply_parse(reply, service, json, &object);
	if (r == 0)
		r = reply_check_object(reply, service, object);
	if (r < 0)
		return r;
	rh_keep_clear(object);
	if (keep && rh_keep_write(object, keep) < 0)
		return reply_oom(reply);
	return rh_json_append(reply->objects, rh_take(object)) < 0 ? reply_oom(reply) : 0;
}

int32_t rh_reply_object(struct rh_reply *reply, const char *json)
{
	int32_t r = reply->operation == RH_OPERATION_MAKE ? 0 : reply_check(reply, RH_OPERATION_OBJECTS, "object");

	return r < 0 ? r : reply_add_object(reply, "object", json, NULL);
}

static int32_t reply_check_options(struct rh_reply *reply, const struct rh_object_options *options)
{
	bool once = (options->flags & RH_OBJECT_ONCE) != 0;
	const char *what = NULL;

	if (options->head.size < offsetof(struct rh_object_options, random_bytes) + sizeof(options->random_bytes))
		what = "the options have no head";
	else if (options->flags & ~(RH_OBJECT_ONCE | RH_OBJECT_RETAIN | RH_OBJECT_PAIR))
		what = "the options have a flag that this host does not know";
	else if (options->random_bytes > RH_KEEP_RANDOM_MAX)
		what = "random_bytes is more than 256";
	else if ((options->flags & RH_OBJECT_PAIR) && options->random_bytes != RH_PAIR_BYTES)
		what = "RH_OBJECT_PAIR needs random_bytes RH_PAIR_BYTES";
	else if (options->random_bytes > 0 && !once)
		what = "random_bytes needs RH_OBJECT_ONCE";
	else if (options->random_bytes > 0 && (options->flags & RH_OBJECT_RETAIN))
		what = "random_bytes and RH_OBJECT_RETAIN exclude each other";
	else if (once && reply_count_once(reply) >= RH_ANSWER_ONCE_MAX)
		what = "more than 32 objects with RH_OBJECT_ONCE";
	return what ? reply_blame(reply, "object_with", what) : 0;
}

int32_t rh_reply_object_with(struct rh_reply *reply, const char *json, const struct rh_object_options *options)
{
	int32_t r = reply_check(reply, RH_OPERATION_OBJECTS, "object_with");
	struct rh_keep keep;

	if (r == 0 && options)
		r = reply_check_options(reply, options);
	if (r < 0)
		return r;
	if (!options || options->flags == 0)
		return reply_add_object(reply, "object_with", json, NULL);
	keep = (struct rh_keep){.once = (options->flags & RH_OBJECT_ONCE) != 0,
	                        .retain = (options->flags & RH_OBJECT_RETAIN) != 0,
	                        .pair = (options->flags & RH_OBJECT_PAIR) != 0,
	                        .random = options->random_bytes};
	return reply_add_object(reply, "object_with", json, &keep);
}

/** @param given the verdict with borrowed texts, which are copied */
static int reply_keep_verdict(struct rh_judgement *judgement, const struct rh_verdict *given)
{
	struct rh_verdict *item = &judgement->items[judgement->count++];

	*item = (struct rh_verdict){given->verdict, rh_strdup(given->type), rh_strdup(given->reason),
	                            rh_strdup(given->message)};
	return (given->type && !item->type) || (given->reason && !item->reason) || (given->message && !item->message)
	           ? RH_ENOMEM
	           : 0;
}

/** @return whether it is one word that begins with a capital letter, or two with "/" between */
static bool reply_is_reason(const char *reason)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t first = strspn(reason, letters);
	const char *second = reason[first] == '/' ? reason + first + 1 : NULL;

	if (strlen(reason) > REPLY_REASON_MAX || !(*reason >= 'A' && *reason <= 'Z'))
		return false;
	if (!second)
		return !reason[first];
	return *second >= 'A' && *second <= 'Z' && !second[strspn(second, letters)];
}

/** verdict() and conclude(), which differ in the reason. */
static int32_t reply_judge(struct rh_reply *reply, const char *service, const struct rh_verdict *given)
{
	int32_t r = reply_check(reply, RH_OPERATION_JUDGE, service);

	if (r < 0)
		return r;
	if (given->verdict < RH_VERDICT_RUNNING || given->verdict > RH_VERDICT_RESTARTING)
		return reply_blame(reply, service, "it is not an RH_VERDICT_*");
	if (given->reason && !reply_is_reason(given->reason))
		return reply_blame(reply, service, "the reason is not a word that begins with a capital letter");
	if (reply->judgement->count == RH_VERDICTS_MAX)
		return reply_blame(reply, service, "too many in one call");
	r = reply_charge(reply, service, given->type, given->message);
	if (r < 0)
		return r;
	return reply_keep_verdict(reply->judgement, given) < 0 ? reply_oom(reply) : 0;
}

int32_t rh_reply_verdict(struct rh_reply *reply, int32_t verdict, const char *type, const char *message)
{
	return reply_judge(reply, "verdict",
	                   &(struct rh_verdict){verdict, (char *)(uintptr_t)type, NULL, (char *)(uintptr_t)message});
}

int32_t rh_reply_conclude(struct rh_reply *reply, int32_t verdict, const char *type, const char *reason,
                          const char *message)
{
	return reply_judge(
		reply, "conclude",
		&(struct rh_verdict){verdict, (char *)(uintptr_t)type, (char *)(uintptr_t)reason, (char *)(uintptr_t)message});
}

static int32_t reply_check_status(struct rh_reply *reply, const char *field, const char *json)
{
	const struct rh_judgement *judgement = reply->judgement;
	const char *text = reply->job ? rh_shown_schema(reply->job->kind) : NULL;
	rh_auto(json) schema = NULL;
	const char *what = NULL;

	/* the loader has checked it, so only memory can be missing */
	if (text && rh_json_parse(text, strlen(text), &schema, NULL) < 0)
		return reply_oom(reply);
	if (!field || !rh_json_get(schema, field))
		what = "status_schema does not have this field";
	else if (!json)
		what = "the JSON is NULL";
	else if (strlen(json) > RH_ANSWER_STATUS_MAX - judgement->status_bytes)
		what = "more than 64 KiB in one call";
	return what ? reply_blame(reply, "status", what) : 0;
}

int32_t rh_reply_status(struct rh_reply *reply, const char *field, const char *json)
{
	struct rh_judgement *judgement = reply->judgement;
	struct rh_json *value;
	int32_t r = reply_check(reply, RH_OPERATION_JUDGE, "status");

	if (r == 0)
		r = reply_check_status(reply, field, json);
	if (r == 0)
		r = reply_charge(reply, "status", field, json);
	if (r == 0)
		r = reply_parse(reply, "status", json, &value);
	if (r < 0)
		return r;
	judgement->status_bytes += strlen(json);
	if (!judgement->status)
		judgement->status = rh_json_new_object();
	return rh_json_set(judgement->status, field, value) < 0 ? reply_oom(reply) : 0;
}

/** @return the spec of a replica, or of a type where @p index is -1; NULL: the job does not have it */
static const struct rh_replica_spec *reply_find_replica(const struct rh_reply *reply, const char *type, int32_t index)
{
	const struct rh_replica_spec *spec = type && reply->job ? rh_job_spec(reply->job, type) : NULL;

	return spec && index >= -1 && index < spec->replicas ? spec : NULL;
}

static int32_t reply_keep_hold(struct rh_reply *reply, const char *type, int32_t index)
{
	struct rh_judgement *judgement = reply->judgement;
	struct rh_hold *holds = rh_realloc_array(judgement->holds, judgement->hold_count + 1, sizeof(*holds));

	if (!holds)
		return reply_oom(reply);
	judgement->holds = holds;
	holds[judgement->hold_count++] = (struct rh_hold){type, index};
	return 0;
}

int32_t rh_reply_hold(struct rh_reply *reply, const char *type, int32_t index, const char *reason)
{
	int32_t r = reply_check(reply, RH_OPERATION_JUDGE, "hold");
	const struct rh_replica_spec *spec;

	if (r < 0)
		return r;
	spec = reply_find_replica(reply, type, index);
	if (!spec || !reason || !*reason)
		return reply_blame(reply, "hold", spec ? "it needs a reason" : "the job has no such replica");
	r = reply_charge(reply, "hold", type, reason);
	if (r < 0)
		return r;
	rh_log(RH_LOG_DEBUG, reply->object, "plugin %s: %s %d waits: %s", reply->plugin, spec->type, (int)index, reason);
	return reply_keep_hold(reply, spec->type, index);
}

/** @return what is wrong with the arguments of restart(), or NULL. @param spec of the type; NULL: none */
static const char *reply_judge_restart(const struct rh_restart *given, const struct rh_replica_spec *spec)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	const char *token = given->token;

	if (given->type ? !spec : given->index != -1)
		return "the job has no such replica";
	if (given->flags & ~RH_RESTART_FREE)
		return "it has a flag that this host does not know";
	if (!token)
		return NULL;
	if (given->index >= 0)
		return "one replica has no token";
	return !*token || token[strspn(token, letters)] || strlen(token) > REPLY_TOKEN_MAX
	           ? "the token is not 1 to 63 letters, digits, '.', '_' and '-'"
	           : NULL;
}

/** @param given with borrowed texts, which are copied; its type is the job's */
static int32_t reply_keep_restart(struct rh_reply *reply, const struct rh_restart *given)
{
	struct rh_judgement *judgement = reply->judgement;
	struct rh_restart *restarts =
		rh_realloc_array(judgement->restarts, judgement->restart_count + 1, sizeof(*restarts));
	struct rh_restart *item;

	if (!restarts)
		return reply_oom(reply);
	judgement->restarts = restarts;
	item = &restarts[judgement->restart_count++];
	*item = *given;
	item->token = rh_strdup(given->token);
	item->message = rh_strdup(given->message);
	return (given->token && !item->token) || (given->message && !item->message) ? reply_oom(reply) : 0;
}

int32_t rh_reply_restart(struct rh_reply *reply, const char *type, int32_t index, uint32_t flags, const char *token,
                         const char *message)
{
	struct rh_restart given = {type, index, flags, (char *)(uintptr_t)token, (char *)(uintptr_t)message};
	int32_t r = reply_check(reply, RH_OPERATION_JUDGE, "restart");
	const struct rh_replica_spec *spec = r == 0 ? reply_find_replica(reply, type, index) : NULL;
	const char *wrong = r == 0 ? reply_judge_restart(&given, spec) : NULL;

	if (wrong)
		return reply_blame(reply, "restart", wrong);
	if (r == 0)
		r = reply_charge(reply, "restart", token, message);
	if (r < 0)
		return r;
	given.type = spec ? spec->type : NULL;
	return reply_keep_restart(reply, &given);
}

int32_t rh_reply_expansion(struct rh_reply *reply, const char *json)
{
	struct rh_error error = {0};
	int32_t r = reply_check(reply, RH_OPERATION_EXPAND, "expansion");

	if (r == 0 && reply->expansion)
		r = reply_blame(reply, "expansion", "it was called before");
	if (r == 0 && !json)
		r = reply_blame(reply, "expansion", "the JSON is NULL");
	if (r == 0)
		r = reply_charge(reply, "expansion", json, NULL);
	if (r < 0)
		return r;
	r = rh_expansion_parse(reply->job->kind, json, &reply->expansion, &error);
	if (r == RH_EPLUGIN)
		(void)rh_wrap(&error, r, "expansion()");
	return r < 0 ? reply_stick(reply, r, &error) : 0;
}
