/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large, how long and of which form a value may be. Values that the findings have an error about are left out: the
 * plugin or the core has better words for it.
 */
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "job/cel/regex/regex.h"
#include "job/fields.h"
#include "job/rules/formats.h"
#include "job/rules/schema/schema.h"
#include "job/rules/schema/walk.h"

/* A count that a schema limits. */
struct limits_count {
	const char *least, *most; /* keywords */
	const char *refusal;      /* behind it the largest number and what is counted */
	const char *what;
};

static const struct limits_count limits_of_text = {"minLength", "maxLength", "Too long: may not be more than",
                                                   "characters"};
static const struct limits_count limits_of_list = {"minItems", "maxItems", "Too many: must have at most", "items"};
static const struct limits_count limits_of_map = {"minProperties", "maxProperties", "Too many: must have at most",
                                                  "items"};

/* Appended to what is found; a value that is refused is not refused a second time. */
#define LIMITS_REFUSE(walk, ...) \
	(rh_schema_is_refused(walk)  \
	     ? 0                     \
	     : rh_findings_add((walk)->findings, RH_FINDING_ERROR, rh_str_text(&(walk)->path), __VA_ARGS__))

/* @return less than, equal to or greater than 0, as @p a is than @p b; both are numbers */
static int limits_compare(const struct rh_json *a, const struct rh_json *b)
{
	double x = rh_json_number(a, 0), y = rh_json_number(b, 0);
	int64_t m, n;

	if (rh_json_integer(a, &m) && rh_json_integer(b, &n))
		return (m > n) - (m < n);
	return (x > y) - (x < y);
}

/* @p side is 1 for maximum and -1 for minimum */
static int limits_bound(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value,
                        int side)
{
	const struct rh_json *bound = rh_json_get(schema, side > 0 ? "maximum" : "minimum");
	bool exclusive = rh_json_bool(rh_json_get(schema, side > 0 ? "exclusiveMaximum" : "exclusiveMinimum"), false);
	char text[RH_JSON_NUMBER_SIZE], limit[RH_JSON_NUMBER_SIZE];
	int order;

	if (rh_json_type(bound) != RH_JSON_NUMBER)
		return 0;
	order = limits_compare(value, bound) * side;
	if (order < 0 || (order == 0 && !exclusive))
		return 0;
	return LIMITS_REFUSE(walk, "Invalid value: %s: must be %s than %s%s", rh_json_number_text(value, text),
	                     side > 0 ? "less" : "greater", exclusive ? "" : "or equal to ",
	                     rh_json_number_text(bound, limit));
}

static int limits_number(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *factor = rh_json_get(schema, "multipleOf");
	char text[RH_JSON_NUMBER_SIZE], limit[RH_JSON_NUMBER_SIZE];
	double of = rh_json_number(factor, 0), times = of > 0 ? rh_json_number(value, 0) / of : 0;
	int r = limits_bound(walk, schema, value, -1);

	if (r == 0)
		r = limits_bound(walk, schema, value, 1);
	if (r < 0 || times == floor(times))
		return r;
	return LIMITS_REFUSE(walk, "Invalid value: %s: must be a multiple of %s", rh_json_number_text(value, text),
	                     rh_json_number_text(factor, limit));
}

static int limits_count(struct rh_schema_walk *walk, const struct rh_json *schema, const struct limits_count *limits,
                        size_t count)
{
	int64_t least = 0, most = INT64_MAX;

	(void)rh_json_integer(rh_json_get(schema, limits->least), &least);
	(void)rh_json_integer(rh_json_get(schema, limits->most), &most);
	if ((int64_t)count > most)
		return LIMITS_REFUSE(walk, "%s %lld %s", limits->refusal, (long long)most, limits->what);
	if ((int64_t)count < least)
		return LIMITS_REFUSE(walk, "Invalid value: %zu: must have at least %lld %s", count, (long long)least,
		                     limits->what);
	return 0;
}

static int limits_pattern(struct rh_schema_walk *walk, const char *pattern, const char *value)
{
	rh_auto(regex) regex = NULL;
	bool found = false;
	int r = rh_regex_compile(pattern, strlen(pattern), &regex, NULL);

	if (r == 0)
		r = rh_regex_search(regex, value, strlen(value), &found);
	if (r < 0)
		return r == RH_ENOMEM ? r : 0;
	return found ? 0 : LIMITS_REFUSE(walk, "Invalid value: \"%.64s\": must match '%s'", value, pattern);
}

static size_t limits_characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xC0) != 0x80;
	return count;
}

static int limits_text(struct rh_schema_walk *walk, const struct rh_json *schema, const char *value)
{
	const char *pattern = rh_json_string(rh_json_get(schema, "pattern"));
	const char *format = rh_json_string(rh_json_get(schema, "format"));
	int r = limits_count(walk, schema, &limits_of_text, limits_characters(value));

	if (r == 0 && pattern)
		r = limits_pattern(walk, pattern, value);
	if (r == 0 && format && !rh_format_fits(format, value))
		r = LIMITS_REFUSE(walk, "Invalid value: \"%.64s\": must be of type %s", value, format);
	return r;
}

/* What makes an item of a list one of a kind: itself, or its keys. @return false when it has not all of them */
static bool limits_print_key(const struct rh_json *schema, const struct rh_json *item, struct rh_str *out)
{
	const struct rh_json *key = rh_json_first(rh_json_get(schema, "x-kubernetes-list-map-keys"));

	if (rh_text_equal(rh_json_string(rh_json_get(schema, "x-kubernetes-list-type")), "set")) {
		rh_json_print(item, false, out);
		return true;
	}
	rh_str_append(out, "{");
	for (const char *comma = ""; key; key = rh_json_next(key), comma = ",") {
		const char *name = rh_json_string(key);
		const struct rh_json *value = rh_json_get(item, name ? name : "");

		if (!value)
			return false;
		rh_str_appendf(out, "%s\"%s\":", comma, name);
		rh_json_print(value, false, out);
	}
	rh_str_append(out, "}");
	return true;
}

static int limits_duplicates(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const char *type = rh_json_string(rh_json_get(schema, "x-kubernetes-list-type"));
	rh_auto(map) seen = NULL;
	size_t length = walk->path.length, index = 0;
	int r = 0;

	if (!rh_text_equal(type, "set") && !rh_text_equal(type, "map"))
		return 0;
	seen = rh_map_new();
	for (const struct rh_json *item = rh_json_first(value); item && r == 0; item = rh_json_next(item)) {
		rh_auto_str key = {0};
		void *earlier = NULL;

		rh_str_appendf(&walk->path, "[%zu]", index++);
		if (limits_print_key(schema, item, &key)) {
			r = !seen || key.failed ? RH_ENOMEM : rh_map_set(seen, rh_str_text(&key), walk, &earlier);
			if (earlier)
				r = LIMITS_REFUSE(walk, "Duplicate value: %s", rh_str_text(&key));
		}
		rh_str_cut(&walk->path, length);
	}
	return r;
}

int rh_schema_limits(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	int r;

	switch ((int)rh_json_type(value)) {
	case RH_JSON_NUMBER:
		return limits_number(walk, schema, value);
	case RH_JSON_STRING:
		return limits_text(walk, schema, rh_json_string(value));
	case RH_JSON_ARRAY:
		r = limits_count(walk, schema, &limits_of_list, rh_json_size(value));
		return r < 0 ? r : limits_duplicates(walk, schema, value);
	case RH_JSON_OBJECT:
		return limits_count(walk, schema, &limits_of_map, rh_json_size(value));
	default:
		return 0;
	}
}
