/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/spawn.h
 * @brief Start a process that inherits nothing of ours by accident.
 *
 * No signal is blocked and all have their default action. The process gets the descriptors that are named and those
 * that are not close-on-exec.
 */
#ifndef RH_BASE_OS_SPAWN_H
#define RH_BASE_OS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>

#include <sys/types.h>

#include "base/error.h"

/** In place of a descriptor of ours: /dev/null, opened to read and write. */
#define RH_SPAWN_NULL (-1)

/** Status of a process that was started at once and cannot replace its program, as that of a shell. */
#define RH_SPAWN_FAILED 127

/** Process group and session of a process. */
enum rh_spawn_place {
	RH_SPAWN_WITH_US,    /**< in our process group: signals of a terminal reach it, too */
	RH_SPAWN_OWN_GROUP,  /**< in a process group of its own */
	RH_SPAWN_OWN_SESSION /**< in a session of its own: it has no terminal */
};

/** One descriptor that the process gets. */
struct rh_spawn_fd {
	int from; /**< ours, or RH_SPAWN_NULL */
	int to;   /**< its number in the process; may equal @p from of a later entry */
};

/** Options of a new process. All borrowed during the call. */
struct rh_spawn {
	const char *program; /**< path, or a name that is looked for in PATH */
	char *const *argv;   /**< ended by NULL */
	char *const *envp;   /**< likewise */
	enum rh_spawn_place place;
	/**
	 * Do not wait until the process has been scheduled and has replaced its program, which beside busy processes takes
	 * milliseconds. It begins with a copy of the page tables of this one. One that cannot replace its program writes
	 * why to its standard error, and ends with status RH_SPAWN_FAILED.
	 */
	bool at_once;
	const struct rh_spawn_fd *fds; /**< done in this order */
	size_t fd_count;
};

/**
 * Start a process. Does not wait for its end; the caller has to, with waitpid().
 * @return 0, RH_ENOENT (there is no such program; not when it is started at once), RH_EAGAIN (too many processes, or
 * memory is out) or RH_EIO
 */
int rh_spawn(const struct rh_spawn *how, pid_t *ret_pid, struct rh_error *err);

#endif
