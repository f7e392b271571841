/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives made of messages: several blocks of rounds (rounds.h) under way at once. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/context.h"
#include "comm/core/error.h"

/* Blocks under way at once: enough to keep a link busy while another block is reduced. */
#define LANES 4
#define SEGMENT_BYTES (256 * 1024)
/* Up to here a vector goes whole by recursive doubling: fewer messages, more bytes. */
#define DOUBLING_BYTES (16 * 1024)

/* Tags of collectives have the highest bit, those of messages do not. */
#define TAG_COLLECTIVE (UINT64_C(1) << 63)
#define TAG_BLOCK_BITS 24

/* After an error messages have so long to end. */
#define FORGET_PATIENCE (2 * RH_COMM_SECOND)

/* A message of a round. */
struct lane_move {
	void *work;
	bool posted;
	bool done;
};

/* A block under way. */
struct lane {
	size_t block;
	int32_t number;
	struct rh_comm_round round;
	struct lane_move send;
	struct lane_move recv;
	char *spare[2];
	bool busy;
};

struct rh_comm_lanes {
	struct rh_comm *comm;
	struct rh_comm_op op;
	struct rh_comm_plan plan;
	uint64_t tag;
	size_t blocks;
	size_t begun;
	size_t finished;
	char *spare;
	struct lane lanes[LANES];
};

static void lanes_plan(const struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_plan *plan)
{
	struct rh_comm_rule rule;

	*plan = (struct rh_comm_plan){.what = op->what,
	                              .rank = comm->rank,
	                              .world = comm->size,
	                              .root = op->peer,
	                              .count = op->count,
	                              .size = op->what == RH_COMM_BARRIER ? 1 : rh_comm_type_size(op->type)};
	rule = rh_comm_tune_find(&comm->world->tune, op->what, op->count * plan->size, comm->size);
	plan->segment = (rule.chunk > 0 ? rule.chunk : SEGMENT_BYTES) / plan->size;
	plan->segment = plan->segment > 0 ? plan->segment : 1;
	plan->doubling = op->what == RH_COMM_ALL_REDUCE && op->count * plan->size <= DOUBLING_BYTES;
	if (rule.algorithm && op->what == RH_COMM_ALL_REDUCE)
		plan->doubling =
			strcmp(rule.algorithm, "doubling") == 0 || (plan->doubling && strcmp(rule.algorithm, "ring") != 0);
}

int32_t rh_comm_lanes_new(struct rh_comm *comm, const struct rh_comm_op *op, uint64_t id,
                          struct rh_comm_lanes **ret_lanes)
{
	struct rh_comm_lanes *lanes = calloc(1, sizeof(*lanes));
	size_t spare;

	if (!lanes)
		return RH_COMM_ENOMEM;
	lanes->comm = comm;
	lanes->op = *op;
	lanes->tag = TAG_COLLECTIVE | id << TAG_BLOCK_BITS;
	lanes_plan(comm, op, &lanes->plan);
	lanes->blocks = rh_comm_plan_blocks(&lanes->plan);
	spare = (rh_comm_plan_spare(&lanes->plan) + 63) / 64 * 64;
	lanes->spare = calloc(2 * LANES, spare > 0 ? spare : 1);
	if (!lanes->spare) {
		free(lanes);
		return RH_COMM_ENOMEM;
	}
	for (size_t i = 0; i < LANES; i++) {
		lanes->lanes[i].spare[0] = lanes->spare + 2 * i * spare;
		lanes->lanes[i].spare[1] = lanes->spare + (2 * i + 1) * spare;
	}
	*ret_lanes = lanes;
	return 0;
}

/* What was posted before an error is the backend's until its test says that it ended, which after an abort is soon. */
static void lane_forget(const struct rh_comm *comm, struct lane_move *move)
{
	int64_t until;

	if (!move->work || move->done)
		return;
	until = rh_comm_now() + FORGET_PATIENCE;
	while (comm->module.backend->test(comm->self, move->work) == RH_COMM_BUSY && rh_comm_now() < until)
		(void)sched_yield();
	move->done = true;
}

void rh_comm_lanes_free(struct rh_comm_lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < LANES; i++) {
		lane_forget(lanes->comm, &lanes->lanes[i].recv);
		lane_forget(lanes->comm, &lanes->lanes[i].send);
	}
	free(lanes->spare);
	free(lanes);
}

/* The buffer `in` is only read, whatever its type says here. */
static char *lanes_at(const struct rh_comm_lanes *lanes, const struct lane *lane, const struct rh_comm_place *place)
{
	char *areas[] = {(char *)(uintptr_t)lanes->op.in, lanes->op.out, lane->spare[0], lane->spare[1]};

	return areas[place->area] + place->offset;
}

static void lane_begin_round(struct rh_comm_lanes *lanes, struct lane *lane)
{
	lane->busy = rh_comm_plan_round(&lanes->plan, lane->block, lane->number, &lane->round);
	lane->send = (struct lane_move){.done = lane->round.send.length == 0};
	lane->recv = (struct lane_move){.done = lane->round.recv.length == 0};
	if (!lane->busy)
		lanes->finished++;
}

static int32_t lane_post(struct rh_comm_lanes *lanes, struct lane *lane)
{
	const struct rh_comm_backend *backend = lanes->comm->module.backend;
	void *self = lanes->comm->self;
	uint64_t tag = lanes->tag | (lane->block & ((UINT64_C(1) << TAG_BLOCK_BITS) - 1));
	const struct rh_comm_move *move = &lane->round.recv;
	int32_t r = 0;

	if (!lane->recv.posted && !lane->recv.done) {
		r = backend->recv(self, move->peer, tag, lanes_at(lanes, lane, &move->place), move->length, &lane->recv.work);
		lane->recv.posted = true;
		lane->recv.done = r == 0 && !lane->recv.work;
	}
	move = &lane->round.send;
	if (r == 0 && !lane->send.posted && !lane->send.done) {
		r = backend->send(self, move->peer, tag, lanes_at(lanes, lane, &move->place), move->length, &lane->send.work);
		lane->send.posted = true;
		lane->send.done = r == 0 && !lane->send.work;
	}
	return r;
}

static int32_t lane_move_test(const struct rh_comm *comm, struct lane_move *move)
{
	int32_t r;

	if (move->done)
		return 0;
	r = comm->module.backend->test(comm->self, move->work);
	move->done = r != RH_COMM_BUSY;
	return r;
}

static void lane_act(const struct rh_comm_lanes *lanes, const struct lane *lane)
{
	const struct rh_comm_round *round = &lane->round;
	char *out = lanes_at(lanes, lane, &round->out);
	const char *a = lanes_at(lanes, lane, &round->a);

	if (round->act == RH_COMM_ACT_REDUCE)
		rh_comm_reduce(out, a, lanes_at(lanes, lane, &round->b), round->count, lanes->op.type, lanes->op.reduce);
	else if (round->act == RH_COMM_ACT_COPY && out != a)
		memmove(out, a, round->count * lanes->plan.size);
}

/* Go on until something has to be waited for. */
static int32_t lane_step(struct rh_comm_lanes *lanes, struct lane *lane)
{
	while (lane->busy) {
		int32_t r = lane_post(lanes, lane);
		int32_t s;

		if (r < 0)
			return r;
		r = lane_move_test(lanes->comm, &lane->recv);
		s = lane_move_test(lanes->comm, &lane->send);
		if (r < 0 || s < 0)
			return r < 0 ? r : s;
		if (r == RH_COMM_BUSY || s == RH_COMM_BUSY)
			return RH_COMM_BUSY;
		lane_act(lanes, lane);
		lane->number++;
		lane_begin_round(lanes, lane);
	}
	return 0;
}

static void lanes_finish(struct rh_comm_lanes *lanes)
{
	bool reduces = lanes->op.what == RH_COMM_ALL_REDUCE || lanes->op.what == RH_COMM_REDUCE_SCATTER;

	if (reduces && lanes->op.reduce == RH_COMM_AVG)
		rh_comm_divide(lanes->op.out, lanes->op.count, lanes->op.type, lanes->plan.world);
}

int32_t rh_comm_lanes_test(struct rh_comm_lanes *lanes)
{
	for (size_t i = 0; i < LANES; i++) {
		struct lane *lane = &lanes->lanes[i];

		for (;;) {
			int32_t r = lane_step(lanes, lane);

			if (r < 0)
				return r;
			if (r == RH_COMM_BUSY || lanes->begun == lanes->blocks)
				break;
			lane->block = lanes->begun++;
			lane->number = 0;
			lane_begin_round(lanes, lane);
		}
	}
	if (lanes->finished < lanes->blocks)
		return RH_COMM_BUSY;
	lanes_finish(lanes);
	return 0;
}
