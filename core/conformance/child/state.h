/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/child/state.h
 * @brief What a process has beside memory: threads, descriptors, environment, handlers, limits. A plugin shares it with
 * the host and leaves it as it is.
 */
#ifndef RH_CONFORMANCE_CHILD_STATE_H
#define RH_CONFORMANCE_CHILD_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "conformance/board.h"

/** Opaque watch over the state of this process. */
struct rh_state;

/**
 * Look at the state for the first time. Standard output and standard error of the process are a pipe from now on, whose
 * content is a finding.
 * @return owned by the caller, or NULL when memory or descriptors are out
 */
struct rh_state *rh_state_new(void) __attribute__((warn_unused_result));
/** Free it. NULL is ignored. */
void rh_state_free(struct rh_state *state);
RH_DEFINE_CLEANUP(state);
/** Look again. Each difference becomes a finding, and what is now is what the next look compares with. */
void rh_state_check(struct rh_state *state, struct rh_board *board);

#endif
