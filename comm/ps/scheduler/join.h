/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/scheduler/join.h
 * @brief How servers and workers find each other through a scheduler, from their side; scheduler.c is the other one.
 *
 * A server, or worker, performs the handshake (handshake.h) and is assigned its number (ASSIGN); a server sends its
 * address (PLACE), and when all servers have, every process gets all addresses (PLACES), and again when one has moved.
 * The connection stays open: a process that closes it without LEAVE has died.
 */
#ifndef RH_COMM_PS_SCHEDULER_JOIN_H
#define RH_COMM_PS_SCHEDULER_JOIN_H

#include <stdbool.h>

#include "comm/ps/options.h"

/** Payload of ASSIGN. */
struct rh_ps_assignment {
	int32_t index;
	int32_t servers;
	int32_t workers;
	int32_t replicas; /**< servers for each value: 1, or 2: a primary and its backup */
};

/**
 * Payload of ROLE: the server is the primary of its values. It may answer without a backup until it has reported, with
 * SYNCED and this term, that the one that is named here has them all.
 */
struct rh_ps_role_note {
	uint64_t term; /**< grows with every decision about these values */
	int32_t fresh; /**< not 0: no worker has seen them yet */
	int32_t reserved;
	struct rh_ps_place peer; /**< the backup to copy to; port 0: none now */
};

/** Parameters of a join. Texts are borrowed. */
struct rh_ps_join_plan {
	bool server;
	int32_t index;   /**< its number; -1: assigned by the scheduler */
	int32_t servers; /**< their number; 0: from the scheduler */
	int32_t workers;
	struct rh_ps_root root; /**< address of the scheduler */
	const char *backend;
	const char *job;
	const char *secret;
	int64_t init_timeout; /**< RH_COMM_NEVER: no limit */
	int64_t death_timeout;
};

/** Opaque connection to a scheduler. */
struct rh_ps_join;

/**
 * Join. Blocks until the scheduler has admitted this process, a worker also until all servers have joined.
 * @return 0; RH_COMM_ETIME naming the scheduler; the reason of a refusal
 */
int32_t rh_ps_join_open(const struct rh_ps_join_plan *plan, struct rh_ps_join **ret_join, struct rh_comm_error *err);
/** @return the counts, this process's number, and, for a worker, the servers' addresses */
const struct rh_ps_cluster *rh_ps_join_cluster(const struct rh_ps_join *join);
/** Send the address of this server. @param host NULL: the address from which it connects. @return 0 or RH_COMM_E* */
int32_t rh_ps_join_place(struct rh_ps_join *join, const char *host, int32_t port, struct rh_comm_error *err);
/** @return whether the scheduler has made this server the primary since the last call; then @p ret_note has its latest
 * note */
bool rh_ps_join_take_role(struct rh_ps_join *join, struct rh_ps_role_note *ret_note);
/** Send ALONE or SYNCED. @return 0 or RH_COMM_E* */
int32_t rh_ps_join_report(struct rh_ps_join *join, uint32_t kind, uint64_t term, struct rh_comm_error *err);
/** @return the descriptor to poll */
int rh_ps_join_fd(const struct rh_ps_join *join);
/**
 * Receive what has arrived. Does not block.
 * @return 1: servers have moved, and the cluster has their addresses; 0: none; RH_COMM_EIO: the scheduler is gone;
 * RH_COMM_E*: why it ended the job
 */
int32_t rh_ps_join_receive(struct rh_ps_join *join, struct rh_comm_error *err);
/** Send LEAVE, and free it. Blocks for a second at most. NULL is ignored. */
void rh_ps_join_leave(struct rh_ps_join *join);
/** Free it, as if the process had died. NULL is ignored. */
void rh_ps_join_free(struct rh_ps_join *join);

#endif
