/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages that travel compressed. Halves are all-reduced. Float8 and signs are not added up as they are: each rank
 * gets its slice of all vectors, averages it in binary32, and gives it to all, so that what is lost is known at both
 * places, and kept there. Of the greatest elements every rank gets those of all.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/compress/codec.h"
#include "comm/core/compress/top.h"
#include "comm/core/context.h"
#include "comm/core/error.h"
#include "comm/core/floats.h"

#define DEFAULT_PART 0.01

/* First bytes of what a rank sends of a vector, so that ranks that compress otherwise are found. */
struct head {
	uint8_t how;
	uint8_t zero[3];
	uint32_t count; /* low bits of the elements that follow, or of the whole vector */
};

struct rh_comm_compressor {
	struct rh_comm *comm;
	int32_t how;
	int32_t rank;
	int32_t world;
	size_t count;
	size_t taken;       /* of RH_COMM_COMPRESS_TOP: elements that travel */
	float *error;       /* of each element: what this rank has left out */
	float *slice_error; /* of this rank's slice: what it has left out of averages */
	uint8_t *sent;      /* what leaves this rank; of float8 and signs then the averages of all ranks */
	uint8_t *received;  /* what comes from each rank, by rank */
	size_t *bytes;      /* by rank: those of its slice, then those that each rank sends to this one */
	uint64_t calls;
	uint64_t sent_bytes; /* of one call */
};

static const char *const names[] = {"nothing", "f16", "bf16", "e4m3", "e5m2", "top", "sign"};

static bool is_sliced(int32_t how)
{
	return how == RH_COMM_COMPRESS_E4M3 || how == RH_COMM_COMPRESS_E5M2 || how == RH_COMM_COMPRESS_SIGN;
}

/* First element of the slice of a rank; of `world` the end. Slices are whole blocks, but for the last. */
static size_t slice_start(const struct rh_comm_compressor *c, int32_t rank)
{
	size_t blocks = (c->count + RH_COMM_CODEC_BLOCK - 1) / RH_COMM_CODEC_BLOCK;
	size_t each = blocks / (size_t)c->world;
	size_t more = blocks % (size_t)c->world;
	size_t before = (size_t)rank * each + ((size_t)rank < more ? (size_t)rank : more);
	size_t start = before * RH_COMM_CODEC_BLOCK;

	return start < c->count ? start : c->count;
}

static size_t slice_count(const struct rh_comm_compressor *c, int32_t rank)
{
	return slice_start(c, rank + 1) - slice_start(c, rank);
}

/* Bytes of buffers. */
struct sizes {
	size_t sent;
	size_t received;
};

static struct sizes compressor_sizes(struct rh_comm_compressor *c)
{
	struct sizes sizes = {0, 0};
	uint64_t others = (uint64_t)c->world - 1;

	if (c->how <= RH_COMM_COMPRESS_BF16) {
		sizes.sent = c->count * sizeof(uint16_t);
		c->sent_bytes = 2 * sizes.sent * others / (uint64_t)c->world;
	} else if (c->how == RH_COMM_COMPRESS_TOP) {
		sizes.sent = sizeof(struct head) + c->taken * sizeof(struct rh_comm_top);
		sizes.received = sizes.sent * (size_t)c->world;
		c->sent_bytes = sizes.sent * others;
	} else {
		for (int32_t rank = 0; rank < c->world; rank++) {
			c->bytes[rank] = sizeof(struct head) + rh_comm_codec_bytes(c->how, slice_count(c, rank));
			sizes.sent += c->bytes[rank];
		}
		for (int32_t rank = 0; rank < c->world; rank++)
			c->bytes[c->world + rank] = c->bytes[c->rank];
		sizes.received = c->bytes[c->rank] * (size_t)c->world;
		c->sent_bytes = sizes.sent - c->bytes[c->rank] + c->bytes[c->rank] * others;
	}
	return sizes;
}

/* @return whether all memory is there */
static bool compressor_allocate(struct rh_comm_compressor *c)
{
	struct sizes sizes;

	c->bytes = calloc(2 * (size_t)c->world, sizeof(*c->bytes));
	if (!c->bytes)
		return false;
	sizes = compressor_sizes(c);
	/* no world is empty, which analysers do not know */
	c->sent = malloc(sizes.sent > 0 ? sizes.sent : 1);
	if (c->how > RH_COMM_COMPRESS_BF16) {
		c->received = malloc(sizes.received > 0 ? sizes.received : 1);
		c->error = calloc(c->count, sizeof(*c->error));
		/* one more, because a slice may be empty */
		c->slice_error = calloc(is_sliced(c->how) ? slice_count(c, c->rank) + 1 : 1, sizeof(*c->slice_error));
	}
	return c->sent && (c->how <= RH_COMM_COMPRESS_BF16 || (c->received && c->error && c->slice_error));
}

static int32_t compression_check(const struct rh_comm_compression *given, int32_t world, struct rh_comm_error *err)
{
	size_t most = PTRDIFF_MAX / (2 * sizeof(struct rh_comm_top)) / (size_t)world;

	if (given->how < RH_COMM_COMPRESS_F16 || given->how > RH_COMM_COMPRESS_SIGN)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "rh_comm_compression.how is %d, which is no compression; use one of RH_COMM_COMPRESS_*",
		                    (int)given->how);
	if (given->count == 0 || given->count > most)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "rh_comm_compression.count is %zu; a vector has at least one element, and fits the memory",
		                    given->count);
	if (given->how == RH_COMM_COMPRESS_TOP && given->count > UINT32_MAX)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "rh_comm_compression.count is %zu; RH_COMM_COMPRESS_TOP has indexes of 32 bits",
		                    given->count);
	/* written so that NaN is refused */
	if (!(given->part >= 0 && given->part <= 1))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "rh_comm_compression.part is %g; it is above 0 and at most 1, or 0 for %g", given->part,
		                    DEFAULT_PART);
	return 0;
}

static size_t compression_taken(const struct rh_comm_compression *given)
{
	double part = given->part > 0 ? given->part : DEFAULT_PART;
	size_t taken = (size_t)ceil(part * (double)given->count);

	return taken < 1 ? 1 : taken < given->count ? taken : given->count;
}

int32_t rh_comm_compressor_new(struct rh_comm *comm, const struct rh_comm_compression *compression,
                               struct rh_comm_compressor **ret_compressor, struct rh_comm_error *err)
{
	struct rh_comm_compression whole = {0};
	struct rh_comm_compressor *c;
	int32_t r;

	memcpy(&whole, compression, compression->size < sizeof(whole) ? compression->size : sizeof(whole));
	r = compression_check(&whole, comm->size, err);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	*c = (struct rh_comm_compressor){.comm = comm,
	                                 .how = whole.how,
	                                 .rank = comm->rank,
	                                 .world = comm->size,
	                                 .count = whole.count,
	                                 .taken = whole.how == RH_COMM_COMPRESS_TOP ? compression_taken(&whole) : 0};
	if (!compressor_allocate(c)) {
		rh_comm_compressor_free(c);
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK,
		                    "there is no memory for the compression of %zu elements", whole.count);
	}
	*ret_compressor = c;
	return 0;
}

void rh_comm_compressor_free(struct rh_comm_compressor *compressor)
{
	if (!compressor)
		return;
	free(compressor->error);
	free(compressor->slice_error);
	free(compressor->sent);
	free(compressor->received);
	free(compressor->bytes);
	free(compressor);
}

/* One average on its way. */
struct average {
	struct rh_comm_compressor *c;
	float *vector;
	int64_t timeout;
	struct rh_comm_error *err;
};

static void head_put(const struct rh_comm_compressor *c, size_t count, uint8_t *to)
{
	struct head head = {.how = (uint8_t)c->how, .count = (uint32_t)count};

	memcpy(to, &head, sizeof(head));
}

/* What a rank has sent is what this one expects of it. */
static int32_t head_check(const struct average *a, int32_t rank, size_t count, const uint8_t *from)
{
	struct head head;
	size_t known = sizeof(names) / sizeof(*names);

	memcpy(&head, from, sizeof(head));
	if (head.how == a->c->how && head.count == (uint32_t)count)
		return 0;
	return rh_comm_fail(a->err, RH_COMM_EINVAL, rh_comm_world_rank(a->c->comm, rank),
	                    "rank %d compresses by %s, with %u elements here, and this rank by %s, with %u; give all ranks "
	                    "the same compression",
	                    (int)rh_comm_world_rank(a->c->comm, rank), names[head.how < known ? head.how : 0],
	                    (unsigned)head.count, names[a->c->how], (unsigned)count);
}

static int32_t average_run(const struct average *a, struct rh_comm_op *op)
{
	op->size = sizeof(*op);
	op->timeout = a->timeout;
	return rh_comm_run(a->c->comm, op, a->err);
}

static int32_t average_halves(const struct average *a)
{
	struct rh_comm_compressor *c = a->c;
	bool ieee = c->how == RH_COMM_COMPRESS_F16;
	uint16_t *halves = (uint16_t *)(void *)c->sent;
	float share = 1.0F / (float)c->world;
	struct rh_comm_op op = {.what = RH_COMM_ALL_REDUCE,
	                        .out = halves,
	                        .count = c->count,
	                        .type = ieee ? RH_COMM_F16 : RH_COMM_BF16,
	                        .reduce = RH_COMM_SUM};
	int32_t r;

	/* of the sum of many ranks binary16 would be infinite */
	for (size_t i = 0; i < c->count; i++)
		halves[i] = ieee ? rh_comm_f16_from_f32(a->vector[i] * share) : rh_comm_bf16_from_f32(a->vector[i] * share);
	r = average_run(a, &op);
	for (size_t i = 0; i < c->count && r == 0; i++)
		a->vector[i] = ieee ? rh_comm_f32_from_f16(halves[i]) : rh_comm_f32_from_bf16(halves[i]);
	return r;
}

/* Every rank gets its slice of all vectors. */
static int32_t slices_exchange(const struct average *a)
{
	struct rh_comm_compressor *c = a->c;
	struct rh_comm_op op = {.what = RH_COMM_ALL_TO_ALL_V,
	                        .in = c->sent,
	                        .out = c->received,
	                        .type = RH_COMM_U8,
	                        .in_counts = c->bytes,
	                        .out_counts = c->bytes + c->world};
	uint8_t *to = c->sent;

	for (int32_t rank = 0; rank < c->world; rank++) {
		size_t start = slice_start(c, rank);

		head_put(c, slice_count(c, rank), to);
		rh_comm_codec_encode(c->how, a->vector + start, c->error + start, slice_count(c, rank),
		                     to + sizeof(struct head));
		to += c->bytes[rank];
	}
	return average_run(a, &op);
}

/* The average of the own slice, to its place among those of all ranks. */
static int32_t slice_average(const struct average *a)
{
	struct rh_comm_compressor *c = a->c;
	size_t count = slice_count(c, c->rank);
	float *slice = a->vector + slice_start(c, c->rank);
	float share = 1.0F / (float)c->world;
	const uint8_t *from = c->received;
	uint8_t *to = c->sent;
	int32_t r = 0;

	memset(slice, 0, count * sizeof(*slice));
	for (int32_t rank = 0; rank < c->world && r == 0; rank++) {
		r = head_check(a, rank, count, from);
		if (r == 0)
			rh_comm_codec_add(c->how, from + sizeof(struct head), count, slice);
		from += c->bytes[c->rank];
	}
	for (size_t i = 0; i < count; i++)
		slice[i] *= share;
	for (int32_t rank = 0; rank < c->rank; rank++)
		to += c->bytes[rank];
	head_put(c, count, to);
	rh_comm_codec_encode(c->how, slice, c->slice_error, count, to + sizeof(struct head));
	return r;
}

static int32_t slices_gather(const struct average *a)
{
	struct rh_comm_compressor *c = a->c;
	struct rh_comm_op op = {.what = RH_COMM_ALL_GATHER_V, .out = c->sent, .type = RH_COMM_U8, .out_counts = c->bytes};
	const uint8_t *from = c->sent;
	int32_t r = average_run(a, &op);

	for (int32_t rank = 0; rank < c->world && r == 0; rank++) {
		r = head_check(a, rank, slice_count(c, rank), from);
		if (r == 0)
			rh_comm_codec_decode(c->how, from + sizeof(struct head), slice_count(c, rank),
			                     a->vector + slice_start(c, rank));
		from += c->bytes[rank];
	}
	return r;
}

static int32_t average_slices(const struct average *a)
{
	int32_t r = slices_exchange(a);

	if (r == 0)
		r = slice_average(a);
	return r < 0 ? r : slices_gather(a);
}

/* Add the elements that a rank has sent. */
static int32_t top_add(const struct average *a, int32_t rank, const uint8_t *from)
{
	int32_t r = head_check(a, rank, a->c->count, from);

	from += sizeof(struct head);
	for (size_t i = 0; i < a->c->taken && r == 0; i++) {
		struct rh_comm_top top;

		memcpy(&top, from + i * sizeof(top), sizeof(top));
		if (top.index < a->c->count)
			a->vector[top.index] += top.value;
		else
			r = rh_comm_fail(a->err, RH_COMM_EINVAL, rh_comm_world_rank(a->c->comm, rank),
			                 "rank %d has sent element %u of a vector of %zu",
			                 (int)rh_comm_world_rank(a->c->comm, rank), (unsigned)top.index, a->c->count);
	}
	return r;
}

static int32_t average_top(const struct average *a)
{
	struct rh_comm_compressor *c = a->c;
	size_t bytes = sizeof(struct head) + c->taken * sizeof(struct rh_comm_top);
	float share = 1.0F / (float)c->world;
	struct rh_comm_op op = {
		.what = RH_COMM_ALL_GATHER, .in = c->sent, .out = c->received, .count = bytes, .type = RH_COMM_U8};
	int32_t r;

	for (size_t i = 0; i < c->count; i++)
		c->error[i] += a->vector[i];
	head_put(c, c->count, c->sent);
	rh_comm_top_take(c->error, c->count, c->taken, (struct rh_comm_top *)(void *)(c->sent + sizeof(struct head)));
	r = average_run(a, &op);
	if (r < 0)
		return r;
	memset(a->vector, 0, c->count * sizeof(*a->vector));
	for (int32_t rank = 0; rank < c->world && r == 0; rank++)
		r = top_add(a, rank, c->received + (size_t)rank * bytes);
	for (size_t i = 0; i < c->count; i++)
		a->vector[i] *= share;
	return r;
}

int32_t rh_comm_compressor_average(struct rh_comm_compressor *compressor, float *vector, int64_t timeout,
                                   struct rh_comm_error *err)
{
	struct average average = {compressor, vector, timeout, err};
	int32_t r;

	if (compressor->world == 1)
		r = 0;
	else if (is_sliced(compressor->how))
		r = average_slices(&average);
	else
		r = compressor->how == RH_COMM_COMPRESS_TOP ? average_top(&average) : average_halves(&average);
	compressor->calls += r == 0;
	return r;
}

void rh_comm_compressor_drain(struct rh_comm_compressor *compressor, float *vector)
{
	struct rh_comm_compressor *c = compressor;
	size_t start = slice_start(c, c->rank);

	for (size_t i = 0; c->error && i < c->count; i++) {
		vector[i] += c->error[i];
		c->error[i] = 0;
	}
	/* what a slice lacks, the averages lack, which are divided by the number of ranks */
	for (size_t i = 0; is_sliced(c->how) && i < slice_count(c, c->rank); i++) {
		vector[start + i] += c->slice_error[i] * (float)c->world;
		c->slice_error[i] = 0;
	}
}

void rh_comm_compressor_saved(const struct rh_comm_compressor *compressor, struct rh_comm_compressed *ret_saved)
{
	const struct rh_comm_compressor *c = compressor;
	uint64_t plain = 2 * c->count * sizeof(float) * ((uint64_t)c->world - 1) / (uint64_t)c->world;
	struct rh_comm_compressed saved = {.size = ret_saved->size,
	                                   .calls = c->calls,
	                                   .plain_bytes = plain * c->calls,
	                                   .sent_bytes = c->sent_bytes * c->calls};

	memcpy(ret_saved, &saved, saved.size < sizeof(saved) ? saved.size : sizeof(saved));
}
