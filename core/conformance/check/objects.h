/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/check/objects.h
 * @brief What objects() named, and the rights that this needs.
 */
#ifndef RH_CONFORMANCE_CHECK_OBJECTS_H
#define RH_CONFORMANCE_CHECK_OBJECTS_H

#include "base/json.h"
#include "conformance/board.h"
#include "conformance/check/contract.h"
#include "job/job.h"

/**
 * Check fields, names, namespaces, rights and contract of @p objects, an array.
 * @param rules rh_kind.rbac_rules, parsed; NULL: none
 */
void rh_check_objects(struct rh_board *board, struct rh_contract *contract, const struct rh_json *rules,
                      const struct rh_job *job, const struct rh_json *objects);

#endif
