/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/request/backoff.h"

#include "engine/carry/entry.h"
#include "engine/carry/request/verbs.h"

/* The back-off of one write. */
struct rh_backoff {
	int64_t until; /* microseconds */
	uint32_t failures;
};

static char *backoff_key(enum rh_action_verb verb, const char *kind, const char *name)
{
	return rh_asprintf("%d/%s/%s", (int)verb, kind, name);
}

static struct rh_backoff *backoff_find(const struct rh_entry *entry, enum rh_action_verb verb, const char *kind,
                                       const char *name)
{
	rh_auto_free char *key = backoff_key(verb, kind, name);

	return key ? rh_map_get(entry->backoffs, key) : NULL;
}

static void backoff_drop(struct rh_entry *entry, enum rh_action_verb verb, const char *kind, const char *name)
{
	rh_auto_free char *key = rh_map_size(entry->backoffs) > 0 ? backoff_key(verb, kind, name) : NULL;

	if (key)
		rh_free(rh_map_remove(entry->backoffs, key));
}

void rh_backoff_clear_child(struct rh_entry *entry, enum rh_action_verb verb, const char *name)
{
	const char *kind = rh_verb_of_pod(verb) ? "Pod" : rh_verb_of_service(verb) ? "Service" : RH_GANG_OBJECT;

	backoff_drop(entry, verb, kind, name);
	rh_refusals_forget(entry, kind, name);
}

void rh_backoff_clear_all(struct rh_entry *entry)
{
	const char *key;
	size_t cursor = 0;
	void *backoff;

	while (rh_map_next(entry->backoffs, &cursor, &key, &backoff)) {
		(void)rh_map_remove(entry->backoffs, key);
		rh_free(backoff);
	}
}

void rh_backoff_add(const struct rh_inflight *inflight, int64_t delay)
{
	struct rh_entry *entry = inflight->entry;
	const struct rh_engine *engine = entry->engine;
	struct rh_backoff *backoff = backoff_find(entry, inflight->verb, inflight->resource->kind, inflight->name);
	rh_auto_free char *key = NULL;

	if (!backoff) {
		key = backoff_key(inflight->verb, inflight->resource->kind, inflight->name);
		backoff = key ? rh_alloc(sizeof(*backoff)) : NULL;
		if (!backoff)
			return;
		if (rh_map_set(entry->backoffs, key, backoff, NULL) < 0) {
			rh_free(backoff);
			return;
		}
	}
	if (delay < 0)
		delay = rh_queue_wait(&engine->queue, backoff->failures++);
	backoff->until = engine->now + delay;
}

bool rh_backoff_is_waiting(struct rh_entry *entry, enum rh_action_verb verb, const char *kind, const char *name)
{
	const struct rh_backoff *backoff = NULL;

	if (rh_map_size(entry->backoffs) > 0)
		backoff = backoff_find(entry, verb, kind, name);
	if (!backoff || backoff->until <= entry->engine->now)
		return false;
	rh_queue_add(&entry->engine->queue, &entry->item, backoff->until);
	return true;
}

void rh_backoff_clear(const struct rh_inflight *inflight)
{
	backoff_drop(inflight->entry, inflight->verb, inflight->resource->kind, inflight->name);
}
