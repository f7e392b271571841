/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/crd.h"

#include <string.h>

#include "base/str.h"
#include "job/kind.h"
#include "job/rules/schema/schema.h"
#include "job/status/shown.h"
#include "schema/crd_rules.h"
#include "schema/crd_union.h"

/* v1-behaviour A.7: the last condition, whatever its status is. */
static const char crd_columns[] =
	"[{\"name\":\"State\",\"type\":\"string\",\"jsonPath\":\".status.conditions[-1:].type\"},"
	"{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":\".metadata.creationTimestamp\"}]";

static int crd_set_format(struct rh_json *object, const char *key, const char *before, const char *name,
                          const char *after)
{
	rh_auto_str text = {0};

	rh_str_appendf(&text, "%s%s%s", before, name, after);
	return text.failed ? RH_ENOMEM : rh_json_set_string(object, key, rh_str_text(&text));
}

/* A schema of the type object, with an empty map of properties. */
static struct rh_json *crd_add_object(struct rh_json *properties, const char *key, struct rh_json **ret_properties)
{
	struct rh_json *schema = rh_json_ensure_object(properties, key);

	if (!schema || rh_json_set_string(schema, "type", "object") < 0)
		return NULL;
	*ret_properties = rh_json_ensure_object(schema, "properties");
	return *ret_properties ? schema : NULL;
}

static int crd_add_text(struct rh_json *properties, const char *key, const char *description)
{
	struct rh_json *schema = rh_json_ensure_object(properties, key);

	if (!schema || rh_json_set_string(schema, "type", "string") < 0)
		return RH_ENOMEM;
	return rh_json_set_string(schema, "description", description);
}

static int crd_require(struct rh_json *schema, const char *key)
{
	struct rh_json *required = rh_json_ensure_array(schema, "required");

	for (const struct rh_json *item = rh_json_first(required); item; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(item), key))
			return 0;
	}
	return required ? rh_json_append(required, rh_json_new_string(key)) : RH_ENOMEM;
}

/* Require each member of a path below spec, where there is a spec. */
static int crd_require_path(const struct rh_kind_path *path, struct rh_json *job)
{
	struct rh_json *at = job;
	int r = 0;

	for (size_t i = 0; i < path->count && r == 0; i++) {
		r = i > 0 ? crd_require(at, path->steps[i].name) : 0;
		at = rh_json_get(rh_json_get(at, "properties"), path->steps[i].name);
	}
	return r;
}

/* V1's CRDs require the map of replicas where there is a spec, and nothing else. */
static int crd_put_required(const struct rh_kind *kind, struct rh_json *job, struct rh_error *err)
{
	const char *text = rh_kind_spec_required(kind);
	struct rh_json *required = NULL;
	struct rh_kind_path path;
	int r = text ? rh_json_parse(text, strlen(text), &required, err) : 0;

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "kind %s: spec_required", kind->kind);
	rh_kind_replicas_path(kind, &path);
	r = required ? rh_json_set(rh_json_at(job, "properties.spec"), "required", required) : crd_require_path(&path, job);
	for (size_t i = 0; kind->types[i] && r == 0; i++) {
		if (!rh_kind_own_path(kind->types[i]) || !(kind->types[i]->flags & RH_REPLICA_REQUIRED))
			continue;
		rh_kind_type_path(kind, kind->types[i], "", &path);
		r = crd_require_path(&path, job);
	}
	return r < 0 ? rh_fail_oom(err) : 0;
}

/* Takes @p common apart. */
static int crd_put_template(struct rh_json *common, const struct rh_json *pod_template, struct rh_json *replica)
{
	struct rh_json *template_ = pod_template ? rh_json_copy(pod_template) : rh_json_detach(common, "PodTemplateSpec");
	int r = rh_json_set(rh_json_get(replica, "properties"), "template", template_);

	if (r < 0 || pod_template)
		return r;
	return rh_json_set(rh_json_get(template_, "properties"), "metadata", rh_json_detach(common, "PodMetadata"));
}

/* The map of replica types, where the kind has one. */
static int crd_put_map(const struct rh_kind *kind, const struct rh_json *replica, struct rh_crd_schema *schema)
{
	struct rh_kind_path path;
	struct rh_json *map;

	rh_kind_replicas_path(kind, &path);
	if (path.count == 0)
		return 0;
	schema->holder = rh_kind_path_ensure_schema(&path, schema->job);
	map = schema->holder ? rh_json_ensure_object(rh_json_get(schema->holder, "properties"), rh_kind_path_name(&path))
	                     : NULL;
	if (!map || rh_json_set_string(map, "type", "object") < 0 ||
	    crd_set_format(map, "description", "The replicas of the ", kind->kind, ", by type.") < 0 ||
	    rh_json_set_integer(map, "maxProperties", RH_CRD_TYPES_MAX) < 0 ||
	    rh_json_set(map, "additionalProperties", rh_json_copy(replica)) < 0)
		return RH_ENOMEM;
	schema->replicas = map;
	return 0;
}

/* A type that is not in the map. */
static int crd_put_own(const struct rh_kind *kind, const struct rh_replica_type *type, const struct rh_json *replica,
                       struct rh_json *job)
{
	struct rh_kind_path path;
	struct rh_json *own = rh_json_copy(replica);
	struct rh_json *up;

	rh_kind_type_path(kind, type, "", &path);
	up = rh_kind_path_ensure_schema(&path, job);
	if (rh_json_set(rh_json_get(up, "properties"), rh_kind_path_name(&path), own) < 0)
		return RH_ENOMEM;
	return crd_set_format(own, "description", "The replicas of type ", type->name, ".");
}

/* The replicas of all types, with the pods that their templates may have. Takes @p common apart. */
static int crd_put_replicas(const struct rh_kind *kind, struct rh_json *common, const struct rh_json *pod_template,
                            struct rh_crd_schema *schema)
{
	rh_auto(json) replica = rh_json_detach(common, "replicaSpec");
	int r = replica ? crd_put_template(common, pod_template, replica) : RH_ENOMEM;

	if (r == 0)
		r = crd_put_map(kind, replica, schema);
	for (size_t i = 0; kind->types[i] && r == 0; i++) {
		if (rh_kind_own_path(kind->types[i]))
			r = crd_put_own(kind, kind->types[i], replica, schema->job);
	}
	return r;
}

/* The plugin's fields come before those of the core in spec. */
static int crd_put_spec(const struct rh_kind *kind, struct rh_json *common, const struct rh_json *pod_template,
                        struct rh_crd_schema *schema, struct rh_error *err)
{
	rh_auto(json) own = NULL;
	struct rh_json *properties = rh_json_get(schema->job, "properties");
	struct rh_json *fields;
	int r = kind->spec_schema ? rh_json_parse(kind->spec_schema, strlen(kind->spec_schema), &own, err) : 0;

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "kind %s: spec_schema", kind->kind);
	schema->spec = crd_add_object(properties, "spec", &fields);
	if (!schema->spec || crd_set_format(schema->spec, "description", "What the ", kind->kind, " is to be.") < 0 ||
	    (own && rh_json_merge(fields, own) < 0))
		return rh_fail_oom(err);
	if (crd_put_replicas(kind, common, pod_template, schema) < 0 || rh_schema_put_policy(kind, schema->job, common) < 0)
		return rh_fail_oom(err);
	return crd_put_required(kind, schema->job, err);
}

int rh_crd_status(const struct rh_kind *kind, struct rh_json *common, struct rh_json **ret_status)
{
	static const char *const core[] = {"replicaStatuses", "startTime", "completionTime", "lastReconcileTime"};
	const char *text = rh_shown_schema(kind);
	rh_auto(json) own = NULL;
	rh_auto(json) status = rh_json_detach(common, "status");
	struct rh_json *properties = rh_json_get(status, "properties");

	/* the loader has checked it */
	if (!properties || (text && rh_json_parse(text, strlen(text), &own, NULL) < 0))
		return RH_ENOMEM;
	for (size_t i = 0; i < sizeof(core) / sizeof(core[0]); i++) {
		if (!rh_shown_is_core(kind, core[i]))
			rh_json_remove(properties, core[i]);
	}
	if (own && rh_json_merge(properties, own) < 0)
		return RH_ENOMEM;
	*ret_status = rh_take(status);
	return 0;
}

static int crd_put_job(const struct rh_kind *kind, const struct rh_json *pod_template, struct rh_json *version,
                       struct rh_error *err)
{
	rh_auto(json) common = NULL;
	struct rh_crd_schema schema = {0};
	struct rh_json *outer = rh_json_ensure_object(version, "schema");
	struct rh_json *properties;
	struct rh_json *metadata;
	struct rh_json *status = NULL;
	int r = outer ? rh_schema_job(&common, err) : rh_fail_oom(err);

	if (r < 0)
		return r;
	schema.job = crd_add_object(outer, "openAPIV3Schema", &properties);
	/* a rule may only name a field that the schema has */
	if (!schema.job || !crd_add_object(properties, "metadata", &metadata) ||
	    crd_add_text(metadata, "name", "The name.") < 0 ||
	    crd_set_format(schema.job, "description", "A ", kind->kind, ".") < 0 ||
	    crd_add_text(properties, "apiVersion", "The group and version of this schema.") < 0 ||
	    crd_add_text(properties, "kind", "The kind of this object.") < 0)
		return rh_fail_oom(err);
	r = crd_put_spec(kind, common, pod_template, &schema, err);
	if (r < 0)
		return r;
	if (rh_crd_status(kind, common, &status) < 0 || rh_json_set(properties, "status", status) < 0)
		return rh_fail_oom(err);
	return rh_crd_add_rules(kind, &schema, err);
}

static const struct rh_replica_type *crd_type(const struct rh_kind *kind, const char *name)
{
	const struct rh_replica_type *const *type = kind->types;

	while (*type && strcmp((*type)->name, name) != 0)
		type++;
	return *type;
}

static int crd_put_scale(const struct rh_kind *kind, struct rh_json *subresources)
{
	struct rh_json *scale = rh_json_ensure_object(subresources, "scale");
	rh_auto_str replicas = {0};
	struct rh_kind_path path;

	if (!scale)
		return RH_ENOMEM;
	rh_kind_type_path(kind, crd_type(kind, kind->scale_type), kind->scale_type, &path);
	rh_str_append(&replicas, ".");
	rh_place_print(rh_kind_path_place(&path), true, &replicas);
	rh_str_append(&replicas, ".replicas");
	if (replicas.failed || rh_json_set_string(scale, "specReplicasPath", rh_str_text(&replicas)) < 0 ||
	    crd_set_format(scale, "statusReplicasPath", ".status.replicaStatuses.", kind->scale_type, ".active") < 0 ||
	    crd_set_format(scale, "labelSelectorPath", ".status.replicaStatuses.", kind->scale_type, ".selector") < 0)
		return RH_ENOMEM;
	return 0;
}

static int crd_put_version(const struct rh_kind *kind, bool storage, const struct rh_json *pod_template,
                           struct rh_json *versions, struct rh_error *err)
{
	struct rh_json *version = rh_json_new_object();
	struct rh_json *columns = NULL;
	struct rh_json *subresources;
	const char *text = kind->columns ? kind->columns : crd_columns;
	int r = rh_json_append(versions, version) < 0 ? rh_fail_oom(err) : rh_json_parse(text, strlen(text), &columns, err);

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "kind %s: columns", kind->kind);
	if (rh_json_set(version, "additionalPrinterColumns", columns) < 0 ||
	    rh_json_set_string(version, "name", kind->version) < 0 || rh_json_set_bool(version, "served", true) < 0 ||
	    rh_json_set_bool(version, "storage", storage) < 0)
		return rh_fail_oom(err);
	subresources = rh_json_ensure_object(version, "subresources");
	if (!subresources || !rh_json_ensure_object(subresources, "status") ||
	    (kind->scale_type && crd_put_scale(kind, subresources) < 0))
		return rh_fail_oom(err);
	return crd_put_job(kind, pod_template, version, err);
}

static int crd_put_names(const struct rh_kind *kind, struct rh_json *spec)
{
	struct rh_json *names = rh_json_ensure_object(spec, "names");

	if (!names || rh_json_set_string(spec, "group", kind->group) < 0 ||
	    rh_json_set_string(names, "kind", kind->kind) < 0 ||
	    crd_set_format(names, "listKind", "", kind->kind, "List") < 0 ||
	    rh_json_set_string(names, "plural", kind->plural) < 0 ||
	    rh_json_set_string(names, "singular", kind->singular) < 0 ||
	    rh_json_set_string(spec, "scope", "Namespaced") < 0)
		return RH_ENOMEM;
	return 0;
}

/* The versions themselves; each one keeps what only others name. */
static int crd_put_versions(const struct rh_versions *kinds, const struct rh_json *pod_template, struct rh_json *spec,
                            struct rh_error *err)
{
	struct rh_json *versions = rh_json_ensure_array(spec, "versions");
	int r = versions ? 0 : rh_fail_oom(err);

	for (size_t i = 0; i < kinds->count && r == 0; i++)
		r = crd_put_version(kinds->items[i], i == 0, pod_template, versions, err);
	return r == 0 && kinds->count > 1 ? rh_crd_unite(kinds->items[0], versions, err) : r;
}

int rh_crd_build_versions(const struct rh_versions *kinds, const struct rh_json *pod_template, struct rh_json **ret_crd,
                          struct rh_error *err)
{
	const struct rh_kind *kind = kinds->items[0];
	rh_auto(json) crd = rh_json_new_object();
	struct rh_json *metadata;
	struct rh_json *spec;
	rh_auto_str name = {0};
	int r;

	rh_str_appendf(&name, "%s.%s", kind->plural, kind->group);
	if (!crd || name.failed || rh_json_set_string(crd, "apiVersion", "apiextensions.k8s.io/v1") < 0 ||
	    rh_json_set_string(crd, "kind", "CustomResourceDefinition") < 0)
		return rh_fail_oom(err);
	metadata = rh_json_ensure_object(crd, "metadata");
	spec = rh_json_ensure_object(crd, "spec");
	if (!metadata || !spec || rh_json_set_string(metadata, "name", rh_str_text(&name)) < 0 ||
	    crd_put_names(kind, spec) < 0)
		return rh_fail_oom(err);
	r = crd_put_versions(kinds, pod_template, spec, err);
	if (r == 0)
		*ret_crd = rh_take(crd);
	return r;
}

int rh_crd_build(const struct rh_kind *kind, const struct rh_json *pod_template, struct rh_json **ret_crd,
                 struct rh_error *err)
{
	const struct rh_versions one = {.items = {kind}, .count = 1};

	return rh_crd_build_versions(&one, pod_template, ret_crd, err);
}
