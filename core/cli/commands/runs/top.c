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
#include "cli/progress/written.h"
#include "job/fields.h"
#include "local/devices/gpus.h"
#include "local/keep/place.h"
#include "local/keep/usage.h"
#include "local/progress/counters.h"

/* Time between the two samples that rates are computed from. */
#define TOP_STEP (2 * RH_SECOND)
/* The same where there is one table only. */
#define TOP_STEP_ONCE (RH_SECOND / 2)
/* To the upper left corner, and nothing below. */
#define TOP_CLEAR "\033[H\033[J"

/* What processes use of the GPUs at one time. */
struct top_gpus {
	bool there;              /* there are GPUs */
	struct rh_gpu_use *uses; /* owned */
	size_t count;
};

/* All runs at one time. */
struct top_sample {
	struct rh_kept_list runs;
	struct top_gpus gpus;
	struct rh_usage *usages; /* by run */
	int64_t at;              /* monotonic microseconds */
};

static void top_sample_deinit(struct top_sample *sample)
{
	for (size_t i = 0; sample->usages && i < sample->runs.count; i++)
		rh_usage_deinit(&sample->usages[i]);
	rh_free(sample->usages);
	rh_free(sample->gpus.uses);
	rh_kept_list_deinit(&sample->runs);
	*sample = (struct top_sample){.at = 0};
}

/* The command while it works. All borrowed. */
struct top {
	const struct rh_cli *cli;
	struct rh_gpus *gpus; /* NULL: there are none */
};

static int top_take_sample(const struct top *top, struct top_sample *ret_sample, struct rh_error *err)
{
	int r;

	*ret_sample = (struct top_sample){.gpus = {.there = top->gpus}, .at = rh_clock_monotonic()};
	r = rh_running_find(top->cli, &ret_sample->runs, err);
	if (r < 0)
		return r;
	ret_sample->usages = rh_alloc_array(ret_sample->runs.count + 1, sizeof(*ret_sample->usages));
	for (size_t i = 0; r == 0 && ret_sample->usages && i < ret_sample->runs.count; i++)
		r = rh_usage_read(&ret_sample->runs.items[i], &ret_sample->usages[i]);
	if (r == 0 && top->gpus)
		r = rh_gpus_read(top->gpus, &ret_sample->gpus.uses, &ret_sample->gpus.count);
	return r < 0 || !ret_sample->usages ? rh_fail_oom(err) : 0;
}

static const struct rh_usage *top_before(const struct top_sample *before, const char *name)
{
	for (size_t i = 0; i < before->runs.count; i++) {
		if (strcmp(before->runs.items[i].name, name) == 0)
			return &before->usages[i];
	}
	return NULL;
}

/* What one replica uses, and how far it is. */
struct top_row {
	const char *run;
	const struct rh_usage_replica *replica;
	struct rh_usage_rate rate;
	struct rh_gpu_total gpu;
	bool written; /* it has written its progress */
	struct rh_progress progress;
	const struct rh_json *report; /* what its job reported; NULL: nothing */
	struct rh_counter_late late;  /* a rank in it that the others wait for; share 0: none */
};

/* A table of all runs. */
struct top_table {
	struct top_row *rows; /* owned */
	size_t count;
	bool runs; /* the rows name their runs */
	bool gpus; /* this machine has some, and says what they do */
	bool far;  /* some row has progress */
	bool late; /* the others wait for some row */
	bool cut;  /* rows end at the edge of the terminal */
};

/* A GPU knows the number of a process alone. */
static void top_add_gpu(const struct top_gpus *gpus, const struct rh_usage *usage, struct top_row *rows)
{
	for (size_t i = 0; i < gpus->count; i++) {
		const struct rh_gpu_use *use = &gpus->uses[i];
		const struct rh_usage_process *process = rh_usage_find(usage, use->pid);

		if (process)
			rh_gpu_total_add(&rows[process->replica].gpu, use);
	}
}

static void top_add_progress(const struct rh_kept *run, struct top_row *row)
{
	row->written = rh_written_replica(run, row->replica->row, row->replica->name, &row->progress);
	row->report = rh_json_get(row->replica->row, "trainerStatus");
}

/* @return whether the others wait for a rank of this job, which is noted in the row of its replica */
static bool top_add_late(const struct rh_kept *run, const struct rh_usage *usage, const struct rh_json *job,
                         struct top_row *rows)
{
	rh_auto_free char *folder = rh_asprintf("%s/" RH_KEEP_COMM "/%s", run->path, rh_fields_text_or_empty(job, "logs"));
	const struct rh_usage_process *process = NULL;
	struct rh_counter_late late;

	if (folder && rh_counters_find_late(folder, rh_clock_wall(), &late))
		process = rh_usage_find(usage, late.process);
	if (process)
		rows[process->replica].late = late;
	return process != NULL;
}

static int top_add_run(const struct top_sample *now, size_t at, const struct top_sample *before,
                       struct top_table *table)
{
	const struct rh_usage *usage = &now->usages[at];
	const struct rh_kept *run = &now->runs.items[at];
	rh_auto_free struct rh_usage_rate *rates = rh_alloc_array(usage->replica_count + 1, sizeof(*rates));
	struct top_row *rows = rh_realloc_array(table->rows, table->count + usage->replica_count + 1, sizeof(*rows));

	if (rows)
		table->rows = rows;
	if (!rates || !rows)
		return RH_ENOMEM;
	rows += table->count;
	rh_usage_rates(usage, top_before(before, run->name), now->at - before->at, rates);
	for (size_t i = 0; i < usage->replica_count; i++) {
		rows[i] = (struct top_row){.run = run->name, .replica = &usage->replicas[i], .rate = rates[i]};
		top_add_progress(run, &rows[i]);
		table->far = table->far || rows[i].written || rows[i].report;
	}
	top_add_gpu(&now->gpus, usage, rows);
	for (const struct rh_json *job = rh_json_first(rh_json_get(run->state, "jobs")); job; job = rh_json_next(job))
		table->late = top_add_late(run, usage, job, rows) || table->late;
	table->count += usage->replica_count;
	return 0;
}

static int top_make(const struct top_sample *now, const struct top_sample *before, struct top_table *table)
{
	int r = 0;

	*table = (struct top_table){.runs = true, .gpus = now->gpus.there};
	for (size_t i = 0; r == 0 && i < now->runs.count; i++)
		r = top_add_run(now, i, before, table);
	return r;
}

static int top_add_gpu_cells(struct rh_grid *grid, const struct rh_gpu_total *gpu)
{
	char memory[RH_SIZE_SIZE];
	int r = gpu->count > 0 && gpu->share >= 0 ? rh_grid_addf(grid, "%.0f%%", 100 * gpu->share) : rh_grid_add(grid, "-");

	if (r < 0)
		return r;
	return rh_grid_add(grid, gpu->count > 0 && gpu->memory >= 0 ? rh_size_format(gpu->memory, memory) : "-");
}

/* What the replica itself wrote is more exact than what its job reported. */
static int top_add_far(struct rh_grid *grid, const struct top_row *row)
{
	rh_auto_str far = {0};

	if (row->written)
		rh_progress_append(&row->progress, &far);
	else if (row->report)
		rh_progress_append_report(row->report, &far);
	return rh_grid_add(grid, far.length > 0 ? rh_str_text(&far) : "-");
}

static int top_add_late_cell(struct rh_grid *grid, const struct rh_counter_late *late)
{
	return late->share > 0 ? rh_grid_addf(grid, "%.0f%%, for rank %d", 100 * late->share, (int)late->rank)
	                       : rh_grid_add(grid, "-");
}

static int top_add_text(struct rh_grid *grid, const struct top_table *table, const struct top_row *row)
{
	char memory[RH_SIZE_SIZE];
	char read[RH_SIZE_SIZE];
	char written[RH_SIZE_SIZE];
	char ago[RH_TIME_SIZE];
	int64_t last = row->replica->last_output;

	if ((table->runs && rh_grid_add(grid, row->run) < 0) ||
	    rh_grid_addf(grid, "%s/%s", row->replica->job, row->replica->name) < 0 ||
	    rh_grid_addf(grid, "%zu", row->rate.processes) < 0 || rh_grid_addf(grid, "%.0f%%", 100 * row->rate.cpu) < 0 ||
	    rh_grid_add(grid, rh_size_format(row->rate.memory, memory)) < 0 ||
	    (table->gpus && top_add_gpu_cells(grid, &row->gpu) < 0) ||
	    rh_grid_add(grid, rh_size_format((int64_t)row->rate.read, read)) < 0 ||
	    rh_grid_add(grid, rh_size_format((int64_t)row->rate.written, written)) < 0 ||
	    (table->far && top_add_far(grid, row) < 0) || (table->late && top_add_late_cell(grid, &row->late) < 0))
		return RH_ENOMEM;
	if (last == 0)
		return rh_grid_add(grid, "-");
	return rh_grid_addf(grid, "%s ago", rh_duration_format(rh_clock_wall() - last, ago));
}

static int top_print_text(const struct top_table *table)
{
	const struct {
		const char *head;
		bool shown;
	} columns[] = {
		{"RUN", table->runs}, {"REPLICA", true},        {"PROCESSES", true},          {"CPU", true},
		{"MEMORY", true},     {"GPU", table->gpus},     {"GPU MEMORY", table->gpus},  {"READ/S", true},
		{"WRITE/S", true},    {"PROGRESS", table->far}, {"OTHERS WAIT", table->late}, {"LAST OUTPUT", true},
	};
	rh_auto_grid grid = {.cut = table->cut};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(columns) / sizeof(columns[0]); i++) {
		grid.columns += columns[i].shown ? 1 : 0;
		r = columns[i].shown ? rh_grid_add(&grid, columns[i].head) : 0;
	}
	for (size_t i = 0; r == 0 && i < table->count; i++)
		r = top_add_text(&grid, table, &table->rows[i]);
	if (r == 0)
		rh_grid_print(&grid);
	return r;
}

static int top_set_gpu(struct rh_json *json, const struct rh_gpu_total *gpu)
{
	struct rh_json *share = gpu->count > 0 && gpu->share < 0 ? rh_json_new_null() : rh_json_new_number(gpu->share);
	int r = rh_json_set(json, "gpu", share);

	if (r < 0)
		return r;
	return gpu->count > 0 && gpu->memory < 0 ? rh_json_set(json, "gpuMemory", rh_json_new_null())
	                                         : rh_json_set_integer(json, "gpuMemory", gpu->memory);
}

static int top_set_part(struct rh_json *json, const char *name, const struct rh_progress_part *part)
{
	return part->count[0] ? rh_json_set_string(json, name, part->count) : 0;
}

static int top_set_far(struct rh_json *json, const struct top_row *row)
{
	const struct rh_progress_part *step = &row->progress.step;
	int64_t left = step->count[0] ? step->left : row->progress.epoch.left;
	struct rh_json *progress = row->written ? rh_json_ensure_object(json, "progress") : NULL;

	if (row->written && (!progress || top_set_part(progress, "epoch", &row->progress.epoch) < 0 ||
	                     top_set_part(progress, "step", step) < 0 ||
	                     (left >= 0 && rh_json_set_integer(progress, "secondsLeft", left) < 0)))
		return RH_ENOMEM;
	return row->report ? rh_json_set(json, "trainerStatus", rh_json_copy(row->report)) : 0;
}

static int top_set_late(struct rh_json *json, const struct rh_counter_late *late)
{
	struct rh_json *object;

	if (late->share <= 0)
		return 0;
	object = rh_json_ensure_object(json, "late");
	if (!object || rh_json_set_integer(object, "rank", late->rank) < 0)
		return RH_ENOMEM;
	return rh_json_set(object, "share", rh_json_new_number(late->share));
}

static int top_add_json(struct rh_json *list, const struct top_table *table, const struct top_row *row)
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
	    (table->gpus && top_set_gpu(json, &row->gpu) < 0) ||
	    rh_json_set(json, "readRate", rh_json_new_number(row->rate.read)) < 0 ||
	    rh_json_set(json, "writeRate", rh_json_new_number(row->rate.written)) < 0 || top_set_far(json, row) < 0 ||
	    top_set_late(json, &row->late) < 0 ||
	    rh_json_set(json, "lastOutput",
	                last ? rh_json_new_string(rh_time_format_micro(last, at)) : rh_json_new_null()) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(json));
}

static int top_print_json(const struct top_table *table)
{
	rh_auto(json) rows = rh_json_new_array();
	int r = rows ? 0 : RH_ENOMEM;

	for (size_t i = 0; r == 0 && i < table->count; i++)
		r = top_add_json(rows, table, &table->rows[i]);
	return r < 0 ? r : rh_cli_put_json(rows);
}

/* The table that is renewed has to fit: a single run needs no name. Where nothing runs, the one before stays. */
static int top_draw(const struct top_sample *now, const struct top_sample *before)
{
	struct top_table table;
	int r = top_make(now, before, &table);

	table.runs = now->runs.count > 1;
	table.cut = true;
	if (r == 0 && table.count > 0) {
		fputs(TOP_CLEAR, stdout);
		r = top_print_text(&table);
		(void)fflush(stdout);
	}
	rh_free(table.rows);
	return r;
}

static int top_print(const struct top_sample *now, const struct top_sample *before, bool json)
{
	struct top_table table;
	int r = top_make(now, before, &table);

	if (r == 0)
		r = json ? top_print_json(&table) : top_print_text(&table);
	rh_free(table.rows);
	return r;
}

static void top_pause(int64_t time)
{
	const struct timespec pause = {time / RH_SECOND, time % RH_SECOND * 1000};

	(void)nanosleep(&pause, NULL);
}

/* Table after table, until no run goes on; the last one stays. */
static int top_watch(const struct top *top, struct top_sample *before, struct rh_error *err)
{
	int r = 0;

	while (r == 0 && before->runs.count > 0) {
		struct top_sample now;

		top_pause(TOP_STEP);
		r = top_take_sample(top, &now, err);
		if (r == 0 && top_draw(&now, before) < 0)
			r = rh_fail_oom(err);
		top_sample_deinit(before);
		*before = now;
	}
	return r == RH_ENOENT ? 0 : r; /* the run that was named has ended */
}

static int top_once(const struct top *top, const struct top_sample *before, struct rh_error *err)
{
	struct top_sample now;
	int r;

	top_pause(TOP_STEP_ONCE);
	r = top_take_sample(top, &now, err);
	if (r == 0 && top_print(&now, before, rh_cli_wants_json(top->cli)) < 0)
		r = rh_fail_oom(err);
	top_sample_deinit(&now);
	return r;
}

static int top_run(const struct rh_cli *cli)
{
	bool json = rh_cli_wants_json(cli);
	rh_auto(gpus) gpus = rh_gpus_open();
	const struct top top = {cli, gpus};
	struct rh_error err = {0};
	struct top_sample first;
	int r = top_take_sample(&top, &first, &err);

	if (r == 0 && first.runs.count == 0 && !json)
		fputs("no run goes on\n", stderr);
	else if (r == 0)
		r = json || rh_cli_option(cli, "once") || !isatty(STDOUT_FILENO) ? top_once(&top, &first, &err)
		                                                                 : top_watch(&top, &first, &err);
	top_sample_deinit(&first);
	return rh_cli_end(cli, r, &err);
}

static const struct rh_option top_options[] = {
	{"once", 0, NULL, NULL, "print one table and end, also on a terminal"},
	{"output", 'o', "FORMAT", "text|json", "how to print it; json prints one sample"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_top = {
	.name = "top",
	.synopsis = "[JOB]",
	.summary = "show what the replicas of runs use, how far they are, and when each wrote last",
	.details =
		"On a terminal the table is renewed every two seconds until the runs end, or Ctrl-C. CPU is in percent of "
		"one\n"
		"processor, GPU of one GPU; GPUs are shown where NVIDIA's driver has its library libnvidia-ml.so.1. PROGRESS "
		"is shown\n"
		"where a replica has written some, or its job has reported it. OTHERS WAIT is shown while the other ranks of "
		"rh_comm\n"
		"wait for one that comes last, in percent of the time. JOB is the name of a job or a run, see "
		"`roundhouse ls`; without it all runs that go on are "
		"shown.",
	.options = top_options,
	.operands_max = 1,
	.run = top_run,
	.names = "ls --running -o name",
};
