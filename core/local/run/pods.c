/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of a run: results of the replicas, and stopping of pods. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/os/clock.h"
#include "job/kind.h"
#include "job/pod.h"
#include "job/values/names.h"
#include "local/run/parts.h"

/* A replica that fails this soon after its start has made no progress for a restart to continue. */
#define RUN_FAST (60 * RH_SECOND)

static void pods_pod_free(struct rh_run_pod *pod)
{
	if (!pod)
		return;
	rh_free(pod->namespace_);
	rh_free(pod->name);
	rh_free(pod->uid);
	rh_free(pod);
}

static struct rh_run_pod *pods_pod_new(struct rh_run_job *job, const struct rh_json *object)
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
	pods_pod_free(pod);
	return NULL;
}

static struct rh_run_record *pods_record_of(const struct rh_run_job *job, const struct rh_pod *pod)
{
	int32_t index = pod->index < 0 ? 0 : pod->index; /* a single replica may lack the label */

	for (size_t i = 0; i < job->record_count; i++) {
		struct rh_run_record *record = &job->records[i];

		if (record->index == index && strcasecmp(record->type, pod->type) == 0)
			return record;
	}
	return NULL;
}

/* A new pod replaces a former one: the record describes the new pod once it has run. */
static int pods_record_switch(struct rh_run_record *record, const struct rh_pod *pod)
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

static void pods_record_start(struct rh_run_record *record, int64_t at)
{
	if (at != 0 && (record->first_start == 0 || at < record->first_start))
		record->first_start = at;
}

static bool pods_pod_ended(const struct rh_pod *pod)
{
	return pod->phase == RH_PHASE_SUCCEEDED || pod->phase == RH_PHASE_FAILED;
}

/* @return whether the fault of @p pod goes on with the recorded one: that was no consequence where this one is none,
 * and its container had not worked for long in between */
static bool pods_record_goes_on(const struct rh_run_record *record, const struct rh_pod *pod)
{
	bool recovered = record->own.container[0] && record->own.times == 0;

	return record->blame != RH_BLAME_NONE && !recovered &&
	       rh_blame_is_consequence((enum rh_blame)record->blame) == rh_blame_is_consequence((enum rh_blame)pod->blame);
}

/* A pod's status may not have shown the first of several ends in a row. */
static int64_t pods_record_since(const struct rh_run_record *record, const struct rh_pod *pod)
{
	bool first = record->blame == RH_BLAME_NONE && rh_text_equal(pod->failed_container, record->own.container);

	return first && record->own.since < pod->failed_at ? record->own.since : pod->failed_at;
}

/* The fault of a pod stays recorded when the next pod is created. */
static int pods_record_end(struct rh_run_record *record, const struct rh_pod *pod)
{
	char *reason, *container, *lines;

	if (pod->blame == RH_BLAME_NONE || pod->failed_at == record->failed_at)
		return 0;
	/* an end after the whole job was stopped is not a failure of this replica */
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
	if (!pods_record_goes_on(record, pod))
		record->failing_since = pods_record_since(record, pod);
	record->blame = pod->blame;
	record->failed_code = pod->failed_code;
	record->rank = pod->rank;
	record->accused = pod->accused;
	record->failed_at = pod->failed_at;
	return 0;
}

static int pods_record_see(struct rh_run_record *record, const struct rh_pod *pod)
{
	if (!rh_text_equal(record->uid, pod->uid) && pods_record_switch(record, pod) < 0)
		return RH_ENOMEM;
	record->restarts = pod->restarts;
	if (pod->deleting && record->phase != RH_PHASE_SUCCEEDED && record->phase != RH_PHASE_FAILED)
		record->deleting = true;
	if (pods_record_end(record, pod) < 0)
		return RH_ENOMEM;
	if (pod->started_at == 0 && !pods_pod_ended(pod))
		return 0;
	record->phase = pod->phase;
	/* a pod fails by any of its containers; then the main one's 0 is not the reason */
	record->exit_code = pod->exit_code > 0 || pod->phase != RH_PHASE_FAILED ? pod->exit_code : pod->failed_code;
	rh_copy(record->failed, sizeof(record->failed), pod->failed_container);
	pods_record_start(record, pod->started_at);
	record->started_at = pod->started_at;
	record->finished_at = pod->finished_at;
	return 0;
}

/* @return the entry of the pod, added if missing; NULL: out of memory */
static struct rh_run_pod *pods_know_pod(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object)
{
	const char *uid = rh_json_string_at(object, "metadata.uid");
	struct rh_run_pod *known = rh_map_get(run->pods, uid);

	if (known)
		return known;
	known = pods_pod_new(job, object);
	if (known && rh_map_set(run->pods, uid, known, NULL) < 0)
		pods_pod_free(rh_take(known));
	return known;
}

const char *rh_run_replica_name(const struct rh_run *run, const struct rh_json *pod, char buffer[RH_NAME_SIZE])
{
	const struct rh_run_job *mine = rh_run_job_of_pod(run, pod);
	const struct rh_json *labels = rh_json_at(pod, "metadata.labels");
	const struct rh_kind *kind = mine ? mine->job->kind : NULL;
	const char *label = kind ? rh_json_string(rh_json_get(labels, rh_patterns_label(kind, RH_LABEL_TYPE))) : NULL;
	const struct rh_replica_spec *spec = label ? rh_job_spec_of_label(mine->job, label) : NULL;
	const char *name = rh_json_string_at(pod, "metadata.name");

	if (!label) {
		rh_copy(buffer, RH_NAME_SIZE, name ? name : "");
		return buffer;
	}
	return rh_run_job_replica(mine, spec ? spec->type : label, rh_pod_index(kind, labels), buffer);
}

static int pods_take_pod(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object)
{
	struct rh_run_pod *known = pods_know_pod(run, job, object);
	struct rh_run_record *record;
	rh_auto(pod) pod = NULL;

	if (!known || rh_pod_parse(job->job->kind, object, &pod) < 0)
		return RH_ENOMEM;
	known->finished = pods_pod_ended(pod);
	known->deleting = known->deleting || pod->deleting;
	record = pods_record_of(job, pod);
	known->record = record;
	return record ? pods_record_see(record, pod) : 0;
}

static void pods_see_pod(struct rh_run *run, const struct rh_json *object)
{
	struct rh_run_job *job = rh_run_job_of_pod(run, object);

	if (job && pods_take_pod(run, job, object) < 0)
		run->lost = true;
}

static void pods_see_again(void *arg, const struct rh_json *object)
{
	struct rh_run *run = arg;

	pods_see_pod(run, object);
	rh_runner_see(run->runner, object);
}

void rh_run_pods_see(struct rh_run *run)
{
	rh_memory_store_each(run->store, &rh_resource_pods, pods_see_again, run);
}

static void pods_on_pod(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_run *run = arg;
	const struct rh_run_hooks *hooks = &run->options->hooks;
	const char *uid = rh_json_string_at(object, "metadata.uid");
	char replica[RH_NAME_SIZE];

	if (event == RH_WATCH_SYNCED || !uid)
		return;
	pods_see_pod(run, object);
	if (event == RH_WATCH_DELETED)
		pods_pod_free(rh_map_remove(run->pods, uid));
	else if (hooks->pod)
		hooks->pod(hooks->arg, rh_run_replica_name(run, object, replica), object);
}

int rh_run_pods_watch(struct rh_run *run, struct rh_error *err)
{
	struct rh_store *store = rh_memory_store_face(run->store);

	run->pods = rh_map_new();
	if (!run->pods)
		return rh_fail_oom(err);
	return store->watch(store, &rh_resource_pods, NULL, pods_on_pod, run) ? 0 : rh_fail_oom(err);
}

static void pods_on_deleted(void *arg, const struct rh_outcome *outcome)
{
	(void)arg; /* the watch reports it */
	(void)outcome;
}

static void pods_pod_stop(struct rh_run *run, struct rh_run_pod *pod)
{
	struct rh_store *store = rh_memory_store_face(run->store);
	struct rh_request request = {.verb = RH_VERB_DELETE,
	                             .resource = &rh_resource_pods,
	                             .namespace_ = pod->namespace_,
	                             .name = pod->name,
	                             .uid = pod->uid,
	                             .grace_seconds = -1};

	pod->deleting = store->submit(store, &request, pods_on_deleted, NULL, NULL, NULL) == 0;
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
			pods_pod_stop(run, pod);
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

/* A replica that was stopped while it ran did not end by itself, even with exit code 0. */
static void pods_judge(const struct rh_run_job *job, const struct rh_run_record *record, struct rh_run_replica *result)
{
	const char *container = record->failed;

	result->exit_code = record->exit_code;
	if (rh_run_record_failed_before_stop(record, job->succeeded)) {
		result->outcome = "Failed";
		result->exit_code = record->own.exit_code;
		container = record->own.container;
	} else if (record->started_at == 0 && record->phase != RH_PHASE_FAILED) {
		result->outcome = "Never started";
	} else if (rh_run_record_is_stopped(record, job->succeeded)) {
		result->outcome = "Stopped";
	} else {
		result->outcome = record->phase == RH_PHASE_SUCCEEDED ? "Succeeded" : "Failed";
	}
	if (strcmp(result->outcome, "Failed") == 0 && container[0] && !rh_text_equal(container, record->main))
		result->container = container;
}

static int64_t pods_duration(const struct rh_run_record *record)
{
	int64_t end = record->finished_at > record->own.at ? record->finished_at : record->own.at;

	return record->first_start != 0 && end > record->first_start ? end - record->first_start : 0;
}

/* @return whether the replica failed */
static bool pods_report_record(const struct rh_run *run, const struct rh_run_job *job,
                               const struct rh_run_record *record)
{
	rh_auto_free char *log = rh_run_log_path(run, job, record);
	struct rh_run_replica result = {.job = job->job->name, .type = record->type, .index = record->index};

	pods_judge(job, record, &result);
	result.restarts = record->restarts_before + record->restarts + (record->pods > 1 ? record->pods - 1 : 0);
	result.duration = pods_duration(record);
	result.log = log ? log : "";
	if (run->options->hooks.replica)
		run->options->hooks.replica(run->options->hooks.arg, &result);
	return strcmp(result.outcome, "Failed") == 0;
}

static void pods_warn(const struct rh_run *run, const struct rh_run_job *job, const struct rh_str *names)
{
	rh_auto_free char *text =
		rh_asprintf("%s %s succeeded by the rules of its kind, and these replicas failed: %s; %s", job->resource.kind,
	                job->job->name, rh_str_text(names),
	                run->options->strict ? "--strict makes that a failure" : "--strict would make that status 1");

	if (text && run->options->hooks.warning)
		run->options->hooks.warning(run->options->hooks.arg, text);
}

/* @return how many replicas failed though the job Succeeded */
static size_t pods_report_job(const struct rh_run *run, const struct rh_run_job *job)
{
	rh_auto_str names = {0};
	size_t failed = 0;

	for (size_t k = 0; k < job->record_count; k++) {
		const struct rh_run_record *record = &job->records[k];

		if (!pods_report_record(run, job, record) || !job->succeeded)
			continue;
		rh_str_appendf(&names, "%s%s-%d", failed > 0 ? ", " : "", record->type, (int)record->index);
		failed++;
	}
	if (failed > 0)
		pods_warn(run, job, &names);
	return failed;
}

size_t rh_run_pods_report(const struct rh_run *run)
{
	size_t failed = 0;

	for (size_t i = 0; i < run->job_count; i++)
		failed += pods_report_job(run, &run->jobs[i]);
	return failed;
}

/* How often in a row the replica has failed in this way, with this failure. */
static int32_t pods_count_fall(const struct rh_run_failure *before, const struct rh_shim_report *report)
{
	bool same = before->exit_code == report->exit_code && strcmp(before->container, report->container) == 0;

	if (report->finished_at - report->started_at > RUN_FAST)
		return 0;
	return same ? before->times + 1 : 1;
}

/* A job with a backoffLimit ends without this limit. */
static void pods_end_loop(struct rh_run *run, struct rh_run_job *job, const struct rh_run_record *record)
{
	int64_t most = run->options->max_restarts < 0 ? run->options->config->max_restarts : run->options->max_restarts;
	const struct rh_run_failure *own = &record->own;
	rh_auto_free char *text = NULL;
	struct rh_kind_path policy;

	if (job->job->policy.backoff_limit >= 0 || most == 0 || own->times <= most)
		return;
	rh_kind_policy_path(job->job->kind, &policy);
	text = rh_asprintf(
		"%s %s is failed because replica %s-%d was restarted %lld times in a row and still fails: each time "
		"container %s exited with code %d within a minute; mend it, or set --max-restarts (0: for ever) or "
		"%s.backoffLimit",
		job->resource.kind, job->job->name, record->type, (int)record->index, (long long)most, own->container,
		(int)own->exit_code, policy.count > 0 ? policy.text : "spec");
	rh_run_job_fail(run, job, text);
}

void rh_run_pods_failed(struct rh_run *run, const char *uid, const struct rh_shim_report *report)
{
	const struct rh_run_pod *pod = rh_map_get(run->pods, uid);
	struct rh_run_record *record = pod ? pod->record : NULL;

	/* while the main container works, failures of helpers do not count */
	if (!record || (!report->init && !rh_text_equal(report->container, record->main)))
		return;
	pods_record_start(record, report->init ? 0 : report->started_at);
	record->own.times = pods_count_fall(&record->own, report);
	record->own.exit_code = report->exit_code;
	record->own.at = report->finished_at;
	if (record->own.times <= 1)
		record->own.since = report->finished_at;
	rh_copy(record->own.container, sizeof(record->own.container), report->container);
	pods_end_loop(run, pod->job, record);
}

void rh_run_pods_deinit(struct rh_run *run)
{
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	while (run->pods && rh_map_next(run->pods, &cursor, &key, &value))
		pods_pod_free(value);
	rh_map_free(run->pods);
	run->pods = NULL;
}
