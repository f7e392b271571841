/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that die, and ranks that leave the world or a group. */
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/bootstrap/members.h"
#include "comm/core/error.h"

static void test_server_liveness__a_line_that_breaks_is_a_dead_rank(void **state)
{
	struct rh_comm_error err = {.text = ""};
	struct member ranks[3];
	int32_t port;
	struct rh_comm_server *server = members_server(3, &port);

	(void)state;
	for (int32_t rank = 0; rank < 3; rank++)
		member_join(&ranks[rank], rank, 3, port);
	member_part(&ranks[1]);
	for (int32_t rank = 0; rank < 3; rank += 2) {
		assert_int_equal(member_await_end(&ranks[rank], &err), RH_COMM_EPEER);
		assert_int_equal(err.rank, 1);
		assert_non_null(strstr(err.text, "rank 1 at 127.0.0.1 died: its connection closed"));
		assert_int_equal(rh_comm_client_put(ranks[rank].client, "x", "y", 1), RH_COMM_EPEER);
	}
	member_part(&ranks[0]);
	member_part(&ranks[2]);
	rh_comm_server_free(server);
}

/* What a rank sent before it left may still be under way: only a heartbeat from long after that says otherwise. */
static void test_server_liveness__a_message_of_a_rank_that_left_is_waited_for(void **state)
{
	struct rh_comm_beat beat = {.waiting = 20 * RH_COMM_SECOND, .what = RH_COMM_RECV, .peer = 1};
	const struct rh_comm_beat last = {.peer = RH_COMM_NO_RANK};
	struct rh_comm_error err = {.text = ""};
	struct member members[2];
	int32_t port;
	struct rh_comm_server *server = members_server(2, &port);

	(void)state;
	for (int32_t rank = 0; rank < 2; rank++)
		member_join(&members[rank], rank, 2, port);
	rh_comm_client_beat(members[0].client, &beat);
	/* so much later than the beat leaves the other one */
	(void)usleep(100000);
	rh_comm_client_leave(members[1].client, &last, 0);
	for (int i = 0; i < 15; i++) {
		/* the pace of beats */
		(void)usleep(100000);
		assert_int_equal(rh_comm_client_check(members[0].client, &err), 0);
	}
	for (int i = 0; i < 600 && rh_comm_client_check(members[0].client, &err) == 0; i++) {
		(void)usleep(100000);
		rh_comm_client_beat(members[0].client, &beat);
	}
	assert_int_equal(rh_comm_client_check(members[0].client, &err), RH_COMM_EPEER);
	assert_string_equal(err.text, "rank 1 has left while rank 0 waits for it");
	for (int32_t rank = 0; rank < 2; rank++)
		member_part(&members[rank]);
	rh_comm_server_free(server);
}

/* Rank 0 leaves, waits for the others as long as it does, and takes the server with it. */
static void test_server_liveness__rank_0_that_left_is_not_called_dead(void **state)
{
	const struct rh_comm_beat last = {.peer = RH_COMM_NO_RANK};
	struct rh_comm_error err = {.text = ""};
	struct member members[3];
	int32_t port;
	struct rh_comm_server *server = members_server(3, &port);

	(void)state;
	for (int32_t rank = 0; rank < 3; rank++)
		member_join(&members[rank], rank, 3, port);
	rh_comm_client_leave(members[0].client, &last, rh_comm_now() + RH_COMM_SECOND / 2);
	assert_int_equal(rh_comm_client_check(members[1].client, &err), 0);
	member_part(&members[0]);
	rh_comm_server_free(server);
	for (int32_t rank = 1; rank < 3; rank++) {
		assert_int_equal(member_await_end(&members[rank], &err), RH_COMM_EPEER);
		assert_int_equal(err.rank, 0);
		assert_string_equal(err.text, "rank 0 has left, and the world ends with it: the others did not leave within "
		                              "RH_COMM_DEATH_TIMEOUT");
		member_part(&members[rank]);
	}
}

struct group_row {
	const char *name;
	uint64_t group;
	uint64_t done;
	bool ends;
};

/* Rank 0 waits for the third operation of group 7, which rank 1 leaves, or not. */
static void check_group(const struct group_row *row)
{
	struct rh_comm_beat beat = {
		.waiting = RH_COMM_SECOND, .what = RH_COMM_BARRIER, .peer = RH_COMM_NO_RANK, .group = 7, .number = 3};
	struct rh_comm_gone gone = {
		.group = row->group, .done = row->done, .size = 2, .text = " of the group of ranks 1, 0"};
	struct rh_comm_error err = {.text = ""};
	struct member members[2];
	int32_t port;
	struct rh_comm_server *server = members_server(2, &port);

	for (int32_t rank = 0; rank < 2; rank++)
		member_join(&members[rank], rank, 2, port);
	rh_comm_client_beat(members[0].client, &beat);
	rh_comm_client_gone(members[1].client, &gone);
	if (row->ends) {
		assert_int_equal(member_await_end(&members[0], &err), RH_COMM_EPEER);
		assert_string_equal(err.text, "rank 1 of the group of ranks 1, 0 has left it while rank 0 waits for it in "
		                              "barrier there");
		assert_int_equal(err.rank, 1);
	} else {
		/* nothing may come: longer than the server takes to report that the group lacks a rank */
		(void)usleep(1200000);
		if (rh_comm_client_check(members[0].client, &err) != 0)
			fail_msg("%s: %s", row->name, err.text);
	}
	for (int32_t rank = 0; rank < 2; rank++)
		member_part(&members[rank]);
	rh_comm_server_free(server);
}

static void test_server_liveness__who_left_a_group_is_not_waited_for(void **state)
{
	static const struct group_row rows[] = {
		{"one that it took no part in", 7, 2, true},
		{"one that is under way", 7, 3, false},
		{"another group", 8, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_group(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server_liveness__a_line_that_breaks_is_a_dead_rank),
		cmocka_unit_test(test_server_liveness__a_message_of_a_rank_that_left_is_waited_for),
		cmocka_unit_test(test_server_liveness__rank_0_that_left_is_not_called_dead),
		cmocka_unit_test(test_server_liveness__who_left_a_group_is_not_waited_for),
	};

	return cmocka_run_group_tests_name("comm/core/bootstrap/server_liveness", tests, NULL, NULL);
}
