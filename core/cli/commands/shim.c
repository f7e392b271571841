/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim.h"

#include "cli/cli.h"
#include "cli/commands.h"

static int shim_run(const struct rh_cli *cli)
{
	(void)cli;
	return rh_shim_main();
}

const struct rh_command rh_command_shim = {
	.name = "shim",
	.synopsis = "",
	.summary = "stand for one pod; started by `run`, never by hand",
	.details = "",
	.run = shim_run,
	.hidden = true,
};
