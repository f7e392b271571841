/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/screen/screen.h
 * @brief Filters the output of replicas for the user's terminal, and gets its width.
 */
#ifndef RH_CLI_RUN_SCREEN_SCREEN_H
#define RH_CLI_RUN_SCREEN_SCREEN_H

#include <stddef.h>

#include "base/str.h"

/**
 * Append @p text (@p length bytes, any content) without control sequences that clear, scroll, move the cursor, rename
 * the window or query the terminal: only those for colours (ECMA-48, SGR) remain, and of control characters only tabs,
 * backspaces and carriage returns. Colours end with the line. @p out fails when memory is out.
 */
void rh_screen_clean(const char *text, size_t length, struct rh_str *out);
/**
 * Append what rh_screen_clean() leaves of @p text, at most @p columns characters of it, on one row: tabs are blanks,
 * and nothing moves the cursor.
 */
void rh_screen_fit(const char *text, size_t length, size_t columns, struct rh_str *out);
/** @return columns of the terminal @p fd; 0: not a terminal, or unknown */
size_t rh_screen_width(int fd);

#endif
