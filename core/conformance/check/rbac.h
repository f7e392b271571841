/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/check/rbac.h
 * @brief Whether rh_kind.rbac_rules are enough for an object.
 */
#ifndef RH_CONFORMANCE_CHECK_RBAC_H
#define RH_CONFORMANCE_CHECK_RBAC_H

#include "base/json.h"
#include "conformance/board.h"
#include "roundhouse/plugin.h"

/**
 * Check that @p rules (an array, or NULL: none) let the host create, list, update and delete @p object, and that they
 * have what a Role among the objects grants to others: an API server lets nobody grant more than they have.
 */
void rh_check_rights(struct rh_board *board, const struct rh_json *rules, const struct rh_kind *kind,
                     const struct rh_json *object);

#endif
