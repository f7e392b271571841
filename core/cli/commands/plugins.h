/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/plugins.h
 * @brief What `plugins` does that has a file of its own.
 */
#ifndef RH_CLI_COMMANDS_PLUGINS_H
#define RH_CLI_COMMANDS_PLUGINS_H

#include "cli/cli.h"

/** `plugins test FILE [JOB...]`: the conformance kit. Blocks until it is done. @return the exit status */
int rh_plugins_test(const struct rh_cli *cli);

#endif
