/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/report.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"

static bool report_has(const struct rh_json *value)
{
	return value && rh_json_type(value) != RH_JSON_NULL;
}

static int report_take_number(const struct rh_json *from, const char *name, int64_t most, struct rh_json *to,
                              struct rh_error *err)
{
	const struct rh_json *member = rh_json_get(from, name);
	int64_t value = 0;

	if (!report_has(member))
		return 0;
	if (!rh_json_integer(member, &value) || value < 0 || value > most) {
		rh_auto_free char *text = rh_json_text(member);

		return rh_fail(err, RH_EINVAL, "trainerStatus.%s: %.40s is not a whole number from 0 to %lld", name,
		               text ? text : "the value", (long long)most);
	}
	return rh_json_set_integer(to, name, value) < 0 ? rh_fail_oom(err) : 0;
}

static int report_take_text(const struct rh_json *from, const char *name, size_t index, struct rh_json *to,
                            struct rh_error *err)
{
	const char *text = rh_json_string(rh_json_get(from, name));

	if (!text || !*text || strlen(text) > RH_REPORT_TEXT_MAX)
		return rh_fail(err, RH_EINVAL, "trainerStatus.metrics[%zu].%s is not a text of 1 to %d bytes", index, name,
		               RH_REPORT_TEXT_MAX);
	return rh_json_set_string(to, name, text) < 0 ? rh_fail_oom(err) : 0;
}

static int report_take_metrics(const struct rh_json *from, struct rh_json *to, struct rh_error *err)
{
	const struct rh_json *list = rh_json_get(from, "metrics");
	const struct rh_json *metric = rh_json_first(list);
	struct rh_json *copies;

	if (!report_has(list))
		return 0;
	if (rh_json_type(list) != RH_JSON_ARRAY || rh_json_size(list) > RH_REPORT_METRICS_MAX)
		return rh_fail(err, RH_EINVAL, "trainerStatus.metrics is not a list of at most %d metrics",
		               RH_REPORT_METRICS_MAX);
	copies = rh_json_ensure_array(to, "metrics");
	for (size_t i = 0; metric; i++, metric = rh_json_next(metric)) {
		rh_auto(json) copy = rh_json_new_object();
		int r = copy && copies ? report_take_text(metric, "name", i, copy, err) : rh_fail_oom(err);

		if (r == 0)
			r = report_take_text(metric, "value", i, copy, err);
		if (r < 0)
			return r;
		if (rh_json_append(copies, rh_take(copy)) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}

static int report_take_time(const struct rh_json *from, struct rh_json *to, struct rh_error *err)
{
	const struct rh_json *member = rh_json_get(from, "lastUpdatedTime");
	const char *text = rh_json_string(member);
	char shown[RH_TIME_SIZE];
	int64_t at = 0;

	if (!report_has(member))
		return 0;
	if (!text || rh_time_parse(text, &at, NULL) < 0)
		return rh_fail(err, RH_EINVAL, "trainerStatus.lastUpdatedTime: \"%.40s\" is not a time as 2026-11-23T10:30:45Z",
		               text ? text : "");
	return rh_json_set_string(to, "lastUpdatedTime", rh_time_format_micro(at, shown)) < 0 ? rh_fail_oom(err) : 0;
}

static int report_take(const struct rh_json *from, struct rh_json *to, struct rh_error *err)
{
	int r;

	if (rh_json_type(from) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "trainerStatus is not an object");
	r = report_take_number(from, "progressPercentage", 100, to, err);
	if (r == 0)
		r = report_take_number(from, "estimatedRemainingSeconds", INT32_MAX, to, err);
	if (r == 0)
		r = report_take_metrics(from, to, err);
	return r == 0 ? report_take_time(from, to, err) : r;
}

int rh_report_read(const char *text, size_t length, struct rh_json **ret_status, struct rh_error *err)
{
	rh_auto(json) post = NULL;
	rh_auto(json) status = rh_json_new_object();
	const struct rh_json *from;
	int r = status ? rh_json_parse(text, length, &post, err) : rh_fail_oom(err);

	if (r < 0)
		return r;
	if (rh_json_type(post) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "the body is not an object");
	from = rh_json_get(post, "trainerStatus");
	*ret_status = NULL;
	if (!report_has(from))
		return 0;
	r = report_take(from, status, err);
	if (r == 0)
		*ret_status = rh_take(status);
	return r;
}
