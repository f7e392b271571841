/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/any_source.h
 * @brief Receives from any rank, for any backend.
 */
#ifndef RH_TEST_COMM_ANY_SOURCE_H
#define RH_TEST_COMM_ANY_SOURCE_H

#include "comm/ranks.h"

/**
 * A ranks_fn for two ranks and more, of the world and of a group in which ranks stand in the other order: many senders
 * in seeded order, with messages of another tag before; receives with and without a source behind each other; senders
 * that all have messages are taken in turn. @p arg is not used
 */
int any_source_seeded(struct rh_comm *comm, const void *arg);

#endif
