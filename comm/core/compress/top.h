/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/compress/top.h
 * @brief The elements of greatest magnitude of a vector. Pure.
 */
#ifndef RH_COMM_CORE_COMPRESS_TOP_H
#define RH_COMM_CORE_COMPRESS_TOP_H

#include <stddef.h>
#include <stdint.h>

/** An element that travels. */
struct rh_comm_top {
	uint32_t index;
	float value;
};

/**
 * Take the @p number elements of greatest magnitude out of @p values, where 0 stays in their places. NaN is greater
 * than all numbers; of equal magnitudes those of lower index are taken.
 * @param number 1 … @p count, which is below 2^32. @param ret_taken room for @p number, by index
 */
void rh_comm_top_take(float *values, size_t count, size_t number, struct rh_comm_top *ret_taken);

#endif
