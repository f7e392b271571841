/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/loop.h
 * @brief The event loop. The only module that knows libuv.
 *
 * One function, the turn, is called before each sleep, whatever woke the loop. It does what is due and returns how long
 * the loop may sleep. So there are no timers to keep: what is due is decided anew from the state. Sleeps are measured
 * with the monotonic clock.
 */
#ifndef RH_BASE_OS_LOOP_H
#define RH_BASE_OS_LOOP_H

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/** Opaque loop. */
struct rh_loop;
/** Opaque watch of one descriptor. */
struct rh_loop_watch;

/** Do what is due. @return microseconds until the next call if no event occurs; 0: at once, after a check of
 * descriptors and signals; RH_NEVER */
typedef int64_t rh_loop_turn_fn(void *arg);
/** Events of a descriptor; a set. */
enum rh_loop_event {
	RH_LOOP_READ = 1, /**< it can be read, or its other end has closed */
	RH_LOOP_WRITE = 2 /**< it can be written, or its other end has closed */
};

/** A descriptor is ready; rh_loop_ready() returns for what. */
typedef void rh_loop_ready_fn(void *arg);
/** Signal @p number was received; several pending signals of one number may be reported once. */
typedef void rh_loop_signal_fn(void *arg, int number);

/** @return 0, RH_EIO or RH_ENOMEM */
int rh_loop_new(rh_loop_turn_fn *turn, void *arg, struct rh_loop **ret_loop, struct rh_error *err);
/** Free the loop and all its watches; signals get their former handlers back. NULL is allowed. */
void rh_loop_free(struct rh_loop *loop);
RH_DEFINE_CLEANUP(loop);
/** Call @p fn for signal @p number from now on, until the loop is freed. @return 0, RH_EIO or RH_ENOMEM */
int rh_loop_signal(struct rh_loop *loop, int number, rh_loop_signal_fn *fn, void *arg, struct rh_error *err);
/** Call @p fn whenever @p fd (borrowed; must outlive the watch) can be read. @return 0, RH_EIO or RH_ENOMEM */
int rh_loop_watch(struct rh_loop *loop, int fd, rh_loop_ready_fn *fn, void *arg, struct rh_loop_watch **ret_watch,
                  struct rh_error *err);
/** Change what @p watch looks for: a set of enum rh_loop_event, 0 for nothing. A new watch reads. @return 0 or RH_EIO
 */
int rh_loop_watch_for(struct rh_loop_watch *watch, unsigned events, struct rh_error *err);
/** @return the events that @p watch reported last: a set of enum rh_loop_event; for its ready function. A descriptor
 * with an error is ready for all that was asked */
unsigned rh_loop_ready(const struct rh_loop_watch *watch);
/** End a watch; to be called before its descriptor is closed. NULL is allowed. */
void rh_loop_unwatch(struct rh_loop_watch *watch);
/** Run until rh_loop_stop(). Blocks. */
void rh_loop_run(struct rh_loop *loop);
/** Make rh_loop_run() return after the callback that runs now. */
void rh_loop_stop(struct rh_loop *loop);

#endif
