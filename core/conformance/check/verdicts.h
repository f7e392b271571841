/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/check/verdicts.h
 * @brief The verdicts of judge().
 */
#ifndef RH_CONFORMANCE_CHECK_VERDICTS_H
#define RH_CONFORMANCE_CHECK_VERDICTS_H

#include "conformance/board.h"
#include "host/operations.h"

/**
 * Check that verdicts do not contradict each other and name replica types of the job.
 * @param ended every replica of the job succeeded: it must be finished
 */
void rh_check_verdicts(struct rh_board *board, const struct rh_job *job, const struct rh_judgement *judgement,
                       bool ended);

#endif
