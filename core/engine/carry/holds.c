/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes that were refused, and until when each waits. One that waits holds up no other.
 */
#include "engine/carry/parts.h"

static char *holds_key(enum rh_action_verb verb, const char *kind, const char *name)
{
	return rh_asprintf("%d/%s/%s", (int)verb, kind, name);
}

static struct rh_hold *holds_find(const struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind,
                                  const char *name)
{
	rh_auto_free char *key = holds_key(verb, kind, name);

	return key ? rh_map_get(entry->holds, key) : NULL;
}

static void holds_drop(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind, const char *name)
{
	rh_auto_free char *key = rh_map_size(entry->holds) > 0 ? holds_key(verb, kind, name) : NULL;

	if (key)
		rh_free(rh_map_remove(entry->holds, key));
}

void rh_engine_release(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *name)
{
	const char *kind = rh_verb_of_pod(verb) ? "Pod" : rh_verb_of_service(verb) ? "Service" : RH_GANG_OBJECT;

	holds_drop(entry, verb, kind, name);
	rh_engine_forget_refusal(entry, kind, name);
}

void rh_engine_release_all(struct rh_engine_entry *entry)
{
	const char *key;
	size_t cursor = 0;
	void *hold;

	while (rh_map_next(entry->holds, &cursor, &key, &hold)) {
		(void)rh_map_remove(entry->holds, key);
		rh_free(hold);
	}
}

void rh_engine_hold(const struct rh_flight *flight, int64_t delay)
{
	struct rh_engine_entry *entry = flight->entry;
	const struct rh_engine *engine = entry->engine;
	struct rh_hold *hold = holds_find(entry, flight->verb, flight->resource->kind, flight->name);
	rh_auto_free char *key = NULL;

	if (!hold) {
		key = holds_key(flight->verb, flight->resource->kind, flight->name);
		hold = key ? rh_alloc(sizeof(*hold)) : NULL;
		if (!hold)
			return;
		if (rh_map_set(entry->holds, key, hold, NULL) < 0) {
			rh_free(hold);
			return;
		}
	}
	if (delay < 0)
		delay = rh_queue_wait(&engine->queue, hold->failures++);
	hold->until = engine->now + delay;
}

bool rh_engine_is_held(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind, const char *name)
{
	const struct rh_hold *hold = NULL;

	if (rh_map_size(entry->holds) > 0)
		hold = holds_find(entry, verb, kind, name);
	if (!hold || hold->until <= entry->engine->now)
		return false;
	rh_queue_add(&entry->engine->queue, &entry->item, hold->until);
	return true;
}

void rh_engine_drop_hold(const struct rh_flight *flight)
{
	holds_drop(flight->entry, flight->verb, flight->resource->kind, flight->name);
}
