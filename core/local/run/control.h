/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/control.h
 * @brief The socket by which other processes stop one job of a run. For core/local/run alone; its other end is in
 * local/control.h.
 */
#ifndef RH_LOCAL_RUN_CONTROL_H
#define RH_LOCAL_RUN_CONTROL_H

#include "base/os/loop.h"
#include "local/run/jobs.h"

/** Most processes that wait for the end of a job at a time. */
#define RH_RUN_CONTROL_MAX 16

/** One process at the other end. */
struct rh_run_client {
	struct rh_run *run;
	int fd; /**< -1: free; its end means that the job has ended */
	struct rh_loop_watch *watch;
	struct rh_run_job *job; /**< that it waits for; NULL: it has not asked */
};

/** The socket. */
struct rh_run_control {
	int fd; /**< -1: closed */
	struct rh_loop_watch *watch;
	struct rh_run_client clients[RH_RUN_CONTROL_MAX];
};

/** Initialize: nothing is open. */
void rh_run_control_init(struct rh_run *run);
/** Make the socket in the folder of the run. Where that fails, jobs cannot be stopped one by one. */
void rh_run_control_open(struct rh_run *run);
/** Close the connections of jobs that have ended, as a step of the loop; @p arg is the run. */
void rh_run_control_step(void *arg, int64_t clock);
/** @return RH_NEVER: what it looks for wakes the loop */
int64_t rh_run_control_deadline(void *arg);
/** Close the socket and all connections. */
void rh_run_control_close(struct rh_run *run);

#endif
