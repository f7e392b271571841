/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/wrap.h
 * @brief Text in lines that fit a page or a terminal.
 */
#ifndef RH_CLI_WRAP_H
#define RH_CLI_WRAP_H

#include <stddef.h>

#include "base/str.h"

/**
 * Append the words of @p text in lines, each ended by a newline. A single newline in @p text is a space. Lines that
 * begin with a space stay as they are, and so do empty ones: they separate paragraphs.
 * @param start each line but the first begins with it
 * @param used columns that the first line has already
 * @param width columns of a line, @p start included; a longer word has a line of its own
 */
void rh_cli_wrap(const char *text, const char *start, size_t used, size_t width, struct rh_str *out);
/** @return columns of the terminal on standard output, from 40 to 100; 80 where it is not one */
size_t rh_cli_width(void);

#endif
