/* SPDX-License-Identifier: Apache-2.0 */
/* The pace of ranks by their traces. */
#include "comm/bench/trace/pace.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "roundhouse/comm.h"

/* Three collectives posted ahead, as buckets of gradients: the wait is that after the last post. */
static void test_pace__of_traces(void **state)
{
	enum { OPS = 90 };
	static struct rh_trace_op ops[2][OPS];
	static const struct rh_trace_op *byno[2][OPS];
	struct rh_trace_rank ranks[2] = {{.rank = 0, .world = 2}, {.rank = 1, .world = 2}};
	struct rh_comm_pace pace;

	(void)state;
	for (size_t i = 0; i < OPS; i++) {
		for (size_t rank = 0; rank < 2; rank++) {
			/* rank 1 posts 100 of 1000 later; done in turn at the end of the step */
			int64_t begun = (int64_t)(i / 3 * 1000 + 700 + 50 * (i % 3) + (rank == 1 ? 100 : 0));

			ops[rank][i] = (struct rh_trace_op){.number = i + 1, .begun = begun, .state = 3, .what = 1};
			ops[rank][i].ended = (int64_t)(i / 3 * 1000 + 960 + 10 * (i % 3));
			byno[rank][i] = &ops[rank][i];
		}
	}
	for (size_t rank = 0; rank < 2; rank++) {
		ranks[rank].ops = ops[rank];
		ranks[rank].byno = byno[rank];
		ranks[rank].count = ranks[rank].collectives = OPS;
	}
	assert_int_equal(rh_trace_pace(ranks, 2, &pace), 0);
	/* one of three collectives is late: rounds of two show it more clearly */
	assert_int_equal(pace.rounds, (OPS - 1) / 2);
	assert_int_equal(pace.late, 1);
	assert_true(pace.share > 0.095 && pace.share < 0.105);
	/* the root of a broadcast waits for nobody: that says nothing of its pace */
	for (size_t i = 0; i < OPS; i++)
		ops[0][i].what = ops[1][i].what = RH_COMM_BROADCAST;
	assert_int_equal(rh_trace_pace(ranks, 2, &pace), 0);
	assert_int_equal(pace.rounds, 0);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
	/* not all ranks are there */
	assert_int_equal(rh_trace_pace(ranks, 1, &pace), 0);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
}

/* A barrier of the world, before which ranks 1 and 2 were in an operation of a group. Rank 2 was released late. */
static void test_pace__who_comes_late_because_it_waited_elsewhere(void **state)
{
	enum { STEPS_HERE = 40, OPS = 2 * STEPS_HERE };
	static struct rh_trace_op ops[3][OPS];
	static const struct rh_trace_op *byno[3][OPS];
	struct rh_trace_rank ranks[3];
	struct rh_comm_pace pace;

	(void)state;
	for (int32_t rank = 0; rank < 3; rank++) {
		ranks[rank] = (struct rh_trace_rank){.rank = rank, .world = 3, .ops = ops[rank], .byno = byno[rank]};
		for (size_t step = 0; step < STEPS_HERE; step++) {
			int64_t at = 1000 * (int64_t)step;

			if (rank > 0)
				ops[rank][ranks[rank].count++] = (struct rh_trace_op){.group = 7,
				                                                      .number = step + 1,
				                                                      .begun = at + 500,
				                                                      .ended = at + (rank == 2 ? 900 : 700),
				                                                      .state = 3};
			byno[rank][ranks[rank].collectives++] = &ops[rank][ranks[rank].count];
			ops[rank][ranks[rank].count++] = (struct rh_trace_op){.number = step + 1,
			                                                      .begun = at + (rank == 2   ? 900
			                                                                     : rank == 1 ? 700
			                                                                                 : 500),
			                                                      .ended = at + 950,
			                                                      .state = 3,
			                                                      .what = 1};
		}
	}
	assert_int_equal(rh_trace_pace(ranks, 3, &pace), 0);
	assert_int_equal(pace.rounds, STEPS_HERE - 1);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
	assert_true(pace.transfer > 0.4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pace__of_traces),
		cmocka_unit_test(test_pace__who_comes_late_because_it_waited_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
