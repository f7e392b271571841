/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/cli.h"
#include "config/isolation.h"

const struct rh_option rh_cli_common_options[] = {
	{"config", 0, "FILE", NULL, "read FILE instead of the roundhouse.ini that would be found"},
	{"plugins", 0, "DIR", NULL, "search DIR for plugins, before the configured folders"},
	{"plugin-isolation", 0, "HOW", RH_ISOLATION_WORDS,
     "run plugins in a process of their own: all, those that are not of this release, or none"},
	{"log-level", 0, "LEVEL", "debug|info|warn|error", "write log lines of LEVEL and above (default warn)"},
	{"help", 'h', NULL, NULL, "show this help"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command *const rh_commands[] = {
	&rh_command_run,     &rh_command_controller, &rh_command_manifests,
	&rh_command_render,  &rh_command_lint,       &rh_command_explain,
	&rh_command_exec,    &rh_command_comm,       &rh_command_ps,
	&rh_command_crds,    &rh_command_plugins,    &rh_command_config,
	&rh_command_version, &rh_command_inject,     &rh_command_completion,
	&rh_command_man,     &rh_command_shim,       NULL,
};
