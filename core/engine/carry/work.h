/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/work.h
 * @brief One pass over a due job: gather its world, decide, and hand the plan on; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_WORK_H
#define RH_ENGINE_CARRY_WORK_H

#include "base/error.h"
#include "build/build.h"
#include "job/addresses.h"

struct rh_entry;

/** What pods and Services of one job are built from. */
struct rh_entry_build {
	struct rh_addresses addresses; /**< local mode: of the attempt */
	int32_t addresses_attempt;     /**< -1: none */
	struct rh_snapshot snapshot;   /**< what the builder was made of */
	struct rh_builder *builder;    /**< of the snapshot; NULL until something is built */
};

/** Decide about one due job, and start to carry the plan out. */
void rh_work_run(struct rh_entry *entry);
/** @return the builder of the job as it is, borrowed; NULL: @p err and *@p ret_status say why */
struct rh_builder *rh_work_builder(struct rh_entry *entry, int *ret_status, struct rh_error *err);
/** Free the builder: the job has changed, or it takes too much memory. */
void rh_work_free_builder(struct rh_entry *entry);
/** Free the builder and the addresses. */
void rh_work_forget(struct rh_entry *entry);
/**
 * An operation of the plugin failed. Plugins are pure, so that a retry is useless: the job fails in the next pass. A
 * job that has pods on a cluster is retried instead: its pods must not end because a faulty plugin was installed.
 * @param status of the operation. @param err its message
 * @return whether the job fails for it; else the caller retries
 */
bool rh_work_fail_plugin(struct rh_entry *entry, int status, const struct rh_error *err);
/** A pass over the job failed: emit an Event unless memory is out, and retry with back-off. */
void rh_work_retry(struct rh_entry *entry, int status, const struct rh_error *err);

#endif
