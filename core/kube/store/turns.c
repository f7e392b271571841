/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/store/turns.h"

#include <string.h>

/* A namespace with this many requests in flight gets no spare places of the window. */
#define TURNS_FEW 8

struct rh_turns_flow {
	struct rh_turns_flow *next; /* in the ring, while requests are queued */
	struct rh_turns_flow *previous;
	struct rh_call_queue waiting[RH_WINDOW_CLASSES];
	uint32_t passed[RH_WINDOW_CLASSES];
	size_t count;
	size_t in_flight;
	char namespace_[];
};

static const char *turns_key(const struct rh_call *call)
{
	return call->namespace_ ? call->namespace_ : "";
}

/* A new flow is served after the flows already in the ring. */
static void turns_link(struct rh_turns *turns, struct rh_turns_flow *flow)
{
	if (!turns->next) {
		flow->next = flow->previous = flow;
		turns->next = flow;
		return;
	}
	flow->next = turns->next;
	flow->previous = turns->next->previous;
	flow->previous->next = flow;
	flow->next->previous = flow;
}

static void turns_unlink(struct rh_turns *turns, struct rh_turns_flow *flow)
{
	flow->previous->next = flow->next;
	flow->next->previous = flow->previous;
	if (turns->next == flow)
		turns->next = flow->next == flow ? NULL : flow->next;
}

/* Free a flow without requests. */
static void turns_reap(struct rh_turns *turns, struct rh_turns_flow *flow)
{
	if (flow->count > 0 || flow->in_flight > 0)
		return;
	(void)rh_map_remove(turns->flows, flow->namespace_);
	rh_free(flow);
}

static struct rh_turns_flow *turns_new_flow(struct rh_turns *turns, const char *namespace_)
{
	size_t size = strlen(namespace_) + 1;
	struct rh_turns_flow *flow;

	if (!turns->flows)
		turns->flows = rh_map_new();
	flow = turns->flows ? rh_alloc(sizeof(*flow) + size) : NULL;
	if (!flow)
		return NULL;
	memcpy(flow->namespace_, namespace_, size);
	if (rh_map_set(turns->flows, namespace_, flow, NULL) < 0) {
		rh_free(flow);
		return NULL;
	}
	return flow;
}

static struct rh_turns_flow *turns_find_flow(const struct rh_turns *turns, const struct rh_call *call)
{
	return turns->flows ? rh_map_get(turns->flows, turns_key(call)) : NULL;
}

int rh_turns_add(struct rh_turns *turns, struct rh_call *call)
{
	struct rh_turns_flow *flow = turns_find_flow(turns, call);

	if (!flow)
		flow = turns_new_flow(turns, turns_key(call));
	if (!flow)
		return RH_ENOMEM;
	if (flow->count == 0)
		turns_link(turns, flow);
	rh_call_append(&flow->waiting[call->class], call);
	flow->count++;
	turns->count++;
	return 0;
}

static struct rh_call *turns_pick(struct rh_turns_flow *flow)
{
	size_t counts[RH_WINDOW_CLASSES];

	for (size_t i = 0; i < RH_WINDOW_CLASSES; i++)
		counts[i] = flow->waiting[i].count;
	return flow->waiting[rh_window_pick(flow->passed, counts)].first;
}

/* A flow whose request does not fit is skipped until its next turn. */
struct rh_call *rh_turns_next(struct rh_turns *turns, size_t room, bool spare)
{
	struct rh_turns_flow *flow = turns->next;

	if (!flow)
		return NULL;
	do {
		struct rh_call *call = turns_pick(flow);

		if (call->weight <= room && (!spare || flow->in_flight < TURNS_FEW))
			return call;
		flow = flow->next;
	} while (flow != turns->next);
	return NULL;
}

static void turns_take(struct rh_turns *turns, struct rh_turns_flow *flow, struct rh_call *call)
{
	turns->next = flow->next;
	rh_call_remove(&flow->waiting[call->class], call);
	flow->count--;
	turns->count--;
	if (flow->count == 0)
		turns_unlink(turns, flow);
}

void rh_turns_take(struct rh_turns *turns, struct rh_call *call)
{
	struct rh_turns_flow *flow = turns_find_flow(turns, call);

	turns_take(turns, flow, call);
	turns_reap(turns, flow);
}

void rh_turns_send(struct rh_turns *turns, struct rh_call *call)
{
	struct rh_turns_flow *flow = turns_find_flow(turns, call);

	turns_take(turns, flow, call);
	flow->in_flight++;
}

void rh_turns_end(struct rh_turns *turns, const struct rh_call *call)
{
	struct rh_turns_flow *flow = turns_find_flow(turns, call);

	flow->in_flight--;
	turns_reap(turns, flow);
}

struct rh_call *rh_turns_find(const struct rh_turns *turns, uint64_t id)
{
	struct rh_turns_flow *flow = turns->next;
	struct rh_call *found = NULL;

	if (!flow)
		return NULL;
	do {
		for (size_t i = 0; i < RH_WINDOW_CLASSES && !found; i++)
			found = rh_call_find(&flow->waiting[i], id);
		flow = flow->next;
	} while (!found && flow != turns->next);
	return found;
}

void rh_turns_deinit(struct rh_turns *turns)
{
	size_t cursor = 0;
	void *value;

	while (turns->flows && rh_map_next(turns->flows, &cursor, NULL, &value)) {
		struct rh_turns_flow *flow = value;

		for (size_t i = 0; i < RH_WINDOW_CLASSES; i++)
			rh_call_clear(&flow->waiting[i], NULL);
		rh_free(flow);
	}
	rh_map_free(turns->flows);
	*turns = (struct rh_turns){0};
}
