/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group's ranks post the same collectives in the same order, so its members are compared by number. A rank's trace
 * has its latest operations alone: what it cannot know of is not held against it.
 */
#include "comm/bench/trace/find.h"

#include <stdlib.h>
#include <string.h>

#include "comm/core/bootstrap/protocol/label.h"
#include "comm/core/trace/format.h"

/* What is compared: the traces, and one group of their ranks. */
struct search {
	const struct rh_trace_rank *ranks;
	size_t count;
	uint64_t group;
	struct rh_trace_findings *findings;
};

/* Of another library: what it does not say, or what may differ between ranks, is empty or 0. */
static bool find_is_same_name(const struct rh_trace_op *a, const struct rh_trace_op *b)
{
	return strcmp(a->name, b->name) == 0 && (a->count == b->count || a->count == 0 || b->count == 0) &&
	       (strcmp(a->unit, b->unit) == 0 || a->unit[0] == '\0' || b->unit[0] == '\0');
}

bool rh_trace_is_same(const struct rh_trace_op *a, const struct rh_trace_op *b)
{
	bool reduces = rh_comm_what_reduces(a->what);

	if (a->name && b->name)
		return find_is_same_name(a, b);
	if (a->what != b->what)
		return false;
	if (a->what == RH_COMM_BARRIER)
		return true;
	return a->type == b->type && a->count == b->count && a->peer == b->peer && (!reduces || a->reduce == b->reduce);
}

static const struct rh_trace_group *find_group(const struct rh_trace_rank *rank, uint64_t name)
{
	for (size_t i = 0; i < rank->group_count; i++) {
		if (rank->groups[i].name == name)
			return &rank->groups[i];
	}
	return NULL;
}

/* Every member has the same list. @return NULL: nobody knows it */
static const struct rh_trace_group *find_members(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct rh_trace_group *group = find_group(&search->ranks[i], search->group);

		if (group)
			return group;
	}
	return NULL;
}

static bool find_is_member(const struct search *search, const struct rh_trace_rank *rank)
{
	const struct rh_trace_group *group = search->group == 0 ? NULL : find_members(search);

	if (search->group == 0)
		return true;
	for (int32_t i = 0; group && group->ranks && i < group->size; i++) {
		if (group->ranks[i] == rank->rank)
			return true;
	}
	return find_group(rank, search->group) != NULL;
}

/* @return the latest collective of the group that the rank has posted; NULL: none is in its trace */
static const struct rh_trace_op *find_last(const struct search *search, const struct rh_trace_rank *rank)
{
	return rh_trace_collective(rank, search->group, UINT64_MAX, false);
}

/* It has posted so many that those of this group may be gone. */
static bool find_is_blind(const struct search *search, const struct rh_trace_rank *rank)
{
	return !find_last(search, rank) && rank->posted > rank->count;
}

static struct rh_trace_finding *find_add(struct search *search, enum rh_trace_kind kind, const struct rh_trace_op *op)
{
	struct rh_trace_findings *findings = search->findings;
	struct rh_trace_finding *items = realloc(findings->items, (findings->count + 1) * sizeof(*items));
	const struct rh_trace_group *group = find_members(search);
	struct rh_trace_finding *item;

	if (!items)
		return NULL;
	findings->items = items;
	item = &items[findings->count];
	*item = (struct rh_trace_finding){.kind = kind, .op = *op, .waiting = RH_COMM_NO_RANK};
	item->members = group ? group->size : search->group == 0 ? search->ranks[0].world : 0;
	item->title = group ? group->title : NULL;
	item->ranks = calloc(search->count, sizeof(*item->ranks));
	if (!item->ranks)
		return NULL;
	findings->count++;
	return item;
}

/* The operation with the number of `op`, of a rank that posted it; NULL: it did not, or it is gone. */
static const struct rh_trace_op *find_at(const struct search *search, size_t i, uint64_t number)
{
	const struct rh_trace_op *op = rh_trace_collective(&search->ranks[i], search->group, number, false);

	return op && op->number == number ? op : NULL;
}

/* @return what most ranks posted there, or, if nothing has a majority, what one of them did; NULL: nobody knows */
static const struct rh_trace_op *find_majority(const struct search *search, uint64_t number)
{
	const struct rh_trace_op *most = NULL;
	size_t lead = 0;

	for (size_t i = 0; i < search->count; i++) {
		const struct rh_trace_op *op = find_at(search, i, number);

		if (!op)
			continue;
		if (lead == 0) {
			most = op;
			lead = 1;
		} else {
			lead = rh_trace_is_same(op, most) ? lead + 1 : lead - 1;
		}
	}
	return most;
}

/* Who posted something else there. @return 0, 1: it was found; RH_COMM_ENOMEM */
static int32_t find_differs_at(struct search *search, uint64_t number)
{
	const struct rh_trace_op *most = find_majority(search, number);
	struct rh_trace_finding *item = NULL;

	for (size_t i = 0; most && i < search->count; i++) {
		const struct rh_trace_op *op = find_at(search, i, number);

		if (!op || rh_trace_is_same(op, most))
			continue;
		if (!item) {
			item = find_add(search, RH_TRACE_DIFFERS, most);
			if (!item)
				return RH_COMM_ENOMEM;
			item->other = *op;
		}
		item->ranks[item->count++] = search->ranks[i].rank;
	}
	for (size_t i = 0; item && item->waiting == RH_COMM_NO_RANK && i < search->count; i++) {
		const struct rh_trace_op *op = find_at(search, i, number);

		if (op && rh_trace_is_same(op, most))
			item->waiting = search->ranks[i].rank;
	}
	return item ? 1 : 0;
}

/* The first number that any trace of the group has, beyond `number`. @return 0: there is none */
static uint64_t find_next(const struct search *search, uint64_t number)
{
	uint64_t next = 0;

	for (size_t i = 0; i < search->count; i++) {
		const struct rh_trace_op *op = rh_trace_collective(&search->ranks[i], search->group, number, true);

		if (op && (next == 0 || op->number < next))
			next = op->number;
	}
	return next;
}

/* After the first one that differs nothing is comparable. @return 0, 1 or RH_COMM_ENOMEM */
static int32_t find_differs(struct search *search)
{
	int32_t r = 0;

	for (uint64_t number = find_next(search, 0); number > 0 && r == 0; number = find_next(search, number))
		r = find_differs_at(search, number);
	return r;
}

static int64_t find_waited(const struct rh_trace_rank *rank, const struct rh_trace_op *op)
{
	if (rank->foreign)
		return RH_TRACE_UNTIMED;
	return rank->end > op->begun ? rank->end - op->begun : 0;
}

/* @return the first collective of the group, from that number on, that a rank has posted and that is not done: some let
 * their ranks go on before all have come; NULL: none */
static const struct rh_trace_op *find_waits_in(const struct search *search, size_t i, uint64_t number)
{
	const struct rh_trace_op *op = find_at(search, i, number);

	while (op && op->state == RH_COMM_TRACE_DONE)
		op = rh_trace_collective(&search->ranks[i], search->group, op->number, true);
	return op;
}

/* Who of those that have posted it, or a later one, waits longest. */
static void find_waiting(const struct search *search, struct rh_trace_finding *item)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct rh_trace_op *op = find_waits_in(search, i, item->op.number);

		if (!op || (item->waiting != RH_COMM_NO_RANK && find_waited(&search->ranks[i], op) <= item->waited))
			continue;
		item->waiting = search->ranks[i].rank;
		item->waited = find_waited(&search->ranks[i], op);
		item->waits_at = op->number;
	}
}

/* The number that not all have reached: the one after the last of who is furthest behind. */
static bool find_frontier(const struct search *search, uint64_t *ret_reached)
{
	uint64_t reached = UINT64_MAX;

	for (size_t i = 0; i < search->count; i++) {
		const struct rh_trace_op *last = find_last(search, &search->ranks[i]);
		uint64_t number = last ? last->number : 0;

		if (find_is_member(search, &search->ranks[i]) && !find_is_blind(search, &search->ranks[i]))
			reached = number < reached ? number : reached;
	}
	*ret_reached = reached;
	return reached != UINT64_MAX;
}

static int32_t find_missing(struct search *search)
{
	const struct rh_trace_op *first = NULL;
	struct rh_trace_finding *item;
	uint64_t reached;
	uint64_t number;

	if (!find_frontier(search, &reached))
		return 0;
	number = find_next(search, reached);
	if (number == 0)
		return 0;
	first = find_majority(search, number);
	item = find_add(search, RH_TRACE_MISSING, first);
	if (!item)
		return RH_COMM_ENOMEM;
	for (size_t i = 0; i < search->count; i++) {
		const struct rh_trace_op *last = find_last(search, &search->ranks[i]);

		if (find_is_member(search, &search->ranks[i]) && !find_is_blind(search, &search->ranks[i]) &&
		    (!last || last->number < number))
			item->ranks[item->count++] = search->ranks[i].rank;
	}
	find_waiting(search, item);
	return 0;
}

/* Messages that a rank posted and that are not done. */
static int32_t find_open(struct search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct rh_trace_rank *rank = &search->ranks[i];

		for (size_t j = 0; j < rank->count; j++) {
			const struct rh_trace_op *op = &rank->ops[j];
			bool message = op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;
			struct rh_trace_finding *item;

			if (!message || op->state == RH_COMM_TRACE_DONE)
				continue;
			search->group = op->group;
			item = find_add(search, RH_TRACE_OPEN, op);
			if (!item)
				return RH_COMM_ENOMEM;
			item->ranks[item->count++] = rank->rank;
			item->waiting = rank->rank;
			item->waited = find_waited(rank, op);
		}
	}
	return 0;
}

/* The next group beyond `group` that any trace has; 0: none. */
static uint64_t find_next_group(const struct search *search, uint64_t group)
{
	uint64_t next = 0;

	for (size_t i = 0; i < search->count; i++) {
		for (size_t j = 0; j < search->ranks[i].collectives; j++) {
			uint64_t name = search->ranks[i].byno[j]->group;

			if (name > group && (next == 0 || name < next))
				next = name;
		}
	}
	return next;
}

static int32_t find_all(struct search *search, int32_t (*find)(struct search *search))
{
	int32_t r = 0;

	search->group = 0;
	do {
		r = find(search);
		search->group = find_next_group(search, search->group);
	} while (r >= 0 && search->group != 0);
	return r < 0 ? r : 0;
}

int32_t rh_trace_find(const struct rh_trace_rank *ranks, size_t count, struct rh_trace_findings *ret_findings)
{
	struct search search = {.ranks = ranks, .count = count, .findings = ret_findings};
	int32_t r;

	*ret_findings = (struct rh_trace_findings){.count = 0};
	if (count == 0)
		return 0;
	r = find_all(&search, find_differs);
	if (r == 0)
		r = find_all(&search, find_missing);
	return r == 0 ? find_open(&search) : r;
}

void rh_trace_findings_deinit(struct rh_trace_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		free(findings->items[i].ranks);
	free(findings->items);
	*findings = (struct rh_trace_findings){.count = 0};
}
