/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/explain_field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "job/kind.h"
#include "job/rules/schema/schema.h"
#include "schema/explain_descriptions.h"

void rh_explain_at_deinit(struct rh_explain_at *at)
{
	rh_str_deinit(&at->path);
	rh_str_deinit(&at->place);
}

void rh_explain_descend(struct rh_explain_at *at, const char *step)
{
	struct rh_kind_path path;

	rh_str_appendf(&at->path, "%s%s", at->path.length ? "." : "", step);
	rh_str_appendf(&at->place, "%s%s", at->place.length ? "." : "", step);
	rh_kind_replicas_path(at->kind, &path);
	if (path.count > 0 && strcmp(rh_str_text(&at->path), path.text) == 0) {
		rh_str_cut(&at->place, 0);
		rh_str_append(&at->place, "spec.*");
	}
	for (size_t i = 0; at->kind->types[i]; i++) {
		const char *own = rh_kind_own_path(at->kind->types[i]);

		if (!own || strcmp(rh_str_text(&at->path), own) != 0)
			continue;
		rh_str_cut(&at->place, 0);
		rh_str_append(&at->place, "spec.*.*");
		at->type = at->kind->types[i];
	}
}

const struct rh_json *rh_explain_resolve(const struct rh_explain_at *at, const struct rh_json *schema)
{
	const char *ref = rh_json_string_at(schema, "$ref");

	return ref ? rh_json_get(at->definitions, ref) : schema;
}

bool rh_explain_is(const struct rh_json *schema, const char *type)
{
	return rh_text_equal(rh_json_string_at(schema, "type"), type);
}

/** Write a type as Go does: "[]Container", "map[string]string". */
void rh_explain_print_type(const struct rh_explain_at *at, const struct rh_json *schema, struct rh_str *out)
{
	const char *ref = rh_json_string_at(schema, "$ref");
	const struct rh_json *known = rh_explain_resolve(at, schema);
	const struct rh_json *values = rh_json_get(known, "additionalProperties");
	const char *type = rh_json_string_at(known, "type");

	if (rh_explain_is(known, "array")) {
		rh_str_append(out, "[]");
		rh_explain_print_type(at, rh_json_get(known, "items"), out);
	} else if (rh_json_type(values) == RH_JSON_OBJECT) {
		rh_str_append(out, "map[string]");
		rh_explain_print_type(at, values, out);
	} else if (rh_json_bool(rh_json_get(known, "x-kubernetes-int-or-string"), false)) {
		rh_str_append(out, "integer or string");
	} else {
		rh_str_append(out, ref && rh_explain_is(known, "object") ? ref : type ? type : "any");
	}
}

int rh_explain_set(struct rh_json *row, const char *key, const struct rh_str *text)
{
	if (text->failed)
		return RH_ENOMEM;
	return text->length > 0 ? rh_json_set_string(row, key, rh_str_text(text)) : 0;
}

void rh_explain_join(struct rh_str *out, const char *rule)
{
	rh_str_appendf(out, "%s%s", out->length > 0 ? "; " : "", rule);
}

static void explain_print_enum(const struct rh_json *words, struct rh_str *out)
{
	if (!words)
		return;
	rh_explain_join(out, "one of");
	for (const struct rh_json *word = rh_json_first(words); word; word = rh_json_next(word)) {
		rh_auto_free char *text = rh_json_text(word);

		rh_str_appendf(out, "%s %s", word == rh_json_first(words) ? "" : ",", text ? text : "");
		out->failed = out->failed || !text;
	}
}

static void explain_print_bound(const struct rh_json *bound, const char *words, struct rh_str *out)
{
	int64_t number;

	if (!rh_json_integer(bound, &number))
		return;
	rh_explain_join(out, words);
	rh_str_appendf(out, " %" PRId64, number);
}

void rh_explain_print_range(const struct rh_replica_type *type, struct rh_str *out)
{
	char text[48];

	(void)snprintf(text, sizeof(text), "%s %" PRId32, type->min_replicas == type->max_replicas ? "exactly" : "at least",
	               type->min_replicas);
	if (type->min_replicas > 0)
		rh_explain_join(out, text);
	(void)snprintf(text, sizeof(text), "at most %" PRId32, type->max_replicas);
	if (type->max_replicas > type->min_replicas)
		rh_explain_join(out, text);
	if (type->flags & RH_REPLICA_EXPLICIT)
		rh_explain_join(out, "must be written");
}

/** Default of replicas: one number, or one for each type. */
static void explain_print_replicas(const struct rh_explain_at *at, struct rh_str *out)
{
	const struct rh_replica_type *const *types = at->kind->types;
	bool same = true;

	for (size_t i = 0; types[i]; i++)
		same = same && types[i]->default_replicas == types[0]->default_replicas;
	if (at->type || same) {
		rh_str_appendf(out, "%" PRId32, (at->type ? at->type : types[0])->default_replicas);
		return;
	}
	for (size_t i = 0; types[i]; i++)
		rh_str_appendf(out, "%s%s %" PRId32, i ? ", " : "", types[i]->name, types[i]->default_replicas);
}

/** Set the description, and the default that its last sentence may name. */
static int explain_set_descriptions(struct rh_json *row, const char *words, struct rh_str *fallback)
{
	const char *last = words ? rh_schema_default(words) : "";
	rh_auto_str rest = {0};

	if (!words)
		return 0;
	if (!*last)
		return rh_json_set_string(row, "description", words);
	rh_str_append_bytes(&rest, words, (size_t)(last - words) - (last > words));
	rh_str_append(fallback, last + strlen(RH_SCHEMA_DEFAULT));
	if (fallback->length > 0 && fallback->data[fallback->length - 1] == '.')
		rh_str_cut(fallback, fallback->length - 1);
	return rh_explain_set(row, "description", &rest);
}

/** Default of restartPolicy: one word, or one for each type. */
static void explain_print_policy(const struct rh_explain_at *at, struct rh_str *out)
{
	const struct rh_kind *kind = at->kind;
	bool same = true;

	for (size_t i = 0; kind->types[i]; i++)
		same = same &&
		       strcmp(rh_kind_restart_policy(kind, kind->types[i]), rh_kind_restart_policy(kind, kind->types[0])) == 0;
	if (at->type || same) {
		rh_str_append(out, rh_kind_restart_policy(kind, at->type ? at->type : kind->types[0]));
		return;
	}
	for (size_t i = 0; kind->types[i]; i++)
		rh_str_appendf(out, "%s%s %s", i ? ", " : "", kind->types[i]->name,
		               rh_kind_restart_policy(kind, kind->types[i]));
}

static void explain_print_default(const struct rh_explain_at *at, const struct rh_json *schema, struct rh_str *out)
{
	const char *place = rh_str_text(&at->place);
	const struct rh_json *value = rh_json_get(schema, "default");
	rh_auto_free char *text = value ? rh_json_text(value) : NULL;

	if (out->length > 0)
		return;
	if (strcmp(place, "spec.*.*.replicas") == 0)
		explain_print_replicas(at, out);
	else if (strcmp(place, "spec.*.*.restartPolicy") == 0)
		explain_print_policy(at, out);
	else
		rh_str_append(out, text ? text : "");
	out->failed = out->failed || (value && !text);
}

/** The replica type limits the number of replicas, where it has limits. */
static bool explain_print_type_range(const struct rh_explain_at *at, struct rh_str *out)
{
	if (!at->type || strcmp(rh_str_text(&at->place), "spec.*.*.replicas") != 0)
		return false;
	rh_explain_print_range(at->type, out);
	return out->length > 0;
}

static void explain_print_rules(const struct rh_explain_at *at, const struct rh_json *schema, struct rh_str *out)
{
	if (strcmp(rh_str_text(&at->place), "metadata.name") == 0 && (at->kind->flags & RH_KIND_DNS_NAME))
		rh_explain_join(out, "a DNS-1035 label");
	explain_print_enum(rh_json_get(schema, "enum"), out);
	if (!explain_print_type_range(at, out)) {
		explain_print_bound(rh_json_get(schema, "minimum"), "at least", out);
		explain_print_bound(rh_json_get(schema, "maximum"), "at most", out);
	}
	if (rh_json_string_at(schema, "pattern"))
		rh_explain_join(out, "matches ");
	rh_str_append(out, rh_json_string_at(schema, "pattern") ? rh_json_string_at(schema, "pattern") : "");
	for (const struct rh_json *rule = rh_json_first(rh_json_get(schema, "x-kubernetes-validations")); rule;
	     rule = rh_json_next(rule))
		rh_explain_join(out, rh_json_string_at(rule, "message") ? rh_json_string_at(rule, "message") : "");
}

int rh_explain_describe(const struct rh_explain_at *at, const struct rh_json *schema, struct rh_json *row)
{
	const struct rh_json *known = rh_explain_resolve(at, schema);
	const char *words = rh_json_string_at(schema, "description");
	rh_auto_str type = {0}, fallback = {0}, rules = {0};

	if (!words)
		words = rh_explain_descriptions(rh_str_text(&at->place));
	if (!words)
		words = rh_json_string_at(known, "description");
	rh_explain_print_type(at, schema, &type);
	explain_print_rules(at, known, &rules);
	if (at->path.failed || at->place.failed || rh_json_set_string(row, "path", rh_str_text(&at->path)) < 0 ||
	    rh_explain_set(row, "type", &type) < 0 || explain_set_descriptions(row, words, &fallback) < 0)
		return RH_ENOMEM;
	explain_print_default(at, known, &fallback);
	return rh_explain_set(row, "default", &fallback) < 0 ? RH_ENOMEM : rh_explain_set(row, "rules", &rules);
}

/** One member of what is listed, and its own members where they have no page of Kubernetes' own. */
static int explain_list_member(struct rh_explain_at *at, const struct rh_json *member, struct rh_json *list)
{
	size_t path = at->path.length;
	const struct rh_replica_type *type = at->type;
	rh_auto_free char *place = rh_strdup(rh_str_text(&at->place));
	rh_auto(json) row = rh_json_new_object();
	int r;

	rh_explain_descend(at, rh_json_key(member));
	r = row && place ? rh_explain_describe(at, member, row) : RH_ENOMEM;
	if (r == 0)
		r = rh_json_append(list, rh_take(row));
	if (r == 0 && !rh_json_get(member, "$ref"))
		r = rh_explain_list(at, member, list);
	rh_str_cut(&at->path, path);
	rh_str_cut(&at->place, 0);
	rh_str_append(&at->place, place ? place : "");
	at->type = type;
	return r;
}

/** List the fields below a schema. */
int rh_explain_list(struct rh_explain_at *at, const struct rh_json *schema, struct rh_json *list)
{
	const struct rh_json *values = rh_json_get(schema, "additionalProperties");
	size_t path = at->path.length, place = at->place.length;
	int r = 0;

	if (rh_json_type(values) == RH_JSON_OBJECT && !rh_json_get(values, "$ref")) {
		rh_str_append(&at->path, strcmp(rh_str_text(&at->place), "spec.*") == 0 ? "[TYPE]" : "[KEY]");
		rh_str_append(&at->place, ".*");
		r = rh_explain_list(at, values, list);
	} else if (rh_explain_is(schema, "array") && !rh_json_at(schema, "items.$ref")) {
		rh_str_append(&at->path, "[]");
		r = rh_explain_list(at, rh_json_get(schema, "items"), list);
	}
	rh_str_cut(&at->path, path);
	rh_str_cut(&at->place, place);
	for (const struct rh_json *member = rh_json_first(rh_json_get(schema, "properties")); member && r == 0;
	     member = rh_json_next(member))
		r = explain_list_member(at, member, list);
	return r;
}
