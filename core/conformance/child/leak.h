/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/child/leak.h
 * @brief Whether an operation keeps memory: the heap grows with each of many equal calls.
 */
#ifndef RH_CONFORMANCE_CHILD_LEAK_H
#define RH_CONFORMANCE_CHILD_LEAK_H

#include "conformance/board.h"
#include "conformance/jobs/cases.h"
#include "host/host.h"

/**
 * Repeat each operation that board->skip does not name with two jobs of @p kind. Nothing is checked where the C library
 * does not count.
 * @return 0 or RH_ENOMEM
 */
int rh_leak_check(struct rh_board *board, const struct rh_host *host, const struct rh_kind *kind,
                  const struct rh_cases *cases);

#endif
