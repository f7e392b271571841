/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of a run: what became of each replica, and the end of those that are to end. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "job/names.h"
#include "job/pod.h"
#include "local/run/parts.h"

static void run_pod_free(struct rh_run_pod *pod)
{
	if (!pod)
		return;
	rh_free(pod->namespace_);
	rh_free(pod->name);
	rh_free(pod->uid);
	rh_free(pod);
}

static struct rh_run_pod *run_pod_new(struct rh_run_job *job, const struct rh_json *object)
{
	struct rh_run_pod *pod = rh_alloc(sizeof(*pod));

	if (!pod)
		return NULL;
	pod->job = job;
	pod->namespace_ = rh_strdup(rh_json_string_at(object, "metadata.namespace"));
	pod->name = rh_strdup(rh_json_string_at(object, "metadata.name"));
	pod->uid = rh_strdup(rh_json_string_at(object, "metadata.uid"));
	if (pod->namespace_ && pod->name && pod->uid)
		return pod;
	run_pod_free(pod);
	return NULL;
}

static struct rh_run_record *run_record_of(const struct rh_run_job *job, const struct rh_pod *pod)
{
	int32_t index = pod->index < 0 ? 0 : pod->index; /* a lone replica may go without the label */

	for (size_t i = 0; i < job->record_count; i++) {
		struct rh_run_record *record = &job->records[i];

		if (record->index == index && strcasecmp(record->type, pod->type) == 0)
			return record;
	}
	return NULL;
}

/* A pod follows another one: what is known becomes that of the new pod once it has run. */
static int run_record_switch(struct rh_run_record *record, const struct rh_pod *pod)
{
	char *uid = rh_strdup(pod->uid);

	if (!uid)
		return RH_ENOMEM;
	rh_free(record->uid);
	record->uid = uid;
	record->pods++;
	record->restarts_before += record->restarts;
	record->restarts = 0;
	record->deleting = false;
	return 0;
}

static bool run_pod_ended(const struct rh_pod *pod)
{
	return pod->phase == RH_PHASE_SUCCEEDED || pod->phase == RH_PHASE_FAILED;
}

/* What a pod says of its last bad end stays known when the next pod comes. */
static int run_record_end(struct rh_run_record *record, const struct rh_pod *pod)
{
	char *reason, *container, *lines;

	if (pod->blame == RH_BLAME_NONE || pod->failed_at == record->failed_at)
		return 0;
	/* the end that a whole job was stopped for is no failure of this replica */
	if (record->deleting && pod->blame == RH_BLAME_KILLED)
		return 0;
	reason = rh_strdup(pod->reason);
	container = rh_strdup(pod->failed_container);
	lines = rh_strdup(pod->last_lines);
	rh_free(record->reason);
	rh_free(record->container);
	rh_free(record->lines);
	record->reason = reason;
	record->container = container;
	record->lines = lines;
	if (!reason || !container || !lines)
		return RH_ENOMEM;
	record->blame = pod->blame;
	record->failed_code = pod->failed_code;
	record->rank = pod->rank;
	record->accused = pod->accused;
	record->failed_at = pod->failed_at;
	return 0;
}

static int run_record_see(struct rh_run_record *record, const struct rh_pod *pod)
{
	if (!rh_text_equal(record->uid, pod->uid) && run_record_switch(record, pod) < 0)
		return RH_ENOMEM;
	record->restarts = pod->restarts;
	if (pod->deleting && record->phase != RH_PHASE_SUCCEEDED && record->phase != RH_PHASE_FAILED)
		record->deleting = true;
	if (run_record_end(record, pod) < 0)
		return RH_ENOMEM;
	if (pod->started_at == 0 && !run_pod_ended(pod))
		return 0;
	record->phase = pod->phase;
	record->exit_code = pod->exit_code >= 0 || pod->phase != RH_PHASE_FAILED ? pod->exit_code : pod->failed_code;
	record->started_at = pod->started_at;
	record->finished_at = pod->finished_at;
	return 0;
}

/* @return the pod, noted down where it was not; NULL: out of memory */
static struct rh_run_pod *run_know_pod(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object)
{
	const char *uid = rh_json_string_at(object, "metadata.uid");
	struct rh_run_pod *known = rh_map_get(run->pods, uid);

	if (known)
		return known;
	known = run_pod_new(job, object);
	if (known && rh_map_set(run->pods, uid, known, NULL) < 0)
		run_pod_free(rh_take(known));
	return known;
}

static int run_take_pod(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object)
{
	struct rh_run_pod *known = run_know_pod(run, job, object);
	struct rh_run_record *record;
	rh_auto(pod) pod = NULL;

	if (!known || rh_pod_parse(job->job->kind, object, &pod) < 0)
		return RH_ENOMEM;
	known->finished = run_pod_ended(pod);
	known->deleting = known->deleting || pod->deleting;
	record = run_record_of(job, pod);
	return record ? run_record_see(record, pod) : 0;
}

static void run_see_pod(struct rh_run *run, const struct rh_json *object)
{
	struct rh_run_job *job = rh_run_job_of_pod(run, object);

	if (job && run_take_pod(run, job, object) < 0)
		run->lost = true;
}

static void run_see_again(void *arg, const struct rh_json *object)
{
	struct rh_run *run = arg;

	run_see_pod(run, object);
	rh_runner_see(run->runner, object);
}

void rh_run_pods_see(struct rh_run *run)
{
	rh_memory_store_each(run->store, &rh_resource_pods, run_see_again, run);
}

static void run_on_pod(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_run *run = arg;
	const struct rh_run_hooks *hooks = &run->options->hooks;
	const char *uid = rh_json_string_at(object, "metadata.uid");

	if (event == RH_WATCH_SYNCED || !uid)
		return;
	run_see_pod(run, object);
	if (event == RH_WATCH_DELETED)
		run_pod_free(rh_map_remove(run->pods, uid));
	else if (hooks->pod)
		hooks->pod(hooks->arg, object);
}

int rh_run_pods_watch(struct rh_run *run, struct rh_error *err)
{
	struct rh_store *store = rh_memory_store_face(run->store);

	run->pods = rh_map_new();
	if (!run->pods)
		return rh_fail_oom(err);
	return store->watch(store, &rh_resource_pods, NULL, run_on_pod, run) ? 0 : rh_fail_oom(err);
}

static void run_on_deleted(void *arg, const struct rh_outcome *outcome)
{
	(void)arg; /* the watch tells */
	(void)outcome;
}

static void run_pod_stop(struct rh_run *run, struct rh_run_pod *pod)
{
	struct rh_store *store = rh_memory_store_face(run->store);
	struct rh_request request = {.verb = RH_VERB_DELETE,
	                             .resource = &rh_resource_pods,
	                             .namespace_ = pod->namespace_,
	                             .name = pod->name,
	                             .uid = pod->uid,
	                             .grace_seconds = -1};

	pod->deleting = store->submit(store, &request, run_on_deleted, NULL, NULL, NULL) == 0;
	if (!pod->deleting)
		run->lost = true;
}

size_t rh_run_pods_stop(struct rh_run *run, const struct rh_run_job *job)
{
	size_t cursor = 0;
	size_t left = 0;
	void *value = NULL;
	const char *key;

	while (rh_map_next(run->pods, &cursor, &key, &value)) {
		struct rh_run_pod *pod = value;

		if (pod->finished || (job && pod->job != job))
			continue;
		left++;
		if (!pod->deleting)
			run_pod_stop(run, pod);
	}
	return left;
}

size_t rh_run_pods_left(const struct rh_run *run, const struct rh_run_job *job)
{
	size_t cursor = 0;
	size_t left = 0;
	void *value = NULL;
	const char *key;

	while (rh_map_next(run->pods, &cursor, &key, &value)) {
		const struct rh_run_pod *pod = value;

		left += !pod->finished && (!job || pod->job == job) ? 1 : 0;
	}
	return left;
}

/* What was asked to end did not come to its own end, also when it says 0. */
static const char *run_outcome(const struct rh_run_record *record)
{
	if (record->started_at == 0 && record->phase != RH_PHASE_FAILED)
		return "Never started";
	if (record->deleting || (record->phase != RH_PHASE_SUCCEEDED && record->phase != RH_PHASE_FAILED))
		return "Stopped";
	return record->phase == RH_PHASE_SUCCEEDED ? "Succeeded" : "Failed";
}

char *rh_run_log_path(const struct rh_run *run, const struct rh_run_job *job, const struct rh_run_record *record)
{
	const struct rh_replica_spec *spec = rh_job_spec(job->job, record->type);
	const struct rh_json *main_container =
		spec ? rh_job_main_container(job->job->kind, rh_json_get(spec->template_, "spec")) : NULL;
	const char *container = rh_json_string(rh_json_get(main_container, "name"));
	char name[RH_NAME_SIZE];
	const char *replica = rh_job_replica_name(job->job, record->type, record->index, name) + strlen(job->job->name) + 1;

	return rh_runner_log_path(run->log_dir, job->log_name, replica, container ? container : "");
}

static void run_tell_record(const struct rh_run *run, const struct rh_run_job *job, const struct rh_run_record *record)
{
	rh_auto_free char *log = rh_run_log_path(run, job, record);
	struct rh_run_replica told = {.job = job->job->name, .type = record->type, .index = record->index};

	told.outcome = run_outcome(record);
	told.exit_code = record->exit_code;
	told.restarts = record->restarts_before + record->restarts + (record->pods > 1 ? record->pods - 1 : 0);
	if (record->started_at != 0 && record->finished_at > record->started_at)
		told.duration = record->finished_at - record->started_at;
	told.log = log ? log : "";
	run->options->hooks.replica(run->options->hooks.arg, &told);
}

void rh_run_pods_tell(const struct rh_run *run)
{
	for (size_t i = 0; run->options->hooks.replica && i < run->job_count; i++) {
		for (size_t k = 0; k < run->jobs[i].record_count; k++)
			run_tell_record(run, &run->jobs[i], &run->jobs[i].records[k]);
	}
}

void rh_run_pods_deinit(struct rh_run *run)
{
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	while (run->pods && rh_map_next(run->pods, &cursor, &key, &value))
		run_pod_free(value);
	rh_map_free(run->pods);
	run->pods = NULL;
}
