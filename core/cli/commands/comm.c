/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of `roundhouse comm`. What does the work is a program of its own beside this one (comm/bench), which needs
 * nothing but librhcomm, so that it runs in any job's image, and no pod of a local run loads that library for it.
 */
#include <stdio.h>
#include <string.h>

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
	fputs("bench check ps trace ", stdout);
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

static const struct rh_option trace_options[] = {
	{"output", 'o', "FORMAT", "text|json", "how to print the operations and what was found"},
	{NULL, 0, NULL, NULL, NULL},
};

static int trace_run(const struct rh_cli *cli)
{
	char name[] = "trace";
	char text[] = "--output=text";
	char json[] = "--output=json";
	char end[] = "--";
	const char *format = rh_cli_option(cli, "output");
	char **words = rh_alloc((cli->operand_count + 4) * sizeof(*words));
	size_t count = 0;

	if (!words)
		return rh_cli_fail(cli, RH_EXIT_FAILED, "out of memory");
	words[count++] = name;
	words[count++] = format && strcmp(format, "json") == 0 ? json : text;
	words[count++] = end;
	for (size_t i = 0; i < cli->operand_count; i++)
		words[count++] = cli->operands[i];
	words[count] = NULL;
	(void)rh_cli_start_program(cli, COMM_PROGRAM, COMM_PROGRAM, words);
	rh_free(words);
	return RH_EXIT_FAILED;
}

const struct rh_command rh_command_comm_trace = {
	.name = "comm trace",
	.synopsis = "FILE...",
	.summary = "say which ranks did not come to which operation, from what each did last",
	.details = "Each FILE is the trace of a rank: with RH_COMM_TRACE=FOLDER every rank keeps its latest operations in\n"
			   "FOLDER/rank-N.rhtrace, which outlives it. A rank that did not come to an operation is named with the\n"
			   "operation, its group and number, and so is one that posted another one there; see docs/comm.md.\n\n"
			   "Of jobs that use NCCL or Gloo, each FILE is a dump of torch's flight recorder, pickle or JSON, whose\n"
			   "name ends in the rank; or one FILE is the output of NCCL's ncclras.\n\n"
			   "Exit status: 0 all ranks have come to the same operations, 1 not so, 2 a file cannot be read.",
	.options = trace_options,
	.operands_min = 1,
	.operands_max = 65536,
	.run = trace_run,
};
