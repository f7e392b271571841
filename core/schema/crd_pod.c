/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes publishes its types with references between them; a CRD's schema has none, must be "structural", and a
 * default in it is written into the stored object. So references are put in place, keywords that a CRD must not have
 * are left out, and of the defaults those remain that are more than an empty value.
 */
#include <string.h>

#include "base/str.h"
#include "job/rules/schema/schema.h"
#include "schema/crd.h"

/* Deepest nesting of schemas; that of pods is about twelve. */
#define POD_DEPTH_MAX 40
/* Longest description, in bytes. */
#define POD_DESCRIPTION_MAX 400

#define POD_ROOT "io.k8s.api.core.v1.PodTemplateSpec"

/* State of a conversion. */
struct pod_walk {
	const struct rh_json *types; /* by name */
	const struct rh_json *metadata;
	struct rh_error *err;
	int depth;
};

/* Types whose schema does not describe their serialized form. */
struct pod_known {
	const char *suffix;
	const char *schema; /* NULL: that of a pod's metadata */
};

static const struct pod_known pod_known[] = {
	{".resource.Quantity", "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"pattern\":\"^(\\\\+|-)?(([0-9]+"
                           "(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\\\+|-)?[0-9]+))?$\","
                           "\"x-kubernetes-int-or-string\":true}"},
	{".intstr.IntOrString",
     "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"x-kubernetes-int-or-string\":true}"},
	{".v1.FieldsV1", "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}"},
	{".runtime.RawExtension", "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}"},
	{".v1.ObjectMeta", NULL},
};

static int pod_convert(struct pod_walk *walk, const struct rh_json *from, struct rh_json **ret_schema);

static bool pod_ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The name of the type that a schema refers to, or NULL. Version 3 wraps a reference to give it a default. */
static const char *pod_reference(const struct rh_json *schema)
{
	const struct rh_json *all = rh_json_get(schema, "allOf");
	const struct rh_json *place = rh_json_size(all) == 1 ? rh_json_first(all) : schema;
	const char *text = rh_json_string(rh_json_get(place, "$ref"));
	const char *slash = text ? strrchr(text, '/') : NULL;

	return slash ? slash + 1 : text;
}

/* Cut at the end of the last whole character that fits. */
static int pod_put_description(const struct rh_json *from, struct rh_json *schema)
{
	const char *text = rh_json_string(rh_json_get(from, "description"));
	size_t length = text ? strlen(text) : 0;
	size_t at = 0;
	rh_auto_str cut = {0};

	if (length == 0)
		return 0;
	while (at < length && at + rh_utf8_length(text + at, length - at) <= POD_DESCRIPTION_MAX)
		at += rh_utf8_length(text + at, length - at);
	rh_str_append_bytes(&cut, text, at);
	return cut.failed ? RH_ENOMEM : rh_json_set_string(schema, "description", rh_str_text(&cut));
}

/* An empty default value is Go's zero value, not what a pod gets. */
static bool pod_is_default(const struct rh_json *value)
{
	const char *text = rh_json_string(value);

	if (text)
		return *text != '\0';
	if (rh_json_type(value) == RH_JSON_NUMBER)
		return rh_json_number(value, 0) != 0;
	return rh_json_type(value) == RH_JSON_BOOL && rh_json_bool(value, false);
}

static int pod_put_words(const struct rh_json *from, struct rh_json *schema)
{
	static const char *const words[] = {
		"type", "format", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"};
	const struct rh_json *value = rh_json_get(from, "default");
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(words) / sizeof(words[0]); i++) {
		if (rh_json_get(from, words[i]))
			r = rh_json_set(schema, words[i], rh_json_copy(rh_json_get(from, words[i])));
	}
	if (r == 0 && pod_is_default(value))
		r = rh_json_set(schema, "default", rh_json_copy(value));
	return r;
}

static bool pod_is_required(const struct rh_json *schema, const char *key)
{
	for (const struct rh_json *item = rh_json_first(rh_json_get(schema, "required")); item; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(item), key))
			return true;
	}
	return false;
}

/* The keys of a list's items must always be present, if only by default. */
static int pod_put_key_defaults(struct rh_json *schema)
{
	struct rh_json *items = rh_json_get(schema, "items");
	int r = 0;

	for (const struct rh_json *item = rh_json_first(rh_json_get(schema, "x-kubernetes-list-map-keys")); item && r == 0;
	     item = rh_json_next(item)) {
		const char *key = rh_json_string(item);
		struct rh_json *field = key ? rh_json_get(rh_json_get(items, "properties"), key) : NULL;

		if (field && !rh_json_get(field, "default") && !pod_is_required(items, key))
			r = rh_json_set_string(field, "default", "");
	}
	return r;
}

static int pod_put_properties(struct pod_walk *walk, const struct rh_json *from, struct rh_json *schema)
{
	struct rh_json *properties;
	int r = 0;

	if (rh_json_size(from) == 0)
		return 0;
	properties = rh_json_ensure_object(schema, "properties");
	if (!properties || rh_json_set_bool(schema, "x-kubernetes-preserve-unknown-fields", true) < 0)
		return rh_fail_oom(walk->err);
	for (const struct rh_json *field = rh_json_first(from); field && r == 0; field = rh_json_next(field)) {
		struct rh_json *converted = NULL;

		r = pod_convert(walk, field, &converted);
		if (r < 0)
			return rh_wrap(walk->err, r, "%s", rh_json_key(field));
		if (rh_json_set(properties, rh_json_key(field), converted) < 0)
			return rh_fail_oom(walk->err);
	}
	return r;
}

static int pod_put_inner(struct pod_walk *walk, const struct rh_json *from, const char *key, struct rh_json *schema)
{
	struct rh_json *inner = NULL;
	int r = rh_json_get(from, key) ? pod_convert(walk, rh_json_get(from, key), &inner) : 0;

	if (r < 0 || !inner)
		return r;
	return rh_json_set(schema, key, inner) < 0 ? rh_fail_oom(walk->err) : 0;
}

/* A type that is written out, into @p schema, which may have a description already. */
static int pod_put_type(struct pod_walk *walk, const struct rh_json *from, struct rh_json *schema)
{
	int r = pod_put_words(from, schema) < 0 ? rh_fail_oom(walk->err) : 0;

	if (r == 0)
		r = pod_put_properties(walk, rh_json_get(from, "properties"), schema);
	if (r == 0)
		r = pod_put_inner(walk, from, "items", schema);
	if (r == 0)
		r = pod_put_inner(walk, from, "additionalProperties", schema);
	if (r < 0)
		return r;
	if ((!rh_json_get(schema, "type") && rh_json_set_bool(schema, "x-kubernetes-preserve-unknown-fields", true) < 0) ||
	    pod_put_key_defaults(schema) < 0)
		return rh_fail_oom(walk->err);
	return 0;
}

static const struct pod_known *pod_find_known(const char *name)
{
	for (size_t i = 0; i < sizeof(pod_known) / sizeof(pod_known[0]); i++) {
		if (pod_ends_with(name, pod_known[i].suffix))
			return &pod_known[i];
	}
	return NULL;
}

static int pod_put_reference(struct pod_walk *walk, const char *name, struct rh_json *schema)
{
	const struct pod_known *known = pod_find_known(name);
	const struct rh_json *type = rh_json_get(walk->types, name);
	rh_auto(json) parsed = NULL;
	int r;

	if (known) {
		r = known->schema ? rh_json_parse(known->schema, strlen(known->schema), &parsed, walk->err) : 0;
		if (r == 0 && rh_json_merge(schema, parsed ? parsed : walk->metadata) < 0)
			r = rh_fail_oom(walk->err);
		return r;
	}
	if (!type)
		return rh_fail(walk->err, RH_EINVAL, "refers to \"%s\", which the document does not have", name);
	if (!rh_json_get(schema, "description") && pod_put_description(type, schema) < 0)
		return rh_fail_oom(walk->err);
	return pod_put_type(walk, type, schema);
}

static int pod_convert(struct pod_walk *walk, const struct rh_json *from, struct rh_json **ret_schema)
{
	rh_auto(json) schema = rh_json_new_object();
	const char *name = pod_reference(from);
	int r;

	if (!schema || pod_put_description(from, schema) < 0)
		return rh_fail_oom(walk->err);
	if (++walk->depth > POD_DEPTH_MAX)
		return rh_fail(walk->err, RH_EINVAL, "the types refer to each other without an end");
	r = name ? pod_put_reference(walk, name, schema) : pod_put_type(walk, from, schema);
	walk->depth--;
	if (r == 0)
		*ret_schema = rh_take(schema);
	return r;
}

int rh_crd_pod_template(const struct rh_json *openapi, struct rh_json **ret_schema, struct rh_error *err)
{
	const struct rh_json *types = rh_json_at(openapi, "components.schemas");
	rh_auto(json) common = NULL;
	rh_auto(json) schema = NULL;
	struct pod_walk walk = {.types = types ? types : rh_json_get(openapi, "definitions"), .err = err};
	int r = rh_schema_job(&common, err);

	if (r < 0)
		return r;
	if (!rh_json_get(walk.types, POD_ROOT))
		return rh_fail(err, RH_EINVAL,
		               "there is no type " POD_ROOT
		               ": give an OpenAPI document of Kubernetes, such as the output of `kubectl "
		               "get --raw /openapi/v3/api/v1`");
	walk.metadata = rh_json_get(common, "PodMetadata");
	r = pod_convert(&walk, rh_json_get(walk.types, POD_ROOT), &schema);
	if (r < 0)
		return rh_wrap(err, r, POD_ROOT);
	if (rh_json_type(rh_json_at(schema, "properties.spec.properties.containers.items")) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, POD_ROOT " has no spec.containers");
	*ret_schema = rh_take(schema);
	return 0;
}
