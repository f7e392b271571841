/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/addresses.h
 * @brief The address plan: host and port of each replica of a job. Part of the world.
 *
 * On a cluster the plan is empty: a replica's host is the name of its Service, and its template has the port.
 * Locally each replica has an address of its own in 127.0.0.0/8 and a port that no other process of this program uses.
 */
#ifndef RH_JOB_ADDRESSES_H
#define RH_JOB_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/mem.h"
#include "job/job.h"

/** One replica's place. */
struct rh_address {
	char type[64]; /**< canonical type */
	int32_t index;
	char host[64];     /**< "127.1.0.3" */
	int32_t port;      /**< 1 … 65535 */
	int32_t comm_port; /**< port of rank 0 of rh_comm if it is this replica; 0: none is locked */
	bool unindexed;    /**< the replica's names have no index (RH_REPLICA_UNINDEXED) */
};

/** All places of a job, sorted by type and index. All zero is the empty plan: a cluster's. */
struct rh_addresses {
	struct rh_address *items;
	size_t count;
};

/** Free the plan and make it empty. */
void rh_addresses_deinit(struct rh_addresses *addresses);
/** @return the place of a replica, borrowed, or NULL when the plan has none; binary search */
const struct rh_address *rh_addresses_find(const struct rh_addresses *addresses, const char *type, int32_t index);

#endif
