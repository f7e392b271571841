/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/schema/schema.h"

#include <string.h>

#include "job/rules/schema/walk.h"

static int schema_value(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value);

static int schema_member(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *member)
{
	const struct rh_json *properties = rh_json_get(schema, "properties");
	const struct rh_json *additional = rh_json_get(schema, "additionalProperties");
	const struct rh_json *known = rh_json_get(properties, rh_json_key(member));
	size_t length = walk->path.length;
	int r = 0;

	if (known || !additional)
		rh_str_appendf(&walk->path, "%s%s", length ? "." : "", rh_json_key(member));
	else
		rh_str_appendf(&walk->path, "[%s]", rh_json_key(member));
	if (known || additional)
		r = schema_value(walk, known ? known : additional, member);
	else if (walk->checks & RH_SCHEMA_FIELDS && properties && !walk->part &&
	         !rh_json_bool(rh_json_get(schema, "x-kubernetes-preserve-unknown-fields"), false))
		r = rh_schema_unknown_field(walk, properties, rh_json_key(member));
	rh_str_cut(&walk->path, length);
	return r;
}

static int schema_array(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *items = rh_json_get(schema, "items");
	const struct rh_json *item;
	size_t length = walk->path.length;
	size_t index = 0;
	int r = 0;

	for (item = rh_json_first(value); item && items && r == 0; item = rh_json_next(item)) {
		rh_str_appendf(&walk->path, "[%zu]", index++);
		if (rh_json_type(item) != RH_JSON_NULL)
			r = schema_value(walk, items, item);
		else if (walk->checks & RH_SCHEMA_FIELDS)
			/* It cannot be dropped as a member can: the items behind it would move. */
			r = rh_schema_wrong_type(walk, rh_schema_resolve(walk, items), item);
		rh_str_cut(&walk->path, length);
	}
	return r;
}

/*
 * Hold the value against one of the schemas of anyOf and its like, which limit it and do not name all of its fields.
 * @param findings gets what is wrong
 */
static int schema_part(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value,
                       struct rh_findings *findings)
{
	struct rh_schema_walk part = *walk;
	int r;

	part.findings = findings;
	part.earlier = findings == walk->findings ? walk->earlier : 0;
	part.checks = RH_SCHEMA_FIELDS | RH_SCHEMA_LIMITS;
	part.part = true;
	r = schema_value(&part, schema, value);
	walk->path = part.path;
	return r;
}

/* Append which alternatives fit, and of each other one what it refuses first. */
static int schema_count(struct rh_schema_walk *walk, const struct rh_json *parts, const struct rh_json *value,
                        size_t *ret_fit, struct rh_str *ret_why)
{
	size_t index = 0;
	int r = 0;

	*ret_fit = 0;
	for (const struct rh_json *part = rh_json_first(parts); part && r == 0; part = rh_json_next(part), index++) {
		const char *comma = index ? "; " : ": ";
		rh_auto_findings findings = {0};

		r = schema_part(walk, part, value, &findings);
		if (findings.count == 0) {
			rh_str_appendf(ret_why, "%s%s[%zu] fits", comma, rh_json_key(parts), index);
			++*ret_fit;
		} else {
			rh_str_appendf(ret_why, "%s%s[%zu] refuses %s: %s", comma, rh_json_key(parts), index,
			               findings.items[0].path, findings.items[0].detail);
		}
	}
	return r == 0 && ret_why->failed ? RH_ENOMEM : r;
}

static int schema_any_of(struct rh_schema_walk *walk, const struct rh_json *parts, const struct rh_json *value)
{
	rh_auto_str why = {0};
	size_t fit;
	int r = schema_count(walk, parts, value, &fit, &why);

	if (r < 0 || fit > 0 || !rh_json_first(parts) || rh_schema_is_refused(walk))
		return r;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: must validate at least one schema (anyOf)%s", rh_str_text(&why));
}

static int schema_one_of(struct rh_schema_walk *walk, const struct rh_json *parts, const struct rh_json *value)
{
	rh_auto_str why = {0}, found = {0};
	size_t fit;
	int r = schema_count(walk, parts, value, &fit, &why);

	if (r < 0 || fit == 1 || !rh_json_first(parts) || rh_schema_is_refused(walk))
		return r;
	rh_str_append(&found, fit ? "" : "Found none valid");
	if (fit)
		rh_str_appendf(&found, "Found %zu valid alternatives", fit);
	if (found.failed)
		return RH_ENOMEM;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: must validate one and only one schema (oneOf). %s%s", rh_str_text(&found),
	                       rh_str_text(&why));
}

static int schema_not(struct rh_schema_walk *walk, const struct rh_json *part, const struct rh_json *value)
{
	rh_auto_findings findings = {0};
	int r = schema_part(walk, part, value, &findings);

	if (r < 0 || findings.count > 0 || rh_schema_is_refused(walk))
		return r;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: must not validate the schema (not)");
}

/* What the API server says of a value that anyOf and its like refuse, in its order. */
static int schema_composed(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *any = rh_json_get(schema, "anyOf"), *one = rh_json_get(schema, "oneOf");
	const struct rh_json *all = rh_json_get(schema, "allOf"), *other = rh_json_get(schema, "not");
	int r = any ? schema_any_of(walk, any, value) : 0;

	if (r == 0 && one)
		r = schema_one_of(walk, one, value);
	for (const struct rh_json *part = rh_json_first(all); part && r == 0; part = rh_json_next(part))
		r = schema_part(walk, part, value, walk->findings);
	return r == 0 && other ? schema_not(walk, other, value) : r;
}

/* What is in a value comes before what is asked of all of it. */
static int schema_typed(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	int r = walk->checks & RH_SCHEMA_FIELDS ? rh_schema_fields(walk, schema, value) : 0;

	if (rh_json_type(value) == RH_JSON_ARRAY && r == 0)
		r = schema_array(walk, schema, value);
	for (const struct rh_json *member = rh_json_type(value) == RH_JSON_OBJECT ? rh_json_first(value) : NULL;
	     member && r == 0; member = rh_json_next(member))
		r = schema_member(walk, schema, member);
	if (r == 0 && walk->checks & RH_SCHEMA_LIMITS)
		r = rh_schema_limits(walk, schema, value);
	if (r == 0 && walk->checks & RH_SCHEMA_LIMITS)
		r = schema_composed(walk, schema, value);
	if (r == 0 && walk->checks & RH_SCHEMA_RULES)
		r = rh_schema_rules(walk, schema, value);
	return r;
}

static int schema_value(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *resolved = rh_schema_resolve(walk, schema);
	bool outer = walk->passed_on;
	int r;

	/* null is "not set" everywhere in Kubernetes: the API server drops it. What is behind a $ref is of Kubernetes,
	 * whose schemas have neither limits nor rules; inside of anyOf it could lead to itself. */
	if (!resolved || rh_json_type(value) == RH_JSON_NULL ||
	    (resolved != schema && (walk->part || !(walk->checks & RH_SCHEMA_FIELDS))))
		return 0;
	if (walk->path.failed)
		return RH_ENOMEM;
	if (!rh_schema_type_fits(resolved, value))
		return walk->checks & RH_SCHEMA_FIELDS ? rh_schema_wrong_type(walk, resolved, value) : 0;
	walk->passed_on = outer || rh_text_equal(rh_json_string_at(schema, "$ref"), "PodSpec");
	r = schema_typed(walk, resolved, value);
	walk->passed_on = outer;
	return r;
}

int rh_schema_check(const struct rh_json *document, const struct rh_json *value, unsigned checks,
                    struct rh_findings *findings)
{
	struct rh_schema_walk walk = {.document = document,
	                              .definitions = rh_json_get(document, "definitions"),
	                              .findings = findings,
	                              .earlier = findings->count,
	                              .checks = checks};
	const char *root = rh_json_string(rh_json_get(document, "root"));
	int r = schema_value(&walk, rh_json_get(walk.definitions, root ? root : ""), value);

	if (r == 0 && walk.path.failed)
		r = RH_ENOMEM;
	rh_str_deinit(&walk.path);
	return r;
}
