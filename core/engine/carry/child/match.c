/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/child/match.h"

#include <string.h>

#include "base/str.h"
#include "engine/carry/entry.h"
#include "engine/carry/request/verbs.h"

/* @return whether the pod or Service that is created is the replica of these labels */
static bool match_is_for(const struct rh_inflight *inflight, const char *type, int32_t index)
{
	if (inflight->pod)
		return index == inflight->pod->index && strcmp(type, inflight->pod->type) == 0;
	return index == inflight->child->index && strcmp(type, inflight->child->type) == 0;
}

bool rh_match_is_labelled(const struct rh_inflight *inflight, const struct rh_json *object)
{
	return rh_verb_of_object(inflight->verb) || rh_children_is_labelled(inflight->entry, object);
}

static bool match_is_replica(const struct rh_inflight *inflight, const struct rh_child *found)
{
	return rh_verb_of_object(inflight->verb) || match_is_for(inflight, found->type, found->index);
}

enum rh_match rh_match_owner(const struct rh_inflight *inflight, const struct rh_json *object)
{
	rh_auto(child) child = NULL;

	if (rh_child_parse(inflight->entry->kind->kind, object, &child) < 0 ||
	    strcmp(child->owner_uid, inflight->job_uid) != 0)
		return RH_MATCH_FOREIGN;
	return rh_match_is_labelled(inflight, object) && match_is_replica(inflight, child) ? RH_MATCH_OURS
	                                                                                   : RH_MATCH_MISPLACED;
}

bool rh_match_is_cached(const struct rh_inflight *inflight)
{
	const struct rh_entry_children *children = &inflight->entry->children;
	const struct rh_cached *cached = NULL;

	if (inflight->verb == RH_CREATE_SERVICE)
		cached = rh_map_get(children->services, inflight->name);
	else if (inflight->pod)
		cached = rh_map_get(children->pods, inflight->name);
	if (!cached)
		return false;
	if (cached->pod)
		return strcmp(cached->pod->owner_uid, inflight->job_uid) == 0 &&
		       match_is_for(inflight, cached->pod->type, cached->pod->index);
	return strcmp(cached->child->owner_uid, inflight->job_uid) == 0 &&
	       match_is_for(inflight, cached->child->type, cached->child->index);
}

static bool match_covers_list(const struct rh_json *actual, const struct rh_json *desired)
{
	const struct rh_json *have = rh_json_first(actual);

	if (rh_json_size(actual) != rh_json_size(desired))
		return false;
	for (const struct rh_json *want = rh_json_first(desired); want; want = rh_json_next(want)) {
		if (!rh_match_covers(have, want))
			return false;
		have = rh_json_next(have);
	}
	return true;
}

bool rh_match_covers(const struct rh_json *actual, const struct rh_json *desired)
{
	if (rh_json_type(actual) != rh_json_type(desired))
		return false;
	if (rh_json_type(desired) == RH_JSON_ARRAY)
		return match_covers_list(actual, desired);
	if (rh_json_type(desired) != RH_JSON_OBJECT)
		return rh_json_equal(actual, desired);
	for (const struct rh_json *want = rh_json_first(desired); want; want = rh_json_next(want)) {
		if (!rh_match_covers(rh_json_get(actual, rh_json_key(want)), want))
			return false;
	}
	return true;
}

/* V1 does not change the queue of an existing PodGroup (v1-behaviour B.8). */
static int match_keep_queue(struct rh_json *desired, const struct rh_json *actual)
{
	const char *queue = rh_json_string_at(actual, "spec.queue");
	struct rh_json *spec = rh_json_get(desired, "spec");

	if (!rh_json_get(spec, "queue") || !queue || !*queue)
		return 0;
	return rh_json_set_string(spec, "queue", queue);
}

static bool match_is_job(const struct rh_json *object)
{
	return rh_text_equal(rh_json_string_at(object, "apiVersion"), "batch/v1") &&
	       rh_text_equal(rh_json_string_at(object, "kind"), "Job");
}

static bool match_is_suspended(const struct rh_json *job)
{
	return rh_json_bool(rh_json_at(job, "spec.suspend"), false);
}

int rh_match_is_current(const struct rh_inflight *inflight, const struct rh_json *actual)
{
	const struct rh_json *desired = inflight->body;

	if (match_is_job(desired))
		return match_is_suspended(actual) == match_is_suspended(desired);
	if (strcmp(inflight->resource->kind, RH_GANG_OBJECT) != 0)
		return rh_match_covers(actual, desired);
	if (match_keep_queue(inflight->body, actual) < 0)
		return RH_ENOMEM;
	return rh_match_covers(rh_json_get(actual, "spec"), rh_json_get(desired, "spec")) &&
	       rh_match_covers(rh_json_at(actual, "metadata.labels"), rh_json_at(desired, "metadata.labels"));
}

/* Put the desired labels or annotations over the existing ones. Those of others stay. */
static int match_merge_texts(struct rh_json *metadata, const struct rh_json *desired, const char *key)
{
	const struct rh_json *texts = rh_json_at(rh_json_get(desired, "metadata"), key);
	struct rh_json *kept = texts ? rh_json_ensure_object(metadata, key) : NULL;

	if (!texts)
		return 0;
	return kept ? rh_json_merge(kept, texts) : RH_ENOMEM;
}

/* Give a Job the desired member of the map at @p path; labels and annotations of others stay. */
static int match_take_member(struct rh_json *job, const struct rh_json *desired, const char *path, const char *key)
{
	const struct rh_json *value = rh_json_get(rh_json_at(desired, path), key);
	struct rh_json *place = value ? rh_json_at(job, path) : NULL;

	if (!place)
		return 0;
	if (strcmp(key, "labels") == 0 || strcmp(key, "annotations") == 0) {
		place = rh_json_ensure_object(place, key);
		return place ? rh_json_merge(place, value) : RH_ENOMEM;
	}
	return rh_json_set(place, key, rh_json_copy(value));
}

/*
 * An API server lets nobody change a Job but for this: whether it is suspended, and before it has ever run, where its
 * pods may go and what they are labelled with.
 */
static struct rh_json *match_replace_job(const struct rh_json *actual, const struct rh_json *desired)
{
	static const char *const members[][2] = {{"spec.template.metadata", "labels"},
	                                         {"spec.template.metadata", "annotations"},
	                                         {"spec.template.spec", "nodeSelector"},
	                                         {"spec.template.spec", "tolerations"},
	                                         {"spec.template.spec", "schedulingGates"}};
	bool fresh = match_is_suspended(actual) && !rh_json_string_at(actual, "status.startTime");
	rh_auto(json) body = rh_json_copy(actual);
	struct rh_json *spec = body ? rh_json_ensure_object(body, "spec") : NULL;
	int r = spec ? rh_json_set(spec, "suspend", rh_json_copy(rh_json_at(desired, "spec.suspend"))) : RH_ENOMEM;

	for (size_t i = 0; fresh && i < sizeof(members) / sizeof(members[0]) && r == 0; i++)
		r = match_take_member(body, desired, members[i][0], members[i][1]);
	return r == 0 ? rh_take(body) : NULL;
}

/* Members that a server has filled in are left out: it fills them in again. */
struct rh_json *rh_match_replacement(const struct rh_json *actual, const struct rh_json *desired)
{
	const struct rh_json *status = rh_json_get(actual, "status");
	rh_auto(json) body = NULL;
	rh_auto(json) metadata = NULL;

	if (match_is_job(desired))
		return match_replace_job(actual, desired);
	body = rh_json_copy(desired);
	metadata = rh_json_copy(rh_json_get(actual, "metadata"));
	if (!body || !metadata || match_merge_texts(metadata, desired, "labels") < 0 ||
	    match_merge_texts(metadata, desired, "annotations") < 0)
		return NULL;
	if (rh_json_set(body, "metadata", rh_take(metadata)) < 0)
		return NULL;
	/* A resource without a status subresource would lose its status. */
	if (status && rh_json_set(body, "status", rh_json_copy(status)) < 0)
		return NULL;
	return rh_take(body);
}

bool rh_match_may_adopt(const struct rh_inflight *inflight, const struct rh_json *actual)
{
	rh_auto(child) child = NULL;

	return inflight->entry->job && rh_child_parse(inflight->entry->kind->kind, actual, &child) == 0 &&
	       !*child->owner_uid && !child->deleting && strcmp(child->uid, inflight->uid) == 0;
}

struct rh_json *rh_match_adoption(const struct rh_inflight *inflight, const struct rh_json *actual)
{
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *metadata = patch ? rh_json_ensure_object(patch, "metadata") : NULL;
	const struct rh_json *owners = rh_json_at(actual, "metadata.ownerReferences");

	if (!metadata || (owners && rh_json_set(metadata, "ownerReferences", rh_json_copy(owners)) < 0) ||
	    rh_build_owner(inflight->entry->job, metadata) < 0)
		return NULL;
	return rh_take(patch);
}
