/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/str.h"
#include "cli/run/view.h"
#include "local/keep/rows.h"

/* Takes @p row. A row that memory is too short for is left out: the run itself goes on. */
static void json_write(struct rh_json *row)
{
	rh_auto_str out = {0};

	if (row)
		rh_json_print(row, false, &out);
	rh_json_free(row);
	if (out.failed || !out.length)
		return;
	puts(rh_str_text(&out));
	(void)fflush(stdout);
}

static void json_line(void *arg, const char *job, const char *replica, const char *container, const char *text,
                      size_t length)
{
	const struct rh_json_view *view = arg;
	struct rh_json *row = rh_only_shows(view->only, job, replica) ? rh_rows_new("log") : NULL;
	rh_auto_str clean = {0};

	rh_rows_append_clean(&clean, text, length);
	if (row && (rh_json_set_string(row, "job", job) < 0 || rh_json_set_string(row, "replica", replica) < 0 ||
	            rh_json_set_string(row, "container", container) < 0 ||
	            rh_json_set_string(row, "line", rh_str_text(&clean)) < 0)) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

static void json_object(const char *type, const struct rh_json *object)
{
	struct rh_json *row = rh_rows_new(type);

	if (row && rh_json_set(row, "object", rh_json_copy(object)) < 0) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

static void json_event(void *arg, const struct rh_json *event)
{
	(void)arg;
	json_object("event", event);
}

static void json_pod(void *arg, const char *replica, const struct rh_json *pod)
{
	(void)arg;
	(void)replica;
	json_object("pod", pod);
}

static void json_replica(void *arg, const struct rh_run_replica *replica)
{
	struct rh_json *row = rh_rows_new("replica");

	(void)arg;
	if (row && rh_rows_fill_replica(row, replica) < 0) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

static void json_text(const char *type, const char *text)
{
	struct rh_json *row = rh_rows_new(type);

	if (row && rh_json_set_string(row, "text", text) < 0) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

static void json_note(void *arg, const char *text)
{
	(void)arg;
	json_text("note", text);
}

static void json_warning(void *arg, const char *text)
{
	(void)arg;
	json_text("warning", text);
}

static void json_job(void *arg, const struct rh_json *job, const struct rh_run_fault *fault)
{
	struct rh_json *row = rh_rows_new("job");

	(void)arg;
	if (row && (rh_json_set(row, "object", rh_json_copy(job)) < 0 ||
	            (fault && rh_json_set(row, "firstFault", rh_rows_fault(fault)) < 0))) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

static void json_first_fault(void *arg, const struct rh_run_fault *fault)
{
	struct rh_json_view *view = arg;
	rh_auto(json) json = rh_rows_fault(fault);

	if (!json)
		return;
	if (!view->first)
		view->first = rh_json_copy(json);
	if (!view->faults)
		view->faults = rh_json_new_object();
	if (view->faults)
		(void)rh_json_set(view->faults, fault->job, rh_take(json));
}

static void json_progress(void *arg, const char *namespace_, const char *job, const struct rh_json *status)
{
	struct rh_json *row = rh_rows_new("progress");

	(void)arg;
	if (row && (rh_json_set_string(row, "namespace", namespace_) < 0 || rh_json_set_string(row, "job", job) < 0 ||
	            rh_json_set(row, "trainerStatus", rh_json_copy(status)) < 0)) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

static void json_kept(void *arg, const char *path)
{
	struct rh_json_view *view = arg;

	view->kept = rh_strdup(path);
}

struct rh_run_hooks rh_json_view_hooks(struct rh_json_view *view)
{
	return (struct rh_run_hooks){
		.arg = view,
		.first_fault = json_first_fault,
		.line = json_line,
		.event = json_event,
		.job = json_job,
		.pod = json_pod,
		.progress = json_progress,
		.replica = json_replica,
		.warning = json_warning,
		.note = json_note,
		.kept = json_kept,
	};
}

void rh_json_view_finish(struct rh_json_view *view, int result)
{
	struct rh_json *row = rh_rows_new("result");

	if (row && (rh_json_set_string(row, "result", rh_run_result_name(result)) < 0 ||
	            rh_json_set_integer(row, "exitStatus", result) < 0 ||
	            (view->kept && rh_json_set_string(row, "kept", view->kept) < 0) ||
	            (view->first && rh_json_set(row, "firstFault", rh_take(view->first)) < 0) ||
	            (view->faults && rh_json_set(row, "firstFaults", rh_take(view->faults)) < 0))) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

void rh_json_view_deinit(struct rh_json_view *view)
{
	rh_json_free(rh_take(view->first));
	rh_json_free(rh_take(view->faults));
	rh_free(rh_take(view->kept));
}
