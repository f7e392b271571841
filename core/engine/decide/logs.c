/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What failed containers wrote shows which of them is the cause. Where their pods do not say it, it is read from their
 * logs before the fault is judged, and so before any pod is deleted because of it.
 */
#include "engine/decide/replicas.h"

/* A pod whose log may be read. */
struct logs_item {
	size_t place;
	int64_t at; /* when it failed */
};

/* The first of them that failed, in that order. */
struct logs_list {
	struct logs_item items[RH_PLAN_LOGS_MAX];
	size_t count;
	size_t asked; /* pods whose logs were asked for before */
	int64_t
		until; /* when none is asked for any more: as long as the first one is awaited; RH_NEVER: none was asked for */
};

static bool logs_is_needed(const struct rh_pod *pod)
{
	return pod->output_unknown && pod->log_until == 0 && !pod->deleting && *pod->uid;
}

static void logs_insert(struct logs_list *list, size_t place, int64_t at)
{
	size_t to = list->count < RH_PLAN_LOGS_MAX ? list->count++ : RH_PLAN_LOGS_MAX;

	while (to > 0 && at < list->items[to - 1].at) {
		if (to < RH_PLAN_LOGS_MAX)
			list->items[to] = list->items[to - 1];
		to--;
	}
	if (to < RH_PLAN_LOGS_MAX)
		list->items[to] = (struct logs_item){place, at};
}

/* @return whether an answer is awaited */
static bool logs_collect(struct rh_decision *decision, struct logs_list *list)
{
	int64_t now = decision->world->now;
	bool waits = false;

	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		const struct rh_pod *pod = rh_decide_may_be_fault(decision, place) ? decision->pods[place] : NULL;

		if (pod && logs_is_needed(pod))
			logs_insert(list, place, pod->failed_at);
		if (!pod || pod->log_until == 0)
			continue;
		list->asked++;
		list->until = pod->log_until < list->until ? pod->log_until : list->until;
		/* a clock that was set back does not extend the wait */
		if (pod->log_over || pod->log_until <= now || pod->log_until > now + RH_PLAN_LOG_PATIENCE)
			continue;
		rh_decision_wake(decision, pod->log_until);
		waits = true;
	}
	return waits;
}

int rh_decide_logs(struct rh_decision *decision)
{
	struct logs_list list = {.until = RH_NEVER};
	bool waits;

	if (!decision->world->reads_logs)
		return 0;
	waits = logs_collect(decision, &list);
	if (list.until <= decision->world->now)
		return waits;
	for (size_t i = 0; i < list.count && list.asked < RH_PLAN_LOGS_MAX; i++, list.asked++) {
		if (rh_plan_read_log(decision->plan, decision->pods[list.items[i].place]->uid) < 0)
			return RH_ENOMEM;
		rh_decision_wake(decision, decision->world->now + RH_PLAN_LOG_PATIENCE);
		waits = true;
	}
	return waits;
}
