/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/team.h
 * @brief What a backend gets: the ranks, their hosts, keys, and services of the core.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_TEAM_H
#define RH_COMM_CORE_COLLECTIVE_TEAM_H

#include "comm/core/context.h"

/** Find the ranks that share memory: world->hosts. Collective; blocks until comm->deadline. @return 0 or RH_COMM_E* */
int32_t rh_comm_find_hosts(struct rh_comm *comm, struct rh_comm_error *err);
/** Distribute rank 0's table of algorithms and size of buckets. Collective, as above. @return 0 or RH_COMM_E* */
int32_t rh_comm_share_tune(struct rh_comm *comm, struct rh_comm_error *err);
/** Fill in comm->team, from comm->hosts. */
void rh_comm_team_init(struct rh_comm *comm);
/** Publish a value to the ranks of the context. @return 0 or RH_COMM_E* */
int32_t rh_comm_put(struct rh_comm *comm, const char *key, const void *value, size_t length, struct rh_comm_error *err);
/** Wait for a value until comm->deadline. @return its length or RH_COMM_E* */
int64_t rh_comm_get(struct rh_comm *comm, const char *key, void *value, size_t room, struct rh_comm_error *err);

#endif
