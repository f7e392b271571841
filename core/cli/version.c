/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/version.h"

#include <stdio.h>

#include "cli/cli.h"

static int version_run(const struct rh_cli *cli)
{
	(void)cli;
	printf("roundhouse %s (plugin ABI %d.%d)\n", RH_VERSION, RH_ABI_MAJOR, RH_ABI_MINOR);
	return RH_EXIT_OK;
}

const struct rh_command rh_command_version = {
	.name = "version",
	.synopsis = "",
	.summary = "print the version and the plugin ABI",
	.details = "",
	.run = version_run,
};
