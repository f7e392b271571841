/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/plugins/plugins.h
 * @brief What `roundhouse plugins` can do, where it has a file of its own.
 */
#ifndef RH_CLI_COMMANDS_PLUGINS_PLUGINS_H
#define RH_CLI_COMMANDS_PLUGINS_PLUGINS_H

#include "cli/cli.h"

/**
 * `plugins new NAME`: write the project of a new plugin into a folder, and print what to do next.
 * @return RH_EXIT_OK, or a negative status
 */
int rh_plugins_new(const struct rh_cli *cli, struct rh_error *err);
/**
 * `plugins test FILE [JOB...]`: the conformance kit. Blocks until it is done.
 * @return an exit status, or a negative status
 */
int rh_plugins_test(const struct rh_cli *cli, struct rh_error *err);

#endif
