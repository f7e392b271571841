/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program roundhouse-plugin-worker: one plugin file in a process of its own. Roundhouse starts it, with the file
 * and its own process number as arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/worker/process.h"
#include "host/worker/sandbox.h"
#include "host/worker/serve.h"

int main(int argc, char *argv[])
{
	if (argc != 3) {
		(void)fputs("roundhouse-plugin-worker: roundhouse starts this program, for one plugin file\n", stderr);
		return 2;
	}
	(void)close_range(RH_WORKER_PAGE + 1, ~0U, 0);
	if (rh_sandbox_enter((int)strtol(argv[2], NULL, 10)) < 0)
		return 1;
	return rh_serve(argv[1]);
}
