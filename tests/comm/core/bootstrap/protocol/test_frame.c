/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "roundhouse/comm.h"

static void test_frame__comes_in_pieces(void **state)
{
	struct rh_comm_buffer whole = {0};
	struct rh_comm_buffer in = {0};
	const uint8_t *payload;
	uint32_t kind = 0;
	size_t length = 0;

	(void)state;
	assert_int_equal(rh_comm_frame_add(&whole, RH_COMM_FRAME_PUT, "key", 4, "value", 5), 0);
	assert_int_equal(rh_comm_frame_add(&whole, RH_COMM_FRAME_LEAVE, NULL, 0, NULL, 0), 0);
	for (size_t i = 0; i < RH_COMM_FRAME_HEAD + 9; i++) {
		assert_int_equal(rh_comm_frame_look(&in, &kind, &payload, &length), 0);
		assert_int_equal(rh_comm_buffer_add(&in, whole.data + i, 1), 0);
	}
	assert_int_equal(rh_comm_frame_look(&in, &kind, &payload, &length), 1);
	assert_true(kind == RH_COMM_FRAME_PUT && length == 9);
	assert_memory_equal(payload, "key\0value", 9);
	assert_int_equal(rh_comm_buffer_add(&in, whole.data + RH_COMM_FRAME_HEAD + 9, RH_COMM_FRAME_HEAD), 0);
	rh_comm_frame_drop(&in);
	assert_int_equal(rh_comm_frame_look(&in, &kind, &payload, &length), 1);
	assert_true(kind == RH_COMM_FRAME_LEAVE && length == 0);
	rh_comm_frame_drop(&in);
	assert_int_equal(in.length, 0);
	rh_comm_buffer_deinit(&in);
	rh_comm_buffer_deinit(&whole);
	assert_null(whole.data);
}

static void test_frame__heads(void **state)
{
	static const struct {
		const char *name;
		uint32_t kind;
		uint32_t length;
		int32_t result;
	} rows[] = {
		{"kind 0", 0, 0, RH_COMM_EINVAL},
		{"the last kind", RH_COMM_FRAME_PACE, 0, 1},
		{"one more", RH_COMM_FRAME_PACE + 1, 0, RH_COMM_EINVAL},
		{"the longest", RH_COMM_FRAME_PUT, RH_COMM_FRAME_MAX, 0},
		{"too long", RH_COMM_FRAME_PUT, RH_COMM_FRAME_MAX + 1, RH_COMM_EINVAL},
		{"all ones", UINT32_MAX, UINT32_MAX, RH_COMM_EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t head[2] = {rows[i].kind, rows[i].length};
		struct rh_comm_buffer in = {0};
		const uint8_t *payload;
		uint32_t kind;
		size_t length;
		int32_t r;

		assert_int_equal(rh_comm_buffer_add(&in, head, sizeof(head)), 0);
		r = rh_comm_frame_look(&in, &kind, &payload, &length);
		if (r != rows[i].result)
			fail_msg("%s: %d", rows[i].name, (int)r);
		rh_comm_buffer_deinit(&in);
	}
}

/* More than a socket takes at once, in both directions. */
static void test_frame__through_a_socket(void **state)
{
	static uint8_t data[600000];
	struct rh_comm_buffer out = {0};
	struct rh_comm_buffer in = {0};
	int fds[2];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(rh_comm_buffer_read(&in, fds[1]), 0);
	assert_int_equal(rh_comm_frame_add(&out, RH_COMM_FRAME_PUT, NULL, 0, data, sizeof(data)), 0);
	while (in.length < RH_COMM_FRAME_HEAD + sizeof(data)) {
		assert_int_equal(rh_comm_buffer_write(&out, fds[0]), 0);
		assert_true(rh_comm_buffer_read(&in, fds[1]) >= 0);
	}
	assert_int_equal(out.length, 0);
	assert_memory_equal(in.data + RH_COMM_FRAME_HEAD, data, sizeof(data));
	(void)close(fds[0]);
	assert_int_equal(rh_comm_buffer_read(&in, fds[1]), RH_COMM_EPEER);
	assert_int_equal(errno, 0);
	assert_int_equal(rh_comm_buffer_add(&out, data, 1), 0);
	assert_int_equal(rh_comm_buffer_write(&out, fds[1]), RH_COMM_EPEER);
	assert_int_equal(errno, EPIPE);
	(void)close(fds[1]);
	rh_comm_buffer_deinit(&in);
	rh_comm_buffer_deinit(&out);
}

static void test_frame__a_proof_depends_on_everything(void **state)
{
	struct rh_comm_hello hello = {.rank = 1};
	uint8_t nonce[RH_COMM_NONCE] = {1};
	uint8_t proofs[5][RH_COMM_DIGEST];

	(void)state;
	/* the role of the server is part of the protocol */
	rh_comm_prove("secret", "hub", nonce, &hello, proofs[0]);
	rh_comm_prove("secret", "rank", nonce, &hello, proofs[1]);
	rh_comm_prove("Secret", RH_COMM_ROLE_SERVER, nonce, &hello, proofs[2]);
	nonce[RH_COMM_NONCE - 1] = 1;
	rh_comm_prove("secret", RH_COMM_ROLE_SERVER, nonce, &hello, proofs[3]);
	nonce[RH_COMM_NONCE - 1] = 0;
	hello.rank = 2;
	rh_comm_prove("secret", RH_COMM_ROLE_SERVER, nonce, &hello, proofs[4]);
	for (size_t i = 0; i < 5; i++) {
		for (size_t j = 0; j < i; j++)
			assert_false(rh_comm_digest_equal(proofs[i], proofs[j]));
	}
	hello.rank = 1;
	rh_comm_prove("secret", RH_COMM_ROLE_SERVER, nonce, &hello, proofs[4]);
	assert_true(rh_comm_digest_equal(proofs[0], proofs[4]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame__comes_in_pieces),
		cmocka_unit_test(test_frame__heads),
		cmocka_unit_test(test_frame__through_a_socket),
		cmocka_unit_test(test_frame__a_proof_depends_on_everything),
	};

	return cmocka_run_group_tests_name("comm/core/bootstrap/protocol/frame", tests, NULL, NULL);
}
