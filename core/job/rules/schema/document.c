/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/str.h"
#include "job/kind.h"
#include "job/rules/schema/schema.h"

/* An API server drops what a file says of it, whatever that is. */
static const char document_status[] = "{\"x-kubernetes-preserve-unknown-fields\":true}";

/* A fixed text of this file, or a plugin's: anything but a JSON object is a broken contract. */
static int document_parse(const char *what, const char *text, struct rh_json **ret_json, struct rh_error *err)
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

static int document_set_parsed(struct rh_json *object, const char *key, const char *what, const char *text,
                               struct rh_error *err)
{
	struct rh_json *json = NULL;
	int r = document_parse(what, text, &json, err);

	if (r < 0)
		return r;
	return rh_json_set(object, key, json) < 0 ? rh_fail_oom(err) : 0;
}

static int document_object_of(struct rh_json *parent, const char *key, struct rh_json **ret_properties)
{
	struct rh_json *schema = rh_json_ensure_object(parent, key);

	if (!schema || rh_json_set_string(schema, "type", "object") < 0)
		return RH_ENOMEM;
	*ret_properties = rh_json_ensure_object(schema, "properties");
	return *ret_properties ? 0 : RH_ENOMEM;
}

static int document_common(struct rh_json **ret_document, struct rh_error *err)
{
	size_t length;
	const char *text = rh_schema_job_text(&length);

	return rh_json_parse(text, length, ret_document, err);
}

int rh_schema_job(struct rh_json **ret_document, struct rh_error *err)
{
	static const char *const names[] = {"PodTemplateSpec", "PodMetadata"};
	rh_auto(json) document = NULL;
	rh_auto(json) fields = NULL;
	size_t length;
	const char *text = rh_schema_fields_text(&length);
	int r = document_common(&document, err);

	if (r == 0)
		r = rh_json_parse(text, length, &fields, err);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && r == 0; i++)
		r = rh_json_set(document, names[i], rh_json_detach(fields, names[i])) < 0 ? rh_fail_oom(err) : 0;
	if (r == 0)
		*ret_document = rh_take(document);
	return r;
}

/* One row of rh_kind.cel_rules, to where it says. */
static int document_rule(struct rh_json *schema, const struct rh_json *row)
{
	struct rh_json *rules = rh_json_ensure_array(schema, "x-kubernetes-validations");
	struct rh_json *copy = rh_json_copy(row);

	if (copy)
		rh_json_remove(copy, "at");
	if (rules)
		return rh_json_append(rules, copy);
	rh_json_free(copy);
	return RH_ENOMEM;
}

const char *rh_schema_default(const char *description)
{
	const char *found = "";

	for (const char *at = description; (at = strstr(at, RH_SCHEMA_DEFAULT)); at++)
		found = at;
	return found;
}

static int document_set_default(struct rh_json *field, const struct rh_json *value)
{
	const char *words = rh_json_string_at(field, "description");
	const char *last = words ? rh_schema_default(words) : "";
	rh_auto_free char *printed = rh_json_text(value);
	const char *shown = rh_json_string(value) ? rh_json_string(value) : printed;
	rh_auto_str made = {0};

	if (!printed || !words)
		return RH_ENOMEM;
	rh_str_append_bytes(&made, words, *last ? (size_t)(last - words) : strlen(words));
	rh_str_appendf(&made, "%s" RH_SCHEMA_DEFAULT "%s.", *last ? "" : " ", shown);
	/* a server that filled it in would hide that the job does not set it */
	rh_json_remove(field, "default");
	return made.failed ? RH_ENOMEM : rh_json_set_string(field, "description", rh_str_text(&made));
}

/* The values that managedBy may have, and what its absence means. */
static int document_set_managers(const struct rh_kind *kind, struct rh_json *field)
{
	const char *text = rh_kind_managers(kind);
	struct rh_json *list = NULL;
	rh_auto_str words = {0};

	if (rh_json_parse(text, strlen(text), &list, NULL) < 0)
		return RH_ENOMEM;
	rh_str_append(&words, "Who runs the job: ");
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item))
		rh_str_appendf(&words, "%s%s%s", item == rh_json_first(list) ? "" : ", or ", rh_json_string(item),
		               item == rh_json_first(list) ? ", which is the default" : "");
	rh_str_append(&words, ". It cannot be changed.");
	if (rh_json_set(field, "enum", list) < 0 || words.failed)
		return RH_ENOMEM;
	return rh_json_set_string(field, "description", rh_str_text(&words));
}

/* Takes runPolicy out of @p common. */
static int document_policy(const struct rh_kind *kind, struct rh_json *common, struct rh_json **ret_schema)
{
	const char *text = rh_kind_run_policy(kind);
	rh_auto(json) schema = rh_json_detach(common, "runPolicy");
	rh_auto(json) defaults = NULL;
	struct rh_json *fields = rh_json_get(schema, "properties");
	int r = text ? rh_json_parse(text, strlen(text), &defaults, NULL) : 0;

	for (const struct rh_json *value = rh_json_first(defaults); value && r == 0; value = rh_json_next(value))
		r = document_set_default(rh_json_get(fields, rh_json_key(value)), value);
	if (r == 0 && rh_kind_managers(kind))
		r = document_set_managers(kind, rh_json_get(fields, "managedBy"));
	if (r == 0)
		*ret_schema = rh_take(schema);
	return r < 0 ? RH_ENOMEM : 0;
}

/* The replicas of the map, and those of types that stand elsewhere. Takes replicaSpec out of @p common. */
static int document_replicas(const struct rh_kind *kind, struct rh_json *job, struct rh_json *common)
{
	rh_auto(json) replica = rh_json_detach(common, "replicaSpec");
	struct rh_json *map = NULL;
	struct rh_kind_path path;
	struct rh_json *up;

	rh_kind_replicas_path(kind, &path);
	if (path.count > 0) {
		up = rh_kind_path_ensure_schema(&path, job);
		map = up ? rh_json_ensure_object(rh_json_get(up, "properties"), rh_kind_path_name(&path)) : NULL;
		if (!map || rh_json_set_string(map, "type", "object") < 0 ||
		    rh_json_set(map, "additionalProperties", rh_json_copy(replica)) < 0)
			return RH_ENOMEM;
	}
	for (size_t i = 0; kind->types[i]; i++) {
		if (!rh_kind_own_path(kind->types[i]))
			continue;
		rh_kind_type_path(kind, kind->types[i], "", &path);
		up = rh_kind_path_ensure_schema(&path, job);
		if (!up || rh_json_set(rh_json_get(up, "properties"), rh_kind_path_name(&path), rh_json_copy(replica)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

int rh_schema_put_policy(const struct rh_kind *kind, struct rh_json *job, struct rh_json *common)
{
	struct rh_json *policy = NULL;
	struct rh_kind_path path;
	struct rh_json *up;

	rh_kind_policy_path(kind, &path);
	/* the members of spec itself are the plugin's own */
	if (path.count < 2)
		return 0;
	up = rh_kind_path_ensure_schema(&path, job);
	if (!up || document_policy(kind, common, &policy) < 0)
		return RH_ENOMEM;
	return rh_json_set(rh_json_get(up, "properties"), rh_kind_path_name(&path), policy);
}

/* V1's definitions require the map alone, and lint has words of its own for that. */
static int document_required(const struct rh_kind *kind, struct rh_json *spec, struct rh_error *err)
{
	const char *text = rh_kind_spec_required(kind);
	struct rh_json *required = NULL;
	int r = text ? rh_json_parse(text, strlen(text), &required, err) : 0;

	if (r < 0 || !required)
		return r;
	return rh_json_set(spec, "required", required) < 0 ? rh_fail_oom(err) : 0;
}

static int document_spec(const struct rh_kind *kind, struct rh_json *job, struct rh_json *common, struct rh_error *err)
{
	rh_auto(json) own = NULL;
	struct rh_json *properties = NULL;
	int r = document_object_of(rh_json_get(job, "properties"), "spec", &properties) < 0 ? rh_fail_oom(err) : 0;

	if (r == 0 && kind->spec_schema)
		r = document_parse("rh_kind.spec_schema", kind->spec_schema, &own, err);
	if (r < 0)
		return r;
	if (own && rh_json_merge(properties, own) < 0)
		return rh_fail_oom(err);
	if (document_replicas(kind, job, common) < 0 || rh_schema_put_policy(kind, job, common) < 0)
		return rh_fail_oom(err);
	return document_required(kind, rh_json_at(job, "properties.spec"), err);
}

static int document_job(const struct rh_kind *kind, struct rh_json *definitions, struct rh_json *common,
                        struct rh_error *err)
{
	struct rh_json *properties;
	struct rh_json *metadata;

	if (document_object_of(definitions, kind->kind, &properties) < 0)
		return rh_fail_oom(err);
	metadata = rh_json_ensure_object(properties, "metadata");
	if (!metadata || rh_json_set_string(metadata, "$ref", "ObjectMeta") < 0)
		return rh_fail_oom(err);
	if (document_set_parsed(properties, "apiVersion", "apiVersion", "{\"type\":\"string\"}", err) < 0 ||
	    document_set_parsed(properties, "kind", "kind", "{\"type\":\"string\"}", err) < 0 ||
	    document_set_parsed(properties, "status", "status", document_status, err) < 0)
		return RH_ENOMEM;
	return document_spec(kind, rh_json_get(definitions, kind->kind), common, err);
}

/* Make the document of pod templates that of the kind. */
static int document_add_kind(const struct rh_kind *kind, struct rh_json *document, struct rh_error *err)
{
	rh_auto(json) common = NULL;
	int r = document_common(&common, err);

	if (r < 0)
		return r;
	if (rh_json_set_string(document, "root", kind->kind) < 0)
		return rh_fail_oom(err);
	return document_job(kind, rh_json_get(document, "definitions"), common, err);
}

int rh_schema_of_kind(const struct rh_kind *kind, const struct rh_json *pod, struct rh_json **ret_document,
                      struct rh_error *err)
{
	rh_auto(json) document = rh_json_copy(pod);
	int r = document ? document_add_kind(kind, document, err) : rh_fail_oom(err);

	if (r == 0)
		*ret_document = rh_take(document);
	return r;
}

int rh_schema_of_kind_here(const struct rh_kind *kind, struct rh_json **ret_document, struct rh_error *err)
{
	rh_auto(json) document = NULL;
	size_t length;
	const char *text = rh_schema_pod_text(&length);
	int r = rh_json_parse(text, length, &document, err);

	if (r == 0)
		r = document_add_kind(kind, document, err);
	if (r == 0)
		*ret_document = rh_take(document);
	return r;
}

int rh_schema_of_kind_bare(const struct rh_kind *kind, struct rh_json **ret_document, struct rh_error *err)
{
	rh_auto(json) document = rh_json_new_object();
	int r = rh_json_ensure_object(document, "definitions") ? document_add_kind(kind, document, err) : rh_fail_oom(err);

	if (r == 0)
		*ret_document = rh_take(document);
	return r;
}

int rh_schema_of_resource(const struct rh_json *resource, const struct rh_json *pod, struct rh_json **ret_document,
                          struct rh_error *err)
{
	rh_auto(json) document = rh_json_new_object();
	struct rh_json *definitions = rh_json_copy(rh_json_get(pod, "definitions"));
	const char *kind = rh_json_string_at(resource, "kind");
	struct rh_json *properties;

	if (!document || rh_json_set(document, "definitions", definitions) < 0 ||
	    rh_json_set_string(document, "root", kind) < 0 || document_object_of(definitions, kind, &properties) < 0 ||
	    rh_json_merge(properties, rh_json_get(resource, "schema")) < 0)
		return rh_fail_oom(err);
	if (document_set_parsed(properties, "apiVersion", "apiVersion", "{\"type\":\"string\"}", err) < 0 ||
	    document_set_parsed(properties, "kind", "kind", "{\"type\":\"string\"}", err) < 0 ||
	    document_set_parsed(properties, "metadata", "metadata", "{\"$ref\":\"ObjectMeta\"}", err) < 0)
		return RH_ENOMEM;
	*ret_document = rh_take(document);
	return 0;
}

int rh_schema_add_rules(const struct rh_kind *kind, struct rh_json *document, struct rh_error *err)
{
	struct rh_json *job = rh_json_get(rh_json_get(document, "definitions"), kind->kind);
	struct rh_json *spec = rh_json_get(rh_json_get(job, "properties"), "spec");
	struct rh_json *map;
	struct rh_kind_path path;
	rh_auto(json) rows = NULL;
	int r = kind->cel_rules ? rh_json_parse(kind->cel_rules, strlen(kind->cel_rules), &rows, err) : 0;

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "rh_kind.cel_rules");
	rh_kind_replicas_path(kind, &path);
	map = rh_kind_path_schema(&path, job);
	for (const struct rh_json *row = rh_json_first(rows); row; row = rh_json_next(row)) {
		if (document_rule(rh_text_equal(rh_json_string_at(row, "at"), "replicas") ? map : spec, row) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}

/* The fields of a job that a definition without --pod-schema names: a rule can name no others. What jobs have in common
 * is the definitions: to parse it is most of the cost, which each start has for each kind with rules. */
int rh_schema_of_definition(const struct rh_kind *kind, struct rh_json **ret_document, struct rh_error *err)
{
	static const char metadata[] = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}";
	rh_auto(json) document = rh_json_new_object();
	struct rh_json *definitions = NULL;
	int r = rh_schema_job(&definitions, err);

	if (r < 0)
		return r;
	if (!document || rh_json_set_string(document, "root", kind->kind) < 0) {
		rh_json_free(definitions);
		return rh_fail_oom(err);
	}
	if (rh_json_set(document, "definitions", definitions) < 0)
		return rh_fail_oom(err);
	r = document_set_parsed(definitions, "ObjectMeta", "metadata", metadata, err);
	if (r == 0)
		r = document_job(kind, definitions, definitions, err);
	if (r < 0)
		return r;
	*ret_document = rh_take(document);
	return 0;
}
