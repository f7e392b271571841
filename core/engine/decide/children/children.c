/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and deletes of pods and Services. V1: ReconcilePods, ReconcileServices (pkg/controller.v1/common). */
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "engine/decide/children/children.h"
#include "job/values/names.h"

static int children_create(struct rh_decision *decision, enum rh_action_verb verb, size_t place)
{
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);
	char name[RH_NAME_SIZE];
	bool is_service = verb == RH_CREATE_SERVICE;

	if (decision->creates >= RH_PLAN_CREATES_MAX || decision->asked[is_service] >= decision->allowed[is_service])
		return 0;
	rh_job_replica_name(decision->job, spec->type, index, name);
	if (!rh_plan_act(decision->plan, verb, spec->type, index, name))
		return RH_ENOMEM;
	decision->creates++;
	decision->asked[is_service]++;
	if (verb == RH_CREATE_POD)
		decision->slots[place] = RH_SLOT_STARTING;
	return 0;
}

static bool children_is_held(const struct rh_decision *decision, size_t place)
{
	return decision->held && decision->held[place];
}

/* @return whether it restarts with others, and waits until their pods are gone */
static bool children_is_stopping(const struct rh_decision *decision, size_t place)
{
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);

	return rh_ledger_stops(&decision->plan->ledger, spec->type, index);
}

static bool children_lack_pod(const struct rh_decision *decision, size_t place)
{
	return !decision->pods[place] && !children_is_held(decision, place) && !children_is_stopping(decision, place) &&
	       !(decision->orphan_pods && decision->orphan_pods[place]) &&
	       (decision->slots[place] == RH_SLOT_ABSENT || decision->slots[place] == RH_SLOT_RESTARTING);
}

/* Leaders use the rights that the job grants, so they are created after these. */
static bool children_may_begin(const struct rh_decision *decision, size_t spec)
{
	return decision->granted || !rh_decide_leads(&decision->job->specs[spec]);
}

/* Index 0 is created first, before all others: an invalid template then gives one refusal, not a thousand. */
static bool children_may_follow(const struct rh_decision *decision, size_t spec)
{
	size_t lead = decision->offsets[spec];

	if (lead == decision->offsets[spec + 1])
		return false;
	if (children_is_held(decision, lead) && !decision->pods[lead])
		return true;
	return decision->slots[lead] == RH_SLOT_SUCCEEDED || (decision->pods[lead] && *decision->pods[lead]->uid);
}

static int children_create_leads(struct rh_decision *decision)
{
	for (size_t i = 0; i < decision->job->spec_count; i++) {
		size_t lead = decision->offsets[i];

		if (lead < decision->offsets[i + 1] && children_may_begin(decision, i) && children_lack_pod(decision, lead) &&
		    children_create(decision, RH_CREATE_POD, lead) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static int children_create_rest(struct rh_decision *decision)
{
	for (size_t i = 0; i < decision->job->spec_count; i++) {
		if (!children_may_begin(decision, i) || !children_may_follow(decision, i))
			continue;
		for (size_t place = decision->offsets[i] + 1; place < decision->offsets[i + 1]; place++) {
			if (children_lack_pod(decision, place) && children_create(decision, RH_CREATE_POD, place) < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}

/* A Service for each replica that has a pod, or gets one now. */
static int children_create_services(struct rh_decision *decision)
{
	if (!(decision->job->kind->flags & RH_KIND_SERVICES))
		return 0;
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		bool has_pod = decision->pods[place] || decision->slots[place] == RH_SLOT_STARTING;
		bool orphaned = decision->orphan_services && decision->orphan_services[place];

		if (has_pod && !decision->services[place] && !orphaned &&
		    children_create(decision, RH_CREATE_SERVICE, place) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* @return whether the labels name a replica of a known type beyond the job's replicas */
static bool children_is_surplus(const struct rh_decision *decision, const char *type, int32_t index, size_t *ret_spec)
{
	return rh_decision_type(decision, type, ret_spec) && index >= decision->job->specs[*ret_spec].replicas &&
	       index >= 0;
}

/*
 * A surplus pod is deleted once the status does not count it any more: otherwise it could count as lost when the job is
 * scaled up again. Its UID is noted, so that its end does not count as a restart.
 */
static int children_stop_surplus(struct rh_decision *decision, const struct rh_pod *pod, size_t spec)
{
	const struct rh_job_status *status = &decision->job->status;

	for (size_t i = 0; i < status->replica_count; i++) {
		if (strcmp(status->replicas[i].type, decision->job->specs[spec].type) == 0 &&
		    status->replicas[i].active > decision->counts[spec].active)
			return 0;
	}
	if (!pod->deleting && *pod->uid && rh_ledger_note(&decision->plan->ledger, pod->uid) < 0)
		return RH_ENOMEM;
	return rh_decide_stop(decision, pod);
}

/* Pods that count for no replica: surplus ones, duplicates of an index, those of another attempt. */
static int children_stop_pod(struct rh_decision *decision, const struct rh_pod *pod)
{
	size_t spec, place;

	if (children_is_surplus(decision, pod->type, pod->index, &spec))
		return children_stop_surplus(decision, pod, spec);
	if (!rh_decision_place(decision, pod->type, pod->index, &place))
		return 0;
	if (decision->pods[place] != pod) {
		if (!pod->deleting && *pod->uid && rh_ledger_note(&decision->plan->ledger, pod->uid) < 0)
			return RH_ENOMEM;
		return rh_decide_stop(decision, pod);
	}
	return decision->slots[place] == RH_SLOT_STALE || pod->deleting ? rh_decide_stop(decision, pod) : 0;
}

static int children_stop(struct rh_decision *decision)
{
	size_t spec;

	for (size_t i = 0; i < decision->owned_count; i++) {
		if (children_stop_pod(decision, decision->owned[i]) < 0)
			return RH_ENOMEM;
	}
	for (size_t i = 0; i < decision->world->child_count; i++) {
		const struct rh_child *child = decision->world->children[i];

		if (rh_decide_is_service(decision, child) && children_is_surplus(decision, child->type, child->index, &spec) &&
		    rh_decide_drop_service(decision, child) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static int children_adopt(struct rh_decision *decision, enum rh_action_verb verb, const char *name, const char *uid)
{
	struct rh_action *action = rh_plan_act(decision->plan, verb, NULL, 0, name);

	if (!action)
		return RH_ENOMEM;
	action->uid = rh_strdup(uid);
	return action->uid ? 0 : RH_ENOMEM;
}

/* Objects without an owner, for example after a delete of a job with orphan propagation. */
static int children_adopt_all(struct rh_decision *decision)
{
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		const struct rh_pod *pod = decision->orphan_pods ? decision->orphan_pods[place] : NULL;
		const struct rh_child *service = decision->orphan_services ? decision->orphan_services[place] : NULL;

		if (pod && !decision->pods[place] && children_adopt(decision, RH_ADOPT_POD, pod->name, pod->uid) < 0)
			return RH_ENOMEM;
		if (service && !decision->services[place] &&
		    children_adopt(decision, RH_ADOPT_SERVICE, service->name, service->uid) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

int rh_decide_children(struct rh_decision *decision)
{
	decision->allowed[0] = rh_decide_creates_allowed(decision, RH_CREATE_POD);
	decision->allowed[1] = rh_decide_creates_allowed(decision, RH_CREATE_SERVICE);
	if ((decision->orphan_pods || decision->orphan_services) && children_adopt_all(decision) < 0)
		return RH_ENOMEM;
	if (rh_decide_gang_is_open(decision)) {
		if (decision->equipped && (children_create_leads(decision) < 0 || children_create_rest(decision) < 0))
			return RH_ENOMEM;
		if (children_create_services(decision) < 0)
			return RH_ENOMEM;
	}
	return children_stop(decision);
}
