/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/context.h
 * @brief What the files of the library share about a context and its operations.
 *
 * world.c owns the connection to the others, service.c the thread that serves it, context.c contexts and groups,
 * request.c operations in flight, wait.c waiting for them, batch.c many of them in one, lanes.c collectives that are
 * made of messages, levels.c all-reduces of hosts with several ranks, tune.c the table of algorithms, loader.c
 * backends, team.c what a backend is given, stage.c CUDA memory that goes through the host, cudart.c the CUDA runtime,
 * fork.c what a child that is forked must let go of.
 */
#ifndef RH_COMM_CORE_CONTEXT_H
#define RH_COMM_CORE_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "comm/core/bootstrap/client.h"
#include "comm/core/bootstrap/label.h"
#include "comm/core/bootstrap/server.h"
#include "comm/core/collective/rounds.h"
#include "comm/core/collective/tune.h"
#include "comm/core/env.h"
#include "comm/core/fork.h"
#include "roundhouse/comm_backend.h"

/** Longest name of a backend. */
#define RH_COMM_NAME_MAX 32

/** The process's connection to all others; shared by its context and that one's groups. */
struct rh_comm_world {
	struct rh_comm_env env;
	struct rh_comm_server *server; /**< in rank 0, else NULL */
	struct rh_comm_client *client;
	pthread_t service;
	bool serving;
	struct rh_comm_forking forking;
	bool forked; /**< this process is a child of the one that has joined: all here is its parent's */
	_Atomic bool stop;
	_Atomic bool asleep;      /**< the service thread waits for something to happen */
	pthread_mutex_t lock;     /**< over the lists of contexts */
	struct rh_comm *contexts; /**< the first is the world's own */
	struct rh_comm *opening;  /**< groups that are being made */
	int32_t *hosts;           /**< for each rank the number of its host */
	char address[300];        /**< at which the others reach this rank */
	bool warned;              /**< that rank 0 is silent */
	bool crowded;             /**< ranks of this machine outnumber its processors: nobody spins long */
	struct rh_comm_tune tune; /**< rank 0's table */
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

/** Copies between CUDA devices and the host (cudart.h). */
struct rh_comm_stager;
/** An operation whose CUDA memory goes through host memory, chunk by chunk. */
struct rh_comm_staged;

/** What moves memory of CUDA devices. All zero: nothing does. */
struct rh_comm_cuda {
	struct rh_comm_module module; /**< of a group: borrowed */
	struct rh_comm_team team;
	void *self;
	bool aborted;                  /**< it has been told */
	char why[256];                 /**< why there is none */
	struct rh_comm_stager *stager; /**< what copies through host memory then; NULL: not looked for, or there is none */
	_Atomic int32_t copying;       /**< copies under way, of which no backend has news */
};

/** A context. */
struct rh_comm {
	struct rh_comm *next; /**< of the world's contexts */
	struct rh_comm_world *world;
	bool is_group;
	_Atomic bool is_level; /**< one of another context's levels, which drives it */
	char prefix[64];       /**< of its keys */
	uint64_t name;         /**< of a group: its prefix as a number, equal on all members */
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
	struct rh_comm_cuda cuda;
	struct rh_comm_team team;
	struct rh_comm_error said; /**< what the backend said last with fail() */
	int64_t deadline;          /**< of open() */
	pthread_mutex_t lock;      /**< over what follows, and every call of the backend but abort() */
	struct rh_comm_request *first;
	struct rh_comm_request **last;
	struct rh_comm_request *spare;       /**< requests that are done with, for the next ones */
	uint64_t posted;                     /**< collectives */
	uint64_t trail;                      /**< what they were, all in one (label.h) */
	uint64_t labels[RH_COMM_REMEMBERED]; /**< what the last of them were, by number */
	uint64_t done;
	bool aborted;                  /**< the backend has been told */
	_Atomic int32_t attended;      /**< threads that drive its operations now */
	_Atomic int32_t pending;       /**< operations in flight */
	_Atomic int32_t guests;        /**< the service thread is with it: it must not be freed */
	_Atomic int32_t spin;          /**< microseconds that the next wait spins */
	_Atomic uint32_t waits;        /**< that spun for less than they may */
	struct rh_comm_levels *levels; /**< for hosts with several ranks each; NULL: there is one level */
};

/** One all-reduce that goes through both levels. */
struct rh_comm_hier;

/** Groups through which an all-reduce goes when there are several hosts, and some have several ranks. */
struct rh_comm_levels {
	struct rh_comm *near; /**< the ranks of this host */
	struct rh_comm *far;  /**< those of all hosts that have our place there; NULL: some host has no such place */
	int32_t slices;       /**< of a vector, each of one place: as many as the smallest host has ranks */
	bool even;            /**< all hosts have the same number of ranks */
	struct rh_comm_hier *climbing; /**< the one whose turn it is */
};

/** One collective that is made of messages. */
struct rh_comm_lanes;
/** Small vectors that travel as one. */
struct rh_comm_bucket;

/** An operation in flight. */
struct rh_comm_request {
	struct rh_comm_request *next;
	struct rh_comm *comm;
	struct rh_comm_op op;
	uint64_t sequence; /**< of a collective; 0: a message */
	void *work;        /**< the backend's */
	bool on_device;    /**< that is the one for CUDA memory */
	bool held;         /**< not started: an earlier one that it must not overtake is not posted as a whole yet */
	struct rh_comm_staged *staged; /**< NULL: its memory is the host's, or the backend's to reach */
	struct rh_comm_lanes *lanes;
	struct rh_comm_hier *hier;
	struct rh_comm_request *whole; /**< the batch that it is a part of; NULL: none */
	struct rh_comm_bucket *bucket; /**< of such a part; NULL: it is one operation */
	size_t parts;                  /**< of a batch: those that are not done */
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
/**
 * As that where the reason does not say who is at fault: the hub asks the ranks of @p comm how far they are, and names
 * who is behind, stopped, or at odds with the others.
 * @param needed how far all must be: RH_COMM_REACHED_OPENING, or RH_COMM_REACHED_OPEN and the number of a collective
 */
int32_t rh_comm_world_judge(const struct rh_comm *comm, const struct rh_comm_error *reason, uint64_t needed,
                            struct rh_comm_error *err);
/** @} */

/** @name context.c @{ */
/** @return the world's number of a rank of the context */
int32_t rh_comm_world_rank(const struct rh_comm *comm, int32_t rank);
/** @} */

/** @name service.c @{ */
/** Serve the line, send heartbeats, and drive what nobody waits for, until world->stop. @param arg the world */
void *rh_comm_service_run(void *arg);
/** @} */

/** @name request.c @{ */
/** Fill in what the caller left out. @return @p given, which lacks nothing, or @p room */
const struct rh_comm_op *rh_comm_request_complete(const struct rh_comm *comm, const struct rh_comm_op *given,
                                                  struct rh_comm_op *room);
/** Check one that is complete. @return 0 or RH_COMM_E* */
int32_t rh_comm_request_check(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err);
/** Take one out of the spare ones, or a new one. The lock is held. @return NULL: out of memory */
struct rh_comm_request *rh_comm_request_new(struct rh_comm *comm, const struct rh_comm_op *op);
/** Put it back. The lock is held. */
void rh_comm_request_recycle(struct rh_comm_request *request);
/** Start it, and put it into the row unless it is done at once. The lock is held. */
void rh_comm_request_begin(struct rh_comm_request *request);
/** It begins now: set its times. */
void rh_comm_request_date(struct rh_comm_request *request);
/** It ended, well or with the backend's words. It is in no row. The lock is held. */
void rh_comm_request_finish(struct rh_comm_request *request, int32_t status);
/** Put one whose work was started elsewhere into the row. The lock is held. */
void rh_comm_request_enlist(struct rh_comm_request *request);
/** @return RH_COMM_BUSY, or how the work of a collective or a message went on. The lock is held */
int32_t rh_comm_request_move(struct rh_comm_request *request);
/** Start one of host memory that is part of another and in no row. The lock is held. @return 0 or RH_COMM_E* */
int32_t rh_comm_request_start_part(struct rh_comm_request *part);
/** Count a collective in, and remember what it is. The lock is held. @return its id, for backends */
static inline uint64_t rh_comm_request_note(struct rh_comm *comm, const struct rh_comm_op *op)
{
	uint64_t label = rh_comm_label(op);

	comm->trail = rh_comm_trail(comm->trail, label);
	comm->labels[++comm->posted % RH_COMM_REMEMBERED] = label;
	return rh_comm_id(comm->trail, comm->posted);
}
/** Look at the world and the clock: end what has to end. The lock is not held. */
void rh_comm_request_look(struct rh_comm_request *request);
/** Drive all operations of the context. The lock is held. */
void rh_comm_progress(struct rh_comm *comm);
/** End all operations with what ended the world. The lock is held. */
void rh_comm_fail_all(struct rh_comm *comm);
/** @} */

/** Most microseconds that a wait spins. */
#define RH_COMM_SPIN 50

/** How long somebody has waited. All zero but for `spin` is the beginning. */
struct rh_comm_patience {
	int32_t rounds;
	int64_t since; /**< of the spinning */
	int64_t spin;  /**< microseconds that it may take */
};

/** @name wait.c @{ */
/** Spin or yield for a moment. @return false: it is time to sleep, and then to begin anew */
bool rh_comm_patience_spin(struct rh_comm_patience *patience, bool crowded);
/**
 * Look once more, then sleep until something may have changed, at most @p time microseconds. The lock is not held.
 * @param request what is waited for; NULL: anything of the context
 */
void rh_comm_nap(struct rh_comm *comm, const struct rh_comm_request *request, int64_t time);
/** @} */

/** @name batch.c @{ */
/** A part of a batch is done: hand its results out, and end the batch with its last one. The lock is held. */
void rh_comm_batch_end_part(struct rh_comm_request *part, int32_t status);
/** Forget a bucket. NULL is nothing. */
void rh_comm_bucket_free(struct rh_comm_bucket *bucket);
/** @} */

/** @name levels.c @{ */
/** Make the groups where they are of use. Collective. @return 0 or RH_COMM_E* */
int32_t rh_comm_levels_open(struct rh_comm *comm, struct rh_comm_error *err);
/** Free them. */
void rh_comm_levels_close(struct rh_comm *comm);
/** Start an all-reduce through both levels. @return 0, RH_COMM_ENOTSUP: it is not for that, or RH_COMM_ENOMEM */
int32_t rh_comm_hier_new(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_hier **ret_hier);
/** Move on. @return 0: done; RH_COMM_BUSY; RH_COMM_E* */
int32_t rh_comm_hier_test(struct rh_comm_hier *hier);
/** Free it. NULL is nothing. */
void rh_comm_hier_free(struct rh_comm_hier *hier);
/** @} */

/** @name lanes.c @{ */
/** Start a collective of messages. @param id as rh_comm_request_note() gave it. @return 0 or RH_COMM_ENOMEM */
int32_t rh_comm_lanes_new(struct rh_comm *comm, const struct rh_comm_op *op, uint64_t id,
                          struct rh_comm_lanes **ret_lanes);
/** Move on. @return 0: done; RH_COMM_BUSY; RH_COMM_E* */
int32_t rh_comm_lanes_test(struct rh_comm_lanes *lanes);
/** Free it. After an error, and the abort() of the backend, its messages are waited for shortly. NULL is nothing. */
void rh_comm_lanes_free(struct rh_comm_lanes *lanes);
/** @} */

/** @name loader.c @{ */
/** Choose the backend for host memory, the same on all ranks. @param wanted a name, or "auto". @return 0 or RH_COMM_E*
 */
int32_t rh_comm_load(struct rh_comm *comm, const char *wanted, struct rh_comm_module *ret_module,
                     struct rh_comm_error *err);
/**
 * Choose the backend for CUDA memory. Collective. @param wanted as for rh_comm_load(); "nccl": there must be one
 * @param[out] ret_module empty when there is none; comm->cuda.why then says why. @return 0 or RH_COMM_E*
 */
int32_t rh_comm_load_cuda(struct rh_comm *comm, const char *wanted, struct rh_comm_module *ret_module,
                          struct rh_comm_error *err);
/** Load a backend by name, of which nobody else is asked. @param[out] why one line. @return 0 or RH_COMM_ENOTSUP */
int32_t rh_comm_module_open(const char *name, struct rh_comm_module *ret_module, char *why, size_t room);
/** Unload it. */
void rh_comm_unload(struct rh_comm_module *module);
/** @} */

/** @name cuda.c @{ */
/** Let the backend for CUDA memory, which is loaded, connect. Collective. @return 0 or RH_COMM_E* */
int32_t rh_comm_cuda_open(struct rh_comm *comm, struct rh_comm_error *err);
/** Close and unload it. */
void rh_comm_cuda_close(struct rh_comm *comm);
/** Start an operation on CUDA memory. The lock is held. @return 0 and request->work, NULL: it is done; RH_COMM_E* */
int32_t rh_comm_cuda_start(struct rh_comm *comm, struct rh_comm_request *request);
/** Make its operations end. The lock is held. */
void rh_comm_cuda_abort(struct rh_comm *comm);
/** @} */

/** @name stage.c @{ */
/** Find what it takes to copy CUDA memory to the host and back. With the lock. @return 0; RH_COMM_ENOTSUP */
int32_t rh_comm_stage_open(struct rh_comm *comm, struct rh_comm_error *err);
/** Forget it. */
void rh_comm_stage_close(struct rh_comm *comm);
/** Take what it needs: request->staged. Moves nothing yet. The lock is held. @return 0 or RH_COMM_E* */
int32_t rh_comm_stage_begin(struct rh_comm_request *request);
/**
 * Move all chunks on. The lock is held. After an error it waits until nothing touches the buffers, for two seconds at
 * most. @return 0: the results are on the device; RH_COMM_BUSY; RH_COMM_E*
 */
int32_t rh_comm_stage_test(struct rh_comm_request *request);
/** @return whether nothing of it is still to be posted; true of one that is not staged */
bool rh_comm_stage_is_posted(const struct rh_comm_request *request);
/** @return whether it waits for other ranks, not for the device or an earlier operation alone */
bool rh_comm_stage_waits(const struct rh_comm_request *request);
/** Free request->staged, if there is any. */
void rh_comm_stage_free(struct rh_comm_request *request);
/** @} */

/** @name team.c @{ */
/** Learn who shares memory with whom. @return 0 or RH_COMM_E* */
int32_t rh_comm_find_hosts(struct rh_comm *comm, struct rh_comm_error *err);
/** Take rank 0's table of algorithms and size of buckets. @return 0 or RH_COMM_E* */
int32_t rh_comm_share_tune(struct rh_comm *comm, struct rh_comm_error *err);
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
