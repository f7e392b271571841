/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/detach.h
 * @brief `run -d`: a second process runs the jobs without a terminal, the first one ends when they have started.
 */
#ifndef RH_CLI_RUN_DETACH_H
#define RH_CLI_RUN_DETACH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"
#include "local/run.h"

/** Both processes' part. All zero is not detached. */
struct rh_detach {
	int pipe;     /**< to the first process; -1: it has its answer */
	bool wait;    /**< answer when every job runs, or has ended; else when they are created */
	bool left;    /**< standard output and error are no longer those of the terminal */
	char *path;   /**< folder of the run; owned; NULL: it is not kept */
	size_t count; /**< of jobs */
	char **begun; /**< names of the jobs that run or have ended; owned */
	size_t begun_count;
};

/**
 * Make the second process, which gets a session of its own and ignores SIGHUP. In the first one, wait for the answer
 * and print it: the name of the run on standard output.
 * @param[out] ret_status in the first process: its exit status
 * @return 0 in the second process, 1 in the first one, RH_EIO
 */
int rh_detach(struct rh_detach *detach, bool wait, int *ret_status, struct rh_error *err);
/** @return hooks that give the answer; their arg is @p detach. @param count jobs of the run */
struct rh_run_hooks rh_detach_hooks(struct rh_detach *detach, size_t count);
/** Free what @p detach has. */
void rh_detach_deinit(struct rh_detach *detach);

#endif
