/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/manifests.h
 * @brief What the files behind `roundhouse manifests` share.
 */
#ifndef RH_CLI_COMMANDS_MANIFESTS_H
#define RH_CLI_COMMANDS_MANIFESTS_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "host/host.h"

/** The objects before anything is put in: conf/deploy/manifests.yaml. @return static storage */
const char *rh_manifests_text(size_t *ret_length);
/**
 * The rights that the controller needs for the kinds of @p host, and nothing more: what the core does with jobs, pods,
 * Services and Events, and what each plugin declares for its further objects; with @p gang, PodGroups.
 * @param[out] ret_rules an array of PolicyRules, owned by the caller
 * @return 0, RH_EPLUGIN (rules of a plugin that are none) or RH_ENOMEM
 */
int rh_manifests_work_rules(const struct rh_host *host, const struct rh_gang *gang, struct rh_json **ret_rules,
                            struct rh_error *err);
/**
 * The rights of users over jobs. @param edit create, change and delete them, too; else to look at them
 * @return as rh_manifests_work_rules()
 */
int rh_manifests_user_rules(const struct rh_host *host, bool edit, struct rh_json **ret_rules, struct rh_error *err);

#endif
