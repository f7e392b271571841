/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/replica/entry.h"

#include <string.h>

#include "comm/core/error.h"

/* It is followed by the pushes of each worker, the value, the state of the rule, and the rounds. */
struct entry_head {
	uint64_t key;
	uint32_t part;
	uint32_t bytes;
	int32_t type;
	int32_t known;
	uint64_t version;
	uint64_t rounds;
};

struct entry_round {
	int64_t count;
	double rate;
};

/* Bytes that are read from their start to their end, whose number was checked. */
struct entry_bytes {
	const uint8_t *at;
};

static void entry_get(struct entry_bytes *from, void *data, size_t length)
{
	if (length > 0)
		memcpy(data, from->at, length);
	from->at += length;
}

static void entry_put(uint8_t **at, const void *data, size_t length)
{
	if (length > 0)
		memcpy(*at, data, length);
	*at += length;
}

/* @return bytes without the rounds */
static size_t entry_fixed(const struct rh_ps_store *store, uint32_t bytes)
{
	return sizeof(struct entry_head) + (size_t)store->config.workers * sizeof(uint64_t) +
	       (size_t)bytes * (size_t)(1 + rh_ps_rule_slots(store->config.rule));
}

size_t rh_ps_entry_size(const struct rh_ps_store *store, const struct rh_ps_entry *entry)
{
	size_t size = entry_fixed(store, entry->bytes);

	for (const struct rh_ps_round *round = entry->rounds; round; round = round->next)
		size += sizeof(struct entry_round) + entry->bytes;
	return size;
}

void rh_ps_entry_write(const struct rh_ps_store *store, const struct rh_ps_entry *entry, uint8_t *ret_data)
{
	struct entry_head head = {.key = entry->key,
	                          .part = entry->part,
	                          .bytes = entry->bytes,
	                          .type = entry->type,
	                          .known = entry->known,
	                          .version = entry->version};
	uint8_t *at = ret_data;

	for (const struct rh_ps_round *round = entry->rounds; round; round = round->next)
		head.rounds++;
	entry_put(&at, &head, sizeof(head));
	entry_put(&at, entry->pushed, (size_t)store->config.workers * sizeof(*entry->pushed));
	entry_put(&at, entry->value, entry->bytes);
	for (int32_t i = 0; i < rh_ps_rule_slots(store->config.rule); i++)
		entry_put(&at, entry->slots[i], entry->bytes);
	for (const struct rh_ps_round *round = entry->rounds; round; round = round->next) {
		struct entry_round part = {round->count, round->rate};

		entry_put(&at, &part, sizeof(part));
		entry_put(&at, round->data, entry->bytes);
	}
}

/* @return whether there are as many bytes as the head requires */
static bool entry_is_whole(const struct rh_ps_store *store, const struct entry_head *head, size_t length)
{
	size_t fixed = entry_fixed(store, head->bytes);
	size_t round = sizeof(struct entry_round) + head->bytes;

	return head->bytes <= RH_PS_PART_MAX && length >= fixed && head->rounds == (length - fixed) / round &&
	       (length - fixed) % round == 0;
}

static int32_t entry_read_rounds(struct entry_bytes *from, struct rh_ps_entry *entry, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct rh_ps_round *round = rh_ps_store_round(entry, entry->version + 1 + i);
		struct entry_round part = {0};

		if (!round)
			return RH_COMM_ENOMEM;
		entry_get(from, &part, sizeof(part));
		entry_get(from, round->data, entry->bytes);
		round->count = (int32_t)part.count;
		round->rate = part.rate;
	}
	return 0;
}

static int32_t entry_malformed(struct rh_comm_error *err)
{
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the copy of an entry is malformed");
}

int32_t rh_ps_entry_read(struct rh_ps_store *store, const uint8_t *data, size_t length, struct rh_comm_error *err)
{
	struct entry_bytes from = {data};
	struct rh_ps_entry *entry = NULL;
	struct rh_ps_head shape = {0};
	struct entry_head head;
	int32_t r;

	if (length < sizeof(head))
		return entry_malformed(err);
	entry_get(&from, &head, sizeof(head));
	if (!entry_is_whole(store, &head, length) || rh_ps_store_find(store, head.key, head.part))
		return entry_malformed(err);
	shape.key = head.key;
	shape.part = head.part;
	shape.bytes = head.bytes;
	shape.type = head.type;
	r = rh_ps_store_open(store, &shape, &entry, err);
	if (r < 0)
		return r;
	entry->known = head.known != 0;
	entry->version = head.version;
	entry_get(&from, entry->pushed, (size_t)store->config.workers * sizeof(*entry->pushed));
	entry_get(&from, entry->value, entry->bytes);
	for (int32_t i = 0; i < rh_ps_rule_slots(store->config.rule); i++)
		entry_get(&from, entry->slots[i], entry->bytes);
	if (entry_read_rounds(&from, entry, head.rounds) < 0)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory for the copy of an entry");
	/* what an answer holds back at the primary needs to wait no more */
	while (rh_ps_store_settle(store, entry))
		;
	return 0;
}
