/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/runs/grid.h"
#include "cli/commands/runs/summary.h"
#include "cli/output.h"

/* "Running 45%", as far as a replica reported it. */
static void ls_append_state(const struct rh_kept *kept, const struct rh_json *job, struct rh_str *out)
{
	int64_t percent = 0;

	rh_str_append(out, rh_summary_state(kept, job));
	if (kept->life == RH_KEPT_RUNNING && rh_json_integer(rh_json_at(job, "trainerStatus.progressPercentage"), &percent))
		rh_str_appendf(out, " %d%%", (int)percent);
}

static int ls_add_job(struct rh_grid *grid, const struct rh_kept *kept, const struct rh_json *job)
{
	rh_auto_str replicas = {0};
	rh_auto_str state = {0};
	char age[RH_TIME_SIZE];
	char took[RH_TIME_SIZE];
	const char *name = job ? rh_json_string(rh_json_get(job, "name")) : NULL;

	rh_summary_replicas(kept, job, &replicas);
	ls_append_state(kept, job, &state);
	if (rh_grid_add(grid, kept->name) < 0 || rh_grid_add(grid, name ? name : "-") < 0 ||
	    rh_grid_add(grid, rh_str_text(&state)) < 0 || rh_grid_add(grid, rh_str_text(&replicas)) < 0 ||
	    rh_grid_add(grid, rh_duration_format(rh_summary_age(kept), age)) < 0 ||
	    rh_grid_add(grid, rh_duration_format(rh_summary_duration(kept), took)) < 0 ||
	    rh_grid_add(grid, rh_summary_fault(job)) < 0)
		return RH_ENOMEM;
	return 0;
}

static int ls_add(struct rh_grid *grid, const struct rh_kept *kept)
{
	const struct rh_json *job = rh_json_first(rh_json_get(kept->state, "jobs"));
	int r = job ? 0 : ls_add_job(grid, kept, NULL);

	for (; job && r == 0; job = rh_json_next(job))
		r = ls_add_job(grid, kept, job);
	return r;
}

static bool ls_shows(const struct rh_cli *cli, const struct rh_kept *kept)
{
	return !rh_cli_option(cli, "running") || kept->life == RH_KEPT_RUNNING;
}

static int ls_print_text(const struct rh_cli *cli, const struct rh_kept_list *list)
{
	static const char *const heads[] = {"RUN", "JOB", "STATE", "REPLICAS", "AGE", "DURATION", "FIRST FAULT"};
	rh_auto_grid grid = {.columns = sizeof(heads) / sizeof(heads[0]), .cut = true};
	size_t shown = 0;

	for (size_t i = 0; i < grid.columns; i++) {
		if (rh_grid_add(&grid, heads[i]) < 0)
			return RH_ENOMEM;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (!ls_shows(cli, &list->items[i]))
			continue;
		shown++;
		if (ls_add(&grid, &list->items[i]) < 0)
			return RH_ENOMEM;
	}
	if (shown == 0)
		fprintf(stderr, "%s\n", rh_cli_option(cli, "running") ? "no run goes on" : "no run is kept");
	else
		rh_grid_print(&grid);
	return 0;
}

static int ls_print_json(const struct rh_cli *cli, const struct rh_kept_list *list)
{
	rh_auto(json) rows = rh_json_new_array();

	for (size_t i = 0; rows && i < list->count; i++) {
		if (ls_shows(cli, &list->items[i]) && rh_json_append(rows, rh_summary_json(&list->items[i])) < 0)
			return RH_ENOMEM;
	}
	return rh_cli_put_json(rows);
}

static int ls_run(const struct rh_cli *cli)
{
	rh_auto_kept_list list = {NULL, 0};
	struct rh_error err = {0};
	const char *format = rh_cli_option(cli, "output");
	int r = rh_kept_list(&list, &err);

	if (r == 0 && format && strcmp(format, "name") == 0) {
		for (size_t i = 0; i < list.count; i++) {
			if (ls_shows(cli, &list.items[i]))
				puts(list.items[i].name);
		}
	} else if (r == 0) {
		r = rh_cli_wants_json(cli) ? ls_print_json(cli, &list) : ls_print_text(cli, &list);
		if (r < 0)
			r = rh_fail_oom(&err);
	}
	return rh_cli_end(cli, r, &err);
}

static const struct rh_option ls_options[] = {
	{"running", 'r', NULL, NULL, "show only runs that go on"},
	{"output", 'o', "FORMAT", "text|json|name", "how to print them"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_ls = {
	.name = "ls",
	.synopsis = "",
	.summary = "list the runs of this machine, those that go on and those that are kept",
	.details =
		"The newest comes first. A run is called by its first job and the time of its start in UTC. Other commands "
		"take\n"
		"that name, or the name of a job, which means the job's newest run, and one that goes on before all others.\n"
		"Killed is a run whose process was killed before it could write how it ended; its processes ended with it.",
	.options = ls_options,
	.operands_max = 0,
	.run = ls_run,
};
