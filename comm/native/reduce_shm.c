/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce of a world that is one host. Small vectors go flat: every rank publishes its own and sums all. Larger ones
 * go through staging slots in chunks, three steps each that overlap between chunks: copy the others' parts in, reduce
 * the own part, copy the others' results out. Each rank reduces its part in the order of ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/native/native.h"

#define PART_ALIGN 16

static uint64_t counter_get(const struct native_counter *counter)
{
	return atomic_load_explicit(&counter->value, memory_order_acquire);
}

static void counter_set(struct native_counter *counter, uint64_t value)
{
	atomic_store_explicit(&counter->value, value, memory_order_release);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t reduce_chunk_elements(const struct native_reduce *reduce)
{
	return NATIVE_SLOT / reduce->size;
}

static size_t reduce_chunk_count(const struct native_reduce *reduce, uint64_t chunk)
{
	size_t length = reduce_chunk_elements(reduce);

	return smaller(length, reduce->op.count - (size_t)chunk * length);
}

/* The part of a chunk that a rank reduces. */
static void reduce_part(const struct native_reducer *reducer, size_t count, int32_t rank, size_t *ret_from,
                        size_t *ret_count)
{
	size_t world = (size_t)reducer->segment->world;
	size_t length = (count + world - 1) / world;

	length = (length + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
	*ret_from = smaller(length * (size_t)rank, count);
	*ret_count = smaller(length, count - *ret_from);
}

static struct native_progress *reduce_mine(const struct native_reducer *reducer)
{
	return native_segment_progress(reducer->segment, reducer->segment->rank);
}

static void reduce_divide(const struct native_reducer *reducer, const struct native_reduce *reduce, void *data,
                          size_t count)
{
	if (reduce->op.reduce == RH_COMM_AVG)
		reducer->team->divide(data, count, reduce->op.type, reducer->segment->world);
}

/* The slot was used NATIVE_SLOTS chunks ago; all must have taken what they wanted from it. */
static bool reduce_may_stage(const struct native_reducer *reducer, uint64_t number)
{
	for (int32_t rank = 0; rank < reducer->segment->world && number >= NATIVE_SLOTS; rank++) {
		if (counter_get(&native_segment_progress(reducer->segment, rank)->consumed) < number - NATIVE_SLOTS + 1)
			return false;
	}
	return true;
}

static void reduce_stage(const struct native_reducer *reducer, struct native_reduce *reduce)
{
	uint64_t number = reduce->number + reduce->staged;
	size_t count = reduce_chunk_count(reduce, reduce->staged);
	char *slot = native_segment_slot(reducer->segment, reducer->segment->rank, number);
	const char *in = (const char *)reduce->op.in + reduce->staged * reduce_chunk_elements(reduce) * reduce->size;

	for (int32_t rank = 0; rank < reducer->segment->world; rank++) {
		size_t from;
		size_t part;

		reduce_part(reducer, count, rank, &from, &part);
		if (rank != reducer->segment->rank)
			memcpy(slot + from * reduce->size, in + from * reduce->size, part * reduce->size);
	}
	reduce->staged++;
	counter_set(&reduce_mine(reducer)->staged, number + 1);
}

static bool reduce_all_reached(const struct native_reducer *reducer, size_t offset, uint64_t value)
{
	for (int32_t rank = 0; rank < reducer->segment->world; rank++) {
		const char *progress = (const char *)native_segment_progress(reducer->segment, rank);

		if (counter_get((const struct native_counter *)(const void *)(progress + offset)) < value)
			return false;
	}
	return true;
}

static void reduce_own_part(const struct native_reducer *reducer, struct native_reduce *reduce)
{
	const struct native_segment *segment = reducer->segment;
	uint64_t number = reduce->number + reduce->reduced;
	size_t at = reduce->reduced * reduce_chunk_elements(reduce);
	size_t from;
	size_t part;
	const char *first = NULL;
	char *sum;

	reduce_part(reducer, reduce_chunk_count(reduce, reduce->reduced), segment->rank, &from, &part);
	sum = native_segment_slot(segment, segment->rank, number) + from * reduce->size;
	for (int32_t rank = 0; rank < segment->world; rank++) {
		const char *next = rank == segment->rank ? (const char *)reduce->op.in + (at + from) * reduce->size
		                                         : native_segment_slot(segment, rank, number) + from * reduce->size;

		if (first)
			reducer->team->reduce(sum, first, next, part, reduce->op.type, reduce->op.reduce);
		first = first ? sum : next;
	}
	reduce_divide(reducer, reduce, sum, part);
	memcpy((char *)reduce->op.out + (at + from) * reduce->size, sum, part * reduce->size);
	reduce->reduced++;
	counter_set(&reduce_mine(reducer)->reduced, number + 1);
}

static void reduce_consume(const struct native_reducer *reducer, struct native_reduce *reduce)
{
	const struct native_segment *segment = reducer->segment;
	uint64_t number = reduce->number + reduce->consumed;
	size_t count = reduce_chunk_count(reduce, reduce->consumed);
	char *out = (char *)reduce->op.out + reduce->consumed * reduce_chunk_elements(reduce) * reduce->size;

	for (int32_t rank = 0; rank < segment->world; rank++) {
		size_t from;
		size_t part;

		reduce_part(reducer, count, rank, &from, &part);
		if (rank != segment->rank)
			memcpy(out + from * reduce->size, native_segment_slot(segment, rank, number) + from * reduce->size,
			       part * reduce->size);
	}
	reduce->consumed++;
	counter_set(&reduce_mine(reducer)->consumed, number + 1);
}

/* One step of each kind, as far as the others allow. @return whether anything moved */
static bool reduce_step(const struct native_reducer *reducer, struct native_reduce *reduce)
{
	bool moved = false;

	if (reduce->staged < reduce->chunks && reduce_may_stage(reducer, reduce->number + reduce->staged)) {
		reduce_stage(reducer, reduce);
		moved = true;
	}
	if (reduce->reduced < reduce->staged &&
	    reduce_all_reached(reducer, offsetof(struct native_progress, staged), reduce->number + reduce->reduced + 1)) {
		reduce_own_part(reducer, reduce);
		moved = true;
	}
	if (reduce->consumed < reduce->reduced &&
	    reduce_all_reached(reducer, offsetof(struct native_progress, reduced), reduce->number + reduce->consumed + 1)) {
		reduce_consume(reducer, reduce);
		moved = true;
	}
	return moved;
}

static void flat_publish(const struct native_reducer *reducer, const struct native_reduce *reduce)
{
	char *slot = native_segment_flat(reducer->segment, reducer->segment->rank, reduce->number);

	memcpy(slot, reduce->op.in, reduce->op.count * reduce->size);
	counter_set(&reduce_mine(reducer)->flat, reduce->number);
}

static void flat_sum(const struct native_reducer *reducer, const struct native_reduce *reduce)
{
	const struct native_segment *segment = reducer->segment;
	const char *first = native_segment_flat(segment, 0, reduce->number);

	for (int32_t rank = 1; rank < segment->world; rank++) {
		reducer->team->reduce(reduce->op.out, first, native_segment_flat(segment, rank, reduce->number),
		                      reduce->op.count, reduce->op.type, reduce->op.reduce);
		first = reduce->op.out;
	}
	reduce_divide(reducer, reduce, reduce->op.out, reduce->op.count);
}

/* The next one in the row takes its numbers; all ranks have the same row. */
static void reduce_begin(struct native_reducer *reducer, struct native_reduce *reduce)
{
	reduce->begun = true;
	if (reduce->chunks == 0) {
		reduce->number = ++reducer->flat;
		flat_publish(reducer, reduce);
		return;
	}
	reduce->number = reducer->chunks;
	reducer->chunks += reduce->chunks;
}

static void reduce_move(const struct native_reducer *reducer, struct native_reduce *reduce)
{
	if (reduce->chunks == 0) {
		reduce->done = reduce_all_reached(reducer, offsetof(struct native_progress, flat), reduce->number);
		if (reduce->done)
			flat_sum(reducer, reduce);
		return;
	}
	while (reduce_step(reducer, reduce))
		continue;
	reduce->done = reduce->consumed == reduce->chunks;
}

static void reducer_run(struct native_reducer *reducer)
{
	while (reducer->first) {
		struct native_reduce *reduce = reducer->first;

		if (!reduce->begun)
			reduce_begin(reducer, reduce);
		reduce_move(reducer, reduce);
		if (!reduce->done)
			return;
		reducer->first = reduce->next;
		if (!reducer->first)
			reducer->last = &reducer->first;
	}
}

static void reduce_recycle(struct native_reducer *reducer, struct native_reduce *reduce)
{
	reduce->next = reducer->spare;
	reducer->spare = reduce;
}

int32_t native_reduce_post(struct native_reducer *reducer, const struct rh_comm_op *op,
                           struct native_reduce **ret_reduce)
{
	struct native_reduce *reduce = reducer->spare;

	if (reduce)
		reducer->spare = reduce->next;
	else
		reduce = malloc(sizeof(*reduce));
	if (!reduce)
		return RH_COMM_ENOMEM;
	*reduce = (struct native_reduce){.kind = NATIVE_REDUCE, .op = *op, .size = rh_comm_type_size(op->type)};
	if (op->count * reduce->size > NATIVE_FLAT)
		reduce->chunks = (op->count - 1) / reduce_chunk_elements(reduce) + 1;
	*reducer->last = reduce;
	reducer->last = &reduce->next;
	*ret_reduce = native_reduce_test(reducer, reduce) ? NULL : reduce;
	return 0;
}

bool native_reduce_test(struct native_reducer *reducer, struct native_reduce *reduce)
{
	if (!reduce->done)
		reducer_run(reducer);
	if (!reduce->done)
		return false;
	reduce_recycle(reducer, reduce);
	return true;
}

void native_reducer_init(struct native_reducer *reducer, const struct rh_comm_team *team,
                         const struct native_segment *segment)
{
	*reducer = (struct native_reducer){.team = team, .segment = segment};
	reducer->last = &reducer->first;
}

static void reduce_free_row(struct native_reduce *reduce)
{
	while (reduce) {
		struct native_reduce *next = reduce->next;

		free(reduce);
		reduce = next;
	}
}

void native_reducer_deinit(struct native_reducer *reducer)
{
	reduce_free_row(reducer->first);
	reduce_free_row(reducer->spare);
}
