/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/kinds.h
 * @brief Kinds for tests of the core, so that they need no plugin; their data is that of v1-behaviour A.1 and A.5.
 */
#ifndef RH_TEST_JOB_KINDS_H
#define RH_TEST_JOB_KINDS_H

#include "roundhouse/plugin.h"

/** @name Kinds; static storage @{ */
extern const struct rh_kind test_pytorch;
extern const struct rh_kind test_tensorflow;
extern const struct rh_kind test_xgboost;
extern const struct rh_kind test_paddle;
extern const struct rh_kind test_jax;
extern const struct rh_kind test_mpi;
/** @} */

/** @return the kind whose name is @p kind, or NULL */
const struct rh_kind *test_kind(const char *kind);

#endif
