/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of a world that is one host. Small all-reduces go flat: every rank publishes its vector and sums all. The
 * rest goes through staging slots in chunks, three steps each that overlap between chunks: copy in what others need,
 * reduce the own part, copy the others' results out. Each rank reduces its part in the order of ranks. Gathers and
 * broadcasts take the same steps, of which some do nothing, so that one row of counters serves all.
 */
#include <string.h>
#include <time.h>

#include "comm/core/collective/smaller.h"
#include "comm/native/native.h"

#define PART_ALIGN 16
/* Elements are reduced in pieces that stay in the first cache until they are copied on. */
#define TILE_BYTES 8192

/* Some elements of a rank's part. */
struct span {
	size_t from;
	size_t count;
};

static uint64_t counter_get(const struct native_counter *counter)
{
	return atomic_load_explicit(&counter->value, memory_order_acquire);
}

static uint64_t noted_get(const struct native_noted *noted)
{
	return atomic_load_explicit(&noted->value, memory_order_acquire);
}

static void noted_set(struct native_noted *noted, uint64_t value)
{
	atomic_store_explicit(&noted->value, value, memory_order_release);
}

/* Before the counter says that the operation which begins with `number` is there. */
static void noted_name(struct native_noted *noted, uint64_t number, uint64_t id)
{
	atomic_store_explicit(&noted->ids[number % NATIVE_IDS], id, memory_order_relaxed);
}

static uint64_t noted_id(const struct native_noted *noted, uint64_t number)
{
	return atomic_load_explicit(&noted->ids[number % NATIVE_IDS], memory_order_relaxed);
}

static void counter_set(struct native_counter *counter, uint64_t value)
{
	atomic_store_explicit(&counter->value, value, memory_order_release);
}

/* The elements of a chunk: of the vector, or of each rank's part. */
static struct span shared_chunk(const struct native_shared *shared, uint64_t number)
{
	size_t from = (size_t)number * shared->chunk;

	return (struct span){from, rh_comm_smaller(shared->chunk, shared->op.count - from)};
}

/* The part of a chunk of `count` elements that a rank reduces. */
static struct span shared_part(const struct native_sharer *sharer, size_t count, int32_t rank)
{
	size_t world = (size_t)sharer->segment->world;
	size_t length = (count + world - 1) / world;
	struct span part;

	length = (length + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
	part.from = rh_comm_smaller(length * (size_t)rank, count);
	part.count = rh_comm_smaller(length, count - part.from);
	return part;
}

static const char *shared_in(const struct native_shared *shared, size_t element)
{
	return (const char *)shared->op.in + element * shared->size;
}

static char *shared_out(const struct native_shared *shared, size_t element)
{
	return (char *)shared->op.out + element * shared->size;
}

static char *shared_slot(const struct native_sharer *sharer, const struct native_shared *shared, int32_t rank,
                         uint64_t chunk, size_t element)
{
	return native_segment_slot(sharer->segment, rank, shared->number + chunk) + element * shared->size;
}

static bool shared_is_root(const struct native_sharer *sharer, const struct native_shared *shared)
{
	return shared->op.what == RH_COMM_BROADCAST && sharer->team->rank == shared->op.peer;
}

static struct native_progress *sharer_mine(const struct native_sharer *sharer)
{
	return native_segment_progress(sharer->segment, sharer->segment->rank);
}

static void shared_divide(const struct native_sharer *sharer, const struct native_shared *shared, void *data,
                          size_t count)
{
	if (shared->op.reduce == RH_COMM_AVG)
		sharer->team->divide(data, count, shared->op.type, sharer->segment->world);
}

static void shared_publish(const struct native_shared *shared, void *to, const void *from, size_t length)
{
	if (shared->cached)
		memcpy(to, from, length);
	else
		native_copy_for_others(to, from, length);
}

static bool sharer_all_reached(const struct native_sharer *sharer, size_t offset, uint64_t value)
{
	for (int32_t rank = 0; rank < sharer->segment->world; rank++) {
		const char *progress = (const char *)native_segment_progress(sharer->segment, rank);

		if (counter_get((const struct native_counter *)(const void *)(progress + offset)) < value)
			return false;
	}
	return true;
}

/* The slot was used NATIVE_SLOTS chunks ago; all must have taken what they wanted from it. */
static bool shared_may_stage(const struct native_sharer *sharer, const struct native_shared *shared)
{
	uint64_t number = shared->number + shared->staged;

	if (shared->op.what == RH_COMM_BROADCAST && !shared_is_root(sharer, shared))
		return true;
	return number < NATIVE_SLOTS ||
	       sharer_all_reached(sharer, offsetof(struct native_progress, consumed), number - NATIVE_SLOTS + 1);
}

static bool shared_may_reduce(const struct native_sharer *sharer, const struct native_shared *shared)
{
	if (shared->op.what != RH_COMM_ALL_REDUCE && shared->op.what != RH_COMM_REDUCE_SCATTER)
		return true;
	return sharer_all_reached(sharer, offsetof(struct native_progress, staged), shared->number + shared->reduced + 1);
}

static bool shared_may_consume(const struct native_sharer *sharer, const struct native_shared *shared)
{
	uint64_t number = shared->number + shared->consumed + 1;

	switch (shared->op.what) {
	case RH_COMM_ALL_REDUCE:
		return sharer_all_reached(sharer, offsetof(struct native_progress, reduced), number);
	case RH_COMM_ALL_GATHER:
		return sharer_all_reached(sharer, offsetof(struct native_progress, staged), number);
	case RH_COMM_BROADCAST:
		return noted_get(&native_segment_progress(sharer->segment, shared->op.peer)->staged) >= number;
	default:
		return true;
	}
}

static void shared_stage_parts(const struct native_sharer *sharer, const struct native_shared *shared,
                               const struct span *chunk)
{
	bool scatter = shared->op.what == RH_COMM_REDUCE_SCATTER;

	for (int32_t rank = 0; rank < sharer->segment->world; rank++) {
		struct span part = scatter ? (struct span){(size_t)rank * shared->chunk, chunk->count}
		                           : shared_part(sharer, chunk->count, rank);
		size_t from = scatter ? (size_t)rank * shared->op.count + chunk->from : chunk->from + part.from;

		if (rank != sharer->segment->rank)
			shared_publish(shared, shared_slot(sharer, shared, sharer->segment->rank, shared->staged, part.from),
			               shared_in(shared, from), part.count * shared->size);
	}
}

static void shared_stage(const struct native_sharer *sharer, struct native_shared *shared)
{
	struct span chunk = shared_chunk(shared, shared->staged);

	if (shared->op.what == RH_COMM_ALL_REDUCE || shared->op.what == RH_COMM_REDUCE_SCATTER)
		shared_stage_parts(sharer, shared, &chunk);
	else if (shared->op.what == RH_COMM_ALL_GATHER || shared_is_root(sharer, shared))
		shared_publish(shared, shared_slot(sharer, shared, sharer->segment->rank, shared->staged, 0),
		               shared_in(shared, chunk.from), chunk.count * shared->size);
	native_copy_settle();
	if (shared->staged == 0)
		noted_name(&sharer_mine(sharer)->staged, shared->number, shared->id);
	shared->staged++;
	noted_set(&sharer_mine(sharer)->staged, shared->number + shared->staged);
}

/* out = the sum over all ranks of what lies at `at` in their slots; the own elements come from `in`. */
static void shared_sum(const struct native_sharer *sharer, const struct native_shared *shared, size_t at,
                       const char *in, char *out, size_t count)
{
	const struct native_segment *segment = sharer->segment;
	const char *first = NULL;

	for (int32_t rank = 0; rank < segment->world; rank++) {
		const char *next = rank == segment->rank ? in : shared_slot(sharer, shared, rank, shared->reduced, at);

		if (first)
			sharer->team->reduce(out, first, next, count, shared->op.type, shared->op.reduce);
		first = first ? out : next;
	}
	shared_divide(sharer, shared, out, count);
}

/*
 * The others find the own part's sum in the own slot. Where the result may lie where the input does, it must not be
 * written before all of it is read: only of two ranks each is one of the first two that are added.
 */
static void shared_reduce_part(const struct native_sharer *sharer, const struct native_shared *shared,
                               const struct span *chunk)
{
	struct span part = shared_part(sharer, chunk->count, sharer->segment->rank);
	size_t tile = TILE_BYTES / shared->size;
	_Alignas(NATIVE_LINE) char room[TILE_BYTES];

	for (size_t done = 0; done < part.count; done += tile) {
		size_t at = part.from + done;
		size_t count = rh_comm_smaller(tile, part.count - done);
		char *out = shared_out(shared, chunk->from + at);
		char *sum = sharer->segment->world == 2 ? out : room;

		shared_sum(sharer, shared, at, shared_in(shared, chunk->from + at), sum, count);
		shared_publish(shared, shared_slot(sharer, shared, sharer->segment->rank, shared->reduced, at), sum,
		               count * shared->size);
		if (sum != out)
			memcpy(out, sum, count * shared->size);
	}
	native_copy_settle();
}

static void shared_reduce(const struct native_sharer *sharer, struct native_shared *shared)
{
	struct span chunk = shared_chunk(shared, shared->reduced);
	size_t own = (size_t)sharer->segment->rank;
	const char *in = shared_in(shared, chunk.from);
	char *out = shared_out(shared, chunk.from);

	if (shared->op.what == RH_COMM_ALL_GATHER)
		out = shared_out(shared, own * shared->op.count + chunk.from);
	if (shared->op.what == RH_COMM_ALL_REDUCE)
		shared_reduce_part(sharer, shared, &chunk);
	else if (shared->op.what == RH_COMM_REDUCE_SCATTER)
		shared_sum(sharer, shared, own * shared->chunk, shared_in(shared, own * shared->op.count + chunk.from), out,
		           chunk.count);
	else if (out != in && (shared->op.what == RH_COMM_ALL_GATHER || shared_is_root(sharer, shared)))
		memmove(out, in, chunk.count * shared->size);
	shared->reduced++;
	counter_set(&sharer_mine(sharer)->reduced, shared->number + shared->reduced);
}

/* What rank `rank` has for this one. */
static void shared_consume_from(const struct native_sharer *sharer, const struct native_shared *shared, int32_t rank)
{
	struct span chunk = shared_chunk(shared, shared->consumed);
	struct span part = {0, chunk.count};
	size_t to = chunk.from;

	if (shared->op.what == RH_COMM_ALL_GATHER)
		to += (size_t)rank * shared->op.count;
	else if (shared->op.what == RH_COMM_ALL_REDUCE)
		part = shared_part(sharer, chunk.count, rank);
	memcpy(shared_out(shared, to + part.from), shared_slot(sharer, shared, rank, shared->consumed, part.from),
	       part.count * shared->size);
}

static void shared_consume(const struct native_sharer *sharer, struct native_shared *shared)
{
	for (int32_t rank = 0; rank < sharer->segment->world && shared->op.what != RH_COMM_REDUCE_SCATTER; rank++) {
		if (rank != sharer->segment->rank && (shared->op.what != RH_COMM_BROADCAST || rank == shared->op.peer))
			shared_consume_from(sharer, shared, rank);
	}
	shared->consumed++;
	counter_set(&sharer_mine(sharer)->consumed, shared->number + shared->consumed);
}

/* All others, or one of them, have begun: @return whether they do the same; if not, nothing goes on */
static bool shared_agrees(struct native_sharer *sharer, const struct native_shared *shared, int32_t from, int32_t to)
{
	for (int32_t rank = from; rank < to; rank++) {
		if (noted_id(&native_segment_progress(sharer->segment, rank)->staged, shared->number) == shared->id)
			continue;
		sharer->odd = rank;
		return false;
	}
	return true;
}

/*
 * A root waits for nobody: it looks whether those that have begun before it, or a moment later, do the same. Who begins
 * later looks at the root. Whoever that misses is found with the next operation, whose id is of all before it, too.
 */
static bool shared_root_agrees(struct native_sharer *sharer, const struct native_shared *shared)
{
	for (int32_t rank = 0; rank < sharer->segment->world; rank++) {
		if (noted_get(&native_segment_progress(sharer->segment, rank)->staged) > shared->number &&
		    !shared_agrees(sharer, shared, rank, rank + 1))
			return false;
	}
	return true;
}

/* Before anything of others is read or their room written to. */
static bool shared_may_begin_reduce(struct native_sharer *sharer, const struct native_shared *shared)
{
	if (!shared_may_reduce(sharer, shared))
		return false;
	if (shared->reduced > 0 || shared->op.what == RH_COMM_ALL_GATHER || shared->op.what == RH_COMM_BROADCAST)
		return true;
	return shared_agrees(sharer, shared, 0, sharer->segment->world);
}

static bool shared_may_begin_consume(struct native_sharer *sharer, const struct native_shared *shared)
{
	if (!shared_may_consume(sharer, shared))
		return false;
	if (shared->consumed > 0 || shared->op.what == RH_COMM_ALL_REDUCE || shared->op.what == RH_COMM_REDUCE_SCATTER)
		return true;
	if (shared->op.what == RH_COMM_ALL_GATHER)
		return shared_agrees(sharer, shared, 0, sharer->segment->world);
	if (shared_is_root(sharer, shared))
		return shared_root_agrees(sharer, shared);
	return shared_agrees(sharer, shared, shared->op.peer, shared->op.peer + 1);
}

/* One step of each kind, as far as the others allow. @return whether anything moved */
static bool shared_step(struct native_sharer *sharer, struct native_shared *shared)
{
	bool moved = false;

	if (shared->staged < shared->chunks && shared_may_stage(sharer, shared)) {
		shared_stage(sharer, shared);
		moved = true;
	}
	if (shared->reduced < shared->staged && shared_may_begin_reduce(sharer, shared)) {
		shared_reduce(sharer, shared);
		moved = true;
	}
	if (shared->consumed < shared->reduced && shared_may_begin_consume(sharer, shared)) {
		shared_consume(sharer, shared);
		moved = true;
	}
	if (moved)
		native_bell_ring_all(sharer->segment);
	return moved;
}

static bool flat_is_tiny(const struct native_shared *shared)
{
	return shared->op.count * shared->size <= NATIVE_TINY;
}

static struct native_tiny *flat_tiny(const struct native_sharer *sharer, const struct native_shared *shared,
                                     int32_t rank)
{
	return &native_segment_progress(sharer->segment, rank)->tiny[shared->number % 2];
}

static void flat_publish(const struct native_sharer *sharer, const struct native_shared *shared)
{
	int32_t rank = sharer->segment->rank;
	size_t length = shared->op.count * shared->size;

	if (flat_is_tiny(shared)) {
		struct native_tiny *tiny = flat_tiny(sharer, shared, rank);

		memcpy(tiny->data, shared->op.in, length);
		atomic_store_explicit(&tiny->id, shared->id, memory_order_relaxed);
		atomic_store_explicit(&tiny->value, shared->number, memory_order_release);
	} else {
		memcpy(native_segment_flat(sharer->segment, rank, shared->number), shared->op.in, length);
		noted_name(&sharer_mine(sharer)->flat, shared->number, shared->id);
		noted_set(&sharer_mine(sharer)->flat, shared->number);
	}
	native_bell_ring_all(sharer->segment);
}

static bool flat_is_there(const struct native_sharer *sharer, const struct native_shared *shared)
{
	if (!flat_is_tiny(shared))
		return sharer_all_reached(sharer, offsetof(struct native_progress, flat), shared->number);
	for (int32_t rank = 0; rank < sharer->segment->world; rank++) {
		if (atomic_load_explicit(&flat_tiny(sharer, shared, rank)->value, memory_order_acquire) < shared->number)
			return false;
	}
	return true;
}

static uint64_t flat_id(const struct native_sharer *sharer, const struct native_shared *shared, int32_t rank)
{
	if (flat_is_tiny(shared))
		return atomic_load_explicit(&flat_tiny(sharer, shared, rank)->id, memory_order_relaxed);
	return noted_id(&native_segment_progress(sharer->segment, rank)->flat, shared->number);
}

/* @return whether all that are there do the same */
static bool flat_agrees(struct native_sharer *sharer, const struct native_shared *shared)
{
	for (int32_t rank = 0; rank < sharer->segment->world; rank++) {
		if (flat_id(sharer, shared, rank) == shared->id)
			continue;
		sharer->odd = rank;
		return false;
	}
	return true;
}

static const char *flat_vector(const struct native_sharer *sharer, const struct native_shared *shared, int32_t rank)
{
	if (flat_is_tiny(shared))
		return flat_tiny(sharer, shared, rank)->data;
	return native_segment_flat(sharer->segment, rank, shared->number);
}

static void flat_sum(const struct native_sharer *sharer, const struct native_shared *shared)
{
	const char *first = flat_vector(sharer, shared, 0);

	for (int32_t rank = 1; rank < sharer->segment->world; rank++) {
		sharer->team->reduce(shared->op.out, first, flat_vector(sharer, shared, rank), shared->op.count,
		                     shared->op.type, shared->op.reduce);
		first = shared->op.out;
	}
	shared_divide(sharer, shared, shared->op.out, shared->op.count);
}

static int64_t shared_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Local rank 0 measures, and says which way it goes; a rank that has not read it yet goes the other, which is slower.
 */
static void shared_choose_way(struct native_sharer *sharer, struct native_shared *shared)
{
	struct native_counter *said = &native_segment_progress(sharer->segment, 0)->cached;
	size_t bytes = shared->op.count * shared->size;
	uint64_t bit = UINT64_C(1) << native_way_class(bytes);
	uint64_t bits = counter_get(said);

	/* where ranks share a processor, what one has written is in the other's cache already */
	shared->cached = sharer->team->crowded || (bits & bit) != 0;
	if (sharer->team->crowded || sharer->segment->rank != 0)
		return;
	shared->since = shared_now();
	shared->cached = native_way_choose(&sharer->way, bytes);
	if (shared->cached != ((bits & bit) != 0))
		counter_set(said, bits ^ bit);
}

static void shared_learn_way(struct native_sharer *sharer, const struct native_shared *shared)
{
	if (shared->chunks > 0 && !sharer->team->crowded && sharer->segment->rank == 0)
		native_way_learn(&sharer->way, shared->op.count * shared->size, shared_now() - shared->since);
}

/* The next one in the row takes its numbers; all ranks have the same row. */
static void shared_begin(struct native_sharer *sharer, struct native_shared *shared)
{
	shared->begun = true;
	if (shared->chunks == 0) {
		shared->number = ++sharer->flat;
		flat_publish(sharer, shared);
		return;
	}
	shared->number = sharer->chunks;
	sharer->chunks += shared->chunks;
	shared_choose_way(sharer, shared);
}

static void shared_move(struct native_sharer *sharer, struct native_shared *shared)
{
	if (shared->chunks == 0) {
		shared->done = flat_is_there(sharer, shared) && flat_agrees(sharer, shared);
		if (shared->done)
			flat_sum(sharer, shared);
		return;
	}
	while (shared_step(sharer, shared) && sharer->odd == RH_COMM_NO_RANK)
		continue;
	shared->done = shared->consumed == shared->chunks;
}

void native_sharer_run(struct native_sharer *sharer)
{
	while (sharer->first && sharer->odd == RH_COMM_NO_RANK) {
		struct native_shared *shared = sharer->first;

		if (!shared->begun)
			shared_begin(sharer, shared);
		shared_move(sharer, shared);
		if (!shared->done)
			return;
		shared_learn_way(sharer, shared);
		sharer->first = shared->next;
		if (!sharer->first)
			sharer->last = &sharer->first;
	}
}
