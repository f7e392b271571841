/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/schema.h"

#include <string.h>

#include "job/rules/schema_walk.h"

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
	else if (walk->checks & RH_SCHEMA_FIELDS && properties &&
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
	 * whose schemas have neither limits nor rules. */
	if (!resolved || rh_json_type(value) == RH_JSON_NULL || (resolved != schema && !(walk->checks & RH_SCHEMA_FIELDS)))
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
