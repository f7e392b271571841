/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/progress/stack.h
 * @brief What a process does right now: its Python stack where py-spy is installed, else what it waits for in the
 * kernel.
 */
#ifndef RH_LOCAL_PROGRESS_STACK_H
#define RH_LOCAL_PROGRESS_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/str.h"

/** How long py-spy may take, microseconds. */
#define RH_STACK_LIMIT (INT64_C(5) * 1000000)
/** Most functions of a stack that are named, the innermost first. */
#define RH_STACK_FRAMES 6

/** The stack of a process while it is being read. All zero: none is. */
struct rh_stack {
	pid_t process;
	pid_t program; /**< py-spy; 0: it does not run */
	int output;    /**< of it */
	int64_t until; /**< monotonic microseconds: then it is killed */
};

/**
 * Begin to read the stack. @param file that the process has mapped, so that none is taken for it that has its number by
 * now
 * @param now monotonic microseconds. @return false: there is no such process
 */
bool rh_stack_start(struct rh_stack *stack, pid_t process, const char *file, int64_t now);
/** @return whether it was read; then one clause is appended, "is in f (train.py:3), called by …" */
bool rh_stack_poll(struct rh_stack *stack, int64_t now, struct rh_str *out);
/** End py-spy, if it runs. */
void rh_stack_deinit(struct rh_stack *stack);
/** Append what py-spy wrote about the main thread of a process. @return false: nothing that is a stack */
bool rh_stack_read(const char *text, struct rh_str *out);
/** Append what the main thread of a process waits for: "is stopped", "waits in flock on /data/lock". */
void rh_stack_kernel(pid_t process, struct rh_str *out);

#endif
