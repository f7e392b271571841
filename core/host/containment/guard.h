/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/containment/guard.h
 * @brief Watches this process while it runs the code of a plugin.
 *
 * A plugin runs in the host's process, so its endless loop, its exit() and its crash are the host's. The guard sees to
 * it that none of them is silent or a success: within a time limit the process ends, with a message that names plugin,
 * operation and object, and with a status that is not 0. That is also so when a plugin calls exit(), _exit() or
 * _Exit(), or crashes. While a call takes long, SIGINT, SIGTERM and SIGHUP end the process, and so does the deadline of
 * a run. What it cannot see: a plugin that blocks all signals and loops, asks the kernel itself to end the process, or
 * executes another program.
 *
 * One thread calls plugins, and one call does not lie within another.
 */
#ifndef RH_HOST_CONTAINMENT_GUARD_H
#define RH_HOST_CONTAINMENT_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

/** Signals that end a process whose plugin does not answer. */
#define RH_GUARD_INTERRUPTS 3
/** Room for the name of an operation in a trace, its terminating zero included. */
#define RH_GUARD_OPERATION_SIZE 64

/** One call of a plugin. Texts are borrowed until rh_guard_leave(). */
struct rh_guard {
	const char *plugin;    /**< its name, or its file */
	const char *operation; /**< "pod()" */
	const char *object;    /**< "PyTorchJob default/mnist"; NULL: the call is about none */
	int64_t limit;         /**< microseconds that it may take */
	/** @name The guard's own @{ */
	int64_t began;
	pid_t pid;
	bool slow;                                    /**< before is set */
	struct sigaction before[RH_GUARD_INTERRUPTS]; /**< what SIGINT, SIGTERM and SIGHUP did */
												  /** @} */
};

/** What a process that tries plugins shows to the one that started it, in shared memory. */
struct rh_guard_trace {
	char operation[RH_GUARD_OPERATION_SIZE]; /**< that runs, or ran last */
	bool done;                               /**< all have come back; set by whoever made the trace */
};

/**
 * A plugin is about to be called. @p guard has its first four members set, and stays where it is until
 * rh_guard_leave().
 */
void rh_guard_enter(struct rh_guard *guard);
/** The plugin came back. Does nothing when none was called. */
void rh_guard_leave(void);
/**
 * End the process at this monotonic time (microseconds), with @p status, when a plugin is being called then. RH_NEVER,
 * the default: do not.
 */
void rh_guard_deadline(int64_t time, int status);
/** From now on only write into @p trace what is called, and watch nothing: for a process that tries plugins. */
void rh_guard_trace(struct rh_guard_trace *trace);

#endif
