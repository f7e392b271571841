/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks on a virtual clock: who is slow is named within 50 steps, a slow link and jitter name nobody. */
#include "comm/core/trace/pace.h"
#include "comm/core/trace/waits.h"

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
#define LIVE_MOST 16
#define SECOND INT64_C(1000000000)

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
static struct rh_comm_pace run(struct job *job, struct world *world)
{
	struct rh_comm_pace_rounds rounds = {job->world, STEPS, world->waits, world->periods};
	struct rh_comm_pace pace;

	for (size_t step = 0; step < STEPS; step++) {
		double posted[WORLD_MOST] = {0};
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
	assert_int_equal(rh_comm_pace_judge(&rounds, &pace), 0);
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
		struct rh_comm_pace pace;

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
		struct rh_comm_pace pace;

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
			struct rh_comm_pace pace = run(&job, &world);

			if (pace.late != RH_COMM_NO_RANK)
				fail_msg("row %zu, step %d: rank %d is named, for %g", row, steps, (int)pace.late, pace.share);
		}
	}
}

/* Rank 0 has less to do: nobody of the others is to blame alone. */
static void test_pace__a_rank_that_comes_early_names_nobody(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 100; seed++) {
		struct world world = {.now = {0}};
		struct job job = {.world = 4, .more = -0.5, .jitter = 0.05, .behind = RH_COMM_NO_RANK, .seed = seed};

		assert_int_equal(run(&job, &world).late, RH_COMM_NO_RANK);
	}
}

static void test_pace__few_operations_are_not_judged(void **state)
{
	static const double waits[] = {1, 0, 1, 0, 1, 0};
	static const double periods[] = {2, 2, 2};
	const struct rh_comm_pace_rounds rounds = {2, 3, waits, periods};
	struct rh_comm_pace pace;

	(void)state;
	assert_int_equal(rh_comm_pace_judge(&rounds, &pace), 0);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
	assert_int_equal(pace.rounds, 3);
}

/* Ranks that keep their own waits, and report them once a second, on a virtual clock of nanoseconds. */
struct live_rank {
	struct rh_comm_waits waits;
	struct rh_comm_pace_history history;
	int64_t now;
};

/* What such a job does. */
struct live {
	struct live_rank ranks[LIVE_MOST];
	int32_t world;
	int32_t slow;     /* from now on it computes longer, by a tenth */
	int32_t behind;   /* the rank behind the slow link; none: RH_COMM_NO_RANK */
	int64_t link;     /* nanoseconds that each collective takes longer because of it */
	int64_t step;     /* nanoseconds */
	int32_t buckets;  /* collectives of a step; the first one comes after most of the computing */
	double jitter;    /* part of the step */
	double hiccup;    /* once in 200 steps a rank takes so many steps longer */
	int64_t reported; /* when */
	uint64_t seed;
};

static int64_t live_computes(struct live *job, int32_t rank)
{
	double time = 1 + (rank == job->slow ? 0.1 : 0) + job->jitter * test_random_part(&job->seed);

	if (job->hiccup > 0 && test_random_below(&job->seed, 200) == 0)
		time += job->hiccup;
	return (int64_t)(time * (double)job->step);
}

/* Counters of ranks differ: one of them is faster. */
static int64_t live_ticks(const struct live *job, int32_t rank)
{
	return job->ranks[rank].now * (rank == 1 ? 2 : 1);
}

/* All come, then all leave. */
static void live_collective(struct live *job)
{
	int64_t link = job->behind != RH_COMM_NO_RANK ? job->link : 0;
	int64_t last = 0;

	for (int32_t rank = 0; rank < job->world; rank++) {
		rh_comm_waits_post(&job->ranks[rank].waits, live_ticks(job, rank));
		last = job->ranks[rank].now > last ? job->ranks[rank].now : last;
	}
	for (int32_t rank = 0; rank < job->world; rank++) {
		struct live_rank *it = &job->ranks[rank];

		/* each leaves a little later than the one before it */
		it->now = last + job->step / 1000 / job->buckets * (1 + rank) + link;
		rh_comm_waits_end(&it->waits, live_ticks(job, rank));
		rh_comm_waits_mark(&it->waits, live_ticks(job, rank));
	}
}

static struct rh_comm_pace live_judge(struct live *job)
{
	const struct rh_comm_pace_history *histories[LIVE_MOST];
	struct rh_comm_pace pace;

	for (int32_t rank = 0; rank < job->world; rank++) {
		struct live_rank *it = &job->ranks[rank];
		struct rh_comm_pace_mark marks[RH_COMM_PACE_MARKS];
		size_t count = rh_comm_waits_take(&it->waits, it->now, live_ticks(job, rank), marks);

		for (size_t i = 0; i < count; i++)
			rh_comm_pace_add(&it->history, &marks[i]);
		histories[rank] = &it->history;
	}
	assert_int_equal(rh_comm_pace_judge_histories(histories, job->world, &pace), 0);
	return pace;
}

/* @return whether it was a second since the last report; then *ret_pace is what that says */
static bool live_step(struct live *job, struct rh_comm_pace *ret_pace)
{
	for (int32_t rank = 0; rank < job->world; rank++)
		job->ranks[rank].now += live_computes(job, rank);
	for (int32_t i = 0; i < job->buckets; i++)
		live_collective(job);
	if (job->ranks[0].now - job->reported < SECOND)
		return false;
	job->reported = job->ranks[0].now;
	*ret_pace = live_judge(job);
	return true;
}

static struct live *live_new(uint64_t seed, int32_t world, int64_t step)
{
	struct live *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	job->seed = seed;
	job->world = world;
	job->step = step;
	job->slow = job->behind = RH_COMM_NO_RANK;
	job->buckets = 1;
	for (int32_t rank = 0; rank < world; rank++)
		job->ranks[rank].now = 1000;
	(void)live_judge(job);
	return job;
}

/* Steps of 10 ms, 100 ms or 1 s, with 1 to 100 collectives; a judgement comes once a second. */
static void test_pace__while_the_job_runs_a_slow_rank_and_nobody_else_is_named(void **state)
{
	static const int32_t worlds[] = {2, 3, 4, 8, 16};
	static const int64_t steps[] = {SECOND / 100, SECOND / 10, SECOND};
	static const int32_t buckets[] = {1, 2, 3, 4, 7, 10, 25, 100};

	(void)state;
	for (unsigned seed = 0; seed < 120; seed++) {
		struct live *job = live_new(seed, worlds[seed % 5], steps[seed % 3]);
		int32_t slow = (int32_t)test_random_below(&job->seed, (uint32_t)job->world);
		int64_t since;
		struct rh_comm_pace pace;
		int32_t named = RH_COMM_NO_RANK;

		job->buckets = buckets[seed % 8];
		job->jitter = 0.1;
		/* all is well, or a link is slow */
		for (int i = 0; i < 300; i++) {
			if (i == 150) {
				job->behind = slow;
				job->link = job->step / 5 / job->buckets;
			}
			if (live_step(job, &pace) && pace.late != RH_COMM_NO_RANK)
				fail_msg("seed %u, step %d: rank %d is named", seed, i, (int)pace.late);
		}
		since = job->ranks[0].now;
		job->behind = RH_COMM_NO_RANK;
		job->slow = slow;
		for (int i = 0; named == RH_COMM_NO_RANK && (i < 50 || job->ranks[0].now - since < 3 * SECOND); i++) {
			if (live_step(job, &pace))
				named = pace.late;
		}
		if (named != slow)
			fail_msg("seed %u, world %d, %d collectives: rank %d is slow, %d named", seed, (int)job->world,
			         (int)job->buckets, slow, (int)named);
		assert_true(pace.share > RH_COMM_PACE_LATE && pace.share < 0.12);
		/* it is as fast as the others again */
		job->slow = RH_COMM_NO_RANK;
		for (int i = 0; named != RH_COMM_NO_RANK && i < 2000; i++) {
			if (live_step(job, &pace))
				named = pace.late;
		}
		assert_int_equal(named, RH_COMM_NO_RANK);
		free(job);
	}
}

static void test_pace__while_the_job_runs_jitter_names_nobody_in_a_million_steps(void **state)
{
	static const double jitters[] = {0.02, 0.2, 1, 5};
	size_t judged = 0;

	(void)state;
	for (size_t row = 0; row < 8; row++) {
		struct live *job = live_new(row, 4, SECOND / 16);

		job->buckets = 1 + (int32_t)row % 2;
		job->jitter = jitters[row % 4];
		job->hiccup = row < 4 ? 0 : 20;
		for (int i = 0; i < 125000; i++) {
			struct rh_comm_pace pace;

			if (!live_step(job, &pace))
				continue;
			judged++;
			if (pace.late != RH_COMM_NO_RANK)
				fail_msg("row %zu, step %d: rank %d is named, for %g", row, i, (int)pace.late, pace.share);
		}
		free(job);
	}
	assert_true(judged > 60000);
}

/* A step has one broadcast, after which its root begins to compute, while the others still wait for the data. */
static void test_pace__what_was_waited_for_elsewhere_counts(void **state)
{
	struct live *job = live_new(1, 4, SECOND / 10);
	struct rh_comm_pace pace = {.rounds = 0};

	(void)state;
	job->jitter = 0.01;
	for (int i = 0; i < 300; i++) {
		for (int32_t rank = 0; rank < 4; rank++) {
			struct live_rank *it = &job->ranks[rank];

			rh_comm_waits_post(&it->waits, live_ticks(job, rank));
			it->now += rank == 0 ? job->step / 100 : job->step / 5;
			rh_comm_waits_end(&it->waits, live_ticks(job, rank));
		}
		if (live_step(job, &pace))
			assert_int_equal(pace.late, RH_COMM_NO_RANK);
	}
	assert_int_equal(pace.rounds, RH_COMM_PACE_MARKS - 1);
	free(job);
}

/* What another rank sends is any bytes. */
static void test_pace__odd_marks(void **state)
{
	struct rh_comm_pace_history *histories = calloc(2, sizeof(*histories));
	const struct rh_comm_pace_history *both[] = {&histories[0], &histories[1]};
	struct rh_comm_pace pace;

	(void)state;
	assert_non_null(histories);
	assert_int_equal(rh_comm_pace_judge_histories(both, 2, &pace), 0);
	assert_int_equal(pace.rounds, 0);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
	for (uint64_t i = 0; i < 200; i++) {
		struct rh_comm_pace_mark mark = {i, i % 2 ? INT64_MAX : INT64_MIN, i % 3 ? INT64_MIN : INT64_MAX};

		rh_comm_pace_add(&histories[0], &mark);
		mark.number = i % 5 ? i : UINT64_MAX - i;
		rh_comm_pace_add(&histories[1], &mark);
	}
	assert_int_equal(rh_comm_pace_judge_histories(both, 2, &pace), 0);
	assert_int_equal(pace.late, RH_COMM_NO_RANK);
	free(histories);
}

/* However many operations a second has, a report has few marks of them, and then enough again. */
static void test_pace__marks_of_a_report(void **state)
{
	struct rh_comm_waits waits = {.shift = 0};
	struct rh_comm_pace_mark marks[RH_COMM_PACE_MARKS];
	int64_t now = 1;

	(void)state;
	assert_int_equal(rh_comm_waits_take(&waits, now, now, marks), 0);
	for (int second = 0; second < 5; second++) {
		size_t count;

		for (int i = 0; i < 100000; i++) {
			rh_comm_waits_post(&waits, now += 5000);
			rh_comm_waits_end(&waits, now += 5000);
			rh_comm_waits_mark(&waits, now);
		}
		count = rh_comm_waits_take(&waits, now, now, marks);
		assert_true(count >= RH_COMM_PACE_MARKS / 2 - 1 && count <= RH_COMM_PACE_MARKS);
		for (size_t i = 1; i < count; i++) {
			int64_t rounds = (int64_t)(marks[i].number - marks[i - 1].number);

			/* each of them has waited half of the time; what is rounded is less than a millionth */
			assert_true(labs(marks[i].waited - marks[i - 1].waited - rounds * 5000) <= 2);
			assert_true(labs(marks[i].ended - marks[i - 1].ended - rounds * 10000) <= 2);
		}
	}
	for (int second = 0; second < 20; second++) {
		for (int i = 0; i < 10; i++)
			rh_comm_waits_mark(&waits, now += SECOND / 10);
		(void)rh_comm_waits_take(&waits, now, now, marks);
	}
	assert_int_equal(waits.shift, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pace__a_rank_with_a_tenth_more_is_named_within_50_steps),
		cmocka_unit_test(test_pace__a_slow_link_is_no_slow_rank),
		cmocka_unit_test(test_pace__jitter_names_nobody_in_100000_steps),
		cmocka_unit_test(test_pace__a_rank_that_comes_early_names_nobody),
		cmocka_unit_test(test_pace__few_operations_are_not_judged),
		cmocka_unit_test(test_pace__while_the_job_runs_a_slow_rank_and_nobody_else_is_named),
		cmocka_unit_test(test_pace__while_the_job_runs_jitter_names_nobody_in_a_million_steps),
		cmocka_unit_test(test_pace__what_was_waited_for_elsewhere_counts),
		cmocka_unit_test(test_pace__odd_marks),
		cmocka_unit_test(test_pace__marks_of_a_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
