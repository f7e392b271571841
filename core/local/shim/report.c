/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/str.h"
#include "local/shim.h"

struct rh_json *rh_shim_report_json(const struct rh_shim_report *report)
{
	const char *state = report->again ? "waiting" : "terminated";
	rh_auto(json) json = rh_json_new_object();

	if (!json || rh_json_set_string(json, "container", report->container) < 0 ||
	    rh_json_set_bool(json, "init", report->init) < 0 ||
	    rh_json_set_string(json, "state", report->running ? "running" : state) < 0 ||
	    rh_json_set_integer(json, "pid", report->pid) < 0 ||
	    rh_json_set_integer(json, "exitCode", report->exit_code) < 0 ||
	    rh_json_set_integer(json, "signal", report->signal) < 0 ||
	    rh_json_set_string(json, "reason", report->reason) < 0 ||
	    rh_json_set_string(json, "message", report->message) < 0 ||
	    rh_json_set_integer(json, "restarts", report->restarts) < 0 ||
	    rh_json_set_integer(json, "startedAt", report->started_at) < 0 ||
	    rh_json_set_integer(json, "finishedAt", report->finished_at) < 0 ||
	    rh_json_set_integer(json, "logBegin", report->log_begin) < 0 ||
	    rh_json_set_integer(json, "logEnd", report->log_end) < 0 ||
	    rh_json_set_bool(json, "again", report->again) < 0 || rh_json_set_bool(json, "asked", report->asked) < 0)
		return NULL;
	return rh_take(json);
}

static bool report_integer(const struct rh_json *json, const char *key, int32_t *ret_value)
{
	int64_t value;

	if (!rh_json_integer(rh_json_get(json, key), &value) || value < INT32_MIN || value > INT32_MAX)
		return false;
	*ret_value = (int32_t)value;
	return true;
}

static bool report_text(const struct rh_json *json, const char *key, char *to, size_t size)
{
	const char *text = rh_json_string(rh_json_get(json, key));

	if (!text)
		return false;
	rh_copy(to, size, text);
	return true;
}

int rh_shim_report_parse(const struct rh_json *json, struct rh_shim_report *ret_report)
{
	struct rh_shim_report report = {0};
	const char *state = rh_json_string(rh_json_get(json, "state"));

	if (!state || !report_text(json, "container", report.container, sizeof(report.container)) ||
	    !report_text(json, "reason", report.reason, sizeof(report.reason)) ||
	    !report_text(json, "message", report.message, sizeof(report.message)) ||
	    !report_integer(json, "pid", &report.pid) || !report_integer(json, "exitCode", &report.exit_code) ||
	    !report_integer(json, "signal", &report.signal) || !report_integer(json, "restarts", &report.restarts) ||
	    !rh_json_integer(rh_json_get(json, "startedAt"), &report.started_at) ||
	    !rh_json_integer(rh_json_get(json, "finishedAt"), &report.finished_at) ||
	    !rh_json_integer(rh_json_get(json, "logBegin"), &report.log_begin) ||
	    !rh_json_integer(rh_json_get(json, "logEnd"), &report.log_end))
		return RH_EINVAL;
	report.init = rh_json_bool(rh_json_get(json, "init"), false);
	report.again = rh_json_bool(rh_json_get(json, "again"), false);
	report.asked = rh_json_bool(rh_json_get(json, "asked"), false);
	report.running = strcmp(state, "running") == 0;
	*ret_report = report;
	return 0;
}
