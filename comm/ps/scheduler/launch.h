/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/scheduler/launch.h
 * @brief Servers and workers that one mpirun has started: they find each other through MPI.
 *
 * Each process announces its role, and its rank defines its number. Then servers announce their addresses. Both steps
 * are collective: every process that mpirun has started takes part.
 */
#ifndef RH_COMM_PS_SCHEDULER_LAUNCH_H
#define RH_COMM_PS_SCHEDULER_LAUNCH_H

#include <stdbool.h>

#include "comm/ps/options.h"

/** State of the exchange. All zero: none. */
struct rh_ps_launch {
	struct rh_comm *world;
	struct rh_ps_cluster cluster; /**< counts, and the number of this process; places after the second step */
};

/**
 * First step; the backend mpi is loaded. Blocks until all take part.
 * @return 0; RH_COMM_E*: MPI, or a peer, has failed; RH_COMM_EINVAL: there is no server, or no worker, among them
 */
int32_t rh_ps_launch_open(bool server, struct rh_ps_launch *ret_launch, struct rh_comm_error *err);
/**
 * Second step. @param host address of this server; NULL: this host, or its name. @param port of a server;
 * 0: this is a worker. @return 0 and launch->cluster.places; RH_COMM_E*
 */
int32_t rh_ps_launch_connect(struct rh_ps_launch *launch, const char *host, int32_t port, struct rh_comm_error *err);
/** Free what it holds. */
void rh_ps_launch_close(struct rh_ps_launch *launch);

#endif
