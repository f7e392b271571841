/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/sweep/params.h
 * @brief Parameters of a sweep, and the combinations of their values.
 *
 * Parameters are JSON, as the state of a sweep keeps them: [{"name": "lr", "values": ["0.1", "0.01"]}]. A combination
 * is a number below the product of their counts; the last parameter changes fastest.
 */
#ifndef RH_CLI_SWEEP_PARAMS_H
#define RH_CLI_SWEEP_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/cli.h"

/** Most parameters: each is a column of the table. */
#define RH_SWEEP_PARAMS_MAX 7
/** Most combinations of a sweep. */
#define RH_SWEEP_TRIALS_MAX 1000

/**
 * Read the options --param. @param[out] ret_params owned by the caller
 * @return 0, RH_EINVAL (none; one that is not of the form NAME=VALUE,...; one name twice; too many) or RH_ENOMEM
 */
int rh_sweep_params_read(const struct rh_cli *cli, struct rh_json **ret_params, struct rh_error *err);
/** @return the number of combinations, at most RH_SWEEP_TRIALS_MAX + 1 */
size_t rh_sweep_params_size(const struct rh_json *params);
/** @return the values of a combination, an array of strings borrowed from nobody: owned by the caller; NULL: out of
 * memory */
struct rh_json *rh_sweep_params_values(const struct rh_json *params, size_t combination)
	__attribute__((warn_unused_result));
/**
 * Choose @p requested of the combinations below @p size, ascending, each once; all where there are no more. One seed
 * always chooses the same. @return array of integers, owned by the caller; NULL: out of memory
 */
struct rh_json *rh_sweep_params_choose(size_t size, size_t requested, uint64_t seed)
	__attribute__((warn_unused_result));

#endif
