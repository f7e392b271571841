/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/samples/samples.h"

/* Largest file that is read, in bytes; RH_SAMPLES_ROOM is doubled seldom enough that none gets there. */
#define SAMPLES_FILE_MAX (64U * 1024 * 1024)
/* Fewest points that a replica may have. */
#define SAMPLES_POINTS_MIN 16
/* Numbers of a replica in a line. */
enum samples_column {
	SAMPLES_INDEX,
	SAMPLES_PROCESSES,
	SAMPLES_CPU,
	SAMPLES_MEMORY,
	SAMPLES_READ,
	SAMPLES_WRITTEN,
	SAMPLES_COLUMNS
};

/* @return 0 also for a row that is none, or RH_ENOMEM */
static int samples_read_replica(struct rh_samples_all *all, const struct rh_json *row)
{
	const char *job = rh_json_string(rh_json_get(row, "job"));
	const char *name = rh_json_string(rh_json_get(row, "name"));
	struct rh_samples_series *grown;
	int64_t index = -1;

	if (!job || !name || !rh_json_integer(rh_json_get(row, "replica"), &index) || index != (int64_t)all->count)
		return 0;
	grown = rh_realloc_array(all->series, all->count + 1, sizeof(*grown));
	if (!grown)
		return RH_ENOMEM;
	all->series = grown;
	grown[all->count] = (struct rh_samples_series){.job = rh_strdup(job), .name = rh_strdup(name)};
	all->count++;
	return grown[all->count - 1].job && grown[all->count - 1].name ? 0 : RH_ENOMEM;
}

/* Let @p into last until @p point ends. */
static void samples_join(struct rh_samples_point *into, const struct rh_samples_point *point)
{
	double before = (double)(into->to - into->from);
	double more = (double)(point->to - point->from);
	double all = before + more;

	if (all > 0) {
		into->cpu = (into->cpu * before + point->cpu * more) / all;
		into->read = (into->read * before + point->read * more) / all;
		into->written = (into->written * before + point->written * more) / all;
	}
	if (point->memory > into->memory)
		into->memory = point->memory;
	into->to = point->to;
}

/* Points that follow each other become one while that is not longer than four times what each of the most would have.
 * Any two that are left next to each other are longer together, so half of the most are left, and one. */
static void samples_thin(struct rh_samples_series *series, size_t most)
{
	int64_t span = (series->points[series->count - 1].to - series->points[0].from) * 4 / (int64_t)most + 1;
	size_t kept = 0;

	for (size_t i = 1; i < series->count; i++) {
		if (series->points[i].to - series->points[kept].from <= span)
			samples_join(&series->points[kept], &series->points[i]);
		else
			series->points[++kept] = series->points[i];
	}
	series->count = kept + 1;
}

static int samples_add_point(struct rh_samples_series *series, const struct rh_samples_point *point)
{
	struct rh_samples_point *grown = series->points;

	if ((series->count & (series->count - 1)) == 0) /* a power of two is full */
		grown = rh_realloc_array(series->points, series->count ? 2 * series->count : 1, sizeof(*grown));
	if (!grown)
		return RH_ENOMEM;
	series->points = grown;
	grown[series->count++] = *point;
	if (point->cpu > series->cpu_most)
		series->cpu_most = point->cpu;
	if (point->memory > series->memory_most)
		series->memory_most = point->memory;
	return 0;
}

static int samples_read_use(struct rh_samples_all *all, const struct rh_json *use, int64_t from, int64_t to)
{
	const struct rh_json *item = rh_json_first(use);
	double numbers[SAMPLES_COLUMNS];
	struct rh_samples_point point = {.from = from, .to = to};

	for (size_t i = 0; i < SAMPLES_COLUMNS; i++, item = rh_json_next(item)) {
		numbers[i] = rh_json_number(item, -1);
		if (!(numbers[i] >= 0))
			return 0;
	}
	if (numbers[SAMPLES_INDEX] >= (double)all->count)
		return 0;
	point.cpu = numbers[SAMPLES_CPU] / 1000;
	point.memory = numbers[SAMPLES_MEMORY] * 1024;
	point.read = numbers[SAMPLES_READ];
	point.written = numbers[SAMPLES_WRITTEN];
	return samples_add_point(&all->series[(size_t)numbers[SAMPLES_INDEX]], &point);
}

/* A line whose time is before that of an earlier one is left out: points ascend. */
static int samples_read_line(struct rh_samples_all *all, const struct rh_json *row, int64_t *last)
{
	const struct rh_json *use = rh_json_first(rh_json_get(row, "u"));
	int64_t to = -1;
	int64_t time = -1;
	int r = 0;

	if (!use)
		return samples_read_replica(all, row);
	if (!rh_json_integer(rh_json_get(row, "t"), &to) || !rh_json_integer(rh_json_get(row, "d"), &time) || to < *last ||
	    time < 0 || time > to)
		return 0;
	*last = to;
	for (; use && r == 0; use = rh_json_next(use))
		r = samples_read_use(all, use, to - time, to);
	return r;
}

int rh_samples_read(const char *path, size_t points, struct rh_samples_all *ret_all)
{
	rh_auto_free char *text = NULL;
	int r = rh_file_read(path, SAMPLES_FILE_MAX, &text, NULL, NULL);
	int64_t last = 0;
	size_t most;
	char *end;

	*ret_all = (struct rh_samples_all){NULL, 0};
	if (r < 0)
		return r == RH_ENOMEM ? r : 0;
	for (char *at = text; r == 0 && (end = strchr(at, '\n')); at = end + 1) {
		rh_auto(json) row = NULL;

		if (rh_json_parse(at, (size_t)(end - at), &row, NULL) == 0)
			r = samples_read_line(ret_all, row, &last);
	}
	most = ret_all->count ? points / ret_all->count : 0;
	most = most > SAMPLES_POINTS_MIN ? most : SAMPLES_POINTS_MIN;
	for (size_t i = 0; i < ret_all->count; i++) {
		if (ret_all->series[i].count > most)
			samples_thin(&ret_all->series[i], most);
	}
	return r;
}

const struct rh_samples_series *rh_samples_find(const struct rh_samples_all *all, const char *job, const char *name)
{
	for (size_t i = 0; i < all->count; i++) {
		if (rh_text_equal(all->series[i].job, job) && rh_text_equal(all->series[i].name, name))
			return &all->series[i];
	}
	return NULL;
}

void rh_samples_all_deinit(struct rh_samples_all *all)
{
	for (size_t i = 0; i < all->count; i++) {
		rh_free(all->series[i].job);
		rh_free(all->series[i].name);
		rh_free(all->series[i].points);
	}
	rh_free(all->series);
	*all = (struct rh_samples_all){NULL, 0};
}
