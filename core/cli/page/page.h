/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/page/page.h
 * @brief A kept run as one HTML file that needs no server and no network.
 *
 * The page is a template (page.html, page.css and page.js) with the run as JSON in it. Whatever stands in that JSON,
 * the page's script shows as text, and its Content-Security-Policy names the hash of that script and allows nothing
 * else.
 */
#ifndef RH_CLI_PAGE_PAGE_H
#define RH_CLI_PAGE_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "local/keep/kept.h"

/** Version of the JSON in a page. */
#define RH_PAGE_VERSION 1

/**
 * Write the page of a run. What is missing or damaged in the run's folder is left out, and the page says so. Memory
 * does not grow with the logs. Blocks for the files.
 * @return 0 or RH_ENOMEM; write errors show in ferror()
 */
int rh_page_write(FILE *out, const struct rh_kept *kept);

/** @name The template, which page_text.c has @{ */
/** @return what stands before the JSON; static storage */
const char *rh_page_head(size_t *ret_length);
/** @return what stands behind it; static storage */
const char *rh_page_tail(size_t *ret_length);
/** @} */

#endif
