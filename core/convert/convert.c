/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/convert.h"

#include <string.h>

#include "convert/rules.h"

/* A way has fewer steps than this: v1alpha1 to v1 to v2beta1 is two. */
#define CONVERT_STEPS_MAX 4

static const char *const convert_targets[] = {"kubeflow.org/v1", "kubeflow.org/v2beta1", RH_CONVERT_TRAINER};

void rh_conversion_deinit(struct rh_conversion *conversion)
{
	rh_json_free(conversion->object);
	rh_json_free(conversion->runtime);
	rh_json_free(conversion->notes);
	*conversion = (struct rh_conversion){0};
}

static bool convert_is(const struct rh_convert_api *api, const char *api_version, const char *kind)
{
	size_t group = strlen(api->group);

	if (strcmp(kind, api->kind) != 0 || strncmp(api_version, api->group, group) != 0 || api_version[group] != '/')
		return false;
	for (const char *const *version = api->versions; *version; version++)
		if (strcmp(*version, api_version + group + 1) == 0)
			return true;
	return false;
}

/* @return whether the runtime of a TrainJob has the policy that a step is for */
static bool convert_has_policy(const struct rh_convert_api *api, const struct rh_json *object)
{
	return !api->policy || rh_json_get(rh_json_at(object, RH_CONVERT_RUNTIME ".spec.mlPolicy"), api->policy) != NULL;
}

/* @return the step from the API of @p object to @p to, or NULL */
static const struct rh_convert_api *convert_find(const struct rh_json *object, const char *to)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");

	for (const struct rh_convert_api *api = rh_convert_apis; api_version && kind && api->group; api++)
		if (strcmp(api->to_api, to) == 0 && convert_is(api, api_version, kind) && convert_has_policy(api, object))
			return api;
	return NULL;
}

/* @return the next step on the way to @p to, through V1 where there is no direct one; NULL: there is no way */
static const struct rh_convert_api *convert_step(const struct rh_json *object, const char *to)
{
	const struct rh_convert_api *api = convert_find(object, to);

	return api ? api : convert_find(object, convert_targets[RH_CONVERT_V1]);
}

bool rh_convert_is_due(const struct rh_json *object, enum rh_convert_target target)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");

	if (!api_version || strcmp(api_version, convert_targets[target]) == 0)
		return false;
	return convert_step(object, convert_targets[target]) || rh_convert_needs_runtime(object) ||
	       (target == RH_CONVERT_TRAINJOB && rh_starts_with(api_version, "kubeflow.org/"));
}

bool rh_convert_needs_runtime(const struct rh_json *object)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");

	return api_version && kind && strcmp(api_version, RH_CONVERT_TRAINER) == 0 &&
	       strcmp(kind, RH_CONVERT_TRAINJOB_KIND) == 0;
}

int rh_convert_runtime_of(const struct rh_json *object, struct rh_convert_reference *ret, struct rh_error *err)
{
	const char *kind = rh_json_string_at(object, "spec.runtimeRef.kind");
	const char *namespace_ = rh_json_string_at(object, "metadata.namespace");
	bool own = kind && strcmp(kind, RH_CONVERT_RUNTIME) == 0;

	if (!rh_json_string_at(object, "spec.runtimeRef.name"))
		return rh_fail(err, RH_EINVAL, "spec.runtimeRef.name: Required value: a TrainJob refers to a runtime");
	if (kind && !own && strcmp(kind, RH_CONVERT_CLUSTER_RUNTIME) != 0)
		return rh_fail(err, RH_EINVAL, "spec.runtimeRef.kind: \"%s\" must be %s or %s", kind, RH_CONVERT_RUNTIME,
		               RH_CONVERT_CLUSTER_RUNTIME);
	ret->kind = own ? RH_CONVERT_RUNTIME : RH_CONVERT_CLUSTER_RUNTIME;
	ret->namespace_ = !own ? NULL : namespace_ ? namespace_ : "default";
	ret->name = rh_json_string_at(object, "spec.runtimeRef.name");
	return 0;
}

/* Put the runtime into the object under conversion, with its replicated jobs as a map by their names: paths of rules
 * and notes name them so. */
static int convert_add_runtime(struct rh_json *object, const struct rh_json *runtime)
{
	struct rh_json *copy = rh_json_copy(runtime), *spec;
	rh_auto(json) list = NULL;
	struct rh_json *map;

	if (rh_json_set(object, RH_CONVERT_RUNTIME, copy) < 0)
		return RH_ENOMEM;
	spec = rh_json_at(copy, "spec.template.spec");
	list = rh_json_detach(spec, "replicatedJobs");
	map = spec ? rh_json_ensure_object(spec, "replicatedJobs") : NULL;
	for (const struct rh_json *at = rh_json_first(list); map && at; at = rh_json_next(at)) {
		const char *name = rh_json_string_at(at, "name");

		if (rh_json_set(map, name ? name : "", rh_json_copy(at)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static int convert_rules(struct rh_conversion *conversion, const struct rh_convert_api *api, struct rh_error *err)
{
	int r = 0;

	for (size_t i = 0; api->rules[i]; i++)
		for (const struct rh_convert_rule *rule = api->rules[i]; r == 0 && rule->path; rule++)
			r = rh_convert_apply(conversion, rule, err);
	if (r == 0 && (rh_json_set_string(conversion->object, "apiVersion", api->to_api) < 0 ||
	               rh_json_set_string(conversion->object, "kind", api->to_kind) < 0))
		r = rh_fail_oom(err);
	conversion->runtime = rh_json_detach(conversion->object, RH_CONVERT_RUNTIME);
	return r;
}

static int convert_no_way(const struct rh_json *object, const char *target, struct rh_error *err)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");

	if (rh_convert_needs_runtime(object))
		return rh_fail(err, RH_EINVAL,
		               "the runtime has no mlPolicy for which there is a kind of %s: torch, xgboost, jax or mpi",
		               convert_targets[RH_CONVERT_V1]);
	return rh_fail(err, RH_EINVAL, "%s of %s cannot be converted to %s", kind ? kind : "an object without kind",
	               api_version ? api_version : "no apiVersion", target);
}

int rh_convert(const struct rh_json *object, const struct rh_json *runtime, enum rh_convert_target target,
               struct rh_conversion *ret, struct rh_error *err)
{
	const char *to = convert_targets[target];
	const char *api_version;
	int r = 0;

	*ret = (struct rh_conversion){.object = rh_json_copy(object), .notes = rh_json_new_array()};
	if (!ret->object || !ret->notes)
		return rh_fail_oom(err);
	rh_json_remove(ret->object, "status");
	if (runtime && target != RH_CONVERT_TRAINJOB && convert_add_runtime(ret->object, runtime) < 0)
		return rh_fail_oom(err);
	for (int i = 0; r == 0 && i < CONVERT_STEPS_MAX; i++) {
		const struct rh_convert_api *api;

		api_version = rh_json_string_at(ret->object, "apiVersion");
		if (api_version && strcmp(api_version, to) == 0)
			return 0;
		api = convert_step(ret->object, to);
		if (!api)
			break;
		r = convert_rules(ret, api, err);
	}
	return r < 0 ? r : convert_no_way(object, to, err);
}

/* @return whether a step leads to @p to, itself or with one more step from V1 */
static bool convert_leads(const struct rh_convert_api *api, const char *to)
{
	const char *v1 = convert_targets[RH_CONVERT_V1];

	if (strcmp(api->to_api, to) == 0)
		return true;
	for (const struct rh_convert_api *next = rh_convert_apis; next->group && !api->policy; next++)
		if (strcmp(api->to_api, v1) == 0 && strcmp(next->to_api, to) == 0 && convert_is(next, v1, api->to_kind))
			return true;
	return false;
}

/* One call for each version of a step. */
static int convert_versions(const struct rh_convert_api *api, rh_convert_source_fn *fn, void *arg, struct rh_error *err)
{
	int r = 0;

	for (const char *const *version = api->versions; r == 0 && *version; version++) {
		rh_auto_free char *api_version = rh_asprintf("%s/%s", api->group, *version);

		r = api_version ? fn(arg, api_version, api->kind, err) : rh_fail_oom(err);
	}
	return r;
}

int rh_convert_each_source(enum rh_convert_target target, rh_convert_source_fn *fn, void *arg, struct rh_error *err)
{
	const struct rh_convert_api *last = NULL;
	int r = 0;

	for (const struct rh_convert_api *api = rh_convert_apis; r == 0 && api->group; api++) {
		bool again = last && api->policy && strcmp(last->kind, api->kind) == 0;

		if (again || !convert_leads(api, convert_targets[target]))
			continue;
		last = api;
		r = convert_versions(api, fn, arg, err);
	}
	return r;
}
