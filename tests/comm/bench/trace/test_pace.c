/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks on a virtual clock: who is slow is named within 50 steps, a slow link and jitter name nobody. */
#include "comm/bench/trace/pace.h"

#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "random.h"
#include "roundhouse/comm.h"

#define WORLD_MOST 64
#define STEPS 50

/* A world. A step without disturbance computes for 1. */
struct job {
	int32_t world;
	int32_t slow;   /* this rank computes longer, by `more` */
	double more;    /* part of its step */
	double jitter;  /* each step of each rank takes up to so much longer */
	double hiccup;  /* once in 200 steps a rank takes so much longer */
	double link;    /* time of a chunk over the link to rank `behind`; over the others 0.001 */
	int32_t behind; /* the rank behind the slow link; none: RH_COMM_NO_RANK */
	uint64_t seed;
};

/* The clock of each rank, between steps. */
struct world {
	double now[WORLD_MOST];
	double waits[STEPS * WORLD_MOST];
	double periods[STEPS];
};

static double computes(struct job *job, int32_t rank)
{
	double time = 1 + (rank == job->slow ? job->more : 0) + job->jitter * test_random_part(&job->seed);

	return job->hiccup > 0 && test_random_below(&job->seed, 200) == 0 ? time + job->hiccup : time;
}

/* A ring: in each of 2 (n - 1) rounds each rank waits for the chunk of the one before it. */
static void ring(const struct job *job, double *now)
{
	for (int32_t round = 0; round < 2 * (job->world - 1); round++) {
		double before[WORLD_MOST];

		for (int32_t rank = 0; rank < job->world; rank++)
			before[rank] = now[rank];
		for (int32_t rank = 0; rank < job->world; rank++) {
			double from = before[(rank + job->world - 1) % job->world];
			double start = from > before[rank] ? from : before[rank];

			now[rank] = start + (rank == job->behind ? job->link : 0.001);
		}
	}
}

/* So many steps, of which the waits of each rank are kept. */
static struct rh_pace run(struct job *job, struct world *world)
{
	struct rh_pace_rounds rounds = {job->world, STEPS, world->waits, world->periods};
	struct rh_pace pace;

	for (size_t step = 0; step < STEPS; step++) {
		double posted[WORLD_MOST];
		double before = world->now[0];

		for (int32_t rank = 0; rank < job->world; rank++) {
			world->now[rank] += computes(job, rank);
			posted[rank] = world->now[rank];
		}
		ring(job, world->now);
		for (int32_t rank = 0; rank < job->world; rank++)
			world->waits[step * (size_t)job->world + (size_t)rank] = world->now[rank] - posted[rank];
		world->periods[step] = world->now[0] - before;
	}
	assert_int_equal(rh_pace_judge(&rounds, &pace), 0);
	return pace;
}

static void test_pace__a_rank_with_a_tenth_more_is_named_within_50_steps(void **state)
{
	static const int32_t worlds[] = {2, 3, 4, 8, 64};
	static const double jitters[] = {0, 0.05, 0.15};

	(void)state;
	for (size_t i = 0; i < 15 * 100; i++) {
		struct world world = {.now = {0}};
		struct job job = {
			.world = worlds[i % 5], .more = 0.1, .jitter = jitters[i / 5 % 3], .behind = RH_COMM_NO_RANK, .seed = i};
		struct rh_pace pace;

		job.slow = (int32_t)test_random_below(&job.seed, (uint32_t)job.world);
		pace = run(&job, &world);
		if (pace.late != job.slow)
			fail_msg("world %d, jitter %g: rank %d is slow, %d named", (int)job.world, job.jitter, (int)job.slow,
			         (int)pace.late);
		assert_true(pace.share > 0.05 && pace.share < 0.15);
		assert_true(pace.transfer < 0.15);
	}
}

static void test_pace__a_slow_link_is_no_slow_rank(void **state)
{
	static const double links[] = {0.002, 0.01, 0.05, 0.2};

	(void)state;
	for (size_t i = 0; i < 400; i++) {
		struct world world = {.now = {0}};
		struct job job = {
			.world = 2 + (int32_t)(i % 7), .slow = RH_COMM_NO_RANK, .jitter = 0.1, .link = links[i % 4], .seed = i};
		struct rh_pace pace;

		job.behind = (int32_t)test_random_below(&job.seed, (uint32_t)job.world);
		/* the first step is not like the others */
		(void)run(&job, &world);
		pace = run(&job, &world);
		assert_int_equal(pace.late, RH_COMM_NO_RANK);
		if (job.link >= 0.2)
			assert_true(pace.transfer > 0.15);
	}
}

static void test_pace__jitter_names_nobody_in_100000_steps(void **state)
{
	static const double jitters[] = {0.02, 0.2, 1, 5};

	(void)state;
	for (size_t row = 0; row < 8; row++) {
		struct world world = {.now = {0}};
		struct job job = {.world = 8,
		                  .slow = RH_COMM_NO_RANK,
		                  .jitter = jitters[row % 4],
		                  .hiccup = row < 4 ? 0 : 20,
		                  .behind = RH_COMM_NO_RANK,
		                  .seed = row};

		for (int steps = 0; steps < 100000; steps += STEPS) {
			struct rh_pace pace = run(&job, &world);

			if (pace.late != RH_COMM_NO_RANK)
				fail_msg("row %zu, step %d: rank %d is named, for %g", row, steps, (int)pace.late, pace.share);
		}
	}
}

/* Rank 0 has less to do: nobody of the others is to blame alone. */
static void test_pace__a_rank_that_comes_early_names_nobody(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct world world = {.now = {0}};
		struct job job = {.world = 4, .more = -0.5, .jitter = 0.05, .behind = RH_COMM_NO_RANK, .seed = seed};

		assert_int_equal(run(&job, &world).late, RH_COMM_NO_RANK);
	}
}

static void test_pace__few_operations_are_not_judged(void **state)
{
	static const double waits[] = {1, 0, 1, 0, 1, 0};
	static const double periods[] = {2, 2, 2};
	const struct rh_pace_rounds rounds = {2, 3, waits, periods};
	struct rh_pace pace;

	(void)state;
	assert_int_equal(rh_pace_judge(&rounds, &pace), 0);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
	assert_int_equal(pace.rounds, 3);
}

/* Three collectives posted ahead, as buckets of gradients: the wait is that after the last post. */
static void test_pace__of_traces(void **state)
{
	enum { OPS = 90 };
	static struct rh_trace_op ops[2][OPS];
	static const struct rh_trace_op *byno[2][OPS];
	struct rh_trace_rank ranks[2] = {{.rank = 0, .world = 2}, {.rank = 1, .world = 2}};
	struct rh_pace pace;

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
	assert_int_equal(rh_pace_of(ranks, 2, &pace), 0);
	assert_int_equal(pace.rounds, OPS - 1);
	assert_int_equal(pace.late, 1);
	assert_true(pace.share > 0.095 && pace.share < 0.105);
	/* not all ranks are there */
	assert_int_equal(rh_pace_of(ranks, 1, &pace), 0);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
}

/* A barrier of the world, before which ranks 1 and 2 were in an operation of a group. Rank 2 was released late. */
static void test_pace__who_comes_late_because_it_waited_elsewhere(void **state)
{
	enum { STEPS_HERE = 40, OPS = 2 * STEPS_HERE };
	static struct rh_trace_op ops[3][OPS];
	static const struct rh_trace_op *byno[3][OPS];
	struct rh_trace_rank ranks[3];
	struct rh_pace pace;

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
	assert_int_equal(rh_pace_of(ranks, 3, &pace), 0);
	assert_int_equal(pace.rounds, STEPS_HERE - 1);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
	assert_true(pace.transfer > 0.4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pace__a_rank_with_a_tenth_more_is_named_within_50_steps),
		cmocka_unit_test(test_pace__a_slow_link_is_no_slow_rank),
		cmocka_unit_test(test_pace__jitter_names_nobody_in_100000_steps),
		cmocka_unit_test(test_pace__a_rank_that_comes_early_names_nobody),
		cmocka_unit_test(test_pace__few_operations_are_not_judged),
		cmocka_unit_test(test_pace__of_traces),
		cmocka_unit_test(test_pace__who_comes_late_because_it_waited_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
