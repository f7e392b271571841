/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plugins/paddle/jobs.h
 * @brief Parts from which tests put PaddleJobs together, as YAML.
 */
#ifndef RH_TEST_PADDLE_JOBS_H
#define RH_TEST_PADDLE_JOBS_H

#include "plugins/kit.h"

/** A job with further members of spec and with its replica types. */
#define JOBS_JOB(spec, types) KIT_JOB("PaddleJob", "paddleReplicaSpecs", spec, types)
/** As many replicas of a type as the text says. */
#define JOBS_TYPE(type, replicas) KIT_TYPE(type, replicas, "paddle")

#endif
