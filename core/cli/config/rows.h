/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/config/rows.h
 * @brief All keys that a configuration may have: those of the table, and those that plugins describe.
 */
#ifndef RH_CLI_CONFIG_ROWS_H
#define RH_CLI_CONFIG_ROWS_H

#include "base/error.h"
#include "config/keys.h"
#include "host/host.h"

/** One key. Borrowed for the duration of the call that gets it. */
struct rh_row {
	const char *section; /**< "local", "comm NAME", "plugin pytorch" */
	const char *key;
	const char *type;    /**< what a value may be, in words */
	const char *value;   /**< the default; NULL: there is none, or it is not constant */
	const char *example; /**< never NULL */
	const char *help;    /**< sentences */
	const char *page;    /**< of docs/; NULL: none */
};

/** @return 0 to go on; any other status ends the walk */
typedef int rh_row_fn(void *arg, const struct rh_row *row);

/** Call @p fn for each key, by sections. @return 0, the first other status of @p fn, or RH_ENOMEM */
int rh_rows_each(const struct rh_host *host, rh_row_fn *fn, void *arg);

#endif
