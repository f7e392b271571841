/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/run/screen/line.h"
#include "cli/run/screen/live.h"
#include "cli/run/screen/screen.h"
#include "cli/run/screen/status.h"
#include "cli/run/screen/table.h"
#include "job/status/shown.h"
#include "job/status/status.h"
#include "local/devices/gpus.h"
#include "local/keep/usage.h"
#include "local/logs.h"

struct rh_text_view {
	bool quiet;
	bool attached; /* output is not shown here */
	const struct rh_only *only;
	struct rh_line_style style;
	struct rh_live live;          /* with a status line at the bottom */
	struct rh_status_line status; /* what that is made of */
	bool asked_gpus;              /* whether there are any is known */
	struct rh_gpus *gpus;         /* NULL: there are none */
	struct rh_map *states;        /* job name -> last condition shown, owned */
	struct rh_str shown_message;  /* message of the last condition shown */
	struct rh_str failure;        /* messages of Failed conditions */
	struct rh_str warnings;       /* shown after the table */
	struct rh_table table;
	struct rh_str kept;   /* the folder of the run */
	struct rh_str faults; /* the first fault of each job, with its lines */
};

static void view_print(struct rh_text_view *view, const char *colour, const char *text)
{
	bool coloured = view->live.on && colour;

	rh_live_wipe(&view->live);
	(void)fflush(stdout);
	fprintf(stderr, "%s%s%s\n", coloured ? colour : "", text, coloured ? "\033[0m" : "");
	rh_live_show(&view->live);
}

/* @return whether the status line is another one now */
static bool view_compose(struct rh_text_view *view)
{
	struct rh_str *shown = &view->live.status;
	rh_auto_str next = {0};

	if (view->quiet || !view->live.on)
		return false;
	rh_status_append(&view->status, rh_live_width(), rh_clock_monotonic(), &next);
	if (rh_text_equal(rh_str_text(&next), rh_str_text(shown)))
		return false;
	rh_str_clear(shown);
	rh_str_append(shown, rh_str_text(&next));
	return true;
}

/* Replicas whose output is not shown count, too. */
static void view_progress(struct rh_text_view *view, const struct rh_output_line *line)
{
	rh_auto_str name = {0};
	size_t length = line->length;
	const char *text = rh_line_last_state(line->text, &length);

	if (view->quiet || !view->live.on || !rh_progress_is_likely(text, length))
		return;
	rh_str_appendf(&name, "%s/%s", line->job, line->replica);
	if (rh_status_read_line(&view->status, rh_str_text(&name), text, length, rh_clock_monotonic()))
		(void)view_compose(view);
}

/* @return whether the line is a progress bar that was written over so often that it came as a piece of a long line */
static bool view_goes_on(const char *text, size_t length)
{
	size_t suffix = strlen(RH_LOG_SPLIT);

	return length > suffix && memcmp(text + length - suffix, RH_LOG_SPLIT, suffix) == 0 && memchr(text, '\r', length);
}

static void view_line(void *arg, const char *job, const char *replica, const char *container, const char *text,
                      size_t length)
{
	struct rh_text_view *view = arg;
	const struct rh_output_line line = {.job = job,
	                                    .replica = replica,
	                                    .container = container,
	                                    .at = view->style.times ? rh_clock_wall() : 0,
	                                    .text = text,
	                                    .length = length};

	if (view->attached)
		return;
	view_progress(view, &line);
	if (!rh_only_shows(view->only, job, replica) || (view->live.on && view_goes_on(text, length)))
		return;
	rh_live_print(&view->live, &view->style, &line);
}

static void view_partial(void *arg, const char *job, const char *replica, const char *container, const char *text,
                         size_t length)
{
	struct rh_text_view *view = arg;
	const struct rh_output_line line = {
		.job = job, .replica = replica, .container = container, .text = text, .length = length};

	view_progress(view, &line);
	if (rh_only_shows(view->only, job, replica))
		rh_live_start(&view->live, &view->style, &line);
}

static void view_event(void *arg, const struct rh_json *event)
{
	struct rh_text_view *view = arg;
	rh_auto_str text = {0};

	const char *message = rh_json_string_at(event, "message");

	/* Normal events show as conditions and logs; warnings are shown once. */
	if (!rh_text_equal(rh_json_string_at(event, "type"), "Warning") ||
	    rh_text_equal(message, rh_str_text(&view->shown_message)))
		return;
	rh_str_appendf(&text, "warning: %s: %s", rh_json_string_at(event, "reason"), message);
	view_print(view, "\033[33m", rh_str_text(&text));
}

static void view_report(void *arg, const char *namespace_, const char *job, const struct rh_json *status)
{
	struct rh_text_view *view = arg;
	struct rh_str *reported = &view->status.reported;

	(void)namespace_;
	rh_str_clear(reported);
	if (view->style.multiple)
		rh_str_appendf(reported, "%s ", job);
	rh_progress_append_report(status, reported);
	if (view_compose(view))
		rh_live_show(&view->live);
}

static int32_t view_desired(const struct rh_json *job, const char *type)
{
	const struct rh_json *member;
	int64_t replicas = 1;

	for (member = rh_json_first(rh_json_get(job, "spec")); member; member = rh_json_next(member)) {
		const struct rh_json *spec = rh_json_get(member, type);

		/* each kind has a name of its own for the map of its replicas */
		if (rh_json_get(spec, "template"))
			(void)rh_json_integer(rh_json_get(spec, "replicas"), &replicas);
	}
	return (int32_t)replicas;
}

/* The driver's library is loaded with the first sample, so a run that ends before it does not pay for it. */
static void view_read_gpus(struct rh_text_view *view, const struct rh_usage *usage)
{
	rh_auto_free struct rh_gpu_use *uses = NULL;
	size_t count = 0;

	if (!view->asked_gpus)
		view->gpus = rh_gpus_open();
	view->asked_gpus = true;
	view->status.gpu = (struct rh_gpu_total){.count = 0};
	if (!view->gpus || rh_gpus_read(view->gpus, &uses, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (rh_usage_find(usage, uses[i].pid))
			rh_gpu_total_add(&view->status.gpu, &uses[i]);
	}
}

static int64_t view_load(void *arg, const struct rh_run_load *load)
{
	struct rh_text_view *view = arg;

	view->status.load = *load;
	view->status.load.uses = NULL; /* borrowed for this call */
	view->status.load.usage = NULL;
	view_read_gpus(view, load->usage);
	if (view_compose(view))
		rh_live_show(&view->live);
	return RH_SECOND;
}

static void view_see_replicas(struct rh_status_line *shown, const struct rh_json *job,
                              const struct rh_job_status *status)
{
	int64_t active = 0;
	int64_t desired = 0;

	for (size_t i = 0; i < status->replica_count; i++) {
		const struct rh_replica_status *replica = &status->replicas[i];
		int32_t want = view_desired(job, replica->type);

		rh_str_appendf(&shown->replicas, "%s%s %d/%d running", i > 0 ? "  " : "", replica->type, replica->active, want);
		if (replica->succeeded)
			rh_str_appendf(&shown->replicas, ", %d succeeded", replica->succeeded);
		if (replica->failed)
			rh_str_appendf(&shown->replicas, ", %d failed", replica->failed);
		active += replica->active;
		desired += want;
	}
	if (status->replica_count > 0)
		rh_str_appendf(&shown->running, "%d/%d", (int)active, (int)desired);
}

static void view_see_job(struct rh_text_view *view, const struct rh_json *job, const char *state)
{
	struct rh_status_line *shown = &view->status;
	char *name = rh_strdup(rh_json_string_at(job, "metadata.name"));
	struct rh_job_status status;

	rh_free(shown->job);
	shown->job = name;
	rh_str_clear(&shown->state);
	rh_str_append(&shown->state, state);
	rh_str_clear(&shown->replicas);
	rh_str_clear(&shown->running);
	if (rh_shown_read(NULL, job, &status) == 0) {
		view_see_replicas(shown, job, &status);
		rh_job_status_deinit(&status);
	}
	(void)view_compose(view);
}

/* The newest condition that is True is what the job is doing. */
static const struct rh_json *view_condition(const struct rh_json *job)
{
	const struct rh_json *newest = NULL;
	const struct rh_json *condition;

	for (condition = rh_json_first(rh_json_at(job, "status.conditions")); condition;
	     condition = rh_json_next(condition))
		if (rh_text_equal(rh_json_string_at(condition, "status"), "True"))
			newest = condition;
	return newest;
}

/* The message of a Failed condition without the first fault, which the end of the run shows in full. */
static const char *view_reason(const struct rh_text_view *view, const struct rh_run_fault *fault, struct rh_str *buffer)
{
	const char *message = rh_str_text(&view->shown_message);
	size_t length = strlen(message);

	if (fault && fault->message_offset > 0 && fault->message_offset < length)
		length = fault->message_offset;
	rh_str_append_bytes(buffer, message, length);
	return rh_str_text(buffer);
}

static void view_transition(struct rh_text_view *view, const char *name, const struct rh_json *condition,
                            const struct rh_run_fault *fault)
{
	const char *type = rh_json_string_at(condition, "type");
	const char *message = rh_json_string_at(condition, "message");
	bool failed = rh_text_equal(type, RH_CONDITION_FAILED);
	rh_auto_str reason = {0};
	rh_auto_str text = {0};
	char *shown_type = rh_strdup(type);
	void *old = NULL;

	if (!shown_type || rh_map_set(view->states, name, shown_type, &old) < 0) {
		rh_free(shown_type);
		return;
	}
	rh_free(old);
	/* what a job that is over reported does not hide the progress of the others */
	if (failed || rh_text_equal(type, RH_CONDITION_SUCCEEDED))
		rh_str_clear(&view->status.reported);
	rh_str_clear(&view->shown_message);
	rh_str_append(&view->shown_message, message ? message : "");
	if (failed && view->quiet)
		rh_str_appendf(&view->failure, "%s\n", view_reason(view, fault, &reason));
	if (view->quiet)
		return;
	rh_str_appendf(&text, "%s: %s: %s", name, type,
	               failed ? view_reason(view, fault, &reason) : rh_str_text(&view->shown_message));
	view_print(view, failed ? "\033[31m" : "\033[1m", rh_str_text(&text));
}

static void view_job(void *arg, const struct rh_json *job, const struct rh_run_fault *fault)
{
	struct rh_text_view *view = arg;
	const struct rh_json *condition = view_condition(job);
	const char *name = rh_json_string_at(job, "metadata.name");
	const char *type = rh_json_string_at(condition, "type");

	if (!name || !type)
		return;
	view_see_job(view, job, type);
	if (!rh_text_equal(rh_map_get(view->states, name), type))
		view_transition(view, name, condition, fault);
	rh_live_show(&view->live);
}

static void view_replica(void *arg, const struct rh_run_replica *replica)
{
	struct rh_text_view *view = arg;

	rh_table_add(&view->table, replica, view->style.multiple);
}

static void view_warning(void *arg, const char *text)
{
	struct rh_text_view *view = arg;

	rh_str_appendf(&view->warnings, "WARNING: %s\n", text);
}

/* Lines as they were written, but for what a terminal would take for a command. */
static void view_first_fault(void *arg, const struct rh_run_fault *fault)
{
	struct rh_text_view *view = arg;
	const char *text = fault->lines;

	rh_str_appendf(&view->faults, "\n%s%sFirst fault: %s%s\n", view->style.multiple ? fault->job : "",
	               view->style.multiple ? ": " : "", fault->text, *text ? ":" : "");
	while (*text) {
		size_t length = strcspn(text, "\n");

		rh_str_append(&view->faults, "    ");
		for (size_t i = 0; i < length; i++)
			rh_str_append_bytes(&view->faults,
			                    ((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f ? "?" : text + i,
			                    1);
		rh_str_append(&view->faults, "\n");
		text += length + (text[length] ? 1 : 0);
	}
}

static void view_kept(void *arg, const char *path)
{
	struct rh_text_view *view = arg;

	rh_str_append(&view->kept, path);
}

static void view_note(void *arg, const char *text)
{
	struct rh_text_view *view = arg;
	rh_auto_str line = {0};

	rh_str_appendf(&line, "note: %s", text);
	view_print(view, NULL, rh_str_text(&line));
}

void rh_text_view_finish(struct rh_text_view *view, int result)
{
	rh_live_wipe(&view->live);
	rh_str_clear(&view->live.status);
	(void)fflush(stdout);
	if (!view->quiet || result != RH_RUN_SUCCEEDED)
		rh_table_print(&view->table, rh_screen_width(STDERR_FILENO), stderr);
	if (view->warnings.length)
		fprintf(stderr, "\n%s%s%s", rh_cli_colour(STDERR_FILENO) ? "\033[1;33m" : "", rh_str_text(&view->warnings),
		        rh_cli_colour(STDERR_FILENO) ? "\033[0m" : "");
	if (view->failure.length)
		fprintf(stderr, "\n%s", rh_str_text(&view->failure));
	fputs(rh_str_text(&view->faults), stderr);
	if (!view->quiet || result != RH_RUN_SUCCEEDED)
		fprintf(stderr, "%s\n", rh_run_result_name(result));
	if (view->kept.length && (!view->quiet || result != RH_RUN_SUCCEEDED))
		fprintf(stderr, "Kept in %s\n", rh_str_text(&view->kept));
}

struct rh_text_view *rh_text_view_new(const struct rh_view_options *options)
{
	struct rh_text_view *view = rh_alloc(sizeof(*view));

	if (!view)
		return NULL;
	*view = (struct rh_text_view){.quiet = options->quiet, .attached = options->attached, .only = options->only};
	view->states = rh_map_new();
	if (!view->states) {
		rh_free(view);
		return NULL;
	}
	/* Logs are live behind a pipe, too. */
	(void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	view->style = (struct rh_line_style){.prefix = true,
	                                     .multiple = options->multiple,
	                                     .times = options->times,
	                                     .colour = rh_cli_colour(STDOUT_FILENO),
	                                     .terminal = isatty(STDOUT_FILENO) != 0,
	                                     .jobs = options->jobs};
	view->live.on = !view->attached && view->style.colour && rh_cli_colour(STDERR_FILENO);
	return view;
}

void rh_text_view_free(struct rh_text_view *view)
{
	const char *key;
	void *value;

	if (!view)
		return;
	rh_live_wipe(&view->live);
	for (size_t cursor = 0; rh_map_next(view->states, &cursor, &key, &value);)
		rh_free(value);
	rh_map_free(view->states);
	rh_table_deinit(&view->table);
	rh_str_deinit(&view->warnings);
	rh_live_deinit(&view->live);
	rh_status_deinit(&view->status);
	rh_gpus_free(view->gpus);
	rh_str_deinit(&view->failure);
	rh_str_deinit(&view->faults);
	rh_str_deinit(&view->kept);
	rh_str_deinit(&view->shown_message);
	rh_free(view);
}

struct rh_run_hooks rh_text_view_hooks(struct rh_text_view *view)
{
	return (struct rh_run_hooks){
		.line = view_line,
		.partial = view->live.on ? view_partial : NULL,
		.load = view->live.on && !view->quiet ? view_load : NULL,
		.progress = view_report,
		.event = view_event,
		.job = view_job,
		.first_fault = view_first_fault,
		.replica = view_replica,
		.warning = view_warning,
		.note = view_note,
		.kept = view_kept,
		.arg = view,
	};
}
