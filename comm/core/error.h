/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/error.h
 * @brief Errors of the library, and its clock.
 */
#ifndef RH_COMM_CORE_ERROR_H
#define RH_COMM_CORE_ERROR_H

#include <errno.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** One second, in the microseconds that all times of the library have. */
#define RH_COMM_SECOND INT64_C(1000000)
/** A time that is never reached. */
#define RH_COMM_NEVER INT64_MAX

/**
 * Fill @p err (may be NULL). @return @p code
 * It is a macro so that compilers and analysers, which read one file at a time, know that the result is the code.
 */
#define rh_comm_fail(err, code, rank, ...)                       \
	(__extension__({                                             \
		const int32_t rh_code_ = (code);                         \
		rh_comm_error_set((err), rh_code_, (rank), __VA_ARGS__); \
		rh_code_;                                                \
	}))
/** Use rh_comm_fail(). */
void rh_comm_error_set(struct rh_comm_error *err, int32_t code, int32_t rank, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** Use rh_comm_fail_os(). */
void rh_comm_error_set_os(struct rh_comm_error *err, int32_t code, int number, const char *what);
/** rh_comm_fail() with the text of errno @p number. @return RH_COMM_EIO, or RH_COMM_ENOMEM for ENOMEM */
static inline int32_t rh_comm_fail_os(struct rh_comm_error *err, int number, const char *what)
{
	int32_t code = number == ENOMEM ? RH_COMM_ENOMEM : RH_COMM_EIO;

	rh_comm_error_set_os(err, code, number, what);
	return code;
}
/** @return CLOCK_MONOTONIC in microseconds */
int64_t rh_comm_now(void);

#endif
