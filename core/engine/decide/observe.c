/* SPDX-License-Identifier: Apache-2.0 */
/* Which pod counts for which replica, and the state of the replica that follows. */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "engine/decide/replicas.h"
#include "engine/decide/report.h"
#include "job/kind.h"

/*
 * Of two pods of one replica the live one counts, then the older one, then the first by name, so that every pass
 * chooses the same.
 */
static bool observe_counts_before(const struct rh_pod *a, const struct rh_pod *b)
{
	if (a->deleting != b->deleting)
		return b->deleting;
	if (rh_pod_finished(a) != rh_pod_finished(b))
		return rh_pod_finished(b);
	if (a->created_at != b->created_at)
		return a->created_at < b->created_at;
	return strcmp(a->name, b->name) < 0;
}

static void observe_pod(struct rh_decision *decision, const struct rh_pod *pod)
{
	struct rh_ledger *ledger = &decision->plan->ledger;
	size_t place;

	/* Only the job's annotation records the attempt, and users can remove it. */
	if (pod->attempt > ledger->attempt)
		ledger->attempt = pod->attempt;
	if (!rh_decision_place(decision, pod->type, pod->index, &place))
		return;
	if (!decision->pods[place] || observe_counts_before(pod, decision->pods[place]))
		decision->pods[place] = pod;
}

/* @return whether an object without an owner has the name of the replica's object */
static bool observe_is_orphan(const struct rh_decision *decision, const char *owner, const char *name, size_t place)
{
	char expected[RH_NAME_SIZE];
	int32_t index;
	const struct rh_replica_spec *spec;

	if (*owner)
		return false;
	spec = rh_decision_spec(decision, place, &index);
	return strcmp(name, rh_job_replica_name(decision->job, spec->type, index, expected)) == 0;
}

/* A finished pod is not adopted; one that is being deleted frees its name soon. */
static int observe_orphan_pod(struct rh_decision *decision, const struct rh_pod *pod)
{
	size_t place;

	if (!rh_decision_place(decision, pod->type, pod->index, &place) || pod->deleting || rh_pod_finished(pod) ||
	    !observe_is_orphan(decision, pod->owner_uid, pod->name, place))
		return 0;
	if (!decision->orphan_pods)
		decision->orphan_pods = rh_alloc_array(rh_decision_places(decision), sizeof(*decision->orphan_pods));
	if (!decision->orphan_pods)
		return rh_fail_oom(decision->err);
	decision->orphan_pods[place] = pod;
	return 0;
}

static int observe_orphan_service(struct rh_decision *decision, const struct rh_child *child)
{
	size_t place;

	if (strcmp(child->kind, "Service") != 0 || child->deleting ||
	    !rh_decision_place(decision, child->type, child->index, &place) ||
	    !observe_is_orphan(decision, child->owner_uid, child->name, place))
		return 0;
	if (!decision->orphan_services)
		decision->orphan_services = rh_alloc_array(rh_decision_places(decision), sizeof(*decision->orphan_services));
	if (!decision->orphan_services)
		return rh_fail_oom(decision->err);
	decision->orphan_services[place] = child;
	return 0;
}

static void observe_service(struct rh_decision *decision, const struct rh_child *child)
{
	size_t place;

	if (rh_decide_is_service(decision, child) && rh_decision_place(decision, child->type, child->index, &place))
		decision->services[place] = child;
}

/* offsets[], from the job's replicas; all 0 when there are too many, as in an invalid job that has finished. */
static int observe_sizes(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	bool finished = rh_job_status_finished(&job->status);
	struct rh_kind_path map;
	size_t total = 0;

	if (job->weight > RH_JOB_WEIGHT_MAX && !finished)
		return rh_fail(
			decision->err, RH_EINVAL,
			"the job takes %zu bytes of memory; a job that takes more than %zu cannot be run: make it smaller",
			job->weight, RH_JOB_WEIGHT_MAX);
	for (size_t i = 0; i < job->spec_count; i++) {
		total += job->specs[i].replicas > 0 ? (size_t)job->specs[i].replicas : 0;
		decision->offsets[i + 1] = total;
	}
	if (total <= RH_DECIDE_REPLICAS_MAX)
		return 0;
	memset(decision->offsets, 0, sizeof(decision->offsets));
	if (finished)
		return 0;
	rh_kind_replicas_path(job->kind, &map);
	return rh_fail(decision->err, RH_EINVAL, "%s: wants %zu replicas; at most %d can be run",
	               map.count > 0 ? map.text : "spec", total, RH_DECIDE_REPLICAS_MAX);
}

static int observe_allocate(struct rh_decision *decision)
{
	size_t places = rh_decision_places(decision);

	decision->pods = rh_alloc_array(places, sizeof(*decision->pods));
	decision->services = rh_alloc_array(places, sizeof(*decision->services));
	decision->slots = rh_alloc_array(places, sizeof(*decision->slots));
	decision->owned = rh_alloc_array(decision->world->pod_count, sizeof(*decision->owned));
	if (!decision->pods || !decision->services || !decision->slots || !decision->owned)
		return rh_fail_oom(decision->err);
	return 0;
}

int rh_decide_tables(struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;
	int r = observe_sizes(decision);

	if (r == 0)
		r = observe_allocate(decision);
	if (r < 0)
		return r;
	for (size_t i = 0; i < world->pod_count && r == 0; i++) {
		if (strcmp(world->pods[i]->owner_uid, decision->job->uid) != 0) {
			r = observe_orphan_pod(decision, world->pods[i]);
			continue;
		}
		decision->owned[decision->owned_count++] = world->pods[i];
		observe_pod(decision, world->pods[i]);
	}
	for (size_t i = 0; i < world->child_count && r == 0; i++) {
		observe_service(decision, world->children[i]);
		r = observe_orphan_service(decision, world->children[i]);
	}
	return r;
}

static bool observe_restarts(const struct rh_replica_spec *spec, const struct rh_pod *pod)
{
	int death = rh_exit_signal(pod->exit_code);

	/* It ended because of its deletion: the deletion counts, as it does while the pod still runs. */
	if (pod->deleting && (death == SIGTERM || death == SIGKILL))
		return true;
	switch (spec->policy) {
	case RH_RESTART_ALWAYS:
	case RH_RESTART_ON_FAILURE:
		return true;
	case RH_RESTART_EXIT_CODE:
		return rh_exit_retryable(pod->exit_code);
	case RH_RESTART_NEVER:
	case RH_RESTART_UNKNOWN:
		return false;
	}
	return false;
}

/*
 * A pod that is accounted for is being replaced; one that is not a loss was stopped on purpose, for example by scaling
 * down, and does not count.
 */
static enum rh_slot observe_ended(const struct rh_decision *decision, const struct rh_replica_spec *spec,
                                  const struct rh_pod *pod)
{
	const struct rh_ledger_type *type = rh_ledger_find(&decision->plan->ledger, spec->type);

	if (!rh_ledger_counted(&decision->plan->ledger, pod->uid))
		return RH_SLOT_BROKEN;
	return type && rh_index_set_has(&type->lost, pod->index) ? RH_SLOT_RESTARTING : RH_SLOT_STALE;
}

static enum rh_slot observe_pod_slot(const struct rh_decision *decision, const struct rh_replica_spec *spec,
                                     const struct rh_pod *pod)
{
	const struct rh_ledger *ledger = &decision->plan->ledger;

	if (!*pod->uid)
		return RH_SLOT_STARTING;
	if (pod->attempt != ledger->attempt)
		return RH_SLOT_STALE;
	switch (pod->phase) {
	case RH_PHASE_SUCCEEDED:
		return RH_SLOT_SUCCEEDED;
	case RH_PHASE_FAILED:
		/* Independent of the policy: the external deletion was counted while the pod still ran. */
		if (pod->deleting && rh_ledger_counted(ledger, pod->uid))
			return observe_ended(decision, spec, pod);
		return observe_restarts(spec, pod) ? observe_ended(decision, spec, pod) : RH_SLOT_FAILED;
	case RH_PHASE_RUNNING:
		return pod->deleting ? observe_ended(decision, spec, pod) : RH_SLOT_ACTIVE;
	default:
		return RH_SLOT_STARTING;
	}
}

static enum rh_slot observe_slot(const struct rh_decision *decision, size_t spec, int32_t index)
{
	const struct rh_replica_spec *replica = &decision->job->specs[spec];
	const struct rh_ledger_type *type = rh_ledger_find(&decision->plan->ledger, replica->type);
	const struct rh_pod *pod = decision->pods[decision->offsets[spec] + (size_t)index];

	if (type && rh_index_set_has(&type->again, index))
		return RH_SLOT_RESTARTING;
	if (type && rh_index_set_has(&type->succeeded, index))
		return RH_SLOT_SUCCEEDED;
	if (pod)
		return observe_pod_slot(decision, replica, pod);
	return type && rh_index_set_has(&type->lost, index) ? RH_SLOT_RESTARTING : RH_SLOT_ABSENT;
}

/* Record a new success in the ledger, with its restarts in place. */
static int observe_success(struct rh_decision *decision, size_t place)
{
	struct rh_ledger *ledger = &decision->plan->ledger;
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);
	struct rh_ledger_type *type = rh_ledger_type_of(ledger, spec->type);

	if (!type)
		return RH_ENOMEM;
	if (rh_index_set_has(&type->succeeded, index))
		return 0;
	type->restarts[RH_CAUSE_IN_PLACE] += decision->pods[place]->restarts;
	rh_index_set_remove(&type->lost, index);
	if (rh_index_set_add(&type->succeeded, index) < 0)
		return RH_ENOMEM;
	return rh_decide_emit_exit(decision, place);
}

/*
 * A live pod: when it was noted for scaling down and the job was scaled up before its delete, its end counts again. A
 * running pod is not a loss any more.
 */
static void observe_living(struct rh_decision *decision, size_t spec, size_t place)
{
	struct rh_ledger *ledger = &decision->plan->ledger;
	const struct rh_ledger_type *type = rh_ledger_find(ledger, decision->job->specs[spec].type);

	if (!decision->pods[place]->deleting)
		rh_ledger_unnote(ledger, decision->pods[place]->uid);
	if (type && decision->slots[place] == RH_SLOT_ACTIVE)
		rh_index_set_remove(&ledger->types[type - ledger->types].lost, (int32_t)(place - decision->offsets[spec]));
}

/* @return the replicas that the status counts as running or ended */
static int64_t observe_reported(const struct rh_job_status *status, const char *type)
{
	for (size_t i = 0; i < status->replica_count; i++) {
		const struct rh_replica_status *replica = &status->replicas[i];

		if (strcmp(replica->type, type) == 0)
			return (int64_t)replica->active + replica->succeeded + replica->failed;
	}
	return 0;
}

/* @return whether the counts of the status, once written, include this replica */
static bool observe_is_reported(const struct rh_decision *decision, size_t place)
{
	const struct rh_pod *pod = decision->pods[place];

	return decision->slots[place] == RH_SLOT_ACTIVE || decision->slots[place] == RH_SLOT_SUCCEEDED ||
	       (pod && pod->phase == RH_PHASE_FAILED && decision->slots[place] != RH_SLOT_STALE);
}

static bool observe_is_lost(const struct rh_ledger_type *type, int32_t index)
{
	return type && (rh_index_set_has(&type->lost, index) || rh_index_set_has(&type->again, index));
}

/* @return whether the replica may be one of those that the status counts: it exists, or its end is counted and the
 * status may not show that yet. */
static bool observe_accounted(const struct rh_decision *decision, size_t spec, size_t place)
{
	const struct rh_ledger_type *type = rh_ledger_find(&decision->plan->ledger, decision->job->specs[spec].type);
	const struct rh_pod *pod = decision->pods[place];

	if (observe_is_reported(decision, place) || (pod && pod->phase == RH_PHASE_RUNNING))
		return true;
	return observe_is_lost(type, (int32_t)(place - decision->offsets[spec]));
}

/* Once the status counts exactly the existing replicas, the record of losses that it does not show is not needed any
 * more. */
static void observe_forget_lost(struct rh_decision *decision, size_t spec)
{
	struct rh_ledger *ledger = &decision->plan->ledger;
	const struct rh_ledger_type *type = rh_ledger_find(ledger, decision->job->specs[spec].type);
	int64_t reported = 0;

	if (!type)
		return;
	for (size_t place = decision->offsets[spec]; place < decision->offsets[spec + 1]; place++)
		reported += observe_is_reported(decision, place);
	if (reported != observe_reported(&decision->job->status, type->type))
		return;
	for (size_t place = decision->offsets[spec]; place < decision->offsets[spec + 1]; place++) {
		if (!decision->pods[place] || decision->slots[place] == RH_SLOT_STARTING)
			rh_index_set_remove(&ledger->types[type - ledger->types].lost, (int32_t)(place - decision->offsets[spec]));
	}
}

static bool observe_remembered(const struct rh_ledger_type *type, int32_t index)
{
	return observe_is_lost(type, index) || (type && rh_index_set_has(&type->succeeded, index));
}

/* @return more than the highest index that is remembered */
static int32_t observe_room(const struct rh_ledger_type *type)
{
	int32_t room = type->succeeded.room > type->lost.room ? type->succeeded.room : type->lost.room;

	return room > type->again.room ? room : type->again.room;
}

/* Surplus replicas were counted, too, as long as their pods exist or the ledger has them. */
static int64_t observe_surplus(const struct rh_decision *decision, size_t spec)
{
	const struct rh_replica_spec *replica = &decision->job->specs[spec];
	const struct rh_ledger_type *type = rh_ledger_find(&decision->plan->ledger, replica->type);
	int64_t count = 0;

	for (size_t i = 0; i < decision->owned_count; i++) {
		const struct rh_pod *pod = decision->owned[i];

		count += pod->index >= replica->replicas && pod->phase > RH_PHASE_PENDING &&
		         strcasecmp(pod->type, replica->type) == 0 && !observe_remembered(type, pod->index);
	}
	for (int32_t i = replica->replicas; type && i < observe_room(type); i++)
		count += observe_remembered(type, i);
	return count;
}

/*
 * Pods that vanished without an event, such as by a forced deletion while no controller ran: the status counts more
 * replicas than can be accounted for. Replicas whose restart is counted are accounted for, so a status that could not
 * be written in time makes no second count.
 */
static void observe_vanished(struct rh_decision *decision, size_t spec)
{
	/* includes counts that are held back, which are unchanged so far */
	int64_t missing = observe_reported(&decision->plan->status, decision->job->specs[spec].type);
	size_t end = decision->offsets[spec + 1];

	for (size_t place = decision->offsets[spec]; place < end && missing > 0; place++)
		missing -= observe_accounted(decision, spec, place);
	if (missing > 0)
		missing -= observe_surplus(decision, spec);
	for (size_t place = decision->offsets[spec]; place < end && missing > 0; place++) {
		if (decision->slots[place] == RH_SLOT_ABSENT) {
			decision->slots[place] = RH_SLOT_BROKEN;
			missing--;
		}
	}
}

/* @return whether a pod is left of the replicas of @p type that stop for a restart */
static bool observe_stops(const struct rh_decision *decision, const struct rh_ledger_type *type)
{
	for (size_t i = 0; i < decision->owned_count; i++) {
		if (strcasecmp(decision->owned[i]->type, type->type) == 0 &&
		    rh_index_set_has(&type->again, decision->owned[i]->index))
			return true;
	}
	return false;
}

/* Replicas that stopped for a restart which the plugin wanted run again, together, once no pod of them is left. */
static int observe_again(const struct rh_decision *decision, struct rh_ledger_type *type)
{
	if (rh_index_set_is_empty(&type->again) || observe_stops(decision, type))
		return 0;
	for (int32_t i = 0; i < type->again.room; i++) {
		if (rh_index_set_has(&type->again, i) && rh_index_set_add(&type->lost, i) < 0)
			return RH_ENOMEM;
	}
	rh_index_set_deinit(&type->again);
	return 0;
}

static int observe_spec(struct rh_decision *decision, size_t spec)
{
	const struct rh_replica_spec *replica = &decision->job->specs[spec];
	const struct rh_ledger_type *type = rh_ledger_find(&decision->plan->ledger, replica->type);

	if (type && observe_again(decision, &decision->plan->ledger.types[type - decision->plan->ledger.types]) < 0)
		return rh_fail_oom(decision->err);
	for (int32_t i = 0; i < replica->replicas; i++) {
		size_t place = decision->offsets[spec] + (size_t)i;

		decision->slots[place] = (uint8_t)observe_slot(decision, spec, i);
		if (decision->slots[place] == RH_SLOT_ACTIVE || decision->slots[place] == RH_SLOT_STARTING)
			observe_living(decision, spec, place);
		if (decision->slots[place] == RH_SLOT_SUCCEEDED && observe_success(decision, place) < 0)
			return rh_fail_oom(decision->err);
	}
	if (decision->job->status.started_at)
		observe_vanished(decision, spec);
	observe_forget_lost(decision, spec);
	return 0;
}

static void observe_count(struct rh_decision *decision, size_t spec)
{
	struct rh_counts *counts = &decision->counts[spec];

	*counts = (struct rh_counts){.head = RH_HEAD(struct rh_counts), .desired = decision->job->specs[spec].replicas};
	for (size_t place = decision->offsets[spec]; place < decision->offsets[spec + 1]; place++) {
		counts->active += decision->slots[place] == RH_SLOT_ACTIVE;
		counts->ready += decision->slots[place] == RH_SLOT_ACTIVE && decision->pods[place]->ready;
		counts->succeeded += decision->slots[place] == RH_SLOT_SUCCEEDED;
		counts->failed += decision->slots[place] == RH_SLOT_FAILED;
		counts->restarting += decision->slots[place] == RH_SLOT_BROKEN || decision->slots[place] == RH_SLOT_RESTARTING;
	}
}

/*
 * Under restart scope job the first failure decides: later ones may be its consequences, so that a permanent exit code
 * of a peer does not turn a restart into a failure of the job.
 */
static void observe_consequences(struct rh_decision *decision)
{
	if (decision->job->scope != RH_SCOPE_JOB || decision->first == SIZE_MAX ||
	    decision->slots[decision->first] == RH_SLOT_FAILED)
		return;
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		if (decision->slots[place] == RH_SLOT_FAILED)
			decision->slots[place] = RH_SLOT_BROKEN;
	}
}

/* In a job that has finished nothing restarts. */
static uint8_t observe_settled(const struct rh_decision *decision, size_t place, enum rh_slot slot)
{
	const struct rh_pod *pod = decision->pods[place];
	bool failed = pod && pod->phase == RH_PHASE_FAILED && slot != RH_SLOT_SUCCEEDED;

	return (uint8_t)(failed && rh_job_status_finished(&decision->job->status) ? RH_SLOT_FAILED : slot);
}

void rh_decide_look(struct rh_decision *decision)
{
	for (size_t spec = 0; spec < decision->job->spec_count; spec++) {
		for (int32_t i = 0; i < decision->job->specs[spec].replicas; i++) {
			size_t place = decision->offsets[spec] + (size_t)i;

			decision->slots[place] = observe_settled(decision, place, observe_slot(decision, spec, i));
		}
		observe_count(decision, spec);
	}
}

int rh_decide_observe(struct rh_decision *decision)
{
	for (size_t i = 0; i < decision->job->spec_count; i++) {
		int r = observe_spec(decision, i);

		if (r < 0)
			return r;
	}
	if (rh_decide_fault(decision) < 0)
		return rh_fail_oom(decision->err);
	observe_consequences(decision);
	for (size_t i = 0; i < decision->job->spec_count; i++)
		observe_count(decision, i);
	return 0;
}
