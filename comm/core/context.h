/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/context.h
 * @brief A context: the ranks that communicate, their backends, and the queue of its operations.
 *
 * context.c opens and closes contexts; init.c has the public functions that use it. Requests are request/, algorithms
 * are collective/, CUDA memory is memory/.
 */
#ifndef RH_COMM_CORE_CONTEXT_H
#define RH_COMM_CORE_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "comm/core/bootstrap/protocol/label.h"
#include "comm/core/bootstrap/world.h"
#include "comm/core/loader.h"
#include "roundhouse/comm_backend.h"

/** How often a group of certain ranks was created: equal on all its members, so it is part of the group's name. */
struct rh_comm_group_count {
	uint64_t hash;
	uint32_t times;
};

/** Copies between CUDA devices and the host (memory/cudart.h). */
struct rh_comm_stager;
struct rh_comm_request;
struct rh_comm_hier;

/** The backend for CUDA memory. All zero: none. */
struct rh_comm_cuda {
	struct rh_comm_module module; /**< of a group: borrowed from its parent */
	struct rh_comm_team team;
	void *self;                    /**< the backend's context */
	bool aborted;                  /**< its abort() was called */
	char why[256];                 /**< reason why there is no backend */
	struct rh_comm_stager *stager; /**< copies through host memory instead; NULL: not opened, or not available */
	_Atomic int32_t copying;       /**< copies in flight, for which no backend signals completion */
};

/** Subgroups of a hierarchical all-reduce: for several hosts, some of which have several ranks. */
struct rh_comm_hierarchy {
	struct rh_comm *intra;        /**< the ranks of this host */
	struct rh_comm *inter;        /**< one rank of each host, with our local rank; NULL: some host has no such rank */
	int32_t slices;               /**< of a vector, one of each local rank: as many as the smallest host has ranks */
	bool even;                    /**< all hosts have the same number of ranks */
	struct rh_comm_hier *current; /**< the all-reduce that may post to the subgroups */
};

/** Most microseconds that a wait spins. */
#define RH_COMM_SPIN 50

/** A context. */
struct rh_comm {
	struct rh_comm *next; /**< of the world's contexts */
	struct rh_comm_world *world;
	bool is_group;
	_Atomic bool is_subgroup; /**< part of another context's hierarchy, which drives it */
	char prefix[64];          /**< of its keys */
	uint64_t name;            /**< of a group: its prefix as a number, equal on all members */
	int32_t rank;
	int32_t size;
	int32_t *ranks; /**< by rank here: the rank in the world; NULL: the same */
	int32_t *hosts; /**< by rank: number of its host */
	int32_t local_rank;
	int32_t local_world;
	struct rh_comm_group_count *made; /**< groups created from it so far */
	size_t made_count;
	struct rh_comm_module module;
	void *self; /**< the backend's context */
	struct rh_comm_cuda cuda;
	struct rh_comm_team team;
	struct rh_comm_error error; /**< of the latest fail() of a backend */
	int64_t deadline;           /**< of its opening, microseconds */
	/** Start a request: set request->executor and work, or complete at once. With the lock. @return 0 or RH_COMM_E* */
	int32_t (*start)(struct rh_comm_request *request);
	pthread_mutex_t lock; /**< over what follows, and every call of the backend but abort() */
	struct rh_comm_request *first;
	struct rh_comm_request **last;
	struct rh_comm_request *spare;       /**< free list */
	uint64_t posted;                     /**< collectives */
	uint64_t history;                    /**< hash of the labels of all posted collectives (label.h) */
	uint64_t labels[RH_COMM_REMEMBERED]; /**< labels of the latest collectives, by number */
	uint64_t done;                       /**< completed collectives */
	int32_t sourceless;                  /**< receives from any rank for which no rank has had a message yet */
	int32_t look_first;                  /**< the rank whose messages the next of them is to look at first */
	bool aborted;                        /**< the backend's abort() was called */
	_Atomic int32_t drivers;             /**< threads that wait in it, and so make progress */
	_Atomic int32_t pending;             /**< requests in flight */
	_Atomic int32_t references;          /**< held by the service thread: the context must not be freed */
	_Atomic int32_t spin;                /**< microseconds that the next wait spins */
	_Atomic uint32_t waits;              /**< waits that spun less than the maximum */
	struct rh_comm_hierarchy *hierarchy; /**< NULL: algorithms are flat */
};

/** @return the rank in the world of @p rank of the context; others, such as RH_COMM_NO_RANK, unchanged */
static inline int32_t rh_comm_world_rank(const struct rh_comm *comm, int32_t rank)
{
	return comm->ranks && rank >= 0 && rank < comm->size ? comm->ranks[rank] : rank;
}

/** Allocate a context that is not open. @return NULL: out of memory */
struct rh_comm *rh_comm_context_new(struct rh_comm_world *world, int32_t rank, int32_t size);
/** Select backends and connect. Collective. @param backend as in rh_comm_options. @return 0 or RH_COMM_E* */
int32_t rh_comm_context_open(struct rh_comm *comm, const char *backend, struct rh_comm_error *err);
/**
 * Create a group of some ranks, without a hierarchy of its own. Collective over these ranks.
 * @return 0 or RH_COMM_E*; *@p ret_group is freed by rh_comm_context_close()
 */
int32_t rh_comm_context_group(struct rh_comm *comm, const int32_t *ranks, int32_t count, struct rh_comm **ret_group,
                              struct rh_comm_error *err);
/**
 * Translate a failed opening: after a timeout the world ends, and the rendezvous server finds the ranks that are late.
 * @return @p r, or what ended the world
 */
int32_t rh_comm_context_give_up(const struct rh_comm *comm, int32_t r, struct rh_comm_error *err);
/** Wait until the backend has sent what is posted; two seconds at most. */
void rh_comm_context_settle(struct rh_comm *comm);
/** Remove the context from the world's list, and wait until the service thread has left it. */
void rh_comm_context_delist(struct rh_comm *comm);
/** Announce to the world that this rank leaves a group. */
void rh_comm_context_report_gone(struct rh_comm *group);
/** Close backends and free it. For one that is not in the world's list. */
void rh_comm_context_release(struct rh_comm *comm);
/** Settle, delist, announce and release a group. NULL is ignored. */
void rh_comm_context_close_group(struct rh_comm *group);

#endif
