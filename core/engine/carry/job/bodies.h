/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/bodies.h
 * @brief What the bodies of pods and Services are built from: addresses, and a builder; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_JOB_BODIES_H
#define RH_ENGINE_CARRY_JOB_BODIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "build/build.h"
#include "job/addresses.h"

struct rh_entry;
struct rh_job;

/** What pods and Services of one job are built from. */
struct rh_entry_bodies {
	struct rh_addresses addresses; /**< local mode: of the attempt */
	int32_t addresses_attempt;     /**< -1: none */
	struct rh_snapshot snapshot;   /**< what the builder was made of */
	struct rh_builder *builder;    /**< of the snapshot; NULL until something is built */
	struct rh_answers *answers;    /**< of the plugin; owned; NULL: operations wait until it answers */
	uint64_t source;               /**< hash of what the plugin saw when it expanded the job */
	bool expanded;                 /**< its expansion, or refusal, is of source and of the objects that it names now */
	bool waits;                    /**< an operation of the last pass has no answer yet */
};

/** @return whether the job runs, so that addresses and further objects are needed */
bool rh_bodies_are_needed(const struct rh_entry *entry);
/** @return the job as plugins and the builder see it, without pods and counts; the entry lends what it points to */
struct rh_snapshot rh_bodies_snapshot(const struct rh_entry *entry);
/**
 * Ask the plugin of a kind with RH_KIND_EXPANDED for the replica types, where what it saw has changed since.
 * @return 0; 1: it was asked, and the job's weight may have changed (rh_trees_mark_used()); or a negative status, as
 * rh_host_expand()
 */
int rh_bodies_expand(struct rh_entry *entry, struct rh_error *err);
/**
 * Another version of the entry's job is about to take its place: until the plugin was asked again it has the replica
 * types of the last one, so that a plan in progress has something to be carried out with.
 */
void rh_bodies_keep_expansion(struct rh_entry *entry, struct rh_job *next);
/** Make the addresses of the attempt, where they are missing. @return 0 or a negative status */
int rh_bodies_addresses(struct rh_entry *entry, struct rh_error *err);
/** An operation of the plugin has its answer now, or its turn: the job is due. @param arg its struct rh_entry */
void rh_bodies_on_ready(void *arg);
/** @return the builder of the job as it is, borrowed; NULL: @p err and *@p ret_status say why */
struct rh_builder *rh_bodies_builder(struct rh_entry *entry, int *ret_status, struct rh_error *err);
/** Free the builder: the job has changed, or it takes too much memory. */
void rh_bodies_free_builder(struct rh_entry *entry);
/** Free the builder and the addresses. */
void rh_bodies_forget(struct rh_entry *entry);

#endif
