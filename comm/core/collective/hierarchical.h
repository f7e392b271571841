/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/hierarchical.h
 * @brief Hierarchical all-reduce over hosts that have several ranks.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_HIERARCHICAL_H
#define RH_COMM_CORE_COLLECTIVE_HIERARCHICAL_H

#include "comm/core/request/request.h"

/** Executes requests whose work is a hierarchical all-reduce. */
extern const struct rh_comm_executor rh_comm_hierarchical_executor;

/** Create the subgroups where they help: comm->hierarchy, else NULL. Collective. @return 0 or RH_COMM_E* */
int32_t rh_comm_hierarchy_open(struct rh_comm *comm, struct rh_comm_error *err);
/** Free the subgroups. */
void rh_comm_hierarchy_close(struct rh_comm *comm);
/**
 * Prepare an all-reduce of a context with a hierarchy. The lock is held.
 * @return 0; RH_COMM_ENOTSUP: another operation, or too few elements; RH_COMM_ENOMEM
 */
int32_t rh_comm_hier_new(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_hier **ret_hier);

#endif
