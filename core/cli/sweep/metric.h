/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/sweep/metric.h
 * @brief The number by which trials are compared, from what they wrote.
 */
#ifndef RH_CLI_SWEEP_METRIC_H
#define RH_CLI_SWEEP_METRIC_H

#include "base/error.h"
#include "base/json.h"

/** Opaque: a POSIX extended regular expression whose first group is a number. */
struct rh_sweep_metric;

/** @param[out] ret_metric freed by rh_sweep_metric_free(). @return 0, RH_EINVAL (not valid, or without a group) or
 * RH_ENOMEM */
int rh_sweep_metric_new(const char *expression, struct rh_sweep_metric **ret_metric, struct rh_error *err);
/** Free @p metric. NULL is nothing. */
void rh_sweep_metric_free(struct rh_sweep_metric *metric);
/**
 * Look for the last match in the output of the run kept in @p path, in the order of its times. Blocks for the files.
 * @return the number, owned by the caller; JSON's null: no line has one; NULL: out of memory
 */
struct rh_json *rh_sweep_metric_find(struct rh_sweep_metric *metric, const char *path)
	__attribute__((warn_unused_result));

#endif
