/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everybody who may create pods can write all fields of a pod, so nothing here trusts a type, a number or a length.
 */
#include "job/pod.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "job/evidence/evidence.h"
#include "job/fields.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

/* Decimal digits only, 0 … INT32_MAX; else the fallback. */
static int32_t pod_number(const char *text, int32_t fallback)
{
	int64_t number = 0;

	if (!*text)
		return fallback;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return fallback;
		number = number * 10 + (*text - '0');
		if (number > INT32_MAX)
			return fallback;
	}
	return (int32_t)number;
}

static int32_t pod_phase(const char *phase)
{
	if (strcmp(phase, "Running") == 0)
		return RH_PHASE_RUNNING;
	if (strcmp(phase, "Succeeded") == 0)
		return RH_PHASE_SUCCEEDED;
	return strcmp(phase, "Failed") == 0 ? RH_PHASE_FAILED : RH_PHASE_PENDING;
}

static const char *pod_owner_uid(const struct rh_json *metadata)
{
	const struct rh_json *item = rh_fields_first(metadata, "ownerReferences");

	while (item && !rh_json_bool(rh_json_get(item, "controller"), false))
		item = rh_json_next(item);
	return rh_fields_text_or_empty(item, "uid");
}

static const struct rh_json *pod_condition(const struct rh_json *status, const char *type)
{
	const struct rh_json *item = rh_fields_first(status, "conditions");

	while (item && strcmp(rh_fields_text_or_empty(item, "type"), type) != 0)
		item = rh_json_next(item);
	return item;
}

static const struct rh_json *pod_terminated(const struct rh_json *container_status)
{
	const struct rh_json *end = rh_json_get(rh_json_get(container_status, "state"), "terminated");

	return rh_json_type(end) == RH_JSON_OBJECT ? end : NULL;
}

static int32_t pod_end_code(const struct rh_json *terminated)
{
	int64_t code;

	return rh_json_integer(rh_json_get(terminated, "exitCode"), &code) && code >= 0 && code <= INT32_MAX ? (int32_t)code
	                                                                                                     : -1;
}

static int32_t pod_exit_code(const struct rh_json *container_status)
{
	return pod_end_code(pod_terminated(container_status));
}

/* The status of the main container; a pod whose spec is not at hand is taken to have it first. */
static const struct rh_json *pod_main_status(const struct rh_kind *kind, const struct rh_json *object)
{
	const struct rh_json *first = rh_fields_first(rh_json_get(object, "status"), "containerStatuses");
	const char *name = rh_fields_text_or_empty(rh_job_main_container(kind, rh_json_get(object, "spec")), "name");

	for (const struct rh_json *item = first; item; item = rh_json_next(item)) {
		if (*name && strcmp(rh_fields_text_or_empty(item, "name"), name) == 0)
			return item;
	}
	return *name ? NULL : first;
}

/* @return how a container failed; NULL: it did not */
typedef const struct rh_json *pod_end_fn(const struct rh_json *container_status);

static const struct rh_json *pod_failed_end(const struct rh_json *container_status)
{
	return pod_exit_code(container_status) > 0 ? pod_terminated(container_status) : NULL;
}

/* Likewise, also before it was restarted in its place, or is about to be. */
static const struct rh_json *pod_bad_end(const struct rh_json *container_status)
{
	const struct rh_json *last = rh_json_get(rh_json_get(container_status, "lastState"), "terminated");
	const struct rh_json *end = pod_failed_end(container_status);

	if (end)
		return end;
	return pod_end_code(last) > 0 ? last : NULL;
}

/* The first container of the list that failed; NULL: there is none. */
static const struct rh_json *pod_first(const struct rh_json *item, pod_end_fn *end)
{
	while (item && !end(item))
		item = rh_json_next(item);
	return item;
}

/* What the container wrote before that end: the kubelet's message, or else what was read of its log. */
static const char *pod_written(const struct rh_json *container_status, const struct rh_json *end,
                               const struct rh_written *output)
{
	const char *message = rh_fields_text_or_empty(end, "message");
	const char *name = rh_fields_text_or_empty(container_status, "name");
	const char *read = *message ? NULL : rh_written_find(output, name, rh_fields_time_or_zero(end, "finishedAt"));

	return read ? read : message;
}

/* @param terminated the end of that container */
static bool pod_is_consequence(const struct rh_json *container_status, const struct rh_json *terminated,
                               const struct rh_written *output)
{
	const struct rh_end end = {
		.exit_code = pod_end_code(terminated),
		.reason = rh_fields_text_or_empty(terminated, "reason"),
		.output = pod_written(container_status, terminated, output),
	};

	return rh_blame_is_consequence(rh_evidence_read(&end).blame);
}

/* The first container of the list that failed for a reason of its own; NULL: there is none. */
static const struct rh_json *pod_first_cause(const struct rh_json *item, pod_end_fn *end,
                                             const struct rh_written *output)
{
	item = pod_first(item, end);
	while (item && pod_is_consequence(item, end(item), output))
		item = pod_first(rh_json_next(item), end);
	return item;
}

/*
 * The container to blame for a failed pod: the main one, unless it did not fail, or only lost what another one that
 * failed had served. Where a regular container ended no init container is to blame: those have succeeded, or are
 * sidecars, whose end counts for nothing.
 */
static const struct rh_json *pod_culprit(const struct rh_json *status, const struct rh_json *main_status,
                                         const struct rh_written *output)
{
	const struct rh_json *containers = rh_fields_first(status, "containerStatuses");
	const struct rh_json *culprit = pod_failed_end(main_status) ? main_status : pod_first(containers, pod_failed_end);
	bool victim = culprit && pod_is_consequence(culprit, pod_terminated(culprit), output);
	const struct rh_json *cause = victim ? pod_first_cause(containers, pod_failed_end, output) : NULL;

	if (!culprit)
		culprit = pod_first(rh_fields_first(status, "initContainerStatuses"), pod_failed_end);
	if (cause)
		return cause;
	return culprit ? culprit : main_status;
}

/*
 * The container to blame for restarts in a pod that has not ended, or NULL: as pod_culprit(), the main one, unless it
 * only lost what another one had served.
 */
static const struct rh_json *pod_restarter(const struct rh_json *status, const struct rh_json *main_status,
                                           const struct rh_written *output)
{
	const struct rh_json *containers = rh_fields_first(status, "containerStatuses");
	const struct rh_json *culprit = pod_bad_end(main_status) ? main_status : NULL;
	const struct rh_json *cause = NULL;

	if (culprit && pod_is_consequence(culprit, pod_bad_end(culprit), output))
		cause = pod_first_cause(containers, pod_bad_end, output);
	if (cause)
		return cause;
	if (!culprit)
		culprit = pod_first(rh_fields_first(status, "initContainerStatuses"), pod_bad_end);
	return culprit ? culprit : pod_first(containers, pod_bad_end);
}

static int32_t pod_restarts(const struct rh_json *status)
{
	static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
	int64_t sum = 0;

	for (size_t i = 0; i < 2; i++) {
		for (const struct rh_json *item = rh_fields_first(status, lists[i]); item; item = rh_json_next(item)) {
			int64_t count;

			if (rh_json_integer(rh_json_get(item, "restartCount"), &count) && count > 0)
				sum += count > INT32_MAX ? INT32_MAX : count;
		}
	}
	return sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}

static int64_t pod_last_end(const struct rh_json *status)
{
	static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
	int64_t last = 0;

	for (size_t i = 0; i < 2; i++) {
		for (const struct rh_json *item = rh_fields_first(status, lists[i]); item; item = rh_json_next(item)) {
			int64_t end = rh_fields_time_or_zero(pod_terminated(item), "finishedAt");

			last = end > last ? end : last;
		}
	}
	return last;
}

static int64_t pod_main_start(const struct rh_json *main_status)
{
	const struct rh_json *state = rh_json_get(main_status, "state");
	int64_t start = rh_fields_time_or_zero(rh_json_get(state, "running"), "startedAt");

	return start ? start : rh_fields_time_or_zero(pod_terminated(main_status), "startedAt");
}

static const struct rh_json *pod_first_waiting(const struct rh_json *item)
{
	for (; item; item = rh_json_next(item)) {
		const struct rh_json *waiting = rh_json_get(rh_json_get(item, "state"), "waiting");
		const char *reason = rh_fields_text_or_empty(waiting, "reason");

		/* A container that waits for earlier ones has no information. */
		if (*reason && strcmp(reason, "PodInitializing") != 0)
			return waiting;
	}
	return NULL;
}

/* The container state, or the condition, with the reason why the pod waits. @return it, borrowed; NULL when none does
 */
static const struct rh_json *pod_waiting(const struct rh_json *status)
{
	const struct rh_json *scheduled = pod_condition(status, "PodScheduled");
	const struct rh_json *cause = pod_first_waiting(rh_fields_first(status, "initContainerStatuses"));

	if (!cause)
		cause = pod_first_waiting(rh_fields_first(status, "containerStatuses"));
	if (!cause && strcmp(rh_fields_text_or_empty(scheduled, "status"), "False") == 0)
		cause = scheduled;
	return cause;
}

static const char *pod_reason(const struct rh_json *status, const struct rh_json *end)
{
	const char *reason = rh_fields_text_or_empty(status, "reason");

	return *reason ? reason : rh_fields_text_or_empty(end, "reason");
}

/* A kubelet that evicts a pod writes the reason into the pod's message; the containers' output is unrelated. */
static const char *pod_message(const struct rh_pod *pod, const struct rh_json *status, const char *written)
{
	bool shown = pod->phase == RH_PHASE_FAILED && (!*written || rh_text_equal(pod->reason, "Evicted"));
	const char *message = shown ? rh_fields_text_or_empty(status, "message") : "";

	return *message ? message : written;
}

static void pod_read_evidence(struct rh_pod *pod, const char *message)
{
	struct rh_end end = {.exit_code = pod->failed_code, .reason = pod->reason ? pod->reason : "", .output = message};
	struct rh_evidence evidence = {.rank = -1, .accused = -1};
	rh_auto_str lines = {0};

	if (pod->phase == RH_PHASE_FAILED || pod->failed_code > 0)
		evidence = rh_evidence_read(&end);
	if (*message)
		rh_evidence_excerpt(&end, RH_LAST_LINES_MAX, &lines);
	pod->blame = evidence.blame;
	pod->rank = evidence.rank;
	pod->accused = evidence.accused;
	pod->last_lines = rh_str_take(&lines);
}

/* @return whether the kubelet takes the message of that container from a file alone, which programs seldom write */
static bool pod_hides_output(const struct rh_json *spec, const char *container)
{
	static const char *const lists[] = {"containers", "initContainers"};

	for (size_t i = 0; i < 2; i++) {
		for (const struct rh_json *item = rh_fields_first(spec, lists[i]); item; item = rh_json_next(item)) {
			if (rh_text_equal(rh_fields_text_or_empty(item, "name"), container))
				return rh_text_equal(rh_fields_text_or_empty(item, "terminationMessagePolicy"), "File");
		}
	}
	return false;
}

/* The end by which the container failed, of a pod that failed or one that restarts its containers; NULL: it did not. */
static const struct rh_json *pod_failure(const struct rh_pod *pod, const struct rh_json *container_status)
{
	if (pod->phase != RH_PHASE_FAILED)
		return pod_bad_end(container_status);
	return pod_failed_end(container_status);
}

/* Append the container if it failed and its output is not known. */
static void pod_add_unread(const struct rh_pod *pod, const struct rh_json *spec, const struct rh_json *item,
                           const struct rh_written *output, struct rh_unread_list *list)
{
	const struct rh_json *end = pod_failure(pod, item);
	const char *name = rh_fields_text_or_empty(item, "name");
	struct rh_unread found = {
		.ended_at = rh_fields_time_or_zero(end, "finishedAt"),
		.exit_code = pod_end_code(end),
		.previous = end != pod_terminated(item),
	};

	if (!end || *rh_fields_text_or_empty(end, "message") || !rh_name_is_label(name) || !pod_hides_output(spec, name) ||
	    rh_written_find(output, name, found.ended_at))
		return;
	(void)snprintf(found.container, sizeof(found.container), "%s", name);
	list->items[list->count++] = found;
}

/* An init container that failed counts where no other one did. */
static int pod_list_unread(struct rh_pod *pod, const struct rh_json *object, const struct rh_written *output)
{
	static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
	const struct rh_json *spec = rh_json_get(object, "spec");
	struct rh_unread_list found = {0};

	for (size_t i = 0; i < 2 && found.count == 0; i++) {
		const struct rh_json *item = rh_fields_first(rh_json_get(object, "status"), lists[i]);

		for (; item && found.count < RH_UNREAD_MAX; item = rh_json_next(item))
			pod_add_unread(pod, spec, item, output, &found);
	}
	if (found.count == 0)
		return 0;
	pod->unread = rh_alloc(sizeof(*pod->unread));
	if (!pod->unread)
		return RH_ENOMEM;
	*pod->unread = found;
	return 0;
}

/* User-visible reason for the termination of the pod or of one of its containers. */
static void pod_read_end(struct rh_pod *pod, const struct rh_json *object, const struct rh_json *main_status,
                         const struct rh_written *output)
{
	const struct rh_json *status = rh_json_get(object, "status");
	const struct rh_json *culprit = NULL;
	const struct rh_json *end;

	if (pod->phase == RH_PHASE_FAILED)
		culprit = pod_culprit(status, main_status, output);
	else if (pod->phase != RH_PHASE_SUCCEEDED)
		culprit = pod_restarter(status, main_status, output);
	end = pod->phase == RH_PHASE_FAILED ? pod_terminated(culprit) : pod_bad_end(culprit);
	pod->failed_container = rh_strdup(rh_fields_text_or_empty(culprit, "name"));
	pod->failed_code = pod_end_code(end);
	pod->failed_at = rh_fields_time_or_zero(end, "finishedAt");
	if (!culprit) {
		culprit = main_status;
		end = pod_terminated(main_status);
	}
	pod->reason = rh_strdup(pod_reason(status, end));
	pod_read_evidence(pod, pod_message(pod, status, pod_written(culprit, end, output)));
	pod->output_unknown = pod->blame != RH_BLAME_NONE && rh_text_equal(pod->last_lines, "") &&
	                      pod_hides_output(rh_json_get(object, "spec"), pod->failed_container) &&
	                      !rh_written_find(output, pod->failed_container ? pod->failed_container : "", pod->failed_at);
}

/* Pod and Service of a type without index carry no label for it (v1-behaviour C.11). */
int32_t rh_pod_index(const struct rh_kind *kind, const struct rh_json *labels)
{
	const char *type = rh_fields_text_or_empty(labels, rh_patterns_label(kind, RH_LABEL_TYPE));

	for (const struct rh_replica_type *const *known = kind->types; *known; known++) {
		if (((*known)->flags & RH_REPLICA_UNINDEXED) && strcasecmp((*known)->name, type) == 0)
			return 0;
	}
	return pod_number(rh_fields_text_or_empty(labels, rh_patterns_label(kind, RH_LABEL_INDEX)), -1);
}

bool rh_pod_grace(const struct rh_json *spec, int64_t *ret_seconds)
{
	int64_t seconds;

	if (!rh_json_integer(rh_json_get(spec, "terminationGracePeriodSeconds"), &seconds))
		return false;
	*ret_seconds = seconds < 0 ? 1 : seconds;
	if (seconds > INT32_MAX)
		*ret_seconds = INT32_MAX;
	return true;
}

/* deletionTimestamp is the time of the request plus the grace period. */
static int64_t pod_deleted_at(const struct rh_json *metadata)
{
	int64_t time = rh_fields_time_or_zero(metadata, "deletionTimestamp");
	int64_t grace;

	if (!rh_json_integer(rh_json_get(metadata, "deletionGracePeriodSeconds"), &grace) || grace < 0 ||
	    grace >= time / RH_SECOND)
		return time;
	return time - grace * RH_SECOND;
}

static void pod_read_metadata(struct rh_pod *pod, const struct rh_kind *kind, const struct rh_json *metadata)
{
	const struct rh_json *labels = rh_json_get(metadata, "labels");
	const struct rh_json *deleted = rh_json_get(metadata, "deletionTimestamp");

	pod->name = rh_strdup(rh_fields_text_or_empty(metadata, "name"));
	pod->uid = rh_strdup(rh_fields_text_or_empty(metadata, "uid"));
	pod->resource_version = rh_strdup(rh_fields_text_or_empty(metadata, "resourceVersion"));
	pod->owner_uid = rh_strdup(pod_owner_uid(metadata));
	pod->type = rh_strdup(rh_fields_text_or_empty(labels, rh_patterns_label(kind, RH_LABEL_TYPE)));
	pod->index = rh_pod_index(kind, labels);
	pod->attempt = pod_number(rh_fields_text_or_empty(rh_json_get(metadata, "annotations"), RH_ANNOTATION_ATTEMPT), 0);
	pod->created_at = rh_fields_time_or_zero(metadata, "creationTimestamp");
	pod->deleted_at = pod_deleted_at(metadata);
	pod->deleting = deleted && rh_json_type(deleted) != RH_JSON_NULL;
}

static void pod_read_status(struct rh_pod *pod, const struct rh_json *object, const struct rh_json *main_status,
                            const struct rh_written *output)
{
	const struct rh_json *status = rh_json_get(object, "status");
	const struct rh_json *waiting = pod_waiting(status);

	pod->phase = pod_phase(rh_fields_text_or_empty(status, "phase"));
	pod_read_end(pod, object, main_status, output);
	pod->ip = rh_strdup(rh_fields_text_or_empty(status, "podIP"));
	pod->waiting_reason = rh_strdup(rh_fields_text_or_empty(waiting, "reason"));
	pod->waiting_message = rh_strdup(rh_fields_text_or_empty(waiting, "message"));
	pod->exit_code = pod_exit_code(main_status);
	pod->restarts = pod_restarts(status);
	pod->started_at = pod_main_start(main_status);
	pod->finished_at = rh_pod_finished(pod) ? pod_last_end(status) : 0;
	pod->ready = strcmp(rh_fields_text_or_empty(pod_condition(status, "Ready"), "status"), "True") == 0;
}

/* Where the texts of a pod are. */
static const size_t pod_texts[] = {
	offsetof(struct rh_pod, name),
	offsetof(struct rh_pod, uid),
	offsetof(struct rh_pod, resource_version),
	offsetof(struct rh_pod, owner_uid),
	offsetof(struct rh_pod, type),
	offsetof(struct rh_pod, node),
	offsetof(struct rh_pod, ip),
	offsetof(struct rh_pod, reason),
	offsetof(struct rh_pod, waiting_reason),
	offsetof(struct rh_pod, waiting_message),
	offsetof(struct rh_pod, last_lines),
	offsetof(struct rh_pod, failed_container),
};

#define POD_TEXTS (sizeof(pod_texts) / sizeof(pod_texts[0]))

static char **pod_text(struct rh_pod *pod, size_t number)
{
	return (char **)(void *)((char *)pod + pod_texts[number]);
}

/* @return the same in one block, which is a third less where there are thousands; NULL when memory is or was out */
static struct rh_pod *pod_pack(struct rh_pod *loose)
{
	size_t sizes[POD_TEXTS], total = 0;
	struct rh_pod *pod;
	char *at;

	for (size_t i = 0; i < POD_TEXTS; i++) {
		if (!*pod_text(loose, i))
			return NULL;
		sizes[i] = strlen(*pod_text(loose, i)) + 1;
		total += sizes[i];
	}
	pod = rh_alloc(sizeof(*pod) + total);
	if (!pod)
		return NULL;
	*pod = *loose;
	loose->unread = NULL;
	pod->packed = true;
	at = (char *)(pod + 1);
	for (size_t i = 0; i < POD_TEXTS; i++) {
		memcpy(at, *pod_text(loose, i), sizes[i]);
		*pod_text(pod, i) = at;
		at += sizes[i];
	}
	return pod;
}

int rh_pod_parse(const struct rh_kind *kind, const struct rh_json *object, struct rh_pod **ret_pod)
{
	return rh_pod_parse_with(kind, object, NULL, ret_pod);
}

int rh_pod_parse_with(const struct rh_kind *kind, const struct rh_json *object, const struct rh_written *output,
                      struct rh_pod **ret_pod)
{
	rh_auto(pod) pod = rh_alloc(sizeof(*pod));
	struct rh_pod *packed;

	if (!pod)
		return RH_ENOMEM;
	pod_read_metadata(pod, kind, rh_json_get(object, "metadata"));
	pod_read_status(pod, object, pod_main_status(kind, object), output);
	pod->node = rh_strdup(rh_fields_text_or_empty(rh_json_get(object, "spec"), "nodeName"));
	if (pod->output_unknown && pod_list_unread(pod, object, output) < 0)
		return RH_ENOMEM;
	packed = pod_pack(pod);
	if (!packed)
		return RH_ENOMEM;
	*ret_pod = packed;
	return 0;
}

void rh_pod_free(struct rh_pod *pod)
{
	if (!pod)
		return;
	for (size_t i = 0; i < POD_TEXTS && !pod->packed; i++)
		rh_free(*pod_text(pod, i));
	rh_free(pod->unread);
	rh_free(pod);
}

bool rh_pod_finished(const struct rh_pod *pod)
{
	return pod->phase == RH_PHASE_SUCCEEDED || pod->phase == RH_PHASE_FAILED;
}
