/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of `roundhouse comm`. What does the work is a program of its own beside this one (comm/bench), which needs
 * nothing but librhcomm, so that it runs in any job's image, and no pod of a local run loads that library for it.
 */
#include <stdio.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/commands.h"

#define COMM_PROGRAM "roundhouse-comm"
/* As the exit statuses of the checks are: 2 says that a rank cannot be reached. */
#define COMM_CONFIGURATION 3

static const struct rh_option comm_options[] = {
	{"local", 0, "N", NULL, "start N ranks on this machine, instead of being one rank of a job"},
	{"backend", 0, "NAME", NULL, "native, ucx, mpi, nccl or auto (default: $RH_COMM_BACKEND, or auto)"},
	{"only", 0, "LIST", NULL, "measure these alone: pairs, all-reduce, push-pull, joined by commas"},
	{"sizes", 0, "LIST", NULL, "bytes of the all-reduces, ascending: 8,64K,16M"},
	{"time", 0, "SECONDS", NULL, "about how long all measurements together may take (bench 30, check 10)"},
	{"timeout", 0, "SECONDS", NULL, "how long all ranks may take to come, and one operation to end"},
	{"ratio", 0, "R", NULL, "what is below R of the median of its like is slow (default 0.5)"},
	{"least", 0, "GBPS", NULL, "bandwidth that every pair must reach (default: any)"},
	{"output", 'o', "FORMAT", "text|json", "how to print the result"},
	{"svg", 0, "FILE", NULL, "write a picture of the bandwidths of all pairs"},
	{NULL, 0, NULL, NULL, NULL},
};

/* What all commands have in common says nothing there. */
static bool comm_is_own(const struct rh_option *option)
{
	for (const struct rh_option *row = comm_options; row->name; row++) {
		if (row == option)
			return true;
	}
	return false;
}

/* The command line in the one form that the other program reads. @return false: out of memory */
static bool comm_write_words(const struct rh_cli *cli, char **words)
{
	size_t count = 0;

	words[count++] = rh_strdup(cli->operands[0]);
	for (size_t i = 0; i < cli->given_count; i++) {
		const struct rh_given *given = &cli->given[i];

		if (comm_is_own(given->option))
			words[count++] = rh_asprintf("--%s=%s", given->option->name, given->value);
		if (!words[count - 1])
			return false;
	}
	return words[0];
}

static int comm_run(const struct rh_cli *cli)
{
	char *words[RH_GIVEN_MAX + 2] = {NULL};

	if (comm_write_words(cli, words))
		(void)rh_cli_start_program(cli, COMM_PROGRAM, COMM_PROGRAM, words);
	else
		(void)rh_cli_fail(cli, COMM_CONFIGURATION, "out of memory");
	for (char **word = words; *word; word++)
		rh_free(*word);
	return COMM_CONFIGURATION;
}

static void comm_words(void)
{
	fputs("bench check ps ", stdout);
}

const struct rh_command rh_command_comm = {
	.name = "comm",
	.synopsis = "bench|check",
	.summary = "measure what the ranks of a job reach among themselves, and name who is slow",
	.details =
		"Every replica of a job runs it, with the environment that training would have; or --local starts some on this "
		"machine.\n"
		"bench measures latency and bandwidth of every pair, all-reduces over sizes (algbw and busbw as nccl-tests "
		"define\n"
		"them), push and pull with a parameter server, and prints tables or JSON. check takes less time and prints "
		"the\n"
		"verdict. A pair is compared with the median of its like, on one host or between hosts; see "
		"docs/comm.md.\n\n"
		"Exit status, the same on every rank: 0 fine, 1 a pair or rank is slow, 2 a rank cannot be reached, 3 wrong\n"
		"configuration.",
	.options = comm_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = comm_run,
	.words = comm_words,
	.bad_input = COMM_CONFIGURATION,
};
