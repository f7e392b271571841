/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"
#include "comm/ps/server/rows.h"

#define BUCKETS_FIRST 256

struct rh_ps_store *rh_ps_store_new(const struct rh_ps_config *config, uint64_t epoch)
{
	struct rh_ps_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->config = *config;
	store->epoch = epoch;
	store->bucket_count = BUCKETS_FIRST;
	store->buckets = calloc(store->bucket_count, sizeof(struct rh_ps_entry *));
	store->workers = calloc((size_t)config->workers, sizeof(*store->workers));
	store->scratch = aligned_alloc(RH_PS_ALIGN, RH_PS_PART_MAX);
	if (store->buckets && store->workers && store->scratch)
		return store;
	rh_ps_store_free(store);
	return NULL;
}

static void store_free_round(struct rh_ps_round *round)
{
	free(round->touched);
	free(round->data);
	free(round);
}

static void store_free_entry(struct rh_ps_entry *entry)
{
	while (entry->rounds) {
		struct rh_ps_round *round = entry->rounds;

		entry->rounds = round->next;
		store_free_round(round);
	}
	free(entry->steps);
	free(entry->slots[0]);
	free(entry->slots[1]);
	free(entry->value);
	free(entry->pushed);
	free(entry);
}

void rh_ps_store_free(struct rh_ps_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; store->buckets && i < store->bucket_count; i++) {
		while (store->buckets[i]) {
			struct rh_ps_entry *entry = store->buckets[i];

			store->buckets[i] = entry->next;
			store_free_entry(entry);
		}
	}
	free(store->buckets);
	free(store->workers);
	free(store->scratch);
	free(store);
}

/* Fibonacci hashing: keys are often small numbers, one after another. */
static size_t store_bucket(const struct rh_ps_store *store, uint64_t key, uint32_t part)
{
	uint64_t hash = (key ^ (uint64_t)part << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return (hash >> 20) & (store->bucket_count - 1);
}

struct rh_ps_entry *rh_ps_store_find(const struct rh_ps_store *store, uint64_t key, uint32_t part)
{
	struct rh_ps_entry *entry = store->buckets[store_bucket(store, key, part)];

	while (entry && (entry->key != key || entry->part != part))
		entry = entry->next;
	return entry;
}

static void store_link(struct rh_ps_store *store, struct rh_ps_entry *entry)
{
	struct rh_ps_entry **bucket = &store->buckets[store_bucket(store, entry->key, entry->part)];

	entry->next = *bucket;
	*bucket = entry;
}

static void store_grow(struct rh_ps_store *store)
{
	size_t count = store->bucket_count;
	struct rh_ps_entry **old = store->buckets;
	struct rh_ps_entry **buckets = calloc(count * 2, sizeof(struct rh_ps_entry *));

	/* without it only slower */
	if (!buckets)
		return;
	store->buckets = buckets;
	store->bucket_count = count * 2;
	for (size_t i = 0; i < count; i++) {
		while (old[i]) {
			struct rh_ps_entry *entry = old[i];

			old[i] = entry->next;
			store_link(store, entry);
		}
	}
	free(old);
}

bool rh_ps_store_counts_steps(const struct rh_ps_store *store, const struct rh_ps_entry *entry)
{
	return store->config.rule == RH_PS_ADAM && entry->width > 0;
}

static struct rh_ps_entry *store_make_entry(const struct rh_ps_store *store, const struct rh_ps_head *head)
{
	struct rh_ps_entry *entry = calloc(1, sizeof(*entry));
	bool complete;

	if (!entry)
		return NULL;
	entry->key = head->key;
	entry->part = head->part;
	entry->bytes = head->bytes;
	entry->type = head->type;
	entry->width = head->width;
	entry->known = head->key == RH_PS_BARRIER_KEY;
	entry->pushed = calloc((size_t)store->config.workers, sizeof(*entry->pushed));
	entry->value = rh_ps_rows_array(head->bytes);
	complete = entry->pushed && entry->value;
	for (int32_t i = 0; complete && i < rh_ps_rule_slots(store->config.rule); i++) {
		entry->slots[i] = rh_ps_rows_array(head->bytes);
		complete = entry->slots[i] != NULL;
	}
	if (complete && rh_ps_store_counts_steps(store, entry)) {
		entry->steps = calloc(rh_ps_rows_count(entry), sizeof(*entry->steps));
		complete = entry->steps != NULL;
	}
	if (complete)
		return entry;
	store_free_entry(entry);
	return NULL;
}

static int32_t store_check_shape(const struct rh_ps_store *store, const struct rh_ps_head *head,
                                 struct rh_comm_error *err)
{
	size_t size = rh_comm_type_size(head->type);

	if (head->key == RH_PS_BARRIER_KEY && head->bytes == 0 && head->width == 0)
		return 0;
	if (size == 0 || head->bytes == 0 || head->bytes > RH_PS_PART_MAX || head->bytes % size != 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu part %u: %u bytes of type %d cannot be kept", (unsigned long long)head->key,
		                    head->part, head->bytes, (int)head->type);
	if (store->config.rule >= RH_PS_SGD && head->type != RH_COMM_F32 && head->type != RH_COMM_F64)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "key %llu: optimizers need f32 or f64, not type %d",
		                    (unsigned long long)head->key, (int)head->type);
	return rh_ps_rows_check_width(head, err);
}

static int32_t store_check_same(const struct rh_ps_entry *entry, const struct rh_ps_head *head,
                                struct rh_comm_error *err)
{
	if (entry->width != head->width)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu has rows of %u elements, and the request rows of %u: give every operation with a "
		                    "key the same width, RH_PS_INIT too",
		                    (unsigned long long)entry->key, entry->width, head->width);
	if (entry->bytes == head->bytes && entry->type == head->type)
		return 0;
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
	                    "key %llu part %u has %u bytes of type %d, and the request %u of type %d: all workers must "
	                    "give a key the same count and type, and use the same size of parts",
	                    (unsigned long long)entry->key, entry->part, entry->bytes, (int)entry->type, head->bytes,
	                    (int)head->type);
}

int32_t rh_ps_store_open(struct rh_ps_store *store, const struct rh_ps_head *head, struct rh_ps_entry **ret_entry,
                         struct rh_comm_error *err)
{
	struct rh_ps_entry *entry = rh_ps_store_find(store, head->key, head->part);
	int32_t r = entry ? store_check_same(entry, head, err) : store_check_shape(store, head, err);

	if (r < 0)
		return r;
	if (!entry) {
		if (store->entry_count >= store->bucket_count * 2)
			store_grow(store);
		entry = store_make_entry(store, head);
		if (!entry)
			return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory for key %llu",
			                    (unsigned long long)head->key);
		store_link(store, entry);
		store->entry_count++;
		store->value_bytes += (uint64_t)head->bytes * (uint64_t)(1 + rh_ps_rule_slots(store->config.rule));
		if (entry->steps)
			store->value_bytes += (uint64_t)rh_ps_rows_count(entry) * sizeof(*entry->steps);
	}
	*ret_entry = entry;
	return 0;
}

bool rh_ps_store_is_sync(const struct rh_ps_store *store, const struct rh_ps_entry *entry)
{
	return store->config.mode == RH_PS_SYNC || entry->key == RH_PS_BARRIER_KEY;
}

/* @return 1, 0 or RH_COMM_EINVAL, as rh_ps_store_check() */
static int32_t store_check_push(const struct rh_ps_store *store, const struct rh_ps_head *head, const uint8_t *payload,
                                struct rh_comm_error *err)
{
	const struct rh_ps_entry *entry = rh_ps_store_find(store, head->key, head->part);
	bool by_rows = rh_ps_kind_has_rows(head->kind);
	int32_t r;

	if (head->key == RH_PS_BARRIER_KEY && !entry && !by_rows)
		return store_check_shape(store, head, err) < 0 ? RH_COMM_EINVAL : 1;
	if (!entry || !entry->known)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "key %llu part %u is not known: every worker must wait for RH_PS_INIT of a key first",
		                    (unsigned long long)head->key, head->part);
	r = store_check_same(entry, head, err);
	if (r == 0 && by_rows)
		r = rh_ps_rows_check(head, payload, err);
	else if (r == 0 && head->length != head->bytes)
		r = rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "key %llu part %u: received %u bytes, expected %u",
		                 (unsigned long long)head->key, head->part, head->length, head->bytes);
	return r < 0 ? r : 1;
}

static int32_t store_check_init(const struct rh_ps_store *store, const struct rh_ps_head *head,
                                struct rh_comm_error *err)
{
	const struct rh_ps_entry *entry = rh_ps_store_find(store, head->key, head->part);
	bool zeros = head->flags & RH_PS_ZEROS;
	int32_t r = entry ? store_check_same(entry, head, err) : store_check_shape(store, head, err);

	if (r < 0)
		return r;
	if (head->worker != 0 || (entry && entry->known))
		return 0;
	if (head->key == RH_PS_BARRIER_KEY || head->length != (zeros ? 0 : head->bytes))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "key %llu part %u: received %u bytes, expected %u",
		                    (unsigned long long)head->key, head->part, head->length, head->bytes);
	return 1;
}

int32_t rh_ps_store_check(const struct rh_ps_store *store, const struct rh_ps_head *head, const uint8_t *payload,
                          struct rh_comm_error *err)
{
	if (head->worker < 0 || head->worker >= store->config.workers)
		return rh_comm_fail(err, RH_COMM_EINVAL, head->worker, "worker %d is not below %d", (int)head->worker,
		                    (int)store->config.workers);
	if (head->kind == RH_PS_REC_SESSION)
		return 1;
	/* whatever it was: it has counted */
	if (head->kind != RH_PS_REC_INIT && head->sequence <= store->workers[head->worker].last)
		return 0;
	switch (head->kind) {
	case RH_PS_REC_LEAVE:
		return 1;
	case RH_PS_REC_RATE:
		return head->length == sizeof(double)
		           ? 1
		           : rh_comm_fail(err, RH_COMM_EINVAL, head->worker, "malformed learning rate");
	case RH_PS_REC_INIT:
		return store_check_init(store, head, err);
	case RH_PS_REC_PUSH:
	case RH_PS_REC_PUSH_PULL:
	case RH_PS_REC_PUSH_ROWS:
	case RH_PS_REC_PUSH_PULL_ROWS:
		return store_check_push(store, head, payload, err);
	default:
		return rh_comm_fail(err, RH_COMM_EINVAL, head->worker, "records of kind %u change nothing", head->kind);
	}
}

/* The change of a whole value, which counts as a version. */
static struct rh_ps_change store_change(struct rh_ps_store *store, struct rh_ps_entry *entry, int32_t divisor,
                                        double rate)
{
	size_t size = rh_comm_type_size(entry->type);

	return (struct rh_ps_change){.config = &store->config,
	                             .entry = entry,
	                             .count = size > 0 ? entry->bytes / size : 0,
	                             .steps = ++entry->version,
	                             .divisor = divisor,
	                             .rate = rate,
	                             .scratch = store->scratch};
}

static void store_apply_push(struct rh_ps_store *store, struct rh_ps_entry *entry, const struct rh_ps_head *head,
                             const uint8_t *payload)
{
	struct rh_ps_change change = store_change(store, entry, 1, store->config.rate);

	change.data = payload;
	if (entry->width > 0)
		rh_ps_rows_apply_push(&change, head, payload);
	else
		rh_ps_rule_apply(&change);
}

static void store_apply_round(struct rh_ps_store *store, struct rh_ps_entry *entry, const struct rh_ps_round *round)
{
	struct rh_ps_change change = store_change(store, entry, store->config.workers, round->rate);

	change.data = round->data;
	if (entry->width > 0)
		rh_ps_rows_apply_round(&change, round);
	else
		rh_ps_rule_apply(&change);
}

/* One that has rows gets room for its sum with the first of them. */
static struct rh_ps_round *store_make_round(const struct rh_ps_entry *entry)
{
	struct rh_ps_round *round = calloc(1, sizeof(*round));

	if (!round)
		return NULL;
	if (entry->width > 0)
		round->touched = calloc(rh_ps_rows_words(entry), sizeof(*round->touched));
	else
		round->data = rh_ps_rows_array(entry->bytes);
	if (round->touched || round->data)
		return round;
	free(round);
	return NULL;
}

struct rh_ps_round *rh_ps_store_round(struct rh_ps_entry *entry, uint64_t number)
{
	struct rh_ps_round **at = &entry->rounds;

	for (uint64_t i = entry->version + 1; i < number && *at; i++)
		at = &(*at)->next;
	if (!*at)
		*at = store_make_round(entry);
	return *at;
}

static int32_t store_take_round(struct rh_ps_store *store, struct rh_ps_entry *entry, const struct rh_ps_head *head,
                                const uint8_t *payload)
{
	struct rh_ps_round *round = rh_ps_store_round(entry, entry->pushed[head->worker] + 1);

	if (!round || (entry->width > 0 && rh_ps_rows_add(entry, round, head, payload) < 0))
		return RH_COMM_ENOMEM;
	if (entry->bytes == 0 || entry->width > 0)
		round->count++;
	else if (round->count++ == 0)
		memcpy(round->data, payload, entry->bytes);
	else
		rh_comm_reduce(round->data, round->data, payload, entry->bytes / rh_comm_type_size(entry->type), entry->type,
		               RH_COMM_SUM);
	if (round->count == store->config.workers)
		round->rate = store->config.rate;
	entry->pushed[head->worker]++;
	return 0;
}

static int32_t store_take_push(struct rh_ps_store *store, const struct rh_ps_head *head, const uint8_t *payload,
                               struct rh_ps_entry *entry)
{
	bool sync = rh_ps_store_is_sync(store, entry);

	/* one worker alone needs no round, unless an answer holds the value */
	if (sync && (store->config.workers > 1 || entry->hold > 0 || entry->rounds))
		return store_take_round(store, entry, head, payload);
	entry->pushed[head->worker]++;
	store_apply_push(store, entry, head, payload);
	return 0;
}

static void store_take_session(struct rh_ps_store *store, const struct rh_ps_head *head)
{
	struct rh_ps_worker_record *record = &store->workers[head->worker];

	record->session = head->sequence;
	record->left = false;
}

/* What changes an entry. */
static int32_t store_take_value(struct rh_ps_store *store, const struct rh_ps_head *head, const uint8_t *payload,
                                struct rh_ps_entry **ret_entry, struct rh_comm_error *err)
{
	struct rh_ps_entry *entry = NULL;
	int32_t r = rh_ps_store_open(store, head, &entry, err);

	if (r < 0)
		return r;
	if (head->kind == RH_PS_REC_INIT) {
		if (head->length > 0)
			memcpy(entry->value, payload, entry->bytes);
		entry->known = true;
	} else {
		r = store_take_push(store, head, payload, entry);
	}
	if (r < 0)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "out of memory for a round of key %llu",
		                    (unsigned long long)head->key);
	*ret_entry = entry;
	return 0;
}

int32_t rh_ps_store_take(struct rh_ps_store *store, const struct rh_ps_head *head, const uint8_t *payload,
                         struct rh_ps_entry **ret_entry, struct rh_comm_error *err)
{
	struct rh_ps_entry *entry = NULL;
	int32_t r = 0;

	if (head->kind == RH_PS_REC_SESSION) {
		store_take_session(store, head);
		*ret_entry = NULL;
		return 0;
	}
	if (head->kind == RH_PS_REC_LEAVE)
		store->workers[head->worker].left = true;
	else if (head->kind == RH_PS_REC_RATE)
		memcpy(&store->config.rate, payload, sizeof(double));
	else
		r = store_take_value(store, head, payload, &entry, err);
	if (r < 0)
		return r;
	if (head->sequence > store->workers[head->worker].last)
		store->workers[head->worker].last = head->sequence;
	*ret_entry = entry;
	return 0;
}

bool rh_ps_store_settle(struct rh_ps_store *store, struct rh_ps_entry *entry)
{
	struct rh_ps_round *round = entry->rounds;

	if (!round || round->count < store->config.workers || entry->hold > 0)
		return false;
	entry->rounds = round->next;
	store_apply_round(store, entry, round);
	store_free_round(round);
	return true;
}

int32_t rh_ps_store_blocker(const struct rh_ps_store *store, const struct rh_ps_entry *entry, uint64_t pushed,
                            int32_t from)
{
	bool sync = rh_ps_store_is_sync(store, entry);
	uint64_t slack = sync ? 0 : (uint64_t)store->config.staleness;

	for (int32_t i = from; i < store->config.workers; i++) {
		/* who has left has made all its pushes: only rounds miss them */
		if (entry->pushed[i] + slack < pushed && (sync || !store->workers[i].left))
			return i;
	}
	return -1;
}

bool rh_ps_store_ready(const struct rh_ps_store *store, const struct rh_ps_entry *entry, uint64_t pushed)
{
	if (!entry->known)
		return false;
	if (rh_ps_store_is_sync(store, entry))
		return entry->version >= pushed;
	return store->config.mode == RH_PS_ASYNC || rh_ps_store_blocker(store, entry, pushed, 0) < 0;
}
