/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/sweep/report.h
 * @brief What a sweep has found: as a table, as JSON, as CSV, and as a plot.
 */
#ifndef RH_CLI_SWEEP_REPORT_H
#define RH_CLI_SWEEP_REPORT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/sweep/state.h"

/**
 * Make the rows of a report: [{"trial", "job", "params": {NAME: VALUE}, "state", "metric", "seconds", "run"}], the best
 * metric first, trials without one behind all others, else in their order.
 * @param least the smallest metric is the best. @return owned by the caller; NULL: out of memory
 */
struct rh_json *rh_sweep_report_rows(const struct rh_sweep_state *state, bool least)
	__attribute__((warn_unused_result));
/** Print @p rows on standard output. @param format "table", "json" or "csv". @return 0 or RH_ENOMEM */
int rh_sweep_report_print(const struct rh_json *rows, const char *format, struct rh_error *err);
/** Append a plot of @p rows: for each parameter the metric over its values. @param title of the metric */
void rh_sweep_plot(const struct rh_json *rows, const char *title, struct rh_str *out);

#endif
