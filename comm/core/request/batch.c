/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many operations in one: small all-reduces in a row are copied into buckets and travel as one vector each. Which ones
 * share a bucket depends on their order and sizes alone, so that all ranks agree without a word.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"
#include "comm/core/request/check.h"
#include "comm/core/request/request.h"

struct rh_comm_bucket {
	struct rh_comm_op *ops;
	size_t count;
	char *data;
};

/* Parts on their way to be posted. */
struct batch {
	struct rh_comm *comm;
	const struct rh_comm_op *ops;
	size_t count;
	struct rh_comm_request *first;
	struct rh_comm_request **last;
	size_t parts;
};

static size_t batch_bytes(const struct rh_comm_op *op)
{
	return op->count * rh_comm_type_size(op->type);
}

static bool batch_fits(const struct rh_comm_op *a, const struct rh_comm_op *b)
{
	return b->what == RH_COMM_ALL_REDUCE && b->type == a->type && b->reduce == a->reduce && a->memory == RH_COMM_HOST &&
	       b->memory == RH_COMM_HOST && b->timeout == a->timeout;
}

/* @return how many operations from `at` on fit into one bucket; 1: it is sent alone */
static size_t batch_run(const struct batch *batch, size_t at)
{
	size_t limit = batch->comm->world->env.fusion;
	size_t total = 0;
	size_t n = 0;

	if (batch->ops[at].what != RH_COMM_ALL_REDUCE)
		return 1;
	for (; at + n < batch->count && batch_fits(&batch->ops[at], &batch->ops[at + n]); n++) {
		size_t bytes = batch_bytes(&batch->ops[at + n]);

		if (bytes > limit || total > limit - bytes)
			break;
		total += bytes;
	}
	return n > 0 ? n : 1;
}

static void bucket_free(struct rh_comm_bucket *bucket)
{
	if (!bucket)
		return;
	free(bucket->ops);
	free(bucket->data);
	free(bucket);
}

static struct rh_comm_bucket *bucket_new(const struct rh_comm_op *ops, size_t count, size_t bytes)
{
	struct rh_comm_bucket *bucket = calloc(1, sizeof(*bucket));

	if (!bucket)
		return NULL;
	bucket->count = count;
	bucket->ops = malloc(count * sizeof(*bucket->ops));
	bucket->data = malloc(bytes > 0 ? bytes : 1);
	if (!bucket->ops || !bucket->data) {
		bucket_free(bucket);
		return NULL;
	}
	memcpy(bucket->ops, ops, count * sizeof(*ops));
	return bucket;
}

static void bucket_pack(struct rh_comm_bucket *bucket)
{
	char *to = bucket->data;

	for (size_t i = 0; i < bucket->count; i++) {
		size_t bytes = batch_bytes(&bucket->ops[i]);

		if (bytes > 0)
			memcpy(to, bucket->ops[i].in, bytes);
		to += bytes;
	}
}

static void bucket_unpack(const struct rh_comm_bucket *bucket)
{
	const char *from = bucket->data;

	for (size_t i = 0; i < bucket->count; i++) {
		size_t bytes = batch_bytes(&bucket->ops[i]);

		if (bytes > 0)
			memcpy(bucket->ops[i].out, from, bytes);
		from += bytes;
	}
}

static void batch_end_part(struct rh_comm_request *part, int32_t status)
{
	struct rh_comm_request *whole = part->whole;

	if (status == 0 && part->bucket)
		bucket_unpack(part->bucket);
	if (status < 0 && whole->err.code == 0) {
		whole->err = part->err;
		whole->sequence = part->sequence;
	}
	bucket_free(part->bucket);
	rh_comm_request_recycle(part);
	if (--whole->parts == 0)
		atomic_store_explicit(&whole->status, whole->err.code, memory_order_release);
}

static bool batch_add(struct batch *batch, size_t at, size_t count)
{
	struct rh_comm_op op = batch->ops[at];
	struct rh_comm_bucket *bucket = NULL;
	struct rh_comm_request *part;

	for (size_t i = 1; i < count; i++)
		op.count += batch->ops[at + i].count;
	if (count > 1) {
		bucket = bucket_new(batch->ops + at, count, batch_bytes(&op));
		if (!bucket)
			return false;
		op.in = op.out = bucket->data;
	}
	part = rh_comm_request_new(batch->comm, &op);
	if (!part) {
		bucket_free(bucket);
		return false;
	}
	part->bucket = bucket;
	*batch->last = part;
	batch->last = &part->next;
	batch->parts++;
	return true;
}

/* All allocations are made before the first part is posted. */
static bool batch_prepare(struct batch *batch)
{
	for (size_t at = 0; at < batch->count;) {
		size_t n = batch_run(batch, at);

		if (!batch_add(batch, at, n))
			return false;
		at += n;
	}
	return true;
}

static void batch_drop(struct batch *batch)
{
	while (batch->first) {
		struct rh_comm_request *part = batch->first;

		batch->first = part->next;
		bucket_free(part->bucket);
		rh_comm_request_recycle(part);
	}
}

static void batch_begin(struct batch *batch, struct rh_comm_request *whole)
{
	whole->parts = batch->parts + 1;
	rh_comm_request_set_times(whole);
	while (batch->first) {
		struct rh_comm_request *part = batch->first;

		batch->first = part->next;
		part->whole = whole;
		part->end_part = batch_end_part;
		if (part->bucket)
			bucket_pack(part->bucket);
		rh_comm_request_begin(part);
	}
	/* the one more that kept it from ending while parts were still to come */
	if (--whole->parts == 0)
		atomic_store_explicit(&whole->status, whole->err.code, memory_order_release);
}

static int32_t batch_post(struct batch *batch, struct rh_comm_request **ret_request)
{
	static const struct rh_comm_op none = {.size = sizeof(none)};
	struct rh_comm *comm = batch->comm;
	struct rh_comm_request *whole;

	(void)pthread_mutex_lock(&comm->lock);
	whole = rh_comm_request_new(comm, batch->count > 0 ? &batch->ops[0] : &none);
	if (!whole || !batch_prepare(batch)) {
		batch_drop(batch);
		if (whole)
			rh_comm_request_recycle(whole);
		(void)pthread_mutex_unlock(&comm->lock);
		return RH_COMM_ENOMEM;
	}
	batch_begin(batch, whole);
	(void)pthread_mutex_unlock(&comm->lock);
	*ret_request = whole;
	return 0;
}

int32_t rh_comm_post_batch(struct rh_comm *comm, const struct rh_comm_op *ops, size_t count,
                           struct rh_comm_request **ret_request, struct rh_comm_error *err)
{
	struct rh_comm_op *whole = calloc(count > 0 ? count : 1, sizeof(*whole));
	struct batch batch = {.comm = comm, .ops = whole, .count = count};
	int32_t r = rh_comm_world_check(comm->world, err);

	batch.last = &batch.first;
	if (!whole)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct rh_comm_op *op = rh_comm_request_complete(comm, &ops[i], &whole[i]);

		r = rh_comm_request_check(comm, op, err);
		if (op != &whole[i])
			whole[i] = *op;
	}
	if (r == 0) {
		r = batch_post(&batch, ret_request);
		if (r < 0)
			(void)rh_comm_fail(err, r, RH_COMM_NO_RANK, "out of memory");
	}
	free(whole);
	if (r == 0)
		rh_comm_world_wake(comm->world);
	return r;
}
