/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ranks.h
 * @brief A world of processes on this machine, for tests of rh_comm.
 */
#ifndef RH_TEST_COMM_RANKS_H
#define RH_TEST_COMM_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "roundhouse/comm.h"

/** Most ranks of a test. */
#define RANKS_MAX 8

/** What a rank does once the world stands. @return exit status of its process; 0 is good */
typedef int ranks_fn(struct rh_comm *comm, const void *arg);

/** How a world starts. */
struct ranks_plan {
	int32_t world;
	bool no_shm;                /**< every rank counts as a host of its own */
	int32_t hosts;              /**< not 0: the ranks are spread over so many hosts, in order */
	const char *places;         /**< not NULL: for each rank a letter, its host: "AAB" */
	const char *backend;        /**< NULL: native */
	const char *const *modules; /**< for each rank its RH_COMM_PATH; NULL: as it is */
	const char *death;          /**< seconds of RH_COMM_DEATH_TIMEOUT; NULL: 5 */
	const char *log;            /**< file for standard error, with the library's lines; NULL: none, and no lines */
	const char *const *env;     /**< further variables, "NAME=value", up to NULL; NULL: none */
	const int *processors;      /**< to which each rank is bound before it joins; NULL: as this process */
	ranks_fn *fn;
	const void *arg;
};

/** Processes that run. */
struct ranks {
	int32_t world;
	pid_t pids[RANKS_MAX];
	int32_t waited; /**< how many of them */
	int ready;      /**< a byte comes from each rank once the world stands for it */
};

/** @return a port of 127.0.0.1 that was free a moment ago */
int ranks_free_port(void);
/** Start them. */
void ranks_start(const struct ranks_plan *plan, struct ranks *ret_ranks);
/** Wait until the world stands for all ranks. Fails the test after five minutes. */
void ranks_await_ready(const struct ranks *ranks);
/**
 * Wait for rank @p rank, at most five minutes; then it is killed and the test fails.
 * @return its exit status, or 128 + signal
 */
int ranks_wait(struct ranks *ranks, int32_t rank);
/** Start them, wait for all, and fail unless all end with 0. */
void ranks_run(const struct ranks_plan *plan);
/** ranks_run() for worlds of @p from to @p to ranks; @p fn gets the name of the backend, which may be NULL: native. */
void ranks_run_worlds(const char *backend, ranks_fn *fn, bool no_shm, int32_t from, int32_t to);
/** A ranks_fn: the world has the backend that @p arg names. */
int ranks_check_backend(struct rh_comm *comm, const void *arg);

#endif
