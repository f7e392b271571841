/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/collective/exchange.h"

#include "comm/core/collective/smaller.h"
#include "roundhouse/comm.h"

/* A run of elements. */
struct part {
	size_t from;
	size_t count;
};

bool rh_comm_is_exchange(const struct rh_comm_plan *plan)
{
	return plan->what >= RH_COMM_ALL_TO_ALL && plan->what != RH_COMM_REDUCE;
}

static struct part exchange_listed(const size_t *offsets, int32_t rank)
{
	return (struct part){offsets[rank], offsets[rank + 1] - offsets[rank]};
}

static struct part exchange_even(const struct rh_comm_plan *plan, int32_t rank)
{
	return (struct part){(size_t)rank * plan->count, plan->count};
}

/* What this rank's input has for a peer. */
static struct part exchange_given(const struct rh_comm_plan *plan, int32_t peer)
{
	switch (plan->what) {
	case RH_COMM_ALL_TO_ALL:
		return exchange_even(plan, peer);
	case RH_COMM_ALL_TO_ALL_V:
	case RH_COMM_REDUCE_SCATTER_V:
		return exchange_listed(plan->in_offsets, peer);
	case RH_COMM_GATHER:
	case RH_COMM_GATHER_V:
		return (struct part){0, peer == plan->root ? plan->count : 0};
	case RH_COMM_SCATTER:
		return plan->rank == plan->root ? exchange_even(plan, peer) : (struct part){0, 0};
	case RH_COMM_SCATTER_V:
		return plan->rank == plan->root ? exchange_listed(plan->in_offsets, peer) : (struct part){0, 0};
	default:
		return (struct part){0, plan->count};
	}
}

/* What this rank's output takes from a peer. */
static struct part exchange_taken(const struct rh_comm_plan *plan, int32_t peer)
{
	switch (plan->what) {
	case RH_COMM_ALL_TO_ALL:
		return exchange_even(plan, peer);
	case RH_COMM_GATHER:
		return plan->rank == plan->root ? exchange_even(plan, peer) : (struct part){0, 0};
	case RH_COMM_GATHER_V:
		return plan->rank == plan->root ? exchange_listed(plan->out_offsets, peer) : (struct part){0, 0};
	case RH_COMM_SCATTER:
	case RH_COMM_SCATTER_V:
		return (struct part){0, peer == plan->root ? plan->count : 0};
	case RH_COMM_REDUCE_SCATTER_V:
		return (struct part){0, plan->count};
	default:
		return exchange_listed(plan->out_offsets, peer);
	}
}

static struct part exchange_segment(const struct rh_comm_plan *plan, struct part part, size_t segment)
{
	size_t done = rh_comm_smaller(segment * plan->segment, part.count);

	return (struct part){part.from + done, rh_comm_smaller(plan->segment, part.count - done)};
}

static struct rh_comm_place exchange_place(const struct rh_comm_plan *plan, enum rh_comm_area area, size_t element)
{
	return (struct rh_comm_place){area, element * plan->size};
}

static struct rh_comm_move exchange_move(const struct rh_comm_plan *plan, int32_t peer, enum rh_comm_area area,
                                         struct part part)
{
	return (struct rh_comm_move){exchange_place(plan, area, part.from), part.count * plan->size, peer};
}

size_t rh_comm_exchange_blocks(const struct rh_comm_plan *plan)
{
	size_t longest = 0;
	size_t segments;

	for (int32_t peer = 0; peer < plan->world; peer++) {
		size_t given = exchange_given(plan, peer).count;
		size_t taken = exchange_taken(plan, peer).count;

		longest = given > longest ? given : longest;
		longest = taken > longest ? taken : longest;
	}
	segments = longest > 0 ? (longest - 1) / plan->segment + 1 : 0;
	return plan->what == RH_COMM_REDUCE_SCATTER_V ? segments : segments * (size_t)plan->world;
}

/* Combine what this rank's part is so far with what has come for it; alone, there is nothing but its own. */
static bool exchange_reduce(const struct rh_comm_plan *plan, size_t segment, int32_t number,
                            struct rh_comm_round *round)
{
	int32_t to = (plan->rank + number + 1) % plan->world;
	int32_t source = (plan->rank + plan->world - number - 1) % plan->world;
	struct part input = exchange_segment(plan, exchange_given(plan, plan->rank), segment);
	struct part own = exchange_segment(plan, (struct part){0, plan->count}, segment);
	bool alone = plan->world == 1;

	if (number > 0 && number > plan->world - 2)
		return false;
	round->act = own.count == 0 ? RH_COMM_ACT_NONE : alone ? RH_COMM_ACT_COPY : RH_COMM_ACT_REDUCE;
	round->out = exchange_place(plan, RH_COMM_AREA_OUT, own.from);
	round->a = number == 0 ? exchange_place(plan, RH_COMM_AREA_IN, input.from) : round->out;
	round->b = exchange_place(plan, RH_COMM_AREA_SPARE0, 0);
	round->count = own.count;
	if (alone)
		return true;
	round->send = exchange_move(plan, to, RH_COMM_AREA_IN, exchange_segment(plan, exchange_given(plan, to), segment));
	round->recv = exchange_move(plan, source, RH_COMM_AREA_SPARE0, (struct part){0, own.count});
	return true;
}

bool rh_comm_exchange_round(const struct rh_comm_plan *plan, size_t block, int32_t number,
                            struct rh_comm_round *ret_round)
{
	int32_t shift = (int32_t)(block % (size_t)plan->world);
	size_t segment = block / (size_t)plan->world;
	int32_t to = (int32_t)(((int64_t)plan->rank + shift) % plan->world);
	int32_t source = (plan->rank - shift + plan->world) % plan->world;
	struct part given = exchange_segment(plan, exchange_given(plan, to), segment);
	struct part taken;

	if (plan->what == RH_COMM_REDUCE_SCATTER_V)
		return exchange_reduce(plan, block, number, ret_round);
	if (number > 0)
		return false;
	taken = exchange_segment(plan, exchange_taken(plan, source), segment);
	if (shift > 0) {
		ret_round->send = exchange_move(plan, to, RH_COMM_AREA_IN, given);
		ret_round->recv = exchange_move(plan, source, RH_COMM_AREA_OUT, taken);
	} else if (given.count > 0) {
		ret_round->act = RH_COMM_ACT_COPY;
		ret_round->a = exchange_place(plan, RH_COMM_AREA_IN, given.from);
		ret_round->out = exchange_place(plan, RH_COMM_AREA_OUT, taken.from);
		ret_round->count = given.count;
	}
	return true;
}
