/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/events.h
 * @brief Kubernetes Events about jobs; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_EVENTS_H
#define RH_ENGINE_CARRY_EVENTS_H

#include <stdbool.h>

#include "engine/carry/fair/queue.h"

struct rh_engine;
struct rh_entry;
struct rh_event_record;

/** Events of all jobs. */
struct rh_event_queue {
	struct rh_queue pending; /**< Events that wait until others are written */
	size_t sent;             /**< writes of Events in flight */
	uint64_t named;          /**< names given so far */
};

/** The Events of one job. */
struct rh_entry_events {
	struct rh_event_record *list;
	size_t count;
	size_t sent; /**< writes in flight */
};

/** An Event to emit. Texts are borrowed during rh_events_emit(). */
struct rh_event_spec {
	const char *uid; /**< of the job */
	bool warning;    /**< type Warning, else Normal */
	const char *reason;
	const char *message;
};

/** Emit an Event about the job. Best effort: without memory it is dropped. */
void rh_events_emit(struct rh_entry *entry, const struct rh_event_spec *spec);
/** Write Events that waited for others, as far as there is room. */
void rh_events_send_pending(struct rh_engine *engine);
/** @return whether rh_events_send_pending() would write any */
bool rh_events_may_send(const struct rh_engine *engine);
/** Forget the Events of the entry that are neither in flight nor queued. */
void rh_events_trim(struct rh_entry *entry);
/** Likewise, Normal ones only: a failure that happens again must raise the count of its Event. */
void rh_events_trim_normal(struct rh_entry *entry);
/** Forget all Events of the entry; writes in flight are cancelled. */
void rh_events_forget(struct rh_entry *entry);

#endif
