/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/patch.h"

#include <string.h>

#include "base/mem.h"
#include "job/status/shown.h"
#include "job/values/names.h"

static int patch_diff_member(struct rh_json *diff, const char *key, const struct rh_json *from,
                             const struct rh_json *to)
{
	rh_auto(json) inner = NULL;

	if (rh_json_equal(from, to))
		return 0;
	if (rh_json_type(from) != RH_JSON_OBJECT || rh_json_type(to) != RH_JSON_OBJECT)
		return rh_json_add(diff, key, rh_json_copy(to));
	inner = rh_patch_diff(from, to);
	return rh_json_add(diff, key, rh_take(inner));
}

struct rh_json *rh_patch_diff(const struct rh_json *from, const struct rh_json *to)
{
	rh_auto(json) diff = rh_json_new_object();

	if (!diff)
		return NULL;
	for (const struct rh_json *member = rh_json_first(to); member; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		if (patch_diff_member(diff, key, rh_json_get(from, key), member) < 0)
			return NULL;
	}
	for (const struct rh_json *member = rh_json_first(from); member; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		if (!rh_json_get(to, key) && rh_json_add(diff, key, rh_json_new_null()) < 0)
			return NULL;
	}
	return rh_take(diff);
}

/* Members of the status that others write stay. */
static int patch_keep_foreign(const struct rh_kind *kind, struct rh_json *status, const struct rh_json *before)
{
	static const char *const ours[] = {"conditions", "replicaStatuses", "startTime", "completionTime",
	                                   "lastReconcileTime"};

	for (const struct rh_json *member = rh_json_first(before); member; member = rh_json_next(member)) {
		bool is_ours = false;

		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			is_ours = is_ours || strcmp(rh_json_key(member), ours[i]) == 0;
		is_ours = is_ours || rh_shown_is_own(kind, rh_json_key(member));
		if (!is_ours && rh_json_set(status, rh_json_key(member), rh_json_copy(member)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

struct rh_json *rh_patch_status(const struct rh_kind *kind, const struct rh_json *before,
                                const struct rh_job_status *status)
{
	rh_auto(json) after = rh_shown_json(kind, status);
	rh_auto(json) patch = rh_json_new_object();
	rh_auto(json) diff = NULL;

	if (!after || !patch || patch_keep_foreign(kind, after, before) < 0)
		return NULL;
	diff = rh_patch_diff(before, after);
	if (!diff)
		return NULL;
	if (rh_json_size(diff) > 0 && rh_json_add(patch, "status", rh_take(diff)) < 0)
		return NULL;
	return rh_take(patch);
}

/* What the kind does not show of @p status. @return 0 or RH_ENOMEM */
static int patch_put_hidden(const struct rh_job *job, const struct rh_job_status *status, struct rh_json *annotations)
{
	rh_auto(json) hidden = NULL;
	rh_auto_free char *text = NULL;

	if (!status || !rh_shown_hides(job->kind))
		return 0;
	hidden = rh_shown_hidden(job->kind, status, job->uid);
	text = hidden ? rh_json_text(hidden) : NULL;
	return text ? rh_json_set_string(annotations, RH_ANNOTATION_STATUS, text) : RH_ENOMEM;
}

struct rh_json *rh_patch_ledger(const struct rh_ledger *ledger, const struct rh_job *job,
                                const struct rh_job_status *status, const char *version)
{
	rh_auto(json) patch = rh_json_new_object();
	rh_auto_free char *text = rh_ledger_text(ledger, job);
	struct rh_json *metadata = patch ? rh_json_ensure_object(patch, "metadata") : NULL;
	struct rh_json *annotations = metadata ? rh_json_ensure_object(metadata, "annotations") : NULL;

	if (!text || !annotations || rh_json_set_string(annotations, RH_ANNOTATION_LEDGER, text) < 0 ||
	    patch_put_hidden(job, status, annotations) < 0 ||
	    (version && rh_json_set_string(annotations, RH_ANNOTATION_VERSION, version) < 0))
		return NULL;
	return rh_take(patch);
}
