/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/runs/processes.h"

#include <stdio.h>

#include "base/os/clock.h"
#include "cli/commands/runs/grid.h"
#include "cli/commands/runs/sizes.h"
#include "cli/output.h"
#include "local/keep/usage.h"

static int processes_add_text(struct rh_grid *grid, const char *run, const struct rh_usage *usage,
                              const struct rh_usage_process *process)
{
	const struct rh_usage_replica *replica = &usage->replicas[process->replica];
	char memory[RH_SIZE_SIZE];
	char cpu[RH_TIME_SIZE];

	if (rh_grid_add(grid, run) < 0 || rh_grid_addf(grid, "%s/%s", replica->job, replica->name) < 0 ||
	    rh_grid_addf(grid, "%lld", (long long)process->pid) < 0 ||
	    rh_grid_addf(grid, "%lld", (long long)process->parent) < 0 || rh_grid_addf(grid, "%c", process->state) < 0 ||
	    rh_grid_add(grid, rh_duration_format(process->cpu, cpu)) < 0 ||
	    rh_grid_add(grid, rh_size_format(process->memory, memory)) < 0)
		return RH_ENOMEM;
	return rh_grid_add(grid, process->command);
}

static int processes_add_json(struct rh_json *rows, const char *run, const struct rh_usage *usage,
                              const struct rh_usage_process *process)
{
	const struct rh_usage_replica *replica = &usage->replicas[process->replica];
	const char state[] = {process->state, '\0'};
	rh_auto(json) row = rh_json_new_object();

	if (!row || rh_json_set_string(row, "run", run) < 0 || rh_json_set_string(row, "job", replica->job) < 0 ||
	    rh_json_set_string(row, "replica", replica->name) < 0 || rh_json_set_integer(row, "pid", process->pid) < 0 ||
	    rh_json_set_integer(row, "parent", process->parent) < 0 || rh_json_set_string(row, "state", state) < 0 ||
	    rh_json_set(row, "cpuSeconds", rh_json_new_number((double)process->cpu / (double)RH_SECOND)) < 0 ||
	    rh_json_set_integer(row, "memory", process->memory) < 0 ||
	    rh_json_set_string(row, "command", process->command) < 0)
		return RH_ENOMEM;
	return rh_json_append(rows, rh_take(row));
}

/* @param rows NULL: as text */
static int processes_add_replica(const char *run, const struct rh_usage *usage, size_t replica, struct rh_grid *grid,
                                 struct rh_json *rows)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < usage->process_count; i++) {
		const struct rh_usage_process *process = &usage->processes[i];

		if (process->replica != replica)
			continue;
		r = rows ? processes_add_json(rows, run, usage, process) : processes_add_text(grid, run, usage, process);
	}
	return r;
}

/* By replica, whichever of them has started first. */
static int processes_add_run(const struct rh_kept *kept, struct rh_grid *grid, struct rh_json *rows)
{
	rh_auto_usage usage = {0};
	int r = rh_usage_read(kept, &usage);

	for (size_t i = 0; r == 0 && i < usage.replica_count; i++)
		r = processes_add_replica(kept->name, &usage, i, grid, rows);
	return r;
}

static int processes_print(const struct rh_kept_list *runs, bool as_json)
{
	static const char *const heads[] = {"RUN", "REPLICA", "PID", "PARENT", "STATE", "CPU", "MEMORY", "COMMAND"};
	rh_auto_grid grid = {.columns = sizeof(heads) / sizeof(heads[0])};
	rh_auto(json) rows = as_json ? rh_json_new_array() : NULL;
	int r = as_json && !rows ? RH_ENOMEM : 0;

	for (size_t i = 0; r == 0 && i < grid.columns; i++)
		r = rh_grid_add(&grid, heads[i]);
	for (size_t i = 0; r == 0 && i < runs->count; i++)
		r = processes_add_run(&runs->items[i], &grid, rows);
	if (r == 0 && !as_json)
		rh_grid_print(&grid);
	return r < 0 || !as_json ? r : rh_cli_put_json(rows);
}

int rh_processes_run(const struct rh_cli *cli)
{
	bool json = rh_cli_wants_json(cli);
	rh_auto_kept_list runs = {NULL, 0};
	struct rh_error err = {0};
	int r = rh_running_find(cli, &runs, &err);

	if (r == 0 && runs.count == 0 && !json)
		fputs("no run goes on\n", stderr);
	else if (r == 0 && processes_print(&runs, json) < 0)
		r = rh_fail_oom(&err);
	return rh_cli_end(cli, r, &err);
}
