/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/scheduler/join.h
 * @brief How servers and workers find each other through a scheduler, from their side; scheduler.c is the other one.
 *
 * A server, or worker, greets it (hello.h), is told which one it is (SEAT), a server says where it listens (PLACE), and
 * when all servers have, everybody hears where they are (PLACES), and again when one has moved. The connection stays:
 * who closes it without LEAVE has died.
 */
#ifndef RH_COMM_PS_SCHEDULER_JOIN_H
#define RH_COMM_PS_SCHEDULER_JOIN_H

#include <stdbool.h>

#include "comm/ps/options.h"

/** Room for the name of a host. */
#define RH_PS_HOST_MAX 256

/** Payload of SEAT. */
struct rh_ps_assignment {
	int32_t index;
	int32_t servers;
	int32_t workers;
	int32_t reserved;
};

/** Payload of PLACE. */
struct rh_ps_place {
	char host[RH_PS_HOST_MAX]; /**< "": where the scheduler sees it come from */
	int32_t port;
	int32_t reserved;
};

/** Who joins, and where. Texts are borrowed. */
struct rh_ps_join_plan {
	bool server;
	int32_t index;   /**< which of them it is; -1: the scheduler says */
	int32_t servers; /**< how many there are; 0: the scheduler says */
	int32_t workers;
	struct rh_ps_root root; /**< where the scheduler is */
	const char *backend;
	const char *job;
	const char *secret;
	int64_t init_timeout; /**< RH_COMM_NEVER: no limit */
	int64_t death_timeout;
};

/** Opaque connection to a scheduler. */
struct rh_ps_join;

/**
 * Come. Blocks until the scheduler is there; a worker also until all servers are.
 * @return 0; RH_COMM_ETIME naming the scheduler; what it refuses with
 */
int32_t rh_ps_join_open(const struct rh_ps_join_plan *plan, struct rh_ps_join **ret_join, struct rh_comm_error *err);
/** @return counts, which one this is, and, of a worker, where the servers are */
const struct rh_ps_cluster *rh_ps_join_cluster(const struct rh_ps_join *join);
/** Say where this server listens. @param host NULL: where the scheduler sees it come from. @return 0 or RH_COMM_E* */
int32_t rh_ps_join_place(struct rh_ps_join *join, const char *host, int32_t port, struct rh_comm_error *err);
/** @return the descriptor on which news come */
int rh_ps_join_fd(const struct rh_ps_join *join);
/**
 * Look for news. Does not block.
 * @return 1: servers have moved, and the cluster says where to; 0: none; RH_COMM_EIO: the scheduler is gone;
 * RH_COMM_E*: why it gives the job up
 */
int32_t rh_ps_join_receive(struct rh_ps_join *join, struct rh_comm_error *err);
/** Say good-bye, and free it. Waits a second at most. NULL is nothing. */
void rh_ps_join_leave(struct rh_ps_join *join);
/** Free it, as if the process had died. NULL is nothing. */
void rh_ps_join_free(struct rh_ps_join *join);

#endif
