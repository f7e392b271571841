/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/context.h
 * @brief What the files of the library share about a context and its operations.
 *
 * world.c owns the connection to the others and the service thread, context.c contexts and groups, request.c operations
 * in flight, lanes.c collectives that are made of messages, loader.c backends, team.c what a backend is given.
 */
#ifndef RH_COMM_CORE_CONTEXT_H
#define RH_COMM_CORE_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "comm/core/env.h"
#include "comm/core/hub.h"
#include "comm/core/line.h"
#include "comm/core/rounds.h"
#include "roundhouse/comm_backend.h"

/** Longest name of a backend. */
#define RH_COMM_NAME_MAX 32

/** The process's connection to all others; shared by its context and that one's groups. */
struct rh_comm_world {
	struct rh_comm_env env;
	struct rh_comm_hub *hub; /**< in rank 0, else NULL */
	struct rh_comm_line *line;
	pthread_t service;
	bool serving;
	_Atomic bool stop;
	_Atomic bool asleep;      /**< the service thread waits for something to happen */
	pthread_mutex_t lock;     /**< over the list of contexts */
	struct rh_comm *contexts; /**< the first is the world's own */
	int32_t *hosts;           /**< for each rank the number of its host */
	char address[300];        /**< at which the others reach this rank */
	bool crowded;             /**< ranks of this host outnumber its processors: nobody spins long */
};

/** A backend that has been loaded. All zero is none. */
struct rh_comm_module {
	const struct rh_comm_backend *backend;
	void *library; /**< NULL: it is linked in */
};

/** How often a group of these very ranks was made: equal on all its members, so it can name the group. */
struct rh_comm_made {
	uint64_t hash;
	uint32_t times;
};

/** A context. */
struct rh_comm {
	struct rh_comm *next; /**< of the world's contexts */
	struct rh_comm_world *world;
	bool is_group;
	char prefix[64]; /**< of its keys */
	int32_t rank;
	int32_t size;
	int32_t *ranks; /**< for each of our ranks the world's; NULL: the same */
	int32_t *hosts;
	int32_t local_rank;
	int32_t local_world;
	struct rh_comm_made *made; /**< groups made of it so far */
	size_t made_count;
	struct rh_comm_module module;
	void *self; /**< the backend's context */
	struct rh_comm_team team;
	struct rh_comm_error said; /**< what the backend said last with fail() */
	int64_t deadline;          /**< of open() */
	pthread_mutex_t lock;      /**< over what follows, and every call of the backend but abort() */
	struct rh_comm_request *first;
	struct rh_comm_request **last;
	struct rh_comm_request *spare; /**< requests that are done with, for the next ones */
	uint64_t posted;               /**< collectives */
	uint64_t done;
	bool aborted;             /**< the backend has been told */
	_Atomic int32_t attended; /**< threads that drive its operations now */
	_Atomic int32_t pending;  /**< operations in flight */
};

/** One collective that is made of messages. */
struct rh_comm_lanes;

/** An operation in flight. */
struct rh_comm_request {
	struct rh_comm_request *next;
	struct rh_comm *comm;
	struct rh_comm_op op;
	uint64_t sequence; /**< of a collective; 0: a message */
	void *work;        /**< the backend's */
	struct rh_comm_lanes *lanes;
	int64_t since;
	int64_t deadline;
	struct rh_comm_error err;
	_Atomic int32_t status; /**< RH_COMM_BUSY until it is done */
};

/** @name world.c @{ */
/** Connect to all others and start serving. @param options for a foreign key-value store; may be NULL */
int32_t rh_comm_world_open(const struct rh_comm_options *options, const struct rh_comm_env *env,
                           struct rh_comm_world **ret_world, struct rh_comm_error *err);
/** Stop serving and free it. NULL is nothing. */
void rh_comm_world_close(struct rh_comm_world *world);
/** Something is to be done in the background. Cheap when the service thread is awake. */
void rh_comm_world_wake(struct rh_comm_world *world);
/** @return 0, or what ended the world */
int32_t rh_comm_world_check(const struct rh_comm_world *world, struct rh_comm_error *err);
/** An operation failed by itself: end the world for all, and learn the true reason. May take a second. */
int32_t rh_comm_world_fail(struct rh_comm_world *world, const struct rh_comm_error *reason, struct rh_comm_error *err);
/** @} */

/** @name request.c @{ */
/** Drive all operations of the context. The lock is held. */
void rh_comm_progress(struct rh_comm *comm);
/** End all operations with what ended the world. The lock is held. */
void rh_comm_fail_all(struct rh_comm *comm);
/** @} */

/** @name lanes.c @{ */
/** Start a collective of messages. @return 0 or RH_COMM_ENOMEM */
int32_t rh_comm_lanes_new(struct rh_comm *comm, const struct rh_comm_op *op, uint64_t sequence,
                          struct rh_comm_lanes **ret_lanes);
/** Move on. @return 0: done; RH_COMM_BUSY; RH_COMM_E* */
int32_t rh_comm_lanes_test(struct rh_comm_lanes *lanes);
/** Free it. After an error its messages are finished by the backend's abort(). NULL is nothing. */
void rh_comm_lanes_free(struct rh_comm_lanes *lanes);
/** @} */

/** @name loader.c @{ */
/** Choose the backend for host memory, the same on all ranks. @param wanted a name, or "auto". @return 0 or RH_COMM_E*
 */
int32_t rh_comm_load(struct rh_comm *comm, const char *wanted, struct rh_comm_module *ret_module,
                     struct rh_comm_error *err);
/** Unload it. */
void rh_comm_unload(struct rh_comm_module *module);
/** @} */

/** @name team.c @{ */
/** Learn who shares memory with whom. @return 0 or RH_COMM_E* */
int32_t rh_comm_find_hosts(struct rh_comm *comm, struct rh_comm_error *err);
/** Fill comm->team in. */
void rh_comm_team_init(struct rh_comm *comm);
/** Publish a value to the ranks of the context. @return 0 or RH_COMM_E* */
int32_t rh_comm_put(struct rh_comm *comm, const char *key, const void *value, size_t length, struct rh_comm_error *err);
/** Wait for one. @return its length or RH_COMM_E* */
int64_t rh_comm_get(struct rh_comm *comm, const char *key, void *value, size_t room, struct rh_comm_error *err);
/** @} */

/** The backend that is always there: shared memory and TCP (comm/native). */
extern const struct rh_comm_backend rh_comm_native;

#endif
