/* SPDX-License-Identifier: Apache-2.0 */
/* A copy has the same bits as its primary; a malformed one is refused, whatever it is. */
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/server/replica/backup.h"
#include "comm/ps/server/replica/entry.h"

#define WORKERS 2
#define COUNT 50
#define KEYS 3
/* The value of this key has rows. */
#define SPARSE 2
#define WIDTH 5
#define NONSENSE 3000

static struct rh_ps_store *make_store(uint64_t epoch)
{
	const struct rh_ps_config config = {.servers = 1,
	                                    .workers = WORKERS,
	                                    .mode = RH_PS_SYNC,
	                                    .rule = RH_PS_ADAM,
	                                    .rate = 0.1,
	                                    .beta1 = 0.9,
	                                    .beta2 = 0.999,
	                                    .epsilon = 1e-8};
	struct rh_ps_store *store = rh_ps_store_new(&config, epoch);

	assert_non_null(store);
	return store;
}

static struct rh_ps_head make_head(uint32_t kind, uint64_t key, int32_t worker, uint64_t sequence)
{
	return (struct rh_ps_head){.kind = kind,
	                           .sequence = sequence,
	                           .key = key,
	                           .bytes = COUNT * sizeof(float),
	                           .length = COUNT * sizeof(float),
	                           .type = RH_COMM_F32,
	                           .width = key == SPARSE ? WIDTH : 0,
	                           .worker = worker};
}

/* A push of rows 1 and 8, and the round of worker 0 that waits for it has them, too. */
static struct rh_ps_head make_rows(int32_t worker, uint64_t sequence, uint8_t *payload)
{
	static const uint32_t index[] = {1, 8};
	struct rh_ps_head head = make_head(RH_PS_REC_PUSH_ROWS, SPARSE, worker, sequence);
	float values[2 * WIDTH];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		values[i] = (float)i - 3;
	head.rows = 2;
	head.length = (uint32_t)rh_ps_rows_length(&head, sizeof(float));
	memset(payload, 0, head.length);
	memcpy(payload, index, sizeof(index));
	memcpy(payload + rh_ps_rows_offset(2), values, sizeof(values));
	return head;
}

static void take(struct rh_ps_store *store, const struct rh_ps_head *head, const void *payload)
{
	struct rh_ps_entry *entry = NULL;

	assert_int_equal(rh_ps_store_check(store, head, payload, NULL), 1);
	assert_int_equal(rh_ps_store_take(store, head, payload, &entry, NULL), 0);
	while (entry && rh_ps_store_settle(store, entry))
		;
}

/* Values with state of their rule, and rounds that wait for worker 1. */
static struct rh_ps_store *make_trained(uint64_t *sequences)
{
	_Alignas(RH_PS_ALIGN) uint8_t payload[200];
	struct rh_ps_head rows;
	struct rh_ps_store *store = make_store(7);
	float values[COUNT];

	for (uint64_t key = 0; key < KEYS; key++) {
		struct rh_ps_head head = make_head(RH_PS_REC_INIT, key, 0, ++sequences[0]);

		for (size_t i = 0; i < COUNT; i++)
			values[i] = (float)(i + key);
		take(store, &head, values);
		for (uint64_t push = 0; push < 3 + key; push++) {
			for (int32_t worker = 0; worker < (push < 3 ? WORKERS : 1); worker++) {
				head = make_head(RH_PS_REC_PUSH, key, worker, ++sequences[worker]);
				values[0] = (float)(push + 1);
				take(store, &head, values);
			}
		}
	}
	rows = make_rows(0, ++sequences[0], payload);
	take(store, &rows, payload);
	return store;
}

static void send_workers(const struct rh_ps_store *store, uint8_t *at)
{
	for (int32_t i = 0; i < WORKERS; i++) {
		struct rh_ps_copy_worker worker = {store->workers[i].session, store->workers[i].last, store->workers[i].left};

		memcpy(at + (size_t)i * sizeof(worker), &worker, sizeof(worker));
	}
}

static struct rh_ps_head begin(const struct rh_ps_store *store, uint8_t *payload)
{
	struct rh_ps_copy_begin note;

	memset(&note, 0, sizeof(note));
	note.config = store->config;
	note.epoch = store->epoch;
	memcpy(payload, &note, sizeof(note));
	send_workers(store, payload + sizeof(note));
	return (struct rh_ps_head){.kind = RH_PS_REC_BEGIN,
	                           .length = sizeof(note) + WORKERS * sizeof(struct rh_ps_copy_worker)};
}

/* Send one entry, in pieces of some bytes. */
static void send_entry(struct rh_ps_backup *backup, struct rh_ps_store **copy, const struct rh_ps_store *store,
                       uint64_t key)
{
	const struct rh_ps_entry *entry = rh_ps_store_find(store, key, 0);
	size_t size = rh_ps_entry_size(store, entry);
	uint8_t *data = malloc(size);

	assert_non_null(data);
	rh_ps_entry_write(store, entry, data);
	for (size_t at = 0; at < size; at += 100) {
		struct rh_ps_head head = {.kind = RH_PS_REC_PIECE,
		                          .length = (uint32_t)(size - at < 100 ? size - at : 100),
		                          .flags = size - at <= 100 ? RH_PS_LAST : 0};

		assert_int_equal(rh_ps_backup_take(backup, copy, &head, data + at, NULL), 0);
	}
	free(data);
}

static void must_be_same(const struct rh_ps_store *store, const struct rh_ps_store *copy)
{
	assert_int_equal(store->epoch, copy->epoch);
	assert_int_equal(store->entry_count, copy->entry_count);
	assert_memory_equal(store->workers, copy->workers, WORKERS * sizeof(*store->workers));
	for (uint64_t key = 0; key < KEYS; key++) {
		const struct rh_ps_entry *left = rh_ps_store_find(store, key, 0);
		const struct rh_ps_entry *right = rh_ps_store_find(copy, key, 0);
		size_t size = rh_ps_entry_size(store, left);
		uint8_t *data[2] = {malloc(size), malloc(size)};

		assert_int_equal(rh_ps_entry_size(copy, right), size);
		rh_ps_entry_write(store, left, data[0]);
		rh_ps_entry_write(copy, right, data[1]);
		assert_memory_equal(data[0], data[1], size);
		free(data[0]);
		free(data[1]);
	}
}

static void test_backup__a_copy_has_the_same_bits(void **state)
{
	uint64_t sequences[WORKERS] = {0};
	struct rh_ps_store *store = make_trained(sequences);
	struct rh_ps_store *copy = make_store(1);
	struct rh_ps_backup backup = {0};
	uint8_t payload[1000] = {0};
	float values[COUNT] = {3, 1, 4, 1, 5};
	_Alignas(RH_PS_ALIGN) uint8_t rows[200];
	struct rh_ps_head head = begin(store, payload);

	(void)state;
	assert_int_equal(rh_ps_backup_take(&backup, &copy, &head, payload, NULL), 0);
	/* a push of a key that is sent already goes both ways; one of another key is in that key's entry */
	send_entry(&backup, &copy, store, 0);
	head = make_head(RH_PS_REC_PUSH, 0, 1, ++sequences[1]);
	take(store, &head, values);
	assert_int_equal(rh_ps_backup_take(&backup, &copy, &head, (uint8_t *)values, NULL), 0);
	head = make_head(RH_PS_REC_PUSH, 2, 1, ++sequences[1]);
	take(store, &head, values);
	send_entry(&backup, &copy, store, 2);
	send_entry(&backup, &copy, store, 1);
	assert_false(backup.complete);
	head = (struct rh_ps_head){.kind = RH_PS_REC_COPIED, .length = WORKERS * sizeof(struct rh_ps_copy_worker)};
	send_workers(store, payload);
	assert_int_equal(rh_ps_backup_take(&backup, &copy, &head, payload, NULL), 0);
	assert_true(backup.complete);
	/* and from then on each */
	head = make_head(RH_PS_REC_PUSH, 1, 1, ++sequences[1]);
	take(store, &head, values);
	assert_int_equal(rh_ps_backup_take(&backup, &copy, &head, (uint8_t *)values, NULL), 0);
	must_be_same(store, copy);
	for (int i = 0; i < 3; i++) {
		head = make_rows(1, ++sequences[1], rows);
		take(store, &head, rows);
		assert_int_equal(rh_ps_backup_take(&backup, &copy, &head, rows, NULL), 0);
		must_be_same(store, copy);
	}
	/* what is sent again does not count again */
	assert_int_equal(rh_ps_backup_take(&backup, &copy, &head, rows, NULL), 0);
	must_be_same(store, copy);
	rh_ps_backup_deinit(&backup);
	rh_ps_store_free(store);
	rh_ps_store_free(copy);
}

static void test_backup__other_options_are_named(void **state)
{
	struct rh_ps_store *store = make_store(7);
	struct rh_ps_store *copy = make_store(1);
	struct rh_ps_backup backup = {0};
	struct rh_comm_error err = {0};
	uint8_t payload[1000] = {0};
	struct rh_ps_head head;

	(void)state;
	store->config.rule = RH_PS_SGD;
	head = begin(store, payload);
	assert_int_equal(rh_ps_backup_take(&backup, &copy, &head, payload, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "the rule (RH_PS_RULE) is 5 there and 7 here"));
	rh_ps_backup_deinit(&backup);
	rh_ps_store_free(store);
	rh_ps_store_free(copy);
}

static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Whole copies with damage anywhere: nothing is read or written where it must not be. */
static void test_backup__nonsense_is_refused(void **state)
{
	uint64_t sequences[WORKERS] = {0};
	struct rh_ps_store *store = make_trained(sequences);
	const struct rh_ps_entry *entry = rh_ps_store_find(store, 2, 0);
	size_t size = rh_ps_entry_size(store, entry);
	uint8_t *data = malloc(2 * size);
	uint64_t random = 20;
	int refused = 0;

	(void)state;
	for (int i = 0; i < NONSENSE; i++) {
		struct rh_ps_store *copy = make_store(1);
		struct rh_ps_backup backup = {0};
		uint8_t payload[1000] = {0};
		struct rh_ps_head head = begin(store, payload);
		int32_t r = rh_ps_backup_take(&backup, &copy, &head, payload, NULL);

		rh_ps_entry_write(store, entry, data);
		memset(data + size, 0, size);
		/* the head of an entry, most often: it has all the lengths */
		data[next_random(&random) % (i % 2 ? 56 : size)] ^= (uint8_t)(1 << next_random(&random) % 8);
		head = (struct rh_ps_head){.kind = RH_PS_REC_PIECE, .flags = RH_PS_LAST};
		head.length = (uint32_t)(i % 3 ? size : next_random(&random) % (2 * size));
		if (i % 5 == 0)
			head.kind = (uint16_t)(RH_PS_REC_HELLO + next_random(&random) % RH_PS_REC_END);
		if (i % 7 == 0)
			head.worker = (int32_t)next_random(&random);
		if (r == 0)
			r = rh_ps_backup_take(&backup, &copy, &head, data, NULL);
		refused += r < 0;
		rh_ps_backup_deinit(&backup);
		rh_ps_store_free(copy);
	}
	assert_in_range(refused, NONSENSE / 4, NONSENSE);
	free(data);
	rh_ps_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backup__a_copy_has_the_same_bits),
		cmocka_unit_test(test_backup__other_options_are_named),
		cmocka_unit_test(test_backup__nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
