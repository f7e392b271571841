/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/failure.h"

#include "engine/carry/entry.h"

enum rh_failure rh_failure_judge(struct rh_entry *entry, int status, const struct rh_error *err)
{
	bool local = entry->bodies.addresses.count > 0;

	if (status == RH_EAGAIN && rh_answers_are_awaited(entry->bodies.answers)) {
		entry->bodies.waits = true;
		return RH_FAILURE_WAIT;
	}
	if ((status != RH_EPLUGIN && status != RH_EINVAL && status != RH_EIO) || entry->refusals.breach ||
	    (rh_map_size(entry->children.pods) > 0 && !local))
		return RH_FAILURE_RETRY;
	if (!rh_refusals_set_breach(entry, err->message))
		return RH_FAILURE_RETRY;
	entry->refusals.set_aside = status == RH_EIO;
	rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
	return RH_FAILURE_FINAL;
}

void rh_failure_retry(struct rh_entry *entry, int status, const struct rh_error *err)
{
	struct rh_engine *engine = entry->engine;
	rh_auto_free char *reason = NULL;

	rh_queue_fail(&engine->queue, &entry->item, engine->now);
	if (status == RH_ENOMEM || !entry->uid)
		return;
	reason = rh_asprintf("%sFailedReconcile", entry->kind->kind->kind);
	if (reason)
		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, err->message});
}
