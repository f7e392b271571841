/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/reload.h
 * @brief When plugins are loaded anew: after SIGHUP, or when their folders or the configuration change.
 *
 * What is installed is tried first, by another process, while the controller works: a plugin that hangs or crashes
 * there costs nothing here. Only then the caller loads it.
 */
#ifndef RH_CONTROLLER_RELOAD_H
#define RH_CONTROLLER_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"
#include "config/config.h"

/** Opaque. */
struct rh_reload;

/** What a step came to. */
enum rh_reload_verdict {
	RH_RELOAD_NOTHING, /**< nothing has changed, or the trial still runs */
	RH_RELOAD_REFUSED, /**< the trial failed */
	RH_RELOAD_READY    /**< the trial passed: load, then call rh_reload_done() */
};

/**
 * @param loop borrowed for the life of the object @param trial argv, ended by NULL, of a program that loads what is
 * installed and ends with 0, or prints why not; borrowed likewise @param config that counts now: its folders are
 * watched. @param[out] ret_reload owned by the caller
 * @return 0 or RH_ENOMEM. Folders that cannot be watched are logged; rh_reload_request() works without
 */
int rh_reload_new(struct rh_loop *loop, char *const *trial, const struct rh_config *config,
                  struct rh_reload **ret_reload, struct rh_error *err);
/** End a trial that runs, and free it; before the loop. NULL is ignored. */
void rh_reload_free(struct rh_reload *reload);
RH_DEFINE_CLEANUP(reload);
/** Try what is installed at the next step, changed or not. */
void rh_reload_request(struct rh_reload *reload);
/**
 * Begin or follow a trial. @param now monotonic microseconds. @return the verdict; RH_RELOAD_READY each time until
 * rh_reload_done(); with RH_RELOAD_REFUSED @p err has the reason
 */
enum rh_reload_verdict rh_reload_step(struct rh_reload *reload, int64_t now, struct rh_error *err);
/** @return when the next step is due, monotonic microseconds */
int64_t rh_reload_deadline(const struct rh_reload *reload);
/** The caller has loaded what was tried, or could not. @param config that counts from now on */
void rh_reload_done(struct rh_reload *reload, const struct rh_config *config);

#endif
