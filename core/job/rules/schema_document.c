/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/str.h"
#include "job/rules/schema.h"

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

int rh_schema_job(struct rh_json **ret_document, struct rh_error *err)
{
	size_t length;
	const char *text = rh_schema_job_text(&length);

	return rh_json_parse(text, length, ret_document, err);
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

static int document_spec(const struct rh_kind *kind, struct rh_json *job, struct rh_error *err)
{
	rh_auto(json) own = NULL;
	rh_auto(json) common = NULL;
	struct rh_json *properties = NULL;
	struct rh_json *map;
	int r = rh_schema_job(&common, err);

	if (r == 0 && document_object_of(job, "spec", &properties) < 0)
		r = rh_fail_oom(err);
	if (r == 0 && kind->spec_schema)
		r = document_parse("rh_kind.spec_schema", kind->spec_schema, &own, err);
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

static int document_job(const struct rh_kind *kind, struct rh_json *definitions, struct rh_error *err)
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
	return document_spec(kind, properties, err);
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
	r = document_job(kind, definitions, err);
	if (r < 0)
		return r;
	*ret_document = rh_take(document);
	return 0;
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
	struct rh_json *map = rh_json_get(rh_json_get(spec, "properties"), kind->replicas_field);
	rh_auto(json) rows = NULL;
	int r = kind->cel_rules ? rh_json_parse(kind->cel_rules, strlen(kind->cel_rules), &rows, err) : 0;

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "rh_kind.cel_rules");
	for (const struct rh_json *row = rh_json_first(rows); row; row = rh_json_next(row)) {
		if (document_rule(rh_text_equal(rh_json_string_at(row, "at"), "replicas") ? map : spec, row) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}

/* The fields of a job that a definition without --pod-schema names: a rule can name no others. */
static int document_small_pod(struct rh_json **ret_pod, struct rh_error *err)
{
	static const char metadata[] = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}";
	rh_auto(json) common = NULL;
	rh_auto(json) pod = rh_json_new_object();
	struct rh_json *definitions = pod ? rh_json_ensure_object(pod, "definitions") : NULL;
	int r = definitions ? rh_schema_job(&common, err) : rh_fail_oom(err);

	if (r == 0)
		r = document_set_parsed(definitions, "ObjectMeta", "metadata", metadata, err);
	if (r < 0)
		return r;
	if (rh_json_set(definitions, "PodTemplateSpec", rh_json_detach(common, "podTemplate")) < 0 ||
	    rh_json_set(definitions, "PodMetadata", rh_json_detach(common, "podMetadata")) < 0)
		return rh_fail_oom(err);
	*ret_pod = rh_take(pod);
	return 0;
}

int rh_schema_of_definition(const struct rh_kind *kind, struct rh_json **ret_document, struct rh_error *err)
{
	rh_auto(json) pod = NULL;
	int r = document_small_pod(&pod, err);

	return r < 0 ? r : rh_schema_of_kind(kind, pod, ret_document, err);
}
