/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/make.h
 * @brief Makes the folder of a run. For core/local/keep alone.
 */
#ifndef RH_LOCAL_KEEP_MAKE_H
#define RH_LOCAL_KEEP_MAKE_H

#include "base/json.h"
#include "local/keep/keep.h"

/** A run's folder. All zero is none, with lock and events -1. */
struct rh_keep_folder {
	char *path; /**< absolute; owned */
	int lock;   /**< held; owned; -1: none */
	int events; /**< appends to the events; owned; -1: none */
};

/** @return the first state of a run, owned by the caller; NULL: out of memory */
struct rh_json *rh_keep_make_state(const struct rh_keep_start *start) __attribute__((warn_unused_result));
/**
 * Make the folder with all its files: others see it complete or not at all.
 * @param name of the first job
 * @param[out] folder filled; closed by the caller, also after a failure
 * @return 0 or a negative status
 */
int rh_keep_make(const char *name, const struct rh_json *state, const struct rh_manifest *manifest,
                 struct rh_keep_folder *folder, struct rh_error *err);
/** Close and free what @p folder holds; what is on the disk stays. */
void rh_keep_folder_close(struct rh_keep_folder *folder);

#endif
