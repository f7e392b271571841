/* SPDX-License-Identifier: Apache-2.0 */
/* `roundhouse logs` and `roundhouse attach`: the output of a run, and what comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run/screen/line.h"
#include "cli/run/screen/live.h"
#include "config/config.h"
#include "local/keep/output.h"
#include "local/keep/rows.h"
#include "local/run.h"

/* Lines of each container that `attach` shows of the time before. */
#define LOGS_ATTACH_LINES 10

/* How lines are printed. */
struct logs_printer {
	struct rh_line_style style;
	struct rh_live live;
	bool json;
};

static void logs_print_json(const struct rh_output_line *line)
{
	rh_auto(json) row = rh_rows_new("log");
	rh_auto_str text = {0};
	rh_auto_str out = {0};
	char at[RH_TIME_SIZE];
	int r;

	rh_rows_append_clean(&text, line->text, line->length);
	r = row ? rh_json_set(row, "time",
	                      line->at ? rh_json_new_string(rh_time_format_micro(line->at, at)) : rh_json_new_null())
	        : RH_ENOMEM;
	if (r < 0 || rh_json_set_string(row, "job", line->job) < 0 ||
	    rh_json_set_string(row, "replica", line->replica) < 0 ||
	    rh_json_set_string(row, "container", line->container) < 0 ||
	    rh_json_set_string(row, "line", rh_str_text(&text)) < 0)
		return;
	rh_json_print(row, false, &out);
	puts(rh_str_text(&out));
}

static void logs_on_line(void *arg, const struct rh_output_line *line)
{
	struct logs_printer *printer = arg;

	if (printer->json)
		logs_print_json(line);
	else
		rh_live_print(&printer->live, &printer->style, line);
}

static void logs_on_partial(void *arg, const struct rh_output_line *line)
{
	struct logs_printer *printer = arg;

	rh_live_start(&printer->live, &printer->style, line);
}

static int logs_parse_since(const struct rh_cli *cli, int64_t *ret_since, struct rh_error *err)
{
	const char *text = rh_cli_option(cli, "since");
	int64_t span;

	if (!text || rh_time_parse(text, ret_since, NULL) == 0)
		return 0;
	if (rh_duration_parse(text, &span, NULL) < 0 || span < 0)
		return rh_fail(err, RH_EINVAL,
		               "option --since: \"%s\" is neither a duration, as 10m, nor a time, as "
		               "2026-11-22T10:00:00Z",
		               text);
	*ret_since = rh_clock_wall() - span;
	return 0;
}

static int logs_parse_tail(const struct rh_cli *cli, int64_t *ret_tail, struct rh_error *err)
{
	const char *text = rh_cli_option(cli, "tail");

	if (text && strcmp(text, "-1") != 0 && rh_config_count(text, ret_tail, err) < 0)
		return rh_wrap(err, RH_EINVAL, "option --tail");
	return 0;
}

/* @return whether all lines are of one container, which then needs no name; a type has a name without a number */
static bool logs_is_one(const struct rh_output_options *options, const struct rh_json *jobs)
{
	const char *word = options->replica;
	char last = word && *word ? word[strlen(word) - 1] : '\0';

	return last >= '0' && last <= '9' && (options->container || !rh_line_has_several(jobs, word));
}

/* A word that is not the name of the run is that of the one job whose output is wanted. */
static void logs_fill(const struct rh_cli *cli, const struct rh_kept *kept, struct rh_output_options *options,
                      struct logs_printer *printer)
{
	const struct rh_json *jobs = rh_json_get(kept->state, "jobs");

	if (strcmp(kept->name, cli->operands[0]) != 0)
		options->job = cli->operands[0];
	options->replica = cli->operand_count > 1 ? cli->operands[1] : rh_cli_option(cli, "only");
	options->container = rh_cli_option(cli, "container");
	options->line = logs_on_line;
	options->arg = printer;
	printer->json = rh_cli_wants_json(cli);
	printer->style = (struct rh_line_style){.prefix = !logs_is_one(options, jobs),
	                                        .multiple = !options->job && rh_json_size(jobs) > 1,
	                                        .times = rh_cli_option(cli, "timestamps") != NULL,
	                                        .colour = rh_cli_colour(STDOUT_FILENO),
	                                        .terminal = isatty(STDOUT_FILENO) != 0,
	                                        .jobs = jobs};
	printer->live.on = printer->style.colour && rh_cli_colour(STDERR_FILENO) && !printer->json;
	options->partial = printer->live.on ? logs_on_partial : NULL;
}

static int logs_nothing(const struct rh_cli *cli, const struct rh_kept *kept, struct rh_error *err)
{
	if (cli->operand_count > 1)
		return rh_fail(err, RH_ENOENT, "run \"%s\" has no log of replica \"%s\"%s; `roundhouse describe %s` lists them",
		               kept->name, cli->operands[1], rh_cli_option(cli, "container") ? " with this container" : "",
		               kept->name);
	if (rh_cli_option(cli, "container"))
		return rh_fail(err, RH_ENOENT, "run \"%s\" has no logs of a container \"%s\"; leave out -c for those of all",
		               kept->name, rh_cli_option(cli, "container"));
	return rh_fail(err, RH_ENOENT, "run \"%s\" has no logs", kept->name);
}

static int logs_show(const struct rh_cli *cli, const struct rh_kept *kept, struct rh_output_options *options,
                     bool follow, struct rh_error *err)
{
	struct logs_printer printer = {0};
	rh_auto(output) output = NULL;
	int r;

	logs_fill(cli, kept, options, &printer);
	(void)setvbuf(stdout, NULL, follow ? _IOLBF : _IOFBF, BUFSIZ);
	r = rh_output_new(kept, options, &output, err);
	if (r < 0)
		return r;
	if (follow && kept->life == RH_KEPT_RUNNING) {
		r = rh_output_follow(output, err);
		rh_live_wipe(&printer.live);
		rh_live_deinit(&printer.live);
		return r;
	}
	r = rh_output_read(output, true);
	if (r < 0)
		return rh_fail_oom(err);
	return r == 0 ? logs_nothing(cli, kept, err) : 0;
}

static int logs_run(const struct rh_cli *cli)
{
	struct rh_output_options options = {.tail = -1};
	struct rh_error err = {0};
	rh_auto_kept kept = {0};
	int r = logs_parse_since(cli, &options.since, &err);

	if (r == 0)
		r = logs_parse_tail(cli, &options.tail, &err);
	if (r == 0)
		r = rh_kept_find(cli->operands[0], false, &kept, &err);
	if (r == 0)
		r = logs_show(cli, &kept, &options, rh_cli_option(cli, "follow") != NULL, &err);
	return rh_cli_end(cli, r, &err);
}

/* @return the exit status of the run */
static int logs_result(const struct rh_kept *kept)
{
	rh_auto_kept now = {0};
	int64_t status = RH_RUN_FAILED;

	if (rh_kept_read(kept->path, &now) < 0)
		return RH_EXIT_FAILED;
	fprintf(stderr, "%s: %s\n", now.name, rh_kept_state(&now));
	(void)rh_json_integer(rh_json_get(now.state, "exitStatus"), &status);
	return (int)status;
}

static int attach_run(const struct rh_cli *cli)
{
	struct rh_output_options options = {.tail = LOGS_ATTACH_LINES};
	struct rh_error err = {0};
	rh_auto_kept kept = {0};
	int r = logs_parse_tail(cli, &options.tail, &err);

	if (r == 0)
		r = rh_kept_find(cli->operands[0], true, &kept, &err);
	if (r == 0 && kept.life != RH_KEPT_RUNNING)
		r = rh_fail(&err, RH_ENOENT, "run \"%s\" does not go on; `roundhouse logs %s` shows its output", kept.name,
		            kept.name);
	if (r == 0)
		r = logs_show(cli, &kept, &options, true, &err);
	return r < 0 ? rh_cli_end(cli, r, &err) : logs_result(&kept);
}

static const struct rh_option logs_options[] = {
	{"follow", 'f', NULL, NULL, "go on until the run ends"},
	{"since", 0, "TIME", NULL, "leave out what is older than TIME: 10m, or 2026-11-22T10:00:00Z"},
	{"tail", 0, "N", NULL, "show the last N lines of each container (default: all)"},
	{"timestamps", 't', NULL, NULL, "put the time in front of each line"},
	{"container", 'c', "CONTAINER", NULL, "show this container alone (default: all of a replica)"},
	{"output", 'o', "FORMAT", "text|json", "show text, or one JSON object a line"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_logs = {
	.name = "logs",
	.synopsis = "JOB [REPLICA]",
	.summary = "show the output of a run that goes on or is kept",
	.details = "JOB is the name of a job or a run, see `roundhouse ls`. REPLICA is worker-1, a type as worker, or the "
			   "name of a pod; without it the\n"
			   "lines of all replicas are shown in the order of their times, each with its replica. A time is that at "
			   "which the run\n"
			   "read a line; lines that come within 10 ms share one.",
	.options = logs_options,
	.operands_min = 1,
	.operands_max = 2,
	.run = logs_run,
	.names = "ls -o name",
};

static const struct rh_option attach_options[] = {
	{"tail", 0, "N", NULL, "begin with the last N lines of each container (default: 10)"},
	{"timestamps", 't', NULL, NULL, "put the time in front of each line"},
	{"only", 0, "REPLICA", NULL, "show this replica alone, as worker-1, or this type, as worker"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_attach = {
	.name = "attach",
	.synopsis = "JOB",
	.summary = "show the output of a run that goes on, and end as it ends",
	.details =
		"JOB is the name of a job or a run, see `roundhouse ls`. Ctrl-C ends this command; the run goes on, and\n"
		"`roundhouse stop JOB` stops it.\n\n"
		"Exit status: that of the run, see `roundhouse run --help`; 2 when no such run goes on.",
	.options = attach_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = attach_run,
	.names = "ls --running -o name",
};
