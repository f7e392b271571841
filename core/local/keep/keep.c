/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "job/status/shown.h"
#include "job/status/status.h"
#include "local/keep/make.h"
#include "local/keep/place.h"
#include "local/keep/rows.h"
#include "local/keep/times.h"
#include "local/samples/samples.h"

struct rh_keep {
	struct rh_run_hooks next;
	struct rh_keep_folder folder;
	struct rh_json *state; /* NULL: nothing is kept */
	struct rh_str written; /* the text of it that the folder has; empty: none yet */
	char *logs;
	struct rh_times *times;
	struct rh_samples *samples;
	struct rh_map *containers; /* of rh_rows_pod() */
	bool failed;               /* a write failed: nothing further is recorded */
};

static void keep_note(const struct rh_keep *keep, const char *text)
{
	if (keep->next.note)
		keep->next.note(keep->next.arg, text);
}

static bool keep_records(const struct rh_keep *keep)
{
	return keep->state && !keep->failed;
}

static void keep_fail(struct rh_keep *keep, const char *what)
{
	rh_auto_free char *text =
		rh_asprintf("the run is no longer kept: cannot write \"%s/%s\": %s", keep->folder.path, what, strerror(errno));

	if (keep->failed)
		return;
	keep->failed = true;
	keep_note(keep, text ? text : "the run is no longer kept: out of memory");
}

/* One write for each line, so that a line is there or not; a reader leaves out what has no newline. Takes @p row. */
static void keep_append(struct rh_keep *keep, struct rh_json *row)
{
	rh_auto_str text = {0};

	if (row)
		rh_json_print(row, false, &text);
	rh_json_free(row);
	rh_str_append(&text, "\n");
	if (!keep_records(keep) || text.failed || text.length == 1)
		return;
	if (write(keep->folder.events, text.data, text.length) != (ssize_t)text.length)
		keep_fail(keep, RH_KEEP_EVENTS);
}

/* Replace the file as a whole. It is not made durable: after a power cut the state at the start counts. */
static int keep_replace(const char *path, const char *text, size_t length)
{
	rh_auto_free char *temporary = rh_asprintf("%s.new", path);
	rh_auto_close int fd = -1;

	if (!temporary) {
		errno = ENOMEM;
		return RH_ENOMEM;
	}
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || rh_fd_write_all(fd, text, length, NULL) < 0 || rename(temporary, path) < 0)
		return RH_EIO;
	return 0;
}

static void keep_write_state(struct rh_keep *keep, bool last)
{
	rh_auto_free char *path = keep_records(keep) ? rh_path_join(keep->folder.path, RH_KEEP_STATE) : NULL;
	rh_auto_str text = {0};
	int r;

	if (!path)
		return;
	rh_json_print(keep->state, false, &text);
	rh_str_append(&text, "\n");
	/* a job changes more often than what is kept of it */
	if (text.failed || (!last && rh_text_equal(rh_str_text(&text), rh_str_text(&keep->written))))
		return;
	rh_str_clear(&keep->written);
	rh_str_append(&keep->written, rh_str_text(&text));
	r = last ? rh_file_write_atomic(path, rh_str_text(&text), text.length, 0600, NULL)
	         : keep_replace(path, rh_str_text(&text), text.length);
	if (r < 0)
		keep_fail(keep, RH_KEEP_STATE);
}

static struct rh_json *keep_job_named(const struct rh_keep *keep, const char *namespace_, const char *name)
{
	struct rh_json *job = rh_json_first(rh_json_get(keep->state, "jobs"));

	while (job && (!rh_text_equal(rh_json_string(rh_json_get(job, "name")), name) ||
	               (namespace_ && !rh_text_equal(rh_json_string(rh_json_get(job, "namespace")), namespace_))))
		job = rh_json_next(job);
	return job;
}

static void keep_on_line(void *arg, const char *job, const char *replica, const char *container, const char *text,
                         size_t length)
{
	const struct rh_keep *keep = arg;

	if (keep->next.line)
		keep->next.line(keep->next.arg, job, replica, container, text, length);
}

static void keep_on_partial(void *arg, const char *job, const char *replica, const char *container, const char *text,
                            size_t length)
{
	const struct rh_keep *keep = arg;

	keep->next.partial(keep->next.arg, job, replica, container, text, length);
}

static int64_t keep_on_load(void *arg, const struct rh_run_load *load)
{
	struct rh_keep *keep = arg;
	int64_t shown = keep->next.load ? keep->next.load(keep->next.arg, load) : RH_NEVER;
	int64_t kept;

	if (keep_records(keep) && rh_samples_add(keep->samples, load, rh_clock_monotonic()) < 0)
		keep_fail(keep, RH_KEEP_SAMPLES);
	kept = keep_records(keep) ? rh_samples_step(keep->samples) : RH_NEVER;
	return kept < shown ? kept : shown;
}

static void keep_on_grown(void *arg, const char *job, const char *replica, const char *container, int64_t from)
{
	struct rh_keep *keep = arg;

	if (keep_records(keep) && rh_times_add(keep->times, job, replica, container, from) < 0)
		keep_fail(keep, RH_KEEP_TIMES);
}

static void keep_on_event(void *arg, const struct rh_json *event)
{
	struct rh_keep *keep = arg;
	static const char *const members[][2] = {{"severity", "type"},
	                                         {"reason", "reason"},
	                                         {"message", "message"},
	                                         {"kind", "involvedObject.kind"},
	                                         {"name", "involvedObject.name"}};
	struct rh_json *row = keep_records(keep) ? rh_rows_new("event") : NULL;

	for (size_t i = 0; row && i < sizeof(members) / sizeof(members[0]); i++) {
		const char *text = rh_json_string_at(event, members[i][1]);

		if (text)
			(void)rh_json_set_string(row, members[i][0], text);
	}
	keep_append(keep, row);
	if (keep->next.event)
		keep->next.event(keep->next.arg, event);
}

/* The newest condition that is True is what the job is doing. */
static const struct rh_condition *keep_condition(const struct rh_job_status *status)
{
	for (size_t i = status->condition_count; i > 0; i--) {
		if (status->conditions[i - 1].status)
			return &status->conditions[i - 1];
	}
	return NULL;
}

static void keep_set_counts(struct rh_json *job, const struct rh_job_status *status)
{
	int64_t active = 0;
	int64_t succeeded = 0;
	int64_t failed = 0;

	for (size_t i = 0; i < status->replica_count; i++) {
		active += status->replicas[i].active;
		succeeded += status->replicas[i].succeeded;
		failed += status->replicas[i].failed;
	}
	(void)rh_json_set_integer(job, "active", active);
	(void)rh_json_set_integer(job, "succeeded", succeeded);
	(void)rh_json_set_integer(job, "failed", failed);
}

static void keep_see_state(struct rh_keep *keep, struct rh_json *job, const struct rh_condition *condition)
{
	struct rh_json *row;

	if (!condition || rh_text_equal(rh_json_string(rh_json_get(job, "state")), condition->type))
		return;
	(void)rh_json_set_string(job, "state", condition->type);
	(void)rh_json_set_string(job, "message", condition->message ? condition->message : "");
	row = rh_rows_new("job");
	if (row) {
		(void)rh_json_set_string(row, "job", rh_json_string(rh_json_get(job, "name")));
		(void)rh_json_set_string(row, "state", condition->type);
		(void)rh_json_set_string(row, "message", condition->message ? condition->message : "");
	}
	keep_append(keep, row);
}

static void keep_see_job(struct rh_keep *keep, const struct rh_json *object, const struct rh_run_fault *fault)
{
	struct rh_json *job = keep_job_named(keep, rh_json_string_at(object, "metadata.namespace"),
	                                     rh_json_string_at(object, "metadata.name"));
	struct rh_job_status status = {.condition_count = 0};

	if (!job || rh_shown_read(NULL, object, &status) < 0)
		return;
	keep_set_counts(job, &status);
	keep_see_state(keep, job, keep_condition(&status));
	rh_job_status_deinit(&status);
	if (fault && !rh_json_get(job, "firstFault"))
		(void)rh_json_set(job, "firstFault", rh_rows_fault(fault));
	keep_write_state(keep, false);
}

static void keep_on_job(void *arg, const struct rh_json *object, const struct rh_run_fault *fault)
{
	struct rh_keep *keep = arg;

	if (keep_records(keep))
		keep_see_job(keep, object, fault);
	if (keep->next.job)
		keep->next.job(keep->next.arg, object, fault);
}

/* Starts and ends of containers, which become the time line of the run. */
static void keep_see_pod(struct rh_keep *keep, const char *replica, const struct rh_json *pod)
{
	rh_auto(json) rows = rh_rows_pod(keep->containers, replica, pod);

	while (rh_json_size(rows) > 0)
		keep_append(keep, rh_json_detach_item(rows, 0));
}

static void keep_on_pod(void *arg, const char *replica, const struct rh_json *pod)
{
	struct rh_keep *keep = arg;

	if (keep_records(keep))
		keep_see_pod(keep, replica, pod);
	if (keep->next.pod)
		keep->next.pod(keep->next.arg, replica, pod);
}

/* The newest report of each job is kept, in the words in which it was posted. */
static void keep_on_progress(void *arg, const char *namespace_, const char *name, const struct rh_json *status)
{
	struct rh_keep *keep = arg;
	struct rh_json *job = keep_records(keep) ? keep_job_named(keep, namespace_, name) : NULL;

	if (job && rh_json_set(job, "trainerStatus", rh_json_copy(status)) == 0)
		keep_write_state(keep, false);
	if (keep->next.progress)
		keep->next.progress(keep->next.arg, namespace_, name, status);
}

static void keep_on_first_fault(void *arg, const struct rh_run_fault *fault)
{
	const struct rh_keep *keep = arg;
	struct rh_json *job = keep_records(keep) ? keep_job_named(keep, NULL, fault->job) : NULL;

	if (job)
		(void)rh_json_set(job, "firstFault", rh_rows_fault(fault));
	if (keep->next.first_fault)
		keep->next.first_fault(keep->next.arg, fault);
}

static void keep_on_replica(void *arg, const struct rh_run_replica *replica)
{
	const struct rh_keep *keep = arg;
	struct rh_json *list = keep_records(keep) ? rh_json_ensure_array(keep->state, "results") : NULL;
	rh_auto(json) row = list ? rh_json_new_object() : NULL;

	if (row && rh_rows_fill_replica(row, replica) == 0)
		(void)rh_json_append(list, rh_take(row));
	if (keep->next.replica)
		keep->next.replica(keep->next.arg, replica);
}

static void keep_append_text(struct rh_keep *keep, const char *type, const char *text)
{
	struct rh_json *row = keep_records(keep) ? rh_rows_new(type) : NULL;

	if (row)
		(void)rh_json_set_string(row, "text", text);
	keep_append(keep, row);
}

static void keep_on_warning(void *arg, const char *text)
{
	struct rh_keep *keep = arg;

	keep_append_text(keep, "warning", text);
	if (keep->next.warning)
		keep->next.warning(keep->next.arg, text);
}

static void keep_on_note(void *arg, const char *text)
{
	struct rh_keep *keep = arg;

	keep_append_text(keep, "note", text);
	keep_note(keep, text);
}

struct rh_run_hooks rh_keep_hooks(struct rh_keep *keep)
{
	return (struct rh_run_hooks){
		.line = keep_on_line,
		.partial = keep->next.partial ? keep_on_partial : NULL,
		.load = keep_on_load,
		.grown = keep_on_grown,
		.event = keep_on_event,
		.job = keep_on_job,
		.pod = keep_on_pod,
		.progress = keep_on_progress,
		.first_fault = keep_on_first_fault,
		.replica = keep_on_replica,
		.warning = keep_on_warning,
		.note = keep_on_note,
		.arg = keep,
	};
}

static int keep_open_parts(struct rh_keep *keep, const struct rh_keep_start *start, struct rh_error *err)
{
	rh_auto_free char *times = NULL;
	rh_auto_free char *samples = NULL;
	int r = rh_keep_make(start->jobs[0].job->name, keep->state, start->manifest, &keep->folder, err);

	if (r < 0)
		return r;
	keep->logs = rh_path_join(keep->folder.path, RH_KEEP_LOGS);
	times = rh_path_join(keep->folder.path, RH_KEEP_TIMES);
	keep->times = times ? rh_times_new(times) : NULL;
	samples = rh_path_join(keep->folder.path, RH_KEEP_SAMPLES);
	keep->samples = samples ? rh_samples_new(samples, rh_clock_monotonic()) : NULL;
	keep->containers = rh_map_new();
	return keep->logs && keep->times && keep->samples && keep->containers ? 0 : rh_fail_oom(err);
}

int rh_keep_open(struct rh_keep *keep, const struct rh_keep_start *start, struct rh_error *err)
{
	int r;

	keep->state = rh_keep_make_state(start);
	r = keep->state ? keep_open_parts(keep, start, err) : rh_fail_oom(err);
	if (r < 0) {
		rh_json_free(rh_take(keep->state));
		return r;
	}
	if (keep->next.kept)
		keep->next.kept(keep->next.arg, keep->folder.path);
	return 0;
}

const char *rh_keep_logs(const struct rh_keep *keep)
{
	return keep && keep->state ? keep->logs : NULL;
}

const char *rh_keep_folder(const struct rh_keep *keep)
{
	return keep && keep->state ? keep->folder.path : NULL;
}

void rh_keep_finish(struct rh_keep *keep, int result)
{
	struct rh_keep_end end = {.ended_at = rh_clock_wall()};
	char now[RH_TIME_SIZE];

	if (!keep_records(keep))
		return;
	end.bytes = rh_keep_place_bytes(keep->folder.path);
	(void)rh_time_parse(rh_json_string(rh_json_get(keep->state, "startedAt")), &end.started_at, NULL);
	(void)rh_json_set_string(keep->state, "endedAt", rh_time_format_micro(end.ended_at, now));
	(void)rh_json_set_string(keep->state, "result", rh_run_result_name(result));
	(void)rh_json_set_integer(keep->state, "exitStatus", result);
	(void)rh_json_set_integer(keep->state, "bytes", end.bytes);
	keep_write_state(keep, true);
	if (keep_records(keep)) /* the result is written */
		rh_keep_end_write(keep->folder.path, &end);
}

struct rh_keep *rh_keep_new(const struct rh_run_hooks *next)
{
	struct rh_keep *keep = rh_alloc(sizeof(*keep));

	if (keep)
		*keep = (struct rh_keep){.next = *next, .folder = {NULL, -1, -1}};
	return keep;
}

void rh_keep_free(struct rh_keep *keep)
{
	if (!keep)
		return;
	rh_keep_folder_close(&keep->folder);
	rh_times_free(keep->times);
	rh_samples_free(keep->samples);
	rh_rows_forget(keep->containers);
	rh_json_free(keep->state);
	rh_str_deinit(&keep->written);
	rh_free(keep->logs);
	rh_free(keep);
}
