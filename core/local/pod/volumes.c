/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "job/values/quantity.h"

/* One volume under work. */
struct volumes_job {
	const struct rh_pod_context *context;
	const struct rh_json *json;
	struct rh_volume *volume;
	struct rh_error *err;
};

void rh_volumes_deinit(struct rh_volumes *volumes)
{
	for (size_t i = 0; i < volumes->count; i++)
		rh_free(volumes->items[i].path);
	rh_free(volumes->items);
	*volumes = (struct rh_volumes){0};
}

const struct rh_volume *rh_volumes_find(const struct rh_volumes *volumes, const char *name)
{
	for (size_t i = 0; i < volumes->count; i++) {
		if (strcmp(volumes->items[i].name, name) == 0)
			return &volumes->items[i];
	}
	return NULL;
}

/* Modes are set explicitly, whatever the caller's umask is. */
static int volumes_make_folder(const char *path, mode_t mode, struct rh_error *err)
{
	int r = rh_dir_make(path, 0700, err);

	if (r == 0 && chmod(path, mode) < 0)
		r = rh_fail(err, RH_EIO, "cannot set the mode of \"%s\": %s", path, strerror(errno));
	return r;
}

static int volumes_empty_dir(const struct volumes_job *job, const struct rh_json *source)
{
	const char *medium = rh_json_string(rh_json_get(source, "medium"));
	const struct rh_json *limit = rh_json_get(source, "sizeLimit");
	int64_t milli;
	int r;

	job->volume->empty = true;
	job->volume->memory = rh_text_equal(medium, "Memory") && job->context->input->machine.can_mount;
	if (job->volume->memory && (rh_json_type(limit) == RH_JSON_STRING || rh_json_type(limit) == RH_JSON_NUMBER)) {
		r = rh_quantity_from_json(limit, &milli, job->err);
		if (r < 0)
			return rh_wrap(job->err, r, "volume \"%s\": emptyDir.sizeLimit", job->volume->name);
		job->volume->size = milli > 0 ? milli / 1000 : 0;
	}
	return volumes_make_folder(job->volume->path, 0777, job->err);
}

static int volumes_files(const struct volumes_job *job, const struct rh_json *source)
{
	int r = volumes_make_folder(job->volume->path, 0755, job->err);

	job->volume->read_only = true;
	return r < 0 ? r : rh_volume_files(job->context, job->volume->path, source, job->err);
}

static int volumes_projected(const struct volumes_job *job, const struct rh_json *source)
{
	const struct rh_json *item = rh_json_first(rh_json_get(source, "sources"));
	int r = volumes_make_folder(job->volume->path, 0755, job->err);

	job->volume->read_only = true;
	for (; item && r == 0; item = rh_json_next(item))
		r = rh_volume_files(job->context, job->volume->path, rh_json_first(item), job->err);
	return r;
}

/* The types of hostPath (k8s.io/api/core/v1, HostPathType). */
struct volumes_host_type {
	const char *name;
	mode_t format; /* required type of the file; 0: any */
	bool create;
};

static int volumes_make_host_path(const char *path, mode_t format, struct rh_error *err)
{
	rh_auto_close int fd = -1;

	if (format == S_IFDIR)
		return rh_dir_make_exact(path, 0755, err);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0)
		return rh_fail(err, RH_EIO, "cannot make \"%s\": %s", path, strerror(errno));
	return 0;
}

static int volumes_check_host_path(const char *path, const struct volumes_host_type *type, struct rh_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		if (errno == ENOENT && type->create)
			return volumes_make_host_path(path, type->format, err);
		return rh_fail(err, RH_EINVAL, "\"%s\": %s", path, strerror(errno));
	}
	if (type->format != 0 && (st.st_mode & S_IFMT) != type->format)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not of type %s", path, type->name);
	return 0;
}

static int volumes_host_path(const struct volumes_job *job, const struct rh_json *source)
{
	static const struct volumes_host_type types[] = {
		{"", 0, false},
		{"DirectoryOrCreate", S_IFDIR, true},
		{"Directory", S_IFDIR, false},
		{"File", S_IFREG, false},
		{"FileOrCreate", S_IFREG, true},
		{"Socket", S_IFSOCK, false},
		{"BlockDevice", S_IFBLK, false},
		{"CharDevice", S_IFCHR, false},
	};
	const char *path = rh_json_string(rh_json_get(source, "path"));
	const char *type = rh_json_string(rh_json_get(source, "type"));

	if (!path || path[0] != '/')
		return rh_fail(job->err, RH_EINVAL, "volume \"%s\": hostPath.path must be absolute", job->volume->name);
	rh_free(job->volume->path);
	job->volume->path = rh_strdup(path);
	if (!job->volume->path)
		return rh_fail_oom(job->err);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		int r;

		if (strcmp(types[i].name, type ? type : "") != 0)
			continue;
		r = volumes_check_host_path(path, &types[i], job->err);
		return r < 0 ? rh_wrap(job->err, r, "volume \"%s\": hostPath", job->volume->name) : 0;
	}
	return rh_fail(job->err, RH_EINVAL, "volume \"%s\": hostPath.type \"%s\" is not known", job->volume->name, type);
}

const char *rh_volumes_claim(const struct rh_config *config, const char *name)
{
	return rh_config_setting(config, RH_VOLUMES_SECTION, name);
}

static bool volumes_has(const struct rh_json *spec, const char *member)
{
	const struct rh_json *value = rh_json_get(spec, member);

	return value && rh_json_type(value) != RH_JSON_NULL && !rh_text_equal(rh_json_string(value), "");
}

bool rh_volumes_is_new(const struct rh_json *claim)
{
	const struct rh_json *spec = rh_json_get(claim, "spec");

	return claim && !volumes_has(spec, "volumeName") && !volumes_has(spec, "selector") &&
	       !volumes_has(spec, "dataSource") && !volumes_has(spec, "dataSourceRef");
}

/* The folder of a claim that stands in the files beside the job: new at the start of the run, and one for all pods. */
static int volumes_new_claim(const struct volumes_job *job, const char *claim)
{
	const struct rh_pod_context *context = job->context;

	if (strchr(claim, '/') || strchr(context->namespace_, '/'))
		return rh_fail(job->err, RH_EINVAL, "volume \"%s\": the claim \"%s\" has no valid name", job->volume->name,
		               claim);
	rh_free(job->volume->path);
	job->volume->path = rh_asprintf("%s/%s.%s", context->input->claims_dir, context->namespace_, claim);
	if (!job->volume->path)
		return rh_fail_oom(job->err);
	rh_pod_note(context, "the claim \"%s\" is the folder %s", claim, job->volume->path);
	return volumes_make_folder(job->volume->path, 0777, job->err);
}

static int volumes_claim(const struct volumes_job *job, const struct rh_json *source)
{
	const struct rh_runtime_spec_input *input = job->context->input;
	const char *claim = rh_json_string_at(source, "claimName");
	const char *folder = claim ? rh_volumes_claim(input->config, claim) : NULL;

	job->volume->read_only = rh_json_bool(rh_json_get(source, "readOnly"), false);
	if (!folder && claim && input->lookup && input->claims_dir &&
	    rh_volumes_is_new(input->lookup(input->lookup_arg, "PersistentVolumeClaim", job->context->namespace_, claim)))
		return volumes_new_claim(job, claim);
	if (!folder)
		return rh_fail(
			job->err, RH_EINVAL,
			"volume \"%s\": the claim \"%s\" has no folder on this machine; name one with --volume '%s=FOLDER'",
			job->volume->name, claim ? claim : "", claim ? claim : "");
	rh_free(job->volume->path);
	job->volume->path = rh_strdup(folder);
	return job->volume->path ? 0 : rh_fail_oom(job->err);
}

/* What a volume is made from: its one member beside the name. */
static const struct rh_json *volumes_source(const struct rh_json *volume)
{
	const struct rh_json *member = rh_json_first(volume);

	while (member && (strcmp(rh_json_key(member), "name") == 0 || rh_json_type(member) == RH_JSON_NULL))
		member = rh_json_next(member);
	return member;
}

static int volumes_make_one(const struct volumes_job *job)
{
	const struct rh_json *source = volumes_source(job->json);
	const char *sort = source ? rh_json_key(source) : "emptyDir";
	static const struct {
		const char *sort;
		int (*make)(const struct volumes_job *job, const struct rh_json *source);
	} makers[] = {
		{"emptyDir", volumes_empty_dir},
		{"hostPath", volumes_host_path},
		{"configMap", volumes_files},
		{"secret", volumes_files},
		{"downwardAPI", volumes_files},
		{"projected", volumes_projected},
		{"persistentVolumeClaim", volumes_claim},
	};

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		if (strcmp(makers[i].sort, sort) == 0) {
			int r = makers[i].make(job, source);

			return r == RH_ENOENT ? rh_wrap(job->err, r, "volume \"%s\"", job->volume->name) : r;
		}
	}
	return rh_fail(
		job->err, RH_EINVAL,
		"volume \"%s\": %s is not supported on one machine; name a folder of this machine with hostPath instead",
		job->volume->name, sort);
}

static bool volumes_container_uses(const struct rh_json *container, const char *name)
{
	const struct rh_json *mount = rh_json_first(rh_json_get(container, "volumeMounts"));

	for (; mount; mount = rh_json_next(mount)) {
		if (rh_text_equal(rh_json_string(rh_json_get(mount, "name")), name))
			return true;
	}
	return false;
}

static bool volumes_is_used(const struct rh_pod_context *context, const char *name)
{
	static const char *const lists[] = {"containers", "initContainers"};

	for (int l = 0; l < 2; l++) {
		const struct rh_json *container = rh_json_first(rh_json_get(context->spec, lists[l]));

		for (; container; container = rh_json_next(container)) {
			if (volumes_container_uses(container, name))
				return true;
		}
	}
	return false;
}

static int volumes_add(const struct rh_pod_context *context, const struct rh_json *json, struct rh_volumes *volumes,
                       struct rh_error *err)
{
	const char *name = rh_json_string(rh_json_get(json, "name"));
	struct volumes_job job = {.context = context, .json = json, .err = err};

	if (!name || !*name || strchr(name, '/') || name[0] == '.')
		return rh_fail(err, RH_EINVAL, "a volume must have a name that is also a valid name of a folder");
	if (!volumes_is_used(context, name))
		return 0;
	job.volume = &volumes->items[volumes->count++];
	job.volume->name = name;
	job.volume->path = rh_asprintf("%s/volumes/%s", context->input->pod_dir, name);
	return job.volume->path ? volumes_make_one(&job) : rh_fail_oom(err);
}

int rh_volumes_make(const struct rh_pod_context *context, struct rh_volumes *volumes, struct rh_error *err)
{
	const struct rh_json *list = rh_json_get(context->spec, "volumes");
	int r = 0;

	volumes->items = rh_alloc_array(rh_json_size(list), sizeof(*volumes->items));
	if (!volumes->items)
		return rh_fail_oom(err);
	for (const struct rh_json *item = rh_json_first(list); item && r == 0; item = rh_json_next(item))
		r = volumes_add(context, item, volumes, err);
	return r;
}
