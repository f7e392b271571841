/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a run: checked, stored, and watched until they have finished. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "host/operations.h"
#include "job/kind.h"
#include "job/lookups/lookup_files.h"
#include "job/status/shown.h"
#include "local/devices/devices.h"
#include "local/preflight/pods.h"
#include "local/run/parts.h"
#include "local/runtime_spec.h"

const struct rh_resource *rh_run_core_resource(const char *api_version, const char *kind)
{
	static const struct rh_resource resources[] = {
		{"v1", "ConfigMap", "configmaps"},
		{"v1", "Secret", "secrets"},
		{"v1", "PersistentVolumeClaim", "persistentvolumeclaims"},
	};

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		if (rh_text_equal(api_version, resources[i].api_version) && rh_text_equal(kind, resources[i].kind))
			return &resources[i];
	}
	return NULL;
}

static const struct rh_resource *jobs_core_resource(const struct rh_json *object)
{
	return rh_run_core_resource(rh_json_string(rh_json_get(object, "apiVersion")),
	                            rh_json_string(rh_json_get(object, "kind")));
}

/* GPUs that all replicas together ask for: they run at the same time, so fewer are never enough. */
static int jobs_check_gpus(const struct rh_job *job, struct rh_error *err)
{
	struct rh_devices devices = {.count = 0};
	int64_t want = 0;

	for (size_t i = 0; i < job->spec_count; i++) {
		int each = rh_runtime_spec_gpus(job->specs[i].template_, err);

		if (each < 0)
			return each;
		want += (int64_t)each * job->specs[i].replicas;
	}
	if (want == 0)
		return 0;
	rh_devices_find("", getenv("CUDA_VISIBLE_DEVICES"), &devices);
	if (want > (int64_t)devices.count)
		return rh_fail(err, RH_EINVAL, "its replicas ask for %lld nvidia.com/gpu in all; this machine has %zu",
		               (long long)want, devices.count);
	return 0;
}

static int jobs_check(const struct rh_job *job, struct rh_error *err)
{
	struct rh_kind_path policy;

	rh_kind_policy_path(job->kind, &policy);
	if (job->policy.suspend)
		return rh_fail(err, RH_EINVAL, "%s.suspend is true, so it would never start; set it to false",
		               policy.count > 0 ? policy.text : "spec");
	if (!rh_job_is_ours(job))
		return rh_fail(err, RH_EINVAL, "%s.managedBy is \"%s\", so another controller is to run it; remove it",
		               policy.text, job->policy.managed_by ? job->policy.managed_by : "");
	return jobs_check_gpus(job, err);
}

static int jobs_add_records(struct rh_run_job *job, struct rh_error *err)
{
	int64_t total = rh_job_total_replicas(job->job);

	job->records = rh_alloc_array(total > 0 ? (size_t)total : 1, sizeof(*job->records));
	if (!job->records)
		return rh_fail_oom(err);
	for (size_t i = 0; i < job->job->spec_count; i++) {
		for (int32_t k = 0; k < job->job->specs[i].replicas; k++) {
			struct rh_run_record *record = &job->records[job->record_count++];

			record->type = rh_strdup(job->job->specs[i].type);
			record->index = k;
			record->exit_code = -1;
			record->main = rh_json_string(rh_json_get(
				rh_job_main_container(job->job->kind, rh_json_get(job->job->specs[i].template_, "spec")), "name"));
			record->failed_code = -1;
			record->rank = -1;
			record->accused = -1;
			if (!record->type)
				return rh_fail_oom(err);
		}
	}
	return 0;
}

/* A file says in which version its job is made; an API server keeps that beside the object. */
static int jobs_note_version(const struct rh_run *run, const struct rh_job *job)
{
	struct rh_json *metadata = rh_json_get(job->object, "metadata");
	struct rh_versions versions;
	struct rh_json *annotations;

	rh_host_versions(run->options->host, job->kind, &versions);
	if (versions.count < 2)
		return 0;
	annotations = rh_json_ensure_object(metadata, "annotations");
	return annotations ? rh_json_set_string(annotations, RH_ANNOTATION_VERSION, job->kind->version) : RH_ENOMEM;
}

/* The run says what is done when ranks wait; else the job does. */
static int jobs_set_stalls(const struct rh_run *run, struct rh_job *job)
{
	struct rh_json *annotations;

	if (!run->options->stalls)
		return 0;
	annotations = rh_json_ensure_object(rh_json_get(job->object, "metadata"), "annotations");
	if (!annotations || rh_json_set_string(annotations, RH_ANNOTATION_STALLS, run->options->stalls) < 0)
		return RH_ENOMEM;
	rh_stall_policy_read(annotations, &job->stalls);
	return 0;
}

static int jobs_add_job(struct rh_run *run, const struct rh_manifest_object *item, struct rh_error *err)
{
	struct rh_run_job *job = &run->jobs[run->job_count];
	struct rh_json *copy = rh_json_copy(item->object);
	const struct rh_kind *kind;
	int r;

	if (!copy)
		return rh_fail_oom(err);
	r = rh_host_parse(run->options->host, copy, &job->job, err);
	if (r == 0)
		r = rh_host_expand_files(run->options->host, job->job, run->options->manifest, err);
	if (r < 0)
		return rh_wrap(err, r, "%s", item->source);
	run->job_count++;
	job->log_lock = -1;
	kind = job->job->kind;
	r = jobs_note_version(run, job->job) < 0 || jobs_set_stalls(run, job->job) < 0 ? rh_fail_oom(err)
	                                                                               : jobs_check(job->job, err);
	if (r < 0)
		return rh_wrap(err, r, "%s: %s %s", item->source, kind->kind, job->job->name);
	job->api_version = rh_asprintf("%s/%s", kind->group, kind->version);
	job->folder = rh_preflight_folder(item->source);
	if (!job->api_version || !job->folder)
		return rh_fail_oom(err);
	job->resource = (struct rh_resource){job->api_version, kind->kind, kind->plural};
	return jobs_add_records(job, err);
}

static void jobs_note_ignored(const struct rh_run *run, const struct rh_manifest_object *item)
{
	const char *kind = rh_json_string(rh_json_get(item->object, "kind"));
	const char *name = rh_json_string_at(item->object, "metadata.name");
	rh_auto_free char *text = rh_asprintf("%s: %s %s means nothing on one machine and is left out", item->source,
	                                      kind ? kind : "", name ? name : "");

	if (text)
		rh_run_note(run, text);
}

static bool jobs_is_job(const struct rh_run *run, const struct rh_json *object)
{
	const char *api_version = rh_json_string(rh_json_get(object, "apiVersion"));
	const char *kind = rh_json_string(rh_json_get(object, "kind"));

	return api_version && kind && rh_host_kind(run->options->host, api_version, kind, NULL);
}

/* Name of the folder of a job's logs, with the namespace if needed. */
static int jobs_name_logs(struct rh_run *run, struct rh_error *err)
{
	for (size_t i = 0; i < run->job_count; i++) {
		for (size_t k = 0; k < i; k++)
			run->qualify = run->qualify || strcmp(run->jobs[i].job->name, run->jobs[k].job->name) == 0;
	}
	for (size_t i = 0; i < run->job_count; i++) {
		const struct rh_job *job = run->jobs[i].job;

		run->jobs[i].log_name = run->qualify ? rh_asprintf("%s.%s", job->namespace_, job->name) : rh_strdup(job->name);
		if (!run->jobs[i].log_name)
			return rh_fail_oom(err);
	}
	return 0;
}

/*
 * The resource of an object that jobs of this run may name (rh_kind.lookups); its texts are borrowed from the object
 * and from @p ret_declared, which the caller owns. @return whether there is one
 */
static bool jobs_lookup_resource(const struct rh_run *run, const struct rh_json *object, struct rh_json **ret_declared,
                                 struct rh_resource *ret_resource, bool *ret_cluster)
{
	for (size_t i = 0; i < run->job_count; i++) {
		const char *text = rh_lookups_text(run->jobs[i].job->kind);
		rh_auto(json) declared = NULL;
		const struct rh_json *kind;

		if (!text || rh_json_parse(text, strlen(text), &declared, NULL) < 0)
			continue;
		kind = rh_lookups_declare(declared, object);
		if (!kind)
			continue;
		*ret_resource = (struct rh_resource){rh_json_string_at(object, "apiVersion"), rh_json_string_at(kind, "kind"),
		                                     rh_json_string_at(kind, "plural")};
		*ret_cluster = strcmp(rh_json_string_at(kind, "scope"), "Cluster") == 0;
		*ret_declared = rh_take(declared);
		return true;
	}
	return false;
}

static void jobs_note_all_ignored(const struct rh_run *run)
{
	const struct rh_manifest *manifest = run->options->manifest;

	for (size_t i = 0; i < manifest->count; i++) {
		const struct rh_json *object = manifest->items[i].object;
		rh_auto(json) declared = NULL;
		struct rh_resource resource;
		bool cluster;

		if (!jobs_is_job(run, object) && !jobs_core_resource(object) &&
		    !jobs_lookup_resource(run, object, &declared, &resource, &cluster))
			jobs_note_ignored(run, &manifest->items[i]);
	}
}

int rh_run_jobs_load(struct rh_run *run, struct rh_error *err)
{
	const struct rh_manifest *manifest = run->options->manifest;

	run->jobs = rh_alloc_array(manifest->count + 1, sizeof(*run->jobs));
	if (!run->jobs)
		return rh_fail_oom(err);
	for (size_t i = 0; i < manifest->count; i++) {
		const struct rh_manifest_object *item = &manifest->items[i];
		int r = jobs_is_job(run, item->object) ? jobs_add_job(run, item, err) : 0;

		if (r < 0)
			return r;
	}
	if (run->job_count == 0)
		return rh_fail(err, RH_EINVAL, "there is no job to run");
	jobs_note_all_ignored(run);
	return jobs_name_logs(run, err);
}

static void jobs_on_created(void *arg, const struct rh_outcome *outcome)
{
	struct rh_run *run = arg;

	if (outcome->code == RH_OUTCOME_OK)
		return;
	run->faulty = true;
	run->state = RH_RUN_STOPPING;
	run->result = RH_RUN_FAILED;
	rh_run_note(run, outcome->message);
}

/* @param cluster it is in no namespace */
static int jobs_create(struct rh_run *run, const struct rh_resource *resource, const struct rh_json *object,
                       bool cluster, struct rh_error *err)
{
	struct rh_store *store = rh_memory_store_face(run->store);
	rh_auto(json) body = rh_json_copy(object);
	struct rh_json *metadata = body ? rh_json_get(body, "metadata") : NULL;
	struct rh_request request = {.verb = RH_VERB_CREATE, .resource = resource};

	if (!metadata)
		return rh_fail_oom(err);
	if (cluster)
		rh_json_remove(metadata, "namespace");
	else if (!rh_json_string(rh_json_get(metadata, "namespace")) &&
	         rh_json_set_string(metadata, "namespace", "default") < 0)
		return rh_fail_oom(err);
	rh_json_remove(body, "status"); /* a file that was exported from a cluster has one */
	request.namespace_ = rh_json_string(rh_json_get(metadata, "namespace"));
	request.body = rh_take(body);
	return store->submit(store, &request, jobs_on_created, run, NULL, err);
}

static struct rh_run_job *jobs_job_named(const struct rh_run *run, const struct rh_json *object)
{
	const char *kind = rh_json_string(rh_json_get(object, "kind"));
	const char *namespace_ = rh_json_string_at(object, "metadata.namespace");
	const char *name = rh_json_string_at(object, "metadata.name");

	for (size_t i = 0; i < run->job_count; i++) {
		struct rh_run_job *job = &run->jobs[i];

		if (rh_text_equal(kind, job->resource.kind) && rh_text_equal(namespace_, job->job->namespace_) &&
		    rh_text_equal(name, job->job->name))
			return job;
	}
	return NULL;
}

static void jobs_see_status(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object)
{
	struct rh_job_status status = {.condition_count = 0};

	if (job->finished)
		return;
	if (rh_shown_read(job->job->kind, object, &status) < 0) {
		run->lost = true;
		return;
	}
	job->finished = rh_job_status_finished(&status);
	job->succeeded = rh_job_status_is(&status, RH_CONDITION_SUCCEEDED);
	if (job->finished)
		job->finished_at = rh_clock_monotonic();
	if (job->finished && !job->succeeded && !job->stopped)
		rh_run_faults_judge(run, job, object);
	rh_job_status_deinit(&status);
}

static void jobs_see_job(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object)
{
	if (!job->uid)
		job->uid = rh_strdup(rh_json_string_at(object, "metadata.uid"));
	if (!job->uid)
		run->lost = true;
	jobs_see_status(run, job, object);
}

static void jobs_on_job(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_run *run = arg;
	struct rh_run_job *job = object ? jobs_job_named(run, object) : NULL;
	const struct rh_run_hooks *hooks = &run->options->hooks;

	if (!job || event == RH_WATCH_SYNCED)
		return;
	jobs_see_job(run, job, object);
	if (event == RH_WATCH_DELETED && !job->finished) {
		job->finished = true;
		job->finished_at = rh_clock_monotonic();
	}
	if (event != RH_WATCH_DELETED && hooks->job)
		hooks->job(hooks->arg, object, job->judged ? &job->judged->fault : NULL);
}

void rh_run_jobs_see(struct rh_run *run)
{
	for (size_t i = 0; i < run->job_count; i++) {
		struct rh_run_job *job = &run->jobs[i];
		const struct rh_json *object =
			rh_memory_store_find(run->store, &job->resource, job->job->namespace_, job->job->name);

		if (object)
			jobs_see_job(run, job, object);
	}
}

static void jobs_on_event(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	const struct rh_run *run = arg;
	const struct rh_run_hooks *hooks = &run->options->hooks;

	if ((event == RH_WATCH_ADDED || event == RH_WATCH_MODIFIED) && hooks->event)
		hooks->event(hooks->arg, object);
}

/* One watch for each kind, in whatever versions. */
static int jobs_watch_jobs(struct rh_run *run, struct rh_error *err)
{
	struct rh_store *store = rh_memory_store_face(run->store);

	for (size_t i = 0; i < run->job_count; i++) {
		size_t before = 0;

		while (before < i && !rh_kind_is_version_of(run->jobs[before].job->kind, run->jobs[i].job->kind))
			before++;
		if (before < i)
			continue;
		if (!store->watch(store, &run->jobs[i].resource, NULL, jobs_on_job, run))
			return rh_fail_oom(err);
	}
	return store->watch(store, &rh_resource_events, NULL, jobs_on_event, run) ? 0 : rh_fail_oom(err);
}

/* What stands beside jobs, where one of them can name it. */
static int jobs_create_other(struct rh_run *run, const struct rh_json *object, struct rh_error *err)
{
	const struct rh_resource *resource = jobs_core_resource(object);
	rh_auto(json) declared = NULL;
	struct rh_resource other;
	bool cluster = false;

	if (resource)
		return jobs_create(run, resource, object, false, err);
	if (jobs_is_job(run, object) || !jobs_lookup_resource(run, object, &declared, &other, &cluster))
		return 0;
	return jobs_create(run, &other, object, cluster, err);
}

int rh_run_jobs_store(struct rh_run *run, struct rh_error *err)
{
	const struct rh_manifest *manifest = run->options->manifest;
	int r = jobs_watch_jobs(run, err);

	for (size_t i = 0; r == 0 && i < manifest->count; i++)
		r = jobs_create_other(run, manifest->items[i].object, err);
	for (size_t i = 0; r == 0 && i < run->job_count; i++)
		r = jobs_create(run, &run->jobs[i].resource, run->jobs[i].job->object, false, err);
	return r;
}

struct rh_run_job *rh_run_job_of(const struct rh_run *run, const char *uid)
{
	for (size_t i = 0; i < run->job_count; i++) {
		if (run->jobs[i].uid && rh_text_equal(run->jobs[i].uid, uid))
			return &run->jobs[i];
	}
	return NULL;
}

struct rh_run_job *rh_run_job_of_pod(const struct rh_run *run, const struct rh_json *pod)
{
	const struct rh_json *owner = rh_json_first(rh_json_at(pod, "metadata.ownerReferences"));

	while (owner && !rh_json_bool(rh_json_get(owner, "controller"), false))
		owner = rh_json_next(owner);
	return rh_run_job_of(run, rh_json_string(rh_json_get(owner, "uid")));
}

void rh_run_job_fail(struct rh_run *run, struct rh_run_job *job, const char *message)
{
	if (job->finished || job->refused)
		return;
	job->refused = true;
	job->refusal = rh_strdup(message);
	if (!job->refusal)
		run->faulty = true;
}

void rh_run_job_refuse(struct rh_run *run, struct rh_run_job *job, const char *message)
{
	rh_auto_free char *text =
		rh_asprintf("%s %s cannot run on this machine: %s", job->resource.kind, job->job->name, message);

	rh_run_job_fail(run, job, text);
}

static struct rh_json *jobs_refused_status(const struct rh_run *run, const struct rh_run_job *job, int64_t now)
{
	const struct rh_json *object =
		rh_memory_store_find(run->store, &job->resource, job->job->namespace_, job->job->name);
	struct rh_job_status status = {.condition_count = 0};
	rh_auto_free char *reason = rh_asprintf("%sFailed", job->resource.kind);
	rh_auto(json) patch = rh_json_new_object();
	int r;

	if (!reason || !patch || rh_shown_read(job->job->kind, object, &status) < 0)
		return NULL;
	r = rh_job_status_set(&status, RH_CONDITION_FAILED, true, reason, job->refusal, now);
	if (status.completed_at == 0)
		status.completed_at = now;
	if (r >= 0)
		r = rh_json_set(patch, "status", rh_shown_json(job->job->kind, &status));
	rh_job_status_deinit(&status);
	return r < 0 ? NULL : rh_take(patch);
}

static void jobs_on_refused(void *arg, const struct rh_outcome *outcome)
{
	(void)arg; /* the watch reports it */
	(void)outcome;
}

void rh_run_jobs_write(struct rh_run *run, int64_t now)
{
	struct rh_store *store = rh_memory_store_face(run->store);

	for (size_t i = 0; i < run->job_count; i++) {
		struct rh_run_job *job = &run->jobs[i];
		struct rh_request request = {.verb = RH_VERB_PATCH_STATUS,
		                             .resource = &job->resource,
		                             .namespace_ = job->job->namespace_,
		                             .name = job->job->name};

		if (!job->refusal || job->finished)
			continue;
		request.body = jobs_refused_status(run, job, now);
		if (!request.body || store->submit(store, &request, jobs_on_refused, NULL, NULL, NULL) < 0) {
			run->lost = true;
			continue;
		}
		rh_free(rh_take(job->refusal));
	}
}

static void jobs_job_deinit(struct rh_run_job *job)
{
	for (size_t i = 0; i < job->record_count; i++) {
		rh_free(job->records[i].type);
		rh_free(job->records[i].uid);
		rh_free(job->records[i].reason);
		rh_free(job->records[i].container);
		rh_free(job->records[i].lines);
	}
	rh_free(job->records);
	rh_job_free(job->job);
	rh_free(job->api_version);
	rh_free(job->folder);
	rh_free(job->log_name);
	rh_free(job->traces);
	rh_free(job->trace_variable);
	rh_run_stall_deinit(&job->stall);
	if (job->log_lock >= 0)
		(void)close(job->log_lock);
	rh_free(job->uid);
	rh_free(job->refusal);
	rh_run_judged_free(job->judged);
}

void rh_run_jobs_deinit(struct rh_run *run)
{
	for (size_t i = 0; i < run->job_count; i++)
		jobs_job_deinit(&run->jobs[i]);
	rh_free(run->jobs);
	run->jobs = NULL;
	run->job_count = 0;
}
