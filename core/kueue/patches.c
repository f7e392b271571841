/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/patches.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "job/kind.h"
#include "job/values/names.h"
#include "kueue/admission.h"
#include "kueue/workload.h"

/* @return the member at a path of members, made when it is absent; NULL when memory is out */
static struct rh_json *patches_ensure(struct rh_json *object, const char *path)
{
	while (object && *path) {
		size_t length = strcspn(path, ".");
		rh_auto_free char *key = rh_strndup(path, length);

		object = key ? rh_json_ensure_object(object, key) : NULL;
		path += length + (path[length] == '.');
	}
	return object;
}

/* @param note NULL: it is removed */
static struct rh_json *patches_job(const struct rh_kind *kind, const struct rh_kueue_part *part, const char *note,
                                   int32_t replicas)
{
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *annotations = patches_ensure(patch, "metadata.annotations");
	struct rh_kind_path path;
	struct rh_json *policy, *type;

	rh_kind_policy_path(kind, &path);
	policy = patches_ensure(patch, path.text);
	if (!annotations || !policy || rh_json_set_bool(policy, "suspend", !note) < 0 ||
	    rh_json_set(annotations, RH_ANNOTATION_ADMITTED, note ? rh_json_new_string(note) : rh_json_new_null()) < 0)
		return NULL;
	if (!part->path || replicas == part->now)
		return rh_take(patch);
	type = patches_ensure(patch, part->path);
	return type && rh_json_set_integer(type, "replicas", replicas) == 0 ? rh_take(patch) : NULL;
}

struct rh_json *rh_kueue_patch_suspend(const struct rh_kind *kind, const struct rh_kueue_part *part)
{
	return patches_job(kind, part, NULL, part->asked);
}

struct rh_json *rh_kueue_patch_resume(const struct rh_kind *kind, const struct rh_kueue_part *part, const char *note,
                                      int32_t replicas)
{
	return patches_job(kind, part, note, replicas);
}

/* A condition to write. */
struct patches_condition {
	const char *type;
	bool status;
	const char *reason;
	const char *message;
};

static int patches_fill(const struct patches_condition *expected, int64_t now, struct rh_json *condition)
{
	const char *status = expected->status ? "True" : "False";
	char time[RH_TIME_SIZE];

	if (!rh_text_equal(rh_json_string_at(condition, "status"), status) &&
	    rh_json_set_string(condition, "lastTransitionTime", rh_time_format(now, time)) < 0)
		return RH_ENOMEM;
	if (rh_json_set_string(condition, "type", expected->type) < 0 ||
	    rh_json_set_string(condition, "status", status) < 0 ||
	    rh_json_set_string(condition, "reason", expected->reason) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(condition, "message", expected->message ? expected->message : "");
}

static int patches_set(const struct patches_condition *expected, int64_t now, struct rh_json *conditions)
{
	struct rh_json *condition = rh_json_find(conditions, "type", expected->type);
	rh_auto(json) fresh = NULL;

	if (condition)
		return patches_fill(expected, now, condition);
	fresh = rh_json_new_object();
	if (!fresh || patches_fill(expected, now, fresh) < 0)
		return RH_ENOMEM;
	return rh_json_append(conditions, rh_take(fresh));
}

/* @return a patch of the status with the conditions of @p workload and @p count others */
static struct rh_json *patches_status(const struct rh_json *workload, const struct patches_condition *expected,
                                      size_t count, int64_t now)
{
	const struct rh_json *before = rh_json_at(workload, "status.conditions");
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *status = patches_ensure(patch, "status");
	struct rh_json *conditions = before ? rh_json_copy(before) : rh_json_new_array();

	if (!status || rh_json_set(status, "conditions", conditions) < 0)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (patches_set(&expected[i], now, conditions) < 0)
			return NULL;
	}
	return rh_take(patch);
}

/* As Kueue's own integrations do it: only who was preempted, or lost a node, is in the queue again at once. */
struct rh_json *rh_kueue_patch_release(const struct rh_json *workload, int64_t now)
{
	const struct rh_json *evicted = rh_kueue_condition(workload, "Evicted");
	const char *reason = rh_json_string_at(evicted, "reason");
	const char *message = rh_json_string_at(evicted, "message");
	bool again = rh_text_equal(reason, "Preempted") || rh_text_equal(reason, "NodeFailures");
	const struct patches_condition expected[] = {
		{"Requeued", again, reason ? reason : "Evicted", message},
		{"QuotaReserved", false, "Pending", message},
		{"Admitted", false, "NoReservation", "The workload has no reservation"},
		{"PodsReady", false, "WaitForStart", "Not all pods are ready or succeeded"},
	};
	size_t count = rh_kueue_condition(workload, "PodsReady") ? 4 : 3;
	rh_auto(json) patch = patches_status(workload, expected, count, now);

	/* all replicas run again, also those that had succeeded */
	if (!patch || rh_json_set(rh_json_get(patch, "status"), "admission", rh_json_new_null()) < 0 ||
	    rh_json_set(rh_json_get(patch, "status"), "reclaimablePods", rh_json_new_null()) < 0)
		return NULL;
	return rh_take(patch);
}

struct rh_json *rh_kueue_patch_finish(const struct rh_json *workload, bool success, const char *message, int64_t now)
{
	const struct patches_condition expected = {"Finished", true, success ? "Succeeded" : "Failed", message};

	return patches_status(workload, &expected, 1, now);
}

struct rh_json *rh_kueue_patch_report(const struct rh_json *workload, int64_t now)
{
	const struct patches_condition expected = {"PodsReady", true, "Started",
	                                           "All pods reached readiness and the workload is running"};

	return patches_status(workload, &expected, 1, now);
}

struct rh_json *rh_kueue_patch_reclaim(const struct rh_json *succeeded)
{
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *status = patches_ensure(patch, "status");

	if (!status || rh_json_set(status, "reclaimablePods", rh_json_copy(succeeded)) < 0)
		return NULL;
	return rh_take(patch);
}

struct rh_json *rh_kueue_patch_unlock(const struct rh_json *workload)
{
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *metadata = patches_ensure(patch, "metadata");
	struct rh_json *left = rh_json_new_array();

	if (!metadata || rh_json_set(metadata, "finalizers", left) < 0)
		return NULL;
	for (const struct rh_json *item = rh_json_first(rh_json_at(workload, "metadata.finalizers")); item;
	     item = rh_json_next(item)) {
		if (!rh_text_equal(rh_json_string(item), RH_KUEUE_FINALIZER) && rh_json_append(left, rh_json_copy(item)) < 0)
			return NULL;
	}
	return rh_take(patch);
}
