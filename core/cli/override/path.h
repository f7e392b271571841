/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/override/path.h
 * @brief Field paths as a user writes them: "spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].image".
 *
 * Members follow a dot. Keys of maps and places in lists stand in brackets; a key may follow a dot, too, and may be in
 * quotes in its brackets.
 */
#ifndef RH_CLI_OVERRIDE_PATH_H
#define RH_CLI_OVERRIDE_PATH_H

#include <stddef.h>

#include "base/error.h"

/** Longest name of a step, terminating zero included. */
#define RH_FIELD_NAME_SIZE 320

/** One step of a path. */
struct rh_field_step {
	char name[RH_FIELD_NAME_SIZE]; /**< of a member, or what stands in the brackets */
};

/**
 * Take the next step from *@p cursor, which starts at the path and moves on.
 * @return 1; 0 at the end; RH_EINVAL: the path is not well formed, and @p err says where
 */
int rh_field_next(const char **cursor, struct rh_field_step *ret_step, struct rh_error *err);
/**
 * Split "PATH=VALUE" at the first "=" outside of brackets. @param[out] ret_path owned by the caller. @param[out]
 * ret_value borrowed from @p text
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_field_split(const char *text, char **ret_path, const char **ret_value, struct rh_error *err);

#endif
