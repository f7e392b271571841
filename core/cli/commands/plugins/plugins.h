/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/plugins/plugins.h
 * @brief What `roundhouse plugins` can do, where it has a file of its own.
 */
#ifndef RH_CLI_COMMANDS_PLUGINS_PLUGINS_H
#define RH_CLI_COMMANDS_PLUGINS_PLUGINS_H

#include "cli/cli.h"
#include "config/config.h"
#include "conformance/report.h"

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

/** argv[0] of roundhouse-controller when it runs as `roundhouse plugins test --kubeconfig`. */
#define RH_PLUGINS_PROGRAM "roundhouse-plugins"

/** Hold the plugin against an API server, and add what that refuses to @p report. @return 0 or a negative status */
typedef int rh_plugins_server_fn(const struct rh_cli *cli, struct rh_config *config, struct rh_report *report,
                                 struct rh_error *err);
/** The conformance kit. @param ask NULL: without an API server. @return as rh_plugins_test() */
int rh_plugins_test_with(const struct rh_cli *cli, rh_plugins_server_fn *ask, struct rh_error *err);
/** `plugins test --kubeconfig`, in the program that can contact a cluster. @return the exit status */
int rh_plugins_server_main(int argc, char **argv);

#endif
