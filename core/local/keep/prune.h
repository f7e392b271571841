/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/prune.h
 * @brief Removes runs that are kept, the oldest first. A run that goes on is never removed.
 */
#ifndef RH_LOCAL_KEEP_PRUNE_H
#define RH_LOCAL_KEEP_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** What may stay. */
struct rh_prune {
	int64_t runs;  /**< most runs; < 0: any number */
	int64_t bytes; /**< most bytes of all runs together; < 0: any number */
	int64_t age;   /**< longest time since the end of a run, microseconds; < 0: any */
	bool dry;      /**< remove nothing */
	/** Called for each run that is removed, or would be; may be NULL. */
	void (*removed)(void *arg, const char *name, int64_t bytes);
	void *arg;
};

/** Remove what is beyond the limits, and what killed processes left half made or half removed. Blocks for the files.
 * @return 0, or the first failure; others are removed all the same */
int rh_prune(const struct rh_prune *prune, struct rh_error *err);

#endif
