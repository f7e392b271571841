/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/index_set.h
 * @brief A set of replica indices with a short text form, for the ledger.
 */
#ifndef RH_ENGINE_INDEX_SET_H
#define RH_ENGINE_INDEX_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/** Larger indices are not kept: no accepted job has so many replicas. */
#define RH_INDEX_MAX 10000000

/** A set of replica indices. All zero is the empty one. */
struct rh_index_set {
	uint8_t *bits; /**< owned; NULL when room is 0 */
	int32_t room;  /**< indices that bits has room for, a multiple of 8 */
};

/** Free the set and make it empty. */
void rh_index_set_deinit(struct rh_index_set *set);
/** @return whether @p index is in the set; false for a negative one */
bool rh_index_set_has(const struct rh_index_set *set, int32_t index);
/** @return whether no index is in the set */
bool rh_index_set_is_empty(const struct rh_index_set *set);
/** Put @p index (0 … RH_INDEX_MAX; others are left out) into the set. @return 0 or RH_ENOMEM */
int rh_index_set_add(struct rh_index_set *set, int32_t index);
/** Take @p index out. */
void rh_index_set_remove(struct rh_index_set *set, int32_t index);
/** Deep copy into @p to, which must be empty. @return 0 or RH_ENOMEM */
int rh_index_set_copy(struct rh_index_set *to, const struct rh_index_set *from);
/** @return whether both hold the same indices */
bool rh_index_set_equal(const struct rh_index_set *a, const struct rh_index_set *b);
/**
 * Write the set as ranges ("0-3,7"), or, when those are many and it is shorter, as "x" and hexadecimal bytes (lowest
 * index in the lowest bit of the first); "" when empty.
 */
void rh_index_set_print(const struct rh_index_set *set, struct rh_str *out);
/**
 * Read what rh_index_set_print() wrote into @p set, which must be empty. What is not well formed, not in ascending
 * order or not below @p limit ends the read, so that a hostile text costs neither time nor memory. @return 0 or
 * RH_ENOMEM
 */
int rh_index_set_parse(struct rh_index_set *set, const char *text, int32_t limit);

#endif
