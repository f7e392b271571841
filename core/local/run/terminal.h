/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/terminal.h
 * @brief Gives one replica of a run the terminal of the user (struct rh_run_terminal). For core/local/run alone.
 *
 * The replica has a pseudo-terminal. What the user types is written to it; its output comes back by the log, which the
 * shim writes, and is passed on as it is. While the replica runs, the user's terminal is raw, so that Ctrl-C and the
 * like reach the replica.
 */
#ifndef RH_LOCAL_RUN_TERMINAL_H
#define RH_LOCAL_RUN_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "base/error.h"
#include "base/os/loop.h"
#include "base/str.h"

struct rh_run;

/** State of it. */
struct rh_run_tty {
	int master;            /**< of the pseudo-terminal; -1: no replica has the terminal */
	const char *job;       /**< in the folders of logs; borrowed from the run, likewise container */
	char *replica;         /**< "worker-1"; owned */
	const char *container; /**< the main one */
	struct rh_loop_watch *input;
	struct rh_str typed;   /**< not yet taken by the pseudo-terminal */
	int64_t shown;         /**< bytes of the log that were passed on */
	bool raw;              /**< the user's terminal is the replica's */
	struct termios before; /**< its settings before that */
};

/** Initialize: no replica has it. */
void rh_run_terminal_init(struct rh_run *run);
/** Make the pseudo-terminal if options.terminal names a replica. @return 0, RH_EIO or RH_ENOMEM */
int rh_run_terminal_open(struct rh_run *run, struct rh_error *err);
/** The log of a container has grown: pass its new bytes on if the container has the terminal. */
void rh_run_terminal_grown(struct rh_run *run, const char *job, const char *replica, const char *container,
                           int64_t from);
/** Hand the terminal over when the container starts, and back when it has ended, as a step of the loop. */
void rh_run_terminal_step(void *arg, int64_t clock);
/** @return when to try again to pass on what was typed, monotonic microseconds; RH_NEVER */
int64_t rh_run_terminal_deadline(void *arg);
/** Hand the terminal back and free what belongs to it. */
void rh_run_terminal_close(struct rh_run *run);

#endif
