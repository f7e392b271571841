/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/container.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "local/exec.h"
#include "local/pod/environment.h"
#include "local/pod/fields.h"
#include "local/pod/images.h"
#include "local/pod/places.h"
#include "local/shim.h"

#define CONTAINER_GPU "nvidia.com/gpu"
/* Far more than any machine has; keeps sums small. */
#define CONTAINER_GPUS_MAX 1024
/* Where what a container needs of this machine appears when a volume covers its own path. */
#define CONTAINER_KEPT "/roundhouse"
/* Name of a directory entry. */
#define CONTAINER_NAME_MAX 63

/* One container under work. */
struct container_job {
	const struct rh_container_input *input;
	const char *name;
	struct rh_environment environment;
	struct rh_places places;
	struct rh_json *plan;
	struct rh_error *err;
};

static void container_job_deinit(struct container_job *job)
{
	rh_environment_deinit(&job->environment);
	rh_places_deinit(&job->places);
	rh_json_free(job->plan);
}

int rh_container_gpus(const struct rh_json *container, struct rh_error *err)
{
	const char *name = rh_json_string(rh_json_get(container, "name"));
	int64_t milli = 0;
	int r = rh_pod_quantity(container, "limits", CONTAINER_GPU, &milli, err);

	if (r <= 0)
		return r;
	if (milli < 0 || milli % 1000 != 0 || milli / 1000 > CONTAINER_GPUS_MAX)
		return rh_fail(err, RH_EINVAL,
		               "container \"%s\": resources.limits[\"" CONTAINER_GPU "\"] must be a whole number",
		               name ? name : "");
	return (int)(milli / 1000);
}

bool rh_container_is_sidecar(const struct rh_json *container)
{
	return rh_text_equal(rh_json_string(rh_json_get(container, "restartPolicy")), "Always");
}

static int container_set(struct container_job *job, const char *name, const char *value, enum rh_env_origin origin)
{
	return rh_environment_set(&job->environment, name, value, origin) < 0 ? rh_fail_oom(job->err) : 0;
}

static int container_set_gpus(struct container_job *job)
{
	rh_auto_str list = {0};

	if (job->input->gpu_count == 0)
		return 0;
	for (size_t i = 0; i < job->input->gpu_count; i++)
		rh_str_appendf(&list, "%s%s", i > 0 ? "," : "", job->input->gpus[i]);
	if (list.failed)
		return rh_fail_oom(job->err);
	return container_set(job, "CUDA_VISIBLE_DEVICES", rh_str_text(&list), RH_ENV_OWN);
}

/* Over what is inherited, below what the pod sets. */
static int container_set_variables(struct container_job *job)
{
	const char *const *entry = job->input->context->input->variables;
	int r = 0;

	for (; entry && *entry && r == 0; entry++) {
		size_t length = strcspn(*entry, "=");
		rh_auto_free char *name = rh_strndup(*entry, length);

		r = name ? container_set(job, name, *entry + length + 1, RH_ENV_INHERITED) : rh_fail_oom(job->err);
	}
	return r;
}

static int container_fill_environment(struct container_job *job)
{
	const struct rh_pod_context *context = job->input->context;
	const struct rh_runtime_spec_input *input = context->input;
	const char *image = rh_json_string(rh_json_get(job->input->json, "image"));
	const char *const *inherited = input->environment ? input->environment : (const char *const *)(uintptr_t)environ;
	int r = rh_environment_inherit(&job->environment, inherited) < 0 ? rh_fail_oom(job->err) : 0;

	if (r == 0)
		r = rh_images_apply(input->config, image ? image : "", &job->environment, job->err);
	if (r == 0)
		r = container_set(job, "HOSTNAME", context->name, RH_ENV_INHERITED);
	if (r == 0)
		r = container_set_variables(job);
	if (r == 0)
		r = rh_environment_add(&job->environment, context, job->input->json, job->err);
	/* replaces the pod's own value, which can only name devices that the pod does not have */
	return r == 0 ? container_set_gpus(job) : r;
}

static int container_refuse_path(const struct container_job *job, const struct rh_place *place, const char *where,
                                 const char *text)
{
	return rh_fail(
		job->err, RH_EINVAL,
		"container \"%s\": %s \"%.200s\" names mountPath \"%s\" of volume \"%s\", but this machine allows no private "
		"mounts; put the path into a variable of env and write $(NAME)",
		job->name, where, text, place->to, place->volume);
}

/* Values that the pod set, and that are not below its own folder already. */
static int container_translate_variable(struct container_job *job, struct rh_env_item *item)
{
	char *translated;
	const struct rh_place *place;

	if (item->origin == RH_ENV_INHERITED || rh_starts_with(item->value, job->input->context->input->pod_dir))
		return 0;
	translated = rh_places_translate(&job->places, item->value);
	if (!translated)
		return rh_fail_oom(job->err);
	if (strcmp(translated, item->value) == 0) {
		rh_free(translated);
		place = rh_places_named(&job->places, item->value);
		return place ? container_refuse_path(job, place, "the value of env", item->name) : 0;
	}
	rh_free(item->value);
	item->value = translated;
	return 0;
}

/* Without a mount namespace the container gets the real paths of its volumes. */
static int container_translate(struct container_job *job)
{
	int r = 0;

	rh_places_drop_same(&job->places, job->input->volumes);
	for (size_t i = 0; i < job->environment.count && r == 0; i++)
		r = container_translate_variable(job, &job->environment.items[i]);
	return r;
}

static int container_mount(struct rh_json *mounts, const char *from, const char *to, struct rh_error *err)
{
	struct rh_json *item = rh_json_new_object();

	if (rh_json_append(mounts, item) < 0 || rh_json_set_string(item, "from", from) < 0 ||
	    rh_json_set_string(item, "to", to) < 0)
		return rh_fail_oom(err);
	return 0;
}

/*
 * Where the container finds `path` of this machine: there, unless a volume covers it; then at a place of its own. It is
 * not mounted into the volume, which may be the user's own folder, or read-only.
 */
static int container_keep(struct container_job *job, const char *path, const char *name, char **ret_path)
{
	rh_auto_free char *kept = NULL;

	if (!job->input->context->input->machine.can_mount || !rh_places_cover(&job->places, path)) {
		*ret_path = rh_strdup(path);
		return *ret_path ? 0 : rh_fail_oom(job->err);
	}
	kept = rh_path_join(CONTAINER_KEPT, name);
	if (!kept)
		return rh_fail_oom(job->err);
	if (container_mount(rh_json_ensure_array(job->plan, "mounts"), path, kept, job->err) < 0)
		return RH_ENOMEM;
	*ret_path = rh_take(kept);
	return 0;
}

static int container_add_mounts(struct container_job *job)
{
	rh_auto(json) mounts = rh_places_json(&job->places);

	if (!mounts)
		return rh_fail_oom(job->err);
	if (job->input->hosts && container_mount(mounts, job->input->hosts, "/etc/hosts", job->err) < 0)
		return RH_ENOMEM;
	if (rh_json_size(mounts) == 0)
		return 0;
	return rh_json_set(job->plan, "mounts", rh_take(mounts)) < 0 ? rh_fail_oom(job->err) : 0;
}

static int container_place_volumes(struct container_job *job)
{
	int r = rh_places_make(job->input->volumes, job->input->json, &job->environment, &job->places, job->err);

	if (r < 0)
		return r;
	if (job->input->context->input->machine.can_mount)
		return container_add_mounts(job);
	return container_translate(job);
}

static int container_add_words(struct container_job *job, const char *member, struct rh_json *argv)
{
	const struct rh_json *words = rh_json_get(job->input->json, member);

	for (const struct rh_json *word = rh_json_first(words); word; word = rh_json_next(word)) {
		const char *text = rh_json_string(word);
		const struct rh_place *place;
		rh_auto_str expanded = {0};

		if (!text)
			return rh_fail(job->err, RH_EINVAL, "container \"%s\": %s must be a list of strings", job->name, member);
		place = job->input->context->input->machine.can_mount ? NULL : rh_places_named(&job->places, text);
		if (place)
			return container_refuse_path(job, place, "an argument", text);
		rh_environment_expand(&job->environment, text, RH_ENV_FROM, &expanded);
		if (expanded.failed || rh_json_append(argv, rh_json_new_string(rh_str_text(&expanded))) < 0)
			return rh_fail_oom(job->err);
	}
	return 0;
}

static int container_add_argv(struct container_job *job)
{
	const char *image = rh_json_string(rh_json_get(job->input->json, "image"));
	struct rh_json *argv;
	int r;

	if (rh_json_size(rh_json_get(job->input->json, "command")) == 0)
		return rh_fail(job->err, RH_EINVAL,
		               "container \"%s\" has no command: on one machine its image \"%s\" is not run, so the program "
		               "must be named; add "
		               "command: [\"python3\", \"train.py\"] or the like",
		               job->name, image ? image : "");
	argv = rh_json_ensure_array(job->plan, "argv");
	if (!argv)
		return rh_fail_oom(job->err);
	r = container_add_words(job, "command", argv);
	return r == 0 ? container_add_words(job, "args", argv) : r;
}

static int container_add_folder(struct container_job *job)
{
	const struct rh_runtime_spec_input *input = job->input->context->input;
	const char *folder = rh_json_string(rh_json_get(job->input->json, "workingDir"));
	bool own = folder && *folder;
	rh_auto_free char *absolute = own ? rh_path_join(input->work_dir, folder) : rh_strdup(input->work_dir);
	rh_auto_free char *real = NULL;
	int r = 0;

	if (!absolute)
		return rh_fail_oom(job->err);
	/* after the volumes are placed: without a mount namespace it may be one of them */
	if (!input->machine.can_mount)
		real = rh_places_translate(&job->places, absolute);
	else if (own)
		real = rh_take(absolute);
	else
		r = container_keep(job, absolute, "work", &real);
	if (!real)
		return r < 0 ? r : rh_fail_oom(job->err);
	r = rh_json_set_string(job->plan, "cwd", real) < 0 ? rh_fail_oom(job->err) : 0;
	return r == 0 ? container_set(job, "PWD", real, RH_ENV_INHERITED) : r;
}

static int container_limit(struct container_job *job, const char *resource, const char *key, int64_t unit)
{
	const struct rh_pod_context *context = job->input->context;
	int64_t milli = 0;
	int r = rh_pod_quantity(job->input->json, "limits", resource, &milli, job->err);

	if (r <= 0 || milli <= 0)
		return r < 0 ? r : 0;
	if (!context->input->machine.can_limit) {
		rh_pod_note(context, "limits of cpu and memory are not enforced: %s", context->input->machine.no_limit.message);
		return 0;
	}
	return rh_pod_set_amount(job->plan, key, (milli - 1) / unit + 1) < 0 ? rh_fail_oom(job->err) : 0;
}

/* The container's own securityContext counts before the pod's. */
static bool container_id(const struct container_job *job, const char *member, int64_t *ret_id)
{
	const struct rh_json *own = rh_json_get(rh_json_get(job->input->json, "securityContext"), member);
	const struct rh_json *pod = rh_json_get(rh_json_get(job->input->context->spec, "securityContext"), member);

	return rh_json_integer(own, ret_id) || (!own && rh_json_integer(pod, ret_id));
}

static int container_add_id(struct container_job *job, const char *member, const char *key, int64_t ours)
{
	int64_t id;

	if (!container_id(job, member, &id) || id == ours)
		return 0;
	/* a larger one would be cut to 32 bits, and may be root's then */
	if (id < 0 || id > INT32_MAX)
		return rh_fail(job->err, RH_EINVAL,
		               "container \"%s\": securityContext.%s: Invalid value: %" PRId64 ": must be between 0 and %d",
		               job->name, member, id, INT32_MAX);
	if (geteuid() != 0) {
		rh_pod_note(job->input->context,
		            "securityContext.%s is not honoured: containers run as the user who runs roundhouse", member);
		return 0;
	}
	return rh_json_set_integer(job->plan, key, id) < 0 ? rh_fail_oom(job->err) : 0;
}

static int container_add_limits(struct container_job *job)
{
	int r = container_limit(job, "memory", "memory", 1000);

	if (r == 0)
		r = container_limit(job, "cpu", "cpu", 1);
	if (r == 0)
		r = container_add_id(job, "runAsUser", "uid", geteuid());
	if (r == 0)
		r = container_add_id(job, "runAsGroup", "gid", getegid());
	return r;
}

static void container_note_unused(const struct container_job *job)
{
	static const char *const members[] = {"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (rh_json_type(rh_json_get(job->input->json, members[i])) == RH_JSON_OBJECT)
			rh_pod_note(job->input->context, "container \"%s\": %s has no effect on one machine", job->name,
			            members[i]);
	}
}

/* Set a variable to where `path` of this machine is in the container; NULL is allowed. */
static int container_set_path(struct container_job *job, const char *variable, const char *path, const char *name)
{
	rh_auto_free char *there = NULL;
	int r = path ? container_keep(job, path, name, &there) : 0;

	return r == 0 && there ? container_set(job, variable, there, RH_ENV_OWN) : r;
}

/* The variables that `roundhouse exec` in the container reads. */
static int container_set_exec(struct container_job *job)
{
	const struct rh_pod_context *context = job->input->context;
	int r = container_set(job, RH_EXEC_NAMESPACE, context->namespace_, RH_ENV_OWN);

	if (r == 0)
		r = container_set_path(job, RH_EXEC_PODS, context->input->pods_dir, "pods");
	if (r == 0)
		r = container_set_path(job, RH_EXEC_PROGRAM, context->input->program, "program");
	return r;
}

/* Whatever this machine's environment names is not this pod's. */
static int container_set_error_file(struct container_job *job)
{
	rh_auto_free char *path = NULL;

	if (rh_environment_get(&job->environment, RH_RUNTIME_SPEC_ERROR_VARIABLE, RH_ENV_FROM))
		return 0;
	path = rh_asprintf("%s/%s" RH_RUNTIME_SPEC_ERROR_FILE, job->input->context->input->pod_dir, job->name);
	return path ? container_set(job, RH_RUNTIME_SPEC_ERROR_VARIABLE, path, RH_ENV_OWN) : rh_fail_oom(job->err);
}

/* The mark comes last: no variable of the pod may take its place. */
static int container_finish(struct container_job *job)
{
	const struct rh_pod_context *context = job->input->context;
	rh_auto_free char *mark = rh_asprintf("%s/%s", context->uid, job->name);
	rh_auto_free char *log = rh_asprintf("%s/%s.log", context->input->log_dir, job->name);
	int r;

	if (!mark || !log)
		return rh_fail_oom(job->err);
	r = container_set_exec(job);
	if (r == 0)
		r = container_set_error_file(job);
	if (r == 0)
		r = container_set(job, RH_SHIM_MARK, mark, RH_ENV_OWN);
	if (r == 0 && (rh_json_set_string(job->plan, "log", log) < 0 ||
	               rh_json_set(job->plan, "env", rh_environment_json(&job->environment)) < 0))
		r = rh_fail_oom(job->err);
	return r;
}

/* A name becomes a file's; Kubernetes allows a DNS label. */
static int container_check_name(struct container_job *job)
{
	const char *name = rh_json_string(rh_json_get(job->input->json, "name"));

	if (!name || !*name || strlen(name) > CONTAINER_NAME_MAX ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name))
		return rh_fail(job->err, RH_EINVAL, "container \"%s\": the name must be lower-case letters, digits and \"-\"",
		               name ? name : "");
	job->name = name;
	return rh_json_set_string(job->plan, "name", name) < 0 ? rh_fail_oom(job->err) : 0;
}

/* Only an init container may have a restartPolicy, and only this one (k8s.io/api/core/v1, Container). */
static int container_add_policy(struct container_job *job)
{
	const char *policy = rh_json_string(rh_json_get(job->input->json, "restartPolicy"));

	if (!policy)
		return 0;
	if (!job->input->init || strcmp(policy, "Always") != 0)
		return rh_fail(job->err, RH_EINVAL,
		               "container \"%s\": restartPolicy \"%.64s\" cannot be honoured: an init container may have "
		               "\"Always\", which makes it a sidecar, and a regular one has that of its replica; remove it",
		               job->name, policy);
	return rh_json_set_bool(job->plan, "sidecar", true) < 0 ? rh_fail_oom(job->err) : 0;
}

int rh_container_plan(const struct rh_container_input *input, struct rh_json **ret_plan, struct rh_error *err)
{
	static int (*const steps[])(struct container_job * job) = {
		container_check_name, container_add_policy, container_fill_environment, container_place_volumes,
		container_add_argv,   container_add_folder, container_add_limits,       container_finish,
	};
	__attribute__((cleanup(container_job_deinit))) struct container_job job = {.input = input, .err = err};

	job.plan = rh_json_new_object();
	if (!job.plan)
		return rh_fail_oom(err);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i](&job);

		if (r < 0)
			return r;
	}
	container_note_unused(&job);
	*ret_plan = rh_take(job.plan);
	return 0;
}
