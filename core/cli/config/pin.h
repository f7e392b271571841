/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/config/pin.h
 * @brief `roundhouse plugins pin`: the allow-list with the hashes of the files that are installed.
 */
#ifndef RH_CLI_CONFIG_PIN_H
#define RH_CLI_CONFIG_PIN_H

#include "base/error.h"
#include "cli/cli.h"

/**
 * Print, or with --write put into the configuration file, a line of [plugins] allow for each plugin: the files of the
 * operands from the second on; without them those that may be loaded. Runs no code of a plugin.
 * @return 0, RH_EINVAL, RH_ENOENT, RH_EIO, RH_EPLUGIN or RH_ENOMEM
 */
int rh_plugins_pin(const struct rh_cli *cli, struct rh_error *err);

#endif
