/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/run_view.h"

/* Output of a program may hold any bytes; JSON may not. */
static void json_append_clean(struct rh_str *out, const char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		size_t step = text[at] ? rh_utf8_length(text + at, length - at) : 0;

		if (step)
			rh_str_append_bytes(out, text + at, step);
		else
			rh_str_append(out, "\xef\xbf\xbd");
		at += step ? step : 1;
	}
}

static struct rh_json *json_row(const char *type)
{
	struct rh_json *row = rh_json_new_object();
	char now[RH_TIME_SIZE];

	if (row && (rh_json_set_string(row, "type", type) < 0 ||
	            rh_json_set_string(row, "time", rh_time_format_micro(rh_clock_wall(), now)) < 0)) {
		rh_json_free(row);
		return NULL;
	}
	return row;
}

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
	struct rh_json *row = json_row("log");
	rh_auto_str clean = {0};

	(void)arg;
	json_append_clean(&clean, text, length);
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
	struct rh_json *row = json_row(type);

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

static void json_job(void *arg, const struct rh_json *job)
{
	(void)arg;
	json_object("job", job);
}

static void json_pod(void *arg, const struct rh_json *pod)
{
	(void)arg;
	json_object("pod", pod);
}

static void json_replica(void *arg, const struct rh_run_replica *replica)
{
	struct rh_json *row = json_row("replica");

	(void)arg;
	if (row && (rh_json_set_string(row, "job", replica->job) < 0 ||
	            rh_json_set_string(row, "replicaType", replica->type) < 0 ||
	            rh_json_set_integer(row, "index", replica->index) < 0 ||
	            rh_json_set_string(row, "outcome", replica->outcome) < 0 ||
	            (replica->container && rh_json_set_string(row, "container", replica->container) < 0) ||
	            rh_json_set_integer(row, "exitCode", replica->exit_code) < 0 ||
	            rh_json_set_integer(row, "restarts", replica->restarts) < 0 ||
	            rh_json_set(row, "seconds", rh_json_new_number((double)replica->duration / (double)RH_SECOND)) < 0 ||
	            (replica->log && rh_json_set_string(row, "log", replica->log) < 0))) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

static void json_text(const char *type, const char *text)
{
	struct rh_json *row = json_row(type);

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

struct rh_run_hooks rh_json_view_hooks(void)
{
	return (struct rh_run_hooks){
		.line = json_line,
		.event = json_event,
		.job = json_job,
		.pod = json_pod,
		.replica = json_replica,
		.warning = json_warning,
		.note = json_note,
	};
}

void rh_json_view_finish(int result)
{
	struct rh_json *row = json_row("result");

	if (row && (rh_json_set_string(row, "result", rh_run_result_name(result)) < 0 ||
	            rh_json_set_integer(row, "exitStatus", result) < 0)) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}
