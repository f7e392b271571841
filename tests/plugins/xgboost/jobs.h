/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plugins/xgboost/jobs.h
 * @brief Parts from which tests put XGBoostJobs together, as YAML.
 */
#ifndef RH_TEST_XGBOOST_JOBS_H
#define RH_TEST_XGBOOST_JOBS_H

#include "plugins/kit.h"

/** A job with further members of spec and with its replica types. */
#define JOBS_JOB(spec, types) KIT_JOB("XGBoostJob", "xgbReplicaSpecs", spec, types)
/** As many replicas of a type as the text says. */
#define JOBS_TYPE(type, replicas) KIT_TYPE(type, replicas, "xgboost")

#endif
