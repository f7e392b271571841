/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/cli.h"

const struct rh_command *const rh_commands[] = {
	&rh_command_run,     &rh_command_ls,      &rh_command_logs,       &rh_command_attach,  &rh_command_describe,
	&rh_command_view,    &rh_command_top,     &rh_command_ps,         &rh_command_stop,    &rh_command_rerun,
	&rh_command_runs,    &rh_command_exec,    &rh_command_sweep,      &rh_command_render,  &rh_command_lint,
	&rh_command_explain, &rh_command_convert, &rh_command_controller, &rh_command_crds,    &rh_command_manifests,
	&rh_command_comm,    &rh_command_comm_ps, &rh_command_comm_trace, &rh_command_plugins, &rh_command_config,
	&rh_command_version, &rh_command_inject,  &rh_command_completion, &rh_command_man,     NULL,
};
