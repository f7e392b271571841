/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce of the ranks of one host, around a ring in segments, of which a few are received ahead while the next to
 * come is reduced (Patarasuk and Yuan, 2009). Each element is combined by one rank, so all end with the same bits.
 */
#include <stdlib.h>

#include "comm/core/collective/smaller.h"
#include "comm/ucx/message.h"
#include "comm/ucx/ring.h"

#define RING_SEGMENT (256 * 1024)
#define RING_LEAD 4

/* A run of elements. */
struct span {
	size_t from;
	size_t count;
};

static uint64_t ring_tag(const struct ucx_ring *ring, size_t number)
{
	return ucx_collective_tag(ring->id, number);
}

static size_t ring_moves(const struct ucx_ring *ring)
{
	return 2 * (size_t)(ring->world - 1) * ring->segments;
}

/*
 * Not all segments finish their first step before the first one begins its second: what has just been reduced is sent
 * on while it is in the cache. So many segments are between two steps of the same one.
 */
static size_t ring_advance(struct ucx_ring *ring)
{
	int32_t steps = 2 * (ring->world - 1);
	struct ucx_place *place = &ring->coming;

	for (;; place->time++, place->step = steps - 1) {
		for (; place->step >= 0; place->step--) {
			size_t behind = (size_t)place->step * RING_LEAD;

			if (place->time >= behind && place->time - behind < ring->segments)
				return (size_t)place->step-- * ring->segments + place->time - behind;
		}
	}
}

/* Segment `number % segments` of the chunk that arrives in step `number / segments`. */
static struct span ring_span(const struct ucx_ring *ring, int32_t step, size_t segment)
{
	size_t chunk = (size_t)((ring->rank - step + 2 * ring->world) % ring->world);
	size_t from = rh_comm_smaller(chunk * ring->chunk + segment * ring->segment, ring->op.count);
	size_t end = rh_comm_smaller(rh_comm_smaller((chunk + 1) * ring->chunk, from + ring->segment), ring->op.count);

	return (struct span){from, end > from ? end - from : 0};
}

/* Number `number` sends what number `number - segments` received; the first ones are this rank's own. */
static int32_t ring_send(struct ucx *ucx, struct ucx_ring *ring, size_t number)
{
	struct span span = ring_span(ring, (int32_t)(number / ring->segments), number % ring->segments);
	const char *data = number < ring->segments ? ring->op.in : ring->op.out;
	void *work = NULL;
	int32_t r = ucx_send(ucx, (ring->rank + 1) % ring->world, ring_tag(ring, number), data + span.from * ring->size,
	                     span.count * ring->size, &work);

	if (work) {
		*ring->sends_last = work;
		ring->sends_last = &((struct ucx_work *)work)->after;
	}
	return r;
}

/* Where the receive that was posted as number `at` puts what is to be reduced. */
static char *ring_slot(const struct ucx_ring *ring, size_t at)
{
	return ring->spare + at % UCX_WINDOW * ring->segment * ring->size;
}

static bool ring_reduces(const struct ucx_ring *ring, size_t number)
{
	return number < (size_t)(ring->world - 1) * ring->segments;
}

static int32_t ring_recv(struct ucx *ucx, struct ucx_ring *ring)
{
	size_t at = ring->posted++;
	size_t number = ring_advance(ring);
	struct span span = ring_span(ring, (int32_t)(number / ring->segments) + 1, number % ring->segments);
	char *into = ring_reduces(ring, number) ? ring_slot(ring, at) : (char *)ring->op.out + span.from * ring->size;

	ring->numbers[at % UCX_WINDOW] = number;
	return ucx_recv(ucx, (ring->rank + ring->world - 1) % ring->world, ring_tag(ring, number), into,
	                span.count * ring->size, &ring->recvs[at % UCX_WINDOW]);
}

static void ring_act(const struct ucx *ucx, struct ucx_ring *ring, size_t number)
{
	size_t step = number / ring->segments;
	struct span span = ring_span(ring, (int32_t)step + 1, number % ring->segments);
	size_t at = span.from * ring->size;
	char *out = (char *)ring->op.out + at;

	if (!ring_reduces(ring, number))
		return;
	ucx->team->reduce(out, ring_slot(ring, ring->taken), (const char *)ring->op.in + at, span.count, ring->op.type,
	                  ring->op.reduce);
	if (step == (size_t)ring->world - 2 && ring->op.reduce == RH_COMM_AVG)
		ucx->team->divide(out, span.count, ring->op.type, ring->world);
}

/* The sends that are through. @return 0, RH_COMM_BUSY while there are others, RH_COMM_E* */
static int32_t ring_reap(struct ucx *ucx, struct ucx_ring *ring)
{
	while (ring->sends) {
		struct ucx_work *work = ring->sends;
		struct ucx_work *after = work->after;
		int32_t r = ucx_message_poll(ucx, work);

		if (r != 0)
			return r;
		ring->sends = after;
		if (!after)
			ring->sends_last = &ring->sends;
	}
	return 0;
}

/* Send what follows from a receive: the received segment, and another one of the own segments for each received one. */
static int32_t ring_follow(struct ucx *ucx, struct ucx_ring *ring, size_t number)
{
	int32_t r = 0;

	if (number + ring->segments < ring_moves(ring))
		r = ring_send(ucx, ring, number + ring->segments);
	if (r == 0 && number + RING_LEAD < ring->segments)
		r = ring_send(ucx, ring, number + RING_LEAD);
	return r;
}

/* Take what has come, in order. */
static int32_t ring_step(struct ucx *ucx, struct ucx_ring *ring)
{
	size_t moves = ring_moves(ring);
	int32_t r = 0;

	while (ring->taken < moves && r == 0) {
		void **recv = &ring->recvs[ring->taken % UCX_WINDOW];
		size_t number = ring->numbers[ring->taken % UCX_WINDOW];

		r = *recv ? ucx_message_poll(ucx, *recv) : 0;
		if (r != 0)
			break;
		ring_act(ucx, ring, number);
		r = ring_follow(ucx, ring, number);
		ring->taken++;
		if (r == 0 && ring->posted < moves)
			r = ring_recv(ucx, ring);
	}
	return r < 0 || ring->taken < moves ? r : ring_reap(ucx, ring);
}

static int32_t ring_begin(struct ucx *ucx, struct ucx_ring *ring)
{
	size_t ahead = rh_comm_smaller(ring_moves(ring), UCX_WINDOW);
	int32_t r = 0;

	while (ring->posted < ahead && r == 0)
		r = ring_recv(ucx, ring);
	for (size_t number = 0; number < ring->segments && number < RING_LEAD && r == 0; number++)
		r = ring_send(ucx, ring, number);
	return r;
}

static struct ucx_ring *ring_new(struct ucx *ucx)
{
	struct ucx_ring *ring = ucx->rings;

	if (ring) {
		ucx->rings = ring->next;
		return ring;
	}
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	ring->spare = aligned_alloc(4096, UCX_WINDOW * RING_SEGMENT);
	if (ring->spare)
		return ring;
	free(ring);
	return NULL;
}

void ucx_ring_free(struct ucx *ucx, struct ucx_ring *ring)
{
	ring->next = ucx->rings;
	ucx->rings = ring;
}

static void ring_plan(const struct ucx *ucx, struct ucx_ring *ring, const struct rh_comm_op *op, uint64_t id)
{
	ring->kind = UCX_RING;
	ring->size = rh_comm_element_size(op->type);
	ring->op = *op;
	ring->id = id;
	ring->rank = ucx->team->rank;
	ring->world = ucx->team->world;
	ring->coming = (struct ucx_place){0, 0};
	ring->posted = 0;
	ring->taken = 0;
	ring->sends = NULL;
	ring->sends_last = &ring->sends;
	ring->chunk = (op->count + (size_t)ring->world - 1) / (size_t)ring->world;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): ucx_collective() has seen that the type has a size */
	ring->segment = rh_comm_smaller(RING_SEGMENT / ring->size, ring->chunk);
	/* NOLINTNEXTLINE(clang-analyzer-core.*): no vector is empty here, so no segment is */
	ring->segments = (ring->chunk + ring->segment - 1) / ring->segment;
}

int32_t ucx_ring_post(struct ucx *ucx, const struct rh_comm_op *op, uint64_t id, void **ret_work)
{
	struct ucx_ring *ring = ring_new(ucx);
	int32_t r;

	if (!ring)
		return RH_COMM_ENOMEM;
	ring_plan(ucx, ring, op, id);
	r = ring_begin(ucx, ring);
	if (r < 0) {
		ucx_ring_free(ucx, ring);
		return r;
	}
	*ret_work = ring;
	return 0;
}

int32_t ucx_ring_test(struct ucx *ucx, struct ucx_ring *ring)
{
	int32_t r;

	(void)ucp_worker_progress(ucx->worker);
	r = ring_step(ucx, ring);
	if (r != RH_COMM_BUSY)
		ucx_ring_free(ucx, ring);
	return r;
}

void ucx_free_rings(struct ucx *ucx)
{
	while (ucx->rings) {
		struct ucx_ring *ring = ucx->rings;

		ucx->rings = ring->next;
		free(ring->spare);
		free(ring);
	}
}
