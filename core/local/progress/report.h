/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/progress/report.h
 * @brief A report of progress, as trainings post it to Kubeflow Trainer 2.3 (pkg/statusserver).
 */
#ifndef RH_LOCAL_PROGRESS_REPORT_H
#define RH_LOCAL_PROGRESS_REPORT_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

/** Longest body of a report, bytes: Trainer's limit. */
#define RH_REPORT_MAX ((size_t)64 * 1024)
/** Most metrics of a report. Trainer has no limit of its own. */
#define RH_REPORT_METRICS_MAX 128
/** Most bytes of a metric's name, and of its value. */
#define RH_REPORT_TEXT_MAX 256

/**
 * Read {"trainerStatus": {"progressPercentage", "estimatedRemainingSeconds", "metrics": [{"name", "value"}],
 * "lastUpdatedTime"}}. Each member may be missing or null; members that are not known are left out, as Trainer does.
 * @param[out] ret_status what trainerStatus has, without nulls, owned by the caller; NULL: there is no trainerStatus
 * @return 0; RH_EINVAL: not JSON, or a member has another type or is out of its range: the message has its path and
 * value; or RH_ENOMEM
 */
int rh_report_read(const char *text, size_t length, struct rh_json **ret_status, struct rh_error *err);

#endif
