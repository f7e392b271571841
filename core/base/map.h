/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/map.h
 * @brief A hash map from text to pointers. Keys are copied, values are borrowed.
 */
#ifndef RH_BASE_MAP_H
#define RH_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/mem.h"

/** Opaque map. Hashes are keyed with a per-map random seed, so that names chosen by users cannot collide on purpose. */
struct rh_map;

/** @return an empty map owned by the caller, or NULL when memory is out */
struct rh_map *rh_map_new(void) __attribute__((warn_unused_result));
/** Free the map, not its values. NULL is allowed. */
void rh_map_free(struct rh_map *map);
RH_DEFINE_CLEANUP(map);
/** @return the value of @p key or NULL */
void *rh_map_get(const struct rh_map *map, const char *key);
/**
 * Set @p key to @p value (not NULL). @param[out] ret_old earlier value or NULL; may be NULL. @return 0 or RH_ENOMEM,
 * then unchanged
 */
int rh_map_set(struct rh_map *map, const char *key, void *value, void **ret_old);
/** Take @p key out. @return its value, or NULL when it was not there */
void *rh_map_remove(struct rh_map *map, const char *key);
/** @return how many keys it holds */
size_t rh_map_size(const struct rh_map *map);
/**
 * Walk in insertion order: start with *@p cursor 0. While walking, only the entry that was just returned may be
 * removed.
 * @return false at the end
 */
bool rh_map_next(const struct rh_map *map, size_t *cursor, const char **ret_key, void **ret_value);

#endif
