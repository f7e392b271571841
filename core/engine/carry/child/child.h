/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/child/child.h
 * @brief Reading a Service or further object as decisions see it; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_CHILD_CHILD_H
#define RH_ENGINE_CARRY_CHILD_CHILD_H

#include "engine/world.h"

/** Parse a Service or further object of a job of the kind. @return 0 or RH_ENOMEM */
int rh_child_parse(const struct rh_kind *kind, const struct rh_json *object, struct rh_child **ret_child);
/** Free a child that rh_child_parse() made. NULL is allowed. */
void rh_child_free(struct rh_child *child);
RH_DEFINE_CLEANUP(child);
/** Print the key of a further object in the cache. @return owned by the caller; NULL when memory is out */
char *rh_child_key(const char *api_version, const char *kind, const char *name);

#endif
