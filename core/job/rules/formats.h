/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/formats.h
 * @brief Formats of texts that an API server checks in custom objects.
 */
#ifndef RH_JOB_RULES_FORMATS_H
#define RH_JOB_RULES_FORMATS_H

#include <stdbool.h>

/**
 * @return whether @p text has the form of @p format: byte, cidr, date, date-time, duration, hostname, ipv4, ipv6, mac
 * or a uuid; any other format fits everything
 */
bool rh_format_fits(const char *format, const char *text);

#endif
