/* SPDX-License-Identifier: Apache-2.0 */
/* The row of a context's collectives in shared memory: planned, posted, tested. shared.c moves them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/smaller.h"
#include "comm/native/native.h"

/* Flat or in chunks, and how long those are; the table of RH_COMM_TUNE has the last word. */
static void shared_plan(const struct native_sharer *sharer, struct native_shared *shared)
{
	size_t bytes = shared->op.count * shared->size;
	bool flat = shared->op.what == RH_COMM_ALL_REDUCE && bytes <= NATIVE_FLAT;
	const char *algorithm = NULL;
	size_t chunk = 0;

	/* an operation of one element asks nobody: it is to be quick, and flat is all there is */
	if (bytes > NATIVE_FLAT_ALWAYS)
		sharer->team->tuned(sharer->team->core, shared->op.what, bytes, &algorithm, &chunk);
	if (algorithm && strcmp(algorithm, "staged") == 0)
		flat = false;
	else if (algorithm && strcmp(algorithm, "flat") == 0)
		flat = shared->op.what == RH_COMM_ALL_REDUCE && bytes <= NATIVE_FLAT_MAX;
	if (flat)
		return;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): the core has checked the type, so it has a size */
	shared->chunk = rh_comm_smaller(chunk > 0 ? chunk : sharer->segment->slot, sharer->segment->slot) / shared->size;
	if (shared->op.what == RH_COMM_REDUCE_SCATTER)
		shared->chunk /= (size_t)sharer->segment->world;
	if (shared->chunk == 0)
		shared->chunk = 1;
	shared->chunks = (shared->op.count - 1) / shared->chunk + 1;
}

bool native_shared_can(const struct native_sharer *sharer, const struct rh_comm_op *op)
{
	return sharer->segment->base && sharer->team->local_world == sharer->team->world &&
	       (op->what == RH_COMM_BARRIER || op->count > 0);
}

/* A barrier is an all-reduce of one byte. */
static void shared_set_op(struct native_sharer *sharer, const struct rh_comm_op *op, struct native_shared *shared)
{
	*shared = (struct native_shared){.kind = NATIVE_SHARED, .earlier = shared->earlier, .op = *op};
	if (op->what == RH_COMM_BARRIER) {
		shared->op.in = &sharer->nothing[0];
		shared->op.out = &sharer->nothing[1];
		shared->op.what = RH_COMM_ALL_REDUCE;
		shared->op.count = 1;
		shared->op.type = RH_COMM_U8;
		shared->op.reduce = RH_COMM_SUM;
	}
	shared->size = rh_comm_element_size(shared->op.type);
}

/* @return one that waits for an operation, the sharer's; NULL: out of memory */
static struct native_shared *shared_take(struct native_sharer *sharer)
{
	struct native_shared *shared = sharer->spare;

	if (shared) {
		sharer->spare = shared->next;
		return shared;
	}
	shared = malloc(sizeof(*shared));
	if (!shared)
		return NULL;
	shared->earlier = sharer->made;
	sharer->made = shared;
	return shared;
}

int32_t native_shared_post(struct native_sharer *sharer, const struct rh_comm_op *op, uint64_t id,
                           struct native_shared **ret_shared)
{
	struct native_shared *shared = shared_take(sharer);

	if (!shared)
		return RH_COMM_ENOMEM;
	shared_set_op(sharer, op, shared);
	shared->id = id;
	shared_plan(sharer, shared);
	*sharer->last = shared;
	sharer->last = &shared->next;
	/* what is wrong is said when it is tested */
	*ret_shared = native_shared_test(sharer, shared) == 0 ? NULL : shared;
	return 0;
}

static int32_t shared_explain(const struct native_sharer *sharer)
{
	char text[80];

	if (sharer->odd == RH_COMM_NO_RANK)
		return RH_COMM_BUSY;
	(void)snprintf(text, sizeof(text), "rank %d does another collective than this rank", (int)sharer->odd);
	return sharer->team->fail(sharer->team->core, RH_COMM_EINVAL, sharer->odd, text);
}

int32_t native_shared_test(struct native_sharer *sharer, struct native_shared *shared)
{
	if (!shared->done)
		native_sharer_run(sharer);
	if (!shared->done)
		return shared_explain(sharer);
	shared->next = sharer->spare;
	sharer->spare = shared;
	return 0;
}

void native_sharer_init(struct native_sharer *sharer, const struct rh_comm_team *team,
                        const struct native_segment *segment)
{
	*sharer = (struct native_sharer){.team = team, .segment = segment, .odd = RH_COMM_NO_RANK};
	sharer->last = &sharer->first;
}

void native_sharer_deinit(struct native_sharer *sharer)
{
	while (sharer->made) {
		struct native_shared *shared = sharer->made;

		sharer->made = shared->earlier;
		free(shared);
	}
}
