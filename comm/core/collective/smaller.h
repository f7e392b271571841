/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/smaller.h
 * @brief The smaller of two lengths.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_SMALLER_H
#define RH_COMM_CORE_COLLECTIVE_SMALLER_H

#include <stddef.h>

/** @return the smaller of @p a and @p b */
static inline size_t rh_comm_smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

#endif
