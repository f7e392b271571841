/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/auth/program.h
 * @brief A short child process whose standard output is collected while the loop runs.
 */
#ifndef RH_KUBE_AUTH_PROGRAM_H
#define RH_KUBE_AUTH_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/os/loop.h"
#include "base/str.h"

/** rh_auth_program_check(): the process still runs. */
#define RH_AUTH_PROGRAM_RUNS 1

/** A started process. */
struct rh_auth_program;

/** How to start the process. Borrowed during the call. */
struct rh_auth_program_options {
	struct rh_loop *loop; /**< borrowed for the life of the process object */
	char *const *argv;    /**< argv[0] without a slash is looked up in $PATH */
	char *const *envp;
	bool terminal;   /**< it inherits standard input; otherwise its input is empty */
	int64_t timeout; /**< microseconds after which it is killed */
};

/** Start the process; it inherits standard error. @param[out] ret_program owned by the caller
 * @return 0, what rh_spawn() returned, RH_EIO or RH_ENOMEM */
int rh_auth_program_new(const struct rh_auth_program_options *options, struct rh_auth_program **ret_program,
                        struct rh_error *err);
/** Kill the process and its descendants if they run, and free @p program. Blocks until they ended. NULL is ignored. */
void rh_auth_program_free(struct rh_auth_program *program);
RH_DEFINE_CLEANUP(auth_program);
/**
 * Check whether the process ended. @param now monotonic microseconds
 * @return 0: it exited with code 0; RH_AUTH_PROGRAM_RUNS; or RH_EAGAIN, RH_EIO or RH_ENOMEM, then @p err has the cause
 */
int rh_auth_program_check(struct rh_auth_program *program, int64_t now, struct rh_error *err);
/** @return its standard output, borrowed; secret */
const struct rh_str *rh_auth_program_output(const struct rh_auth_program *program);
/** @return the latest time of the next rh_auth_program_check(), monotonic microseconds */
int64_t rh_auth_program_deadline(const struct rh_auth_program *program);

#endif
