/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/refusals.h
 * @brief Requests that the store refused for good, as decisions see them; for core/engine/carry.
 *
 * One refused create of a pod or Service stands for its whole kind; other refusals are about one name.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_REFUSALS_H
#define RH_ENGINE_CARRY_REQUEST_REFUSALS_H

#include "engine/world.h"

struct rh_entry;
struct rh_inflight;

/** The refusals of one job. */
struct rh_entry_refusals {
	struct rh_refusal *list; /**< oldest first; owned */
	size_t count;
	char *breach;   /**< how the plugin broke its contract, see rh_failure_judge(); owned; NULL: it did not */
	bool set_aside; /**< the plugin's process failed at the job too often: the job waits until its spec changes */
};

/**
 * Remember that the request of @p inflight was refused with @p message. Without memory it is not remembered.
 * @param what was refused. @param single the refusal is about this name only
 */
void rh_refusals_add(const struct rh_inflight *inflight, enum rh_refused what, bool single, const char *message);
/** Remember that the plugin broke its contract with @p message. @return whether there was memory for it */
bool rh_refusals_set_breach(struct rh_entry *entry, const char *message);
/** @return whether creates of @p kind are refused */
bool rh_refusals_has_kind(const struct rh_entry *entry, const char *kind);
/** Forget the refusals of @p kind: those of the whole kind when @p name is NULL, else those about that name. */
void rh_refusals_forget(struct rh_entry *entry, const char *kind, const char *name);
/** Forget all refusals, and that the plugin broke its contract. */
void rh_refusals_forget_all(struct rh_entry *entry);

#endif
