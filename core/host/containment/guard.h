/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/containment/guard.h
 * @brief Watchdog of plugin calls.
 *
 * A plugin runs in the host's process, so an endless loop, an exit() or a crash of a plugin stops the host. The guard
 * makes each of them visible: the process ends with a message that names plugin, operation and object, and with a
 * status other than 0. It ends
 * - when a call exceeds its time limit, or lasts until the deadline of a run; both are checked four times a second;
 * - when a plugin calls exit(), _exit() or _Exit(), or crashes;
 * - on SIGINT, SIGTERM or SIGHUP while a call takes long.
 *
 * It cannot detect a plugin that blocks all signals and loops, makes the system call exit_group itself, or executes
 * another program.
 *
 * One thread calls plugins, always the same one, and calls do not nest. A timer signal can interrupt system calls of
 * that thread up to a quarter of a second after a call.
 */
#ifndef RH_HOST_CONTAINMENT_GUARD_H
#define RH_HOST_CONTAINMENT_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/** Number of signals that end the process during a slow call. */
#define RH_GUARD_INTERRUPTS 3
/** Size of the name of an operation in a trace, its terminating zero included. */
#define RH_GUARD_OPERATION_SIZE 64

/** One call of a plugin. Strings are borrowed until rh_guard_leave(). */
struct rh_guard {
	const char *plugin;    /**< its name, or its file */
	const char *operation; /**< "pod()" */
	const char *object;    /**< "PyTorchJob default/mnist"; NULL: the call is not about an object */
	int64_t limit;         /**< time limit of the call, in microseconds */
	/** @name Set by the guard @{ */
	int64_t began;                                /**< monotonic time of the call, in microseconds */
	bool slow;                                    /**< before is set */
	struct sigaction before[RH_GUARD_INTERRUPTS]; /**< actions of SIGINT, SIGTERM and SIGHUP to restore */
												  /** @} */
};

/** Progress of a process that probes plugins, in memory that it shares with its parent. */
struct rh_guard_trace {
	char operation[RH_GUARD_OPERATION_SIZE]; /**< operation in progress, or the last one */
	bool done;                               /**< all operations returned; set by the creator of the trace */
};

/**
 * Begin a call. The caller sets the first four members of @p guard, and keeps it in place until rh_guard_leave(). Costs
 * no system call while calls follow each other within a quarter of a second.
 */
void rh_guard_enter(struct rh_guard *guard);
/** End the call. Does nothing when no call is in progress. */
void rh_guard_leave(void);
/**
 * End the process with exit status @p status when a call is in progress at @p time (monotonic, microseconds). RH_NEVER,
 * the default, sets no deadline.
 */
void rh_guard_deadline(int64_t time, int status);
/** From now on only record operations in @p trace, and enforce nothing: for the process that probes plugins. */
void rh_guard_trace(struct rh_guard_trace *trace);

#endif
