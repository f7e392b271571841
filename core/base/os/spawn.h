/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/spawn.h
 * @brief Starting a process that inherits nothing of ours by accident.
 *
 * Signals are as after a boot: none blocked, all with their defaults. Descriptors are those that are named and those
 * that are not close-on-exec.
 */
#ifndef RH_BASE_OS_SPAWN_H
#define RH_BASE_OS_SPAWN_H

#include <stddef.h>

#include <sys/types.h>

#include "base/error.h"

/** In place of a descriptor of ours: /dev/null, opened to read and write. */
#define RH_SPAWN_NULL (-1)

/** Where a process stands among others. */
enum rh_spawn_place {
	RH_SPAWN_WITH_US,    /**< in our process group: what a terminal sends to us reaches it, too */
	RH_SPAWN_OWN_GROUP,  /**< in a process group of its own */
	RH_SPAWN_OWN_SESSION /**< in a session of its own: no terminal reaches it */
};

/** One descriptor that it gets. */
struct rh_spawn_fd {
	int from; /**< ours, or RH_SPAWN_NULL */
	int to;   /**< its number there; @p from of a later one may be this */
};

/** How a process is started. All borrowed during the call. */
struct rh_spawn {
	const char *program; /**< path, or a name that is looked for in PATH */
	char *const *argv;   /**< ended by NULL */
	char *const *envp;   /**< likewise */
	enum rh_spawn_place place;
	const struct rh_spawn_fd *fds; /**< done in this order */
	size_t fd_count;
};

/**
 * Start it. Does not wait for it; the caller has to, with waitpid().
 * @return 0, RH_ENOENT (there is no such program), RH_EAGAIN (too many processes, or memory is out) or RH_EIO
 */
int rh_spawn(const struct rh_spawn *how, pid_t *ret_pid, struct rh_error *err);

#endif
