/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/kind.h
 * @brief What a kind's description says in fields that came after ABI 1.0, or what holds where it has none.
 *
 * A description may come from a plugin that is older than such a field, so nobody reads one directly.
 */
#ifndef RH_JOB_KIND_H
#define RH_JOB_KIND_H

#include "roundhouse/plugin.h"

/** @return defaults of the run policy as JSON text (rh_kind.run_policy), borrowed; NULL: V1's */
const char *rh_kind_run_policy(const struct rh_kind *kind);
/** @return default restartPolicy of the replica type @p known (NULL: one that the kind does not know); borrowed */
const char *rh_kind_restart_policy(const struct rh_kind *kind, const struct rh_replica_type *known);

#endif
