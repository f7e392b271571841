/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program roundhouse-plugin-worker: one plugin file in a process of its own. Roundhouse starts it, with the file,
 * its own process number, and "copy" if it is to load the copy of the file in RH_WORKER_COPY as arguments.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/worker/process.h"
#include "host/worker/sandbox.h"
#include "host/worker/serve.h"

int main(int argc, char *argv[])
{
	bool has_copy = argc == 4;

	if (argc != 3 && !has_copy) {
		(void)fputs("roundhouse-plugin-worker: roundhouse starts this program, for one plugin file\n", stderr);
		return 2;
	}
	(void)close_range(has_copy ? RH_WORKER_COPY + 1 : RH_WORKER_COPY, ~0U, 0);
	if (rh_sandbox_enter((int)strtol(argv[2], NULL, 10)) < 0)
		return 1;
	return rh_serve(argv[1], has_copy);
}
