/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/spawn.h
 * @brief A process of a container: fork, what it must have around it, exec. For the shim alone.
 */
#ifndef RH_LOCAL_SHIM_SPAWN_H
#define RH_LOCAL_SHIM_SPAWN_H

#include <sys/types.h>

#include "base/error.h"
#include "local/shim/limits.h"
#include "local/shim/plan.h"

/** Why a container did not start, as a shell would say it: exit codes of struct rh_shim_report. */
struct rh_shim_refusal {
	int exit_code; /**< 127: no such program; 126: it cannot be run; 128: the machine could not do it */
	char message[512];
};

/** What to start. All borrowed for the call. */
struct rh_shim_spawn {
	const struct rh_shim_spec *spec;
	const struct rh_shim_limits *limits; /**< NULL: none */
	/** what becomes standard input, output and error; not 0, 1 or 2; -1 as input: empty */
	int streams[3];
	/** process of the same container, in whose mounts this one starts instead of making its own; 0: none */
	pid_t beside;
};

/**
 * Start a container's process in a session of its own with nothing but the standard streams open, signals as a fresh
 * process has them, and umask 022; it is killed when this process ends. Blocks until the program runs or is refused.
 * @param[out] ret_pid the process; set on success only
 * @return 0, or RH_EINVAL with @p ret_refusal filled
 */
int rh_shim_spawn(const struct rh_shim_spawn *spawn, pid_t *ret_pid, struct rh_shim_refusal *ret_refusal);

#endif
