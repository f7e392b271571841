/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/screen.h
 * @brief What of a replica's output may reach the user's terminal, and how wide that is.
 */
#ifndef RH_CLI_RUN_SCREEN_H
#define RH_CLI_RUN_SCREEN_H

#include <stddef.h>

#include "base/str.h"

/**
 * Append @p text (@p length bytes, any) without what would clear, scroll or move on the screen, rename the window or
 * ask the terminal something: of control sequences only those for colours (ECMA-48, SGR) stay, of control characters
 * only tabs, backspaces and carriage returns. Colours end with the line. @p out fails where memory is out.
 */
void rh_screen_clean(const char *text, size_t length, struct rh_str *out);
/** @return columns of the terminal @p fd; 0: it is none, or does not say */
size_t rh_screen_width(int fd);

#endif
