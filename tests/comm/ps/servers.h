/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/servers.h
 * @brief Parameter servers and workers as processes of this machine, for tests.
 */
#ifndef RH_TEST_COMM_PS_SERVERS_H
#define RH_TEST_COMM_PS_SERVERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "roundhouse/ps.h"

/** Most servers and workers of a test. */
#define SERVERS_MAX 8

/** Servers that run. */
struct servers {
	struct rh_ps_server_options options; /**< what all have in common */
	int32_t count;
	int32_t ports[SERVERS_MAX];
	pid_t pids[SERVERS_MAX]; /**< 0: it does not run */
	char addresses[SERVERS_MAX * 24];
};

/** What a worker does. @return exit status of its process; 0 is good */
typedef int worker_fn(struct rh_ps *ps, void *arg);

/** Workers that run. */
struct workers {
	int32_t count;
	pid_t pids[SERVERS_MAX];
};

/** How workers connect, and what they do. */
struct workers_plan {
	struct rh_ps_options options; /**< what all have in common; workers and servers are filled in */
	worker_fn *fn;
	void *arg;
};

/** Start @p count servers on ports of their own. options.workers must be set. */
void servers_start(struct servers *servers, int32_t count);
/** Start one again, on the port that it had. */
void servers_restart(struct servers *servers, int32_t index);
/** Kill one with SIGKILL. */
void servers_kill(struct servers *servers, int32_t index);
/** Wait until all have ended by themselves, each with status 0. */
void servers_wait(struct servers *servers);
/** Kill all that still run. */
void servers_stop(struct servers *servers);
/** Connect as one worker, from this process; the test fails when it cannot. */
struct rh_ps *servers_connect(const struct servers *servers, int32_t worker, bool no_shm);
/** @return an operation on the floats of key 1 */
struct rh_ps_op workers_op(int32_t what, float *in, float *out, size_t count);
/** @return the same on those of @p key */
struct rh_ps_op workers_op_on(int32_t what, uint64_t key, float *in, float *out, size_t count);
/** Rows of the value of key SPARSE_KEY, their elements, and how many of them each push names. */
#define SPARSE_KEY 99
#define SPARSE_ROWS 1000
#define SPARSE_WIDTH 10
#define SPARSE_PUSHED 4

/** A push of rows, and its buffers. */
struct sparse_push {
	uint64_t rows[SPARSE_PUSHED];
	float in[SPARSE_PUSHED * SPARSE_WIDTH];
	float out[SPARSE_PUSHED * SPARSE_WIDTH];
};

/** @return RH_PS_INIT of the sparse value, with zeros */
struct rh_ps_op sparse_init(void);
/**
 * @return the push number @p push of a worker: rows that number and worker give, one of them twice. @param what
 * RH_PS_PUSH_ROWS or RH_PS_PUSH_PULL_ROWS
 */
struct rh_ps_op sparse_op(struct sparse_push *ret_push, int32_t what, int push, int32_t worker);
/** In a worker: the sparse value is the sum of @p pushes pushes of each worker; else the process ends with 1. */
void sparse_must_be_sum(struct rh_ps *ps, int pushes);
/** Start as many workers as the servers expect, each in a process. */
void workers_start(const struct servers *servers, const struct workers_plan *plan, struct workers *ret_workers);
/** Wait for one, a minute at most. @return its exit status, or 128 + signal */
int workers_wait(struct workers *workers, int32_t worker);
/** Start them, wait for all, and fail unless all end with 0; then wait for the servers. */
void workers_run(struct servers *servers, worker_fn *fn, void *arg);
/** @return whether no backend is to be used: RH_PS_BACKEND says none */
bool servers_are_own(void);
/** In a worker: print @p what and end the process with 1, unless @p good. */
void must(bool good, const char *what);
/** In a worker: do the operations; a failure ends the process with 1. */
void must_run(struct rh_ps *ps, const struct rh_ps_op *ops, size_t count);

#endif
