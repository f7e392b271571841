/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/loop.h
 * @brief The event loop. The only module that knows libuv.
 *
 * Who has something to do registers a source: a step, which does what is due, and a deadline, which says when it is due
 * again. Before each sleep, whatever woke the loop, all sources are stepped in their order, then all deadlines are
 * read, and the loop sleeps until the earliest. So there are no timers to keep: what is due is decided anew from the
 * state. All deadlines are times of the monotonic clock.
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

/** Do what is due at @p now, monotonic microseconds. Steps may add and remove sources. */
typedef void rh_loop_step_fn(void *arg, int64_t now);
/**
 * @return when the step is due again though nothing happens, monotonic microseconds; a time that has passed: at once,
 * after a look at descriptors and signals; RH_NEVER. Called after the steps of all sources.
 */
typedef int64_t rh_loop_deadline_fn(void *arg);
/** What takes part in each turn of the loop. */
struct rh_loop_source {
	rh_loop_step_fn *step;         /**< NULL: the source has a deadline only */
	rh_loop_deadline_fn *deadline; /**< NULL: the source has none */
	void *arg;                     /**< of both; borrowed */
	int order;                     /**< smaller ones are stepped first; equal ones in the order of rh_loop_add() */
};
/** Opaque place of a source in its loop. */
struct rh_loop_entry;

/** What a descriptor is watched for; a set. */
enum rh_loop_event {
	RH_LOOP_READ = 1, /**< it can be read, or its other end has closed */
	RH_LOOP_WRITE = 2 /**< it can be written, or its other end has closed */
};

/** A descriptor is ready; rh_loop_ready() returns for what. */
typedef void rh_loop_ready_fn(void *arg);
/** Signal @p number was received; several pending signals of one number may be reported once. */
typedef void rh_loop_signal_fn(void *arg, int number);

/** Create a loop without sources. @param[out] ret_loop owned by the caller. @return 0, RH_EIO or RH_ENOMEM */
int rh_loop_new(struct rh_loop **ret_loop, struct rh_error *err);
/** Free the loop, its sources and all its watches; signals get their former handlers back. NULL is ignored. */
void rh_loop_free(struct rh_loop *loop);
RH_DEFINE_CLEANUP(loop);
/**
 * Register @p source (copied) until rh_loop_remove() or the end of the loop.
 * @param[out] ret_entry for rh_loop_remove(), borrowed; may be NULL. @return 0 or RH_ENOMEM
 */
int rh_loop_add(struct rh_loop *loop, const struct rh_loop_source *source, struct rh_loop_entry **ret_entry,
                struct rh_error *err);
/** Register @p count sources, likewise; what is registered before an error stays. @return 0 or RH_ENOMEM */
int rh_loop_add_all(struct rh_loop *loop, const struct rh_loop_source *sources, size_t count, struct rh_error *err);
/** End a source; neither of its functions is called again. NULL is ignored. */
void rh_loop_remove(struct rh_loop *loop, struct rh_loop_entry *entry);
/**
 * One turn: step all sources in their order, then read their deadlines. After rh_loop_stop() no further one is stepped.
 * rh_loop_run() calls it with the monotonic clock; tests call it with a virtual one.
 * @return the earliest deadline; RH_NEVER without one, and after rh_loop_stop()
 */
int64_t rh_loop_turn(struct rh_loop *loop, int64_t now);
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
/** Make rh_loop_run() return after the callback or step that runs now; one that does not run yet returns at once. */
void rh_loop_stop(struct rh_loop *loop);

#endif
