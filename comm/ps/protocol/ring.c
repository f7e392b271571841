/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096
/* Of each direction: several records of the largest size. */
#define RING_BYTES (UINT64_C(4) << 20)
/* In place of a kind: the rest up to the end of the ring is empty. */
#define RING_SKIP UINT16_MAX

/* Written by one side each, so each on a line of its own. */
struct ring_line {
	_Atomic uint64_t value;
	uint8_t pad[RH_PS_ALIGN - sizeof(uint64_t)];
};

/* Start of the memory; index 0 is the worker's, 1 the server's. Positions only grow. */
struct ring_shared {
	struct ring_line added[2];   /* where the next record of this side will lie */
	struct ring_line dropped[2]; /* up to where this side has read the other's */
	struct ring_line asleep[2];  /* this side wants to be woken */
};

struct rh_ps_ring {
	struct ring_shared *shared;
	int us;
	int them;
	const uint8_t *in;
	uint8_t *out;
	uint64_t in_at;         /* where the next record is read */
	uint64_t in_until;      /* what is known to be there */
	uint64_t current;       /* length of the record that next() returned */
	uint64_t out_at;        /* where the next record is written */
	uint64_t out_until;     /* what is known to be free */
	uint64_t published_out; /* what the other side has seen */
	uint64_t published_in;
	uint64_t held; /* what is added at and after this position is not published yet */
	bool full;     /* add() found no room since the last sleep */
};

#define MEMORY_BYTES (PAGE + 2 * RING_BYTES)

int32_t rh_ps_ring_memory(int *ret_memory)
{
	int fd = memfd_create("rh-ps", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int number;

	if (fd < 0)
		return RH_COMM_EIO;
	if (ftruncate(fd, MEMORY_BYTES) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
		*ret_memory = fd;
		return 0;
	}
	number = errno;
	(void)close(fd);
	errno = number;
	return RH_COMM_EIO;
}

struct rh_ps_ring *rh_ps_ring_new(int memory, bool server)
{
	struct stat status;
	struct rh_ps_ring *ring;
	uint8_t *base;

	if (fstat(memory, &status) < 0 || status.st_size != MEMORY_BYTES)
		return NULL;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	base = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (base == MAP_FAILED) {
		free(ring);
		return NULL;
	}
	ring->shared = (struct ring_shared *)base;
	ring->us = server ? 1 : 0;
	ring->them = server ? 0 : 1;
	ring->in = base + PAGE + (uint64_t)ring->them * RING_BYTES;
	ring->out = base + PAGE + (uint64_t)ring->us * RING_BYTES;
	ring->out_until = RING_BYTES;
	ring->held = UINT64_MAX;
	return ring;
}

void rh_ps_ring_free(struct rh_ps_ring *ring)
{
	if (!ring)
		return;
	(void)munmap(ring->shared, MEMORY_BYTES);
	free(ring);
}

/* Read how much the other side has added. @return whether there is anything; RH_COMM_EINVAL: the counter is invalid */
static int32_t ring_look(struct rh_ps_ring *ring)
{
	if (ring->in_at == ring->in_until)
		ring->in_until = atomic_load_explicit(&ring->shared->added[ring->them].value, memory_order_acquire);
	if (ring->in_until - ring->in_at > RING_BYTES || ring->in_until % RH_PS_ALIGN != 0)
		return RH_COMM_EINVAL;
	return ring->in_at != ring->in_until;
}

int32_t rh_ps_ring_next(struct rh_ps_ring *ring, struct rh_ps_head *ret_head, const uint8_t **ret_payload)
{
	struct rh_ps_head head;
	uint64_t offset;
	uint64_t whole;
	int32_t r;

	while ((r = ring_look(ring)) > 0) {
		offset = ring->in_at % RING_BYTES;
		/* copied once, and checked as copied: the other side can still write there */
		memcpy(&head, ring->in + offset, sizeof(head));
		if (head.kind == RING_SKIP) {
			ring->in_at += RING_BYTES - offset;
			if (ring->in_at > ring->in_until)
				return RH_COMM_EINVAL;
			continue;
		}
		whole = sizeof(head) + rh_ps_padded(head.length);
		if (!rh_ps_head_is_sane(&head) || whole > ring->in_until - ring->in_at || offset + whole > RING_BYTES)
			return RH_COMM_EINVAL;
		ring->current = whole;
		*ret_head = head;
		*ret_payload = ring->in + offset + sizeof(head);
		return 1;
	}
	return r;
}

void rh_ps_ring_drop(struct rh_ps_ring *ring)
{
	ring->in_at += ring->current;
	ring->current = 0;
}

/* @return whether there are `length` bytes of room */
static bool ring_has_room(struct rh_ps_ring *ring, uint64_t length)
{
	uint64_t dropped;

	if (ring->out_until - ring->out_at >= length)
		return true;
	dropped = atomic_load_explicit(&ring->shared->dropped[ring->them].value, memory_order_acquire);
	/* what cannot be true gives no room */
	if (ring->out_at - dropped <= RING_BYTES)
		ring->out_until = dropped + RING_BYTES;
	return ring->out_until - ring->out_at >= length;
}

/* @return bytes up to the end of the ring that a record of @p whole bytes leaves empty */
static uint64_t ring_skipped(const struct rh_ps_ring *ring, uint64_t whole)
{
	uint64_t rest = RING_BYTES - ring->out_at % RING_BYTES;

	return rest < whole ? rest : 0;
}

bool rh_ps_ring_fits(struct rh_ps_ring *ring, size_t length)
{
	uint64_t whole = sizeof(struct rh_ps_head) + rh_ps_padded(length);

	if (ring_has_room(ring, whole + ring_skipped(ring, whole)))
		return true;
	ring->full = true;
	return false;
}

uint64_t rh_ps_ring_added(const struct rh_ps_ring *ring)
{
	return ring->out_at;
}

void rh_ps_ring_hold(struct rh_ps_ring *ring, uint64_t until)
{
	ring->held = until;
}

uint8_t *rh_ps_ring_add(struct rh_ps_ring *ring, const struct rh_ps_head *head)
{
	uint64_t offset = ring->out_at % RING_BYTES;
	uint64_t whole = sizeof(*head) + rh_ps_padded(head->length);
	uint64_t skipped = ring_skipped(ring, whole);
	uint16_t skip = RING_SKIP;
	uint8_t *at;

	if (!ring_has_room(ring, whole + skipped)) {
		ring->full = true;
		return NULL;
	}
	if (skipped > 0)
		memcpy(ring->out + offset, &skip, sizeof(skip));
	at = ring->out + (ring->out_at + skipped) % RING_BYTES;
	memcpy(at, head, sizeof(*head));
	ring->out_at += skipped + whole;
	return at + sizeof(*head);
}

bool rh_ps_ring_flush(struct rh_ps_ring *ring)
{
	uint64_t out = ring->out_at < ring->held ? ring->out_at : ring->held;

	if (out < ring->published_out)
		out = ring->published_out;
	if (ring->published_out == out && ring->published_in == ring->in_at)
		return false;
	ring->published_out = out;
	ring->published_in = ring->in_at;
	atomic_store_explicit(&ring->shared->added[ring->us].value, out, memory_order_release);
	atomic_store_explicit(&ring->shared->dropped[ring->us].value, ring->in_at, memory_order_release);
	/* they announce that they sleep, then look; we store, then look whether they sleep: one of the two sees the other
	 */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&ring->shared->asleep[ring->them].value, memory_order_relaxed) != 0 &&
	       atomic_exchange(&ring->shared->asleep[ring->them].value, 0) != 0;
}

bool rh_ps_ring_sleep(struct rh_ps_ring *ring)
{
	bool was_full = ring->full;
	uint64_t until = ring->out_until;

	ring->full = false;
	atomic_store_explicit(&ring->shared->asleep[ring->us].value, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (ring_look(ring) == 0 && !(was_full && (ring_has_room(ring, RING_BYTES), ring->out_until != until)))
		return true;
	atomic_store_explicit(&ring->shared->asleep[ring->us].value, 0, memory_order_relaxed);
	return false;
}
