/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/crd_union.h"

#include "job/fields.h"

#define UNION_KEEP "x-kubernetes-preserve-unknown-fields"

/* Two schemas of one field: @to is to keep what @from has. */
struct union_pair {
	struct rh_json *to;
	const struct rh_json *from;
	const char *to_version;
	const char *from_version;
};

/* What one union reports. */
struct union_report {
	const struct rh_kind *kind;
	struct rh_error *err;
};

/* Schemas in which a value may have members that a server drops where no schema has them. */
static const char *const union_places[] = {"properties", "additionalProperties", "items"};

#define UNION_PLACES (sizeof(union_places) / sizeof(union_places[0]))

static int union_field(const struct union_pair *pair, const struct rh_place *place, const struct union_report *report);

static bool union_has_members(const struct rh_json *schema)
{
	for (size_t i = 0; i < UNION_PLACES; i++) {
		if (rh_json_get(schema, union_places[i]))
			return true;
	}
	return rh_json_bool(rh_json_get(schema, UNION_KEEP), false);
}

static int union_keep(struct rh_json *schema, const struct union_report *report)
{
	return rh_json_set_bool(schema, UNION_KEEP, true) < 0 ? rh_fail_oom(report->err) : 0;
}

static int union_refuse(const struct union_pair *pair, const struct rh_place *place, const struct union_report *report)
{
	rh_auto_str path = {0};
	const char *to = rh_json_string_at(pair->to, "type"), *from = rh_json_string_at(pair->from, "type");

	rh_place_print(place, true, &path);
	return rh_fail(report->err, RH_EPLUGIN,
	               "kind %s.%s: %s is of type %s in version %s and of type %s in %s; an API server stores both in one "
	               "form, so a field must have one type in all versions",
	               report->kind->kind, report->kind->group, rh_str_text(&path), to ? to : "any", pair->to_version,
	               from ? from : "any", pair->from_version);
}

static int union_properties(const struct union_pair *pair, const struct rh_place *place,
                            const struct union_report *report)
{
	struct rh_json *to = rh_json_get(pair->to, "properties");
	int r = 0;

	for (const struct rh_json *from = rh_json_first(rh_json_get(pair->from, "properties")); from && r == 0;
	     from = rh_json_next(from)) {
		struct rh_place below = rh_place_member(place, rh_json_key(from));
		struct union_pair inner = {rh_json_get(to, rh_json_key(from)), from, pair->to_version, pair->from_version};
		struct rh_json *added = inner.to ? NULL : rh_json_ensure_object(to, rh_json_key(from));

		if (inner.to)
			r = union_field(&inner, &below, report);
		else
			r = added ? union_keep(added, report) : rh_fail_oom(report->err);
	}
	return r;
}

static int union_field(const struct union_pair *pair, const struct rh_place *place, const struct union_report *report)
{
	const char *to = rh_json_string_at(pair->to, "type"), *from = rh_json_string_at(pair->from, "type");
	int r = 0;

	if (!union_has_members(pair->from) || rh_json_bool(rh_json_get(pair->to, UNION_KEEP), false))
		return 0;
	if (to && from && !rh_text_equal(to, from))
		return union_refuse(pair, place, report);
	if (rh_json_bool(rh_json_get(pair->from, UNION_KEEP), false) || !union_has_members(pair->to))
		return union_keep(pair->to, report);
	if (rh_json_get(pair->to, "properties"))
		r = union_properties(pair, place, report);
	else if (rh_json_get(pair->from, "properties"))
		r = union_keep(pair->to, report);
	for (size_t i = 1; i < UNION_PLACES && r == 0; i++) {
		struct rh_place below = rh_place_key(place, "*");
		struct union_pair inner = {rh_json_get(pair->to, union_places[i]), rh_json_get(pair->from, union_places[i]),
		                           pair->to_version, pair->from_version};

		if (inner.from && inner.to)
			r = union_field(&inner, &below, report);
		else if (inner.from)
			r = union_keep(pair->to, report);
	}
	return r;
}

static struct rh_json *union_part(const struct rh_json *version, const char *part)
{
	return rh_json_get(rh_json_at(version, "schema.openAPIV3Schema.properties"), part);
}

/* metadata is the server's, and both schemas have the whole of it. */
static int union_version(struct rh_json *to, const struct rh_json *from, const struct union_report *report)
{
	static const char *const parts[] = {"spec", "status"};
	int r = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && r == 0; i++) {
		struct rh_place place = rh_place_member(NULL, parts[i]);
		struct union_pair pair = {union_part(to, parts[i]), union_part(from, parts[i]), rh_json_string_at(to, "name"),
		                          rh_json_string_at(from, "name")};

		r = union_field(&pair, &place, report);
	}
	return r;
}

int rh_crd_unite(const struct rh_kind *kind, struct rh_json *versions, struct rh_error *err)
{
	const struct union_report report = {kind, err};
	/* what one version keeps for another is not a field of its own */
	rh_auto(json) before = rh_json_copy(versions);
	int r = before ? 0 : rh_fail_oom(err);

	for (size_t i = 0; i < rh_json_size(versions) && r == 0; i++) {
		for (size_t k = 0; k < rh_json_size(before) && r == 0; k++) {
			if (i != k)
				r = union_version(rh_json_item(versions, i), rh_json_item(before, k), &report);
		}
	}
	return r;
}
