/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How writes to children end. What an answer leaves open is settled by reading; what was refused is told in the
 * server's words and waits, longer each time.
 */
#include <string.h>

#include "engine/carry/parts.h"

/* Decide again when that may have something to do: what waits for the lead replica, or what the window held back. */
static void completion_end(struct rh_inflight *inflight)
{
	struct rh_engine_entry *entry = inflight->entry;
	struct rh_engine *engine = entry->engine;
	bool leads = inflight->index == 0;

	rh_inflight_free(inflight);
	if (rh_engine_is_kept(entry) && (leads || 2 * entry->inflight_count <= engine->options.window))
		rh_queue_add(&engine->queue, &entry->item, RH_QUEUE_NOW);
	rh_engine_reap(entry);
}

static void completion_report_group(const struct rh_inflight *inflight)
{
	rh_engine_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, false, "JobTerminated",
	                                                        "Job has been terminated. Deleting PodGroup"});
	rh_inflight_report(inflight, false, "");
}

/* It is not known whether its containers still run somewhere: who looks at the job has to know. */
static void completion_report_force(const struct rh_inflight *inflight)
{
	rh_auto_free char *message = rh_asprintf("Deleted pod by force: %s did not end within %s%s%s%s", inflight->name,
	                                         RH_ANNOTATION_TERMINATING_TIMEOUT, *inflight->node ? "; its node " : "",
	                                         inflight->node, *inflight->node ? " may be lost" : "");

	if (message)
		rh_engine_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, true, "ForcedDeletePod", message});
}

/* V1 tells nothing of further objects that went well, but for a PodGroup that goes. */
static void completion_report_success(const struct rh_inflight *inflight)
{
	if (inflight->verb == RH_DELETE_OBJECT && strcmp(inflight->resource->kind, RH_GANG_OBJECT) == 0)
		completion_report_group(inflight);
	else if (inflight->node)
		completion_report_force(inflight);
	else if (rh_verb_of_pod(inflight->verb) || rh_verb_of_service(inflight->verb) || inflight->verb == RH_DELETE_JOB)
		rh_inflight_report(inflight, false, "");
}

static void completion_refused(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (outcome->code == RH_OUTCOME_THROTTLED) {
		rh_engine_back_off(inflight, outcome->retry_after);
	} else {
		bool told = outcome->code != RH_OUTCOME_UNKNOWN;
		bool alone = rh_verb_of_object(inflight->verb);
		bool counts = told && (alone || rh_verb_creates(inflight->verb));

		if (told)
			rh_inflight_report(inflight, true, outcome->message);
		if (counts)
			rh_engine_refuse(inflight, alone, outcome->message);
		if (!counts || alone)
			rh_engine_back_off(inflight, -1);
	}
	completion_end(inflight);
}

static void completion_ask(struct rh_inflight *inflight)
{
	struct rh_request request = {.verb = rh_inflight_reads(inflight)};
	struct rh_cached *cached;

	inflight->asking = true;
	if (rh_inflight_send(inflight, &request) == 0)
		return;
	cached = rh_verb_deletes(inflight->verb) ? rh_inflight_target(inflight) : NULL;
	if (cached)
		rh_cached_set_stopping(cached, false);
	rh_engine_back_off(inflight, -1);
	completion_end(inflight);
}

/*
 * Whose is it? COMPLETION_ASTRAY: our job's, but by its labels, which anybody may edit, it is not the replica of that
 * name, or another job's.
 */
enum completion_found { COMPLETION_FOREIGN, COMPLETION_ASTRAY, COMPLETION_OURS };

/* Of a pod or Service: is what it makes the replica that these labels say? */
static bool completion_is_for(const struct rh_inflight *inflight, const char *type, int32_t index)
{
	if (inflight->pod)
		return index == inflight->pod->index && strcmp(type, inflight->pod->type) == 0;
	return index == inflight->child->index && strcmp(type, inflight->child->type) == 0;
}

/* Whether labels say which job it belongs to, and that it is ours. A PodGroup is found by its owner. */
static bool completion_is_labelled(const struct rh_inflight *inflight, const struct rh_json *object)
{
	return rh_verb_of_object(inflight->verb) || rh_engine_is_labelled(inflight->entry, object);
}

static bool completion_is_replica(const struct rh_inflight *inflight, const struct rh_child *found)
{
	return rh_verb_of_object(inflight->verb) || completion_is_for(inflight, found->type, found->index);
}

static enum completion_found completion_judge(const struct rh_inflight *inflight, const struct rh_json *object)
{
	rh_auto(child) child = NULL;

	if (rh_child_parse(inflight->entry->kind->kind, object, &child) < 0 ||
	    strcmp(child->owner_uid, inflight->job_uid) != 0)
		return COMPLETION_FOREIGN;
	return completion_is_labelled(inflight, object) && completion_is_replica(inflight, child) ? COMPLETION_OURS
	                                                                                          : COMPLETION_ASTRAY;
}

/* V1 leaves the queue that was chosen for a PodGroup as it is (COMPAT B.8). */
static int completion_keep_queue(struct rh_json *desired, const struct rh_json *actual)
{
	const char *queue = rh_json_string_at(actual, "spec.queue");
	struct rh_json *spec = rh_json_get(desired, "spec");

	if (!rh_json_get(spec, "queue") || !queue || !*queue)
		return 0;
	return rh_json_set_string(spec, "queue", queue);
}

/*
 * Whether the object is as the flight wants it. Of a PodGroup, annotations are those of its making, and the queue that
 * it has becomes the one that is wanted. @return 1 when it is, 0 or RH_ENOMEM
 */
static int completion_is_right(const struct rh_inflight *inflight, const struct rh_json *actual)
{
	const struct rh_json *desired = inflight->body;

	if (strcmp(inflight->resource->kind, RH_GANG_OBJECT) != 0)
		return rh_engine_covers(actual, desired);
	if (completion_keep_queue(inflight->body, actual) < 0)
		return RH_ENOMEM;
	return rh_engine_covers(rh_json_get(actual, "spec"), rh_json_get(desired, "spec")) &&
	       rh_engine_covers(rh_json_at(actual, "metadata.labels"), rh_json_at(desired, "metadata.labels"));
}

/* A further object that was written by somebody else under our name, or by us before a start, counts by its content. */
static int completion_keep_found(const struct rh_inflight *inflight, const struct rh_json *object)
{
	int right = inflight->body ? completion_is_right(inflight, object) : 0;

	return right < 0 ? right : rh_engine_keep_object(inflight->entry, object, right ? inflight->hash : 0);
}

static void completion_arrived(struct rh_inflight *inflight, const struct rh_json *object, bool tell)
{
	struct rh_engine_entry *entry = inflight->entry;
	int r = 0;

	if (inflight->verb != RH_CREATE_OBJECT)
		r = rh_engine_take_child(inflight, object);
	else if (!rh_inflight_has_tombstone(inflight, rh_object_text(object, "metadata", "uid")))
		r = completion_keep_found(inflight, object);
	if (r < 0)
		entry->engine->lost = true;
	if (tell)
		completion_report_success(inflight);
	rh_engine_clear_backoff(inflight);
	rh_engine_forget_refusal(entry, inflight->resource->kind, inflight->probe ? NULL : inflight->name);
	completion_end(inflight);
}

static void completion_taken(struct rh_inflight *inflight, const struct rh_json *object, bool astray)
{
	rh_inflight_back_off_taken(inflight, object, astray);
	completion_end(inflight);
}

/* Has the watch told meanwhile of what was to be made? Then what was read is older. */
static bool completion_is_there(const struct rh_inflight *inflight)
{
	const struct rh_engine_entry *entry = inflight->entry;
	const struct rh_cached *cached = NULL;

	if (inflight->verb == RH_CREATE_SERVICE)
		cached = rh_map_get(entry->services, inflight->name);
	else if (inflight->pod)
		cached = rh_map_get(entry->pods, inflight->name);
	if (!cached)
		return false;
	if (cached->pod)
		return strcmp(cached->pod->owner_uid, inflight->job_uid) == 0 &&
		       completion_is_for(inflight, cached->pod->type, cached->pod->index);
	return strcmp(cached->child->owner_uid, inflight->job_uid) == 0 &&
	       completion_is_for(inflight, cached->child->type, cached->child->index);
}

static void completion_found_existing(struct rh_inflight *inflight, const struct rh_json *object)
{
	enum completion_found found = completion_judge(inflight, object);

	if (found != COMPLETION_OURS && completion_is_there(inflight)) {
		rh_engine_clear_backoff(inflight);
		completion_end(inflight);
	} else if (found == COMPLETION_OURS)
		completion_arrived(inflight, object, inflight->unknown);
	else
		completion_taken(inflight, object, found == COMPLETION_ASTRAY);
}

static void completion_created(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (inflight->asking && outcome->code == RH_OUTCOME_OK && outcome->object) {
		completion_found_existing(inflight, outcome->object);
	} else if (inflight->asking && rh_verb_of_object(inflight->verb) && outcome->code == RH_OUTCOME_DENIED) {
		completion_refused(inflight, outcome);
	} else if (inflight->asking) {
		if (inflight->unknown || outcome->code != RH_OUTCOME_GONE)
			rh_engine_back_off(inflight, -1);
		completion_end(inflight);
	} else if (outcome->code == RH_OUTCOME_OK && outcome->object && completion_is_labelled(inflight, outcome->object)) {
		completion_arrived(inflight, outcome->object, true);
	} else if (outcome->code == RH_OUTCOME_OK || outcome->code == RH_OUTCOME_EXISTS ||
	           outcome->code == RH_OUTCOME_UNKNOWN) {
		inflight->unknown = outcome->code != RH_OUTCOME_EXISTS;
		completion_ask(inflight);
	} else {
		completion_refused(inflight, outcome);
	}
}

/* It is not there, or another's. */
static void completion_forget_object(const struct rh_inflight *inflight)
{
	rh_auto_free char *key =
		rh_engine_object_key(inflight->resource->api_version, inflight->resource->kind, inflight->name);

	if (key)
		rh_cached_free(rh_map_remove(inflight->entry->objects, key));
	else
		inflight->entry->engine->lost = true;
}

static void completion_drop_object(const struct rh_inflight *inflight)
{
	if (rh_inflight_target(inflight))
		completion_forget_object(inflight);
}

/* A job that is gone, or going, is not decided about any more. */
static void completion_deleted_job(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	struct rh_engine_entry *entry = inflight->entry;
	bool is_it = entry->uid && strcmp(entry->uid, inflight->job_uid) == 0;

	if (is_it && outcome->object)
		(void)rh_engine_take_job(entry, outcome->object);
	else if (is_it)
		rh_engine_forget_job(entry);
	completion_report_success(inflight);
	completion_end(inflight);
}

/* It was not deleted: it counts as there again, and is deleted later. */
static void completion_keep_target(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	struct rh_cached *cached = rh_inflight_target(inflight);

	if (cached)
		rh_cached_set_stopping(cached, false);
	completion_refused(inflight, outcome);
}

/* What was refused of a further object is granted now. */
static void completion_forget_refusal(const struct rh_inflight *inflight)
{
	if (rh_verb_of_object(inflight->verb))
		rh_engine_forget_refusal(inflight->entry, inflight->resource->kind, inflight->name);
}

static void completion_deleted_well(struct rh_inflight *inflight, bool tell)
{
	if (tell)
		completion_report_success(inflight);
	if (inflight->verb == RH_DELETE_OBJECT)
		completion_drop_object(inflight);
	completion_forget_refusal(inflight);
	rh_engine_clear_backoff(inflight);
	completion_end(inflight);
}

/* Is what was to be deleted there, and stays? */
static bool completion_stays(const struct rh_inflight *inflight, const struct rh_json *object)
{
	return rh_text_equal(rh_json_string_at(object, "metadata.uid"), inflight->uid) &&
	       !rh_json_at(object, "metadata.deletionTimestamp");
}

/* A conflict is another object of the name, as a rule; but whoever stands before the store may have his own reasons. */
static void completion_deleted_conflict(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	static const struct rh_outcome later = {.code = RH_OUTCOME_UNKNOWN, .message = ""};

	if (!inflight->asking)
		completion_ask(inflight);
	else if (outcome->code == RH_OUTCOME_GONE ||
	         (outcome->code == RH_OUTCOME_OK && outcome->object && !completion_stays(inflight, outcome->object)))
		completion_deleted_well(inflight, false);
	else
		completion_keep_target(inflight, outcome->code == RH_OUTCOME_DENIED ? outcome : &later);
}

static void completion_deleted(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (inflight->asking || outcome->code == RH_OUTCOME_CONFLICT)
		completion_deleted_conflict(inflight, outcome);
	else if (inflight->verb == RH_DELETE_JOB && outcome->code == RH_OUTCOME_OK)
		completion_deleted_job(inflight, outcome);
	else if (outcome->code == RH_OUTCOME_OK || outcome->code == RH_OUTCOME_GONE)
		completion_deleted_well(inflight, outcome->code == RH_OUTCOME_OK);
	else
		completion_keep_target(inflight, outcome);
}

/* Put labels or annotations that are wanted over those that are there: others' stay. */
static int completion_merge_texts(struct rh_json *metadata, const struct rh_json *desired, const char *key)
{
	const struct rh_json *texts = rh_json_at(rh_json_get(desired, "metadata"), key);
	struct rh_json *kept = texts ? rh_json_ensure_object(metadata, key) : NULL;

	if (!texts)
		return 0;
	return kept ? rh_json_merge(kept, texts) : RH_ENOMEM;
}

/*
 * The object as it is wanted. What a server filled in goes with the rest: it fills it in again. Of metadata only labels
 * and annotations are ours. @return owned by the caller; NULL when memory is out
 */
static struct rh_json *completion_replacement(const struct rh_json *actual, const struct rh_json *desired)
{
	const struct rh_json *status = rh_json_get(actual, "status");
	rh_auto(json) body = rh_json_copy(desired);
	rh_auto(json) metadata = rh_json_copy(rh_json_get(actual, "metadata"));

	if (!body || !metadata || completion_merge_texts(metadata, desired, "labels") < 0 ||
	    completion_merge_texts(metadata, desired, "annotations") < 0)
		return NULL;
	if (rh_json_set(body, "metadata", rh_take(metadata)) < 0)
		return NULL;
	/* Where status is no resource of its own, what is left out of it would go. */
	if (status && rh_json_set(body, "status", rh_json_copy(status)) < 0)
		return NULL;
	return rh_take(body);
}

/* Write @p body (taken; NULL: memory is out) over what was read. */
static void completion_write(struct rh_inflight *inflight, enum rh_verb verb, const struct rh_json *actual,
                             struct rh_json *body)
{
	struct rh_request request = {
		.verb = verb,
		.uid = inflight->uid,
		.resource_version = rh_json_string_at(actual, "metadata.resourceVersion"),
		.body = body,
	};

	inflight->asking = false;
	if (request.body && rh_inflight_send(inflight, &request) == 0)
		return;
	rh_engine_back_off(inflight, -1);
	completion_end(inflight);
}

static void completion_keep_written(struct rh_inflight *inflight, const struct rh_json *object)
{
	if (rh_engine_keep_object(inflight->entry, object, inflight->hash) < 0)
		rh_engine_back_off(inflight, -1);
	else
		rh_engine_clear_backoff(inflight);
	completion_forget_refusal(inflight);
	completion_end(inflight);
}

/*
 * A PodGroup is watched, so it may be known to be what it should be only now; others are known to differ. What has
 * become another's since somebody looked is left alone.
 */
static void completion_update(struct rh_inflight *inflight, const struct rh_json *actual)
{
	bool group = strcmp(inflight->resource->kind, RH_GANG_OBJECT) == 0;

	if (completion_judge(inflight, actual) != COMPLETION_OURS) {
		completion_forget_object(inflight);
		completion_end(inflight);
	} else if (group && completion_is_right(inflight, actual) == 1)
		completion_keep_written(inflight, actual);
	else
		completion_write(inflight, RH_VERB_REPLACE, actual, completion_replacement(actual, inflight->body));
}

/* The owner is put beside those that it has; another controller's is left alone. */
static struct rh_json *completion_adoption(const struct rh_inflight *inflight, const struct rh_json *actual)
{
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *metadata = patch ? rh_json_ensure_object(patch, "metadata") : NULL;
	const struct rh_json *owners = rh_json_at(actual, "metadata.ownerReferences");

	if (!metadata || (owners && rh_json_set(metadata, "ownerReferences", rh_json_copy(owners)) < 0) ||
	    rh_build_owner(inflight->entry->job, metadata) < 0)
		return NULL;
	return rh_take(patch);
}

static bool completion_may_adopt(const struct rh_inflight *inflight, const struct rh_json *actual)
{
	rh_auto(child) child = NULL;

	return inflight->entry->job && rh_child_parse(inflight->entry->kind->kind, actual, &child) == 0 &&
	       !*child->owner_uid && !child->deleting && strcmp(child->uid, inflight->uid) == 0;
}

/* Unless it is gone meanwhile, or another job's. @return 0 or RH_ENOMEM */
static int completion_see(const struct rh_inflight *inflight, const struct rh_json *object)
{
	if (!completion_is_labelled(inflight, object) ||
	    rh_inflight_has_tombstone(inflight, rh_object_text(object, "metadata", "uid")))
		return 0;
	return rh_engine_see_child(inflight->entry, inflight->verb == RH_ADOPT_SERVICE, object) < 0 ? RH_ENOMEM : 0;
}

static void completion_adopted(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	bool answered = outcome->code == RH_OUTCOME_OK && outcome->object;

	if (answered && inflight->asking && completion_may_adopt(inflight, outcome->object)) {
		completion_write(inflight, RH_VERB_PATCH, outcome->object, completion_adoption(inflight, outcome->object));
		return;
	}
	if (!answered && outcome->code != RH_OUTCOME_CONFLICT && outcome->code != RH_OUTCOME_GONE) {
		completion_refused(inflight, outcome);
		return;
	}
	if (answered && completion_see(inflight, outcome->object) < 0)
		inflight->entry->engine->lost = true;
	if (answered && !inflight->asking)
		rh_inflight_report(inflight, false, "");
	else
		rh_engine_back_off(inflight, -1);
	completion_end(inflight);
}

static void completion_updated(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (outcome->code == RH_OUTCOME_OK && inflight->asking && outcome->object) {
		completion_update(inflight, outcome->object);
	} else if (outcome->code == RH_OUTCOME_OK) {
		completion_keep_written(inflight, outcome->object);
	} else if (outcome->code == RH_OUTCOME_GONE) {
		completion_drop_object(inflight);
		completion_end(inflight);
	} else if (outcome->code == RH_OUTCOME_CONFLICT) {
		rh_engine_back_off(inflight, -1);
		completion_end(inflight);
	} else {
		completion_refused(inflight, outcome);
	}
}

/* All answers of a look at the further objects are there. */
static void completion_end_checks(struct rh_engine_entry *entry)
{
	struct rh_queue *queue = &entry->engine->queue;

	if (entry->checked)
		entry->check_failures = 0;
	else
		entry->check_at = entry->engine->now + rh_queue_wait(queue, entry->check_failures++);
	rh_queue_add(queue, &entry->item, entry->checked || entry->barred ? RH_QUEUE_NOW : entry->check_at);
}

/* @return whether it is known now whether the object is there */
static bool completion_learn(const struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	bool found = outcome->code == RH_OUTCOME_OK && outcome->object;

	if (!found && outcome->code != RH_OUTCOME_GONE)
		return false;
	if (found && completion_judge(inflight, outcome->object) == COMPLETION_OURS)
		return completion_keep_found(inflight, outcome->object) == 0;
	completion_forget_object(inflight);
	return true;
}

/* Is the name of what serves pods another's? Of other objects that is found out when they are made. */
static bool completion_finds_taken(const struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	return outcome->code == RH_OUTCOME_OK && outcome->object && rh_inflight_has_v1_message(inflight) &&
	       completion_judge(inflight, outcome->object) == COMPLETION_FOREIGN;
}

/*
 * After a start, and while a name is another's. What cannot be found out now is asked again. What may not be read is
 * told to users, and counts as missing until it may: after some time it is made blindly.
 */
static void completion_checked(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	struct rh_engine_entry *entry = inflight->entry;
	bool denied = outcome->code == RH_OUTCOME_DENIED;

	entry->checks--;
	if (completion_finds_taken(inflight, outcome)) {
		completion_forget_object(inflight);
		rh_inflight_back_off_taken(inflight, outcome->object, false);
	} else if (completion_learn(inflight, outcome)) {
		completion_forget_refusal(inflight);
		rh_engine_clear_backoff(inflight);
	} else {
		entry->checked = false;
		entry->barred = entry->barred && denied;
	}
	if (denied) {
		rh_inflight_report(inflight, true, outcome->message);
		rh_engine_refuse(inflight, true, outcome->message);
	}
	if (denied && entry->check_failures == 0)
		rh_engine_back_off(inflight, -1);
	rh_inflight_free(inflight);
	if (entry->checks == 0)
		completion_end_checks(entry);
}

void rh_inflight_on_done(void *arg, const struct rh_outcome *outcome)
{
	struct rh_inflight *inflight = arg;

	inflight->entry->engine->requests--;
	inflight->id = 0;
	if (inflight->old && inflight->verb != RH_DELETE_JOB)
		completion_end(inflight);
	else if (inflight->checking)
		completion_checked(inflight, outcome);
	else if (rh_verb_creates(inflight->verb))
		completion_created(inflight, outcome);
	else if (rh_verb_deletes(inflight->verb))
		completion_deleted(inflight, outcome);
	else if (rh_verb_adopts(inflight->verb))
		completion_adopted(inflight, outcome);
	else
		completion_updated(inflight, outcome);
}
