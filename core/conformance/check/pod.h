/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/check/pod.h
 * @brief What pod() made of a pod.
 */
#ifndef RH_CONFORMANCE_CHECK_POD_H
#define RH_CONFORMANCE_CHECK_POD_H

#include "base/json.h"
#include "conformance/board.h"
#include "conformance/check/contract.h"

/**
 * Compare a pod before and after pod(): what is the core's, variables, texts, the contract.
 * @param type replica type
 * @return 0 or RH_ENOMEM
 */
int rh_check_pod(struct rh_board *board, struct rh_contract *contract, const struct rh_json *before,
                 const struct rh_json *after, const char *type);

#endif
