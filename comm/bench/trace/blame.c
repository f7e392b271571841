/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/blame.h"

#include <stdio.h>
#include <string.h>

#include "comm/bench/trace/text.h"
#include "comm/core/trace/format.h"
#include "roundhouse/comm.h"

#define OP_ROOM 200
#define SECOND 1e9

/* The ranks of a world, and how long a wait is a stall. */
struct blame_world {
	const struct rh_trace_rank *ranks;
	size_t count;
	const struct rh_trace_findings *findings;
	int64_t limit;
	int64_t now; /* the last moment of which a trace knows */
};

/* @return the oldest operation that is not done; NULL: it waits in none */
static const struct rh_trace_op *blame_open(const struct rh_trace_rank *rank)
{
	for (size_t i = 0; i < rank->count; i++) {
		if (rank->ops[i].state != RH_COMM_TRACE_DONE)
			return &rank->ops[i];
	}
	return NULL;
}

static const struct rh_trace_rank *blame_rank(const struct blame_world *world, int32_t rank)
{
	for (size_t i = 0; i < world->count; i++) {
		if (world->ranks[i].rank == rank)
			return &world->ranks[i];
	}
	return NULL;
}

/* Nanoseconds since a rank gave its last sign of life; one that has left gives none. */
static int64_t blame_silence(const struct blame_world *world, const struct rh_trace_rank *rank)
{
	return rank->left ? 0 : world->now - rank->end;
}

static bool blame_is_silent(const struct blame_world *world, const struct rh_trace_rank *rank)
{
	return blame_silence(world, rank) >= world->limit / 2;
}

/* It has posted something since and is done with it: it works with others. */
static bool blame_goes_on(const struct rh_trace_rank *rank, int64_t since)
{
	for (size_t i = 0; i < rank->count; i++) {
		if (rank->ops[i].begun > since && rank->ops[i].state == RH_COMM_TRACE_DONE)
			return true;
	}
	return false;
}

/*
 * What the rank itself waits in, so that another one is to blame. An operation that it has just posted while it goes on
 * with others, for whom @p since an earlier wait has begun, is no such wait.
 */
static const struct rh_trace_op *blame_own_wait(const struct blame_world *world, const struct rh_trace_rank *rank,
                                                int64_t since)
{
	const struct rh_trace_op *op = blame_open(rank);

	if (!op || rank->left)
		return NULL;
	return rank->end - op->begun >= world->limit / 2 || !blame_goes_on(rank, since) ? op : NULL;
}

static bool blame_counts(const struct blame_world *world, const struct rh_trace_finding *finding)
{
	return finding->kind != RH_TRACE_DIFFERS && finding->waiting != RH_COMM_NO_RANK && finding->waited >= world->limit;
}

/* Ranks that a finding says did not come. @return of a message 1: its other side */
static int32_t blame_count(const struct rh_trace_finding *finding)
{
	if (finding->kind == RH_TRACE_OPEN)
		return finding->op.peer >= 0 ? 1 : 0;
	return finding->count;
}

/* @return one of them; NULL: there is no trace of it */
static const struct rh_trace_rank *blame_absent(const struct blame_world *world, const struct rh_trace_finding *finding,
                                                int32_t i)
{
	return blame_rank(world, finding->kind == RH_TRACE_OPEN ? finding->op.peer : finding->ranks[i]);
}

static const struct rh_trace_finding *blame_finding_of(const struct blame_world *world,
                                                       const struct rh_trace_rank *rank)
{
	for (size_t i = 0; i < world->findings->count; i++) {
		const struct rh_trace_finding *finding = &world->findings->items[i];

		for (int32_t j = 0; blame_counts(world, finding) && j < blame_count(finding); j++) {
			if (blame_absent(world, finding, j) == rank)
				return finding;
		}
	}
	return NULL;
}

/* The rank that has been silent for longest while another one waits. */
static bool blame_silent(const struct blame_world *world, struct rh_trace_blame *blame)
{
	int64_t longest = 0;

	for (size_t i = 0; i < world->count; i++) {
		const struct rh_trace_rank *rank = &world->ranks[i];
		const struct rh_trace_op *op = blame_open(rank);
		int64_t waited = op ? rank->end - op->begun : 0;

		if (blame_is_silent(world, rank)) {
			if (!blame->rank || blame_silence(world, rank) > blame_silence(world, blame->rank))
				blame->rank = rank;
		} else if (waited >= world->limit && waited > longest) {
			longest = waited;
			blame->waits = rank;
			blame->waits_in = op;
		}
	}
	if (!blame->rank || !blame->waits)
		return false;
	blame->finding = blame_finding_of(world, blame->rank);
	blame->silent = blame_silence(world, blame->rank);
	return true;
}

/* Who did not come though it waits for nobody; of several findings that which names the fewest beside it. */
static bool blame_free(const struct blame_world *world, struct rh_trace_blame *blame)
{
	for (size_t i = 0; i < world->findings->count; i++) {
		const struct rh_trace_finding *finding = &world->findings->items[i];
		const struct rh_trace_rank *waits = blame_rank(world, finding->waiting);

		if (!waits || !blame_counts(world, finding) ||
		    (blame->finding && blame_count(finding) >= blame_count(blame->finding)))
			continue;
		for (int32_t j = 0; j < blame_count(finding); j++) {
			const struct rh_trace_rank *rank = blame_absent(world, finding, j);

			if (!rank || blame_own_wait(world, rank, waits->end - finding->waited))
				continue;
			*blame = (struct rh_trace_blame){.rank = rank, .waits = waits, .finding = finding};
			break;
		}
	}
	return blame->rank != NULL;
}

static bool blame_is_alike(const struct rh_trace_op *a, const struct rh_trace_op *b)
{
	return a->group == b->group && a->what == b->what && a->type == b->type && a->peer == b->peer;
}

/* Whether the rank has posted `op` before as well, and each time after another operation than now. */
static bool blame_deviates(const struct rh_trace_rank *rank, const struct rh_trace_op *op)
{
	size_t at = (size_t)(op - rank->ops);
	size_t known = 0;

	for (size_t i = 1; i < at; i++) {
		if (!blame_is_alike(&rank->ops[i], op))
			continue;
		if (blame_is_alike(&rank->ops[i - 1], &rank->ops[at - 1]))
			return false;
		known++;
	}
	return known > 0;
}

/* Whether all whom a finding names wait in something else. */
static bool blame_all_wait(const struct blame_world *world, const struct rh_trace_finding *finding)
{
	for (int32_t i = 0; i < blame_count(finding); i++) {
		const struct rh_trace_rank *rank = blame_absent(world, finding, i);
		const struct rh_trace_op *op = rank && !rank->left ? blame_open(rank) : NULL;

		if (!op || rank->end - op->begun < world->limit / 2)
			return false;
	}
	return blame_count(finding) > 0;
}

/* @return whether this one is to be preferred to what is in @p blame */
static bool blame_is_better(const struct rh_trace_blame *blame, const struct rh_trace_rank *rank,
                            const struct rh_trace_finding *finding)
{
	bool deviates = blame_deviates(rank, blame_open(rank));
	bool before = blame->rank && blame_deviates(blame->rank, blame->own);

	if (!blame->rank || deviates != before)
		return !blame->rank || deviates;
	return blame_count(finding) < blame_count(blame->finding);
}

/* All wait: somebody has left out an operation, or posted two in another order. */
static bool blame_circle(const struct blame_world *world, struct rh_trace_blame *blame)
{
	for (size_t i = 0; i < world->findings->count; i++) {
		const struct rh_trace_finding *finding = &world->findings->items[i];

		if (finding->kind == RH_TRACE_DIFFERS || blame_count(finding) == 0 || finding->waited < world->limit / 2)
			continue;
		if (!blame_all_wait(world, finding))
			return false;
		for (int32_t j = 0; blame_counts(world, finding) && j < blame_count(finding); j++) {
			const struct rh_trace_rank *rank = blame_absent(world, finding, j);

			if (blame_is_better(blame, rank, finding))
				*blame = (struct rh_trace_blame){.rank = rank,
				                                 .waits = blame_rank(world, finding->waiting),
				                                 .own = blame_open(rank),
				                                 .finding = finding};
		}
	}
	return blame->rank != NULL;
}

bool rh_trace_blame(const struct rh_trace_rank *ranks, size_t count, const struct rh_trace_findings *findings,
                    int64_t limit, struct rh_trace_blame *ret_blame)
{
	struct blame_world world = {.ranks = ranks, .count = count, .findings = findings, .limit = limit};

	for (size_t i = 0; i < count; i++)
		world.now = ranks[i].end > world.now ? ranks[i].end : world.now;
	*ret_blame = (struct rh_trace_blame){.rank = NULL};
	if (blame_silent(&world, ret_blame))
		return true;
	*ret_blame = (struct rh_trace_blame){.rank = NULL};
	return blame_free(&world, ret_blame) || blame_circle(&world, ret_blame);
}

static void blame_add(char *text, size_t room, const char *words)
{
	size_t length = strlen(text);

	(void)snprintf(text + length, room - length, "%s", words);
}

const char *rh_trace_blame_text(const struct rh_trace_blame *blame, char *text, size_t room)
{
	char words[2 * OP_ROOM] = "";
	char op[OP_ROOM];

	text[0] = '\0';
	if (blame->finding)
		(void)rh_trace_finding_text(blame->finding, text, room);
	else if (blame->waits_in)
		(void)snprintf(text, room, "rank %d has waited %.3f s in %s", (int)blame->waits->rank,
		               (double)(blame->waits->end - blame->waits_in->begun) / SECOND,
		               rh_trace_op_text(blame->waits_in, op, sizeof(op)));
	if (blame->silent > 0)
		(void)snprintf(words, sizeof(words), "; rank %d has given no sign of life for %.3f s", (int)blame->rank->rank,
		               (double)blame->silent / SECOND);
	else if (blame->own)
		(void)snprintf(words, sizeof(words), "; rank %d itself waits in %s, so that they wait for each other",
		               (int)blame->rank->rank, rh_trace_op_text(blame->own, op, sizeof(op)));
	blame_add(text, room, words);
	return text;
}
