/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/rows.h"

#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"

#define WORD_BITS 64

uint8_t *rh_ps_rows_array(size_t bytes)
{
	size_t padded = bytes > 0 ? rh_ps_padded(bytes) : RH_PS_ALIGN;
	uint8_t *array = aligned_alloc(RH_PS_ALIGN, padded);

	if (array)
		memset(array, 0, padded);
	return array;
}

size_t rh_ps_rows_size(const struct rh_ps_entry *entry)
{
	return (size_t)entry->width * rh_comm_type_size(entry->type);
}

uint32_t rh_ps_rows_count(const struct rh_ps_entry *entry)
{
	return entry->width > 0 ? entry->bytes / (uint32_t)rh_ps_rows_size(entry) : 0;
}

size_t rh_ps_rows_words(const struct rh_ps_entry *entry)
{
	return ((size_t)rh_ps_rows_count(entry) + WORD_BITS - 1) / WORD_BITS;
}

int32_t rh_ps_rows_check_width(const struct rh_ps_head *head, struct rh_comm_error *err)
{
	uint64_t row = (uint64_t)head->width * rh_comm_type_size(head->type);

	if (head->width == 0)
		return 0;
	if (row == 0 || head->bytes % row != 0 ||
	    rh_ps_rows_offset((size_t)(head->bytes / row)) + head->bytes > RH_PS_PART_MAX)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu part %u: %u bytes of type %d cannot be rows of %u elements",
		                    (unsigned long long)head->key, head->part, head->bytes, (int)head->type, head->width);
	return 0;
}

static uint32_t rows_index(const uint8_t *index, uint32_t at)
{
	uint32_t row;

	memcpy(&row, index + (size_t)at * sizeof(row), sizeof(row));
	return row;
}

static int32_t rows_check_order(const struct rh_ps_head *head, const uint8_t *index, uint32_t count,
                                struct rh_comm_error *err)
{
	for (uint32_t i = 0; i < head->rows; i++) {
		uint32_t row = rows_index(index, i);

		if (row >= count)
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			                    "key %llu part %u: row %u is out of range: the part has %u rows",
			                    (unsigned long long)head->key, head->part, row, count);
		if (i > 0 && row <= rows_index(index, i - 1))
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			                    "key %llu part %u: rows must ascend: row %u follows row %u",
			                    (unsigned long long)head->key, head->part, row, rows_index(index, i - 1));
	}
	return 0;
}

int32_t rh_ps_rows_check(const struct rh_ps_head *head, const uint8_t *payload, struct rh_comm_error *err)
{
	size_t row = (size_t)head->width * rh_comm_type_size(head->type);
	uint32_t count;

	if (row == 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu has no rows: give every operation with it the width of a row, RH_PS_INIT too",
		                    (unsigned long long)head->key);
	count = head->bytes / (uint32_t)row;
	if (head->rows > count || head->length != rh_ps_rows_length(head, rh_comm_type_size(head->type)))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu part %u: received %u rows in %u bytes, and the part has %u rows of %zu bytes",
		                    (unsigned long long)head->key, head->part, head->rows, head->length, count, row);
	return rows_check_order(head, payload, count, err);
}

void rh_ps_rows_get(const struct rh_ps_entry *entry, const uint8_t *index, uint32_t count, uint8_t *ret_data)
{
	size_t size = rh_ps_rows_size(entry);

	for (uint32_t i = 0; i < count; i++)
		memcpy(ret_data + i * size, entry->value + rows_index(index, i) * size, size);
}

/* @return the first row from `from` on that is touched, or is not; the number of rows: there is none */
static uint32_t rows_find(const struct rh_ps_entry *entry, const struct rh_ps_round *round, uint32_t from, bool touched)
{
	uint32_t count = rh_ps_rows_count(entry);
	uint64_t flip = touched ? 0 : UINT64_MAX;

	while (from < count) {
		uint64_t word = (round->touched[from / WORD_BITS] ^ flip) >> (from % WORD_BITS);

		if (word != 0) {
			from += (uint32_t)__builtin_ctzll(word);
			return from < count ? from : count;
		}
		from += WORD_BITS - from % WORD_BITS;
	}
	return count;
}

uint32_t rh_ps_rows_next(const struct rh_ps_entry *entry, const struct rh_ps_round *round, uint32_t *at)
{
	*at = rows_find(entry, round, *at, true);
	return rows_find(entry, round, *at, false) - *at;
}

int32_t rh_ps_rows_open(const struct rh_ps_entry *entry, struct rh_ps_round *round)
{
	uint32_t count = rh_ps_rows_count(entry);

	if (count % WORD_BITS != 0 && round->touched[count / WORD_BITS] >> (count % WORD_BITS) != 0)
		return RH_COMM_EINVAL;
	if (round->data || rows_find(entry, round, 0, true) == count)
		return 0;
	round->data = rh_ps_rows_array(entry->bytes);
	return round->data ? 0 : RH_COMM_ENOMEM;
}

/* Add the elements of one row. */
static void rows_add_row(const struct rh_ps_entry *entry, struct rh_ps_round *round, uint32_t row, const uint8_t *data)
{
	uint8_t *sum = round->data + row * rh_ps_rows_size(entry);
	uint64_t bit = UINT64_C(1) << (row % WORD_BITS);

	if (round->touched[row / WORD_BITS] & bit)
		rh_comm_reduce(sum, sum, data, entry->width, entry->type, RH_COMM_SUM);
	else
		memcpy(sum, data, rh_ps_rows_size(entry));
	round->touched[row / WORD_BITS] |= bit;
}

/* Runs of rows that have a sum, and of rows that have none, take turns. */
static void rows_add_whole(const struct rh_ps_entry *entry, struct rh_ps_round *round, const uint8_t *data)
{
	uint32_t count = rh_ps_rows_count(entry);
	size_t size = rh_ps_rows_size(entry);
	uint32_t end;

	for (uint32_t at = 0; at < count; at = end) {
		bool touched = rows_find(entry, round, at, true) == at;
		uint8_t *sum = round->data + at * size;

		end = rows_find(entry, round, at, !touched);
		if (touched)
			rh_comm_reduce(sum, sum, data + at * size, (size_t)(end - at) * entry->width, entry->type, RH_COMM_SUM);
		else
			memcpy(sum, data + at * size, (end - at) * size);
	}
	for (uint32_t at = 0; at < count; at += WORD_BITS)
		round->touched[at / WORD_BITS] = count - at >= WORD_BITS ? UINT64_MAX : (UINT64_C(1) << (count - at)) - 1;
}

int32_t rh_ps_rows_add(const struct rh_ps_entry *entry, struct rh_ps_round *round, const struct rh_ps_head *head,
                       const uint8_t *payload)
{
	bool by_rows = rh_ps_kind_has_rows(head->kind);
	const uint8_t *data;

	/* a push without rows is one all the same, and takes no memory */
	if (by_rows && head->rows == 0)
		return 0;
	if (!round->data) {
		round->data = rh_ps_rows_array(entry->bytes);
		if (!round->data)
			return RH_COMM_ENOMEM;
	}
	if (!by_rows) {
		rows_add_whole(entry, round, payload);
		return 0;
	}
	data = payload + rh_ps_rows_offset(head->rows);
	for (uint32_t i = 0; i < head->rows; i++)
		rows_add_row(entry, round, rows_index(payload, i), data + i * rh_ps_rows_size(entry));
	return 0;
}

/* @return the first row from `from` on that has taken another number of steps than it; `end`: none has */
static uint32_t rows_find_other_steps(const struct rh_ps_entry *entry, uint32_t from, uint32_t end)
{
	uint32_t at = from + 1;

	if (!entry->steps)
		return end;
	while (at < end && entry->steps[at] == entry->steps[from])
		at++;
	return at;
}

/* One step of rows that follow one another, in the value and in the data. */
static void rows_step(const struct rh_ps_change *pattern, uint32_t first, uint32_t count, const uint8_t *data)
{
	struct rh_ps_entry *entry = pattern->entry;
	struct rh_ps_change change = *pattern;
	uint32_t end = first + count;

	while (first < end) {
		uint32_t next = rows_find_other_steps(entry, first, end);

		for (uint32_t row = first; entry->steps && row < next; row++)
			entry->steps[row]++;
		change.data = data;
		change.first = (size_t)first * entry->width;
		change.count = (size_t)(next - first) * entry->width;
		change.steps = entry->steps ? entry->steps[first] : pattern->steps;
		rh_ps_rule_apply(&change);
		data += (next - first) * rh_ps_rows_size(entry);
		first = next;
	}
}

void rh_ps_rows_apply_push(const struct rh_ps_change *pattern, const struct rh_ps_head *head, const uint8_t *payload)
{
	const struct rh_ps_entry *entry = pattern->entry;
	const uint8_t *data = payload;
	uint32_t next;

	if (!rh_ps_kind_has_rows(head->kind)) {
		rows_step(pattern, 0, rh_ps_rows_count(entry), data);
		return;
	}
	data += rh_ps_rows_offset(head->rows);
	for (uint32_t i = 0; i < head->rows; i = next) {
		uint32_t first = rows_index(payload, i);

		next = i + 1;
		while (next < head->rows && rows_index(payload, next) == first + (next - i))
			next++;
		rows_step(pattern, first, next - i, data + i * rh_ps_rows_size(entry));
	}
}

void rh_ps_rows_apply_round(const struct rh_ps_change *pattern, const struct rh_ps_round *round)
{
	uint32_t count;

	for (uint32_t at = 0; (count = rh_ps_rows_next(pattern->entry, round, &at)) > 0; at += count)
		rows_step(pattern, at, count, round->data + at * rh_ps_rows_size(pattern->entry));
}
