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

	return strncmp(api_version, api->group, group) == 0 && api_version[group] == '/' &&
	       rh_words_have(api->versions, ' ', api_version + group + 1, strlen(api_version + group + 1)) &&
	       strcmp(kind, api->kind) == 0;
}

/* @return the step from the API of @p object to @p to, or NULL */
static const struct rh_convert_api *convert_find(const struct rh_json *object, const char *to)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");

	for (const struct rh_convert_api *api = rh_convert_apis; api_version && kind && api->group; api++)
		if (strcmp(api->to_api, to) == 0 && convert_is(api, api_version, kind))
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
	return convert_step(object, convert_targets[target]) ||
	       (target == RH_CONVERT_TRAINJOB && rh_starts_with(api_version, "kubeflow.org/"));
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

	return rh_fail(err, RH_EINVAL, "%s of %s cannot be converted to %s", kind ? kind : "an object without kind",
	               api_version ? api_version : "no apiVersion", target);
}

int rh_convert(const struct rh_json *object, enum rh_convert_target target, struct rh_conversion *ret,
               struct rh_error *err)
{
	const char *to = convert_targets[target];
	const char *api_version;
	int r = 0;

	*ret = (struct rh_conversion){.object = rh_json_copy(object), .notes = rh_json_new_array()};
	if (!ret->object || !ret->notes)
		return rh_fail_oom(err);
	rh_json_remove(ret->object, "status");
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
