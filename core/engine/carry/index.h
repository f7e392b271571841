/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/index.h
 * @brief Watched pods, Services and PodGroups by UID; for core/engine/carry alone.
 *
 * Labels and owners, by which a job finds what is its own, change; a UID does not. What is indexed carries the chain
 * itself, so that an object costs two pointers and its share of a table.
 */
#ifndef RH_ENGINE_CARRY_INDEX_H
#define RH_ENGINE_CARRY_INDEX_H

#include <stddef.h>

struct rh_cached;

/** The index. All zero is not yet one, and may be freed. */
struct rh_index {
	struct rh_cached **chains; /**< owned; what they hold is borrowed */
	size_t chain_count;        /**< a power of two */
	size_t size;               /**< objects in it */
};

/** Make it an empty index. @return 0 or RH_ENOMEM */
int rh_index_init(struct rh_index *index) __attribute__((warn_unused_result));
/** Free its table; nothing may be in it. */
void rh_index_deinit(struct rh_index *index);
/** @return what has this UID, borrowed, or NULL */
struct rh_cached *rh_index_find(const struct rh_index *index, const char *uid);
/** Put @p cached (borrowed until it is removed) in. It needs no memory; without any the chains become longer. */
void rh_index_add(struct rh_index *index, struct rh_cached *cached);
/** Take @p cached, which is in it, out. */
void rh_index_remove(struct rh_index *index, struct rh_cached *cached);

#endif
