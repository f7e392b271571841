/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/output_file.h"

#include "base/os/clock.h"
#include "local/logs.h"

/* Bytes that are read at a time while the last lines are looked for. */
#define FILE_CHUNK 16384

/* @return where the last @p tail lines start; a last one without a newline counts */
static int64_t file_tail_start(FILE *stream, int64_t tail)
{
	char chunk[FILE_CHUNK];
	int64_t end = fseeko(stream, 0, SEEK_END) == 0 ? (int64_t)ftello(stream) : 0;
	int64_t at = end;

	if (tail == 0)
		return end;
	while (at > 0) {
		size_t size = at < FILE_CHUNK ? (size_t)at : FILE_CHUNK;

		at -= (int64_t)size;
		if (fseeko(stream, at, SEEK_SET) < 0 || fread(chunk, 1, size, stream) != size)
			return 0;
		for (size_t i = size; i > 0; i--) {
			int64_t here = at + (int64_t)i;

			if (chunk[i - 1] == '\n' && here < end && --tail == 0)
				return here;
		}
	}
	return 0;
}

int rh_output_file_open(struct rh_output_file *file, const char *times, int64_t tail)
{
	file->stream = fopen(file->path, "re");
	if (!file->stream)
		return 0; /* it may have been removed; there is nothing to show */
	if (tail >= 0)
		file->offset = file_tail_start(file->stream, tail);
	(void)fseeko(file->stream, file->offset, SEEK_SET);
	return rh_times_read(times, &file->marks);
}

static void file_complete(struct rh_output_file *file)
{
	file->ready = true;
	file->at = file->live ? rh_clock_wall() : rh_times_at(&file->marks, file->offset, &file->near);
}

bool rh_output_file_fill(struct rh_output_file *file, bool last)
{
	int byte = EOF;

	if (file->ready || !file->stream)
		return file->ready;
	clearerr(file->stream);
	while (file->line.length < RH_LOG_LINE_MAX && (byte = getc_unlocked(file->stream)) != EOF && byte != '\n') {
		char one = (char)byte;

		rh_str_append_bytes(&file->line, &one, 1);
	}
	if (byte == '\n' || (file->line.length > 0 && (last || byte != EOF)))
		file_complete(file);
	else
		file->live = true;
	return file->ready;
}

void rh_output_file_next(struct rh_output_file *file)
{
	file->offset = (int64_t)ftello(file->stream);
	file->ready = false;
	file->shown = 0;
	rh_str_clear(&file->line);
}

void rh_output_file_close(struct rh_output_file *file)
{
	if (file->stream)
		(void)fclose(file->stream);
	rh_times_marks_deinit(&file->marks);
	rh_str_deinit(&file->line);
	rh_free(file->path);
	rh_free(file->job);
	rh_free(file->replica);
	rh_free(file->container);
}
