/* SPDX-License-Identifier: Apache-2.0 */
/** @file job/cel/eval.h
 * @brief Values of checked expressions. */
#ifndef RH_JOB_CEL_EVAL_H
#define RH_JOB_CEL_EVAL_H

#include "job/cel/ast.h"

/** Most steps of one evaluation. */
#define RH_CEL_STEPS_MAX 2000000

/** What an expression is evaluated with. */
struct rh_cel_input {
	struct rh_cel_value self, old_self;
	struct rh_cel_room *room; /**< for what is computed */
};

/** @return the value of @p node, or an error as CEL words it */
struct rh_cel_value rh_cel_eval(const struct rh_cel_input *input, const struct rh_cel_node *node);

#endif
