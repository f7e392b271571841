/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roundhouse-comm: the program that `roundhouse comm` starts. It needs librhcomm and the C library alone, so that it
 * runs wherever the library does: in any job's image.
 */
#include <signal.h>
#include <string.h>

#include "comm/bench/options.h"
#include "comm/bench/run.h"
#include "comm/bench/trace/trace.h"

int main(int argc, char **argv)
{
	static char *const nothing[] = {NULL};
	struct rh_bench_options options;
	char why[256] = "";

	/* a closed pipe is an error of a write */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && strcmp(argv[1], "trace") == 0)
		return rh_trace_run(argv + 2);
	if (rh_bench_options_read(argc > 1 ? argv + 1 : nothing, &options, why, sizeof(why)) < 0) {
		(void)fprintf(stderr, "roundhouse comm: %s\n", why);
		return RH_BENCH_CONFIGURATION;
	}
	if (options.help) {
		rh_bench_options_help(stdout);
		return fflush(stdout) == 0 ? RH_BENCH_FINE : RH_BENCH_CONFIGURATION;
	}
	return options.local > 0 ? rh_bench_local(&options) : rh_bench_rank(&options, false);
}
