/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/page/text.h
 * @brief JSON inside an HTML page: no byte of it can end the element that it stands in.
 *
 * '<', '>' and '&' are written as escapes of JSON, so that "</script>" and "<!--" never appear.
 */
#ifndef RH_CLI_PAGE_TEXT_H
#define RH_CLI_PAGE_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "base/json.h"

/** Write text of any bytes as a JSON string with its quotes. What is not UTF-8, and zeros, become U+FFFD. Write errors
 * show in ferror(). */
void rh_page_put_text(FILE *out, const char *text, size_t length);
/** rh_page_put_text() of a zero-terminated text; null for NULL. */
void rh_page_put_string(FILE *out, const char *text);
/** Write a tree; null for NULL. @return 0 or RH_ENOMEM */
int rh_page_put_json(FILE *out, const struct rh_json *json);

#endif
