/* SPDX-License-Identifier: Apache-2.0 */
/* The rules by which a kubelet fills a container's environment (pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables).
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "local/pod/data.h"
#include "local/pod/environment.h"
#include "local/pod/fields.h"

/* One source of values under work. */
struct variables_job {
	struct rh_environment *environment;
	const struct rh_pod_context *context;
	const struct rh_json *container;
	struct rh_error *err;
};

static const char *variables_container(const struct variables_job *job)
{
	const char *name = rh_json_string(rh_json_get(job->container, "name"));

	return name ? name : "";
}

/* IsEnvVarName of Kubernetes' validation: more than a shell allows, and no digit first. */
static bool variables_name_is_valid(const char *name)
{
	if (!*name || isdigit((unsigned char)*name))
		return false;
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("_-.", *name))
			return false;
	}
	return true;
}

static int variables_set(const struct variables_job *job, const char *name, const char *value,
                         enum rh_env_origin origin)
{
	return rh_environment_set(job->environment, name, value, origin) < 0 ? rh_fail_oom(job->err) : 0;
}

static int variables_check_bytes(const struct variables_job *job, const struct rh_data_item *item, const char *kind)
{
	if (memchr(item->bytes, '\0', item->length))
		return rh_fail(job->err, RH_EINVAL,
		               "container \"%s\": key \"%s\" of a %s has a zero byte, which no variable can hold",
		               variables_container(job), item->key, rh_data_name(kind));
	return 0;
}

static int variables_add_all(const struct variables_job *job, const char *prefix, const char *kind,
                             const struct rh_data *data)
{
	int r = 0;

	for (size_t i = 0; i < data->count && r == 0; i++) {
		const struct rh_data_item *item = &data->items[i];
		rh_auto_free char *name = rh_asprintf("%s%s", prefix ? prefix : "", item->key);

		if (!name)
			return rh_fail_oom(job->err);
		if (item->binary)
			continue;
		if (!variables_name_is_valid(name)) {
			rh_pod_note(job->context, "container \"%s\": envFrom leaves out \"%s\", which is not a name of a variable",
			            variables_container(job), name);
			continue;
		}
		r = variables_check_bytes(job, item, kind);
		if (r == 0)
			r = variables_set(job, name, item->bytes, RH_ENV_FROM);
	}
	return r;
}

static int variables_from(const struct variables_job *job, const struct rh_json *source)
{
	const struct rh_json *reference = rh_json_get(source, "configMapRef");
	const char *prefix = rh_json_string(rh_json_get(source, "prefix"));
	const char *kind = reference ? "ConfigMap" : "Secret";
	rh_auto_data data = {0};
	int r;

	if (!reference)
		reference = rh_json_get(source, "secretRef");
	if (!reference)
		return rh_fail(job->err, RH_EINVAL,
		               "container \"%s\": an item of envFrom has neither configMapRef nor secretRef",
		               variables_container(job));
	r = rh_data_find(job->context, kind, reference, &data, job->err);
	return r <= 0 ? r : variables_add_all(job, prefix, kind, &data);
}

/* configMapKeyRef and secretKeyRef. @return 1; 0: it is not there, and optional; or a negative status */
static int variables_key(const struct variables_job *job, const char *kind, const struct rh_json *reference,
                         char **ret_text)
{
	const char *key = rh_json_string(rh_json_get(reference, "key"));
	const char *name = rh_json_string(rh_json_get(reference, "name"));
	const struct rh_data_item *item;
	rh_auto_data data = {0};
	int r = rh_data_find(job->context, kind, reference, &data, job->err);

	if (r <= 0)
		return r;
	item = key ? rh_data_item(&data, key) : NULL;
	if (item && item->binary)
		item = NULL;
	if (!item && rh_json_bool(rh_json_get(reference, "optional"), false))
		return 0;
	if (!item)
		return rh_fail(job->err, RH_ENOENT, "couldn't find key %s in %s %s/%s", key ? key : "",
		               strcmp(kind, "Secret") == 0 ? "Secret" : "ConfigMap", job->context->namespace_, name);
	r = variables_check_bytes(job, item, kind);
	if (r < 0)
		return r;
	*ret_text = rh_strndup(item->bytes, item->length);
	return *ret_text ? 1 : rh_fail_oom(job->err);
}

/* @return as variables_key() */
static int variables_value_from(const struct variables_job *job, const struct rh_json *from, char **ret_text)
{
	const struct rh_json *reference = rh_json_get(from, "configMapKeyRef");
	int r;

	if (reference)
		return variables_key(job, "ConfigMap", reference, ret_text);
	reference = rh_json_get(from, "secretKeyRef");
	if (reference)
		return variables_key(job, "Secret", reference, ret_text);
	reference = rh_json_get(from, "fieldRef");
	if (reference) {
		const char *path = rh_json_string(rh_json_get(reference, "fieldPath"));

		r = rh_pod_field(job->context, path ? path : "", ret_text, job->err);
		return r < 0 ? r : 1;
	}
	reference = rh_json_get(from, "resourceFieldRef");
	if (reference) {
		r = rh_pod_resource(job->context, job->container, reference, ret_text, job->err);
		return r < 0 ? r : 1;
	}
	return rh_fail(job->err, RH_EINVAL,
	               "valueFrom has none of configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef");
}

static int variables_own(const struct variables_job *job, const struct rh_json *variable)
{
	const char *name = rh_json_string(rh_json_get(variable, "name"));
	const char *value = rh_json_string(rh_json_get(variable, "value"));
	const struct rh_json *from = rh_json_get(variable, "valueFrom");
	rh_auto_free char *text = NULL;
	rh_auto_str expanded = {0};
	int r;

	if (!name || !*name || strchr(name, '='))
		return rh_fail(job->err, RH_EINVAL, "container \"%s\": a variable of env has no name, or one with \"=\"",
		               variables_container(job));
	if ((!value || !*value) && rh_json_type(from) == RH_JSON_OBJECT) {
		r = variables_value_from(job, from, &text);
		if (r < 0)
			return rh_wrap(job->err, r, "container \"%s\": env \"%s\"", variables_container(job), name);
		return r > 0 ? variables_set(job, name, text, RH_ENV_OWN) : 0;
	}
	/* only earlier entries of env count here */
	rh_environment_expand(job->environment, value ? value : "", RH_ENV_OWN, &expanded);
	if (expanded.failed)
		return rh_fail_oom(job->err);
	return variables_set(job, name, rh_str_text(&expanded), RH_ENV_OWN);
}

int rh_environment_add(struct rh_environment *environment, const struct rh_pod_context *context,
                       const struct rh_json *container, struct rh_error *err)
{
	const struct variables_job job = {environment, context, container, err};
	const struct rh_json *item;
	int r = 0;

	for (item = rh_json_first(rh_json_get(container, "envFrom")); item && r == 0; item = rh_json_next(item))
		r = variables_from(&job, item);
	if (r < 0)
		return r;
	for (item = rh_json_first(rh_json_get(container, "env")); item && r == 0; item = rh_json_next(item))
		r = variables_own(&job, item);
	return r;
}
