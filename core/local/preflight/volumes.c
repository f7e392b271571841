/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the volumes of a pod can be made on this machine, and what lies in them. */
#include "local/pod/volumes.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "job/values/quantity.h"
#include "local/preflight/parts.h"

/* One volume under check. */
struct volumes_check {
	const struct rh_preflight_pod *pod;
	const struct rh_json *json; /* of the template */
	const char *place;          /* "….template.spec.volumes[0]" */
};

/* @return the text of a member, "" where it is absent or not a text */
static const char *volumes_text(const struct rh_json *json, const char *path)
{
	const char *text = rh_json_string_at(json, path);

	return text ? text : "";
}

static unsigned volumes_look(const struct rh_preflight_pod *pod, const char *path)
{
	return pod->all->machine.look(pod->all->machine.arg, path);
}

/* @return where a volume of the pod begins on this machine, borrowed, or NULL: its content is made for the pod */
static const char *volumes_folder(const struct rh_preflight_pod *pod, const char *name)
{
	const struct rh_json *volume = rh_json_first(rh_json_get(pod->spec, "volumes"));

	for (; volume; volume = rh_json_next(volume)) {
		const char *claim = volumes_text(volume, "persistentVolumeClaim.claimName");
		const char *path = rh_json_string(rh_json_get(rh_json_get(volume, "hostPath"), "path"));

		if (!rh_text_equal(rh_json_string(rh_json_get(volume, "name")), name))
			continue;
		return path ? path : rh_volumes_claim(pod->all->config, claim);
	}
	return NULL;
}

/* @return whether `path` is `folder`, or below it */
static bool volumes_is_below(const char *path, const char *folder, size_t length)
{
	return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

/* @return the mount that `path` lies in, or NULL */
static const struct rh_json *volumes_mount_of(const struct rh_json *container, const char *path, size_t *ret_length)
{
	const struct rh_json *mount = rh_json_first(rh_json_get(container, "volumeMounts"));
	const struct rh_json *best = NULL;

	*ret_length = 0;
	for (; mount; mount = rh_json_next(mount)) {
		const char *to = volumes_text(mount, "mountPath");
		size_t length = strlen(to);

		while (length > 0 && to[length - 1] == '/')
			length--;
		if (volumes_is_below(path, to, length) && (!best || length > *ret_length)) {
			best = mount;
			*ret_length = length;
		}
	}
	return best;
}

int rh_preflight_real(const struct rh_preflight_container *container, const char *path, char **ret_real)
{
	size_t length;
	const struct rh_json *mount = volumes_mount_of(container->json, path, &length);
	const char *folder;

	*ret_real = NULL;
	if (!mount) {
		*ret_real = rh_strdup(path);
		return *ret_real ? 0 : RH_ENOMEM;
	}
	folder = volumes_folder(container->pod, rh_json_string(rh_json_get(mount, "name")));
	if (!folder || !container->pod->all->machine.can_mount || rh_json_get(mount, "subPath") ||
	    rh_json_get(mount, "subPathExpr"))
		return 0;
	*ret_real = rh_asprintf("%s%s", folder, path + length);
	return *ret_real ? 0 : RH_ENOMEM;
}

static int volumes_check_claim(const struct volumes_check *check, const struct rh_json *source)
{
	const char *claim = volumes_text(source, "claimName");
	const struct rh_manifest *manifest = check->pod->all->manifest;
	const char *folder = rh_volumes_claim(check->pod->all->config, claim);

	if (!folder && manifest &&
	    rh_volumes_is_new(rh_manifest_find(manifest, "PersistentVolumeClaim", check->pod->namespace_, claim)))
		return 0;
	if (!folder)
		return rh_findings_add(check->pod->findings, RH_FINDING_ERROR, check->place,
		                       "the claim \"%s\" has no folder on this machine; name one with --volume '%s=FOLDER'",
		                       claim, claim);
	if (volumes_look(check->pod, folder) & RH_LOOK_FOLDER)
		return 0;
	return rh_findings_add(check->pod->findings, RH_FINDING_ERROR, check->place,
	                       "\"%s\", which --volume gives the claim \"%s\", is not a folder; make it: mkdir -p '%s'",
	                       folder, claim, folder);
}

static int volumes_check_host_path(const struct volumes_check *check, const struct rh_json *source)
{
	const char *path = volumes_text(source, "path");
	const char *type = volumes_text(source, "type");
	unsigned bits = path[0] == '/' ? volumes_look(check->pod, path) : 0;

	if (path[0] != '/')
		return rh_findings_add(check->pod->findings, RH_FINDING_ERROR, check->place,
		                       "hostPath.path \"%s\" must be absolute; write its whole path", path);
	if (rh_ends_with(type, "OrCreate") && bits == 0)
		return 0;
	if (bits == 0)
		return rh_findings_add(check->pod->findings, RH_FINDING_ERROR, check->place,
		                       "hostPath.path \"%s\" does not exist on this machine; make it: mkdir -p '%s'", path,
		                       path);
	if (rh_starts_with(type, "Directory") && !(bits & RH_LOOK_FOLDER))
		return rh_findings_add(check->pod->findings, RH_FINDING_ERROR, check->place,
		                       "hostPath.path \"%s\" is not a folder; name a folder, or remove hostPath.type", path);
	return 0;
}

static int volumes_check_map(const struct volumes_check *check, const struct rh_json *source)
{
	return rh_preflight_reference(check->pod, check->place, "ConfigMap", source, "name");
}

static int volumes_check_secret(const struct volumes_check *check, const struct rh_json *source)
{
	return rh_preflight_reference(check->pod, check->place, "Secret", source, "secretName");
}

static int volumes_check_projected(const struct volumes_check *check, const struct rh_json *source)
{
	const struct rh_json *item = rh_json_first(rh_json_get(source, "sources"));
	int r = 0;

	for (; item && r == 0; item = rh_json_next(item)) {
		r = rh_preflight_reference(check->pod, check->place, "ConfigMap", rh_json_get(item, "configMap"), "name");
		if (r == 0)
			r = rh_preflight_reference(check->pod, check->place, "Secret", rh_json_get(item, "secret"), "name");
	}
	return r;
}

/* @return whether a container of the pod has the volume at /dev/shm */
static bool volumes_is_shm(const struct rh_preflight_pod *pod, const char *name)
{
	const struct rh_json *container = rh_json_first(rh_json_get(pod->spec, "containers"));

	for (; container; container = rh_json_next(container)) {
		size_t length;
		const struct rh_json *mount = volumes_mount_of(container, "/dev/shm", &length);

		if (mount && rh_text_equal(rh_json_string(rh_json_get(mount, "name")), name))
			return true;
	}
	return false;
}

/* The size is a limit, so a pod that uses less runs well. */
static int volumes_check_empty(const struct volumes_check *check, const struct rh_json *source)
{
	const struct rh_preflight_machine *machine = &check->pod->all->machine;
	const struct rh_json *limit = rh_json_get(source, "sizeLimit");
	const bool shm = !machine->can_mount && volumes_is_shm(check->pod, volumes_text(check->json, "name"));
	int64_t most = shm ? machine->shm : machine->memory;
	int64_t milli = 0;

	if (!rh_text_equal(rh_json_string(rh_json_get(source, "medium")), "Memory") || most == 0 || !limit ||
	    rh_quantity_from_json(limit, &milli, NULL) < 0 || milli / 1000 <= most)
		return 0;
	return rh_findings_add(check->pod->findings, RH_FINDING_WARNING, check->place,
	                       "emptyDir.sizeLimit is %lld MiB; this machine has %lld MiB of %s; lower it if the job needs "
	                       "that much",
	                       (long long)(milli / 1000 >> 20), (long long)(most >> 20), shm ? "/dev/shm" : "memory");
}

static int volumes_check_one(const struct volumes_check *check)
{
	static const struct {
		const char *sort;
		int (*check)(const struct volumes_check *check, const struct rh_json *source);
	} rules[] = {
		{"persistentVolumeClaim", volumes_check_claim},
		{"hostPath", volumes_check_host_path},
		{"configMap", volumes_check_map},
		{"secret", volumes_check_secret},
		{"projected", volumes_check_projected},
		{"emptyDir", volumes_check_empty},
	};
	static const char *const known[] = {"name", "downwardAPI"};
	const struct rh_json *member = rh_json_first(check->json);
	int r = 0;

	for (; member && r == 0; member = rh_json_next(member)) {
		const char *sort = rh_json_key(member);
		size_t i = 0;

		while (i < sizeof(rules) / sizeof(rules[0]) && strcmp(rules[i].sort, sort) != 0)
			i++;
		if (i < sizeof(rules) / sizeof(rules[0]))
			r = rules[i].check(check, member);
		else if (strcmp(sort, known[0]) != 0 && strcmp(sort, known[1]) != 0)
			r = rh_findings_add(check->pod->findings, RH_FINDING_ERROR, check->place,
			                    "%s is not supported on one machine; name a folder of this machine with hostPath "
			                    "instead",
			                    sort);
	}
	return r;
}

static bool volumes_is_mounted(const struct rh_json *pod_spec, const char *name)
{
	static const char *const lists[] = {"containers", "initContainers"};

	for (size_t i = 0; i < 2; i++) {
		const struct rh_json *container = rh_json_first(rh_json_get(pod_spec, lists[i]));

		for (; container; container = rh_json_next(container)) {
			const struct rh_json *mount = rh_json_first(rh_json_get(container, "volumeMounts"));

			for (; mount; mount = rh_json_next(mount)) {
				if (rh_text_equal(rh_json_string(rh_json_get(mount, "name")), name))
					return true;
			}
		}
	}
	return false;
}

int rh_preflight_volumes(const struct rh_preflight_pod *pod)
{
	const struct rh_json *volume = rh_json_first(rh_json_get(pod->template_, "volumes"));
	int r = 0;

	for (size_t i = 0; volume && r == 0; volume = rh_json_next(volume), i++) {
		rh_auto_free char *place = rh_asprintf("%s.volumes[%zu]", pod->place, i);
		const struct volumes_check check = {pod, volume, place};

		if (!place)
			return RH_ENOMEM;
		/* one that nobody mounts is not made */
		if (volumes_is_mounted(pod->spec, rh_json_string(rh_json_get(volume, "name"))))
			r = volumes_check_one(&check);
	}
	return r;
}
