/* SPDX-License-Identifier: Apache-2.0 */
#include "local/runtime_spec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "job/pod.h"
#include "local/pod/container.h"
#include "local/pod/volumes.h"
#include "local/shim/isolation/limits.h"
#include "local/shim/isolation/mounts.h"

/* One plan under work. */
struct runtime_spec_job {
	struct rh_pod_context context;
	struct rh_volumes volumes;
	char *hosts; /* file with the pod's own /etc/hosts; NULL: none */
	size_t gpus; /* how many of the pod's devices were given to containers that run to its end */
	struct rh_json *plan;
	struct rh_error *err;
};

static void runtime_spec_job_deinit(struct runtime_spec_job *job)
{
	rh_volumes_deinit(&job->volumes);
	rh_free(job->hosts);
	rh_json_free(job->plan);
}

static int runtime_spec_open(struct runtime_spec_job *job, const struct rh_runtime_spec_input *input)
{
	const struct rh_json *metadata = rh_json_get(input->pod, "metadata");
	const char *namespace_ = rh_json_string(rh_json_get(metadata, "namespace"));
	int r;

	job->context.input = input;
	job->context.namespace_ = namespace_ ? namespace_ : "default";
	job->context.name = rh_json_string(rh_json_get(metadata, "name"));
	job->context.uid = rh_json_string(rh_json_get(metadata, "uid"));
	job->context.spec = rh_json_get(input->pod, "spec");
	if (!job->context.name || !job->context.uid || rh_json_size(rh_json_get(job->context.spec, "containers")) == 0)
		return rh_fail(job->err, RH_EINVAL, "a pod must have metadata.name, metadata.uid and a container");
	job->plan = rh_json_new_object();
	if (!job->plan)
		return rh_fail_oom(job->err);
	r = rh_dir_make(input->pod_dir, 0700, job->err);
	if (r == 0 && chmod(input->pod_dir, 0700) < 0)
		r = rh_fail(job->err, RH_EIO, "cannot make \"%s\" private: %s", input->pod_dir, strerror(errno));
	return r;
}

/* A grace period that a pod names counts before the configuration's. */
static int64_t runtime_spec_grace(const struct runtime_spec_job *job)
{
	int64_t seconds;

	return rh_pod_grace(job->context.spec, &seconds) ? seconds * RH_SECOND : job->context.input->config->grace_period;
}

static int runtime_spec_fill_head(struct runtime_spec_job *job)
{
	const struct rh_runtime_spec_input *input = job->context.input;
	const char *policy = rh_json_string(rh_json_get(job->context.spec, "restartPolicy"));

	if (rh_json_set_string(job->plan, "pod", job->context.name) < 0 ||
	    rh_json_set_string(job->plan, "dir", input->pod_dir) < 0 ||
	    rh_json_set_bool(job->plan, "detached", input->detached) < 0 ||
	    rh_json_set_string(job->plan, "restartPolicy", policy && *policy ? policy : "Always") < 0 ||
	    rh_pod_set_amount(job->plan, "backoff", input->config->restart_backoff) < 0 ||
	    rh_pod_set_amount(job->plan, "backoffMax", input->config->restart_backoff_max) < 0 ||
	    rh_pod_set_amount(job->plan, "grace", runtime_spec_grace(job)) < 0)
		return rh_fail_oom(job->err);
	return 0;
}

static int runtime_spec_make_volumes(struct runtime_spec_job *job)
{
	struct rh_json *list;
	int r = rh_volumes_make(&job->context, &job->volumes, job->err);

	for (size_t i = 0; i < job->volumes.count && r == 0; i++) {
		const struct rh_volume *volume = &job->volumes.items[i];
		struct rh_json *item;

		if (!volume->memory)
			continue;
		item = rh_json_new_object();
		list = rh_json_ensure_array(job->plan, "tmpfs");
		if (rh_json_append(list, item) < 0 || rh_json_set_string(item, "path", volume->path) < 0 ||
		    rh_pod_set_amount(item, "size", volume->size) < 0)
			r = rh_fail_oom(job->err);
	}
	return r;
}

static int runtime_spec_write_hosts(struct runtime_spec_job *job)
{
	const struct rh_runtime_spec_input *input = job->context.input;
	rh_auto_close int fd = -1;

	if (!input->hosts || !input->machine.can_mount)
		return 0;
	job->hosts = rh_asprintf("%s/hosts", input->pod_dir);
	if (!job->hosts)
		return rh_fail_oom(job->err);
	fd = open(job->hosts, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	/* also for a user who is not the caller, whatever the caller's umask is */
	if (fd < 0 || fchmod(fd, 0644) < 0)
		return rh_fail(job->err, RH_EIO, "cannot make \"%s\": %s", job->hosts, strerror(errno));
	return rh_fd_write_all(fd, input->hosts, strlen(input->hosts), job->err);
}

/* Plan a list of containers. Regular ones and sidecars share the pod's devices out; other init containers run before
 * them, each with the first that are left. */
static int runtime_spec_fill_list(struct runtime_spec_job *job, const char *member, const char *key)
{
	bool init = strcmp(key, "init") == 0;
	const struct rh_runtime_spec_input *input = job->context.input;
	struct rh_json *list = rh_json_ensure_array(job->plan, key);
	const struct rh_json *item = rh_json_first(rh_json_get(job->context.spec, member));

	if (!list)
		return rh_fail_oom(job->err);
	for (; item; item = rh_json_next(item)) {
		struct rh_container_input container = {
			.context = &job->context, .volumes = &job->volumes, .json = item, .init = init, .hosts = job->hosts};
		struct rh_json *plan = NULL;
		int r = rh_container_gpus(item, job->err);

		if (r < 0)
			return r;
		container.gpu_count = (size_t)r;
		if (job->gpus + container.gpu_count > input->gpu_count)
			return rh_fail(job->err, RH_EINVAL, "the pod wants more GPUs than the %zu it was given", input->gpu_count);
		container.gpus = container.gpu_count > 0 ? input->gpus + job->gpus : NULL;
		job->gpus += init && !rh_container_is_sidecar(item) ? 0 : container.gpu_count;
		r = rh_container_plan(&container, &plan, job->err);
		if (r < 0)
			return r;
		if (rh_json_append(list, plan) < 0)
			return rh_fail_oom(job->err);
	}
	return 0;
}

int rh_runtime_spec_make(const struct rh_runtime_spec_input *input, struct rh_json **ret_plan, struct rh_str *notes,
                         struct rh_error *err)
{
	__attribute__((cleanup(runtime_spec_job_deinit))) struct runtime_spec_job job = {.err = err};
	int r;

	job.context.notes = notes;
	r = runtime_spec_open(&job, input);
	if (r == 0)
		r = runtime_spec_fill_head(&job);
	if (r == 0)
		r = runtime_spec_make_volumes(&job);
	if (r == 0)
		r = runtime_spec_write_hosts(&job);
	if (r == 0)
		r = runtime_spec_fill_list(&job, "initContainers", "init");
	if (r == 0)
		r = runtime_spec_fill_list(&job, "containers", "containers");
	if (r == 0)
		*ret_plan = rh_take(job.plan);
	return r;
}

int rh_runtime_spec_gpus(const struct rh_json *pod, struct rh_error *err)
{
	const struct rh_json *spec = rh_json_get(pod, "spec");
	const struct rh_json *item;
	int sum = 0;
	int most = 0;

	for (item = rh_json_first(rh_json_get(spec, "initContainers")); item; item = rh_json_next(item)) {
		int r = rh_container_gpus(item, err);

		if (r < 0)
			return r;
		/* an init container runs beside the sidecars before it */
		most = sum + r > most ? sum + r : most;
		sum += rh_container_is_sidecar(item) ? r : 0;
	}
	for (item = rh_json_first(rh_json_get(spec, "containers")); item; item = rh_json_next(item)) {
		int r = rh_container_gpus(item, err);

		if (r < 0)
			return r;
		sum += r;
	}
	return sum > most ? sum : most;
}

/* What volumes need: a namespace, a file system in memory, a bind mount. */
static void runtime_spec_try_mounts(void)
{
	struct rh_error err = {0};
	bool can = rh_shim_mounts_enter(&err) == 0 && mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, NULL) == 0 &&
	           mount("/etc", "/etc", NULL, MS_BIND | MS_REC, NULL) == 0;

	_exit(can ? 0 : 1);
}

bool rh_runtime_spec_can_mount(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		runtime_spec_try_mounts();
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool rh_runtime_spec_can_limit(struct rh_error *why_not)
{
	return rh_shim_limits_check("", why_not) == 0;
}
