/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/page/log.h
 * @brief One log in the page: its start, its end, and the metrics in it.
 */
#ifndef RH_CLI_PAGE_LOG_H
#define RH_CLI_PAGE_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/page/files.h"

/** How much of each log is taken, so that a page stays a page. */
struct rh_page_limits {
	int64_t text;  /**< bytes that are shown; a quarter of them from the start */
	int64_t scan;  /**< bytes in which metrics are looked for; half of them from the start */
	size_t points; /**< of a metric */
};

/** @return the limits of a run with @p count logs: all of them together take about 16 MiB */
struct rh_page_limits rh_page_limits(size_t count);
/**
 * Write a log as a JSON object: "job", "replica", "container", "path", "size", "parts" (each {"from", "text", "times":
 * [[line, ms]]}), "leftOut" (bytes between the parts), "scanned" and "metrics" (each {"name", "known", "count",
 * "points": [[ms, step, value]]}). Times are milliseconds since @p started_at; null stands for what is unknown, and for
 * a value that is not finite. Memory does not grow with the log. Blocks for the file; one that cannot be read has
 * "error".
 * @return 0 or RH_ENOMEM
 */
int rh_page_put_log(FILE *out, const struct rh_page_file *file, const struct rh_page_limits *limits,
                    int64_t started_at);
/**
 * Write the part of a text file that fits into @p limit bytes, by lines: all of it, or a start and an end.
 * @param line called for each line, without its newline
 * @return bytes that were left out; RH_EIO or RH_ENOMEM
 */
int64_t rh_page_each_line(const char *path, int64_t limit, void (*line)(void *arg, const char *text, size_t length),
                          void *arg);

#endif
