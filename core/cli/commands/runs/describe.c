/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/runs/grid.h"
#include "cli/commands/runs/sizes.h"
#include "cli/commands/runs/summary.h"
#include "cli/output.h"
#include "cli/run/progress.h"
#include "cli/run/screen/screen.h"
#include "local/keep/place.h"
#include "local/samples/samples.h"

/* Largest file of events that is read, in bytes. */
#define DESCRIBE_EVENTS_MAX (256U * 1024 * 1024)

static void describe_field(const char *name, const char *value)
{
	printf("%-10s %s\n", name, value ? value : "-");
}

static void describe_head(const struct rh_kept *kept)
{
	const struct rh_json *source = rh_json_first(rh_json_get(kept->state, "sources"));
	rh_auto_free char *logs = rh_kept_logs(kept);
	char at[RH_TIME_SIZE];
	char took[RH_TIME_SIZE];

	describe_field("Run:", kept->name);
	describe_field("State:", rh_kept_state(kept));
	describe_field("Started:", kept->started_at ? rh_time_format(kept->started_at, at) : NULL);
	describe_field("Ended:", kept->ended_at ? rh_time_format(kept->ended_at, at) : NULL);
	describe_field("Duration:", rh_duration_format(rh_summary_duration(kept), took));
	for (; source; source = rh_json_next(source))
		describe_field("From:", rh_json_string(source));
	describe_field("Folder:", kept->path);
	describe_field("Logs:", logs);
	if (kept->pid > 0)
		printf("%-10s %lld\n", "Process:", (long long)kept->pid);
}

/* @param logs name of the job's folder of logs */
static int describe_most(struct rh_grid *grid, const struct rh_samples_all *samples, const char *logs,
                         const char *replica)
{
	const struct rh_samples_series *series = rh_samples_find(samples, logs, replica);
	char memory[RH_SIZE_SIZE];

	if (!series)
		return rh_grid_add(grid, "-") < 0 ? RH_ENOMEM : rh_grid_add(grid, "-");
	if (rh_grid_addf(grid, "%.0f%%", 100 * series->cpu_most) < 0)
		return RH_ENOMEM;
	return rh_grid_add(grid, rh_size_format((int64_t)series->memory_most, memory));
}

static int describe_replica(struct rh_grid *grid, const struct rh_json *row, const struct rh_samples_all *samples,
                            const char *logs)
{
	rh_auto_free char *name = NULL;
	int64_t index = 0;
	int64_t code = -1;
	int64_t restarts = 0;
	char took[RH_TIME_SIZE];
	double seconds = rh_json_number(rh_json_get(row, "seconds"), 0);
	const char *type = rh_json_string(rh_json_get(row, "replicaType"));
	const char *outcome = rh_json_string(rh_json_get(row, "outcome"));

	(void)rh_json_integer(rh_json_get(row, "index"), &index);
	(void)rh_json_integer(rh_json_get(row, "exitCode"), &code);
	(void)rh_json_integer(rh_json_get(row, "restarts"), &restarts);
	if (rh_grid_addf(grid, "  %s-%lld", type ? type : "", (long long)index) < 0 ||
	    rh_grid_add(grid, outcome ? outcome : "") < 0 ||
	    (code < 0 ? rh_grid_add(grid, "-") : rh_grid_addf(grid, "%lld", (long long)code)) < 0 ||
	    rh_grid_addf(grid, "%lld", (long long)restarts) < 0)
		return RH_ENOMEM;
	if (rh_grid_add(grid, rh_duration_format((int64_t)(seconds * (double)RH_SECOND), took)) < 0)
		return RH_ENOMEM;
	if (samples->count == 0)
		return 0;
	name = rh_asprintf("%s-%lld", type ? type : "", (long long)index);
	for (char *at = name; at && *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return name ? describe_most(grid, samples, logs, name) : RH_ENOMEM;
}

/* What replicas used at most is known where the run has samples. */
static int describe_replicas(const struct rh_kept *kept, const struct rh_json *job,
                             const struct rh_samples_all *samples)
{
	static const char *const heads[] = {"  REPLICA", "OUTCOME",  "EXIT",       "RESTARTS",
	                                    "DURATION",  "MOST CPU", "MOST MEMORY"};
	const size_t columns = sizeof(heads) / sizeof(heads[0]);
	rh_auto_grid grid = {.columns = samples->count > 0 ? columns : columns - 2};
	const struct rh_json *row = rh_json_first(rh_json_get(kept->state, "results"));
	int r = 0;

	for (size_t i = 0; r == 0 && i < grid.columns; i++)
		r = rh_grid_add(&grid, heads[i]);
	for (; row && r == 0; row = rh_json_next(row)) {
		if (rh_text_equal(rh_json_string(rh_json_get(row, "job")), rh_json_string(rh_json_get(job, "name"))))
			r = describe_replica(&grid, row, samples, rh_json_string(rh_json_get(job, "logs")));
	}
	if (r == 0 && grid.count > grid.columns)
		rh_grid_print(&grid);
	return r;
}

static void describe_fault(const struct rh_json *job)
{
	const struct rh_json *line = rh_json_first(rh_json_at(job, "firstFault.lines"));
	const char *text = rh_summary_fault(job);

	if (!*text)
		return;
	printf("  First fault: %s%s\n", text, line ? ":" : "");
	for (; line; line = rh_json_next(line)) {
		const char *words = rh_json_string(line);
		rh_auto_str clean = {0};

		rh_screen_clean(words ? words : "", words ? strlen(words) : 0, &clean);
		printf("      %s\n", rh_str_text(&clean));
	}
}

/* What replicas reported last, with all metrics. */
static void describe_progress(const struct rh_json *job)
{
	const struct rh_json *status = rh_json_get(job, "trainerStatus");
	const struct rh_json *metric = rh_json_first(rh_json_get(status, "metrics"));
	rh_auto_str far = {0};

	rh_progress_append_report(status, &far);
	if (status)
		printf("  Progress: %s\n", far.length > 0 ? rh_str_text(&far) : "unknown");
	for (; metric; metric = rh_json_next(metric)) {
		const char *name = rh_json_string(rh_json_get(metric, "name"));
		const char *value = rh_json_string(rh_json_get(metric, "value"));
		rh_auto_str line = {0};

		rh_screen_clean(name ? name : "", name ? strlen(name) : 0, &line);
		rh_str_append(&line, " ");
		rh_screen_clean(value ? value : "", value ? strlen(value) : 0, &line);
		printf("      %s\n", rh_str_text(&line));
	}
}

static int describe_job(const struct rh_kept *kept, const struct rh_json *job, const struct rh_samples_all *samples)
{
	const char *kind = rh_json_string(rh_json_get(job, "kind"));
	const char *name = rh_json_string(rh_json_get(job, "name"));
	const char *namespace_ = rh_json_string(rh_json_get(job, "namespace"));
	rh_auto_str replicas = {0};
	int r;

	rh_summary_replicas(kept, job, &replicas);
	printf("\n%s %s/%s: %s, replicas: %s\n", kind ? kind : "", namespace_ ? namespace_ : "", name ? name : "",
	       rh_summary_state(kept, job), rh_str_text(&replicas));
	r = describe_replicas(kept, job, samples);
	describe_progress(job);
	describe_fault(job);
	return r;
}

/* One line of the events. */
static int describe_event(struct rh_grid *grid, const struct rh_kept *kept, const struct rh_json *row)
{
	static const char *const words[][3] = {
		/* type of the row, what stands for its reason, its text */
		{"event", "reason", "message"},
		{"job", "state", "message"},
		{"note", NULL, "text"},
		{"warning", NULL, "text"},
	};
	const char *type = rh_json_string(rh_json_get(row, "type"));
	char age[RH_TIME_SIZE];
	int64_t at = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *reason = words[i][1] ? rh_json_string(rh_json_get(row, words[i][1])) : type;
		const char *text = rh_json_string(rh_json_get(row, words[i][2]));

		if (!rh_text_equal(type, words[i][0]) || !reason || !text ||
		    rh_time_parse(rh_json_string(rh_json_get(row, "time")), &at, NULL) < 0)
			continue;
		if (rh_grid_addf(grid, "  %s", rh_duration_format(at - kept->started_at, age)) < 0 ||
		    rh_grid_add(grid, reason) < 0)
			return RH_ENOMEM;
		return rh_grid_add(grid, text);
	}
	return 0;
}

/* A last line that was cut has no newline, and is left out. */
static int describe_events(const struct rh_kept *kept)
{
	rh_auto_free char *path = rh_path_join(kept->path, RH_KEEP_EVENTS);
	rh_auto_free char *text = NULL;
	rh_auto_grid grid = {.columns = 3};
	int r = path ? rh_file_read(path, DESCRIBE_EVENTS_MAX, &text, NULL, NULL) : RH_ENOMEM;
	const char *end;

	if (r < 0)
		return r == RH_ENOMEM ? r : 0;
	for (const char *at = text; r == 0 && (end = strchr(at, '\n')); at = end + 1) {
		rh_auto(json) row = NULL;

		if (rh_json_parse(at, (size_t)(end - at), &row, NULL) == 0)
			r = describe_event(&grid, kept, row);
	}
	if (r == 0 && grid.count > 0) {
		puts("\nEvents, by the time since the start:");
		rh_grid_print(&grid);
	}
	return r;
}

/* @param[out] ret_samples owned by the caller, also after a failure; what replicas used at most is all that is asked */
static int describe_read_samples(const struct rh_kept *kept, struct rh_samples_all *ret_samples)
{
	rh_auto_free char *path = rh_path_join(kept->path, RH_KEEP_SAMPLES);

	return path ? rh_samples_read(path, 1, ret_samples) : RH_ENOMEM;
}

static int describe_print(const struct rh_kept *kept)
{
	const struct rh_json *job = rh_json_first(rh_json_get(kept->state, "jobs"));
	rh_auto_samples_all samples = {0};
	int r = describe_read_samples(kept, &samples);

	if (r == 0)
		describe_head(kept);
	for (; job && r == 0; job = rh_json_next(job))
		r = describe_job(kept, job, &samples);
	return r == 0 ? describe_events(kept) : r;
}

static int describe_print_json(const struct rh_kept *kept)
{
	rh_auto(json) row = rh_summary_json(kept);
	rh_auto_samples_all samples = {0};
	struct rh_json *list = row ? rh_json_ensure_array(row, "usage") : NULL;

	if (!list || describe_read_samples(kept, &samples) < 0)
		return RH_ENOMEM;
	for (size_t i = 0; i < samples.count; i++) {
		const struct rh_samples_series *series = &samples.series[i];
		rh_auto(json) use = rh_json_new_object();

		if (!use || rh_json_set_string(use, "logs", series->job) < 0 ||
		    rh_json_set_string(use, "replica", series->name) < 0 ||
		    rh_json_set(use, "mostCpu", rh_json_new_number(series->cpu_most)) < 0 ||
		    rh_json_set_integer(use, "mostMemory", (int64_t)series->memory_most) < 0 ||
		    rh_json_append(list, rh_take(use)) < 0)
			return RH_ENOMEM;
	}
	return rh_cli_put_json(row);
}

static int describe_run(const struct rh_cli *cli)
{
	struct rh_error err = {0};
	rh_auto_kept kept = {0};
	int r = rh_kept_find(cli->operands[0], false, &kept, &err);

	if (r == 0) {
		r = rh_cli_wants_json(cli) ? describe_print_json(&kept) : describe_print(&kept);
		if (r < 0)
			r = rh_fail_oom(&err);
	}
	return rh_cli_end(cli, r, &err);
}

static const struct rh_option describe_options[] = {
	{"output", 'o', "FORMAT", "text|json", "how to print it"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_describe = {
	.name = "describe",
	.synopsis = "JOB",
	.summary = "show what happened in a run: jobs, replicas, the first fault and events",
	.details = "JOB is the name of a job or a run, see `roundhouse ls`.",
	.options = describe_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = describe_run,
	.names = "ls -o name",
};
