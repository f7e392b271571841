/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/collective/rounds.h"

#include "comm/core/collective/exchange.h"
#include "comm/core/collective/smaller.h"
#include "roundhouse/comm.h"

/* A run of elements. */
struct span {
	size_t from;
	size_t count;
};

/* The rank `by` places further around the ring; `by` may be negative, down to -2 * world. */
static int32_t rounds_rank(const struct rh_comm_plan *plan, int32_t by)
{
	return (int32_t)(((int64_t)plan->rank + by + 2 * (int64_t)plan->world) % plan->world);
}

static struct rh_comm_place rounds_place(const struct rh_comm_plan *plan, enum rh_comm_area area, size_t element)
{
	return (struct rh_comm_place){area, element * plan->size};
}

static struct rh_comm_move rounds_move(const struct rh_comm_plan *plan, int32_t peer, enum rh_comm_area area,
                                       size_t element, size_t count)
{
	return (struct rh_comm_move){rounds_place(plan, area, element), count * plan->size, peer};
}

/* The elements that a block covers: of the whole vector in a ring all-reduce, else of each rank's part. */
static struct span rounds_block(const struct rh_comm_plan *plan, size_t block)
{
	size_t length = plan->segment;
	struct span span;

	if (plan->what == RH_COMM_ALL_REDUCE)
		length = plan->doubling ? plan->count : plan->segment * (size_t)plan->world;
	span.from = block * length;
	span.count = rh_comm_smaller(length, plan->count - span.from);
	return span;
}

size_t rh_comm_plan_blocks(const struct rh_comm_plan *plan)
{
	size_t length = plan->segment;

	if (plan->what == RH_COMM_BARRIER)
		return 1;
	if (rh_comm_is_exchange(plan))
		return rh_comm_exchange_blocks(plan);
	if (plan->count == 0)
		return 0;
	if (plan->what == RH_COMM_ALL_REDUCE)
		length = plan->doubling ? plan->count : plan->segment * (size_t)plan->world;
	return (plan->count - 1) / length + 1;
}

size_t rh_comm_plan_spare(const struct rh_comm_plan *plan)
{
	if (plan->what == RH_COMM_BARRIER)
		return 1;
	if (plan->what == RH_COMM_ALL_REDUCE && plan->doubling)
		return plan->count * plan->size;
	if (plan->what == RH_COMM_ALL_REDUCE || plan->what == RH_COMM_REDUCE_SCATTER || plan->what == RH_COMM_REDUCE ||
	    plan->what == RH_COMM_REDUCE_SCATTER_V)
		return rh_comm_smaller(plan->segment, plan->count) * plan->size;
	return 0;
}

/* Alone in the world: the result is the input. */
static bool rounds_alone(const struct rh_comm_plan *plan, const struct span *span, int32_t number,
                         struct rh_comm_round *round)
{
	if (number > 0 || plan->what == RH_COMM_BARRIER)
		return false;
	round->act = RH_COMM_ACT_COPY;
	round->out = rounds_place(plan, RH_COMM_AREA_OUT, span->from);
	round->a = rounds_place(plan, RH_COMM_AREA_IN, span->from);
	round->count = span->count;
	return true;
}

/* Part `rank` of a block of the ring. */
static struct span rounds_part(const struct rh_comm_plan *plan, const struct span *block, int32_t rank)
{
	size_t length = (block->count - 1) / (size_t)plan->world + 1;
	size_t from = rh_comm_smaller(length * (size_t)rank, block->count);

	return (struct span){block->from + from, rh_comm_smaller(length, block->count - from)};
}

/* First each part travels around and is summed up on its way, then the sums travel around. */
static bool rounds_ring(const struct rh_comm_plan *plan, const struct span *block, int32_t number,
                        struct rh_comm_round *round)
{
	int32_t turn = plan->world - 1;
	int32_t step = number < turn ? number : number - turn;
	int32_t ahead = number < turn ? 0 : 1;
	struct span out = rounds_part(plan, block, rounds_rank(plan, ahead - step));
	struct span in = rounds_part(plan, block, rounds_rank(plan, ahead - step - 1));

	if (number >= 2 * turn)
		return false;
	round->send =
		rounds_move(plan, rounds_rank(plan, 1), number == 0 ? RH_COMM_AREA_IN : RH_COMM_AREA_OUT, out.from, out.count);
	if (number >= turn) {
		round->recv = rounds_move(plan, rounds_rank(plan, -1), RH_COMM_AREA_OUT, in.from, in.count);
		return true;
	}
	round->recv = rounds_move(plan, rounds_rank(plan, -1), RH_COMM_AREA_SPARE0, 0, in.count);
	round->act = RH_COMM_ACT_REDUCE;
	round->out = rounds_place(plan, RH_COMM_AREA_OUT, in.from);
	round->a = rounds_place(plan, RH_COMM_AREA_SPARE0, 0);
	round->b = rounds_place(plan, RH_COMM_AREA_IN, in.from);
	round->count = in.count;
	return true;
}

/* out = lower rank's op higher rank's, so that both partners compute the same. */
static void rounds_combine(const struct rh_comm_plan *plan, enum rh_comm_area mine, int32_t partner,
                           struct rh_comm_round *round)
{
	struct rh_comm_place own = rounds_place(plan, mine, 0);
	struct rh_comm_place other = rounds_place(plan, RH_COMM_AREA_SPARE0, 0);

	round->act = RH_COMM_ACT_REDUCE;
	round->out = rounds_place(plan, RH_COMM_AREA_OUT, 0);
	round->a = plan->rank < partner ? own : other;
	round->b = plan->rank < partner ? other : own;
	round->count = plan->count;
}

/* Of the ranks beyond a power of two, each even one first gives its vector to its neighbour. */
static void rounds_fold(const struct rh_comm_plan *plan, int32_t folded, struct rh_comm_round *round)
{
	if (plan->rank >= 2 * folded) {
		round->act = RH_COMM_ACT_COPY;
		round->out = rounds_place(plan, RH_COMM_AREA_OUT, 0);
		round->a = rounds_place(plan, RH_COMM_AREA_IN, 0);
		round->count = plan->count;
	} else if (plan->rank % 2 == 0) {
		round->send = rounds_move(plan, plan->rank + 1, RH_COMM_AREA_IN, 0, plan->count);
	} else {
		round->recv = rounds_move(plan, plan->rank - 1, RH_COMM_AREA_SPARE0, 0, plan->count);
		rounds_combine(plan, RH_COMM_AREA_IN, plan->rank - 1, round);
	}
}

static void rounds_unfold(const struct rh_comm_plan *plan, int32_t folded, struct rh_comm_round *round)
{
	if (plan->rank >= 2 * folded)
		return;
	if (plan->rank % 2 == 0)
		round->recv = rounds_move(plan, plan->rank + 1, RH_COMM_AREA_OUT, 0, plan->count);
	else
		round->send = rounds_move(plan, plan->rank - 1, RH_COMM_AREA_OUT, 0, plan->count);
}

static bool rounds_doubling(const struct rh_comm_plan *plan, int32_t number, struct rh_comm_round *round)
{
	int32_t power = 1;
	int32_t steps = 0;
	int32_t folded;
	int32_t place;
	int32_t partner;

	for (; power * 2 <= plan->world; power *= 2)
		steps++;
	folded = plan->world - power;
	if (number == 0)
		rounds_fold(plan, folded, round);
	else if (number == steps + 1)
		rounds_unfold(plan, folded, round);
	if (number == 0 || number == steps + 1)
		return true;
	if (number > steps + 1)
		return false;
	if (plan->rank < 2 * folded && plan->rank % 2 == 0)
		return true;
	place = plan->rank < 2 * folded ? plan->rank / 2 : plan->rank - folded;
	partner = place ^ (1 << (number - 1));
	partner = partner < folded ? partner * 2 + 1 : partner + folded;
	round->send = rounds_move(plan, partner, RH_COMM_AREA_OUT, 0, plan->count);
	round->recv = rounds_move(plan, partner, RH_COMM_AREA_SPARE0, 0, plan->count);
	rounds_combine(plan, RH_COMM_AREA_OUT, partner, round);
	return true;
}

/* A part travels around the ring, each rank adds its own, and it ends at the rank that owns it. */
static bool rounds_reduce_scatter(const struct rh_comm_plan *plan, const struct span *block, int32_t number,
                                  struct rh_comm_round *round)
{
	bool last = number == plan->world - 2;
	enum rh_comm_area spare = number % 2 == 0 ? RH_COMM_AREA_SPARE0 : RH_COMM_AREA_SPARE1;
	enum rh_comm_area other = number % 2 == 0 ? RH_COMM_AREA_SPARE1 : RH_COMM_AREA_SPARE0;
	size_t out = (size_t)rounds_rank(plan, -number - 1) * plan->count + block->from;
	size_t in = (size_t)rounds_rank(plan, -number - 2) * plan->count + block->from;

	if (number > plan->world - 2)
		return false;
	round->send = number == 0 ? rounds_move(plan, rounds_rank(plan, 1), RH_COMM_AREA_IN, out, block->count)
	                          : rounds_move(plan, rounds_rank(plan, 1), other, 0, block->count);
	round->recv = rounds_move(plan, rounds_rank(plan, -1), spare, 0, block->count);
	round->act = RH_COMM_ACT_REDUCE;
	round->out = last ? rounds_place(plan, RH_COMM_AREA_OUT, block->from) : rounds_place(plan, spare, 0);
	round->a = rounds_place(plan, spare, 0);
	round->b = rounds_place(plan, RH_COMM_AREA_IN, in);
	round->count = block->count;
	return true;
}

static bool rounds_all_gather(const struct rh_comm_plan *plan, const struct span *block, int32_t number,
                              struct rh_comm_round *round)
{
	size_t out = (size_t)rounds_rank(plan, -number) * plan->count + block->from;
	size_t in = (size_t)rounds_rank(plan, -number - 1) * plan->count + block->from;

	if (number > plan->world - 2)
		return false;
	round->send = rounds_move(plan, rounds_rank(plan, 1), RH_COMM_AREA_OUT, out, block->count);
	round->recv = rounds_move(plan, rounds_rank(plan, -1), RH_COMM_AREA_OUT, in, block->count);
	if (number > 0)
		return true;
	round->send.place = rounds_place(plan, RH_COMM_AREA_IN, block->from);
	round->act = RH_COMM_ACT_COPY;
	round->out = rounds_place(plan, RH_COMM_AREA_OUT, out);
	round->a = rounds_place(plan, RH_COMM_AREA_IN, block->from);
	round->count = block->count;
	return true;
}

/* Relative to the root, a rank's parent is it without its lowest bit; its children are below that bit. */
static bool rounds_broadcast(const struct rh_comm_plan *plan, const struct span *block, int32_t number,
                             struct rh_comm_round *round)
{
	int32_t place = rounds_rank(plan, -plan->root);
	int32_t bit = 1;
	int32_t child;

	while (bit < plan->world && (place & bit) == 0)
		bit *= 2;
	if (number == 0 && place != 0) {
		round->recv =
			rounds_move(plan, (place - bit + plan->root) % plan->world, RH_COMM_AREA_OUT, block->from, block->count);
		return true;
	}
	if (number == 0) {
		round->act = RH_COMM_ACT_COPY;
		round->out = rounds_place(plan, RH_COMM_AREA_OUT, block->from);
		round->a = rounds_place(plan, RH_COMM_AREA_IN, block->from);
		round->count = block->count;
		return true;
	}
	bit >>= number < 31 ? number : 31;
	if (bit == 0)
		return false;
	child = place + bit;
	if (child < plan->world)
		round->send =
			rounds_move(plan, (child + plan->root) % plan->world, RH_COMM_AREA_OUT, block->from, block->count);
	return true;
}

/*
 * The tree of a broadcast, the other way round: a rank combines its own elements with those of its children, the
 * nearest first, and gives the result to its parent.
 */
static bool rounds_reduce(const struct rh_comm_plan *plan, const struct span *block, int32_t number,
                          struct rh_comm_round *round)
{
	int32_t place = rounds_rank(plan, -plan->root);
	int32_t bit = number < 31 ? 1 << number : plan->world;
	bool root = place == 0;
	enum rh_comm_area area = root ? RH_COMM_AREA_OUT : RH_COMM_AREA_SPARE1;
	enum rh_comm_area own = number == 0 ? RH_COMM_AREA_IN : area;
	size_t from = root ? block->from : 0;

	if (bit >= plan->world || (place & (bit - 1)) != 0)
		return false;
	if ((place & bit) != 0) {
		round->send = rounds_move(plan, (place - bit + plan->root) % plan->world, own, number == 0 ? block->from : from,
		                          block->count);
		return true;
	}
	if (place + bit >= plan->world) {
		/* no child there; the first round of all fills the area */
		round->act = number == 0 ? RH_COMM_ACT_COPY : RH_COMM_ACT_NONE;
	} else {
		round->recv = rounds_move(plan, (place + bit + plan->root) % plan->world, RH_COMM_AREA_SPARE0, 0, block->count);
		round->act = RH_COMM_ACT_REDUCE;
	}
	round->out = rounds_place(plan, area, from);
	round->a = rounds_place(plan, own, number == 0 ? block->from : from);
	round->b = rounds_place(plan, RH_COMM_AREA_SPARE0, 0);
	round->count = block->count;
	return true;
}

static bool rounds_barrier(const struct rh_comm_plan *plan, int32_t number, struct rh_comm_round *round)
{
	int32_t step = number < 31 ? 1 << number : plan->world;

	if (step >= plan->world)
		return false;
	round->send = (struct rh_comm_move){{RH_COMM_AREA_SPARE0, 0}, 1, rounds_rank(plan, step)};
	round->recv = (struct rh_comm_move){{RH_COMM_AREA_SPARE1, 0}, 1, rounds_rank(plan, -step)};
	return true;
}

bool rh_comm_plan_round(const struct rh_comm_plan *plan, size_t block, int32_t number, struct rh_comm_round *ret_round)
{
	struct span span;

	*ret_round = (struct rh_comm_round){.act = RH_COMM_ACT_NONE};
	if (rh_comm_is_exchange(plan))
		return rh_comm_exchange_round(plan, block, number, ret_round);
	span = rounds_block(plan, block);
	if (plan->world == 1)
		return rounds_alone(plan, &span, number, ret_round);
	switch (plan->what) {
	case RH_COMM_ALL_REDUCE:
		return plan->doubling ? rounds_doubling(plan, number, ret_round) : rounds_ring(plan, &span, number, ret_round);
	case RH_COMM_REDUCE_SCATTER:
		return rounds_reduce_scatter(plan, &span, number, ret_round);
	case RH_COMM_ALL_GATHER:
		return rounds_all_gather(plan, &span, number, ret_round);
	case RH_COMM_BROADCAST:
		return rounds_broadcast(plan, &span, number, ret_round);
	case RH_COMM_REDUCE:
		return rounds_reduce(plan, &span, number, ret_round);
	case RH_COMM_BARRIER:
		return rounds_barrier(plan, number, ret_round);
	default:
		return false;
	}
}
