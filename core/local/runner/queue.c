/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that wait for their start. Each keeps the object that the watch delivered last, as text, which takes a tenth of
 * the memory of a tree: all pods of a job wait at the same time.
 */
#include <string.h>

#include "base/os/clock.h"
#include "local/runner/parts.h"

/* Most pods to start in one step, so that the loop still processes events of others. */
#define QUEUE_STARTS_PER_TURN 4

bool rh_runner_keep(struct rh_runner_pod *pod, const struct rh_json *object)
{
	if (pod->stage != RH_RUNNER_QUEUED || pod->deleting)
		return true;
	rh_free(pod->object);
	pod->object = rh_json_text(object);
	pod->runner->start_due = 0;
	return pod->object != NULL;
}

/* Pods are named after their replica, so a successor may exist while the processes of a force-deleted pod still end. */
static bool queue_predecessor_lives(const struct rh_runner *runner, const struct rh_runner_pod *pod)
{
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	while (rh_map_next(runner->pods, &cursor, &key, &value)) {
		const struct rh_runner_pod *other = value;

		if (other != pod && other->gone && other->stage == RH_RUNNER_STARTED && strcmp(other->name, pod->name) == 0 &&
		    strcmp(other->namespace_, pod->namespace_) == 0)
			return true;
	}
	return false;
}

static void queue_refuse(struct rh_runner_pod *pod, const struct rh_json *object)
{
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;

	pod->stage = RH_RUNNER_REFUSED;
	pod->changed = true;
	if (hooks->refused)
		hooks->refused(hooks->arg, object, pod->reason, pod->message ? pod->message : "");
}

/* The pod stays queued where another attempt may help. */
static void queue_start(struct rh_runner_pod *pod, int64_t now)
{
	rh_auto(json) object = NULL;

	if (rh_json_parse(pod->object, strlen(pod->object), &object, NULL) < 0)
		return; /* memory is short */
	rh_runner_start(pod, object, now);
	if (pod->stage == RH_RUNNER_REFUSED)
		queue_refuse(pod, object);
	if (pod->stage != RH_RUNNER_QUEUED)
		rh_free(rh_take(pod->object));
}

/* One step. */
struct queue_round {
	int64_t now;   /* wall clock */
	int64_t clock; /* monotonic */
	int starts;    /* pods that may still be started */
};

/* @return when the pod is to be looked at again, monotonic microseconds; RH_NEVER: something else wakes the loop */
static int64_t queue_turn(struct rh_runner_pod *pod, struct queue_round *round)
{
	if (pod->stage != RH_RUNNER_QUEUED || pod->deleting || pod->gone || !pod->object)
		return RH_NEVER;
	if (round->starts == 0)
		return round->clock;
	if (pod->retry_at > round->clock)
		return pod->retry_at;
	if (queue_predecessor_lives(pod->runner, pod)) /* it looks at all pods */
		return RH_NEVER;
	pod->retry_at = round->clock + RH_RUNNER_PAUSE;
	round->starts--;
	queue_start(pod, round->now);
	return pod->stage == RH_RUNNER_QUEUED ? pod->retry_at : RH_NEVER;
}

void rh_runner_start_queued(struct rh_runner *runner, int64_t now)
{
	struct queue_round round = {now, rh_clock_monotonic(), QUEUE_STARTS_PER_TURN};
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	runner->start_due = RH_NEVER;
	while (rh_map_next(runner->pods, &cursor, &key, &value)) {
		int64_t due = queue_turn(value, &round);

		if (due < runner->start_due)
			runner->start_due = due;
	}
}

int64_t rh_runner_start_deadline(const struct rh_runner *runner)
{
	return runner->start_due;
}
