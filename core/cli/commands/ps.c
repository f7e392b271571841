/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of `roundhouse comm ps`. What does the work is a program of its own beside this one (comm/ps/main.c), which
 * reads the environment alone: each option here is one of its variables. `roundhouse ps` was the word for it, and still
 * is where its options or variables say so; otherwise it lists processes.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/runs/processes.h"

#define PS_PROGRAM "roundhouse-ps"
/* How many of its options are variables; they come first. */
#define PS_VARIABLES (sizeof(ps_variables) / sizeof(ps_variables[0]))

/* The first row is for the list of processes; the others are those of a parameter server, alone in server_options. */
static const struct rh_option ps_options[] = {
	{"output", 'o', "FORMAT", "text|json", "how to print the processes"},
	{"workers", 0, "N", NULL, "number of workers"},
	{"servers", 0, "N", NULL, "number of servers (default 1)"},
	{"index", 0, "I", NULL, "which of the servers this is, from 0 (default 0)"},
	{"host", 0, "ADDRESS", NULL, "listen on this address (default: on all)"},
	{"port", 0, "PORT", NULL, "listen on this port (default: TF_CONFIG's, else any that is free)"},
	{"mode", 0, "MODE", "sync|async|stale", "when a push counts: by rounds, at once, or at once with a bounded lead"},
	{"staleness", 0, "N", NULL, "pushes that a worker may be ahead of the slowest one, for mode stale (default 0)"},
	{"rule", 0, "RULE", "sum|average|total|mean|sgd|momentum|adam|adagrad", "what a push does to a value"},
	{"rate", 0, "X", NULL, "learning rate (default 0.01); workers may change it"},
	{"momentum", 0, "X", NULL, "of rule momentum (default 0.9)"},
	{"beta1", 0, "X", NULL, "of Adam (default 0.9)"},
	{"beta2", 0, "X", NULL, "of Adam (default 0.999)"},
	{"epsilon", 0, "X", NULL, "of Adam and Adagrad (default 1e-8)"},
	{"folder", 0, "DIR", NULL, "keep the state in DIR, and go on from there (default: nowhere)"},
	{"durable", 0, "HOW", "logged|synced", "what is acknowledged outlives the process, or also its host"},
	{"grace", 0, "SECONDS", NULL, "how long a lost worker may stay away before waiting for it fails (default 1)"},
	{"backend", 0, "NAME", NULL, "own, native, ucx, mpi or nccl carries the data (default: $RH_COMM_BACKEND, or own)"},
	{"replicas", 0, "N", "1|2", "with 2, each server has a backup that takes over when it dies; needs a scheduler"},
	{NULL, 0, NULL, NULL, NULL},
};

static const struct rh_option *const server_options = ps_options + 1;

/* By row of server_options. */
static const char *const ps_variables[] = {
	"RH_PS_WORKERS",   "RH_PS_SERVER_COUNT", "RH_PS_SERVER",  "RH_PS_HOST",     "RH_PS_PORT",    "RH_PS_MODE",
	"RH_PS_STALENESS", "RH_PS_RULE",         "RH_PS_RATE",    "RH_PS_MOMENTUM", "RH_PS_BETA1",   "RH_PS_BETA2",
	"RH_PS_EPSILON",   "RH_PS_FOLDER",       "RH_PS_DURABLE", "RH_PS_GRACE",    "RH_PS_BACKEND", "RH_PS_REPLICAS",
};

static int ps_serve(const struct rh_cli *cli)
{
	char *words[] = {NULL};

	for (size_t i = 0; i < PS_VARIABLES; i++) {
		const char *value = rh_cli_option(cli, server_options[i].name);

		if (value && setenv(ps_variables[i], value, 1) < 0)
			return rh_cli_fail(cli, RH_EXIT_FAILED, strerror(errno));
	}
	return rh_cli_start_program(cli, PS_PROGRAM, PS_PROGRAM, words);
}

/* Scripts and jobs that were written for the old word give it options, or a place in a job. */
static bool ps_is_server(const struct rh_cli *cli)
{
	static const char *const places[] = {"TF_CONFIG", "DMLC_ROLE"};

	for (size_t i = 0; i < PS_VARIABLES; i++) {
		if (rh_cli_option(cli, server_options[i].name) || getenv(ps_variables[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (getenv(places[i]))
			return true;
	}
	return false;
}

static int ps_run(const struct rh_cli *cli)
{
	if (!ps_is_server(cli))
		return rh_processes_run(cli);
	if (cli->operand_count > 0)
		return rh_cli_fail(cli, RH_EXIT_BAD_INPUT, "a parameter server takes no operands");
	fputs("roundhouse ps: the word for a parameter server is `roundhouse comm ps`\n", stderr);
	return ps_serve(cli);
}

const struct rh_command rh_command_comm_ps = {
	.name = "comm ps",
	.synopsis = "",
	.summary = "be a parameter server, or the scheduler, of a job, until all its workers have left",
	.details = "Workers reach it with rh_ps_connect() (roundhouse/ps.h). Its place among the servers, and the number "
			   "of workers,\n"
			   "come from the options, from TF_CONFIG in a PS replica of a TFJob, or from RH_PS_* and DMLC_*; two that "
			   "disagree\n"
			   "are an error. Messages name the variable that an option sets: RH_PS_WORKERS for --workers, and so on.\n"
			   "With DMLC_ROLE=scheduler it is the scheduler through which servers and workers find each "
			   "other.\n"
			   "With --folder a server that was killed has lost nothing that it had acknowledged; see docs/ps.md.\n"
			   "SIGTERM ends it in good order.",
	.options = ps_options + 1,
	.operands_max = 0,
	.run = ps_serve,
};

const struct rh_command rh_command_ps = {
	.name = "ps",
	.synopsis = "[JOB]",
	.summary = "list the processes of runs that go on",
	.details = "JOB is the name of a job or a run, see `roundhouse ls`; without it those of all runs are listed.\n\n"
			   "With an option of a parameter server, or in the environment of one (TF_CONFIG, DMLC_ROLE, RH_PS_*), it "
			   "is\n"
			   "`roundhouse comm ps`, as scripts may expect that were written when it had this name.",
	.options = ps_options,
	.operands_max = 1,
	.run = ps_run,
	.names = "ls --running -o name",
};
