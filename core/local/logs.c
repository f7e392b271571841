/* SPDX-License-Identifier: Apache-2.0 */
#include "local/logs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* Largest tail that is asked for. */
#define LOGS_TAIL_MAX ((size_t)256 * 1024)
#define LOGS_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD in UTF-8 */

void rh_log_deinit(struct rh_log *log)
{
	rh_free(log->path);
	rh_str_deinit(&log->partial);
	*log = (struct rh_log){0};
}

int64_t rh_log_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

void rh_log_flush(struct rh_log *log, rh_log_line_fn *fn, void *arg)
{
	if (log->partial.length > 0)
		fn(arg, rh_str_text(&log->partial), log->partial.length);
	rh_str_deinit(&log->partial);
}

/* Keep the start of an incomplete line; one that is too long is passed on in pieces. */
static void logs_keep(struct rh_log *log, const char *text, size_t length, rh_log_line_fn *fn, void *arg)
{
	while (log->partial.length + length > RH_LOG_LINE_MAX) {
		size_t piece = RH_LOG_LINE_MAX - log->partial.length;

		rh_str_append_bytes(&log->partial, text, piece);
		rh_str_append(&log->partial, RH_LOG_SPLIT);
		rh_log_flush(log, fn, arg);
		text += piece;
		length -= piece;
	}
	if (length > 0)
		rh_str_append_bytes(&log->partial, text, length);
}

static void logs_split(struct rh_log *log, const char *text, size_t length, rh_log_line_fn *fn, void *arg)
{
	while (length > 0) {
		const char *end = memchr(text, '\n', length);
		size_t line = end ? (size_t)(end - text) : length;

		if (end && log->partial.length == 0 && line <= RH_LOG_LINE_MAX) {
			fn(arg, text, line);
		} else {
			logs_keep(log, text, line, fn, arg);
			if (end && log->partial.length > 0)
				rh_log_flush(log, fn, arg);
		}
		line += end ? 1 : 0;
		text += line;
		length -= line;
	}
}

bool rh_log_read(struct rh_log *log, size_t budget, rh_log_line_fn *fn, void *arg)
{
	char buffer[16384];
	rh_auto_close int fd = open(log->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t got = 0;

	while (fd >= 0 && got < budget) {
		ssize_t n = pread(fd, buffer, sizeof(buffer), (off_t)log->offset);

		if (n <= 0)
			return false;
		log->offset += n;
		got += (size_t)n;
		logs_split(log, buffer, (size_t)n, fn, arg);
		if ((size_t)n < sizeof(buffer))
			return false;
	}
	return fd >= 0;
}

static void logs_append_utf8(const char *text, size_t length, struct rh_str *out)
{
	while (length > 0) {
		size_t step = rh_utf8_length(text, length);

		if (step == 0 || text[0] == '\0') {
			rh_str_append(out, LOGS_REPLACEMENT);
			step = 1;
		} else {
			rh_str_append_bytes(out, text, step);
		}
		text += step;
		length -= step;
	}
}

/* What a byte costs once the text is UTF-8: one that is none becomes three. */
static size_t logs_cost(char byte)
{
	return (unsigned char)byte < 0x80 && byte != '\0' ? 1 : 3;
}

/* Where the last lines start that are at most `limit` bytes long once they are UTF-8; not before `first`. */
static size_t logs_tail_start(const char *text, size_t first, size_t length, size_t limit)
{
	size_t start = length;
	size_t cost = 0;
	size_t line = length;

	while (start > first && cost + logs_cost(text[start - 1]) <= limit) {
		cost += logs_cost(text[start - 1]);
		start--;
		if (start == 0 || text[start - 1] == '\n')
			line = start;
	}
	if (line < length)
		return line;
	while (start < length && ((unsigned char)text[start] & 0xc0) == 0x80)
		start++;
	return start;
}

void rh_log_tail(const char *path, int64_t from, int64_t to, size_t limit, struct rh_str *out)
{
	rh_auto_free char *buffer = NULL;
	rh_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int64_t size = fd >= 0 ? (int64_t)lseek(fd, 0, SEEK_END) : 0;
	size_t first = 0;
	size_t start;
	ssize_t n;

	if (size > to)
		size = to;
	if (limit > LOGS_TAIL_MAX)
		limit = LOGS_TAIL_MAX;
	if (size > from + (int64_t)limit) {
		from = size - (int64_t)limit - 1; /* one byte more shows whether the first line is complete */
		first = 1;
	}
	buffer = rh_alloc(limit + 1);
	if (!buffer) {
		out->failed = true;
		return;
	}
	n = fd >= 0 && size > from ? pread(fd, buffer, (size_t)(size - from), (off_t)from) : 0;
	while (n > 0 && buffer[n - 1] == '\n')
		n--;
	if (n <= (ssize_t)first)
		return;
	start = logs_tail_start(buffer, first, (size_t)n, limit);
	logs_append_utf8(buffer + start, (size_t)n - start, out);
}
