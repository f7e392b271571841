/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits that a plugin's schema sets to values. Types, enums and names of fields are schema.c's; what stands behind
 * a $ref is of Kubernetes, whose schemas have no limits.
 */
#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "base/str.h"
#include "job/rules/schema.h"

/* Longer texts are not compared with a pattern: the memory that takes grows with the text. */
#define LIMITS_TEXT_MAX 4096

struct limits_walk {
	struct rh_findings *findings;
	struct rh_str path;
};

static int limits_value(struct limits_walk *walk, const struct rh_json *schema, const struct rh_json *value);

static bool limits_is_refused(const struct limits_walk *walk)
{
	for (size_t i = 0; i < walk->findings->count; i++) {
		const struct rh_finding *finding = &walk->findings->items[i];

		if (finding->severity == RH_FINDING_ERROR && strcmp(finding->path, rh_str_text(&walk->path)) == 0)
			return true;
	}
	return false;
}

/* @return less than, equal to or greater than 0, as @p a is than @p b; both are numbers */
static int limits_compare(const struct rh_json *a, const struct rh_json *b)
{
	double x = rh_json_number(a, 0), y = rh_json_number(b, 0);
	int64_t m, n;

	if (rh_json_integer(a, &m) && rh_json_integer(b, &n))
		return (m > n) - (m < n);
	return (x > y) - (x < y);
}

static int limits_bound(struct limits_walk *walk, const struct rh_json *bound, const struct rh_json *value, int side)
{
	char text[RH_JSON_NUMBER_SIZE], limit[RH_JSON_NUMBER_SIZE];

	if (rh_json_type(bound) != RH_JSON_NUMBER || limits_compare(value, bound) * side <= 0 || limits_is_refused(walk))
		return 0;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: %s: must be %s than or equal to %s", rh_json_number_text(value, text),
	                       side > 0 ? "less" : "greater", rh_json_number_text(bound, limit));
}

/*
 * @return whether POSIX reads the pattern as RE2 does, which an API server uses: there is no class as \d, nothing is
 * escaped inside of brackets, and nothing but a repetition follows a repetition
 */
static bool limits_is_posix(const char *pattern)
{
	bool listed = false;

	for (const char *at = pattern; *at; at++) {
		if (*at == '\\' && (listed || isalnum((unsigned char)at[1]) || !at[1]))
			return false;
		if (*at == '\\')
			at++;
		else if (listed)
			listed = *at != ']';
		else if (*at == '[')
			listed = true;
		else if (strchr("*+?}(", *at) && at[1] == '?')
			return false;
	}
	return true;
}

static int limits_pattern(struct limits_walk *walk, const char *pattern, const char *value)
{
	regex_t compiled;
	int r;

	if (!limits_is_posix(pattern) || strlen(value) > LIMITS_TEXT_MAX || limits_is_refused(walk) ||
	    regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return 0;
	r = regexec(&compiled, value, 0, NULL, 0);
	regfree(&compiled);
	return r != REG_NOMATCH ? 0
	                        : rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                                          "Invalid value: \"%.64s\": must match '%s'", value, pattern);
}

static int limits_object(struct limits_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *properties = rh_json_get(schema, "properties");
	const struct rh_json *additional = rh_json_get(schema, "additionalProperties");
	size_t length = walk->path.length;
	int r = 0;

	for (const struct rh_json *member = rh_json_first(value); member && r == 0; member = rh_json_next(member)) {
		const struct rh_json *known = rh_json_get(properties, rh_json_key(member));

		rh_str_appendf(&walk->path, known || !additional ? "%s%s" : "%s[%s]", known && length ? "." : "",
		               rh_json_key(member));
		r = limits_value(walk, known ? known : additional, member);
		rh_str_cut(&walk->path, length);
	}
	return r;
}

static int limits_array(struct limits_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *items = rh_json_get(schema, "items");
	size_t length = walk->path.length, index = 0;
	int r = 0;

	for (const struct rh_json *item = rh_json_first(value); item && r == 0; item = rh_json_next(item)) {
		rh_str_appendf(&walk->path, "[%zu]", index++);
		r = limits_value(walk, items, item);
		rh_str_cut(&walk->path, length);
	}
	return r;
}

static int limits_value(struct limits_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const char *pattern = rh_json_string(rh_json_get(schema, "pattern"));
	const char *text = rh_json_string(value);
	int r;

	if (!schema || rh_json_get(schema, "$ref"))
		return 0;
	if (walk->path.failed)
		return RH_ENOMEM;
	if (rh_json_type(value) == RH_JSON_OBJECT)
		return limits_object(walk, schema, value);
	if (rh_json_type(value) == RH_JSON_ARRAY)
		return limits_array(walk, schema, value);
	if (text && pattern)
		return limits_pattern(walk, pattern, text);
	if (rh_json_type(value) != RH_JSON_NUMBER)
		return 0;
	r = limits_bound(walk, rh_json_get(schema, "minimum"), value, -1);
	return r < 0 ? r : limits_bound(walk, rh_json_get(schema, "maximum"), value, 1);
}

int rh_schema_check_limits(const struct rh_json *document, const struct rh_json *value, struct rh_findings *findings)
{
	struct limits_walk walk = {.findings = findings};
	const char *root = rh_json_string(rh_json_get(document, "root"));
	int r = limits_value(&walk, rh_json_get(rh_json_get(document, "definitions"), root ? root : ""), value);

	if (r == 0 && walk.path.failed)
		r = RH_ENOMEM;
	rh_str_deinit(&walk.path);
	return r;
}
