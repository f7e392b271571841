/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/world.h
 * @brief A process's membership in the world: its connection to the rendezvous server, and the service thread.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_WORLD_H
#define RH_COMM_CORE_BOOTSTRAP_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "comm/core/bootstrap/client.h"
#include "comm/core/bootstrap/protocol/published.h"
#include "comm/core/bootstrap/server.h"
#include "comm/core/collective/tune.h"
#include "comm/core/env.h"
#include "comm/core/fork.h"
#include "comm/core/trace/ring.h"

struct rh_comm;

/** What the service thread knows of the collective for which this rank waits. */
struct rh_comm_stall {
	uint64_t group;  /**< 0: the world */
	uint64_t number; /**< 0: none */
	int64_t waited;  /**< microseconds so far */
	int64_t next;    /**< after so many of them it is reported */
	int64_t usual;   /**< microseconds that long waits took that ended well */
};

/** Shared by the world's context and its groups. */
struct rh_comm_world {
	struct rh_comm_env env;
	struct rh_comm_server *server; /**< in rank 0, else NULL */
	struct rh_comm_client *client; /**< NULL: a world of one rank */
	pthread_t service;
	bool serving; /**< the service thread runs */
	struct rh_comm_fork_handler fork_handler;
	bool forked; /**< this process is a forked child: everything here belongs to its parent */
	_Atomic bool stop;
	_Atomic bool asleep;                /**< the service thread has to be woken */
	pthread_mutex_t lock;               /**< over the lists of contexts */
	struct rh_comm *contexts;           /**< the first is the world's own */
	struct rh_comm *opening;            /**< groups that are being created */
	int32_t *hosts;                     /**< by rank: number of its host */
	char address[RH_COMM_ADDRESS_ROOM]; /**< at which the others reach this rank */
	struct rh_comm_stall stall;         /**< of the service thread */
	bool warned;                        /**< a warning that rank 0 does not answer was printed */
	bool crowded;                       /**< oversubscribed: ranks of this machine outnumber its processors */
	struct rh_comm_tune tune;           /**< rank 0's table */
	struct rh_comm_trace trace;         /**< the latest operations of all contexts */
};

/**
 * Connect to the rendezvous server and start the service thread. Blocks until env->init_timeout at most.
 * @param options for a foreign key-value store; may be NULL
 * @param service body of the service thread; gets the world, and returns once world->stop is set
 * @return 0 or RH_COMM_E*
 */
int32_t rh_comm_world_open(const struct rh_comm_options *options, const struct rh_comm_env *env,
                           void *(*service)(void *world), struct rh_comm_world **ret_world, struct rh_comm_error *err);
/** Stop the service thread and free the world. NULL is ignored. */
void rh_comm_world_close(struct rh_comm_world *world);
/** Wake the service thread to make progress in the background. Any thread. Cheap while it is awake. */
void rh_comm_world_wake(struct rh_comm_world *world);
/** @return 0, or the RH_COMM_E* that ended the world, with its reason in @p err */
int32_t rh_comm_world_check(const struct rh_comm_world *world, struct rh_comm_error *err);
/**
 * End the world for all ranks because an operation failed, and wait for the rendezvous server's reason, which may be an
 * earlier failure of another rank. Blocks for the death timeout and two seconds at most.
 * @return the RH_COMM_E* that ended the world
 */
int32_t rh_comm_world_fail(struct rh_comm_world *world, const struct rh_comm_error *reason, struct rh_comm_error *err);
/**
 * As rh_comm_world_fail(), for a timeout whose culprit is unknown: the rendezvous server queries the progress of the
 * context's ranks, and names those that are behind, stopped, or diverged. Blocks for eight seconds at most.
 * @param comm whose ranks are queried
 * @param needed progress that all must have: RH_COMM_REACHED_OPENING, or RH_COMM_REACHED_OPEN plus the number of a
 * collective
 */
int32_t rh_comm_world_diagnose(const struct rh_comm *comm, const struct rh_comm_error *reason, uint64_t needed,
                               struct rh_comm_error *err);

#endif
