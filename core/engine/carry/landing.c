/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How writes to children end. What an answer leaves open is settled by reading; what was refused is told in the
 * server's words and waits, longer each time.
 */
#include <string.h>

#include "engine/carry/parts.h"

/* Decide again when that may have something to do: what waits for the lead replica, or what the window held back. */
static void flight_end(struct rh_flight *flight)
{
	struct rh_engine_entry *entry = flight->entry;
	struct rh_engine *engine = entry->engine;
	bool leads = flight->index == 0;

	rh_flight_free(flight);
	if (rh_engine_is_kept(entry) && (leads || 2 * entry->flight_count <= engine->options.window))
		rh_queue_add(&engine->queue, &entry->item, RH_QUEUE_NOW);
	rh_engine_reap(entry);
}

static void flight_tell_group(const struct rh_flight *flight)
{
	rh_engine_tell(flight->entry, &(struct rh_engine_news){flight->job_uid, false, "JobTerminated",
	                                                       "Job has been terminated. Deleting PodGroup"});
	rh_flight_tell(flight, false, "");
}

/* It is not known whether its containers still run somewhere: who looks at the job has to know. */
static void flight_tell_force(const struct rh_flight *flight)
{
	rh_auto_free char *message = rh_asprintf("Deleted pod by force: %s did not end within %s%s%s%s", flight->name,
	                                         RH_ANNOTATION_TERMINATING_TIMEOUT, *flight->node ? "; its node " : "",
	                                         flight->node, *flight->node ? " may be lost" : "");

	if (message)
		rh_engine_tell(flight->entry, &(struct rh_engine_news){flight->job_uid, true, "ForcedDeletePod", message});
}

/* V1 tells nothing of further objects that went well, but for a PodGroup that goes. */
static void flight_tell_success(const struct rh_flight *flight)
{
	if (flight->verb == RH_DELETE_OBJECT && strcmp(flight->resource->kind, RH_GANG_OBJECT) == 0)
		flight_tell_group(flight);
	else if (flight->node)
		flight_tell_force(flight);
	else if (rh_verb_of_pod(flight->verb) || rh_verb_of_service(flight->verb) || flight->verb == RH_DELETE_JOB)
		rh_flight_tell(flight, false, "");
}

static void flight_refused(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	if (outcome->code == RH_OUTCOME_THROTTLED) {
		rh_engine_hold(flight, outcome->retry_after);
	} else {
		bool told = outcome->code != RH_OUTCOME_UNKNOWN;
		bool alone = rh_verb_of_object(flight->verb);
		bool counts = told && (alone || rh_verb_creates(flight->verb));

		if (told)
			rh_flight_tell(flight, true, outcome->message);
		if (counts)
			rh_engine_refuse(flight, alone, outcome->message);
		if (!counts || alone)
			rh_engine_hold(flight, -1);
	}
	flight_end(flight);
}

static void flight_ask(struct rh_flight *flight)
{
	struct rh_request request = {.verb = rh_flight_reads(flight)};
	struct rh_cached *cached;

	flight->asking = true;
	if (rh_flight_send(flight, &request) == 0)
		return;
	cached = rh_verb_deletes(flight->verb) ? rh_flight_target(flight) : NULL;
	if (cached)
		rh_cached_set_stopping(cached, false);
	rh_engine_hold(flight, -1);
	flight_end(flight);
}

/*
 * Whose is it? FLIGHT_ASTRAY: our job's, but by its labels, which anybody may edit, it is not the replica of that name,
 * or another job's.
 */
enum flight_found { FLIGHT_FOREIGN, FLIGHT_ASTRAY, FLIGHT_OURS };

/* Of a pod or Service: is what it makes the replica that these labels say? */
static bool flight_is_for(const struct rh_flight *flight, const char *type, int32_t index)
{
	if (flight->pod)
		return index == flight->pod->index && strcmp(type, flight->pod->type) == 0;
	return index == flight->child->index && strcmp(type, flight->child->type) == 0;
}

/* Whether labels say which job it belongs to, and that it is ours. A PodGroup is found by its owner. */
static bool flight_is_labelled(const struct rh_flight *flight, const struct rh_json *object)
{
	return rh_verb_of_object(flight->verb) || rh_engine_is_labelled(flight->entry, object);
}

static bool flight_is_replica(const struct rh_flight *flight, const struct rh_child *found)
{
	return rh_verb_of_object(flight->verb) || flight_is_for(flight, found->type, found->index);
}

static enum flight_found flight_judge(const struct rh_flight *flight, const struct rh_json *object)
{
	rh_auto(child) child = NULL;

	if (rh_child_parse(flight->entry->kind->kind, object, &child) < 0 || strcmp(child->owner_uid, flight->job_uid) != 0)
		return FLIGHT_FOREIGN;
	return flight_is_labelled(flight, object) && flight_is_replica(flight, child) ? FLIGHT_OURS : FLIGHT_ASTRAY;
}

/* V1 leaves the queue that was chosen for a PodGroup as it is (COMPAT B.8). */
static int flight_keep_queue(struct rh_json *wanted, const struct rh_json *actual)
{
	const char *queue = rh_json_string_at(actual, "spec.queue");
	struct rh_json *spec = rh_json_get(wanted, "spec");

	if (!rh_json_get(spec, "queue") || !queue || !*queue)
		return 0;
	return rh_json_set_string(spec, "queue", queue);
}

/*
 * Whether the object is as the flight wants it. Of a PodGroup, annotations are those of its making, and the queue that
 * it has becomes the one that is wanted. @return 1 when it is, 0 or RH_ENOMEM
 */
static int flight_is_right(const struct rh_flight *flight, const struct rh_json *actual)
{
	const struct rh_json *wanted = flight->body;

	if (strcmp(flight->resource->kind, RH_GANG_OBJECT) != 0)
		return rh_engine_covers(actual, wanted);
	if (flight_keep_queue(flight->body, actual) < 0)
		return RH_ENOMEM;
	return rh_engine_covers(rh_json_get(actual, "spec"), rh_json_get(wanted, "spec")) &&
	       rh_engine_covers(rh_json_at(actual, "metadata.labels"), rh_json_at(wanted, "metadata.labels"));
}

/* A further object that was written by somebody else under our name, or by us before a start, counts by its content. */
static int flight_keep_found(const struct rh_flight *flight, const struct rh_json *object)
{
	int right = flight->body ? flight_is_right(flight, object) : 0;

	return right < 0 ? right : rh_engine_keep_object(flight->entry, object, right ? flight->hash : 0);
}

static void flight_arrived(struct rh_flight *flight, const struct rh_json *object, bool tell)
{
	struct rh_engine_entry *entry = flight->entry;
	int r = 0;

	if (flight->verb != RH_CREATE_OBJECT)
		r = rh_engine_take_child(flight, object);
	else if (!rh_flight_is_buried(flight, rh_object_text(object, "metadata", "uid")))
		r = flight_keep_found(flight, object);
	if (r < 0)
		entry->engine->lost = true;
	if (tell)
		flight_tell_success(flight);
	rh_engine_drop_hold(flight);
	rh_engine_forget_refusal(entry, flight->resource->kind, flight->probe ? NULL : flight->name);
	flight_end(flight);
}

static void flight_taken(struct rh_flight *flight, const struct rh_json *object, bool astray)
{
	rh_flight_hold_taken(flight, object, astray);
	flight_end(flight);
}

/* Has the watch told meanwhile of what was to be made? Then what was read is older. */
static bool flight_is_there(const struct rh_flight *flight)
{
	const struct rh_engine_entry *entry = flight->entry;
	const struct rh_cached *cached = NULL;

	if (flight->verb == RH_CREATE_SERVICE)
		cached = rh_map_get(entry->services, flight->name);
	else if (flight->pod)
		cached = rh_map_get(entry->pods, flight->name);
	if (!cached)
		return false;
	if (cached->pod)
		return strcmp(cached->pod->owner_uid, flight->job_uid) == 0 &&
		       flight_is_for(flight, cached->pod->type, cached->pod->index);
	return strcmp(cached->child->owner_uid, flight->job_uid) == 0 &&
	       flight_is_for(flight, cached->child->type, cached->child->index);
}

static void flight_found_existing(struct rh_flight *flight, const struct rh_json *object)
{
	enum flight_found found = flight_judge(flight, object);

	if (found != FLIGHT_OURS && flight_is_there(flight)) {
		rh_engine_drop_hold(flight);
		flight_end(flight);
	} else if (found == FLIGHT_OURS)
		flight_arrived(flight, object, flight->unknown);
	else
		flight_taken(flight, object, found == FLIGHT_ASTRAY);
}

static void flight_created(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	if (flight->asking && outcome->code == RH_OUTCOME_OK && outcome->object) {
		flight_found_existing(flight, outcome->object);
	} else if (flight->asking && rh_verb_of_object(flight->verb) && outcome->code == RH_OUTCOME_DENIED) {
		flight_refused(flight, outcome);
	} else if (flight->asking) {
		if (flight->unknown || outcome->code != RH_OUTCOME_GONE)
			rh_engine_hold(flight, -1);
		flight_end(flight);
	} else if (outcome->code == RH_OUTCOME_OK && outcome->object && flight_is_labelled(flight, outcome->object)) {
		flight_arrived(flight, outcome->object, true);
	} else if (outcome->code == RH_OUTCOME_OK || outcome->code == RH_OUTCOME_EXISTS ||
	           outcome->code == RH_OUTCOME_UNKNOWN) {
		flight->unknown = outcome->code != RH_OUTCOME_EXISTS;
		flight_ask(flight);
	} else {
		flight_refused(flight, outcome);
	}
}

/* It is not there, or another's. */
static void flight_forget_object(const struct rh_flight *flight)
{
	rh_auto_free char *key = rh_engine_object_key(flight->resource->api_version, flight->resource->kind, flight->name);

	if (key)
		rh_cached_free(rh_map_remove(flight->entry->objects, key));
	else
		flight->entry->engine->lost = true;
}

static void flight_drop_object(const struct rh_flight *flight)
{
	if (rh_flight_target(flight))
		flight_forget_object(flight);
}

/* A job that is gone, or going, is not decided about any more. */
static void flight_deleted_job(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	struct rh_engine_entry *entry = flight->entry;
	bool is_it = entry->uid && strcmp(entry->uid, flight->job_uid) == 0;

	if (is_it && outcome->object)
		(void)rh_engine_take_job(entry, outcome->object);
	else if (is_it)
		rh_engine_forget_job(entry);
	flight_tell_success(flight);
	flight_end(flight);
}

/* It was not deleted: it counts as there again, and is deleted later. */
static void flight_keep_target(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	struct rh_cached *cached = rh_flight_target(flight);

	if (cached)
		rh_cached_set_stopping(cached, false);
	flight_refused(flight, outcome);
}

/* What was refused of a further object is granted now. */
static void flight_forget_refusal(const struct rh_flight *flight)
{
	if (rh_verb_of_object(flight->verb))
		rh_engine_forget_refusal(flight->entry, flight->resource->kind, flight->name);
}

static void flight_deleted_well(struct rh_flight *flight, bool tell)
{
	if (tell)
		flight_tell_success(flight);
	if (flight->verb == RH_DELETE_OBJECT)
		flight_drop_object(flight);
	flight_forget_refusal(flight);
	rh_engine_drop_hold(flight);
	flight_end(flight);
}

/* Is what was to be deleted there, and stays? */
static bool flight_stays(const struct rh_flight *flight, const struct rh_json *object)
{
	return rh_text_equal(rh_json_string_at(object, "metadata.uid"), flight->uid) &&
	       !rh_json_at(object, "metadata.deletionTimestamp");
}

/* A conflict is another object of the name, as a rule; but whoever stands before the store may have his own reasons. */
static void flight_deleted_conflict(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	static const struct rh_outcome later = {.code = RH_OUTCOME_UNKNOWN, .message = ""};

	if (!flight->asking)
		flight_ask(flight);
	else if (outcome->code == RH_OUTCOME_GONE ||
	         (outcome->code == RH_OUTCOME_OK && outcome->object && !flight_stays(flight, outcome->object)))
		flight_deleted_well(flight, false);
	else
		flight_keep_target(flight, outcome->code == RH_OUTCOME_DENIED ? outcome : &later);
}

static void flight_deleted(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	if (flight->asking || outcome->code == RH_OUTCOME_CONFLICT)
		flight_deleted_conflict(flight, outcome);
	else if (flight->verb == RH_DELETE_JOB && outcome->code == RH_OUTCOME_OK)
		flight_deleted_job(flight, outcome);
	else if (outcome->code == RH_OUTCOME_OK || outcome->code == RH_OUTCOME_GONE)
		flight_deleted_well(flight, outcome->code == RH_OUTCOME_OK);
	else
		flight_keep_target(flight, outcome);
}

/* Put labels or annotations that are wanted over those that are there: others' stay. */
static int flight_merge_texts(struct rh_json *metadata, const struct rh_json *wanted, const char *key)
{
	const struct rh_json *texts = rh_json_at(rh_json_get(wanted, "metadata"), key);
	struct rh_json *kept = texts ? rh_json_ensure_object(metadata, key) : NULL;

	if (!texts)
		return 0;
	return kept ? rh_json_merge(kept, texts) : RH_ENOMEM;
}

/*
 * The object as it is wanted. What a server filled in goes with the rest: it fills it in again. Of metadata only labels
 * and annotations are ours. @return owned by the caller; NULL when memory is out
 */
static struct rh_json *flight_replacement(const struct rh_json *actual, const struct rh_json *wanted)
{
	const struct rh_json *status = rh_json_get(actual, "status");
	rh_auto(json) body = rh_json_copy(wanted);
	rh_auto(json) metadata = rh_json_copy(rh_json_get(actual, "metadata"));

	if (!body || !metadata || flight_merge_texts(metadata, wanted, "labels") < 0 ||
	    flight_merge_texts(metadata, wanted, "annotations") < 0)
		return NULL;
	if (rh_json_set(body, "metadata", rh_take(metadata)) < 0)
		return NULL;
	/* Where status is no resource of its own, what is left out of it would go. */
	if (status && rh_json_set(body, "status", rh_json_copy(status)) < 0)
		return NULL;
	return rh_take(body);
}

/* Write @p body (taken; NULL: memory is out) over what was read. */
static void flight_write(struct rh_flight *flight, enum rh_verb verb, const struct rh_json *actual,
                         struct rh_json *body)
{
	struct rh_request request = {
		.verb = verb,
		.uid = flight->uid,
		.resource_version = rh_json_string_at(actual, "metadata.resourceVersion"),
		.body = body,
	};

	flight->asking = false;
	if (request.body && rh_flight_send(flight, &request) == 0)
		return;
	rh_engine_hold(flight, -1);
	flight_end(flight);
}

static void flight_keep_written(struct rh_flight *flight, const struct rh_json *object)
{
	if (rh_engine_keep_object(flight->entry, object, flight->hash) < 0)
		rh_engine_hold(flight, -1);
	else
		rh_engine_drop_hold(flight);
	flight_forget_refusal(flight);
	flight_end(flight);
}

/*
 * A PodGroup is watched, so it may be known to be what it should be only now; others are known to differ. What has
 * become another's since somebody looked is left alone.
 */
static void flight_update(struct rh_flight *flight, const struct rh_json *actual)
{
	bool group = strcmp(flight->resource->kind, RH_GANG_OBJECT) == 0;

	if (flight_judge(flight, actual) != FLIGHT_OURS) {
		flight_forget_object(flight);
		flight_end(flight);
	} else if (group && flight_is_right(flight, actual) == 1)
		flight_keep_written(flight, actual);
	else
		flight_write(flight, RH_VERB_REPLACE, actual, flight_replacement(actual, flight->body));
}

/* The owner is put beside those that it has; another controller's is left alone. */
static struct rh_json *flight_adoption(const struct rh_flight *flight, const struct rh_json *actual)
{
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *metadata = patch ? rh_json_ensure_object(patch, "metadata") : NULL;
	const struct rh_json *owners = rh_json_at(actual, "metadata.ownerReferences");

	if (!metadata || (owners && rh_json_set(metadata, "ownerReferences", rh_json_copy(owners)) < 0) ||
	    rh_build_owner(flight->entry->job, metadata) < 0)
		return NULL;
	return rh_take(patch);
}

static bool flight_may_adopt(const struct rh_flight *flight, const struct rh_json *actual)
{
	rh_auto(child) child = NULL;

	return flight->entry->job && rh_child_parse(flight->entry->kind->kind, actual, &child) == 0 && !*child->owner_uid &&
	       !child->deleting && strcmp(child->uid, flight->uid) == 0;
}

/* Unless it is gone meanwhile, or another job's. @return 0 or RH_ENOMEM */
static int flight_see(const struct rh_flight *flight, const struct rh_json *object)
{
	if (!flight_is_labelled(flight, object) || rh_flight_is_buried(flight, rh_object_text(object, "metadata", "uid")))
		return 0;
	return rh_engine_see_child(flight->entry, flight->verb == RH_ADOPT_SERVICE, object) < 0 ? RH_ENOMEM : 0;
}

static void flight_adopted(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	bool answered = outcome->code == RH_OUTCOME_OK && outcome->object;

	if (answered && flight->asking && flight_may_adopt(flight, outcome->object)) {
		flight_write(flight, RH_VERB_PATCH, outcome->object, flight_adoption(flight, outcome->object));
		return;
	}
	if (!answered && outcome->code != RH_OUTCOME_CONFLICT && outcome->code != RH_OUTCOME_GONE) {
		flight_refused(flight, outcome);
		return;
	}
	if (answered && flight_see(flight, outcome->object) < 0)
		flight->entry->engine->lost = true;
	if (answered && !flight->asking)
		rh_flight_tell(flight, false, "");
	else
		rh_engine_hold(flight, -1);
	flight_end(flight);
}

static void flight_updated(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	if (outcome->code == RH_OUTCOME_OK && flight->asking && outcome->object) {
		flight_update(flight, outcome->object);
	} else if (outcome->code == RH_OUTCOME_OK) {
		flight_keep_written(flight, outcome->object);
	} else if (outcome->code == RH_OUTCOME_GONE) {
		flight_drop_object(flight);
		flight_end(flight);
	} else if (outcome->code == RH_OUTCOME_CONFLICT) {
		rh_engine_hold(flight, -1);
		flight_end(flight);
	} else {
		flight_refused(flight, outcome);
	}
}

/* All answers of a look at the further objects are there. */
static void flight_end_checks(struct rh_engine_entry *entry)
{
	struct rh_queue *queue = &entry->engine->queue;

	if (entry->checked)
		entry->check_failures = 0;
	else
		entry->check_at = entry->engine->now + rh_queue_wait(queue, entry->check_failures++);
	rh_queue_add(queue, &entry->item, entry->checked || entry->barred ? RH_QUEUE_NOW : entry->check_at);
}

/* @return whether it is known now whether the object is there */
static bool flight_learn(const struct rh_flight *flight, const struct rh_outcome *outcome)
{
	bool found = outcome->code == RH_OUTCOME_OK && outcome->object;

	if (!found && outcome->code != RH_OUTCOME_GONE)
		return false;
	if (found && flight_judge(flight, outcome->object) == FLIGHT_OURS)
		return flight_keep_found(flight, outcome->object) == 0;
	flight_forget_object(flight);
	return true;
}

/* Is the name of what serves pods another's? Of other objects that is found out when they are made. */
static bool flight_finds_taken(const struct rh_flight *flight, const struct rh_outcome *outcome)
{
	return outcome->code == RH_OUTCOME_OK && outcome->object && rh_flight_has_v1_words(flight) &&
	       flight_judge(flight, outcome->object) == FLIGHT_FOREIGN;
}

/*
 * After a start, and while a name is another's. What cannot be found out now is asked again. What may not be read is
 * told to users, and counts as missing until it may: after some time it is made blindly.
 */
static void flight_checked(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	struct rh_engine_entry *entry = flight->entry;
	bool denied = outcome->code == RH_OUTCOME_DENIED;

	entry->checks--;
	if (flight_finds_taken(flight, outcome)) {
		flight_forget_object(flight);
		rh_flight_hold_taken(flight, outcome->object, false);
	} else if (flight_learn(flight, outcome)) {
		flight_forget_refusal(flight);
		rh_engine_drop_hold(flight);
	} else {
		entry->checked = false;
		entry->barred = entry->barred && denied;
	}
	if (denied) {
		rh_flight_tell(flight, true, outcome->message);
		rh_engine_refuse(flight, true, outcome->message);
	}
	if (denied && entry->check_failures == 0)
		rh_engine_hold(flight, -1);
	rh_flight_free(flight);
	if (entry->checks == 0)
		flight_end_checks(entry);
}

void rh_flight_on_done(void *arg, const struct rh_outcome *outcome)
{
	struct rh_flight *flight = arg;

	flight->entry->engine->requests--;
	flight->id = 0;
	if (flight->old && flight->verb != RH_DELETE_JOB)
		flight_end(flight);
	else if (flight->checking)
		flight_checked(flight, outcome);
	else if (rh_verb_creates(flight->verb))
		flight_created(flight, outcome);
	else if (rh_verb_deletes(flight->verb))
		flight_deleted(flight, outcome);
	else if (rh_verb_adopts(flight->verb))
		flight_adopted(flight, outcome);
	else
		flight_updated(flight, outcome);
}
