/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/page/metrics.h"
#include "cli/page/text.h"
#include "local/keep/times.h"

/* What all logs of a page take together, in bytes of text, bytes that are searched, and points of metrics. */
#define LOG_TEXT_TOTAL (INT64_C(16) * 1024 * 1024)
#define LOG_SCAN_TOTAL (INT64_C(128) * 1024 * 1024)
#define LOG_POINTS_TOTAL 40000
/* What one log takes at most, and what it takes however many there are. */
#define LOG_TEXT_MAX (INT64_C(512) * 1024)
#define LOG_TEXT_MIN (INT64_C(4) * 1024)
#define LOG_SCAN_MIN (INT64_C(64) * 1024)
#define LOG_POINTS_MAX 800
#define LOG_POINTS_MIN 40
/* Most times of a part; lines between two of them have that of the first. */
#define LOG_TIMES_MAX 4096
/* Bytes that are read at a time. */
#define LOG_CHUNK ((size_t)64 * 1024)

/* The bytes [from, to) of a file. */
struct log_range {
	int64_t from;
	int64_t to;
};

/* A log that is being written into the page. */
struct log_writer {
	FILE *out;
	int fd;
	int64_t size;
	int64_t started_at;
	struct rh_times_walk *times;
};

struct rh_page_limits rh_page_limits(size_t count)
{
	int64_t logs = count ? (int64_t)count : 1;
	struct rh_page_limits limits = {.text = LOG_TEXT_TOTAL / logs, .scan = LOG_SCAN_TOTAL / logs};
	int64_t points = LOG_POINTS_TOTAL / logs;

	limits.text = limits.text > LOG_TEXT_MAX ? LOG_TEXT_MAX : limits.text;
	limits.text = limits.text < LOG_TEXT_MIN ? LOG_TEXT_MIN : limits.text;
	limits.scan = limits.scan < LOG_SCAN_MIN ? LOG_SCAN_MIN : limits.scan;
	points = points > LOG_POINTS_MAX ? LOG_POINTS_MAX : points;
	limits.points = (size_t)(points < LOG_POINTS_MIN ? LOG_POINTS_MIN : points);
	return limits;
}

/* All of a file, or a start and an end of it. @return number of ranges */
static size_t log_choose(int64_t size, int64_t start, int64_t end, struct log_range ranges[2])
{
	if (size <= start + end) {
		ranges[0] = (struct log_range){0, size};
		return 1;
	}
	ranges[0] = (struct log_range){0, start};
	ranges[1] = (struct log_range){size - end, size};
	return 2;
}

/* @return bytes that were read, fewer where the file has become shorter */
static size_t log_read(int fd, char *to, size_t size, int64_t from)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = pread(fd, to + length, size - length, (off_t)(from + (int64_t)length));

		if (n <= 0 && (n == 0 || errno != EINTR))
			break;
		length += n > 0 ? (size_t)n : 0;
	}
	return length;
}

static bool log_open(struct log_writer *writer, const char *path)
{
	struct stat st;

	errno = 0;
	writer->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (writer->fd < 0 || fstat(writer->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	writer->size = st.st_size;
	return true;
}

/* @return the time of a byte, milliseconds since the start; RH_PAGE_METRIC_NO_TIME */
static int64_t log_time(const struct log_writer *writer, struct rh_times_walk *times, int64_t offset)
{
	int64_t at = rh_times_walk_at(times, offset);

	return at == 0 || writer->started_at == 0 ? RH_PAGE_METRIC_NO_TIME : (at - writer->started_at) / 1000;
}

/* Write [line, time] where the time changes. */
static void log_put_times(const struct log_writer *writer, const char *text, size_t length, int64_t from)
{
	int64_t last = RH_PAGE_METRIC_NO_TIME;
	size_t step = length / LOG_TIMES_MAX;
	size_t next = 0;
	size_t line = 0;
	bool first = true;

	for (size_t at = 0; at < length; line++) {
		const char *end = memchr(text + at, '\n', length - at);
		int64_t now = at >= next ? log_time(writer, writer->times, from + (int64_t)at) : last;

		if (now != last) {
			(void)fprintf(writer->out, "%s[%zu,%" PRId64 "]", first ? "" : ",", line, now);
			first = false;
			last = now;
			next = at + step;
		}
		at = end ? (size_t)(end - text) + 1 : length;
	}
}

/* Cut a part so that it has whole lines; a line that fills it stays. */
static void log_cut(const struct log_range *range, int64_t size, const char **text, size_t *length)
{
	const char *newline;

	if (range->to < size) {
		newline = memrchr(*text, '\n', *length);
		*length = newline ? (size_t)(newline - *text) + 1 : *length;
	}
	newline = range->from > 0 ? memchr(*text, '\n', *length) : NULL;
	if (newline && newline + 1 < *text + *length) {
		*length -= (size_t)(newline + 1 - *text);
		*text = newline + 1;
	}
}

/* @return bytes that were written; RH_ENOMEM */
static int64_t log_put_part(const struct log_writer *writer, const struct log_range *range, bool first)
{
	size_t room = (size_t)(range->to - range->from);
	rh_auto_free char *buffer = rh_alloc(room + 1);
	size_t length = buffer ? log_read(writer->fd, buffer, room, range->from) : 0;
	const char *text = buffer;
	int64_t from;

	if (!buffer)
		return RH_ENOMEM;
	log_cut(range, writer->size, &text, &length);
	from = range->from + (text - buffer);
	(void)fprintf(writer->out, "%s{\"from\":%" PRId64 ",\"text\":", first ? "" : ",", from);
	rh_page_put_text(writer->out, text, length);
	(void)fputs(",\"times\":[", writer->out);
	log_put_times(writer, text, length, from);
	(void)fputs("]}", writer->out);
	return (int64_t)length;
}

static int log_put_parts(const struct log_writer *writer, int64_t limit)
{
	struct log_range ranges[2];
	size_t count = log_choose(writer->size, limit / 4, limit - limit / 4, ranges);
	int64_t shown = 0;

	(void)fputs("\"parts\":[", writer->out);
	for (size_t i = 0; i < count; i++) {
		int64_t r = log_put_part(writer, &ranges[i], i == 0);

		if (r < 0)
			return (int)r;
		shown += r;
	}
	(void)fprintf(writer->out, "],\"leftOut\":%" PRId64, count == 1 ? 0 : writer->size - shown);
	return 0;
}

/* Pieces of a range that newlines and carriage returns separate, each with its first byte. */
struct log_lines {
	int fd;
	struct log_range range;
	void (*line)(void *arg, const char *text, size_t length, int64_t from);
	void *arg;
};

/* A piece that is longer than the buffer is passed on in several. */
static void log_split(const struct log_lines *lines, char *buffer)
{
	int64_t from = lines->range.from;
	size_t length = 0;

	while (from + (int64_t)length < lines->range.to) {
		int64_t rest = lines->range.to - from - (int64_t)length;
		size_t room = LOG_CHUNK - length;
		size_t got =
			log_read(lines->fd, buffer + length, rest < (int64_t)room ? (size_t)rest : room, from + (int64_t)length);
		size_t at = 0;

		length += got;
		for (size_t i = 0; i < length; i++) {
			if (buffer[i] != '\n' && buffer[i] != '\r')
				continue;
			lines->line(lines->arg, buffer + at, i - at, from + (int64_t)at);
			at = i + 1;
		}
		if (at == 0 && (length == LOG_CHUNK || got == 0)) {
			lines->line(lines->arg, buffer, length, from);
			at = length;
		}
		if (got == 0)
			return;
		memmove(buffer, buffer + at, length - at);
		length -= at;
		from += (int64_t)at;
	}
	if (length > 0)
		lines->line(lines->arg, buffer, length, from);
}

/* Where metrics go. */
struct log_scan {
	const struct log_writer *writer;
	struct rh_page_metrics *metrics;
	struct rh_times_walk *times;
};

static void log_scan_line(void *arg, const char *text, size_t length, int64_t from)
{
	const struct log_scan *scan = arg;

	rh_page_metrics_line(scan->metrics, text, length, log_time(scan->writer, scan->times, from));
}

static void log_put_number(FILE *out, double value)
{
	if (isfinite(value))
		(void)fprintf(out, "%.9g", value);
	else
		(void)fputs("null", out);
}

static void log_put_point(FILE *out, const struct rh_page_point *point, bool first)
{
	(void)fputs(first ? "[" : ",[", out);
	if (point->at == RH_PAGE_METRIC_NO_TIME)
		(void)fputs("null", out);
	else
		(void)fprintf(out, "%" PRId64, point->at);
	(void)fputc(',', out);
	log_put_number(out, point->step);
	(void)fputc(',', out);
	log_put_number(out, point->value);
	(void)fputc(']', out);
}

static void log_put_metric(FILE *out, const struct rh_page_metric *metric, bool first)
{
	(void)fputs(first ? "{\"name\":" : ",{\"name\":", out);
	rh_page_put_string(out, metric->name);
	(void)fprintf(out, ",\"known\":%s,\"count\":%" PRId64 ",\"points\":[", metric->known ? "true" : "false",
	              metric->seen);
	for (size_t i = 0; i < metric->count; i++)
		log_put_point(out, &metric->points[i], i == 0);
	if ((metric->seen - 1) % metric->every != 0)
		log_put_point(out, &metric->last, false);
	(void)fputs("]}", out);
}

static int log_put_metrics(const struct log_writer *writer, const struct rh_page_file *file,
                           const struct rh_page_limits *limits)
{
	rh_auto_free char *buffer = rh_alloc(LOG_CHUNK);
	rh_auto(page_metrics) metrics = rh_page_metrics_new(limits->points);
	rh_auto(times_walk) times = rh_times_walk_open(file->times);
	struct log_scan scan = {writer, metrics, times};
	struct log_range ranges[2];
	size_t count = log_choose(writer->size, limits->scan / 2, limits->scan / 2, ranges);
	const struct rh_page_metric *metric;
	int64_t scanned = 0;

	if (!buffer || !metrics || !times)
		return RH_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct log_lines lines = {writer->fd, ranges[i], log_scan_line, &scan};

		log_split(&lines, buffer);
		scanned += ranges[i].to - ranges[i].from;
	}
	(void)fprintf(writer->out, ",\"scanned\":%" PRId64 ",\"metrics\":[", scanned);
	for (size_t i = 0; (metric = rh_page_metrics_item(metrics, i)); i++)
		log_put_metric(writer->out, metric, i == 0);
	(void)fputc(']', writer->out);
	return 0;
}

static void log_put_head(FILE *out, const struct rh_page_file *file)
{
	(void)fputs("{\"job\":", out);
	rh_page_put_string(out, file->job);
	(void)fputs(",\"replica\":", out);
	rh_page_put_string(out, file->replica);
	(void)fputs(",\"container\":", out);
	rh_page_put_string(out, file->container);
	(void)fputs(",\"path\":", out);
	rh_page_put_string(out, file->path);
}

int rh_page_put_log(FILE *out, const struct rh_page_file *file, const struct rh_page_limits *limits, int64_t started_at)
{
	rh_auto(times_walk) times = rh_times_walk_open(file->times);
	struct log_writer writer = {.out = out, .fd = -1, .started_at = started_at, .times = times};
	int r;

	if (!times)
		return RH_ENOMEM;
	log_put_head(out, file);
	if (log_open(&writer, file->path)) {
		(void)fprintf(out, ",\"size\":%" PRId64 ",", writer.size);
		r = log_put_parts(&writer, limits->text);
		if (r == 0)
			r = log_put_metrics(&writer, file, limits);
	} else {
		(void)fputs(",\"size\":0,\"parts\":[],\"leftOut\":0,\"scanned\":0,\"metrics\":[],\"error\":", out);
		rh_page_put_string(out, errno ? strerror(errno) : "not a regular file");
		r = 0;
	}
	(void)fputc('}', out);
	if (writer.fd >= 0)
		(void)close(writer.fd);
	return r;
}

/* Passes lines on without their place. */
struct log_plain {
	void (*line)(void *arg, const char *text, size_t length);
	void *arg;
};

static void log_plain_line(void *arg, const char *text, size_t length, int64_t from)
{
	const struct log_plain *plain = arg;

	(void)from;
	plain->line(plain->arg, text, length);
}

int64_t rh_page_each_line(const char *path, int64_t limit, void (*line)(void *arg, const char *text, size_t length),
                          void *arg)
{
	rh_auto_free char *buffer = rh_alloc(LOG_CHUNK);
	struct log_writer file = {.fd = -1};
	struct log_plain plain = {line, arg};
	struct log_range ranges[2];
	bool open_ = buffer && log_open(&file, path);
	size_t count = open_ ? log_choose(file.size, limit / 2, limit / 2, ranges) : 0;
	int64_t left_out = 0;

	for (size_t i = 0; i < count; i++) {
		const struct log_lines lines = {file.fd, ranges[i], log_plain_line, &plain};

		log_split(&lines, buffer);
	}
	if (count == 2)
		left_out = ranges[1].from - ranges[0].to;
	if (file.fd >= 0)
		(void)close(file.fd);
	if (!buffer)
		return RH_ENOMEM;
	return open_ ? left_out : RH_EIO;
}
