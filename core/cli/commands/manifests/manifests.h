/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/manifests/manifests.h
 * @brief Declarations shared by the files of `roundhouse manifests`.
 */
#ifndef RH_CLI_COMMANDS_MANIFESTS_MANIFESTS_H
#define RH_CLI_COMMANDS_MANIFESTS_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/cli.h"
#include "host/host.h"

/** @return the template of the objects, conf/deploy/manifests.yaml; static storage */
const char *rh_manifests_text(size_t *ret_length);
/** Append an item, as JSON text, to the list @p key of @p object, which is made when absent. @return 0 or RH_ENOMEM */
int rh_manifests_append(struct rh_json *object, const char *key, const char *item);
/** What needs rights of its own. */
struct rh_manifests_uses {
	const struct rh_gang *gang; /**< PodGroups */
	bool logs;                  /**< reads logs of pods */
	bool kueue;                 /**< Workloads */
	bool evicts;                /**< evicts pods of ranks that do not come */
};

/**
 * Build the minimal RBAC rules of the controller for the kinds of @p host: jobs, pods, Services and Events for the
 * core, the rules that plugins declare for further objects, and those for @p uses.
 * @param[out] ret_rules an array of PolicyRules, owned by the caller
 * @return 0, RH_EPLUGIN (invalid rules of a plugin) or RH_ENOMEM
 */
int rh_manifests_work_rules(const struct rh_host *host, const struct rh_manifests_uses *uses,
                            struct rh_json **ret_rules, struct rh_error *err);
/** Build the rules that the kinds of @p host add to those of an installed controller. @return as above */
int rh_manifests_plugin_rules(const struct rh_host *host, struct rh_json **ret_rules, struct rh_error *err);
/**
 * Build the RBAC rules of users for jobs. @param edit allow create, update and delete; otherwise only reading
 * @return as above
 */
int rh_manifests_user_rules(const struct rh_host *host, bool edit, struct rh_json **ret_rules, struct rh_error *err);
/** @return whether @p host has a kind of API group @p group */
bool rh_manifests_has_group(const struct rh_host *host, const char *group);
/**
 * Check the values of --plugin-image, NAME=IMAGE: a plugin of that name must be ready in @p host, because its kinds'
 * definitions and rights are printed, too.
 * @return 0, RH_EINVAL with the value and the fix, or RH_ENOMEM
 */
int rh_manifests_check_plugin_images(const struct rh_cli *cli, const struct rh_host *host, struct rh_error *err);
/**
 * Add an init container for each --plugin-image to a pod's spec. It copies /plugins of its image into a volume, which
 * the controller, its first container, mounts read-only and searches for plugins. Without --plugin-image nothing is
 * added.
 * @return 0 or RH_ENOMEM
 */
int rh_manifests_add_plugin_images(const struct rh_cli *cli, struct rh_json *pod_spec);

#endif
