/* SPDX-License-Identifier: Apache-2.0 */
#include "job/status/status.h"

#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "job/fields.h"

/* A condition of a status that is being read, or that is to be set. Texts are borrowed. */
struct status_entry {
	const char *type;
	const char *reason;
	const char *message;
	bool status;
	int64_t updated_at;
	int64_t transitioned_at;
};

static void status_free_condition(struct rh_condition *condition)
{
	rh_free(condition->type);
	rh_free(condition->reason);
	rh_free(condition->message);
	*condition = (struct rh_condition){0};
}

void rh_job_status_deinit(struct rh_job_status *status)
{
	for (size_t i = 0; i < status->condition_count; i++)
		status_free_condition(&status->conditions[i]);
	for (size_t i = 0; i < status->replica_count; i++) {
		rh_free(status->replicas[i].type);
		rh_free(status->replicas[i].selector);
	}
	rh_json_free(status->own);
	*status = (struct rh_job_status){0};
}

static void status_remove(struct rh_job_status *status, size_t index)
{
	status_free_condition(&status->conditions[index]);
	status->condition_count--;
	memmove(&status->conditions[index], &status->conditions[index + 1],
	        (status->condition_count - index) * sizeof(status->conditions[0]));
	status->conditions[status->condition_count] = (struct rh_condition){0};
}

bool rh_job_status_remove(struct rh_job_status *status, const char *type)
{
	size_t before = status->condition_count;

	for (size_t i = status->condition_count; i-- > 0;) {
		if (strcmp(status->conditions[i].type, type) == 0)
			status_remove(status, i);
	}
	return status->condition_count < before;
}

static bool status_is_ours(const char *type)
{
	static const char *const ours[] = {RH_CONDITION_CREATED,   RH_CONDITION_RUNNING,   RH_CONDITION_RESTARTING,
	                                   RH_CONDITION_SUSPENDED, RH_CONDITION_SUCCEEDED, RH_CONDITION_FAILED,
	                                   RH_CONDITION_STALLED};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strcmp(type, ours[i]) == 0)
			return true;
	}
	return false;
}

/* There is always a foreign one when there is no room: our types are few and each is kept once. */
static void status_make_room(struct rh_job_status *status)
{
	if (status->condition_count < RH_CONDITIONS_MAX)
		return;
	for (size_t i = 0; i < status->condition_count; i++) {
		if (!status_is_ours(status->conditions[i].type)) {
			status_remove(status, i);
			return;
		}
	}
}

static int status_copy_condition(const struct status_entry *entry, struct rh_condition *ret_condition)
{
	struct rh_condition made = {
		.type = rh_strdup(entry->type),
		.reason = rh_strdup(entry->reason),
		.message = rh_strdup(entry->message),
		.status = entry->status,
		.updated_at = entry->updated_at,
		.transitioned_at = entry->transitioned_at,
	};

	if (!made.type || !made.reason || !made.message) {
		status_free_condition(&made);
		return RH_ENOMEM;
	}
	*ret_condition = made;
	return 0;
}

/* Put the condition at the end in place of an earlier one of its type; on failure nothing has changed. */
static int status_append(struct rh_job_status *status, const struct status_entry *entry)
{
	struct rh_condition made;
	int r = status_copy_condition(entry, &made);

	if (r != 0)
		return r;
	(void)rh_job_status_remove(status, made.type);
	status_make_room(status);
	status->conditions[status->condition_count++] = made;
	return 0;
}

int rh_job_status_copy(struct rh_job_status *to, const struct rh_job_status *from)
{
	int r = 0;

	to->started_at = from->started_at;
	to->completed_at = from->completed_at;
	to->reconciled_at = from->reconciled_at;
	to->own = from->own ? rh_json_copy(from->own) : NULL;
	r = from->own && !to->own ? RH_ENOMEM : 0;
	for (size_t i = 0; i < from->condition_count && r == 0; i++) {
		const struct rh_condition *item = &from->conditions[i];
		struct status_entry entry = {item->type,   item->reason,     item->message,
		                             item->status, item->updated_at, item->transitioned_at};

		r = status_append(to, &entry);
	}
	for (size_t i = 0; i < from->replica_count && r == 0; i++) {
		const struct rh_replica_status *item = &from->replicas[i];
		struct rh_replica_status made = {rh_strdup(item->type), item->active, item->succeeded, item->failed,
		                                 rh_strdup(item->selector)};

		to->replicas[to->replica_count++] = made;
		r = !made.type || (item->selector && !made.selector) ? RH_ENOMEM : 0;
	}
	if (r != 0)
		rh_job_status_deinit(to);
	return r;
}

static int32_t status_read_count(const struct rh_json *object, const char *key)
{
	int64_t value;

	return rh_json_integer(rh_json_get(object, key), &value) && value >= 0 && value <= INT32_MAX ? (int32_t)value : 0;
}

static int status_parse_condition(struct rh_job_status *status, const struct rh_json *json)
{
	struct status_entry entry = {
		.type = rh_fields_text_or_empty(json, "type"),
		.reason = rh_fields_text_or_empty(json, "reason"),
		.message = rh_fields_text_or_empty(json, "message"),
		.status = strcmp(rh_fields_text_or_empty(json, "status"), "True") == 0,
		.updated_at = rh_fields_time_or_zero(json, "lastUpdateTime"),
		.transitioned_at = rh_fields_time_or_zero(json, "lastTransitionTime"),
	};

	return *entry.type ? status_append(status, &entry) : 0;
}

static int status_parse_replica(struct rh_job_status *status, const struct rh_json *json)
{
	const char *selector = rh_fields_text_or_empty(json, "selector");
	struct rh_replica_status *replica;

	if (rh_json_type(json) != RH_JSON_OBJECT || status->replica_count == RH_TYPES_MAX)
		return 0;
	replica = rh_job_status_replica(status, rh_json_key(json));
	if (!replica)
		return RH_ENOMEM;
	replica->active = status_read_count(json, "active");
	replica->succeeded = status_read_count(json, "succeeded");
	replica->failed = status_read_count(json, "failed");
	if (!*selector)
		return 0;
	replica->selector = rh_strdup(selector);
	return replica->selector ? 0 : RH_ENOMEM;
}

static int status_parse_lists(struct rh_job_status *status, const struct rh_json *json)
{
	const struct rh_json *replicas = rh_json_get(json, "replicaStatuses");
	int r = 0;

	for (const struct rh_json *item = rh_fields_first(json, "conditions"); item && r == 0; item = rh_json_next(item))
		r = status_parse_condition(status, item);
	if (rh_json_type(replicas) == RH_JSON_OBJECT) {
		for (const struct rh_json *item = rh_json_first(replicas); item && r == 0; item = rh_json_next(item))
			r = status_parse_replica(status, item);
	}
	return r;
}

int rh_job_status_parse(const struct rh_json *json, struct rh_job_status *ret_status)
{
	struct rh_job_status status = {
		.started_at = rh_fields_time_or_zero(json, "startTime"),
		.completed_at = rh_fields_time_or_zero(json, "completionTime"),
		.reconciled_at = rh_fields_time_or_zero(json, "lastReconcileTime"),
	};
	int r = status_parse_lists(&status, json);

	if (r != 0) {
		rh_job_status_deinit(&status);
		return r;
	}
	*ret_status = status;
	return 0;
}

/* The writers below give back 0 or RH_ENOMEM, so that a chain of them stops at the first failure. */
static int status_write_text(struct rh_json *object, const char *key, const char *text)
{
	return text && *text ? rh_json_set_string(object, key, text) : 0;
}

static int status_write_time(struct rh_json *object, const char *key, int64_t time)
{
	char buffer[RH_TIME_SIZE];

	return time ? rh_json_set_string(object, key, rh_time_format(time, buffer)) : 0;
}

static int status_write_count(struct rh_json *object, const char *key, int32_t count)
{
	return count ? rh_json_set_integer(object, key, count) : 0;
}

static int status_write_condition(struct rh_json *list, const struct rh_condition *condition)
{
	rh_auto(json) made = rh_json_new_object();

	if (!made || rh_json_set_string(made, "type", condition->type) != 0 ||
	    rh_json_set_string(made, "status", condition->status ? "True" : "False") != 0 ||
	    status_write_text(made, "reason", condition->reason) != 0 ||
	    status_write_text(made, "message", condition->message) != 0 ||
	    status_write_time(made, "lastUpdateTime", condition->updated_at) != 0 ||
	    status_write_time(made, "lastTransitionTime", condition->transitioned_at) != 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(made));
}

static int status_write_replica(struct rh_json *map, const struct rh_replica_status *replica)
{
	rh_auto(json) made = rh_json_new_object();

	if (!made || status_write_count(made, "active", replica->active) != 0 ||
	    status_write_count(made, "succeeded", replica->succeeded) != 0 ||
	    status_write_count(made, "failed", replica->failed) != 0 ||
	    status_write_text(made, "selector", replica->selector) != 0)
		return RH_ENOMEM;
	return rh_json_set(map, replica->type, rh_take(made));
}

static int status_write_lists(struct rh_json *object, const struct rh_job_status *status)
{
	struct rh_json *list = status->condition_count ? rh_json_ensure_array(object, "conditions") : NULL;
	struct rh_json *map = status->replica_count ? rh_json_ensure_object(object, "replicaStatuses") : NULL;
	int r = (status->condition_count && !list) || (status->replica_count && !map) ? RH_ENOMEM : 0;

	for (size_t i = 0; i < status->condition_count && r == 0; i++)
		r = status_write_condition(list, &status->conditions[i]);
	for (size_t i = 0; i < status->replica_count && r == 0; i++)
		r = status_write_replica(map, &status->replicas[i]);
	return r;
}

struct rh_json *rh_job_status_json(const struct rh_job_status *status)
{
	rh_auto(json) made = rh_json_new_object();

	if (!made || status_write_lists(made, status) != 0 ||
	    status_write_time(made, "startTime", status->started_at) != 0 ||
	    status_write_time(made, "completionTime", status->completed_at) != 0 ||
	    status_write_time(made, "lastReconcileTime", status->reconciled_at) != 0)
		return NULL;
	return rh_take(made);
}

static int64_t status_second(int64_t time)
{
	return time / RH_SECOND - (time % RH_SECOND < 0);
}

/* Only whole seconds are ever written, so only they can differ. */
static bool status_same_time(int64_t a, int64_t b)
{
	return status_second(a) == status_second(b);
}

static bool status_same_condition(const struct rh_condition *a, const struct rh_condition *b)
{
	return a->status == b->status && rh_text_equal(a->type, b->type) && rh_text_equal(a->reason, b->reason) &&
	       rh_text_equal(a->message, b->message) && status_same_time(a->updated_at, b->updated_at) &&
	       status_same_time(a->transitioned_at, b->transitioned_at);
}

static bool status_same_replica(const struct rh_replica_status *a, const struct rh_replica_status *b)
{
	return a->active == b->active && a->succeeded == b->succeeded && a->failed == b->failed &&
	       rh_text_equal(a->selector ? a->selector : "", b->selector ? b->selector : "");
}

static const struct rh_replica_status *status_find_replica(const struct rh_job_status *status, const char *type)
{
	for (size_t i = 0; i < status->replica_count; i++) {
		if (strcmp(status->replicas[i].type, type) == 0)
			return &status->replicas[i];
	}
	return NULL;
}

bool rh_job_status_equal(const struct rh_job_status *a, const struct rh_job_status *b)
{
	if (a->condition_count != b->condition_count || a->replica_count != b->replica_count ||
	    !status_same_time(a->started_at, b->started_at) || !status_same_time(a->completed_at, b->completed_at) ||
	    !status_same_time(a->reconciled_at, b->reconciled_at) || !rh_json_equal(a->own, b->own))
		return false;
	for (size_t i = 0; i < a->condition_count; i++) {
		if (!status_same_condition(&a->conditions[i], &b->conditions[i]))
			return false;
	}
	for (size_t i = 0; i < a->replica_count; i++) {
		const struct rh_replica_status *other = status_find_replica(b, a->replicas[i].type);

		if (!other || !status_same_replica(&a->replicas[i], other))
			return false;
	}
	return true;
}

const struct rh_condition *rh_job_status_condition(const struct rh_job_status *status, const char *type)
{
	for (size_t i = 0; i < status->condition_count; i++) {
		if (strcmp(status->conditions[i].type, type) == 0)
			return &status->conditions[i];
	}
	return NULL;
}

bool rh_job_status_is(const struct rh_job_status *status, const char *type)
{
	const struct rh_condition *condition = rh_job_status_condition(status, type);

	return condition && condition->status;
}

bool rh_job_status_finished(const struct rh_job_status *status)
{
	return rh_job_status_is(status, RH_CONDITION_SUCCEEDED) || rh_job_status_is(status, RH_CONDITION_FAILED);
}

/* Effect of a condition of @type on the others (v1-behaviour E.1-4). */
static void status_displace(struct rh_job_status *status, const char *type)
{
	if (strcmp(type, RH_CONDITION_RESTARTING) == 0)
		(void)rh_job_status_remove(status, RH_CONDITION_RUNNING);
	if (strcmp(type, RH_CONDITION_RUNNING) == 0)
		(void)rh_job_status_remove(status, RH_CONDITION_RESTARTING);
	if (strcmp(type, RH_CONDITION_SUCCEEDED) != 0 && strcmp(type, RH_CONDITION_FAILED) != 0)
		return;
	for (size_t i = 0; i < status->condition_count; i++) {
		if (strcmp(status->conditions[i].type, RH_CONDITION_RUNNING) == 0)
			status->conditions[i].status = false;
	}
}

int rh_job_status_set(struct rh_job_status *status, const char *type, bool value, const char *reason,
                      const char *message, int64_t now)
{
	const struct rh_condition *old = rh_job_status_condition(status, type);
	struct status_entry entry = {type, reason, message, value, now, now};
	int r;

	if (rh_job_status_is(status, RH_CONDITION_FAILED))
		return 0;
	if (old && old->status == value && strcmp(old->reason, reason) == 0)
		return 0;
	if (old && old->status == value)
		entry.transitioned_at = old->transitioned_at;
	r = status_append(status, &entry);
	if (r != 0)
		return r;
	status_displace(status, status->conditions[status->condition_count - 1].type);
	return 1;
}

struct rh_replica_status *rh_job_status_replica(struct rh_job_status *status, const char *type)
{
	struct rh_replica_status *made = &status->replicas[status->replica_count];

	for (size_t i = 0; i < status->replica_count; i++) {
		if (strcmp(status->replicas[i].type, type) == 0)
			return &status->replicas[i];
	}
	if (status->replica_count == RH_TYPES_MAX)
		return NULL;
	*made = (struct rh_replica_status){.type = rh_strdup(type)};
	if (!made->type)
		return NULL;
	status->replica_count++;
	return made;
}
