/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/fair/queue.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/os/clock.h"

void rh_queue_deinit(struct rh_queue *queue)
{
	rh_free(queue->heap);
	*queue = (struct rh_queue){0};
}

static bool queue_before(const struct rh_queue_item *a, const struct rh_queue_item *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	if (a->late != b->late)
		return b->late;
	return a->turn != b->turn ? a->turn < b->turn : a->order < b->order;
}

/* Places count from 1, so that the parent of place p is p / 2. */
static void queue_put(struct rh_queue *queue, struct rh_queue_item *item, size_t place)
{
	queue->heap[place - 1] = item;
	item->place = place;
}

static void queue_rise(struct rh_queue *queue, struct rh_queue_item *item)
{
	size_t place = item->place;

	while (place > 1 && queue_before(item, queue->heap[place / 2 - 1])) {
		queue_put(queue, queue->heap[place / 2 - 1], place);
		place /= 2;
	}
	queue_put(queue, item, place);
}

static void queue_sink(struct rh_queue *queue, struct rh_queue_item *item)
{
	size_t place = item->place;

	while (2 * place <= queue->count) {
		size_t child = 2 * place;

		if (child < queue->count && queue_before(queue->heap[child], queue->heap[child - 1]))
			child++;
		if (queue_before(item, queue->heap[child - 1]))
			break;
		queue_put(queue, queue->heap[child - 1], place);
		place = child;
	}
	queue_put(queue, item, place);
}

static void queue_remove(struct rh_queue *queue, struct rh_queue_item *item)
{
	size_t place = item->place;
	struct rh_queue_item *last = queue->heap[queue->count - 1];

	queue->count--;
	item->place = 0;
	if (last == item)
		return;
	queue_put(queue, last, place);
	queue_rise(queue, last);
	queue_sink(queue, last);
}

int rh_queue_join(struct rh_queue *queue)
{
	if (queue->members == queue->capacity) {
		size_t capacity = queue->capacity ? queue->capacity * 2 : 16;
		struct rh_queue_item **heap = rh_realloc_array(queue->heap, capacity, sizeof(struct rh_queue_item *));

		if (!heap)
			return RH_ENOMEM;
		queue->heap = heap;
		queue->capacity = capacity;
	}
	queue->members++;
	return 0;
}

void rh_queue_leave(struct rh_queue *queue, struct rh_queue_item *item)
{
	if (item->place > 0)
		queue_remove(queue, item);
	queue->members--;
}

/*
 * A key queues behind the other keys of its flow; an idle flow gets the next turn and has no credit. A key that is due
 * later has no turn yet: its time orders it.
 */
static void queue_set_time(struct rh_queue *queue, struct rh_queue_item *item, int64_t at)
{
	struct rh_queue_flow *flow = item->flow ? item->flow : &queue->common;

	item->at = at;
	item->order = queue->orders++;
	item->turn = 0;
	if (at > RH_QUEUE_NOW)
		return;
	flow->turn++;
	if (flow->turn < queue->turn)
		flow->turn = queue->turn;
	item->turn = flow->turn;
}

void rh_queue_add(struct rh_queue *queue, struct rh_queue_item *item, int64_t at)
{
	if (item->place > 0) {
		if (item->at <= at)
			return;
		queue_set_time(queue, item, at);
		queue_rise(queue, item);
		return;
	}
	queue_set_time(queue, item, at);
	item->place = ++queue->count;
	queue_rise(queue, item);
}

struct rh_queue_item *rh_queue_take(struct rh_queue *queue, int64_t now)
{
	struct rh_queue_item *item = queue->count > 0 ? queue->heap[0] : NULL;

	if (!item || item->at > now)
		return NULL;
	queue_remove(queue, item);
	item->late = false;
	if (queue->turn < item->turn)
		queue->turn = item->turn;
	return item;
}

int64_t rh_queue_next(const struct rh_queue *queue)
{
	return queue->count > 0 ? queue->heap[0]->at : RH_NEVER;
}

int64_t rh_queue_wait(const struct rh_queue *queue, uint32_t failures)
{
	int64_t wait = queue->backoff_first;

	while (failures-- > 0 && wait < queue->backoff_max)
		wait *= 2;
	return wait < queue->backoff_max ? wait : queue->backoff_max;
}

void rh_queue_fail(struct rh_queue *queue, struct rh_queue_item *item, int64_t now)
{
	rh_queue_add(queue, item, now + rh_queue_wait(queue, item->failures));
	if (item->failures < UINT32_MAX)
		item->failures++;
}

void rh_queue_forgive(struct rh_queue_item *item)
{
	item->failures = 0;
}
