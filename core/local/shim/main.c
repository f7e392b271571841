/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program roundhouse-shim: the supervisor of one pod. `roundhouse run` starts it, with its own version as argument:
 * plan and channel have no form that two releases agree about.
 */
#include <stdio.h>
#include <string.h>

#include "local/shim.h"
#include "roundhouse/version.h"

int main(int argc, char *argv[])
{
	if (argc == 2 && strcmp(argv[1], RH_VERSION) == 0)
		return rh_shim_main();
	if (argc == 2)
		(void)fprintf(stderr, "roundhouse-shim: it is of version %s, and roundhouse of %s; install both again\n",
		              RH_VERSION, argv[1]);
	else
		(void)fputs("roundhouse-shim: `roundhouse run` starts this program, for one pod\n", stderr);
	return RH_SHIM_NO_PLAN;
}
