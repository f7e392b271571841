/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/child/index.h
 * @brief Watched pods, Services and PodGroups by UID; for core/engine/carry.
 *
 * Labels and owners, which name the job of an object, may change; its UID does not. The chain is part of the indexed
 * object, so that an object costs two pointers and its share of the table.
 */
#ifndef RH_ENGINE_CARRY_CHILD_INDEX_H
#define RH_ENGINE_CARRY_CHILD_INDEX_H

#include <stddef.h>

struct rh_cached;

/** The index. All zero: not initialized; may be deinitialized. */
struct rh_index {
	struct rh_cached **chains; /**< owned; the objects in them are borrowed */
	size_t chain_count;        /**< a power of two */
	size_t size;               /**< objects in it */
};

/** Initialize an empty index. @return 0 or RH_ENOMEM */
int rh_index_init(struct rh_index *index) __attribute__((warn_unused_result));
/** Free its table; nothing may be in it. */
void rh_index_deinit(struct rh_index *index);
/** @return the object with this UID, borrowed, or NULL */
struct rh_cached *rh_index_find(const struct rh_index *index, const char *uid);
/** Add @p cached (borrowed until it is removed). Never fails: without memory for a larger table the chains grow. */
void rh_index_add(struct rh_index *index, struct rh_cached *cached);
/** Remove @p cached, which is in the index. */
void rh_index_remove(struct rh_index *index, struct rh_cached *cached);

#endif
