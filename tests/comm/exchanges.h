/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/exchanges.h
 * @brief All-to-all, gather, scatter, reduce, all-gather-v and reduce-scatter-v against a plain computation, for any
 * backend.
 */
#ifndef RH_TEST_COMM_EXCHANGES_H
#define RH_TEST_COMM_EXCHANGES_H

#include "comm/ranks.h"

/**
 * A ranks_fn: seeded operations of all kinds, roots, types and counts, 0 among them, several in flight; of the world
 * and of a group in which ranks stand in the other order. @p arg is not used
 */
int exchanges_seeded(struct rh_comm *comm, const void *arg);
/** Worlds in which counts of two ranks do not agree: all learn who has how much, and who expects how much. */
void exchanges_check_counts(const char *backend, bool no_shm);

#endif
