/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes that were refused, and until when each waits. One that waits holds up no other.
 */
#include "engine/carry/parts.h"

static char *backoff_key(enum rh_action_verb verb, const char *kind, const char *name)
{
	return rh_asprintf("%d/%s/%s", (int)verb, kind, name);
}

static struct rh_backoff *backoff_find(const struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind,
                                       const char *name)
{
	rh_auto_free char *key = backoff_key(verb, kind, name);

	return key ? rh_map_get(entry->backoffs, key) : NULL;
}

static void backoff_drop(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind, const char *name)
{
	rh_auto_free char *key = rh_map_size(entry->backoffs) > 0 ? backoff_key(verb, kind, name) : NULL;

	if (key)
		rh_free(rh_map_remove(entry->backoffs, key));
}

void rh_engine_clear_child_backoff(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *name)
{
	const char *kind = rh_verb_of_pod(verb) ? "Pod" : rh_verb_of_service(verb) ? "Service" : RH_GANG_OBJECT;

	backoff_drop(entry, verb, kind, name);
	rh_engine_forget_refusal(entry, kind, name);
}

void rh_engine_clear_backoffs(struct rh_engine_entry *entry)
{
	const char *key;
	size_t cursor = 0;
	void *hold;

	while (rh_map_next(entry->backoffs, &cursor, &key, &hold)) {
		(void)rh_map_remove(entry->backoffs, key);
		rh_free(hold);
	}
}

void rh_engine_back_off(const struct rh_inflight *inflight, int64_t delay)
{
	struct rh_engine_entry *entry = inflight->entry;
	const struct rh_engine *engine = entry->engine;
	struct rh_backoff *hold = backoff_find(entry, inflight->verb, inflight->resource->kind, inflight->name);
	rh_auto_free char *key = NULL;

	if (!hold) {
		key = backoff_key(inflight->verb, inflight->resource->kind, inflight->name);
		hold = key ? rh_alloc(sizeof(*hold)) : NULL;
		if (!hold)
			return;
		if (rh_map_set(entry->backoffs, key, hold, NULL) < 0) {
			rh_free(hold);
			return;
		}
	}
	if (delay < 0)
		delay = rh_queue_wait(&engine->queue, hold->failures++);
	hold->until = engine->now + delay;
}

bool rh_engine_is_backing_off(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind,
                              const char *name)
{
	const struct rh_backoff *hold = NULL;

	if (rh_map_size(entry->backoffs) > 0)
		hold = backoff_find(entry, verb, kind, name);
	if (!hold || hold->until <= entry->engine->now)
		return false;
	rh_queue_add(&entry->engine->queue, &entry->item, hold->until);
	return true;
}

void rh_engine_clear_backoff(const struct rh_inflight *inflight)
{
	backoff_drop(inflight->entry, inflight->verb, inflight->resource->kind, inflight->name);
}
