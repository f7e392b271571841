/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/manifests.h
 * @brief Declarations shared by the files of `roundhouse manifests`.
 */
#ifndef RH_CLI_COMMANDS_MANIFESTS_H
#define RH_CLI_COMMANDS_MANIFESTS_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "host/host.h"

/** @return the template of the objects, conf/deploy/manifests.yaml; static storage */
const char *rh_manifests_text(size_t *ret_length);
/**
 * Build the minimal RBAC rules of the controller for the kinds of @p host: jobs, pods, Services and Events for the
 * core, the rules that plugins declare for further objects, and with @p gang PodGroups.
 * @param[out] ret_rules an array of PolicyRules, owned by the caller
 * @return 0, RH_EPLUGIN (invalid rules of a plugin) or RH_ENOMEM
 */
int rh_manifests_work_rules(const struct rh_host *host, const struct rh_gang *gang, struct rh_json **ret_rules,
                            struct rh_error *err);
/**
 * Build the RBAC rules of users for jobs. @param edit allow create, update and delete; otherwise only reading
 * @return as rh_manifests_work_rules()
 */
int rh_manifests_user_rules(const struct rh_host *host, bool edit, struct rh_json **ret_rules, struct rh_error *err);

#endif
