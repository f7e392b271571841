/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/check.h
 * @brief Checks in a rank, a process without a test runner: one that fails is printed, and the function returns 1.
 *
 * The rank is `comm`; CHECK_DONE() is for calls that fill `err`.
 */
#ifndef RH_TEST_COMM_CORE_CHECK_H
#define RH_TEST_COMM_CORE_CHECK_H

#include <stdio.h>

#include "roundhouse/comm.h"

#define CHECK(condition)                                                                                    \
	do {                                                                                                    \
		if (!(condition)) {                                                                                 \
			(void)fprintf(stderr, "rank %d: line %d: %s\n", (int)rh_comm_rank(comm), __LINE__, #condition); \
			return 1;                                                                                       \
		}                                                                                                   \
	} while (0)

#define CHECK_DONE(call)                                                                                  \
	do {                                                                                                  \
		if ((call) != 0) {                                                                                \
			(void)fprintf(stderr, "rank %d: line %d: %s\n", (int)rh_comm_rank(comm), __LINE__, err.text); \
			return 1;                                                                                     \
		}                                                                                                 \
	} while (0)

#endif
