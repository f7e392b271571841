/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int32_t file_load(struct reading *reading)
{
	FILE *file = fopen(reading->path, "re");
	char *bytes = file ? malloc(BYTES_MOST) : NULL;
	char *less;
	int number = errno;

	if (!bytes) {
		if (file)
			(void)fclose(file);
		return file_refuse(reading, strerror(file ? ENOMEM : number));
	}
	reading->length = fread(bytes, 1, BYTES_MOST, file);
	number = ferror(file) ? errno : 0;
	(void)fclose(file);
	less = realloc(bytes, reading->length > 0 ? reading->length : 1);
	reading->rank->bytes = less ? less : bytes;
	reading->head = reading->rank->bytes;
	return number ? file_refuse(reading, strerror(number)) : 0;
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
		rank->groups[rank->group_count++] =
			(struct rh_trace_group){group->name, group->size, group->listed == group->size ? (const void *)at : NULL};
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

static int file_compare_numbers(const void *a, const void *b)
{
	const struct rh_trace_op *left = *(const struct rh_trace_op *const *)a;
	const struct rh_trace_op *right = *(const struct rh_trace_op *const *)b;

	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return (left->number > right->number) - (left->number < right->number);
}

static int32_t file_take_ops(const struct reading *reading)
{
	struct rh_trace_rank *rank = reading->rank;
	size_t slots = reading->head->entry_count;

	rank->ops = calloc(slots, sizeof(*rank->ops));
	rank->byno = calloc(slots, sizeof(*rank->byno));
	if (!rank->ops || !rank->byno)
		return file_refuse(reading, strerror(ENOMEM));
	for (size_t slot = 0; slot < slots; slot++)
		rank->count += file_take_op(reading, slot, &rank->ops[rank->count]);
	qsort(rank->ops, rank->count, sizeof(*rank->ops), file_compare_places);
	for (size_t i = 0; i < rank->count; i++) {
		const struct rh_trace_op *op = &rank->ops[i];
		int64_t last = op->ended > op->begun ? op->ended : op->begun;

		rank->end = last > rank->end ? last : rank->end;
		if (op->number > 0)
			rank->byno[rank->collectives++] = op;
	}
	qsort(rank->byno, rank->collectives, sizeof(*rank->byno), file_compare_numbers);
	return 0;
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

int32_t rh_trace_read(const char *path, struct rh_trace_rank *ret_rank, char *why, size_t room)
{
	struct rh_trace_rank rank = {0};
	struct reading reading = {.path = path, .rank = &rank, .why = why, .room = room};
	int32_t r = file_load(&reading);

	if (r == 0)
		r = file_check(&reading);
	if (r == 0) {
		file_take_head(&reading);
		r = file_take_groups(&reading);
	}
	if (r == 0)
		r = file_take_ops(&reading);
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
	*rank = (struct rh_trace_rank){0};
}

const struct rh_trace_op *rh_trace_collective(const struct rh_trace_rank *rank, uint64_t group, uint64_t number,
                                              bool after)
{
	const struct rh_trace_op key = {.group = group, .number = number};
	const struct rh_trace_op *sample = &key;
	size_t low = 0;
	size_t high = rank->collectives;

	/* the first that is beyond it */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file_compare_numbers(&rank->byno[middle], &sample) > 0)
			high = middle;
		else
			low = middle + 1;
	}
	if (!after)
		low--;
	return low < rank->collectives && rank->byno[low]->group == group ? rank->byno[low] : NULL;
}
