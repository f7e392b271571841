/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/clock.h
 * @brief Times: microseconds since the Unix epoch, and their RFC 3339 form.
 */
#ifndef RH_BASE_OS_CLOCK_H
#define RH_BASE_OS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** Microseconds in a second. */
#define RH_SECOND INT64_C(1000000)
/** A time that is never reached. */
#define RH_NEVER INT64_MAX
/** Room for rh_time_format(), terminating zero included. */
#define RH_TIME_SIZE 32

/** @return wall-clock microseconds since the epoch */
int64_t rh_clock_wall(void);
/** @return microseconds of a clock that is never set and that runs while the machine sleeps; its zero is arbitrary
 */
int64_t rh_clock_monotonic(void);
/**
 * Write @p time as RFC 3339 in UTC with whole seconds, as metav1.Time does ("2026-11-21T10:00:00Z"). @return @p buffer
 */
const char *rh_time_format(int64_t time, char buffer[RH_TIME_SIZE]);
/** Write @p time as RFC 3339 in UTC with microseconds, as metav1.MicroTime does. @return @p buffer */
const char *rh_time_format_micro(int64_t time, char buffer[RH_TIME_SIZE]);
/**
 * Read RFC 3339 (any offset, any fraction; digits beyond microseconds are dropped; years 0 to 9999). @return 0 or
 * RH_EINVAL
 */
int rh_time_parse(const char *text, int64_t *ret_time, struct rh_error *err);
/**
 * Read a duration of the command line: "90", "90s", "1.5m", "2h" and sums as "1h30m" (Go's form; a bare number is
 * seconds). @return 0 or RH_EINVAL
 */
int rh_duration_parse(const char *text, int64_t *ret_microseconds, struct rh_error *err);
/** Write a duration for people: "0.4s", "12s", "3m05s", "2h10m". @return @p buffer */
const char *rh_duration_format(int64_t microseconds, char buffer[RH_TIME_SIZE]);

#endif
