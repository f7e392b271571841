/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/protocol/wire.h"

/* Both ends of a wire. */
struct pair {
	struct rh_ps_wire *worker;
	struct rh_ps_wire *server;
	int memory; /* -1: none */
};

static void pair_open(struct pair *pair, bool shared)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	pair->worker = rh_ps_wire_new(fds[0]);
	pair->server = rh_ps_wire_new(fds[1]);
	pair->memory = -1;
	if (!shared)
		return;
	assert_int_equal(rh_ps_wire_memory(&pair->memory), 0);
	assert_int_equal(rh_ps_wire_share(pair->worker, pair->memory, false), 0);
	assert_int_equal(rh_ps_wire_share(pair->server, pair->memory, true), 0);
}

static void pair_close(const struct pair *pair)
{
	rh_ps_wire_free(pair->worker);
	rh_ps_wire_free(pair->server);
	if (pair->memory >= 0)
		(void)close(pair->memory);
}

static bool add(struct rh_ps_wire *wire, uint64_t number, uint32_t length)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_PUSH, .length = length, .sequence = number};
	uint8_t *at = rh_ps_wire_add(wire, &head);

	if (at)
		memset(at, (int)(number & 0xff), length);
	return at != NULL;
}

/* @return 1: the record number `number` with the right bytes; 0: none is there */
static int take(struct rh_ps_wire *wire, uint64_t number, uint32_t length)
{
	const uint8_t *payload;
	struct rh_ps_head head;
	int32_t r = rh_ps_wire_next(wire, &head, &payload);

	assert_in_range(r, 0, 1);
	if (r == 0)
		return 0;
	assert_int_equal(head.sequence, number);
	assert_int_equal(head.length, length);
	assert_int_equal((uintptr_t)payload % RH_PS_ALIGN, 0);
	for (uint32_t i = 0; i < length; i++)
		assert_int_equal(payload[i], number & 0xff);
	rh_ps_wire_drop(wire);
	return 1;
}

static uint32_t length_of(uint64_t number)
{
	static const uint32_t lengths[] = {0, 1, 63, 64, 65, 4096, 300000, RH_PS_PART_MAX, 8};

	return lengths[number % (sizeof(lengths) / sizeof(lengths[0]))];
}

/* Send until there is no room, read all, again and again: every place of a ring comes to be an end. */
static void stream(bool shared)
{
	struct pair pair;
	uint64_t sent = 0;
	uint64_t got = 0;

	pair_open(&pair, shared);
	while (got < 300) {
		while (sent < 300 && add(pair.worker, sent, length_of(sent)))
			sent++;
		assert_int_equal(rh_ps_wire_flush(pair.worker), 0);
		assert_int_equal(rh_ps_wire_fill(pair.server), 0);
		while (got < sent && take(pair.server, got, length_of(got)))
			got++;
		assert_int_equal(rh_ps_wire_flush(pair.server), 0);
	}
	assert_false(rh_ps_wire_unsent(pair.worker));
	pair_close(&pair);
}

static void test_wire__records_arrive_whole_and_in_order(void **state)
{
	(void)state;
	stream(false);
	stream(true);
}

static void test_wire__nothing_is_seen_before_the_flush(void **state)
{
	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		struct pair pair;

		pair_open(&pair, shared != 0);
		assert_true(add(pair.worker, 7, 10));
		assert_int_equal(rh_ps_wire_fill(pair.server), 0);
		assert_int_equal(take(pair.server, 7, 10), 0);
		assert_int_equal(rh_ps_wire_flush(pair.worker), 0);
		assert_int_equal(rh_ps_wire_fill(pair.server), 0);
		assert_int_equal(take(pair.server, 7, 10), 1);
		pair_close(&pair);
	}
}

static void test_wire__a_full_wire_says_so_and_wakes(void **state)
{
	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		struct pair pair;
		uint64_t sent = 0;

		pair_open(&pair, shared != 0);
		assert_true(rh_ps_wire_sleep(pair.worker));
		while (add(pair.worker, sent, RH_PS_PART_MAX))
			assert_in_range(++sent, 1, 100);
		assert_int_equal(rh_ps_wire_flush(pair.worker), 0);
		/* there is room again as soon as enough was read */
		for (uint64_t got = 0; !add(pair.worker, sent, RH_PS_PART_MAX);) {
			assert_true(got < sent);
			assert_int_equal(rh_ps_wire_fill(pair.server), 0);
			got += (uint64_t)take(pair.server, got, RH_PS_PART_MAX);
			assert_int_equal(rh_ps_wire_flush(pair.server), 0);
			assert_int_equal(rh_ps_wire_flush(pair.worker), 0);
		}
		pair_close(&pair);
	}
}

static void test_wire__sleep_sees_what_came_before(void **state)
{
	struct pair pair;

	(void)state;
	pair_open(&pair, true);
	assert_true(rh_ps_wire_sleep(pair.server));
	assert_true(add(pair.worker, 1, 1));
	assert_int_equal(rh_ps_wire_flush(pair.worker), 0);
	assert_false(rh_ps_wire_sleep(pair.server));
	assert_int_equal(take(pair.server, 1, 1), 1);
	assert_true(rh_ps_wire_sleep(pair.server));
	pair_close(&pair);
}

static void test_wire__who_sleeps_gets_one_byte(void **state)
{
	struct pair pair;
	uint8_t bytes[8];

	(void)state;
	pair_open(&pair, true);
	assert_true(add(pair.worker, 1, 1));
	assert_int_equal(rh_ps_wire_flush(pair.worker), 0);
	assert_int_equal(recv(rh_ps_wire_fd(pair.server), bytes, sizeof(bytes), MSG_DONTWAIT), -1);
	assert_int_equal(take(pair.server, 1, 1), 1);
	assert_true(rh_ps_wire_sleep(pair.server));
	for (uint64_t i = 2; i < 5; i++) {
		assert_true(add(pair.worker, i, 1));
		assert_int_equal(rh_ps_wire_flush(pair.worker), 0);
	}
	assert_int_equal(recv(rh_ps_wire_fd(pair.server), bytes, sizeof(bytes), MSG_DONTWAIT), 1);
	pair_close(&pair);
}

static void test_wire__closing_is_noticed_after_the_last_record(void **state)
{
	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		struct pair pair;

		pair_open(&pair, shared != 0);
		assert_true(add(pair.worker, 3, 100));
		assert_int_equal(rh_ps_wire_flush(pair.worker), 0);
		rh_ps_wire_free(pair.worker);
		pair.worker = NULL;
		if (!shared)
			assert_int_equal(rh_ps_wire_fill(pair.server), 0);
		assert_int_equal(take(pair.server, 3, 100), 1);
		assert_int_equal(rh_ps_wire_fill(pair.server), RH_COMM_EPEER);
		pair_close(&pair);
	}
}

static void test_wire__nonsense_over_a_socket_is_refused(void **state)
{
	static const struct {
		const char *name;
		struct rh_ps_head head;
	} rows[] = {
		{"no kind", {.kind = 0}},
		{"no kind of any version", {.kind = RH_PS_KIND_MAX + 1}},
		{"too long", {.kind = RH_PS_REC_PUSH, .length = RH_PS_PART_MAX + 1}},
		{"far too long", {.kind = RH_PS_REC_PUSH, .length = UINT32_MAX}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair pair;
		const uint8_t *payload;
		struct rh_ps_head head;

		pair_open(&pair, false);
		assert_int_equal(send(rh_ps_wire_fd(pair.worker), &rows[i].head, sizeof(head), 0), sizeof(head));
		assert_int_equal(rh_ps_wire_fill(pair.server), 0);
		if (rh_ps_wire_next(pair.server, &head, &payload) != RH_COMM_EINVAL)
			fail_msg("%s is taken", rows[i].name);
		pair_close(&pair);
	}
}

/* What a hostile worker may write into the memory: the position up to which it has added, and a head. */
static void test_wire__nonsense_in_memory_is_refused(void **state)
{
	static const struct {
		const char *name;
		uint64_t added;
		struct rh_ps_head head;
	} rows[] = {
		{"more than the ring", UINT64_C(1) << 40, {.kind = RH_PS_REC_PUSH}},
		{"not aligned", 65, {.kind = RH_PS_REC_PUSH}},
		{"longer than what is there", 64, {.kind = RH_PS_REC_PUSH, .length = 64}},
		{"too long", 4 << 20, {.kind = RH_PS_REC_PUSH, .length = UINT32_MAX}},
		{"no kind", 64, {.kind = 0}},
		{"skips behind what is there", 64, {.kind = UINT16_MAX}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair pair;
		const uint8_t *payload;
		struct rh_ps_head head;
		uint8_t *memory;

		pair_open(&pair, true);
		memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, pair.memory, 0);
		assert_ptr_not_equal(memory, MAP_FAILED);
		memcpy(memory + 4096, &rows[i].head, sizeof(head));
		memcpy(memory, &rows[i].added, sizeof(rows[i].added));
		if (rh_ps_wire_next(pair.server, &head, &payload) != RH_COMM_EINVAL)
			fail_msg("%s is taken", rows[i].name);
		(void)munmap(memory, 8192);
		pair_close(&pair);
	}
}

static void test_wire__only_memory_of_the_right_size_is_shared(void **state)
{
	struct pair pair;
	int memory = memfd_create("short", MFD_CLOEXEC);
	int good;

	(void)state;
	pair_open(&pair, false);
	assert_int_equal(ftruncate(memory, 4096), 0);
	assert_int_equal(rh_ps_wire_share(pair.server, memory, true), RH_COMM_EIO);
	assert_false(rh_ps_wire_is_shared(pair.server));
	(void)close(memory);
	/* and that one cannot be made short while it is mapped */
	assert_int_equal(rh_ps_wire_memory(&good), 0);
	assert_int_equal(ftruncate(good, 4096), -1);
	assert_int_equal(errno, EPERM);
	(void)close(good);
	pair_close(&pair);
}

/* What is added behind a position stays unseen, also while more is added and dropped records are published. */
static void test_wire__what_is_held_is_not_seen(void **state)
{
	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		struct pair pair;
		uint64_t position;

		pair_open(&pair, shared != 0);
		assert_true(add(pair.server, 1, 100));
		position = rh_ps_wire_added(pair.server);
		rh_ps_wire_hold(pair.server, position);
		assert_true(add(pair.server, 2, 200));
		assert_int_equal(rh_ps_wire_flush(pair.server), 0);
		assert_int_equal(rh_ps_wire_fill(pair.worker), 0);
		assert_int_equal(take(pair.worker, 1, 100), 1);
		assert_int_equal(take(pair.worker, 2, 200), 0);
		/* nothing that could be sent waits for the descriptor */
		assert_false(rh_ps_wire_unsent(pair.server));
		position = rh_ps_wire_added(pair.server);
		assert_true(add(pair.server, 3, 300));
		rh_ps_wire_hold(pair.server, position);
		assert_int_equal(rh_ps_wire_flush(pair.server), 0);
		assert_int_equal(rh_ps_wire_fill(pair.worker), 0);
		assert_int_equal(take(pair.worker, 2, 200), 1);
		assert_int_equal(take(pair.worker, 3, 300), 0);
		rh_ps_wire_hold(pair.server, UINT64_MAX);
		assert_int_equal(rh_ps_wire_flush(pair.server), 0);
		assert_int_equal(rh_ps_wire_fill(pair.worker), 0);
		assert_int_equal(take(pair.worker, 3, 300), 1);
		pair_close(&pair);
	}
}

/* What fits can be added. */
static void test_wire__what_fits_can_be_added(void **state)
{
	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		struct pair pair;
		int fitted = 0;

		pair_open(&pair, shared != 0);
		while (rh_ps_wire_fits(pair.server, 300000)) {
			assert_true(add(pair.server, 1, 300000));
			fitted++;
		}
		assert_true(fitted > 0);
		assert_false(add(pair.server, 1, 300000));
		pair_close(&pair);
	}
}

static void test_wire__descriptors_cross(void **state)
{
	struct pair pair;
	int memory;
	int got;

	(void)state;
	pair_open(&pair, false);
	assert_int_equal(rh_ps_wire_receive_fd(rh_ps_wire_fd(pair.worker), 1000), RH_COMM_EIO);
	assert_int_equal(rh_ps_wire_memory(&memory), 0);
	assert_int_equal(rh_ps_wire_send_fd(rh_ps_wire_fd(pair.server), memory), 0);
	got = rh_ps_wire_receive_fd(rh_ps_wire_fd(pair.worker), 60000000);
	assert_true(got >= 0 && got != memory);
	assert_int_equal(rh_ps_wire_share(pair.worker, got, false), 0);
	(void)close(got);
	(void)close(memory);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wire__records_arrive_whole_and_in_order),
		cmocka_unit_test(test_wire__nothing_is_seen_before_the_flush),
		cmocka_unit_test(test_wire__a_full_wire_says_so_and_wakes),
		cmocka_unit_test(test_wire__sleep_sees_what_came_before),
		cmocka_unit_test(test_wire__who_sleeps_gets_one_byte),
		cmocka_unit_test(test_wire__closing_is_noticed_after_the_last_record),
		cmocka_unit_test(test_wire__nonsense_over_a_socket_is_refused),
		cmocka_unit_test(test_wire__nonsense_in_memory_is_refused),
		cmocka_unit_test(test_wire__only_memory_of_the_right_size_is_shared),
		cmocka_unit_test(test_wire__what_is_held_is_not_seen),
		cmocka_unit_test(test_wire__what_fits_can_be_added),
		cmocka_unit_test(test_wire__descriptors_cross),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
