/* SPDX-License-Identifier: Apache-2.0 */
/* The row of a context's collectives in shared memory: planned, posted, tested. task.c moves them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/smaller.h"
#include "comm/native/shm.h"

/* Flat or in chunks, and how long those are; the table of RH_COMM_TUNE has the last word. */
static void shm_queue_plan(const struct native_shm_queue *queue, struct native_shm_task *task)
{
	size_t bytes = task->op.count * task->size;
	bool flat = task->op.what == RH_COMM_ALL_REDUCE && bytes <= NATIVE_FLAT;
	const char *algorithm = NULL;
	size_t chunk = 0;

	/* an operation of one element needs no tuning table: it has to be quick, and only flat fits */
	if (bytes > NATIVE_FLAT_ALWAYS)
		queue->team->tuned(queue->team->core, task->op.what, bytes, &algorithm, &chunk);
	if (algorithm && strcmp(algorithm, "staged") == 0)
		flat = false;
	else if (algorithm && strcmp(algorithm, "flat") == 0)
		flat = task->op.what == RH_COMM_ALL_REDUCE && bytes <= NATIVE_FLAT_MAX;
	if (flat)
		return;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): the core has checked the type, so it has a size */
	task->chunk = rh_comm_smaller(chunk > 0 ? chunk : queue->segment->slot, queue->segment->slot) / task->size;
	if (task->op.what == RH_COMM_REDUCE_SCATTER)
		task->chunk /= (size_t)queue->segment->world;
	if (task->chunk == 0)
		task->chunk = 1;
	task->chunks = (task->op.count - 1) / task->chunk + 1;
}

bool native_shm_queue_supports(const struct native_shm_queue *queue, const struct rh_comm_op *op)
{
	return queue->segment->base && queue->team->local_world == queue->team->world && op->what <= RH_COMM_BARRIER &&
	       (op->what == RH_COMM_BARRIER || op->count > 0);
}

/* A barrier is an all-reduce of one byte. */
static void shm_queue_set_op(struct native_shm_queue *queue, const struct rh_comm_op *op, struct native_shm_task *task)
{
	*task = (struct native_shm_task){.kind = NATIVE_SHM, .earlier = task->earlier, .op = *op};
	if (op->what == RH_COMM_BARRIER) {
		task->op.in = &queue->nothing[0];
		task->op.out = &queue->nothing[1];
		task->op.what = RH_COMM_ALL_REDUCE;
		task->op.count = 1;
		task->op.type = RH_COMM_U8;
		task->op.reduce = RH_COMM_SUM;
	}
	task->size = rh_comm_element_size(task->op.type);
}

/* @return one that waits for an operation, the queue's; NULL: out of memory */
static struct native_shm_task *shm_queue_take(struct native_shm_queue *queue)
{
	struct native_shm_task *task = queue->spare;

	if (task) {
		queue->spare = task->next;
		return task;
	}
	task = malloc(sizeof(*task));
	if (!task)
		return NULL;
	task->earlier = queue->made;
	queue->made = task;
	return task;
}

int32_t native_shm_queue_post(struct native_shm_queue *queue, const struct rh_comm_op *op, uint64_t id,
                              struct native_shm_task **ret_task)
{
	struct native_shm_task *task = shm_queue_take(queue);

	if (!task)
		return RH_COMM_ENOMEM;
	shm_queue_set_op(queue, op, task);
	task->id = id;
	shm_queue_plan(queue, task);
	*queue->last = task;
	queue->last = &task->next;
	/* errors are reported when it is tested */
	*ret_task = native_shm_queue_test(queue, task) == 0 ? NULL : task;
	return 0;
}

static int32_t shm_queue_report_mismatch(const struct native_shm_queue *queue)
{
	if (queue->odd == RH_COMM_NO_RANK)
		return RH_COMM_BUSY;
	return queue->team->fail(queue->team->core, RH_COMM_EINVAL, queue->odd,
	                         "it does another collective than this rank");
}

int32_t native_shm_queue_test(struct native_shm_queue *queue, struct native_shm_task *task)
{
	if (!task->done)
		native_shm_queue_progress(queue);
	if (!task->done)
		return shm_queue_report_mismatch(queue);
	task->next = queue->spare;
	queue->spare = task;
	return 0;
}

void native_shm_queue_init(struct native_shm_queue *queue, const struct rh_comm_team *team,
                           const struct native_segment *segment)
{
	*queue = (struct native_shm_queue){.team = team, .segment = segment, .odd = RH_COMM_NO_RANK};
	queue->last = &queue->first;
}

void native_shm_queue_deinit(struct native_shm_queue *queue)
{
	while (queue->made) {
		struct native_shm_task *task = queue->made;

		queue->made = task->earlier;
		free(task);
	}
}
