/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/override/types.h
 * @brief Changes to the replica types of a job, and to the containers of their pods.
 *
 * They change the object as it was read. What is not of the type that it should be is left alone: the checks that
 * follow name it.
 */
#ifndef RH_CLI_OVERRIDE_TYPES_H
#define RH_CLI_OVERRIDE_TYPES_H

#include "base/error.h"
#include "base/json.h"
#include "roundhouse/plugin.h"

/**
 * "--replicas TYPE=N": set how many replicas a type has. The type may be written in any case.
 * @return 0, RH_EINVAL (the message names the types that the job has) or RH_ENOMEM
 */
int rh_types_set_replicas(const struct rh_kind *kind, struct rh_json *object, const char *text, struct rh_error *err);
/**
 * "--env NAME=VALUE": set a variable of all containers, init containers too, in the place where it stands, else behind
 * all others. @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_types_set_env(const struct rh_kind *kind, struct rh_json *object, const char *text, struct rh_error *err);
/** "--cpu": remove what all containers ask for of nvidia.com and amd.com, as nvidia.com/gpu. */
void rh_types_remove_gpus(const struct rh_kind *kind, struct rh_json *object);
/**
 * "--args WORDS": set the arguments of the main container of each type. Where only some types have a command or
 * arguments, the others get theirs from the plugin, and keep them. @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_types_set_args(const struct rh_kind *kind, struct rh_json *object, const char *text, struct rh_error *err);

#endif
