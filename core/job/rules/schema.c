/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/schema.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "job/fields.h"
#include "job/quantity.h"
#include "job/rules/misplaced.h"

/* Most candidates that a "did you mean" looks at; the largest type of Kubernetes has 39 fields. */
#define SCHEMA_CANDIDATES_MAX 96

/* What a walk carries along. The path is one growing text that each level cuts back. */
struct schema_walk {
	const struct rh_json *document;
	const struct rh_json *definitions;
	struct rh_findings *findings;
	struct rh_str path;
	bool passed_on; /* inside of what a job hands to its pods, known or not */
};

/* An API server drops what a file says of it, whatever that is. */
static const char schema_status[] = "{\"x-kubernetes-preserve-unknown-fields\":true}";

static int schema_value(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *value);

static const struct rh_json *schema_resolve(const struct schema_walk *walk, const struct rh_json *schema)
{
	const char *ref = rh_json_string(rh_json_get(schema, "$ref"));

	return ref ? rh_json_get(walk->definitions, ref) : schema;
}

/* @return whether a number has no fraction, of any size */
static bool schema_is_whole(const struct rh_json *value)
{
	double number = rh_json_number(value, 0.5);

	return trunc(number) == number;
}

static bool schema_type_fits(const struct rh_json *schema, const struct rh_json *value)
{
	const char *type = rh_json_string(rh_json_get(schema, "type"));
	enum rh_json_type is = rh_json_type(value);
	int64_t integer;

	if (rh_json_bool(rh_json_get(schema, "x-kubernetes-int-or-string"), false))
		return is == RH_JSON_STRING ||
		       (rh_json_get(schema, "format") ? schema_is_whole(value) : rh_json_integer(value, &integer));
	if (!type)
		return true;
	if (strcmp(type, "object") == 0)
		return is == RH_JSON_OBJECT;
	if (strcmp(type, "array") == 0)
		return is == RH_JSON_ARRAY;
	if (strcmp(type, "string") == 0)
		return is == RH_JSON_STRING;
	if (strcmp(type, "boolean") == 0)
		return is == RH_JSON_BOOL;
	if (strcmp(type, "integer") == 0)
		return schema_is_whole(value);
	return strcmp(type, "number") != 0 || is == RH_JSON_NUMBER;
}

static const char *schema_type_wanted(const struct rh_json *schema)
{
	const char *type = rh_json_string(rh_json_get(schema, "type"));

	return type ? type : "integer or string";
}

/* The API server's words (golden bad-replicas-string), and the value, where the server names its type. */
static int schema_wrong_type(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	rh_auto_str shown = {0};

	rh_fields_show(value, &shown);
	if (shown.failed)
		return RH_ENOMEM;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: %s: must be of type %s", rh_str_text(&shown), schema_type_wanted(schema));
}

/* @return whether Go reads numbers of this schema into an int32 or int64 */
static bool schema_is_integer(const struct rh_json *schema)
{
	const char *type = rh_json_string(rh_json_get(schema, "type"));

	return type ? strcmp(type, "integer") == 0 : rh_json_get(schema, "format") != NULL;
}

/* A whole number must also be of the size that Go reads it into. */
static int schema_integer(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	bool small = rh_text_equal(rh_json_string(rh_json_get(schema, "format")), "int32");
	int64_t least = small ? INT32_MIN : INT64_MIN, most = small ? INT32_MAX : INT64_MAX, integer;
	char buffer[RH_JSON_NUMBER_SIZE];

	if (rh_json_integer(value, &integer) && integer >= least && integer <= most)
		return 0;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: %s: must be between %" PRId64 " and %" PRId64,
	                       rh_json_number_text(value, buffer), least, most);
}

/* What to do about a field that is not known where it stands. */
static void schema_advise(const struct schema_walk *walk, const struct rh_json *properties, const char *key,
                          struct rh_str *out)
{
	const char *candidates[SCHEMA_CANDIDATES_MAX];
	const struct rh_json *member;
	const char *nearest;
	size_t count = 0, length = walk->path.length - strlen(key);
	rh_auto_str home = {0}, place = {0};

	for (member = rh_json_first(properties); member && count < SCHEMA_CANDIDATES_MAX; member = rh_json_next(member))
		candidates[count++] = rh_json_key(member);
	nearest = rh_nearest(key, candidates, count);
	rh_str_append_bytes(&place, walk->path.data, length);
	if (rh_misplaced_home(walk->document, rh_str_text(&place), key, &home))
		rh_str_appendf(out, "move it to %s", rh_str_text(&home));
	else if (nearest)
		rh_str_appendf(out, "did you mean \"%s\"?", nearest);
	else if (!walk->passed_on)
		rh_str_append(out, "remove it, the API server does not keep it");
	out->failed = out->failed || home.failed || place.failed;
}

/* The API server drops what a definition does not name, which kubectl refuses to have done; a pod's spec is another
 * matter, for what this build does not know a newer API server may. */
static int schema_unknown_field(struct schema_walk *walk, const struct rh_json *properties, const char *key)
{
	enum rh_severity severity = walk->passed_on ? RH_FINDING_WARNING : RH_FINDING_ERROR;
	const char *version = rh_json_string_at(walk->document, "kubernetes");
	rh_auto_str detail = {0};

	schema_advise(walk, properties, key, &detail);
	if (walk->passed_on)
		rh_str_appendf(&detail, "%sKubernetes %s has no such field here; it is passed on to the pods as it is",
		               detail.length ? " " : "", version ? version : "");
	if (detail.failed)
		return RH_ENOMEM;
	return rh_findings_add(walk->findings, severity, rh_str_text(&walk->path), RH_SCHEMA_UNKNOWN "%s",
	                       rh_str_text(&detail));
}

static int schema_member(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *member)
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
	else if (properties && !rh_json_bool(rh_json_get(schema, "x-kubernetes-preserve-unknown-fields"), false))
		r = schema_unknown_field(walk, properties, rh_json_key(member));
	rh_str_cut(&walk->path, length);
	return r;
}

static int schema_required(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *name;
	int r;

	for (name = rh_json_first(rh_json_get(schema, "required")); name; name = rh_json_next(name)) {
		const char *key = rh_json_string(name);

		if (!key || (rh_json_get(value, key) && rh_json_type(rh_json_get(value, key)) != RH_JSON_NULL))
			continue;
		r = rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
		                    "Required value: member \"%s\" is missing", key);
		if (r < 0)
			return r;
	}
	return 0;
}

static int schema_object(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *member;
	int r = schema_required(walk, schema, value);

	for (member = rh_json_first(value); member && r == 0; member = rh_json_next(member))
		r = schema_member(walk, schema, member);
	return r;
}

static int schema_array(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *items = rh_json_get(schema, "items");
	const struct rh_json *item;
	size_t length = walk->path.length;
	size_t index = 0;
	int r = 0;

	for (item = rh_json_first(value); item && items && r == 0; item = rh_json_next(item)) {
		rh_str_appendf(&walk->path, "[%zu]", index++);
		/* It cannot be dropped as a member can: the items behind it would move. */
		if (rh_json_type(item) == RH_JSON_NULL)
			r = schema_wrong_type(walk, schema_resolve(walk, items), item);
		else
			r = schema_value(walk, items, item);
		rh_str_cut(&walk->path, length);
	}
	return r;
}

static int schema_enum(struct schema_walk *walk, const struct rh_json *words, const struct rh_json *value)
{
	rh_auto_str supported = {0};
	const struct rh_json *word;

	for (word = rh_json_first(words); word; word = rh_json_next(word)) {
		if (rh_json_equal(word, value))
			return 0;
		rh_str_appendf(&supported, "%s\"%s\"", supported.length ? ", " : "",
		               rh_json_string(word) ? rh_json_string(word) : "");
	}
	return rh_findings_add(
		walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path), "Unsupported value: \"%s\": supported values: %s",
		rh_json_string(value) ? rh_json_string(value) : rh_json_type_name(value), rh_str_text(&supported));
}

static int schema_quantity(struct schema_walk *walk, const struct rh_json *value)
{
	rh_auto_free char *text = NULL;
	int64_t milli;

	if (rh_quantity_from_json(value, &milli, NULL) == 0)
		return 0;
	text = rh_json_text(value);
	if (!text)
		return RH_ENOMEM;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: %s: " RH_QUANTITY_RULE, text);
}

/* @p value is of the type that @p schema, which is no reference, asks for. */
static int schema_typed(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	if (rh_json_get(schema, "enum"))
		return schema_enum(walk, rh_json_get(schema, "enum"), value);
	if (rh_json_get(schema, "x-kubernetes-int-or-string") && !rh_json_get(schema, "format"))
		return schema_quantity(walk, value);
	if (rh_json_type(value) == RH_JSON_NUMBER && schema_is_integer(schema))
		return schema_integer(walk, schema, value);
	if (rh_json_type(value) == RH_JSON_OBJECT)
		return schema_object(walk, schema, value);
	if (rh_json_type(value) == RH_JSON_ARRAY)
		return schema_array(walk, schema, value);
	return 0;
}

static int schema_value(struct schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *resolved = schema_resolve(walk, schema);
	bool outer = walk->passed_on;
	int r;

	/* null is "not set" everywhere in Kubernetes: the API server drops it. */
	if (!resolved || rh_json_type(value) == RH_JSON_NULL)
		return 0;
	if (walk->path.failed)
		return RH_ENOMEM;
	if (!schema_type_fits(resolved, value))
		return schema_wrong_type(walk, resolved, value);
	walk->passed_on = outer || rh_text_equal(rh_json_string_at(schema, "$ref"), "PodSpec");
	r = schema_typed(walk, resolved, value);
	walk->passed_on = outer;
	return r;
}

int rh_schema_check(const struct rh_json *document, const struct rh_json *value, struct rh_findings *findings)
{
	struct schema_walk walk = {
		.document = document, .definitions = rh_json_get(document, "definitions"), .findings = findings};
	const char *root = rh_json_string(rh_json_get(document, "root"));
	int r = schema_value(&walk, rh_json_get(walk.definitions, root ? root : ""), value);

	if (r == 0 && walk.path.failed)
		r = RH_ENOMEM;
	rh_str_deinit(&walk.path);
	return r;
}

/* A fixed text of this file, or a plugin's: anything but a JSON object is a broken contract. */
static int schema_parse(const char *what, const char *text, struct rh_json **ret_json, struct rh_error *err)
{
	rh_auto(json) json = NULL;
	int r = rh_json_parse(text, strlen(text), &json, err);

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "%s", what);
	if (rh_json_type(json) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EPLUGIN, "%s is %s, not a JSON object", what, rh_json_type_name(json));
	*ret_json = rh_take(json);
	return 0;
}

static int schema_set_parsed(struct rh_json *object, const char *key, const char *what, const char *text,
                             struct rh_error *err)
{
	struct rh_json *json = NULL;
	int r = schema_parse(what, text, &json, err);

	if (r < 0)
		return r;
	return rh_json_set(object, key, json) < 0 ? rh_fail_oom(err) : 0;
}

static int schema_object_of(struct rh_json *parent, const char *key, struct rh_json **ret_properties)
{
	struct rh_json *schema = rh_json_ensure_object(parent, key);

	if (!schema || rh_json_set_string(schema, "type", "object") < 0)
		return RH_ENOMEM;
	*ret_properties = rh_json_ensure_object(schema, "properties");
	return *ret_properties ? 0 : RH_ENOMEM;
}

int rh_schema_job(struct rh_json **ret_document, struct rh_error *err)
{
	size_t length;
	const char *text = rh_schema_job_text(&length);

	return rh_json_parse(text, length, ret_document, err);
}

static int schema_spec(const struct rh_kind *kind, struct rh_json *job, struct rh_error *err)
{
	rh_auto(json) own = NULL;
	rh_auto(json) common = NULL;
	struct rh_json *properties = NULL;
	struct rh_json *map;
	int r = rh_schema_job(&common, err);

	if (r == 0 && schema_object_of(job, "spec", &properties) < 0)
		r = rh_fail_oom(err);
	if (r == 0 && kind->spec_schema)
		r = schema_parse("rh_kind.spec_schema", kind->spec_schema, &own, err);
	if (r < 0)
		return r;
	if (own && rh_json_merge(properties, own) < 0)
		return rh_fail_oom(err);
	map = rh_json_ensure_object(properties, kind->replicas_field);
	if (!map || rh_json_set_string(map, "type", "object") < 0 ||
	    rh_json_set(map, "additionalProperties", rh_json_detach(common, "replicaSpec")) < 0 ||
	    rh_json_set(properties, "runPolicy", rh_json_detach(common, "runPolicy")) < 0)
		return rh_fail_oom(err);
	return 0;
}

static int schema_job(const struct rh_kind *kind, struct rh_json *definitions, struct rh_error *err)
{
	struct rh_json *properties;
	struct rh_json *metadata;

	if (schema_object_of(definitions, kind->kind, &properties) < 0)
		return rh_fail_oom(err);
	metadata = rh_json_ensure_object(properties, "metadata");
	if (!metadata || rh_json_set_string(metadata, "$ref", "ObjectMeta") < 0)
		return rh_fail_oom(err);
	if (schema_set_parsed(properties, "apiVersion", "apiVersion", "{\"type\":\"string\"}", err) < 0 ||
	    schema_set_parsed(properties, "kind", "kind", "{\"type\":\"string\"}", err) < 0 ||
	    schema_set_parsed(properties, "status", "status", schema_status, err) < 0)
		return RH_ENOMEM;
	return schema_spec(kind, properties, err);
}

int rh_schema_of_kind(const struct rh_kind *kind, const struct rh_json *pod, struct rh_json **ret_document,
                      struct rh_error *err)
{
	rh_auto(json) document = rh_json_new_object();
	struct rh_json *definitions = rh_json_copy(rh_json_get(pod, "definitions"));
	const char *version = rh_json_string_at(pod, "kubernetes");
	int r;

	if (!document || rh_json_set(document, "definitions", definitions) < 0 ||
	    rh_json_set_string(document, "root", kind->kind) < 0 ||
	    (version && rh_json_set_string(document, "kubernetes", version) < 0))
		return rh_fail_oom(err);
	r = schema_job(kind, definitions, err);
	if (r < 0)
		return r;
	*ret_document = rh_take(document);
	return 0;
}
