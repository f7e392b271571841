/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "cli/run/view.h"

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

static int json_set_known(struct rh_json *json, const char *key, const char *text)
{
	return text && *text ? rh_json_set_string(json, key, text) : rh_json_set(json, key, rh_json_new_null());
}

static int json_set_number(struct rh_json *json, const char *key, int64_t number, bool known)
{
	return known ? rh_json_set_integer(json, key, number) : rh_json_set(json, key, rh_json_new_null());
}

static int json_set_lines(struct rh_json *json, const char *text)
{
	struct rh_json *list = rh_json_ensure_array(json, "lines");

	while (list && *text) {
		size_t length = strcspn(text, "\n");
		rh_auto_str line = {0};

		json_append_clean(&line, text, length);
		if (rh_json_append(list, rh_json_new_string(rh_str_text(&line))) < 0)
			return RH_ENOMEM;
		text += length + (text[length] ? 1 : 0);
	}
	return list ? 0 : RH_ENOMEM;
}

/* Every member is there; null stands for what is not known. */
static struct rh_json *json_fault(const struct rh_run_fault *fault)
{
	rh_auto(json) json = rh_json_new_object();
	char at[RH_TIME_SIZE];

	if (!json || rh_json_set_string(json, "job", fault->job) < 0 ||
	    json_set_known(json, "replica", fault->replica) < 0 ||
	    json_set_number(json, "rank", fault->rank, fault->rank >= 0) < 0 ||
	    json_set_known(json, "container", fault->container) < 0 ||
	    json_set_number(json, "exitCode", fault->exit_code, fault->exit_code >= 0) < 0 ||
	    json_set_number(json, "signal", fault->signal, fault->signal != 0) < 0 ||
	    json_set_known(json, "reason", fault->reason) < 0 || rh_json_set_string(json, "class", fault->blame) < 0 ||
	    json_set_known(json, "at", fault->at ? rh_time_format_micro(fault->at, at) : NULL) < 0 ||
	    rh_json_set_string(json, "message", fault->text) < 0 || json_set_lines(json, fault->lines) < 0)
		return NULL;
	return rh_take(json);
}

static void json_job(void *arg, const struct rh_json *job, const struct rh_run_fault *fault)
{
	struct rh_json *row = json_row("job");

	(void)arg;
	if (row && (rh_json_set(row, "object", rh_json_copy(job)) < 0 ||
	            (fault && rh_json_set(row, "firstFault", json_fault(fault)) < 0))) {
		rh_json_free(row);
		return;
	}
	json_write(row);
}

static void json_first_fault(void *arg, const struct rh_run_fault *fault)
{
	struct rh_json_view *view = arg;
	rh_auto(json) json = json_fault(fault);

	if (!json)
		return;
	if (!view->first)
		view->first = rh_json_copy(json);
	if (!view->faults)
		view->faults = rh_json_new_object();
	if (view->faults)
		(void)rh_json_set(view->faults, fault->job, rh_take(json));
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
		.replica = json_replica,
		.warning = json_warning,
		.note = json_note,
	};
}

void rh_json_view_finish(struct rh_json_view *view, int result)
{
	struct rh_json *row = json_row("result");

	if (row && (rh_json_set_string(row, "result", rh_run_result_name(result)) < 0 ||
	            rh_json_set_integer(row, "exitStatus", result) < 0 ||
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
}
