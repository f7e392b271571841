/* SPDX-License-Identifier: Apache-2.0 */
#include "local/preflight/preflight.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "local/pod/container.h"
#include "local/pod/fields.h"
#include "local/preflight/parts.h"
#include "local/runtime_spec.h"

/* With less room than this, in bytes, a file system is nearly full. */
#define PREFLIGHT_ROOM_MIN ((int64_t)256 * 1024 * 1024)

/* @return the position of the item called `name`, or -1: the plugin added it, so nobody can correct it in the file */
static int preflight_position(const struct rh_json *list, const char *name)
{
	int at = 0;

	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item), at++) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), name))
			return at;
	}
	return -1;
}

static int preflight_container(const struct rh_preflight_pod *pod, const char *list, const struct rh_json *json,
                               bool after_init)
{
	int at = preflight_position(rh_json_get(pod->template_, list), rh_json_string(rh_json_get(json, "name")));
	rh_auto_free char *place = at < 0 ? NULL : rh_asprintf("%s.%s[%d]", pod->place, list, at);
	const struct rh_preflight_container container = {pod, json, place, after_init};
	int r;

	if (at < 0)
		return 0;
	if (!place)
		return RH_ENOMEM;
	r = rh_preflight_program(&container);
	if (r == 0)
		r = rh_preflight_ports(&container);
	return r == 0 ? rh_preflight_variables(&container) : r;
}

static int preflight_containers(const struct rh_preflight_pod *pod)
{
	static const char *const lists[] = {"initContainers", "containers"};
	bool after_init = false;
	int r = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct rh_json *item = rh_json_first(rh_json_get(pod->spec, lists[i]));

		for (; item && r == 0; item = rh_json_next(item)) {
			r = preflight_container(pod, lists[i], item, after_init);
			after_init = after_init || i == 0;
		}
	}
	return r;
}

static int preflight_pod(const struct rh_preflight *all, const struct rh_preflight_job *job, size_t index,
                         struct rh_findings *findings)
{
	const struct rh_replica_spec *spec = &job->job->specs[index];
	rh_auto_str place = {0};
	struct rh_preflight_pod pod = {.all = all,
	                               .folder = job->folder,
	                               .namespace_ = job->job->namespace_,
	                               .spec = rh_json_get(job->pods[index], "spec"),
	                               .template_ = rh_json_get(spec->template_, "spec"),
	                               .findings = findings};
	int r;

	rh_job_print_spec(job->job, spec, &place);
	rh_str_append(&place, ".template.spec");
	if (place.failed)
		return RH_ENOMEM;
	pod.place = rh_str_text(&place);
	r = preflight_containers(&pod);
	if (r == 0)
		r = rh_preflight_own_port(&pod, job->job, spec);
	return r == 0 ? rh_preflight_volumes(&pod) : r;
}

/* All replicas run at the same time, so fewer are never enough. A wrong number is the concern of validation. */
static int preflight_gpus(const struct rh_preflight *all, const struct rh_job *job, struct rh_findings *findings)
{
	int64_t want = 0;

	for (size_t i = 0; i < job->spec_count; i++) {
		int each = rh_runtime_spec_gpus(job->specs[i].template_, NULL);

		want += each > 0 ? (int64_t)each * job->specs[i].replicas : 0;
	}
	if (want <= (int64_t)all->machine.gpus)
		return 0;
	return rh_findings_add(
		findings, RH_FINDING_ERROR, "", "its replicas ask for %lld nvidia.com/gpu in all; this machine has %zu; %s",
		(long long)want, all->machine.gpus,
		all->machine.gpus > 0 ? "lower replicas or resources.limits, or use none with --cpu" : "use none with --cpu");
}

/* What the containers of one replica ask for, thousandths of a byte. */
static int64_t preflight_requests(const struct rh_json *template_)
{
	const struct rh_json *item = rh_json_first(rh_json_at(template_, "spec.containers"));
	int64_t sum = 0;

	for (; item; item = rh_json_next(item)) {
		int64_t milli = 0;

		if (rh_pod_quantity(item, "requests", "memory", &milli, NULL) > 0 && milli > 0)
			sum = milli > INT64_MAX - sum ? INT64_MAX : sum + milli;
	}
	return sum;
}

static int preflight_memory(const struct rh_preflight *all, const struct rh_job *job, struct rh_findings *findings)
{
	const int64_t mebibyte = 1024 * 1024;
	double want = 0;

	for (size_t i = 0; i < job->spec_count; i++)
		want += (double)preflight_requests(job->specs[i].template_) / 1000 * job->specs[i].replicas;
	if (all->machine.memory == 0 || want <= (double)all->machine.memory)
		return 0;
	return rh_findings_add(findings, RH_FINDING_WARNING, "",
	                       "its replicas ask for %.0f MiB of memory in all; this machine has %lld MiB; lower replicas "
	                       "or resources.requests if they need it",
	                       want / (double)mebibyte, (long long)(all->machine.memory / mebibyte));
}

int rh_preflight_check(const struct rh_preflight *all, const struct rh_preflight_job *job, struct rh_findings *findings)
{
	int r = preflight_gpus(all, job->job, findings);

	if (r == 0)
		r = preflight_memory(all, job->job, findings);
	for (size_t i = 0; i < job->job->spec_count && r == 0; i++) {
		if (job->pods[i] && job->job->specs[i].replicas > 0)
			r = preflight_pod(all, job, i, findings);
	}
	return r;
}

/* The nearest folder above `path` that exists decides whether it can be made. @param[out] ret_above owned by the caller
 */
static int preflight_above(const struct rh_preflight *all, const char *path, char **ret_above, unsigned *ret_bits)
{
	rh_auto_free char *at = rh_strdup(path);

	while (at) {
		char *above;

		*ret_bits = all->machine.look(all->machine.arg, at);
		if (*ret_bits != 0 || strcmp(at, "/") == 0 || strcmp(at, ".") == 0) {
			*ret_above = rh_take(at);
			return 0;
		}
		above = rh_path_folder(at);
		rh_free(at);
		at = above;
	}
	return RH_ENOMEM;
}

/* A file system that is nearly full: training may go well, so this is a warning. */
static int preflight_room(const struct rh_preflight *all, const char *path, const char *above, const char *fix,
                          struct rh_findings *findings)
{
	const int64_t mebibyte = 1024 * 1024;
	int64_t room = all->machine.room ? all->machine.room(all->machine.arg, above) : -1;

	if (room < 0 || room >= PREFLIGHT_ROOM_MIN)
		return 0;
	return rh_findings_add(
		findings, RH_FINDING_WARNING, "",
		"the file system of \"%s\" has %lld MiB left, and the run writes there; make room, or choose "
		"another folder with %s",
		path, (long long)(room / mebibyte), fix);
}

static int preflight_logs(const struct rh_preflight *all, struct rh_findings *findings)
{
	rh_auto_free char *above = NULL;
	unsigned bits = 0;
	int r = preflight_above(all, all->log_dir, &above, &bits);

	if (r < 0)
		return r;
	if ((bits & RH_LOOK_FOLDER) && (bits & RH_LOOK_WRITE))
		return preflight_room(all, all->log_dir, above, "--log-dir", findings);
	return rh_findings_add(findings, RH_FINDING_ERROR, "",
	                       "cannot write into the folder of logs \"%s\"; choose another folder with --log-dir",
	                       all->log_dir);
}

int rh_preflight_check_call(const struct rh_preflight *all, struct rh_findings *findings)
{
	rh_auto_free char *above = NULL;
	unsigned bits = 0;
	int r = all->log_dir ? preflight_logs(all, findings) : 0;

	if (r == 0)
		r = preflight_above(all, all->config->state_dir, &above, &bits);
	if (r == 0)
		r = preflight_room(all, all->config->state_dir, above, "[local] state-dir", findings);
	return r;
}
