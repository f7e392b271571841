/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/line.h
 * @brief A text that grows up to its room; what does not fit is left out.
 */
#ifndef RH_COMM_BENCH_TRACE_LINE_H
#define RH_COMM_BENCH_TRACE_LINE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/** A line that is being written. */
struct rh_trace_line {
	char *text;    /**< terminated after the first addition; borrowed */
	size_t room;   /**< bytes of it, at least 1 */
	size_t length; /**< without the final zero */
};

/** Append printf(@p fmt). */
static inline __attribute__((format(printf, 2, 3))) void rh_trace_line_add(struct rh_trace_line *line, const char *fmt,
                                                                           ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line->text + line->length, line->room - line->length, fmt, args);
	va_end(args);
	line->length += n > 0 ? (size_t)n : 0;
	if (line->length >= line->room)
		line->length = line->room - 1;
}

#endif
