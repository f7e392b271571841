/* SPDX-License-Identifier: Apache-2.0 */
/** @file job/cel/functions/duration.h
 * @brief Durations as Go reads them: "1h30m", "1.5s", "-3ms". */
#ifndef RH_JOB_CEL_FUNCTIONS_DURATION_H
#define RH_JOB_CEL_FUNCTIONS_DURATION_H

#include <stdint.h>

#include <stdbool.h>

/** Read a duration. @return whether it is one that an int64_t holds */
bool rh_cel_duration_parse(const char *text, int64_t *ret_nanoseconds);

#endif
