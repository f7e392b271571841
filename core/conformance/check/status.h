/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/check/status.h
 * @brief Members of status that judge() writes.
 */
#ifndef RH_CONFORMANCE_CHECK_STATUS_H
#define RH_CONFORMANCE_CHECK_STATUS_H

#include "conformance/board.h"
#include "host/operations.h"

/** Hold what status() was given against rh_kind.status_schema: an API server refuses a status that does not fit. */
void rh_check_status(struct rh_board *board, const struct rh_kind *kind, const struct rh_judgement *judgement);

#endif
