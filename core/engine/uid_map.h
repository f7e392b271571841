/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/uid_map.h
 * @brief Which object, by UID, has which name, for the ledger.
 */
#ifndef RH_ENGINE_UID_MAP_H
#define RH_ENGINE_UID_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/** One object. */
struct rh_uid_entry {
	char *key; /**< "Secret/x", "Role.rbac.authorization.k8s.io/x"; owned */
	char *uid; /**< owned */
};

/** A map of names to UIDs. All zero is the empty one. */
struct rh_uid_map {
	struct rh_uid_entry *items; /**< sorted by key; owned */
	size_t count;
};

/** Most entries; more are not kept. */
#define RH_UID_MAP_MAX 32

/** Free it and make it empty. */
void rh_uid_map_deinit(struct rh_uid_map *map);
/** @return the UID of @p key, borrowed; NULL when there is none */
const char *rh_uid_map_find(const struct rh_uid_map *map, const char *key);
/** Set the UID of @p key; nothing when the map is full. @return 0 or RH_ENOMEM */
int rh_uid_map_set(struct rh_uid_map *map, const char *key, const char *uid);
/** Remove entry number @p place. */
void rh_uid_map_remove(struct rh_uid_map *map, size_t place);
/** Deep copy into @p to, which must be empty. @return 0, or RH_ENOMEM, then @p to is to be freed */
int rh_uid_map_copy(struct rh_uid_map *to, const struct rh_uid_map *from);
/** @return whether both have the same entries */
bool rh_uid_map_equal(const struct rh_uid_map *a, const struct rh_uid_map *b);
/** Write it as member @p name of @p root; an empty one is left out. @return 0 or RH_ENOMEM */
int rh_uid_map_put(const struct rh_uid_map *map, struct rh_json *root, const char *name);
/** Read what rh_uid_map_put() wrote, which users can edit: what does not fit is left out. @return 0 or RH_ENOMEM */
int rh_uid_map_get(struct rh_uid_map *map, const struct rh_json *json);

#endif
