/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 names the rank that comes last again and again, by what all ranks report of their waits. */
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/bootstrap/members.h"

#define WORLD 3
#define MILLISECOND INT64_C(1000000)

/* Reports of so many steps of 100 ms, after those before. Who is late waits a millisecond, the others eleven. */
static void report(struct member *members, uint64_t *number, int64_t *waited, int steps, int32_t late)
{
	for (int32_t rank = 0; rank < WORLD; rank++) {
		struct rh_comm_pace_mark marks[RH_COMM_PACE_MARKS];

		for (int i = 0; i < steps; i++) {
			waited[rank] += MILLISECOND * (rank == late ? 1 : 11);
			marks[i] = (struct rh_comm_pace_mark){.number = *number + (uint64_t)i + 1, .waited = waited[rank]};
			marks[i].ended = (int64_t)marks[i].number * 100 * MILLISECOND;
		}
		rh_comm_client_pace(members[rank].client, marks, (size_t)steps);
	}
	*number += (uint64_t)steps;
}

/* Judged once a second at most: a rank that was named is cleared by several judgements. */
static struct rh_comm_pace await(struct rh_comm_server *server, struct member *members, uint64_t *number,
                                 int64_t *waited, int32_t late)
{
	struct rh_comm_pace pace = {.rounds = 0};

	for (int i = 0; i < 6000; i++) {
		rh_comm_server_pace(server, &pace);
		if (pace.rounds > 0 && pace.late == late)
			return pace;
		if (i % 10 == 0)
			report(members, number, waited, 30, late);
		/* the server looks twice a second */
		(void)usleep(10000);
	}
	fail_msg("rank %d is not found", (int)late);
	return pace;
}

static void test_server_pace__a_rank_is_named_and_cleared(void **state)
{
	struct member members[WORLD];
	uint64_t number = 0;
	int64_t waited[WORLD] = {0};
	int32_t port;
	struct rh_comm_server *server = members_server(WORLD, &port);
	struct rh_comm_pace pace;

	(void)state;
	rh_comm_server_pace(server, &pace);
	assert_int_equal(pace.rounds, 0);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
	for (int32_t rank = 0; rank < WORLD; rank++)
		member_join(&members[rank], rank, WORLD, port);
	pace = await(server, members, &number, waited, 1);
	assert_true(pace.share > 0.099 && pace.share < 0.101);
	assert_true(pace.transfer > 0.0099 && pace.transfer < 0.0101);
	(void)await(server, members, &number, waited, RH_COMM_NO_RANK);
	for (int32_t rank = 0; rank < WORLD; rank++)
		member_part(&members[rank]);
	rh_comm_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server_pace__a_rank_is_named_and_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
