/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/version.h"

#include <stdio.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "host/host.h"

static int version_run(const struct rh_cli *cli)
{
	if (rh_cli_wants_json(cli))
		printf("{\"version\": \"%s\", \"pluginAbi\": \"%d.%d\"}\n", RH_VERSION, RH_ABI_MAJOR, RH_ABI_MINOR);
	else
		printf("roundhouse %s (plugin ABI %d.%d)\n", RH_VERSION, RH_ABI_MAJOR, RH_ABI_MINOR);
	return RH_EXIT_OK;
}

static const struct rh_option version_options[] = {
	{"output", 'o', "FORMAT", "text|json", "how to print them"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_version = {
	.name = "version",
	.synopsis = "",
	.summary = "print the version and the plugin ABI",
	.details = "",
	.options = version_options,
	.run = version_run,
};
