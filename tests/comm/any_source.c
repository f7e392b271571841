/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/any_source.h"
#include "random.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define MESSAGES 60
#define PENDING 4
/* Elements of a message: the sender, its number, and so on. */
#define ELEMENTS 1000

enum tag { TAG_MANY = 7, TAG_ASIDE, TAG_MIXED, TAG_TURNS, TAG_DONE };

static struct rh_comm_op message_op(int32_t what, int32_t peer, uint32_t tag, int32_t *data)
{
	return (struct rh_comm_op){.size = sizeof(struct rh_comm_op),
	                           .what = what,
	                           .out = data,
	                           .count = ELEMENTS,
	                           .type = RH_COMM_I32,
	                           .peer = peer,
	                           .tag = tag};
}

static void message_fill(int32_t rank, int32_t number, int32_t *data)
{
	for (int32_t i = 0; i < ELEMENTS; i++)
		data[i] = rank * 1000000 + number * 1000 + i;
}

static bool message_is(int32_t rank, int32_t number, const int32_t *data)
{
	for (int32_t i = 0; i < ELEMENTS; i++) {
		if (data[i] != rank * 1000000 + number * 1000 + i)
			return false;
	}
	return true;
}

static int fail(const struct rh_comm *comm, const char *what, const struct rh_comm_error *err)
{
	(void)fprintf(stderr, "any source: rank %d: %s: %s\n", (int)rh_comm_rank(comm), what, err ? err->text : "");
	return 1;
}

/* A message that is posted. */
struct slot {
	int32_t data[ELEMENTS];
	int32_t source;
	struct rh_comm_request *request;
};

/* A send to rank 0 may end only when the message is received: who sends several that are taken in another order posts
 * them. */
static int slot_send(struct rh_comm *comm, uint32_t tag, int32_t number, struct slot *slot)
{
	struct rh_comm_op op = message_op(RH_COMM_SEND, 0, tag, slot->data);
	struct rh_comm_error err;

	message_fill(rh_comm_rank(comm), number, slot->data);
	return rh_comm_post(comm, &op, &slot->request, &err) == 0 ? 0 : fail(comm, "post a send", &err);
}

static int slot_wait(struct rh_comm *comm, struct slot *slot)
{
	struct rh_comm_error err;

	return rh_comm_wait(slot->request, &err) == 0 ? 0 : fail(comm, "wait", &err);
}

static int send_one(struct rh_comm *comm, int32_t to, uint32_t tag, int32_t number)
{
	int32_t data[ELEMENTS];
	struct rh_comm_op op = message_op(RH_COMM_SEND, to, tag, data);
	struct rh_comm_error err;

	message_fill(rh_comm_rank(comm), number, data);
	return rh_comm_run(comm, &op, &err) == 0 ? 0 : fail(comm, "send", &err);
}

/* @param peer or RH_COMM_ANY_RANK; the rank that it is from is written there. @return 0 when it is the one expected */
static int recv_one(struct rh_comm *comm, int32_t *peer, uint32_t tag, int32_t number)
{
	int32_t data[ELEMENTS];
	struct rh_comm_op op = message_op(RH_COMM_RECV, *peer, tag, data);
	struct rh_comm_error err;

	op.source = peer;
	if (rh_comm_run(comm, &op, &err) != 0)
		return fail(comm, "recv", &err);
	return message_is(*peer, number, data) ? 0 : fail(comm, "not what was sent", NULL);
}

/* Senders send at random moments; what comes from each is in order, whoever was first. */
static int send_many(struct rh_comm *comm)
{
	static struct slot aside;
	uint64_t seed = (uint64_t)rh_comm_rank(comm);
	int status = slot_send(comm, TAG_ASIDE, 0, &aside);

	for (int32_t number = 0; number < MESSAGES && status == 0; number++) {
		for (uint32_t i = test_random_below(&seed, 200); i > 0; i--)
			(void)sched_yield();
		status = send_one(comm, 0, TAG_MANY, number);
	}
	return status == 0 ? slot_wait(comm, &aside) : status;
}

static int32_t slot_post(struct rh_comm *comm, struct slot *slot, struct rh_comm_error *err)
{
	struct rh_comm_op op = message_op(RH_COMM_RECV, RH_COMM_ANY_RANK, TAG_MANY, slot->data);

	op.source = &slot->source;
	slot->source = RH_COMM_NO_RANK;
	return rh_comm_post(comm, &op, &slot->request, err);
}

static int recv_many(struct rh_comm *comm)
{
	static struct slot slots[PENDING];
	int32_t total = (rh_comm_world(comm) - 1) * MESSAGES;
	int32_t next[RANKS_MAX] = {0};
	struct rh_comm_error err;

	for (int32_t i = 0; i < total + PENDING; i++) {
		struct slot *slot = &slots[i % PENDING];

		if (i >= PENDING) {
			if (slot_wait(comm, slot) != 0)
				return 1;
			if (slot->source <= 0 || slot->source >= rh_comm_world(comm) ||
			    !message_is(slot->source, next[slot->source]++, slot->data))
				return fail(comm, "out of order, or not what was sent", NULL);
		}
		if (i < total && slot_post(comm, slot, &err) != 0)
			return fail(comm, "post", &err);
	}
	for (int32_t peer = 1; peer < rh_comm_world(comm); peer++) {
		if (next[peer] != MESSAGES || recv_one(comm, &peer, TAG_ASIDE, 0) != 0)
			return fail(comm, "lost", NULL);
	}
	return 0;
}

/* A receive with a source does not overtake one without, and the other way round. */
static int recv_mixed(struct rh_comm *comm, bool any_first)
{
	int32_t data[2][ELEMENTS];
	int32_t sources[2] = {RH_COMM_NO_RANK, RH_COMM_NO_RANK};
	struct rh_comm_request *requests[2];
	struct rh_comm_error err;

	for (int i = 0; i < 2; i++) {
		struct rh_comm_op op =
			message_op(RH_COMM_RECV, any_first == (i == 0) ? RH_COMM_ANY_RANK : 1, TAG_MIXED, data[i]);

		op.source = &sources[i];
		if (rh_comm_post(comm, &op, &requests[i], &err) != 0)
			return fail(comm, "post", &err);
	}
	if (send_one(comm, 1, TAG_DONE, 0) != 0)
		return 1;
	for (int i = 1; i >= 0; i--) {
		if (rh_comm_wait(requests[i], &err) != 0)
			return fail(comm, "wait", &err);
		if (sources[i] != 1 || !message_is(1, i, data[i]))
			return fail(comm, "a receive has overtaken another", NULL);
	}
	return 0;
}

static int send_mixed(struct rh_comm *comm)
{
	int32_t peer = 0;
	int status = recv_one(comm, &peer, TAG_DONE, 0);

	for (int32_t number = 0; number < 2 && status == 0; number++)
		status = send_one(comm, 0, TAG_MIXED, number);
	return status;
}

/* All have two messages there: nobody's second one comes before another's first. */
static int recv_in_turn(struct rh_comm *comm)
{
	int32_t senders = rh_comm_world(comm) - 1;
	int32_t seen[RANKS_MAX] = {0};
	int status = 0;

	for (int32_t peer = 1; peer <= senders && status == 0; peer++)
		status = recv_one(comm, &peer, TAG_DONE, 0);
	for (int32_t i = 0; i < 2 * senders && status == 0; i++) {
		int32_t peer = RH_COMM_ANY_RANK;

		status = recv_one(comm, &peer, TAG_TURNS, i / senders);
		if (status == 0 && seen[peer]++ != i / senders)
			status = fail(comm, "a sender was passed over", NULL);
	}
	return status;
}

static int send_in_turn(struct rh_comm *comm)
{
	static struct slot slots[3];
	int status = 0;

	for (int32_t i = 0; i < 3 && status == 0; i++)
		status = slot_send(comm, i < 2 ? TAG_TURNS : TAG_DONE, i % 2, &slots[i]);
	for (int i = 0; i < 3 && status == 0; i++)
		status = slot_wait(comm, &slots[i]);
	return status;
}

static int run_in(struct rh_comm *comm)
{
	bool receives = rh_comm_rank(comm) == 0;
	int status = receives ? recv_many(comm) : send_many(comm);

	for (int turn = 0; turn < 2 && status == 0 && rh_comm_rank(comm) < 2; turn++)
		status = receives ? recv_mixed(comm, turn == 0) : send_mixed(comm);
	if (status == 0)
		status = receives ? recv_in_turn(comm) : send_in_turn(comm);
	return status;
}

/* Who leaves waits for the others only so long: nobody leaves while another still receives. */
static int end_together(struct rh_comm *comm)
{
	struct rh_comm_op op = {.size = sizeof(op), .what = RH_COMM_BARRIER};
	struct rh_comm_error err;

	return rh_comm_run(comm, &op, &err) == 0 ? 0 : fail(comm, "barrier", &err);
}

int any_source_seeded(struct rh_comm *comm, const void *arg)
{
	int32_t ranks[RANKS_MAX];
	int32_t world = rh_comm_world(comm);
	struct rh_comm *group;
	struct rh_comm_error err;
	int status = run_in(comm);

	(void)arg;
	for (int32_t i = 0; i < world; i++)
		ranks[i] = world - 1 - i;
	if (status != 0)
		return status;
	if (rh_comm_group(comm, ranks, world, &group, &err) != 0)
		return fail(comm, "group", &err);
	status = run_in(group);
	if (status == 0)
		status = end_together(group);
	rh_comm_free(group);
	return status;
}
