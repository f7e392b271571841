/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands.h
 * @brief All commands of the program.
 */
#ifndef RH_CLI_COMMANDS_H
#define RH_CLI_COMMANDS_H

#include "cli/cli.h"

/** All commands, in the order of the help; NULL ends the list. */
extern const struct rh_command *const rh_commands[];

/** The commands' rows, each in its own file. */
extern const struct rh_command rh_command_run;
extern const struct rh_command rh_command_ls;
extern const struct rh_command rh_command_logs;
extern const struct rh_command rh_command_attach;
extern const struct rh_command rh_command_describe;
extern const struct rh_command rh_command_view;
extern const struct rh_command rh_command_stop;
extern const struct rh_command rh_command_runs;
extern const struct rh_command rh_command_rerun;
extern const struct rh_command rh_command_sweep;
extern const struct rh_command rh_command_render;
extern const struct rh_command rh_command_lint;
extern const struct rh_command rh_command_convert;
extern const struct rh_command rh_command_explain;
extern const struct rh_command rh_command_crds;
extern const struct rh_command rh_command_plugins;
extern const struct rh_command rh_command_config;
extern const struct rh_command rh_command_version;
extern const struct rh_command rh_command_completion;
extern const struct rh_command rh_command_man;
extern const struct rh_command rh_command_controller;
extern const struct rh_command rh_command_manifests;
extern const struct rh_command rh_command_comm;
extern const struct rh_command rh_command_ps;
extern const struct rh_command rh_command_top;
/** Its name is two words. */
extern const struct rh_command rh_command_comm_ps;
extern const struct rh_command rh_command_comm_trace;
extern const struct rh_command rh_command_exec;
extern const struct rh_command rh_command_inject;

#endif
