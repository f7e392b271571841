/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/exec.h
 * @brief Commands that run in a pod beside its containers' processes: the shim's part of local/exec.h. For the shim
 * alone. No function blocks.
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

/** Most concurrent commands of one pod; further ones wait. */
#define RH_SHIM_EXECS_MAX 64
/** Most polled descriptors: those of the commands, and the socket. */
#define RH_SHIM_EXEC_POLLS (RH_SHIM_EXECS_MAX + 1)

/** State of a command. */
enum rh_shim_exec_state {
	RH_SHIM_EXEC_FREE,      /**< unused */
	RH_SHIM_EXEC_RECEIVING, /**< the request is incomplete */
	RH_SHIM_EXEC_WAITING,   /**< waits for its container */
	RH_SHIM_EXEC_RUNNING
};

/** One command. */
struct rh_shim_command {
	enum rh_shim_exec_state state;
	int peer; /**< socket of the client; -1: closed */
	int streams[3];
	struct rh_str line; /**< the received part of the request */
	const char **argv;  /**< owned; its strings are borrowed from request */
	struct rh_json *request;
	size_t container;      /**< number in the plan */
	bool waiting_reported; /**< the client knows that the command waits for the container */
	pid_t pid;             /**< also its session ID */
};

/** All commands of a pod, and the socket. */
struct rh_shim_exec {
	int listener; /**< -1: not open */
	struct rh_shim_command commands[RH_SHIM_EXECS_MAX];
};

/** Listen in folder @p dir, which only this user may enter. The caller closes @p exec, also after a failure. @return 0
 * or RH_EIO */
int rh_shim_exec_open(struct rh_shim_exec *exec, const char *dir, struct rh_error *err);
/** Close all connections and free what @p exec owns. */
void rh_shim_exec_close(struct rh_shim_exec *exec);
/** Fill in RH_SHIM_EXEC_POLLS descriptors to poll. */
void rh_shim_exec_watch(const struct rh_shim_exec *exec, struct pollfd *polls);
/** Process the events of the descriptors from rh_shim_exec_watch(). */
void rh_shim_exec_take(struct rh_shim_exec *exec, const struct rh_shim_pod *pod, const struct pollfd *polls);
/** Start the commands whose containers run, and reject those whose containers will never run. */
void rh_shim_exec_step(struct rh_shim_exec *exec, struct rh_shim_pod *pod);
/** Child @p pid ended with wait status @p status: if it is a command, report that to its client. NULL is ignored. */
void rh_shim_exec_reap(struct rh_shim_exec *exec, pid_t pid, int status);
/** @return number of the container of the command with session @p session; -1: no command has it, or @p exec is NULL
 */
int rh_shim_exec_container(const struct rh_shim_exec *exec, pid_t session);

#endif
