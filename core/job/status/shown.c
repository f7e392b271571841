/* SPDX-License-Identifier: Apache-2.0 */
#include "job/status/shown.h"

#include <string.h>

#include "base/mem.h"
#include "job/fields.h"
#include "job/status/conditions.h"
#include "job/values/names.h"

/* Members of status that the core writes, as rh_job_status_json() makes them. */
static const char *const shown_times[] = {"startTime", "completionTime", "lastReconcileTime"};

#define SHOWN_TIMES (sizeof(shown_times) / sizeof(shown_times[0]))
#define SHOWN_COUNTS "replicaStatuses"

static bool shown_is_time(const char *member)
{
	for (size_t i = 0; i < SHOWN_TIMES; i++) {
		if (strcmp(member, shown_times[i]) == 0)
			return true;
	}
	return false;
}

const char *rh_shown_schema(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, status_schema) ? kind->status_schema : NULL;
}

/* The loader has checked it; owned by the caller. */
static struct rh_json *shown_parse_schema(const struct rh_kind *kind)
{
	const char *text = rh_shown_schema(kind);
	struct rh_json *schema = NULL;

	return text && rh_json_parse(text, strlen(text), &schema, NULL) == 0 ? schema : NULL;
}

bool rh_shown_is_own(const struct rh_kind *kind, const char *member)
{
	rh_auto(json) schema = shown_parse_schema(kind);

	return rh_json_get(schema, member);
}

static bool shown_has_counts(const struct rh_kind *kind)
{
	return !(kind->flags & RH_KIND_OWN_STATUS) && !rh_shown_is_own(kind, SHOWN_COUNTS);
}

static bool shown_has_times(const struct rh_kind *kind)
{
	return !(kind->flags & RH_KIND_OWN_STATUS);
}

bool rh_shown_is_core(const struct rh_kind *kind, const char *member)
{
	if (shown_is_time(member))
		return shown_has_times(kind);
	return strcmp(member, "conditions") == 0 || (strcmp(member, SHOWN_COUNTS) == 0 && shown_has_counts(kind));
}

bool rh_shown_hides(const struct rh_kind *kind)
{
	rh_auto(json) conditions = rh_conditions_parse(kind);
	bool hides = !shown_has_times(kind) || !shown_has_counts(kind);

	for (const struct rh_json *entry = rh_json_first(conditions); entry && !hides; entry = rh_json_next(entry))
		hides = rh_json_type(entry) == RH_JSON_NULL;
	return hides;
}

/* Move a member, where it is there. */
static int shown_move(struct rh_json *from, struct rh_json *to, const char *member)
{
	struct rh_json *value = rh_json_detach(from, member);

	return value || rh_json_get(from, member) ? rh_json_set(to, member, value) : 0;
}

static int shown_move_members(const struct rh_kind *kind, struct rh_json *shown, struct rh_json *hidden)
{
	int r = shown_has_counts(kind) ? 0 : shown_move(shown, hidden, SHOWN_COUNTS);

	for (size_t i = 0; i < SHOWN_TIMES && r == 0 && !shown_has_times(kind); i++)
		r = shown_move(shown, hidden, shown_times[i]);
	return r;
}

/* Give a condition its name, or move it where the kind does not show it. */
static int shown_place_condition(const struct rh_json *conditions, struct rh_json *condition, struct rh_json *shown,
                                 struct rh_json *hidden)
{
	const char *type = rh_json_string(rh_json_get(condition, "type"));
	const char *name = type ? rh_conditions_shown(conditions, type) : NULL;
	struct rh_json *list = rh_json_ensure_array(name ? shown : hidden, "conditions");

	if (!condition || !list || (name && rh_json_set_string(condition, "type", name) < 0)) {
		rh_json_free(condition);
		return RH_ENOMEM;
	}
	return rh_json_append(list, condition);
}

static int shown_move_conditions(const struct rh_kind *kind, struct rh_json *shown, struct rh_json *hidden)
{
	rh_auto(json) conditions = rh_conditions_parse(kind);
	rh_auto(json) all = conditions ? rh_json_detach(shown, "conditions") : NULL;
	int r = 0;

	while (r == 0 && rh_json_size(all) > 0)
		r = shown_place_condition(conditions, rh_json_detach_item(all, 0), shown, hidden);
	return r;
}

static int shown_put_own(const struct rh_job_status *status, struct rh_json *shown)
{
	for (const struct rh_json *member = rh_json_first(status->own); member; member = rh_json_next(member)) {
		if (rh_json_set(shown, rh_json_key(member), rh_json_copy(member)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* Both parts of a status; one of them is NULL where memory is out. */
static int shown_split(const struct rh_kind *kind, const struct rh_job_status *status, struct rh_json **ret_shown,
                       struct rh_json **ret_hidden)
{
	rh_auto(json) shown = rh_job_status_json(status);
	rh_auto(json) hidden = rh_json_new_object();

	if (!shown || !hidden || shown_move_members(kind, shown, hidden) < 0 ||
	    shown_move_conditions(kind, shown, hidden) < 0 || shown_put_own(status, shown) < 0)
		return RH_ENOMEM;
	*ret_shown = rh_take(shown);
	*ret_hidden = rh_take(hidden);
	return 0;
}

struct rh_json *rh_shown_json(const struct rh_kind *kind, const struct rh_job_status *status)
{
	struct rh_json *shown = NULL;
	rh_auto(json) hidden = NULL;

	(void)shown_split(kind, status, &shown, &hidden);
	return shown;
}

struct rh_json *rh_shown_hidden(const struct rh_kind *kind, const struct rh_job_status *status, const char *uid)
{
	rh_auto(json) shown = NULL;
	rh_auto(json) hidden = NULL;

	if (shown_split(kind, status, &shown, &hidden) < 0 || rh_json_set_string(hidden, "uid", uid) < 0)
		return NULL;
	return rh_take(hidden);
}

/* The annotation, which users can edit, and may have copied from another job; owned by the caller. */
static struct rh_json *shown_read_hidden(const struct rh_json *object)
{
	const struct rh_json *annotations = rh_json_at(object, "metadata.annotations");
	const char *text = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_STATUS));
	rh_auto(json) hidden = NULL;

	if (!text || rh_json_parse(text, strlen(text), &hidden, NULL) < 0 || rh_json_type(hidden) != RH_JSON_OBJECT ||
	    !rh_text_equal(rh_json_string(rh_json_get(hidden, "uid")), rh_json_string_at(object, "metadata.uid")))
		return NULL;
	if (rh_json_type(rh_json_get(hidden, "conditions")) != RH_JSON_ARRAY)
		rh_json_remove(hidden, "conditions");
	return rh_take(hidden);
}

/* A condition of a name that the kind does not use for it is nobody's. */
static int shown_join_condition(const struct rh_json *conditions, const struct rh_json *condition, struct rh_json *list)
{
	const char *name = rh_json_string(rh_json_get(condition, "type"));
	const char *type = name ? rh_conditions_type(conditions, name) : NULL;
	rh_auto(json) copy = type ? rh_json_copy(condition) : NULL;

	if (!type)
		return 0;
	if (!copy || rh_json_set_string(copy, "type", type) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(copy));
}

/* Add to what the annotation has what the status shows. */
static int shown_join(const struct rh_kind *kind, const struct rh_json *shown, struct rh_json *all)
{
	rh_auto(json) conditions = kind ? rh_conditions_parse(kind) : NULL;
	struct rh_json *list = rh_json_ensure_array(all, "conditions");
	int r = list ? 0 : RH_ENOMEM;

	for (const struct rh_json *item = rh_fields_first(shown, "conditions"); item && r == 0; item = rh_json_next(item))
		r = shown_join_condition(conditions, item, list);
	for (const struct rh_json *member = rh_json_first(shown); member && r == 0; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		if (strcmp(key, "conditions") != 0 && (!kind || rh_shown_is_core(kind, key)) && !rh_json_get(all, key))
			r = rh_json_set(all, key, rh_json_copy(member));
	}
	return r;
}

/* The members of the plugin, as they are; NULL where there is no such kind of members. */
static int shown_read_own(const struct rh_kind *kind, const struct rh_json *shown, struct rh_json **ret_own)
{
	rh_auto(json) schema = kind ? shown_parse_schema(kind) : NULL;
	rh_auto(json) own = schema ? rh_json_new_object() : NULL;

	if (!schema)
		return 0;
	for (const struct rh_json *field = rh_json_first(schema); own && field; field = rh_json_next(field)) {
		const struct rh_json *value = rh_json_get(shown, rh_json_key(field));

		if (value && rh_json_set(own, rh_json_key(field), rh_json_copy(value)) < 0)
			return RH_ENOMEM;
	}
	*ret_own = rh_take(own);
	return *ret_own ? 0 : RH_ENOMEM;
}

/* @return whether the status is as the core writes it */
static bool shown_is_plain(const struct rh_kind *kind, const struct rh_json *object)
{
	const struct rh_json *annotations = rh_json_at(object, "metadata.annotations");

	return kind ? !rh_conditions_text(kind) && !rh_shown_schema(kind) && shown_has_times(kind)
	            : !rh_json_get(annotations, RH_ANNOTATION_STATUS);
}

/* It was written before the conditions of the same plan, which may never have been. */
static void shown_settle(struct rh_job_status *status)
{
	if (!rh_job_status_finished(status))
		status->completed_at = 0;
}

int rh_shown_read(const struct rh_kind *kind, const struct rh_json *object, struct rh_job_status *ret_status)
{
	const struct rh_json *status = rh_json_get(object, "status");
	const struct rh_json *shown = rh_json_type(status) == RH_JSON_OBJECT ? status : NULL;
	rh_auto(json) all = NULL;
	int r;

	if (shown_is_plain(kind, object))
		return rh_job_status_parse(status, ret_status);
	all = shown_read_hidden(object);
	if (!all)
		all = rh_json_new_object();
	r = all ? shown_join(kind, shown, all) : RH_ENOMEM;
	if (r == 0)
		r = rh_job_status_parse(all, ret_status);
	if (r < 0)
		return r;
	if (kind && rh_shown_hides(kind))
		shown_settle(ret_status);
	r = shown_read_own(kind, shown, &ret_status->own);
	if (r < 0)
		rh_job_status_deinit(ret_status);
	return r;
}
