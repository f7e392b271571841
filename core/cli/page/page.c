/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page/page.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/yaml.h"
#include "cli/page/files.h"
#include "cli/page/jobs.h"
#include "cli/page/log.h"
#include "cli/page/text.h"
#include "local/keep/place.h"
#include "local/samples/samples.h"
#include "roundhouse/version.h"

/* Bytes of events that a page has; half of them from the start. */
#define PAGE_EVENTS_MAX (INT64_C(4) * 1024 * 1024)
/* Points of what replicas used that a page has, of all together; each is some 40 bytes. */
#define PAGE_SAMPLES_MAX 40000

/* A time of the run in milliseconds since 1970, which is what scripts count in. */
static void page_put_time(FILE *out, const char *key, int64_t at)
{
	if (at > 0)
		(void)fprintf(out, ",\"%s\":%" PRId64, key, at / 1000);
	else
		(void)fprintf(out, ",\"%s\":null", key);
}

static int page_put_head(FILE *out, const struct rh_kept *kept)
{
	static const char *const lives[] = {[RH_KEPT_RUNNING] = "running",
	                                    [RH_KEPT_ENDED] = "ended",
	                                    [RH_KEPT_KILLED] = "killed",
	                                    [RH_KEPT_UNREAD] = "unread"};

	(void)fprintf(out, "{\"page\":%d,\"roundhouse\":\"" RH_VERSION "\",\"name\":", RH_PAGE_VERSION);
	rh_page_put_string(out, kept->name);
	(void)fputs(",\"path\":", out);
	rh_page_put_string(out, kept->path);
	(void)fprintf(out, ",\"life\":\"%s\",\"result\":", lives[kept->life]);
	rh_page_put_string(out, rh_kept_state(kept));
	page_put_time(out, "madeAt", rh_clock_wall());
	page_put_time(out, "startedAt", kept->started_at);
	page_put_time(out, "endedAt", kept->ended_at);
	(void)fputs(",\"state\":", out);
	return rh_page_put_json(out, kept->state);
}

/* Rows of events, those that can be read. */
struct page_events {
	FILE *out;
	bool any;
	bool failed; /* out of memory */
};

static void page_on_event(void *arg, const char *text, size_t length)
{
	struct page_events *events = arg;
	rh_auto(json) row = NULL;

	if (length == 0 || rh_json_parse(text, length, &row, NULL) < 0)
		return;
	(void)fputs(events->any ? "," : "", events->out);
	events->any = true;
	events->failed = rh_page_put_json(events->out, row) < 0 || events->failed;
}

static int page_put_events(FILE *out, const struct rh_kept *kept)
{
	rh_auto_free char *path = rh_path_join(kept->path, RH_KEEP_EVENTS);
	struct page_events events = {.out = out};
	int64_t left_out;

	(void)fputs(",\"events\":[", out);
	left_out = path ? rh_page_each_line(path, PAGE_EVENTS_MAX, page_on_event, &events) : RH_ENOMEM;
	(void)fprintf(out, "],\"eventsLeftOut\":%" PRId64, left_out > 0 ? left_out : 0);
	return left_out == RH_ENOMEM || events.failed ? RH_ENOMEM : 0;
}

/* The objects for the script, and as text for people. */
static int page_put_jobs(FILE *out, const struct rh_kept *kept)
{
	rh_auto(json) objects = rh_page_jobs(kept);
	rh_auto_str text = {0};

	for (const struct rh_json *object = rh_json_first(objects); object; object = rh_json_next(object)) {
		if (text.length > 0)
			rh_str_append(&text, "---\n");
		if (rh_yaml_print(object, &text) < 0)
			return RH_ENOMEM;
	}
	(void)fputs(",\"objects\":", out);
	if (rh_page_put_json(out, objects) < 0)
		return RH_ENOMEM;
	(void)fputs(",\"jobsText\":", out);
	rh_page_put_string(out, objects ? rh_str_text(&text) : NULL);
	return text.failed ? RH_ENOMEM : 0;
}

static void page_put_series(FILE *out, const struct rh_samples_series *series)
{
	(void)fputs("{\"job\":", out);
	rh_page_put_string(out, series->job);
	(void)fputs(",\"replica\":", out);
	rh_page_put_string(out, series->name);
	(void)fprintf(out, ",\"most\":{\"cpu\":%.3f,\"memory\":%.0f},\"points\":[", series->cpu_most, series->memory_most);
	for (size_t i = 0; i < series->count; i++) {
		const struct rh_samples_point *point = &series->points[i];

		(void)fprintf(out, "%s[%" PRId64 ",%" PRId64 ",%.3f,%.0f,%.0f,%.0f]", i > 0 ? "," : "", point->from, point->to,
		              point->cpu, point->memory, point->read, point->written);
	}
	(void)fputs("]}", out);
}

/* Milliseconds since the start, processors, bytes, and bytes a second. */
static int page_put_usage(FILE *out, const struct rh_kept *kept)
{
	rh_auto_free char *path = rh_path_join(kept->path, RH_KEEP_SAMPLES);
	rh_auto_samples_all all = {0};
	int r = path ? rh_samples_read(path, PAGE_SAMPLES_MAX, &all) : RH_ENOMEM;

	(void)fputs(",\"usage\":[", out);
	for (size_t i = 0; i < all.count && r == 0; i++) {
		(void)fputs(i > 0 ? ",\n" : "\n", out);
		page_put_series(out, &all.series[i]);
	}
	(void)fputs("]", out);
	return r;
}

static int page_put_logs(FILE *out, const struct rh_kept *kept)
{
	rh_auto_page_files files = {0};
	int r = rh_page_files_find(kept, &files);
	struct rh_page_limits limits = rh_page_limits(files.count);

	(void)fputs(",\"logs\":[", out);
	for (size_t i = 0; i < files.count && r == 0; i++) {
		(void)fputs(i > 0 ? ",\n" : "\n", out);
		r = rh_page_put_log(out, &files.items[i], &limits, kept->started_at);
	}
	(void)fputs("]}", out);
	return r;
}

int rh_page_write(FILE *out, const struct rh_kept *kept)
{
	size_t length;
	const char *text = rh_page_head(&length);
	int r;

	(void)fwrite(text, 1, length, out);
	r = page_put_head(out, kept);
	if (r == 0)
		r = page_put_events(out, kept);
	if (r == 0)
		r = page_put_usage(out, kept);
	if (r == 0)
		r = page_put_jobs(out, kept);
	if (r == 0)
		r = page_put_logs(out, kept);
	text = rh_page_tail(&length);
	(void)fwrite(text, 1, length, out);
	return r;
}
