/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/exec.h
 * @brief Commands that are run in a pod beside what its containers started: the shim's end of local/exec.h. For the
 * shim alone. Nothing here waits.
 */
#ifndef RH_LOCAL_SHIM_EXEC_H
#define RH_LOCAL_SHIM_EXEC_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

struct rh_shim_pod;

/** Most commands of one pod at a time; more wait for their turn. */
#define RH_SHIM_EXECS_MAX 64
/** Most descriptors that are watched for commands: theirs, and the socket's. */
#define RH_SHIM_EXEC_POLLS (RH_SHIM_EXECS_MAX + 1)

/** How far a command came. */
enum rh_shim_exec_state {
	RH_SHIM_EXEC_FREE,    /**< this place has no command */
	RH_SHIM_EXEC_HEARING, /**< it is being told */
	RH_SHIM_EXEC_WAITING, /**< for its container */
	RH_SHIM_EXEC_RUNNING
};

/** One command. */
struct rh_shim_command {
	enum rh_shim_exec_state state;
	int peer; /**< who asked; -1: hung up */
	int streams[3];
	struct rh_str line; /**< the request, as far as it came */
	const char **argv;  /**< owned, what it points to is borrowed from request */
	struct rh_json *request;
	size_t container; /**< number in the plan */
	bool told;        /**< who asked knows that the container is waited for */
	pid_t pid;        /**< also the number of its session */
};

/** All commands of a pod, and the socket. */
struct rh_shim_exec {
	int listener; /**< -1: nobody can ask */
	struct rh_shim_command commands[RH_SHIM_EXECS_MAX];
};

/** Listen in folder @p dir, which only this user may enter. @p exec must be closed in any case. @return 0 or RH_EIO */
int rh_shim_exec_open(struct rh_shim_exec *exec, const char *dir, struct rh_error *err);
/** Hang up on everybody and free what @p exec holds. */
void rh_shim_exec_close(struct rh_shim_exec *exec);
/** Fill in RH_SHIM_EXEC_POLLS descriptors to watch. */
void rh_shim_exec_watch(const struct rh_shim_exec *exec, struct pollfd *polls);
/** Take what came on the descriptors that rh_shim_exec_watch() filled in. */
void rh_shim_exec_take(struct rh_shim_exec *exec, const struct rh_shim_pod *pod, const struct pollfd *polls);
/** Start the commands whose containers run, and refuse those whose containers never will. */
void rh_shim_exec_step(struct rh_shim_exec *exec, struct rh_shim_pod *pod);
/** Child @p pid ended with wait status @p status: tell who asked, if it is a command. NULL is nothing. */
void rh_shim_exec_reap(struct rh_shim_exec *exec, pid_t pid, int status);
/** @return number of the container in which the command with session @p session runs; -1: none has it. NULL is nothing
 */
int rh_shim_exec_container(const struct rh_shim_exec *exec, pid_t session);

#endif
