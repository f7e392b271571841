/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/error.h
 * @brief How the library says what went wrong, and what time it is.
 */
#ifndef RH_COMM_CORE_ERROR_H
#define RH_COMM_CORE_ERROR_H

#include <stdint.h>

#include "roundhouse/comm.h"

/** One second, in the microseconds that all times of the library have. */
#define RH_COMM_SECOND INT64_C(1000000)
/** A time that never comes. */
#define RH_COMM_NEVER INT64_MAX

/** Fill @p err (NULL: nobody wants to know). @return @p code */
int32_t rh_comm_fail(struct rh_comm_error *err, int32_t code, int32_t rank, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** rh_comm_fail() with RH_COMM_EIO and the words of errno @p number. @return RH_COMM_EIO, or RH_COMM_ENOMEM for ENOMEM
 */
int32_t rh_comm_fail_os(struct rh_comm_error *err, int number, const char *what);
/** @return CLOCK_MONOTONIC in microseconds */
int64_t rh_comm_now(void);

#endif
