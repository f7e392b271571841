/* SPDX-License-Identifier: Apache-2.0 */
#include "job/fields.h"

#include <string.h>

#include <inttypes.h>

#include "base/os/clock.h"

/* Most bytes of a value in a message. */
#define FIELDS_SHOWN_MAX 64

static void fields_print_step(const struct rh_place *place, bool dotted, struct rh_str *out)
{
	switch (place->step) {
	case RH_STEP_ITEM:
		rh_str_appendf(out, "[%zu]", place->index);
		return;
	case RH_STEP_KEY:
		rh_str_appendf(out, dotted ? ".%s" : "[%s]", place->name);
		return;
	case RH_STEP_MEMBER:
		rh_str_appendf(out, place->up ? ".%s" : "%s", place->name);
		return;
	}
}

void rh_place_print(const struct rh_place *place, bool dotted, struct rh_str *out)
{
	if (!place)
		return;
	rh_place_print(place->up, dotted, out);
	fields_print_step(place, dotted, out);
}

struct rh_json *rh_fields_first(const struct rh_json *object, const char *key)
{
	struct rh_json *list = rh_json_get(object, key);

	return rh_json_type(list) == RH_JSON_ARRAY ? rh_json_first(list) : NULL;
}

const char *rh_fields_text_or_empty(const struct rh_json *object, const char *key)
{
	const char *text = rh_json_string(rh_json_get(object, key));

	return text ? text : "";
}

int64_t rh_fields_time_or_zero(const struct rh_json *object, const char *key)
{
	int64_t time;

	return rh_time_parse(rh_fields_text_or_empty(object, key), &time, NULL) == 0 ? time : 0;
}

struct rh_json *rh_fields_present(struct rh_json *json)
{
	return rh_json_type(json) == RH_JSON_NULL ? NULL : json;
}

void rh_fields_show(const struct rh_json *value, struct rh_str *out)
{
	rh_auto_free char *text = rh_json_text(value);

	if (text)
		rh_str_append_line(out, text, strlen(text), FIELDS_SHOWN_MAX);
	else
		out->failed = true;
}

/* The messages of the API server's schema check, as tests/goldens/invalid has them; it names the type in place of the
 * value, too. */
int rh_fields_refuse_type(struct rh_error *err, const struct rh_place *place, const char *expected,
                          const struct rh_json *found)
{
	const char *type = rh_json_type_name(found);
	rh_auto_str path = {0};
	rh_auto_str shown = {0};

	rh_place_print(place, true, &path);
	rh_fields_show(found, &shown);
	return rh_fail(err, RH_EINVAL, "%s: Invalid value: \"%s\": %s in body must be of type %s: \"%s\"; it is %s",
	               rh_str_text(&path), type, rh_str_text(&path), expected, type, rh_str_text(&shown));
}

static const struct rh_json *fields_get(const struct rh_fields *fields, const char *key)
{
	return rh_fields_present(rh_json_get(fields->object, key));
}

static int fields_refuse(const struct rh_fields *fields, const char *key, const char *expected)
{
	struct rh_place place = rh_place_member(fields->place, key);

	return rh_fields_refuse_type(fields->err, &place, expected, rh_json_get(fields->object, key));
}

int rh_fields_object(const struct rh_fields *fields, const char *key, const struct rh_json **ret_value)
{
	const struct rh_json *value = fields_get(fields, key);

	if (!value)
		return 0;
	if (rh_json_type(value) != RH_JSON_OBJECT)
		return fields_refuse(fields, key, "object");
	*ret_value = value;
	return 0;
}

int rh_fields_text(const struct rh_fields *fields, const char *key, const char **ret_value)
{
	const struct rh_json *value = fields_get(fields, key);

	if (!value)
		return 0;
	if (!rh_json_string(value))
		return fields_refuse(fields, key, "string");
	*ret_value = rh_json_string(value);
	return 0;
}

int rh_fields_bool(const struct rh_fields *fields, const char *key, bool *ret_value)
{
	const struct rh_json *value = fields_get(fields, key);

	if (!value)
		return 0;
	if (rh_json_type(value) != RH_JSON_BOOL)
		return fields_refuse(fields, key, "boolean");
	*ret_value = rh_json_bool(value, false);
	return 0;
}

static int fields_refuse_range(const struct rh_fields *fields, const char *key, int64_t value)
{
	struct rh_place place = rh_place_member(fields->place, key);
	rh_auto_str path = {0};

	rh_place_print(&place, true, &path);
	return rh_fail(fields->err, RH_EINVAL, "%s: Invalid value: %" PRId64 ": must be between %" PRId32 " and %" PRId32,
	               rh_str_text(&path), value, INT32_MIN, INT32_MAX);
}

int rh_fields_int64(const struct rh_fields *fields, const char *key, int64_t *ret_value)
{
	const struct rh_json *value = fields_get(fields, key);

	if (value && !rh_json_integer(value, ret_value))
		return fields_refuse(fields, key, "integer");
	return 0;
}

int rh_fields_int32(const struct rh_fields *fields, const char *key, int32_t *ret_value)
{
	int64_t value = *ret_value;
	int r = rh_fields_int64(fields, key, &value);

	if (r != 0)
		return r;
	if (value < INT32_MIN || value > INT32_MAX)
		return fields_refuse_range(fields, key, value);
	*ret_value = (int32_t)value;
	return 0;
}

int rh_fields_count(const struct rh_fields *fields, const char *key, int32_t *ret_count)
{
	int32_t count = 0;
	int r;

	if (!rh_fields_present(rh_json_get(fields->object, key)))
		return 0;
	r = rh_fields_int32(fields, key, &count);
	if (r == 0)
		*ret_count = count < 0 ? 0 : count;
	return r;
}
