/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/check/kind.h
 * @brief Checks of what describe() says, without any job.
 */
#ifndef RH_CONFORMANCE_CHECK_KIND_H
#define RH_CONFORMANCE_CHECK_KIND_H

#include "conformance/board.h"
#include "roundhouse/plugin.h"

/**
 * Check that a definition can be made of @p kind, that its schema is one that an API server takes (structural, known
 * words, limits that a value can meet), and its texts.
 * @return 0 or RH_ENOMEM
 */
int rh_check_kind(struct rh_board *board, const struct rh_kind *kind);

#endif
