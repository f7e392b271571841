/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/spawn.h
 * @brief Start of a container's process: fork, environment, exec. For the shim alone.
 */
#ifndef RH_LOCAL_SHIM_SPAWN_H
#define RH_LOCAL_SHIM_SPAWN_H

#include <sys/types.h>

#include "base/error.h"
#include "local/shim/isolation/limits.h"
#include "local/shim/plan.h"

/** Why a container did not start, with the exit code that a shell would use. */
struct rh_shim_refusal {
	int exit_code; /**< 127: no such program; 126: not executable; 128: a failure of the machine */
	char message[512];
};

/** What to start. Borrowed for the call. */
struct rh_shim_spawn {
	const struct rh_shim_spec *spec;
	const struct rh_shim_limits *limits; /**< NULL: none */
	/** standard input, output and error; not 0, 1 or 2; -1 as input: empty */
	int streams[3];
	bool terminal; /**< they are a terminal, which becomes the one of its session */
	/** process of the same container whose mount namespace is used instead of a new one; 0: none */
	pid_t beside;
};

/**
 * Start a container's process in a new session with only the standard streams open, default signal handling and umask
 * 022; it is killed when this process ends. Blocks until the program runs or failed to start.
 * @param[out] ret_pid the process; set on success only
 * @return 0, or RH_EINVAL with @p ret_refusal filled
 */
int rh_shim_spawn(const struct rh_shim_spawn *spawn, pid_t *ret_pid, struct rh_shim_refusal *ret_refusal);

#endif
