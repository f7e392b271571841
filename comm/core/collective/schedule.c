/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives made of messages: several blocks of rounds (rounds.h) under way at once. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/parts.h"
#include "comm/core/collective/reduce.h"
#include "comm/core/collective/rounds.h"
#include "comm/core/collective/schedule.h"
#include "comm/core/error.h"

/* Blocks under way at once: enough to keep a link busy while another block is reduced. */
#define SLOTS 4
#define SEGMENT_BYTES (256 * 1024)
/* Vectors up to this size use recursive doubling: fewer messages, more bytes. */
#define DOUBLING_BYTES (16 * 1024)

/* Tags of collectives have the highest bit, those of messages do not. */
#define TAG_COLLECTIVE (UINT64_C(1) << 63)
#define TAG_BLOCK_BITS 24

/* After an error messages have so long to end. */
#define FORGET_PATIENCE (2 * RH_COMM_SECOND)

/* A message of a round. */
struct slot_move {
	void *work;
	bool posted;
	bool done;
};

/* A block under way. */
struct slot {
	size_t block;
	int32_t number;
	struct rh_comm_round round;
	struct slot_move send;
	struct slot_move recv;
	char *spare[2];
	bool busy;
};

struct rh_comm_schedule {
	struct rh_comm *comm;
	struct rh_comm_op op;
	struct rh_comm_plan plan;
	uint64_t tag;
	size_t blocks;
	size_t begun;
	size_t finished;
	size_t *offsets; /* of the plan's lists */
	char *spare;
	struct slot slots[SLOTS];
};

static void schedule_plan(const struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_plan *plan)
{
	struct rh_comm_rule rule;

	*plan = (struct rh_comm_plan){.what = op->what,
	                              .rank = comm->rank,
	                              .world = comm->size,
	                              .root = op->peer,
	                              .count = rh_comm_own_count(op, comm->rank),
	                              .size = op->what == RH_COMM_BARRIER ? 1 : rh_comm_type_size(op->type)};
	/* the same on all ranks, whatever each one's own part is */
	rule = rh_comm_tune_find(&comm->world->tune, op->what, rh_comm_is_listed(op->what) ? 0 : op->count * plan->size,
	                         comm->size);
	plan->segment = (rule.chunk > 0 ? rule.chunk : SEGMENT_BYTES) / plan->size;
	plan->segment = plan->segment > 0 ? plan->segment : 1;
	plan->doubling = op->what == RH_COMM_ALL_REDUCE && op->count * plan->size <= DOUBLING_BYTES;
	if (rule.algorithm && op->what == RH_COMM_ALL_REDUCE)
		plan->doubling =
			strcmp(rule.algorithm, "doubling") == 0 || (plan->doubling && strcmp(rule.algorithm, "ring") != 0);
}

static void schedule_sum(const size_t *counts, int32_t world, size_t *offsets)
{
	offsets[0] = 0;
	for (int32_t rank = 0; rank < world; rank++)
		offsets[rank + 1] = offsets[rank] + counts[rank];
}

/* Lists of counts become lists of offsets. @return false: out of memory */
static bool schedule_list(struct rh_comm_schedule *schedule)
{
	const struct rh_comm_op *op = &schedule->op;
	struct rh_comm_plan *plan = &schedule->plan;
	size_t length = (size_t)plan->world + 1;

	if (!rh_comm_is_listed(op->what))
		return true;
	schedule->offsets = calloc(2 * length, sizeof(*schedule->offsets));
	if (!schedule->offsets)
		return false;
	if (rh_comm_lists_in(op, plan->rank))
		schedule_sum(op->in_counts, plan->world, schedule->offsets);
	if (rh_comm_lists_out(op, plan->rank))
		schedule_sum(op->out_counts, plan->world, schedule->offsets + length);
	plan->in_offsets = schedule->offsets;
	plan->out_offsets = schedule->offsets + length;
	return true;
}

int32_t rh_comm_schedule_new(struct rh_comm *comm, const struct rh_comm_op *op, uint64_t id,
                             struct rh_comm_schedule **ret_schedule)
{
	struct rh_comm_schedule *schedule = calloc(1, sizeof(*schedule));
	size_t spare;

	if (!schedule)
		return RH_COMM_ENOMEM;
	schedule->comm = comm;
	schedule->op = *op;
	schedule->tag = TAG_COLLECTIVE | id << TAG_BLOCK_BITS;
	schedule_plan(comm, op, &schedule->plan);
	if (!schedule_list(schedule)) {
		free(schedule);
		return RH_COMM_ENOMEM;
	}
	schedule->blocks = rh_comm_plan_blocks(&schedule->plan);
	spare = (rh_comm_plan_spare(&schedule->plan) + 63) / 64 * 64;
	schedule->spare = calloc(2 * SLOTS, spare > 0 ? spare : 1);
	if (!schedule->spare) {
		free(schedule->offsets);
		free(schedule);
		return RH_COMM_ENOMEM;
	}
	for (size_t i = 0; i < SLOTS; i++) {
		schedule->slots[i].spare[0] = schedule->spare + 2 * i * spare;
		schedule->slots[i].spare[1] = schedule->spare + (2 * i + 1) * spare;
	}
	*ret_schedule = schedule;
	return 0;
}

/* The backend owns messages that were posted before an error until its test reports their end, soon after an abort. */
static void schedule_forget(const struct rh_comm *comm, struct slot_move *move)
{
	int64_t until;

	if (!move->work || move->done)
		return;
	until = rh_comm_now() + FORGET_PATIENCE;
	while (comm->module.backend->test(comm->self, move->work) == RH_COMM_BUSY && rh_comm_now() < until)
		(void)sched_yield();
	move->done = true;
}

void rh_comm_schedule_free(struct rh_comm_schedule *schedule)
{
	if (!schedule)
		return;
	for (size_t i = 0; i < SLOTS; i++) {
		schedule_forget(schedule->comm, &schedule->slots[i].recv);
		schedule_forget(schedule->comm, &schedule->slots[i].send);
	}
	free(schedule->spare);
	free(schedule->offsets);
	free(schedule);
}

/* The buffer `in` is only read, although its type is not const here. */
static char *schedule_at(const struct rh_comm_schedule *schedule, const struct slot *slot,
                         const struct rh_comm_place *place)
{
	char *areas[] = {(char *)(uintptr_t)schedule->op.in, schedule->op.out, slot->spare[0], slot->spare[1]};

	return areas[place->area] + place->offset;
}

static void schedule_begin_round(struct rh_comm_schedule *schedule, struct slot *slot)
{
	slot->busy = rh_comm_plan_round(&schedule->plan, slot->block, slot->number, &slot->round);
	slot->send = (struct slot_move){.done = slot->round.send.length == 0};
	slot->recv = (struct slot_move){.done = slot->round.recv.length == 0};
	if (!slot->busy)
		schedule->finished++;
}

static int32_t schedule_post(struct rh_comm_schedule *schedule, struct slot *slot)
{
	const struct rh_comm_backend *backend = schedule->comm->module.backend;
	void *self = schedule->comm->self;
	uint64_t tag = schedule->tag | (slot->block & ((UINT64_C(1) << TAG_BLOCK_BITS) - 1));
	const struct rh_comm_move *move = &slot->round.recv;
	int32_t r = 0;

	if (!slot->recv.posted && !slot->recv.done) {
		r = backend->recv(self, move->peer, tag, schedule_at(schedule, slot, &move->place), move->length,
		                  &slot->recv.work);
		slot->recv.posted = true;
		slot->recv.done = r == 0 && !slot->recv.work;
	}
	move = &slot->round.send;
	if (r == 0 && !slot->send.posted && !slot->send.done) {
		r = backend->send(self, move->peer, tag, schedule_at(schedule, slot, &move->place), move->length,
		                  &slot->send.work);
		slot->send.posted = true;
		slot->send.done = r == 0 && !slot->send.work;
	}
	return r;
}

static int32_t schedule_move_test(const struct rh_comm *comm, struct slot_move *move)
{
	int32_t r;

	if (move->done)
		return 0;
	r = comm->module.backend->test(comm->self, move->work);
	move->done = r != RH_COMM_BUSY;
	return r;
}

static void schedule_act(const struct rh_comm_schedule *schedule, const struct slot *slot)
{
	const struct rh_comm_round *round = &slot->round;
	char *out = schedule_at(schedule, slot, &round->out);
	const char *a = schedule_at(schedule, slot, &round->a);

	if (round->act == RH_COMM_ACT_REDUCE)
		rh_comm_reduce(out, a, schedule_at(schedule, slot, &round->b), round->count, schedule->op.type,
		               schedule->op.reduce);
	else if (round->act == RH_COMM_ACT_COPY && out != a)
		memmove(out, a, round->count * schedule->plan.size);
}

/* Go on until something has to be waited for. */
static int32_t schedule_step(struct rh_comm_schedule *schedule, struct slot *slot)
{
	while (slot->busy) {
		int32_t r = schedule_post(schedule, slot);
		int32_t s;

		if (r < 0)
			return r;
		r = schedule_move_test(schedule->comm, &slot->recv);
		s = schedule_move_test(schedule->comm, &slot->send);
		if (r < 0 || s < 0)
			return r < 0 ? r : s;
		if (r == RH_COMM_BUSY || s == RH_COMM_BUSY)
			return RH_COMM_BUSY;
		schedule_act(schedule, slot);
		slot->number++;
		schedule_begin_round(schedule, slot);
	}
	return 0;
}

static void schedule_finish(struct rh_comm_schedule *schedule)
{
	bool reduces = rh_comm_what_reduces(schedule->op.what) &&
	               (schedule->op.what != RH_COMM_REDUCE || schedule->op.peer == schedule->comm->rank);

	if (reduces && schedule->op.reduce == RH_COMM_AVG)
		rh_comm_divide(schedule->op.out, schedule->plan.count, schedule->op.type, schedule->plan.world);
}

int32_t rh_comm_schedule_test(struct rh_comm_schedule *schedule)
{
	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &schedule->slots[i];

		for (;;) {
			int32_t r = schedule_step(schedule, slot);

			if (r < 0)
				return r;
			if (r == RH_COMM_BUSY || schedule->begun == schedule->blocks)
				break;
			slot->block = schedule->begun++;
			slot->number = 0;
			schedule_begin_round(schedule, slot);
		}
	}
	if (schedule->finished < schedule->blocks)
		return RH_COMM_BUSY;
	schedule_finish(schedule);
	return 0;
}

static int32_t schedule_test_request(struct rh_comm_request *request)
{
	return rh_comm_schedule_test(request->work);
}

static void schedule_free_request(struct rh_comm_request *request)
{
	rh_comm_schedule_free(request->work);
	request->work = NULL;
}

const struct rh_comm_executor rh_comm_schedule_executor = {.test = schedule_test_request,
                                                           .free = schedule_free_request};
