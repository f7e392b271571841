/* SPDX-License-Identifier: Apache-2.0 */
/** @file job/cel/functions/arithmetic.h
 * @brief + - * / and %. */
#ifndef RH_JOB_CEL_FUNCTIONS_ARITHMETIC_H
#define RH_JOB_CEL_FUNCTIONS_ARITHMETIC_H

#include "job/cel/value.h"

/** @return the result of @p sign, one of + - * / and %, or an error: overflow, division by zero, kinds that do not fit
 */
struct rh_cel_value rh_cel_arithmetic(struct rh_cel_room *room, char sign, const struct rh_cel_value *a,
                                      const struct rh_cel_value *b);
/** @return the kind of @p sign for values of the kinds @p a and @p b; RH_CEL_ERROR where they do not fit */
enum rh_cel_kind rh_cel_arithmetic_kind(char sign, enum rh_cel_kind a, enum rh_cel_kind b);

#endif
