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
#include "comm/native/copy.h"
#include "comm/native/shm.h"

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

static uint64_t id_counter_get(const struct native_id_counter *counter)
{
	return atomic_load_explicit(&counter->value, memory_order_acquire);
}

static void id_counter_set(struct native_id_counter *counter, uint64_t value)
{
	atomic_store_explicit(&counter->value, value, memory_order_release);
}

/* Before the counter shows that the operation that begins with `number` exists. */
static void id_counter_set_id(struct native_id_counter *counter, uint64_t number, uint64_t id)
{
	atomic_store_explicit(&counter->ids[number % NATIVE_IDS], id, memory_order_relaxed);
}

static uint64_t id_counter_id(const struct native_id_counter *counter, uint64_t number)
{
	return atomic_load_explicit(&counter->ids[number % NATIVE_IDS], memory_order_relaxed);
}

static void counter_set(struct native_counter *counter, uint64_t value)
{
	atomic_store_explicit(&counter->value, value, memory_order_release);
}

/* The elements of a chunk: of the vector, or of each rank's part. */
static struct span shm_task_chunk(const struct native_shm_task *task, uint64_t number)
{
	size_t from = (size_t)number * task->chunk;

	return (struct span){from, rh_comm_smaller(task->chunk, task->op.count - from)};
}

/* The part of a chunk of `count` elements that a rank reduces. */
static struct span shm_task_part(const struct native_shm_queue *queue, size_t count, int32_t rank)
{
	size_t world = (size_t)queue->segment->world;
	size_t length = (count + world - 1) / world;
	struct span part;

	length = (length + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
	part.from = rh_comm_smaller(length * (size_t)rank, count);
	part.count = rh_comm_smaller(length, count - part.from);
	return part;
}

static const char *shm_task_in(const struct native_shm_task *task, size_t element)
{
	return (const char *)task->op.in + element * task->size;
}

static char *shm_task_out(const struct native_shm_task *task, size_t element)
{
	return (char *)task->op.out + element * task->size;
}

static char *shm_task_slot(const struct native_shm_queue *queue, const struct native_shm_task *task, int32_t rank,
                           uint64_t chunk, size_t element)
{
	return native_segment_slot(queue->segment, rank, task->number + chunk) + element * task->size;
}

static bool shm_task_is_root(const struct native_shm_queue *queue, const struct native_shm_task *task)
{
	return task->op.what == RH_COMM_BROADCAST && queue->team->rank == task->op.peer;
}

static struct native_progress *shm_task_own_progress(const struct native_shm_queue *queue)
{
	return native_segment_progress(queue->segment, queue->segment->rank);
}

static void shm_task_divide(const struct native_shm_queue *queue, const struct native_shm_task *task, void *data,
                            size_t count)
{
	if (task->op.reduce == RH_COMM_AVG)
		queue->team->divide(data, count, task->op.type, queue->segment->world);
}

static void shm_task_publish(const struct native_shm_task *task, void *to, const void *from, size_t length)
{
	if (task->cached)
		memcpy(to, from, length);
	else
		native_copy_for_others(to, from, length);
}

static bool shm_task_all_reached(const struct native_shm_queue *queue, size_t offset, uint64_t value)
{
	for (int32_t rank = 0; rank < queue->segment->world; rank++) {
		const char *progress = (const char *)native_segment_progress(queue->segment, rank);

		if (counter_get((const struct native_counter *)(const void *)(progress + offset)) < value)
			return false;
	}
	return true;
}

/* The slot was used NATIVE_SLOTS chunks ago; all must have read their parts of it. */
static bool shm_task_may_stage(const struct native_shm_queue *queue, const struct native_shm_task *task)
{
	uint64_t number = task->number + task->staged;

	if (task->op.what == RH_COMM_BROADCAST && !shm_task_is_root(queue, task))
		return true;
	return number < NATIVE_SLOTS ||
	       shm_task_all_reached(queue, offsetof(struct native_progress, consumed), number - NATIVE_SLOTS + 1);
}

static bool shm_task_may_reduce(const struct native_shm_queue *queue, const struct native_shm_task *task)
{
	if (task->op.what != RH_COMM_ALL_REDUCE && task->op.what != RH_COMM_REDUCE_SCATTER)
		return true;
	return shm_task_all_reached(queue, offsetof(struct native_progress, staged), task->number + task->reduced + 1);
}

static bool shm_task_may_consume(const struct native_shm_queue *queue, const struct native_shm_task *task)
{
	uint64_t number = task->number + task->consumed + 1;

	switch (task->op.what) {
	case RH_COMM_ALL_REDUCE:
		return shm_task_all_reached(queue, offsetof(struct native_progress, reduced), number);
	case RH_COMM_ALL_GATHER:
		return shm_task_all_reached(queue, offsetof(struct native_progress, staged), number);
	case RH_COMM_BROADCAST:
		return id_counter_get(&native_segment_progress(queue->segment, task->op.peer)->staged) >= number;
	default:
		return true;
	}
}

static void shm_task_stage_parts(const struct native_shm_queue *queue, const struct native_shm_task *task,
                                 const struct span *chunk)
{
	bool scatter = task->op.what == RH_COMM_REDUCE_SCATTER;

	for (int32_t rank = 0; rank < queue->segment->world; rank++) {
		struct span part = scatter ? (struct span){(size_t)rank * task->chunk, chunk->count}
		                           : shm_task_part(queue, chunk->count, rank);
		size_t from = scatter ? (size_t)rank * task->op.count + chunk->from : chunk->from + part.from;

		if (rank != queue->segment->rank)
			shm_task_publish(task, shm_task_slot(queue, task, queue->segment->rank, task->staged, part.from),
			                 shm_task_in(task, from), part.count * task->size);
	}
}

static void shm_task_stage(const struct native_shm_queue *queue, struct native_shm_task *task)
{
	struct span chunk = shm_task_chunk(task, task->staged);

	if (task->op.what == RH_COMM_ALL_REDUCE || task->op.what == RH_COMM_REDUCE_SCATTER)
		shm_task_stage_parts(queue, task, &chunk);
	else if (task->op.what == RH_COMM_ALL_GATHER || shm_task_is_root(queue, task))
		shm_task_publish(task, shm_task_slot(queue, task, queue->segment->rank, task->staged, 0),
		                 shm_task_in(task, chunk.from), chunk.count * task->size);
	native_copy_settle();
	if (task->staged == 0)
		id_counter_set_id(&shm_task_own_progress(queue)->staged, task->number, task->id);
	task->staged++;
	id_counter_set(&shm_task_own_progress(queue)->staged, task->number + task->staged);
}

/* out = the sum over all ranks of the data at `at` in their slots; the own elements are in `in`. */
static void shm_task_sum(const struct native_shm_queue *queue, const struct native_shm_task *task, size_t at,
                         const char *in, char *out, size_t count)
{
	const struct native_segment *segment = queue->segment;
	const char *first = NULL;

	for (int32_t rank = 0; rank < segment->world; rank++) {
		const char *next = rank == segment->rank ? in : shm_task_slot(queue, task, rank, task->reduced, at);

		if (first)
			queue->team->reduce(out, first, next, count, task->op.type, task->op.reduce);
		first = first ? out : next;
	}
	shm_task_divide(queue, task, out, count);
}

/*
 * The others find the own part's sum in the own slot. Where the result may lie where the input does, it must not be
 * written before all of it is read: only of two ranks each is one of the first two that are added.
 */
static void shm_task_reduce_part(const struct native_shm_queue *queue, const struct native_shm_task *task,
                                 const struct span *chunk)
{
	struct span part = shm_task_part(queue, chunk->count, queue->segment->rank);
	size_t tile = TILE_BYTES / task->size;
	_Alignas(NATIVE_LINE) char room[TILE_BYTES];

	for (size_t done = 0; done < part.count; done += tile) {
		size_t at = part.from + done;
		size_t count = rh_comm_smaller(tile, part.count - done);
		char *out = shm_task_out(task, chunk->from + at);
		char *sum = queue->segment->world == 2 ? out : room;

		shm_task_sum(queue, task, at, shm_task_in(task, chunk->from + at), sum, count);
		shm_task_publish(task, shm_task_slot(queue, task, queue->segment->rank, task->reduced, at), sum,
		                 count * task->size);
		if (sum != out)
			memcpy(out, sum, count * task->size);
	}
	native_copy_settle();
}

static void shm_task_reduce(const struct native_shm_queue *queue, struct native_shm_task *task)
{
	struct span chunk = shm_task_chunk(task, task->reduced);
	size_t own = (size_t)queue->segment->rank;
	const char *in = shm_task_in(task, chunk.from);
	char *out = shm_task_out(task, chunk.from);

	if (task->op.what == RH_COMM_ALL_GATHER)
		out = shm_task_out(task, own * task->op.count + chunk.from);
	if (task->op.what == RH_COMM_ALL_REDUCE)
		shm_task_reduce_part(queue, task, &chunk);
	else if (task->op.what == RH_COMM_REDUCE_SCATTER)
		shm_task_sum(queue, task, own * task->chunk, shm_task_in(task, own * task->op.count + chunk.from), out,
		             chunk.count);
	else if (out != in && (task->op.what == RH_COMM_ALL_GATHER || shm_task_is_root(queue, task)))
		memmove(out, in, chunk.count * task->size);
	task->reduced++;
	counter_set(&shm_task_own_progress(queue)->reduced, task->number + task->reduced);
}

/* What rank `rank` has for this one. */
static void shm_task_consume_from(const struct native_shm_queue *queue, const struct native_shm_task *task,
                                  int32_t rank)
{
	struct span chunk = shm_task_chunk(task, task->consumed);
	struct span part = {0, chunk.count};
	size_t to = chunk.from;

	if (task->op.what == RH_COMM_ALL_GATHER)
		to += (size_t)rank * task->op.count;
	else if (task->op.what == RH_COMM_ALL_REDUCE)
		part = shm_task_part(queue, chunk.count, rank);
	memcpy(shm_task_out(task, to + part.from), shm_task_slot(queue, task, rank, task->consumed, part.from),
	       part.count * task->size);
}

static void shm_task_consume(const struct native_shm_queue *queue, struct native_shm_task *task)
{
	for (int32_t rank = 0; rank < queue->segment->world && task->op.what != RH_COMM_REDUCE_SCATTER; rank++) {
		if (rank != queue->segment->rank && (task->op.what != RH_COMM_BROADCAST || rank == task->op.peer))
			shm_task_consume_from(queue, task, rank);
	}
	task->consumed++;
	counter_set(&shm_task_own_progress(queue)->consumed, task->number + task->consumed);
}

/* All others, or one of them, have begun: @return whether they do the same; if not, the queue stops */
static bool shm_task_agrees(struct native_shm_queue *queue, const struct native_shm_task *task, int32_t from,
                            int32_t to)
{
	for (int32_t rank = from; rank < to; rank++) {
		if (id_counter_id(&native_segment_progress(queue->segment, rank)->staged, task->number) == task->id)
			continue;
		queue->odd = rank;
		return false;
	}
	return true;
}

/*
 * A root does not wait: it checks whether the ranks that began before it, or soon after, do the same. Who begins
 * later looks at the root. Whoever that misses is found with the next operation, whose id is of all before it, too.
 */
static bool shm_task_root_agrees(struct native_shm_queue *queue, const struct native_shm_task *task)
{
	for (int32_t rank = 0; rank < queue->segment->world; rank++) {
		if (id_counter_get(&native_segment_progress(queue->segment, rank)->staged) > task->number &&
		    !shm_task_agrees(queue, task, rank, rank + 1))
			return false;
	}
	return true;
}

/* Before anything of others is read or their room written to. */
static bool shm_task_may_begin_reduce(struct native_shm_queue *queue, const struct native_shm_task *task)
{
	if (!shm_task_may_reduce(queue, task))
		return false;
	if (task->reduced > 0 || task->op.what == RH_COMM_ALL_GATHER || task->op.what == RH_COMM_BROADCAST)
		return true;
	return shm_task_agrees(queue, task, 0, queue->segment->world);
}

static bool shm_task_may_begin_consume(struct native_shm_queue *queue, const struct native_shm_task *task)
{
	if (!shm_task_may_consume(queue, task))
		return false;
	if (task->consumed > 0 || task->op.what == RH_COMM_ALL_REDUCE || task->op.what == RH_COMM_REDUCE_SCATTER)
		return true;
	if (task->op.what == RH_COMM_ALL_GATHER)
		return shm_task_agrees(queue, task, 0, queue->segment->world);
	if (shm_task_is_root(queue, task))
		return shm_task_root_agrees(queue, task);
	return shm_task_agrees(queue, task, task->op.peer, task->op.peer + 1);
}

/* One step of each kind, as far as the others allow. @return whether anything moved */
static bool shm_task_step(struct native_shm_queue *queue, struct native_shm_task *task)
{
	bool moved = false;

	if (task->staged < task->chunks && shm_task_may_stage(queue, task)) {
		shm_task_stage(queue, task);
		moved = true;
	}
	if (task->reduced < task->staged && shm_task_may_begin_reduce(queue, task)) {
		shm_task_reduce(queue, task);
		moved = true;
	}
	if (task->consumed < task->reduced && shm_task_may_begin_consume(queue, task)) {
		shm_task_consume(queue, task);
		moved = true;
	}
	if (moved)
		native_wakeup_signal_all(queue->segment);
	return moved;
}

static bool shm_task_flat_is_tiny(const struct native_shm_task *task)
{
	return task->op.count * task->size <= NATIVE_TINY;
}

static struct native_tiny *shm_task_flat_tiny(const struct native_shm_queue *queue, const struct native_shm_task *task,
                                              int32_t rank)
{
	return &native_segment_progress(queue->segment, rank)->tiny[task->number % 2];
}

static void shm_task_flat_publish(const struct native_shm_queue *queue, const struct native_shm_task *task)
{
	int32_t rank = queue->segment->rank;
	size_t length = task->op.count * task->size;

	if (shm_task_flat_is_tiny(task)) {
		struct native_tiny *tiny = shm_task_flat_tiny(queue, task, rank);

		memcpy(tiny->data, task->op.in, length);
		atomic_store_explicit(&tiny->id, task->id, memory_order_relaxed);
		atomic_store_explicit(&tiny->value, task->number, memory_order_release);
	} else {
		memcpy(native_segment_flat(queue->segment, rank, task->number), task->op.in, length);
		id_counter_set_id(&shm_task_own_progress(queue)->flat, task->number, task->id);
		id_counter_set(&shm_task_own_progress(queue)->flat, task->number);
	}
	native_wakeup_signal_all(queue->segment);
}

static bool shm_task_flat_is_there(const struct native_shm_queue *queue, const struct native_shm_task *task)
{
	if (!shm_task_flat_is_tiny(task))
		return shm_task_all_reached(queue, offsetof(struct native_progress, flat), task->number);
	for (int32_t rank = 0; rank < queue->segment->world; rank++) {
		if (atomic_load_explicit(&shm_task_flat_tiny(queue, task, rank)->value, memory_order_acquire) < task->number)
			return false;
	}
	return true;
}

static uint64_t shm_task_flat_id(const struct native_shm_queue *queue, const struct native_shm_task *task, int32_t rank)
{
	if (shm_task_flat_is_tiny(task))
		return atomic_load_explicit(&shm_task_flat_tiny(queue, task, rank)->id, memory_order_relaxed);
	return id_counter_id(&native_segment_progress(queue->segment, rank)->flat, task->number);
}

/* @return whether all that are there do the same */
static bool shm_task_flat_agrees(struct native_shm_queue *queue, const struct native_shm_task *task)
{
	for (int32_t rank = 0; rank < queue->segment->world; rank++) {
		if (shm_task_flat_id(queue, task, rank) == task->id)
			continue;
		queue->odd = rank;
		return false;
	}
	return true;
}

static const char *shm_task_flat_vector(const struct native_shm_queue *queue, const struct native_shm_task *task,
                                        int32_t rank)
{
	if (shm_task_flat_is_tiny(task))
		return shm_task_flat_tiny(queue, task, rank)->data;
	return native_segment_flat(queue->segment, rank, task->number);
}

static void shm_task_flat_sum(const struct native_shm_queue *queue, const struct native_shm_task *task)
{
	const char *first = shm_task_flat_vector(queue, task, 0);

	for (int32_t rank = 1; rank < queue->segment->world; rank++) {
		queue->team->reduce(task->op.out, first, shm_task_flat_vector(queue, task, rank), task->op.count, task->op.type,
		                    task->op.reduce);
		first = task->op.out;
	}
	shm_task_divide(queue, task, task->op.out, task->op.count);
}

static int64_t shm_task_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Local rank 0 measures and publishes its choice; a rank that has not read it yet uses the other one, which is slower.
 */
static void shm_task_choose_policy(struct native_shm_queue *queue, struct native_shm_task *task)
{
	struct native_counter *published = &native_segment_progress(queue->segment, 0)->cached;
	size_t bytes = task->op.count * task->size;
	uint64_t bit = UINT64_C(1) << native_copy_class(bytes);
	uint64_t bits = counter_get(published);

	/* where ranks share a processor, what one has written is in the other's cache already */
	task->cached = queue->team->crowded || (bits & bit) != 0;
	if (queue->team->crowded || queue->segment->rank != 0)
		return;
	task->since = shm_task_now();
	task->cached = native_copy_policy_choose(&queue->policy, bytes);
	if (task->cached != ((bits & bit) != 0))
		counter_set(published, bits ^ bit);
}

static void shm_task_update_policy(struct native_shm_queue *queue, const struct native_shm_task *task)
{
	if (task->chunks > 0 && !queue->team->crowded && queue->segment->rank == 0)
		native_copy_policy_update(&queue->policy, task->op.count * task->size, shm_task_now() - task->since);
}

/* The next one in the row takes its numbers; all ranks have the same row. */
static void shm_task_begin(struct native_shm_queue *queue, struct native_shm_task *task)
{
	task->begun = true;
	if (task->chunks == 0) {
		task->number = ++queue->flat;
		shm_task_flat_publish(queue, task);
		return;
	}
	task->number = queue->chunks;
	queue->chunks += task->chunks;
	shm_task_choose_policy(queue, task);
}

static void shm_task_move(struct native_shm_queue *queue, struct native_shm_task *task)
{
	if (task->chunks == 0) {
		task->done = shm_task_flat_is_there(queue, task) && shm_task_flat_agrees(queue, task);
		if (task->done)
			shm_task_flat_sum(queue, task);
		return;
	}
	while (shm_task_step(queue, task) && queue->odd == RH_COMM_NO_RANK)
		continue;
	task->done = task->consumed == task->chunks;
}

void native_shm_queue_progress(struct native_shm_queue *queue)
{
	while (queue->first && queue->odd == RH_COMM_NO_RANK) {
		struct native_shm_task *task = queue->first;

		if (!task->begun)
			shm_task_begin(queue, task);
		shm_task_move(queue, task);
		if (!task->done)
			return;
		shm_task_update_policy(queue, task);
		queue->first = task->next;
		if (!queue->first)
			queue->last = &queue->first;
	}
}
