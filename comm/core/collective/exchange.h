/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/exchange.h
 * @brief Rounds (rounds.h) of operations in which each rank has a part for each other one: pure functions.
 *
 * All-to-all, gather, scatter, all-gather-v: a block is what two ranks exchange, or a segment of it, in one round, so
 * that several pairs are under way at once. Reduce-scatter-v: a block is a segment of every part; in each round a rank
 * gets its own part from another one, in the order of ranks from its own on downwards.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_EXCHANGE_H
#define RH_COMM_CORE_COLLECTIVE_EXCHANGE_H

#include "comm/core/collective/rounds.h"

/** @return whether the plan is one of these */
bool rh_comm_is_exchange(const struct rh_comm_plan *plan);
/** @return the number of blocks; it may differ between ranks, which then have nothing for each other in the rest */
size_t rh_comm_exchange_blocks(const struct rh_comm_plan *plan);
/** As rh_comm_plan_round(). */
bool rh_comm_exchange_round(const struct rh_comm_plan *plan, size_t block, int32_t number,
                            struct rh_comm_round *ret_round);

#endif
