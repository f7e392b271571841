/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/replica/entry.h"

#include <string.h>

#include "comm/core/error.h"
#include "comm/ps/server/rows.h"

/* It is followed by the pushes of each worker, the value, the state of the rule, the steps, and the rounds. */
struct entry_head {
	uint64_t key;
	uint32_t part;
	uint32_t bytes;
	int32_t type;
	int32_t known;
	uint64_t version;
	uint64_t rounds;
	uint32_t width;
	uint32_t reserved;
};

/* It is followed by its sum: of rows, by the bits of those that were pushed to, and the sums of these. */
struct entry_round {
	int64_t count;
	double rate;
};

/* Bytes that are read from their start to their end. */
struct entry_bytes {
	const uint8_t *at;
	size_t left;
	bool failed; /* there were too few */
};

static void entry_get(struct entry_bytes *from, void *data, size_t length)
{
	if (from->failed || length > from->left) {
		from->failed = true;
		return;
	}
	if (length > 0)
		memcpy(data, from->at, length);
	from->at += length;
	from->left -= length;
}

static void entry_put(uint8_t **at, const void *data, size_t length)
{
	if (length > 0)
		memcpy(*at, data, length);
	*at += length;
}

/* @return bytes of the sum of a round */
static size_t entry_sum_size(const struct rh_ps_entry *entry, const struct rh_ps_round *round)
{
	size_t size = rh_ps_rows_words(entry) * sizeof(*round->touched);
	uint32_t count;

	if (entry->width == 0)
		return entry->bytes;
	for (uint32_t at = 0; (count = rh_ps_rows_next(entry, round, &at)) > 0; at += count)
		size += count * rh_ps_rows_size(entry);
	return size;
}

size_t rh_ps_entry_size(const struct rh_ps_store *store, const struct rh_ps_entry *entry)
{
	size_t size = sizeof(struct entry_head) + (size_t)store->config.workers * sizeof(uint64_t) +
	              (size_t)entry->bytes * (size_t)(1 + rh_ps_rule_slots(store->config.rule));

	if (entry->steps)
		size += rh_ps_rows_count(entry) * sizeof(*entry->steps);
	for (const struct rh_ps_round *round = entry->rounds; round; round = round->next)
		size += sizeof(struct entry_round) + entry_sum_size(entry, round);
	return size;
}

static void entry_put_sum(uint8_t **at, const struct rh_ps_entry *entry, const struct rh_ps_round *round)
{
	uint32_t count;

	if (entry->width == 0) {
		entry_put(at, round->data, entry->bytes);
		return;
	}
	entry_put(at, round->touched, rh_ps_rows_words(entry) * sizeof(*round->touched));
	for (uint32_t row = 0; (count = rh_ps_rows_next(entry, round, &row)) > 0; row += count)
		entry_put(at, round->data + row * rh_ps_rows_size(entry), count * rh_ps_rows_size(entry));
}

void rh_ps_entry_write(const struct rh_ps_store *store, const struct rh_ps_entry *entry, uint8_t *ret_data)
{
	struct entry_head head = {.key = entry->key,
	                          .part = entry->part,
	                          .bytes = entry->bytes,
	                          .type = entry->type,
	                          .known = entry->known,
	                          .version = entry->version,
	                          .width = entry->width};
	uint8_t *at = ret_data;

	for (const struct rh_ps_round *round = entry->rounds; round; round = round->next)
		head.rounds++;
	entry_put(&at, &head, sizeof(head));
	entry_put(&at, entry->pushed, (size_t)store->config.workers * sizeof(*entry->pushed));
	entry_put(&at, entry->value, entry->bytes);
	for (int32_t i = 0; i < rh_ps_rule_slots(store->config.rule); i++)
		entry_put(&at, entry->slots[i], entry->bytes);
	if (entry->steps)
		entry_put(&at, entry->steps, rh_ps_rows_count(entry) * sizeof(*entry->steps));
	for (const struct rh_ps_round *round = entry->rounds; round; round = round->next) {
		struct entry_round part = {round->count, round->rate};

		entry_put(&at, &part, sizeof(part));
		entry_put_sum(&at, entry, round);
	}
}

/* @return 0, RH_COMM_EINVAL or RH_COMM_ENOMEM */
static int32_t entry_read_sum(struct entry_bytes *from, const struct rh_ps_entry *entry, struct rh_ps_round *round)
{
	uint32_t count;
	int32_t r;

	if (entry->width == 0) {
		entry_get(from, round->data, entry->bytes);
		return from->failed ? RH_COMM_EINVAL : 0;
	}
	entry_get(from, round->touched, rh_ps_rows_words(entry) * sizeof(*round->touched));
	r = from->failed ? RH_COMM_EINVAL : rh_ps_rows_open(entry, round);
	if (r < 0)
		return r;
	for (uint32_t row = 0; (count = rh_ps_rows_next(entry, round, &row)) > 0; row += count)
		entry_get(from, round->data + row * rh_ps_rows_size(entry), count * rh_ps_rows_size(entry));
	return from->failed ? RH_COMM_EINVAL : 0;
}

/* Each was received, so a wrong number of them takes no more memory than that. */
static int32_t entry_read_rounds(struct entry_bytes *from, struct rh_ps_entry *entry, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct rh_ps_round *round = rh_ps_store_round(entry, entry->version + 1 + i);
		struct entry_round part = {0};
		int32_t r;

		if (!round)
			return RH_COMM_ENOMEM;
		entry_get(from, &part, sizeof(part));
		r = entry_read_sum(from, entry, round);
		if (r < 0)
			return r;
		round->count = (int32_t)part.count;
		round->rate = part.rate;
	}
	return 0;
}

/* @return 0, RH_COMM_EINVAL or RH_COMM_ENOMEM */
static int32_t entry_read_all(struct entry_bytes *from, const struct rh_ps_store *store, struct rh_ps_entry *entry,
                              uint64_t rounds)
{
	int32_t r;

	entry_get(from, entry->pushed, (size_t)store->config.workers * sizeof(*entry->pushed));
	entry_get(from, entry->value, entry->bytes);
	for (int32_t i = 0; i < rh_ps_rule_slots(store->config.rule); i++)
		entry_get(from, entry->slots[i], entry->bytes);
	if (entry->steps)
		entry_get(from, entry->steps, rh_ps_rows_count(entry) * sizeof(*entry->steps));
	r = from->failed ? RH_COMM_EINVAL : entry_read_rounds(from, entry, rounds);
	return r == 0 && from->left > 0 ? RH_COMM_EINVAL : r;
}

static int32_t entry_malformed(struct rh_comm_error *err)
{
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the copy of an entry is malformed");
}

int32_t rh_ps_entry_read(struct rh_ps_store *store, const uint8_t *data, size_t length, struct rh_comm_error *err)
{
	struct entry_bytes from = {.at = data, .left = length};
	struct rh_ps_entry *entry = NULL;
	struct rh_ps_head shape = {0};
	struct entry_head head;
	int32_t r;

	entry_get(&from, &head, sizeof(head));
	/* nothing is made for a value that was not received */
	if (from.failed || head.bytes > from.left || rh_ps_store_find(store, head.key, head.part))
		return entry_malformed(err);
	shape.key = head.key;
	shape.part = head.part;
	shape.bytes = head.bytes;
	shape.type = head.type;
	shape.width = head.width;
	r = rh_ps_store_open(store, &shape, &entry, err);
	if (r < 0)
		return r;
	entry->known = head.known != 0;
	entry->version = head.version;
	r = entry_read_all(&from, store, entry, head.rounds);
	if (r == RH_COMM_EINVAL)
		return entry_malformed(err);
	if (r < 0)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory for the copy of an entry");
	/* what an answer holds back at the primary needs to wait no more */
	while (rh_ps_store_settle(store, entry))
		;
	return 0;
}
