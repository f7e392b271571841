/* SPDX-License-Identifier: Apache-2.0 */
/* One request for an entry at a time. Its outcome and watch events change the facts, from which the next one follows.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "kueue/patches.h"
#include "kueue/state.h"

/* What is expected to be seen is waited for so long before it is looked at again. */
#define ACT_PAUSE RH_SECOND
#define ACT_POLL (RH_SECOND / 5)
#define ACT_BACKOFF_FIRST (RH_SECOND / 10)
#define ACT_BACKOFF_MAX (60 * RH_SECOND)

static struct rh_log_object act_subject(const struct rh_kueue_entry *entry)
{
	return (struct rh_log_object){entry->kind->kind, entry->namespace_, entry->name, entry->uid};
}

/* @param problem what to show; NULL: nothing any more */
static void act_set_problem(struct rh_kueue_entry *entry, const char *problem)
{
	const struct rh_log_object subject = act_subject(entry);

	if (rh_text_equal(entry->problem, problem))
		return;
	rh_free(entry->problem);
	entry->problem = problem ? rh_strdup(problem) : NULL;
	if (problem)
		rh_log_about(RH_LOG_WARN, &subject, "Kueue: %s", problem);
	rh_kueue_stir(entry);
}

static void act_back_off(struct rh_kueue_entry *entry)
{
	int64_t wait = ACT_BACKOFF_FIRST << (entry->rounds < 10 ? entry->rounds : 10);

	entry->rounds++;
	entry->again_at = entry->kueue->now + (wait < ACT_BACKOFF_MAX ? wait : ACT_BACKOFF_MAX);
}

static void act_succeed(struct rh_kueue_entry *entry, const struct rh_outcome *outcome)
{
	bool job = entry->action == RH_KUEUE_RESUME || entry->action == RH_KUEUE_SUSPEND;

	entry->rounds = 0;
	act_set_problem(entry, NULL);
	if (job)
		entry->awaited = rh_kueue_revision(outcome->object);
	else if (outcome->object && entry->action != RH_KUEUE_UNLOCK && entry->action != RH_KUEUE_DELETE)
		rh_kueue_observe(entry->kueue, outcome->object);
	else
		entry->again_at = entry->kueue->now + ACT_PAUSE;
}

static void act_on_outcome(void *arg, const struct rh_outcome *outcome)
{
	struct rh_kueue_entry *entry = arg;

	entry->request = 0;
	switch (outcome->code) {
	case RH_OUTCOME_OK:
		act_succeed(entry, outcome);
		break;
	case RH_OUTCOME_THROTTLED:
		entry->again_at = entry->kueue->now + outcome->retry_after;
		break;
	case RH_OUTCOME_GONE:
		/* a watch event follows; a create says it of what it needs */
		act_back_off(entry);
		if (entry->action == RH_KUEUE_CREATE)
			act_set_problem(entry, outcome->message);
		break;
	case RH_OUTCOME_EXISTS:
	case RH_OUTCOME_DENIED:
		act_back_off(entry);
		act_set_problem(entry, outcome->message);
		break;
	case RH_OUTCOME_CONFLICT:
	case RH_OUTCOME_UNKNOWN:
	default:
		act_back_off(entry);
		break;
	}
	rh_kueue_mark(entry);
}

/* @param request its body was made just now; NULL: memory was out */
static void act_submit(struct rh_kueue_entry *entry, enum rh_kueue_action action, struct rh_request *request)
{
	struct rh_store *store = entry->kueue->store;

	entry->action = action;
	request->namespace_ = entry->namespace_;
	if ((!request->body && request->verb != RH_VERB_DELETE) ||
	    store->submit(store, request, act_on_outcome, entry, &entry->request, NULL) < 0)
		act_back_off(entry);
}

static void act_on_job(struct rh_kueue_entry *entry, enum rh_kueue_action action, const char *note)
{
	const struct rh_kueue_part *part = &entry->wish.part;
	rh_auto_free char *api_version = rh_asprintf("%s/%s", entry->kind->group, entry->kind->version);
	const struct rh_resource resource = {api_version, entry->kind->kind, entry->kind->plural};
	struct rh_request request = {.verb = RH_VERB_PATCH, .resource = &resource, .name = entry->name, .uid = entry->uid};

	if (api_version && note)
		request.body = rh_kueue_patch_resume(entry->kind, part, note, rh_kueue_part_admitted(part, entry->workload));
	else if (api_version)
		request.body = rh_kueue_patch_suspend(entry->kind, part);
	act_submit(entry, action, &request);
}

static void act_resume(struct rh_kueue_entry *entry)
{
	const struct rh_log_object subject = act_subject(entry);
	const struct rh_map *flavors = entry->kueue->watches[RH_KUEUE_FLAVORS].objects;
	rh_auto_free char *note = NULL;
	struct rh_error err = {0};

	if (rh_kueue_note(entry->workload, flavors, &entry->wish, &note, &err) < 0) {
		act_back_off(entry);
		act_set_problem(entry, err.message);
		return;
	}
	rh_log_about(RH_LOG_INFO, &subject, "Kueue: admitted by ClusterQueue %s",
	             rh_json_string_at(entry->workload, "status.admission.clusterQueue"));
	act_on_job(entry, RH_KUEUE_RESUME, note);
}

/* @return 0, or RH_ENOENT: the class is not there */
static int act_priority(const struct rh_kueue_entry *entry, struct rh_kueue_priority *ret_priority)
{
	const struct rh_kueue_wish *wish = &entry->wish;
	const struct rh_map *classes = entry->kueue->watches[wish->class ? RH_KUEUE_CLASSES : RH_KUEUE_POD_CLASSES].objects;
	const char *name = wish->class ? wish->class : wish->pod_class;
	const struct rh_json *class = name ? rh_map_get(classes, name) : NULL;
	size_t cursor = 0;
	void *value;
	int64_t number = 0;

	while (!name && !class && rh_map_next(classes, &cursor, NULL, &value)) {
		if (rh_json_bool(rh_json_get(value, "globalDefault"), false))
			class = value;
	}
	if (name && !class)
		return RH_ENOENT;
	(void)rh_json_integer(rh_json_get(class, "value"), &number);
	*ret_priority =
		(struct rh_kueue_priority){wish->class != NULL, rh_json_string_at(class, "metadata.name"), (int32_t)number};
	return 0;
}

/* Make the Workload, or change what it asks for. */
static void act_ask(struct rh_kueue_entry *entry, enum rh_kueue_action action)
{
	const struct rh_kueue_owner owner = {entry->kind, entry->namespace_, entry->name, entry->uid,
	                                     entry->workload_revision};
	struct rh_request request = {.verb = RH_VERB_PATCH, .resource = &rh_kueue_workloads};
	struct rh_kueue_priority priority;

	if (entry->wish.prebuilt) {
		act_back_off(entry);
		act_set_problem(entry, "a Workload that is made for it (" RH_LABEL_QUEUE_PREBUILT ") is not served");
		return;
	}
	if (act_priority(entry, &priority) < 0) {
		rh_auto_free char *problem =
			rh_asprintf("%s \"%s\" does not exist", entry->wish.class ? "WorkloadPriorityClass" : "PriorityClass",
		                entry->wish.class ? entry->wish.class : entry->wish.pod_class);

		act_back_off(entry);
		act_set_problem(entry, problem);
		return;
	}
	if (action == RH_KUEUE_CREATE) {
		request.verb = RH_VERB_CREATE;
		request.body = rh_kueue_workload_new(&owner, &entry->wish, &priority);
	} else {
		request.name = rh_json_string_at(entry->workload, "metadata.name");
		request.resource_version = rh_json_string_at(entry->workload, "metadata.resourceVersion");
		request.body = rh_kueue_workload_patch(&entry->wish, &priority);
	}
	act_submit(entry, action, &request);
}

/* Conditions are one list: each write requires the version that it was made of. */
static void act_on_workload(struct rh_kueue_entry *entry, enum rh_kueue_action action)
{
	struct rh_request request = {
		.verb = RH_VERB_PATCH_STATUS,
		.resource = &rh_kueue_workloads,
		.name = rh_json_string_at(entry->workload, "metadata.name"),
		.uid = rh_json_string_at(entry->workload, "metadata.uid"),
		.resource_version = rh_json_string_at(entry->workload, "metadata.resourceVersion"),
		.grace_seconds = -1,
	};

	if (action == RH_KUEUE_RELEASE) {
		request.body = rh_kueue_patch_release(entry->workload, entry->kueue->now);
	} else if (action == RH_KUEUE_REPORT) {
		request.body = rh_kueue_patch_report(entry->workload, entry->kueue->now);
	} else if (action == RH_KUEUE_RECLAIM) {
		request.body = rh_kueue_patch_reclaim(entry->succeeded);
	} else if (action == RH_KUEUE_FINISH) {
		request.body = rh_kueue_patch_finish(entry->workload, entry->success, entry->message, entry->kueue->now);
	} else if (action == RH_KUEUE_UNLOCK) {
		request.verb = RH_VERB_PATCH;
		request.body = rh_kueue_patch_unlock(entry->workload);
	} else {
		request.verb = RH_VERB_DELETE;
		request.resource_version = NULL;
	}
	act_submit(entry, action, &request);
}

static bool act_may_act(struct rh_kueue_entry *entry, const struct rh_kueue_facts *facts)
{
	if (!facts->job && facts->pods && entry->workload) {
		entry->again_at = entry->kueue->now + ACT_POLL;
		rh_kueue_mark(entry);
		return false;
	}
	return !facts->job || (entry->known && entry->revision >= entry->awaited);
}

bool rh_kueue_act(struct rh_kueue_entry *entry)
{
	const struct rh_kueue_facts facts = rh_kueue_facts_of(entry);
	enum rh_kueue_action action;

	if (!act_may_act(entry, &facts))
		return false;
	action = rh_kueue_decide(&facts);
	switch (action) {
	case RH_KUEUE_FORGET:
		return true;
	case RH_KUEUE_CREATE:
	case RH_KUEUE_UPDATE:
		act_ask(entry, action);
		break;
	case RH_KUEUE_RESUME:
		act_resume(entry);
		break;
	case RH_KUEUE_SUSPEND:
		act_on_job(entry, action, NULL);
		break;
	case RH_KUEUE_DELETE:
	case RH_KUEUE_UNLOCK:
	case RH_KUEUE_RELEASE:
	case RH_KUEUE_REPORT:
	case RH_KUEUE_RECLAIM:
	case RH_KUEUE_FINISH:
		act_on_workload(entry, action);
		break;
	case RH_KUEUE_NOTHING:
	default:
		break;
	}
	if (!entry->request && entry->again_at > entry->kueue->now)
		rh_kueue_mark(entry);
	return false;
}
