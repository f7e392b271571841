/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the ConfigMaps and Secrets of a pod stand in the files of the call. */
#include <string.h>

#include "base/mem.h"
#include "local/preflight/parts.h"

static const struct rh_json *references_find(const struct rh_preflight_pod *pod, const char *kind, const char *name)
{
	const struct rh_manifest *manifest = pod->all->manifest;

	return manifest ? rh_manifest_find(manifest, kind, pod->namespace_, name) : NULL;
}

static bool references_has(const struct rh_json *object, const char *key)
{
	static const char *const members[] = {"data", "stringData", "binaryData"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (rh_json_get(rh_json_get(object, members[i]), key))
			return true;
	}
	return false;
}

int rh_preflight_reference(const struct rh_preflight_pod *pod, const char *place, const char *kind,
                           const struct rh_json *reference, const char *name_member)
{
	const char *name = rh_json_string(rh_json_get(reference, name_member));
	const char *key = rh_json_string(rh_json_get(reference, "key"));
	const struct rh_json *object = name ? references_find(pod, kind, name) : NULL;
	const char *make = strcmp(kind, "Secret") == 0 ? "kubectl create secret generic" : "kubectl create configmap";

	if (!name || rh_json_bool(rh_json_get(reference, "optional"), false))
		return 0;
	if (!object)
		return rh_findings_add(
			pod->findings, RH_FINDING_ERROR, place,
			"there is no %s \"%s\" in namespace \"%s\" of the files; add it to the job file, or "
			"name its file after this one (`%s %s --from-literal=KEY=VALUE --dry-run=client -o yaml` "
			"prints one)",
			kind, name, pod->namespace_, make, name);
	if (key && !references_has(object, key))
		return rh_findings_add(pod->findings, RH_FINDING_ERROR, place,
		                       "%s \"%s\" has no key \"%s\"; add the key, or name one that it has", kind, name, key);
	return 0;
}

static int references_of_variable(const struct rh_preflight_container *container, const struct rh_json *variable,
                                  size_t index)
{
	const struct rh_json *from = rh_json_get(variable, "valueFrom");
	const struct rh_json *map = rh_json_get(from, "configMapKeyRef");
	const struct rh_json *secret = rh_json_get(from, "secretKeyRef");
	rh_auto_free char *place = NULL;

	if (!map && !secret)
		return 0;
	place = rh_asprintf("%s.env[%zu].valueFrom.%s", container->place, index, map ? "configMapKeyRef" : "secretKeyRef");
	return place
	           ? rh_preflight_reference(container->pod, place, map ? "ConfigMap" : "Secret", map ? map : secret, "name")
	           : RH_ENOMEM;
}

static int references_of_source(const struct rh_preflight_container *container, const struct rh_json *source,
                                size_t index)
{
	const struct rh_json *map = rh_json_get(source, "configMapRef");
	const struct rh_json *secret = rh_json_get(source, "secretRef");
	rh_auto_free char *place = NULL;

	if (!map && !secret)
		return 0;
	place = rh_asprintf("%s.envFrom[%zu].%s", container->place, index, map ? "configMapRef" : "secretRef");
	return place
	           ? rh_preflight_reference(container->pod, place, map ? "ConfigMap" : "Secret", map ? map : secret, "name")
	           : RH_ENOMEM;
}

int rh_preflight_variables(const struct rh_preflight_container *container)
{
	const struct rh_json *item = rh_json_first(rh_json_get(container->json, "envFrom"));
	size_t index = 0;
	int r = 0;

	for (; item && r == 0; item = rh_json_next(item))
		r = references_of_source(container, item, index++);
	index = 0;
	for (item = rh_json_first(rh_json_get(container->json, "env")); item && r == 0; item = rh_json_next(item))
		r = references_of_variable(container, item, index++);
	return r;
}
