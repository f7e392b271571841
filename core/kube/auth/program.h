/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/auth/program.h
 * @brief A short program beside the loop, whose standard output is gathered.
 */
#ifndef RH_KUBE_AUTH_PROGRAM_H
#define RH_KUBE_AUTH_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/os/loop.h"
#include "base/str.h"

/** rh_auth_program_check(): it still runs. */
#define RH_AUTH_PROGRAM_RUNS 1

/** A program that was started. */
struct rh_auth_program;

/** What to start. Borrowed during the call. */
struct rh_auth_program_options {
	struct rh_loop *loop; /**< borrowed for the program's life */
	char *const *argv;    /**< argv[0] without a slash is looked up in $PATH */
	char *const *envp;
	bool terminal;   /**< it gets our standard input; else it reads nothing */
	int64_t timeout; /**< microseconds after which it is killed */
};

/** Start it; its standard error is ours. @return 0, what rh_spawn() returned, RH_EIO or RH_ENOMEM */
int rh_auth_program_new(const struct rh_auth_program_options *options, struct rh_auth_program **ret_program,
                        struct rh_error *err);
/** Kill it if it runs, with what it started, and free it. Blocks for the kill. NULL is nothing. */
void rh_auth_program_free(struct rh_auth_program *program);
RH_DEFINE_CLEANUP(auth_program);
/**
 * Look how it is. @param now monotonic microseconds
 * @return 0 when it ended well, RH_AUTH_PROGRAM_RUNS, or RH_EAGAIN, RH_EIO or RH_ENOMEM with words
 */
int rh_auth_program_check(struct rh_auth_program *program, int64_t now, struct rh_error *err);
/** @return what it wrote, borrowed; secret */
const struct rh_str *rh_auth_program_output(const struct rh_auth_program *program);
/** @return monotonic microseconds when rh_auth_program_check() is to be called though nothing happens */
int64_t rh_auth_program_deadline(const struct rh_auth_program *program);

#endif
