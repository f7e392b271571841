/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/reduce.h
 * @brief Reduction kernels: element by element, the same bits on every machine and for every alignment.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_REDUCE_H
#define RH_COMM_CORE_COLLECTIVE_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** @return whether @p type is an element type */
bool rh_comm_type_is_known(int32_t type);
/** @return whether @p reduce is a reduction */
bool rh_comm_reduce_is_known(int32_t reduce);
/** @return whether elements of @p type can be reduced by @p reduce, both known: bits are those of integers alone */
bool rh_comm_type_reduces_by(int32_t type, int32_t reduce);
/**
 * out[i] = a[i] op b[i]. AVG is SUM here; the total is divided by rh_comm_divide(). @p out may be @p a or @p b;
 * buffers do not overlap otherwise. Of a NaN and a number all give NaN.
 */
void rh_comm_reduce(void *out, const void *a, const void *b, size_t count, int32_t type, int32_t reduce);
/** Divide each element by @p divisor, which is at least 1; integers round towards zero. */
void rh_comm_divide(void *data, size_t count, int32_t type, int32_t divisor);

#endif
