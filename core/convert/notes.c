/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "convert/rules.h"

const char *rh_convert_effect_name(enum rh_convert_effect effect)
{
	static const char *const names[] = {"moved", "changed", "implied", "lost"};

	return names[effect];
}

static int note_add(struct rh_conversion *conversion, const char *path, const struct rh_convert_remark *remark)
{
	rh_auto(json) note = rh_json_new_object();

	if (!note || rh_json_set_string(note, "effect", rh_convert_effect_name(remark->effect)) < 0 ||
	    rh_json_set_string(note, "path", path) < 0 || (remark->to && rh_json_set_string(note, "to", remark->to) < 0) ||
	    (remark->detail && rh_json_set_string(note, "detail", remark->detail) < 0))
		return RH_ENOMEM;
	conversion->lossy |= remark->effect == RH_CONVERT_LOST;
	return rh_json_append(conversion->notes, rh_take(note));
}

int rh_convert_note(const struct rh_convert_field *field, enum rh_convert_effect effect, const char *to,
                    const char *detail)
{
	const struct rh_convert_remark remark = {effect, to, detail};

	return note_add(field->conversion, field->path, &remark);
}

int rh_convert_note_at(struct rh_conversion *conversion, const struct rh_convert_remark *remark, const char *format,
                       ...)
{
	rh_auto_free char *path = NULL;
	va_list args;

	va_start(args, format);
	path = rh_vasprintf(format, args);
	va_end(args);
	return path ? note_add(conversion, path, remark) : RH_ENOMEM;
}

/* Append where @p value stands in its parent: ".image", "[2]", or "[app/name]" for a key with dots. */
static void note_step(const struct rh_json *value, size_t index, struct rh_str *path)
{
	const char *key = rh_json_key(value);

	if (!key)
		rh_str_appendf(path, "[%zu]", index);
	else if (key[strcspn(key, ".[]")])
		rh_str_appendf(path, "[%s]", key);
	else
		rh_str_appendf(path, ".%s", key);
}

/* @return whether the members, or items, of both can be compared one by one */
static bool note_is_alike(const struct rh_json *json, const struct rh_json *other)
{
	enum rh_json_type type = rh_json_type(json);

	if (rh_json_size(json) == 0 || (type != RH_JSON_OBJECT && type != RH_JSON_ARRAY))
		return false;
	return !other ||
	       (rh_json_type(other) == type && (type == RH_JSON_OBJECT || rh_json_size(other) == rh_json_size(json)));
}

/* Members that only @p other has. */
static int note_missing(struct rh_conversion *conversion, const struct rh_convert_remark *remark, struct rh_str *path,
                        const struct rh_json *json, const struct rh_json *other)
{
	size_t length = path->length;
	int r = 0;

	for (const struct rh_json *at = rh_json_first(other); r == 0 && at && rh_json_key(at); at = rh_json_next(at)) {
		if (rh_json_get(json, rh_json_key(at)))
			continue;
		note_step(at, 0, path);
		r = path->failed ? RH_ENOMEM : note_add(conversion, rh_str_text(path), remark);
		rh_str_cut(path, length);
	}
	return r;
}

int rh_convert_note_tree(struct rh_conversion *conversion, const struct rh_convert_remark *remark, struct rh_str *path,
                         const struct rh_json *json, const struct rh_json *other)
{
	size_t length = path->length, index = 0;
	int r = 0;

	if (rh_json_equal(json, other))
		return 0;
	if (!note_is_alike(json, other))
		return path->failed ? RH_ENOMEM : note_add(conversion, rh_str_text(path), remark);
	for (const struct rh_json *at = rh_json_first(json); r == 0 && at; at = rh_json_next(at)) {
		const char *key = rh_json_key(at);

		note_step(at, index, path);
		r = rh_convert_note_tree(conversion, remark, path, at,
		                         key ? rh_json_get(other, key) : rh_json_item(other, index));
		rh_str_cut(path, length);
		index++;
	}
	return r == 0 ? note_missing(conversion, remark, path, json, other) : r;
}
