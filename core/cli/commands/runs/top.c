/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/runs/grid.h"
#include "cli/commands/runs/sizes.h"
#include "cli/output.h"
#include "local/keep/usage.h"

/* Time between two looks, of which rates are the difference. */
#define TOP_STEP (2 * RH_SECOND)
/* The same where there is one table only. */
#define TOP_STEP_ONCE (RH_SECOND / 2)
/* To the upper left corner, and nothing below. */
#define TOP_CLEAR "\033[H\033[J"

/* All runs at one time. */
struct top_look {
	struct rh_kept_list runs;
	struct rh_usage *usages; /* by run */
	int64_t at;              /* monotonic microseconds */
};

static void top_look_deinit(struct top_look *look)
{
	for (size_t i = 0; look->usages && i < look->runs.count; i++)
		rh_usage_deinit(&look->usages[i]);
	rh_free(look->usages);
	rh_kept_list_deinit(&look->runs);
	*look = (struct top_look){.at = 0};
}

static int top_look(const struct rh_cli *cli, struct top_look *ret_look, struct rh_error *err)
{
	int r;

	*ret_look = (struct top_look){.at = rh_clock_monotonic()};
	r = rh_running_find(cli, &ret_look->runs, err);
	if (r < 0)
		return r;
	ret_look->usages = rh_alloc_array(ret_look->runs.count + 1, sizeof(*ret_look->usages));
	for (size_t i = 0; r == 0 && ret_look->usages && i < ret_look->runs.count; i++)
		r = rh_usage_read(&ret_look->runs.items[i], &ret_look->usages[i]);
	return r < 0 || !ret_look->usages ? rh_fail_oom(err) : 0;
}

static const struct rh_usage *top_before(const struct top_look *before, const char *name)
{
	for (size_t i = 0; i < before->runs.count; i++) {
		if (strcmp(before->runs.items[i].name, name) == 0)
			return &before->usages[i];
	}
	return NULL;
}

/* What one replica uses. */
struct top_row {
	const char *run;
	const struct rh_usage_replica *replica;
	struct rh_usage_rate rate;
};

/* Receives each row; returns 0 or RH_ENOMEM. */
typedef int top_row_fn(void *arg, const struct top_row *row);

static int top_each(const struct top_look *now, const struct top_look *before, top_row_fn *fn, void *arg)
{
	int r = 0;

	for (size_t i = 0; i < now->runs.count; i++) {
		const struct rh_usage *usage = &now->usages[i];
		const char *run = now->runs.items[i].name;
		rh_auto_free struct rh_usage_rate *rates = rh_alloc_array(usage->replica_count + 1, sizeof(*rates));

		if (!rates)
			return RH_ENOMEM;
		rh_usage_rates(usage, top_before(before, run), now->at - before->at, rates);
		for (size_t k = 0; r == 0 && k < usage->replica_count; k++) {
			const struct top_row row = {run, &usage->replicas[k], rates[k]};

			r = fn(arg, &row);
		}
	}
	return r;
}

static int top_add_text(void *arg, const struct top_row *row)
{
	struct rh_grid *grid = arg;
	char memory[RH_SIZE_SIZE];
	char read[RH_SIZE_SIZE];
	char written[RH_SIZE_SIZE];
	char ago[RH_TIME_SIZE];
	int64_t last = row->replica->last_output;

	if (rh_grid_add(grid, row->run) < 0 || rh_grid_addf(grid, "%s/%s", row->replica->job, row->replica->name) < 0 ||
	    rh_grid_addf(grid, "%zu", row->rate.processes) < 0 || rh_grid_addf(grid, "%.0f%%", 100 * row->rate.cpu) < 0 ||
	    rh_grid_add(grid, rh_size_format(row->rate.memory, memory)) < 0 ||
	    rh_grid_add(grid, rh_size_format((int64_t)row->rate.read, read)) < 0 ||
	    rh_grid_add(grid, rh_size_format((int64_t)row->rate.written, written)) < 0)
		return RH_ENOMEM;
	if (last == 0)
		return rh_grid_add(grid, "-");
	return rh_grid_addf(grid, "%s ago", rh_duration_format(rh_clock_wall() - last, ago));
}

static int top_print_text(const struct top_look *now, const struct top_look *before)
{
	static const char *const heads[] = {"RUN",    "REPLICA", "PROCESSES", "CPU",
	                                    "MEMORY", "READ/S",  "WRITE/S",   "LAST OUTPUT"};
	rh_auto_grid grid = {.columns = sizeof(heads) / sizeof(heads[0])};
	int r = 0;

	for (size_t i = 0; r == 0 && i < grid.columns; i++)
		r = rh_grid_add(&grid, heads[i]);
	if (r == 0)
		r = top_each(now, before, top_add_text, &grid);
	if (r == 0)
		rh_grid_print(&grid);
	return r;
}

static int top_add_json(void *arg, const struct top_row *row)
{
	rh_auto(json) json = rh_json_new_object();
	char at[RH_TIME_SIZE];
	int64_t last = row->replica->last_output;

	if (!json || rh_json_set_string(json, "run", row->run) < 0 ||
	    rh_json_set_string(json, "job", row->replica->job) < 0 ||
	    rh_json_set_string(json, "replica", row->replica->name) < 0 ||
	    rh_json_set_integer(json, "processes", (int64_t)row->rate.processes) < 0 ||
	    rh_json_set(json, "cpu", rh_json_new_number(row->rate.cpu)) < 0 ||
	    rh_json_set_integer(json, "memory", row->rate.memory) < 0 ||
	    rh_json_set(json, "readRate", rh_json_new_number(row->rate.read)) < 0 ||
	    rh_json_set(json, "writeRate", rh_json_new_number(row->rate.written)) < 0 ||
	    rh_json_set(json, "lastOutput",
	                last ? rh_json_new_string(rh_time_format_micro(last, at)) : rh_json_new_null()) < 0)
		return RH_ENOMEM;
	return rh_json_append(arg, rh_take(json));
}

static int top_print_json(const struct top_look *now, const struct top_look *before)
{
	rh_auto(json) rows = rh_json_new_array();

	if (!rows || top_each(now, before, top_add_json, rows) < 0)
		return RH_ENOMEM;
	return rh_cli_put_json(rows);
}

static void top_pause(int64_t time)
{
	const struct timespec pause = {time / RH_SECOND, time % RH_SECOND * 1000};

	(void)nanosleep(&pause, NULL);
}

/* Table after table, until no run goes on. */
static int top_watch(const struct rh_cli *cli, struct top_look *before, struct rh_error *err)
{
	int r = 0;

	while (r == 0 && before->runs.count > 0) {
		struct top_look now;

		top_pause(TOP_STEP);
		r = top_look(cli, &now, err);
		fputs(TOP_CLEAR, stdout);
		if (r == 0 && top_print_text(&now, before) < 0)
			r = rh_fail_oom(err);
		(void)fflush(stdout);
		top_look_deinit(before);
		*before = now;
	}
	return r == RH_ENOENT ? 0 : r; /* the run that was named has ended */
}

static int top_once(const struct rh_cli *cli, const struct top_look *before, struct rh_error *err)
{
	struct top_look now;
	int r;

	top_pause(TOP_STEP_ONCE);
	r = top_look(cli, &now, err);
	if (r == 0) {
		r = rh_cli_wants_json(cli) ? top_print_json(&now, before) : top_print_text(&now, before);
		if (r < 0)
			r = rh_fail_oom(err);
	}
	top_look_deinit(&now);
	return r;
}

static int top_run(const struct rh_cli *cli)
{
	bool json = rh_cli_wants_json(cli);
	struct rh_error err = {0};
	struct top_look first;
	int r = top_look(cli, &first, &err);

	if (r == 0 && first.runs.count == 0 && !json)
		fputs("no run goes on\n", stderr);
	else if (r == 0)
		r = json || rh_cli_option(cli, "once") || !isatty(STDOUT_FILENO) ? top_once(cli, &first, &err)
		                                                                 : top_watch(cli, &first, &err);
	top_look_deinit(&first);
	return rh_cli_end(cli, r, &err);
}

static const struct rh_option top_options[] = {
	{"once", 0, NULL, NULL, "print one table and end, also on a terminal"},
	{"output", 'o', "FORMAT", "text|json", "how to print it; json is one look"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_top = {
	.name = "top",
	.synopsis = "[JOB]",
	.summary = "show what the replicas of runs use: processors, memory, disks, and when each wrote last",
	.details =
		"On a terminal the table is renewed every two seconds until the runs end, or Ctrl-C. CPU is in percent of "
		"one\n"
		"processor. JOB is the name of a job or a run, see `roundhouse ls`; without it all runs that go on are "
		"shown.",
	.options = top_options,
	.operands_max = 1,
	.run = top_run,
};
