/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/operations.h
 * @brief Every operation against a plain reference, for any backend.
 */
#ifndef RH_TEST_COMM_OPERATIONS_H
#define RH_TEST_COMM_OPERATIONS_H

#include "comm/ranks.h"

/** A ranks_fn: all collectives, types, reductions, odd counts and alignments. @p arg is not used */
int operations_collectives(struct rh_comm *comm, const void *arg);
/** A ranks_fn: messages between all pairs, out of order, with tags, several in flight. @p arg is not used */
int operations_messages(struct rh_comm *comm, const void *arg);
/** A ranks_fn: many collectives in flight at once, waited for in another order. @p arg is not used */
int operations_outstanding(struct rh_comm *comm, const void *arg);
/** A ranks_fn: groups that overlap. @p arg is not used */
int operations_groups(struct rh_comm *comm, const void *arg);
/** A ranks_fn: batches of small tensors of several types, against the same one by one. @p arg is not used */
int operations_batches(struct rh_comm *comm, const void *arg);

#endif
