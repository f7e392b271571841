/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/child/sweep.h
 * @brief What a child process does: load a plugin, call every operation with every job, and check.
 */
#ifndef RH_CONFORMANCE_CHILD_SWEEP_H
#define RH_CONFORMANCE_CHILD_SWEEP_H

#include <stdbool.h>

#include "config/config.h"
#include "conformance/board.h"
#include "job/manifest.h"

/** One process. All borrowed. */
struct rh_sweep {
	const struct rh_config *config;
	const char *file;
	const struct rh_manifest *jobs; /**< of the author; objects of other kinds are left out */
	struct rh_board *board;
	bool second; /**< from the last job to the first, and compare with the answers of the first process */
};

/** Do it. What it finds is on the board. @return 0, or RH_ENOMEM and the like: the kit itself failed */
int rh_sweep(const struct rh_sweep *how, struct rh_error *err);

#endif
