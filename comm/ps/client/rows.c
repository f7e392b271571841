/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/client/rows.h"

#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"
#include "comm/ps/server/store.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

bool rh_ps_op_has_rows(const struct rh_ps_op *op)
{
	return op->what >= RH_PS_PUSH_ROWS && op->what <= RH_PS_PUSH_PULL_ROWS;
}

static size_t rows_size(const struct rh_ps_op *op)
{
	return (size_t)op->width * rh_comm_type_size(op->type);
}

/* @return rows of a part: all of them, with their indices, fit a record */
static size_t rows_of_part(const struct rh_ps *ps, const struct rh_ps_op *op)
{
	size_t size = rows_size(op);
	size_t most = (RH_PS_PART_MAX - RH_PS_ALIGN) / (size + sizeof(uint32_t));
	size_t rows = (size_t)ps->settings.part / size;

	return rows < most ? rows : most;
}

size_t rh_ps_op_step(const struct rh_ps *ps, const struct rh_ps_op *op)
{
	return op->width > 0 ? rows_of_part(ps, op) * rows_size(op) : (size_t)ps->settings.part;
}

static int32_t rows_check_width(const struct rh_ps *ps, const struct rh_ps_op *op, struct rh_comm_error *err)
{
	unsigned long long key = op->key;
	size_t step;

	if (op->width < 0 || (op->width == 0 && rh_ps_op_has_rows(op)))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu: op.width is %d and must be the elements of a row, as in RH_PS_INIT", key,
		                    (int)op->width);
	if (op->width == 0)
		return 0;
	if (op->count % (size_t)op->width != 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu: op.count is %zu and must be a multiple of op.width, %d", key, op->count,
		                    (int)op->width);
	step = rh_ps_op_step(ps, op);
	if (step == 0 || op->count / (step / rh_comm_type_size(op->type)) >= INT32_MAX)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu: a row of %zu bytes does not fit a part of %lld: raise RH_PS_PART, which may be "
		                    "%d",
		                    key, rows_size(op), (long long)ps->settings.part, RH_PS_PART_MAX);
	return 0;
}

int32_t rh_ps_op_check_rows(const struct rh_ps *ps, const struct rh_ps_op *op, struct rh_comm_error *err)
{
	int32_t r = rows_check_width(ps, op, err);
	unsigned long long key = op->key;
	size_t count;

	if (r < 0)
		return r;
	if (!rh_ps_op_has_rows(op))
		return !op->rows ? 0
		                 : rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                                "key %llu: op.rows is for RH_PS_PUSH_ROWS, RH_PS_PULL_ROWS and "
		                                "RH_PS_PUSH_PULL_ROWS, and op.what is %d",
		                                key, (int)op->what);
	if (!op->rows && op->row_count > 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "key %llu: op.rows is NULL", key);
	count = op->count / (size_t)op->width;
	for (size_t i = 0; i < op->row_count; i++) {
		if (op->rows[i] >= count)
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			                    "key %llu: op.rows[%zu] is %llu and must be below %zu, the rows of the value", key, i,
			                    (unsigned long long)op->rows[i], count);
		if (i > 0 && op->rows[i] < op->rows[i - 1])
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			                    "key %llu: op.rows[%zu] is %llu, after %llu: sort the rows", key, i,
			                    (unsigned long long)op->rows[i], (unsigned long long)op->rows[i - 1]);
	}
	return 0;
}

/* Take the rows of a part, from `at` on. @return where those of the next part begin */
static size_t rows_take(const struct rh_ps_op *op, size_t at, struct rh_ps_part *part)
{
	size_t count = op->rows ? op->row_count : 0;
	size_t end = at;

	part->index = op->rows ? op->rows + at : NULL;
	part->rows = 0;
	for (; end < count && op->rows[end] < part->base + part->bytes / rows_size(op); end++)
		part->rows += end == at || op->rows[end] != op->rows[end - 1];
	part->index_count = end - at;
	part->in = part->in && end > at ? part->in + at * rows_size(op) : NULL;
	part->out = part->out && end > at ? part->out + at * rows_size(op) : NULL;
	if (end == at && part->kind == RH_PS_REC_PUSH_PULL_ROWS) {
		part->kind = RH_PS_REC_PUSH_ROWS;
		part->flags = 0;
	}
	return end;
}

/* Parts of large values follow one another over all servers; values begin anywhere. */
struct rh_ps_link *rh_ps_part_link(struct rh_ps *ps, uint64_t key, uint32_t number)
{
	uint64_t hash = key == RH_PS_BARRIER_KEY ? 0 : (key * GOLDEN) >> 33;

	return &ps->links[(hash + number) % (uint64_t)ps->link_count];
}

size_t rh_ps_op_cut_rows(struct rh_ps *ps, const struct rh_ps_op *op, const struct rh_ps_part *pattern,
                         struct rh_ps_part *parts)
{
	size_t bytes = op->count * rh_comm_type_size(op->type);
	size_t step = rh_ps_op_step(ps, op);
	size_t number = (bytes + step - 1) / step;
	size_t count = 0;
	size_t at = 0;

	for (size_t i = 0; i < number; i++) {
		struct rh_ps_part part = *pattern;
		bool counts = op->what != RH_PS_PULL_ROWS && rh_ps_part_link(ps, op->key, (uint32_t)i)->mode != RH_PS_ASYNC;

		part.number = (uint32_t)i;
		part.base = i * (step / rows_size(op));
		part.bytes = (uint32_t)(bytes - i * step < step ? bytes - i * step : step);
		at = rows_take(op, at, &part);
		if (part.rows == 0 && !counts)
			continue;
		if (parts)
			parts[count] = part;
		count++;
	}
	return count;
}

static size_t part_row_size(const struct rh_ps_part *part)
{
	return (size_t)part->width * rh_comm_type_size(part->type);
}

size_t rh_ps_part_rows_length(const struct rh_ps_part *part)
{
	const struct rh_ps_head head = {.kind = (uint16_t)part->kind, .width = part->width, .rows = part->rows};

	return (size_t)rh_ps_rows_length(&head, rh_comm_type_size(part->type));
}

void rh_ps_part_put_rows(const struct rh_ps_part *part, uint8_t *ret_payload)
{
	size_t indices = part->rows * sizeof(uint32_t);
	size_t size = part_row_size(part);
	uint8_t *to = ret_payload + rh_ps_rows_offset(part->rows);
	uint8_t *index = ret_payload;

	/* the other end must not see earlier content between the two */
	if (part->in)
		memset(ret_payload + indices, 0, rh_ps_rows_offset(part->rows) - indices);
	for (size_t i = 0; i < part->index_count; i++) {
		uint32_t row = (uint32_t)(part->index[i] - part->base);
		bool again = i > 0 && part->index[i] == part->index[i - 1];

		if (again && part->in)
			rh_comm_reduce(to - size, to - size, part->in + i * size, part->width, part->type, RH_COMM_SUM);
		if (again)
			continue;
		memcpy(index, &row, sizeof(row));
		index += sizeof(row);
		if (part->in)
			memcpy(to, part->in + i * size, size);
		to += size;
	}
}

void rh_ps_part_get_rows(const struct rh_ps_part *part, const uint8_t *payload)
{
	size_t size = part_row_size(part);
	const uint8_t *from = payload;

	for (size_t i = 0; i < part->index_count; i++) {
		if (i > 0 && part->index[i] != part->index[i - 1])
			from += size;
		memcpy(part->out + i * size, from, size);
	}
}
