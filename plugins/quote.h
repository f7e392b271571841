/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file quote.h
 * @brief printf() into a JSON string, for plugins that write objects as text.
 */
#ifndef RH_PLUGINS_QUOTE_H
#define RH_PLUGINS_QUOTE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "roundhouse/plugin.h"

/** @return vprintf(@p format) as a JSON string, borrowed from @p view's call; NULL when memory is out */
static inline const char *rh_quote_format(const struct rh_services *host, const struct rh_view *view,
                                          const char *format, va_list list)
{
	const char *quoted;
	char *text;

	if (vasprintf(&text, format, list) < 0)
		return NULL;
	quoted = host->quote(view, text);
	free(text);
	return quoted;
}

#endif
