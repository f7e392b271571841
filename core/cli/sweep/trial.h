/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/sweep/trial.h
 * @brief The job of one trial of a sweep.
 *
 * A parameter whose name is a path of fields sets that field. Any other one takes the place of {{NAME}} and, as Katib
 * does with a trial template, of ${trialParameters.NAME} in all texts of the job, and is a variable of all containers.
 */
#ifndef RH_CLI_SWEEP_TRIAL_H
#define RH_CLI_SWEEP_TRIAL_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "job/manifest.h"
#include "roundhouse/plugin.h"

/** What trials are made from. */
struct rh_sweep_base {
	const struct rh_manifest *manifest; /**< borrowed */
	size_t at;                          /**< place of the job in it */
	const struct rh_kind *kind;         /**< of the job; borrowed */
	const struct rh_json *plan;         /**< of the sweep (cli/sweep/state.h); borrowed */
};

/**
 * Make the objects of a trial: a copy of the manifest in which the job is named JOB-0001 and has the values.
 * @param number of the trial, from 1. @param[out] ret_manifest freed by the caller, also after a failure
 * @return 0, RH_EINVAL (the message names the parameter) or RH_ENOMEM
 */
int rh_sweep_trial_make(const struct rh_sweep_base *base, size_t number, struct rh_manifest *ret_manifest,
                        struct rh_error *err);
/** @return the values of a trial, as rh_sweep_params_values() */
struct rh_json *rh_sweep_trial_values(const struct rh_json *plan, size_t number) __attribute__((warn_unused_result));

#endif
