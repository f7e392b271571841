/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/jobs/fill.h"

#include <limits.h>
#include <regex.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/** Deepest nesting: schemas may refer to themselves. */
#define FILL_DEPTH_MAX 12
/** Longest text. */
#define FILL_TEXT_MAX 16384

/** What all levels share. */
struct fill {
	const struct rh_json *definitions;
	enum rh_fill how;
};

static struct rh_json *fill_value(const struct fill *fill, const struct rh_json *reference, int depth);

/** Texts that are tried against a pattern. */
static const char *const fill_texts[] = {
	"a", "1", "1:2", "auto", "example", "1Gi", "1s", "a=b", "A", "127.0.0.1", "example.org/a:1", "1.0", "/a", ""};

static bool fill_matches(const char *pattern, const char *text)
{
	regex_t regex;
	bool matches;

	if (!pattern)
		return true;
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	matches = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return matches;
}

static int64_t fill_limit(const struct rh_json *schema, const char *key, int64_t fallback)
{
	int64_t value;

	return rh_json_integer(rh_json_get(schema, key), &value) ? value : fallback;
}

/** The longest text that the schema lets in. */
static struct rh_json *fill_long(const struct rh_json *schema)
{
	int64_t most = fill_limit(schema, "maxLength", FILL_TEXT_MAX);
	rh_auto_str text = {0};

	for (int64_t i = 0; i < most && i < FILL_TEXT_MAX; i++)
		rh_str_append(&text, "a");
	return text.failed ? NULL : rh_json_new_string(rh_str_text(&text));
}

static bool fill_takes(const struct rh_json *schema, const char *text)
{
	return fill_matches(rh_json_string_at(schema, "pattern"), text) &&
	       (int64_t)strlen(text) <= fill_limit(schema, "maxLength", INT64_MAX) &&
	       (int64_t)strlen(text) >= fill_limit(schema, "minLength", 0);
}

static struct rh_json *fill_text(const struct fill *fill, const struct rh_json *schema)
{
	const char *format = rh_json_string_at(schema, "format");
	const struct rh_json *choice = rh_json_first(rh_json_get(schema, "enum"));
	const char *pattern = rh_json_string_at(schema, "pattern");

	if (choice)
		return rh_json_copy(choice);
	if (format && strcmp(format, "date-time") == 0)
		return rh_json_new_string("2026-01-02T03:04:05Z");
	if (fill->how == RH_FILL_TEXTS && fill_takes(schema, RH_FILL_HOSTILE_TEXT))
		return rh_json_new_string(RH_FILL_HOSTILE_TEXT);
	if (fill->how == RH_FILL_LONG && !pattern)
		return fill_long(schema);
	if (fill->how == RH_FILL_SMALL && fill_takes(schema, ""))
		return rh_json_new_string("");
	for (size_t i = 0; i < sizeof(fill_texts) / sizeof(fill_texts[0]); i++) {
		if (fill_takes(schema, fill_texts[i]))
			return rh_json_new_string(fill_texts[i]);
	}
	return rh_json_new_string("a");
}

static struct rh_json *fill_integer(const struct fill *fill, const struct rh_json *schema)
{
	bool small = rh_text_equal(rh_json_string_at(schema, "format"), "int32");
	int64_t least = fill_limit(schema, "minimum", small ? INT32_MIN : INT64_MIN);
	int64_t most = fill_limit(schema, "maximum", small ? INT32_MAX : INT64_MAX);

	if (fill->how == RH_FILL_LARGE)
		return rh_json_new_integer(most);
	if (fill->how == RH_FILL_SMALL)
		return rh_json_new_integer(least);
	return rh_json_new_integer(least > 1 ? least : most < 1 ? most : 1);
}

static struct rh_json *fill_array(const struct fill *fill, const struct rh_json *schema, int depth)
{
	rh_auto(json) array = rh_json_new_array();

	if (!array || fill->how == RH_FILL_SMALL || depth == 0)
		return rh_take(array);
	if (rh_json_append(array, fill_value(fill, rh_json_get(schema, "items"), depth - 1)) < 0)
		return NULL;
	return rh_take(array);
}

static struct rh_json *fill_object(const struct fill *fill, const struct rh_json *schema, int depth)
{
	const struct rh_json *further = rh_json_get(schema, "additionalProperties");
	rh_auto(json) object = rh_json_new_object();
	const struct rh_json *field;

	if (!object || depth == 0)
		return rh_take(object);
	for (field = rh_json_first(rh_json_get(schema, "properties")); field; field = rh_json_next(field)) {
		if (rh_json_set(object, rh_json_key(field), fill_value(fill, field, depth - 1)) < 0)
			return NULL;
	}
	if (rh_json_type(further) == RH_JSON_OBJECT && fill->how != RH_FILL_SMALL &&
	    rh_json_set(object, "key", fill_value(fill, further, depth - 1)) < 0)
		return NULL;
	return rh_take(object);
}

/** A value of another type than the schema's. */
static struct rh_json *fill_wrong(const char *type)
{
	struct rh_json *list;

	if (strcmp(type, "string") == 0) {
		list = rh_json_new_array();
		return list && rh_json_append(list, rh_json_new_null()) < 0 ? (rh_json_free(list), NULL) : list;
	}
	if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
		return rh_json_new_string(RH_FILL_HOSTILE_TEXT);
	if (strcmp(type, "boolean") == 0)
		return rh_json_new_number(1e300);
	if (strcmp(type, "array") == 0)
		return rh_json_new_object();
	return rh_json_new_string("a text where a map stands");
}

static const struct rh_json *fill_resolve(const struct fill *fill, const struct rh_json *schema)
{
	for (int i = 0; i < FILL_DEPTH_MAX && rh_json_string_at(schema, "$ref"); i++)
		schema = rh_json_get(fill->definitions, rh_json_string_at(schema, "$ref"));
	return schema;
}

static struct rh_json *fill_value(const struct fill *fill, const struct rh_json *reference, int depth)
{
	const struct rh_json *schema = fill_resolve(fill, reference);
	const char *type = rh_json_string_at(schema, "type");

	if (!type)
		type = rh_json_get(schema, "properties") || rh_json_get(schema, "additionalProperties") ? "object" : "";
	if (fill->how == RH_FILL_TYPE && depth < FILL_DEPTH_MAX && !rh_json_get(schema, "properties"))
		return fill_wrong(type);
	if (strcmp(type, "object") == 0)
		return fill_object(fill, schema, depth);
	if (fill->how == RH_FILL_NULL)
		return rh_json_new_null();
	if (strcmp(type, "array") == 0)
		return fill_array(fill, schema, depth);
	if (strcmp(type, "string") == 0)
		return fill_text(fill, schema);
	if (strcmp(type, "boolean") == 0)
		return rh_json_new_bool(fill->how != RH_FILL_SMALL);
	if (strcmp(type, "number") == 0)
		return rh_json_new_number(fill->how == RH_FILL_LARGE ? 1e300 : 1.5);
	return fill_integer(fill, schema);
}

struct rh_json *rh_fill(const struct rh_json *schema, const struct rh_json *definitions, enum rh_fill how)
{
	const struct fill fill = {definitions, how};

	return fill_value(&fill, schema, FILL_DEPTH_MAX);
}
