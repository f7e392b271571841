/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/reference.h
 * @brief What a collective is to come to, computed plainly.
 */
#ifndef RH_TEST_COMM_REFERENCE_H
#define RH_TEST_COMM_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** One collective as it is tried. */
struct reference_trial {
	int32_t what;
	int32_t type;
	int32_t reduce;
	int32_t root;
	size_t count; /**< as in struct rh_comm_op */
};

/** @return element @p i of what @p rank gives: so small that sums, and products, are exact in every type */
int reference_value(int32_t rank, size_t i, int32_t reduce);
/** @return element @p i of what @p rank gets in a world of @p world, when all give reference_value() */
double reference_expected(const struct reference_trial *trial, int32_t world, int32_t rank, size_t i);
/** @return elements that a rank gives */
size_t reference_in_count(const struct reference_trial *trial, int32_t world);
/** @return elements that a rank gets */
size_t reference_out_count(const struct reference_trial *trial, int32_t world);
/** Compare what a rank got. @return 0, or 1 after a line on standard error */
int reference_compare(const struct rh_comm *comm, const struct reference_trial *trial, const void *out);
/** @return element @p i of the reduction of what all @p world ranks have at @p i */
double reference_reduced(const struct reference_trial *trial, int32_t world, size_t i);

#endif
