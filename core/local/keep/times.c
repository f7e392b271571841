/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/times.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"

/* Parts of a log that come within this time of each other share a line. */
#define TIMES_STEP (RH_SECOND / 100)
/* Largest file of times that is read, in bytes: a hundred lines a second for a month. */
#define TIMES_FILE_MAX (UINT32_C(1) << 30)

struct rh_times {
	char *folder;
	struct rh_map *last; /* path -> int64_t *, time of the last line; owned */
};

struct rh_times *rh_times_new(const char *folder)
{
	struct rh_times *times = rh_alloc(sizeof(*times));

	if (!times)
		return NULL;
	times->folder = rh_strdup(folder);
	times->last = rh_map_new();
	if (times->folder && times->last)
		return times;
	rh_times_free(times);
	return NULL;
}

void rh_times_free(struct rh_times *times)
{
	const char *key;
	void *value;

	if (!times)
		return;
	for (size_t cursor = 0; times->last && rh_map_next(times->last, &cursor, &key, &value);)
		rh_free(value);
	rh_map_free(times->last);
	rh_free(times->folder);
	rh_free(times);
}

/* @return the time of the last line of the file, which may be changed; NULL: out of memory, or its folder cannot be
 * made */
static int64_t *times_last(struct rh_times *times, const char *path)
{
	int64_t *last = rh_map_get(times->last, path);
	rh_auto_free char *folder = NULL;

	if (last)
		return last;
	folder = rh_path_folder(path);
	if (!folder || rh_dir_make(folder, 0700, NULL) < 0)
		return NULL;
	last = rh_alloc(sizeof(*last));
	if (last && rh_map_set(times->last, path, last, NULL) < 0)
		rh_free(rh_take(last));
	return last;
}

static int times_append(const char *path, int64_t from, int64_t now)
{
	rh_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	char line[64];
	int length = snprintf(line, sizeof(line), "%" PRId64 " %" PRId64 "\n", from, now);

	return fd >= 0 && write(fd, line, (size_t)length) == length ? 0 : RH_EIO;
}

int rh_times_add(struct rh_times *times, const char *job, const char *replica, const char *container, int64_t from)
{
	rh_auto_free char *path = rh_asprintf("%s/%s/%s/%s", times->folder, job, replica, container);
	int64_t now = rh_clock_wall();
	int64_t *last = path ? times_last(times, path) : NULL;

	if (!last)
		return path ? RH_EIO : RH_ENOMEM;
	if (*last != 0 && now >= *last && now - *last < TIMES_STEP)
		return 0;
	*last = now;
	return times_append(path, from, now);
}

/* @param end of the line, a newline. @return whether the line is whole */
static bool times_parse_mark(const char *line, const char *end, struct rh_times_mark *mark)
{
	char *space;

	mark->from = strtoll(line, &space, 10);
	if (space == line || *space != ' ')
		return false;
	mark->at = strtoll(space + 1, &space, 10);
	return mark->at > 0 && space == end;
}

static int times_parse(char *text, struct rh_times_marks *marks)
{
	size_t room = 1;
	char *end;

	for (const char *at = text; *at; at++)
		room += *at == '\n' ? 1 : 0;
	marks->items = rh_alloc_array(room, sizeof(*marks->items));
	if (!marks->items)
		return RH_ENOMEM;
	for (char *at = text; (end = strchr(at, '\n')); at = end + 1) {
		if (!times_parse_mark(at, end, &marks->items[marks->count]))
			break;
		marks->count++;
	}
	return 0;
}

int rh_times_read(const char *path, struct rh_times_marks *ret_marks)
{
	rh_auto_free char *text = NULL;
	int r = rh_file_read(path, TIMES_FILE_MAX, &text, NULL, NULL);

	*ret_marks = (struct rh_times_marks){NULL, 0};
	if (r < 0)
		return r == RH_ENOMEM ? r : 0;
	return times_parse(text, ret_marks);
}

int64_t rh_times_at(const struct rh_times_marks *marks, int64_t offset, size_t *near)
{
	while (*near + 1 < marks->count && marks->items[*near + 1].from <= offset)
		(*near)++;
	return *near < marks->count && marks->items[*near].from <= offset ? marks->items[*near].at : 0;
}

void rh_times_marks_deinit(struct rh_times_marks *marks)
{
	rh_free(marks->items);
	*marks = (struct rh_times_marks){NULL, 0};
}

struct rh_times_walk {
	FILE *stream;              /* NULL: there are no more lines */
	struct rh_times_mark now;  /* at 0: none yet */
	struct rh_times_mark next; /* likewise */
};

/* A line that is cut or damaged ends the file. */
static void times_walk_fill(struct rh_times_walk *walk)
{
	char line[64];
	const char *end = walk->stream && fgets(line, sizeof(line), walk->stream) ? strchr(line, '\n') : NULL;

	if (end && times_parse_mark(line, end, &walk->next))
		return;
	walk->next = (struct rh_times_mark){0, 0};
	if (walk->stream)
		(void)fclose(walk->stream);
	walk->stream = NULL;
}

struct rh_times_walk *rh_times_walk_open(const char *path)
{
	struct rh_times_walk *walk = rh_alloc(sizeof(*walk));

	if (!walk)
		return NULL;
	walk->stream = fopen(path, "re");
	times_walk_fill(walk);
	return walk;
}

int64_t rh_times_walk_at(struct rh_times_walk *walk, int64_t offset)
{
	while (walk->next.at > 0 && walk->next.from <= offset) {
		walk->now = walk->next;
		times_walk_fill(walk);
	}
	return walk->now.at;
}

void rh_times_walk_free(struct rh_times_walk *walk)
{
	if (walk && walk->stream)
		(void)fclose(walk->stream);
	rh_free(walk);
}
