/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/crds_installed.h
 * @brief What the definitions that a cluster has say about those that are printed.
 */
#ifndef RH_CLI_COMMANDS_CRDS_INSTALLED_H
#define RH_CLI_COMMANDS_CRDS_INSTALLED_H

#include "base/error.h"
#include "base/str.h"
#include "cli/commands/crds.h"

/**
 * Compare definitions with those of --installed, a file or a cluster. @param definitions an array
 * @param fetch asks the cluster @param[out] ret_warnings gets a line for each version in which the cluster may have
 * stored objects, and that a definition has not
 * @return 0 or a negative status; nothing happens without the option
 */
int rh_crds_compare(const struct rh_cli *cli, rh_crds_fetch_fn *fetch, const struct rh_json *definitions,
                    struct rh_str *ret_warnings, struct rh_error *err);

#endif
