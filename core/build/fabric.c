/* SPDX-License-Identifier: Apache-2.0 */
#include "build/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "config/fabric.h"
#include "job/values/names.h"
#include "job/values/quantity.h"

#define FABRIC_VOLUME "roundhouse-dev-shm"
#define FABRIC_SHM "/dev/shm"
#define FABRIC_SHM_SIZE "1Gi"
/* The container that brings the library along, its volume, and where all containers see it. */
#define FABRIC_COMM "roundhouse-comm"
#define FABRIC_COMM_PATH "/opt/roundhouse"

/* The settings that count for one pod. */
struct fabric {
	const struct rh_config *config;
	const char *profile; /* section of the profile; NULL: [comm] alone */
};

const char *rh_fabric_backend(const struct rh_config *config, const struct rh_job *job)
{
	const struct rh_json *annotations = rh_json_at(job->object, "metadata.annotations");
	const char *word = rh_json_string(rh_json_get(annotations, RH_ANNOTATION_COMM));

	if (!word && config)
		word = rh_config_setting(config, RH_FABRIC_SECTION, "backend");
	return word && strcmp(word, "none") != 0 && rh_name_may_be_backend(word) ? word : NULL;
}

static int fabric_meets_selector(void *arg, const struct rh_fabric_item *item)
{
	const struct rh_json *selector = arg;

	return rh_text_equal(rh_json_string(rh_json_get(selector, item->name)), item->value) ? 0 : RH_ENOENT;
}

static int fabric_is_not(void *arg, const struct rh_fabric_item *item)
{
	return strcmp(arg, item->name) == 0 ? RH_EEXIST : 0;
}

static bool fabric_fits(const struct rh_config *config, const char *profile, const char *backend,
                        const struct rh_replica_spec *spec)
{
	const char *backends = rh_config_setting(config, profile, "backends");
	const char *selector = rh_config_setting(config, profile, "node-selector");
	struct rh_json *has = rh_json_at(spec->template_, "spec.nodeSelector");

	if (backends && *backends && rh_fabric_for_each(backends, fabric_is_not, (void *)backend) == 0)
		return false;
	return rh_fabric_for_each(selector, fabric_meets_selector, has) == 0;
}

static struct fabric fabric_find(const struct rh_config *config, const char *backend,
                                 const struct rh_replica_spec *spec)
{
	struct fabric fabric = {.config = config};

	for (size_t i = 0; config && i < config->setting_count && !fabric.profile; i++) {
		const char *section = config->settings[i].section;

		if (rh_starts_with(section, RH_FABRIC_SECTION " ") && fabric_fits(config, section, backend, spec))
			fabric.profile = section;
	}
	return fabric;
}

/* @return the setting of the profile, else of [comm], else NULL */
static const char *fabric_setting(const struct fabric *fabric, const char *key)
{
	const char *value = fabric->profile ? rh_config_setting(fabric->config, fabric->profile, key) : NULL;

	if (!value && fabric->config)
		value = rh_config_setting(fabric->config, RH_FABRIC_SECTION, key);
	return value;
}

/* @return the item of @p list whose member @p key is @p value, or NULL */
static struct rh_json *fabric_find_item(const struct rh_json *list, const char *key, const char *value)
{
	struct rh_json *item = rh_json_first(list);

	while (item && !rh_text_equal(rh_json_string(rh_json_get(item, key)), value))
		item = rh_json_next(item);
	return item;
}

/* Append an object of two texts. */
static int fabric_append(struct rh_json *list, const char *const keys[2], const char *const values[2])
{
	rh_auto(json) item = rh_json_new_object();

	if (!list || !item)
		return RH_ENOMEM;
	for (size_t i = 0; i < 2; i++) {
		if (rh_json_set_string(item, keys[i], values[i]) < 0)
			return RH_ENOMEM;
	}
	return rh_json_append(list, rh_take(item));
}

int rh_fabric_add_env(struct rh_json *pod_spec, const char *name, const char *value)
{
	static const char *const keys[] = {"name", "value"};
	const char *const values[] = {name, value};

	for (struct rh_json *item = rh_json_first(rh_json_get(pod_spec, "containers")); item; item = rh_json_next(item)) {
		if (fabric_find_item(rh_json_get(item, "env"), "name", name))
			continue;
		if (fabric_append(rh_json_ensure_array(item, "env"), keys, values) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* The variables of one section; those that are there already stay. */
static int fabric_add_section(const struct fabric *fabric, const char *section, struct rh_json *pod_spec)
{
	const struct rh_config *config = fabric->config;

	for (size_t i = 0; config && section && i < config->setting_count; i++) {
		const struct rh_setting *setting = &config->settings[i];

		if (strcmp(setting->section, section) != 0 || !rh_starts_with(setting->key, RH_FABRIC_ENV))
			continue;
		/* the last of several counts, as for every other key */
		if (rh_fabric_add_env(pod_spec, setting->key + strlen(RH_FABRIC_ENV),
		                      rh_config_setting(config, section, setting->key)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* Ranks of an earlier attempt, which may still be ending, must not meet those of this one. */
static int fabric_add_identity(const struct rh_job *job, const char *backend, int32_t attempt, struct rh_json *pod_spec)
{
	rh_auto_free char *id = *job->uid ? rh_asprintf("%s.%" PRId32, job->uid, attempt)
	                                  : rh_asprintf("%s/%s.%" PRId32, job->namespace_, job->name, attempt);

	if (!id || rh_fabric_add_env(pod_spec, "RH_COMM_BACKEND", backend) < 0)
		return RH_ENOMEM;
	return rh_fabric_add_env(pod_spec, "RH_COMM_JOB", id);
}

static const char fabric_injector[] =
	"{\"name\":\"" FABRIC_COMM "\",\"image\":\"\",\"imagePullPolicy\":\"IfNotPresent\","
	"\"command\":[\"/usr/bin/roundhouse\",\"inject\",\"" FABRIC_COMM_PATH "\"],"
	"\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"64Mi\"},"
	"\"requests\":{\"cpu\":\"10m\",\"memory\":\"16Mi\"}},"
	"\"securityContext\":{\"allowPrivilegeEscalation\":false,\"readOnlyRootFilesystem\":true,"
	"\"capabilities\":{\"drop\":[\"ALL\"]}},"
	"\"volumeMounts\":[{\"name\":\"" FABRIC_COMM "\",\"mountPath\":\"" FABRIC_COMM_PATH "\"}]}";

static int fabric_append_parsed(struct rh_json *list, const char *text, const char *image)
{
	struct rh_json *item = NULL;

	if (!list || rh_json_parse(text, strlen(text), &item, NULL) < 0)
		return RH_ENOMEM;
	if (image && rh_json_set_string(item, "image", image) < 0) {
		rh_json_free(item);
		return RH_ENOMEM;
	}
	return rh_json_append(list, item);
}

/* The library for images that do not have it; a container or volume of that name is the job's own way. */
static int fabric_add_injection(const struct fabric *fabric, struct rh_json *pod_spec)
{
	static const char volume[] = "{\"name\":\"" FABRIC_COMM "\",\"emptyDir\":{}}";
	static const char mount[] =
		"{\"name\":\"" FABRIC_COMM "\",\"mountPath\":\"" FABRIC_COMM_PATH "\",\"readOnly\":true}";
	const char *image = fabric_setting(fabric, "image");

	if (!image || !*image || fabric_find_item(rh_json_get(pod_spec, "initContainers"), "name", FABRIC_COMM) ||
	    fabric_find_item(rh_json_get(pod_spec, "volumes"), "name", FABRIC_COMM))
		return 0;
	for (struct rh_json *item = rh_json_first(rh_json_get(pod_spec, "containers")); item; item = rh_json_next(item)) {
		if (fabric_append_parsed(rh_json_ensure_array(item, "volumeMounts"), mount, NULL) < 0)
			return RH_ENOMEM;
	}
	if (fabric_append_parsed(rh_json_ensure_array(pod_spec, "initContainers"), fabric_injector, image) < 0 ||
	    fabric_append_parsed(rh_json_ensure_array(pod_spec, "volumes"), volume, NULL) < 0)
		return RH_ENOMEM;
	return rh_fabric_add_env(pod_spec, "PYTHONPATH", FABRIC_COMM_PATH);
}

static int fabric_mount_shm(struct rh_json *container, bool *mounted)
{
	static const char *const keys[] = {"name", "mountPath"};
	static const char *const values[] = {FABRIC_VOLUME, FABRIC_SHM};

	if (fabric_find_item(rh_json_get(container, "volumeMounts"), "mountPath", FABRIC_SHM))
		return 0;
	*mounted = true;
	return fabric_append(rh_json_ensure_array(container, "volumeMounts"), keys, values);
}

static int fabric_append_volume(struct rh_json *pod_spec, const char *size)
{
	rh_auto(json) volume = rh_json_new_object();
	struct rh_json *volumes = rh_json_ensure_array(pod_spec, "volumes");
	struct rh_json *source;

	if (!volume || !volumes || rh_json_set_string(volume, "name", FABRIC_VOLUME) < 0)
		return RH_ENOMEM;
	source = rh_json_ensure_object(volume, "emptyDir");
	if (!source || rh_json_set_string(source, "medium", "Memory") < 0 ||
	    rh_json_set_string(source, "sizeLimit", size) < 0)
		return RH_ENOMEM;
	return rh_json_append(volumes, rh_take(volume));
}

/* A container has 64 MiB of /dev/shm otherwise. */
static int fabric_add_shm(const struct fabric *fabric, struct rh_json *pod_spec)
{
	const char *size = fabric_setting(fabric, "shm-size");
	bool mounted = false;

	if (fabric_find_item(rh_json_get(pod_spec, "volumes"), "name", FABRIC_VOLUME))
		return 0;
	for (struct rh_json *item = rh_json_first(rh_json_get(pod_spec, "containers")); item; item = rh_json_next(item)) {
		if (fabric_mount_shm(item, &mounted) < 0)
			return RH_ENOMEM;
	}
	return mounted ? fabric_append_volume(pod_spec, size ? size : FABRIC_SHM_SIZE) : 0;
}

/* Limits of extended resources are their requests, too; one of either that the job sets is left alone. */
static int fabric_add_resource(void *arg, const struct rh_fabric_item *item)
{
	struct rh_json *container = arg;
	struct rh_json *resources = rh_json_ensure_object(container, "resources");
	struct rh_json *limits;

	if (!resources)
		return RH_ENOMEM;
	if (rh_json_get(rh_json_get(resources, "limits"), item->name) ||
	    rh_json_get(rh_json_get(resources, "requests"), item->name))
		return 0;
	limits = rh_json_ensure_object(resources, "limits");
	return limits ? rh_json_set_string(limits, item->name, item->value) : RH_ENOMEM;
}

static bool fabric_has_text(const struct rh_json *list, const char *text)
{
	const struct rh_json *item = rh_json_first(list);

	while (item && !rh_text_equal(rh_json_string(item), text))
		item = rh_json_next(item);
	return item;
}

static int fabric_add_capability(void *arg, const struct rh_fabric_item *item)
{
	struct rh_json *container = arg;
	struct rh_json *context = rh_json_ensure_object(container, "securityContext");
	struct rh_json *capabilities = context ? rh_json_ensure_object(context, "capabilities") : NULL;
	struct rh_json *add;

	if (!capabilities)
		return RH_ENOMEM;
	if (fabric_has_text(rh_json_get(capabilities, "add"), item->name) ||
	    fabric_has_text(rh_json_get(capabilities, "drop"), item->name))
		return 0;
	add = rh_json_ensure_array(capabilities, "add");
	return add ? rh_json_append(add, rh_json_new_string(item->name)) : RH_ENOMEM;
}

int rh_fabric_decorate(const struct rh_config *config, const struct rh_job *job, const struct rh_replica_spec *spec,
                       const struct rh_fabric_place *place, struct rh_json *pod)
{
	const char *backend = rh_fabric_backend(config, job);
	struct rh_json *pod_spec = rh_json_get(pod, "spec");
	struct rh_json *container = rh_job_main_container(job->kind, pod_spec);
	struct fabric fabric;

	if (!backend || !container)
		return 0;
	fabric = fabric_find(config, backend, spec);
	if (fabric_add_identity(job, backend, place->attempt, pod_spec) < 0 ||
	    fabric_add_section(&fabric, fabric.profile, pod_spec) < 0 ||
	    fabric_add_section(&fabric, RH_FABRIC_SECTION, pod_spec) < 0)
		return RH_ENOMEM;
	if (place->local)
		return 0;
	if (fabric_add_injection(&fabric, pod_spec) < 0 || fabric_add_shm(&fabric, pod_spec) < 0 ||
	    rh_fabric_for_each(fabric_setting(&fabric, "resources"), fabric_add_resource, container) < 0)
		return RH_ENOMEM;
	return rh_fabric_for_each(fabric_setting(&fabric, "capabilities"), fabric_add_capability, container);
}
