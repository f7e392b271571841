/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bench/trace/foreign/recorder.h"
#include "comm/core/trace/format.h"
#include "roundhouse/comm.h"

#define WORLD_MOST 65536
#define BYTES_MOST ((size_t)64 << 20)

/* What is being read. */
struct reading {
	const char *path;
	struct rh_trace_rank *rank;
	const struct rh_comm_trace_head *head;
	size_t length;
	char *why;
	size_t room;
};

static int32_t file_refuse(const struct reading *reading, const char *reason)
{
	(void)snprintf(reading->why, reading->room, "\"%.300s\": %s", reading->path, reason);
	return RH_COMM_EINVAL;
}

int32_t rh_trace_load(const char *path, char **ret_bytes, size_t *ret_length, char *why, size_t room)
{
	FILE *file = fopen(path, "re");
	char *bytes = file ? malloc(BYTES_MOST) : NULL;
	int number = file ? ENOMEM : errno;
	char *less;

	if (bytes) {
		*ret_length = fread(bytes, 1, BYTES_MOST, file);
		number = ferror(file) ? errno : 0;
	}
	if (file)
		(void)fclose(file);
	if (number) {
		free(bytes);
		(void)snprintf(why, room, "\"%.300s\": %s", path, strerror(number));
		return RH_COMM_EINVAL;
	}
	less = realloc(bytes, *ret_length > 0 ? *ret_length : 1);
	*ret_bytes = less ? less : bytes;
	return 0;
}

static int32_t file_load(struct reading *reading)
{
	char *bytes;
	int32_t r = rh_trace_load(reading->path, &bytes, &reading->length, reading->why, reading->room);

	if (r < 0)
		return r;
	reading->rank->bytes = bytes;
	reading->head = reading->rank->bytes;
	return 0;
}

static int32_t file_check(const struct reading *reading)
{
	const struct rh_comm_trace_head *head = reading->head;
	size_t whole;

	if (reading->length < sizeof(*head) || memcmp(head->magic, RH_COMM_TRACE_MAGIC, sizeof(head->magic)) != 0)
		return file_refuse(reading, "not a trace of this version of rh_comm");
	whole = sizeof(*head) + head->group_bytes + (size_t)head->entry_count * sizeof(struct rh_comm_trace_entry);
	if (head->head_bytes != sizeof(*head) || head->entry_bytes != sizeof(struct rh_comm_trace_entry) ||
	    head->entry_count == 0 || (head->entry_count & (head->entry_count - 1)) != 0 || head->group_bytes % 64 != 0 ||
	    whole != reading->length || head->groups_used > head->group_bytes || head->clock > 2)
		return file_refuse(reading, "a trace that is damaged or cut");
	if (head->world < 1 || head->world > WORLD_MOST || head->rank < 0 || head->rank >= head->world)
		return file_refuse(reading, "a trace with a rank that is not below its number of ranks");
	return 0;
}

/* Ticks of the processor as time. The two moments that are known give its pace; before a second has passed it is
 * rough. */
static int64_t file_time(const struct rh_comm_trace_head *head, int64_t ticks)
{
	const struct rh_comm_trace_clock *first = &head->clocks[0];
	const struct rh_comm_trace_clock *last = &head->clocks[head->clock];
	double pace = 1;

	if (last->ticks > first->ticks && last->time > first->time)
		pace = (double)(last->time - first->time) / (double)(last->ticks - first->ticks);
	return last->time + (int64_t)((double)(ticks - last->ticks) * pace);
}

static int32_t file_take_groups(const struct reading *reading)
{
	const char *at = (const char *)(reading->head + 1);
	const char *end = at + reading->head->groups_used;
	struct rh_trace_rank *rank = reading->rank;

	rank->groups = calloc(reading->head->groups_used / sizeof(struct rh_comm_trace_group) + 1, sizeof(*rank->groups));
	if (!rank->groups)
		return file_refuse(reading, strerror(ENOMEM));
	while ((size_t)(end - at) >= sizeof(struct rh_comm_trace_group)) {
		const struct rh_comm_trace_group *group = (const void *)at;
		size_t words = ((size_t)(group->listed > 0 ? group->listed : 0) + 1) / 2;
		size_t bytes = words * sizeof(uint64_t);

		at += sizeof(*group);
		if (group->size < 1 || group->size > reading->head->world || bytes > (size_t)(end - at))
			return file_refuse(reading, "a trace that is damaged");
		rank->groups[rank->group_count++] = (struct rh_trace_group){
			group->name, group->size, group->listed == group->size ? (const void *)at : NULL, NULL};
		at += bytes;
	}
	return 0;
}

/* @return false: nothing is there, or it changed while we looked */
static bool file_take_op(const struct reading *reading, size_t slot, struct rh_trace_op *ret_op)
{
	const struct rh_comm_trace_head *head = reading->head;
	const struct rh_comm_trace_entry *entry = (const void *)((const char *)(head + 1) + head->group_bytes);
	uint32_t kind;

	entry += slot;
	kind = entry->kind;
	if (entry->place == 0 || ((entry->place - 1) & (head->entry_count - 1)) != slot)
		return false;
	*ret_op = (struct rh_trace_op){.place = entry->place,
	                               .group = entry->group,
	                               .number = entry->number,
	                               .count = entry->count,
	                               .begun = file_time(head, entry->begun),
	                               .ended = entry->ended ? file_time(head, entry->ended) : 0,
	                               .what = (int32_t)(kind & 255),
	                               .type = (int32_t)(kind >> 8 & 255),
	                               .reduce = (int32_t)(kind >> 16 & 255),
	                               .state = (int32_t)(kind >> 24),
	                               .peer = entry->peer,
	                               .status = entry->status,
	                               .tag = entry->tag};
	return true;
}

static int file_compare_places(const void *a, const void *b)
{
	const struct rh_trace_op *left = a;
	const struct rh_trace_op *right = b;

	return (left->place > right->place) - (left->place < right->place);
}

static int32_t file_take_ops(const struct reading *reading)
{
	struct rh_trace_rank *rank = reading->rank;
	size_t slots = reading->head->entry_count;

	rank->ops = calloc(slots, sizeof(*rank->ops));
	if (!rank->ops)
		return file_refuse(reading, strerror(ENOMEM));
	for (size_t slot = 0; slot < slots; slot++)
		rank->count += file_take_op(reading, slot, &rank->ops[rank->count]);
	qsort(rank->ops, rank->count, sizeof(*rank->ops), file_compare_places);
	for (size_t i = 0; i < rank->count; i++) {
		const struct rh_trace_op *op = &rank->ops[i];
		int64_t last = op->ended > op->begun ? op->ended : op->begun;

		rank->end = last > rank->end ? last : rank->end;
	}
	return rh_trace_index(rank) < 0 ? file_refuse(reading, strerror(ENOMEM)) : 0;
}

static void file_take_head(const struct reading *reading)
{
	const struct rh_comm_trace_head *head = reading->head;
	struct rh_trace_rank *rank = reading->rank;

	rank->rank = head->rank;
	rank->world = head->world;
	rank->process = head->process;
	rank->left = head->left != 0;
	rank->posted = head->posted;
	rank->end = head->clocks[head->clock].time;
	(void)snprintf(rank->host, sizeof(rank->host), "%.63s", head->host);
	(void)snprintf(rank->job, sizeof(rank->job), "%.63s", head->job);
}

static int32_t file_take(const struct reading *reading)
{
	int32_t r = file_check(reading);

	if (r == 0) {
		file_take_head(reading);
		r = file_take_groups(reading);
	}
	return r == 0 ? file_take_ops(reading) : r;
}

int32_t rh_trace_read(const char *path, struct rh_trace_rank *ret_rank, char *why, size_t room)
{
	struct rh_trace_rank rank = {0};
	struct reading reading = {.path = path, .rank = &rank, .why = why, .room = room};
	int32_t r = file_load(&reading);

	if (r == 0)
		r = rh_recorder_is(rank.bytes, reading.length) ? rh_recorder_read(path, reading.length, &rank, why, room)
		                                               : file_take(&reading);
	if (r < 0) {
		rh_trace_rank_deinit(&rank);
		return r;
	}
	*ret_rank = rank;
	return 0;
}

void rh_trace_rank_deinit(struct rh_trace_rank *rank)
{
	free(rank->ops);
	free(rank->byno);
	free(rank->groups);
	free(rank->bytes);
	rh_values_deinit(&rank->values);
	*rank = (struct rh_trace_rank){0};
}
