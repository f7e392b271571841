/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many steps of a job on a virtual clock, looked at once a second: however its steps differ in length, nobody is named,
 * and a rank that then does not come is. usage: test_local_progress_stall_steps [STEPS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/support.h"
#include "comm/core/trace/ring.h"
#include "local/progress/stall.h"
#include "local/scratch.h"
#include "random.h"

#define RANKS 4
#define OPS 2
#define EVENTS (RANKS * OPS * 2)
#define BILLION 1e9
#define STEPS_QUICK 20000
#define STEPS_LEAST 1000
#define SECONDS_MOST 100

/* How long the steps of a job are, in seconds. */
struct habit {
	double step;   /* each rank computes so long */
	double jitter; /* and up to so many times longer */
	double hiccup; /* once in 200 steps, one rank takes up to so much longer */
	double save;   /* every 500 steps rank 0 takes so much longer */
	size_t named;  /* so many stalls are found in it: waits of that length are not known before */
};

/* A rank posts an operation, or it ends, at a moment. */
struct event {
	double at;
	int32_t rank;
	int32_t op; /* 0: of the rank's half of the world; 1: of the world */
	bool end;
};

struct job {
	char *folder;
	struct rh_comm_trace traces[RANKS];
	uint64_t places[RANKS][OPS];
	double now[RANKS]; /* when each rank begins its next step */
	int64_t looked;    /* seconds */
	uint64_t step;
	uint64_t seed;
	size_t named;
	struct rh_stall stall;
};

static size_t steps_of_a_run = STEPS_QUICK;

static uint64_t group_of(int32_t rank, int32_t op)
{
	return op == 1 ? 0 : (uint64_t)rank / 2 + 1;
}

static void job_begin(struct job *job, uint64_t seed)
{
	*job = (struct job){.folder = test_scratch(), .seed = seed};
	for (int32_t rank = 0; rank < RANKS; rank++) {
		struct rh_comm_trace_origin origin = {job->folder, "job 1", rank, RANKS};
		const int32_t members[] = {rank / 2 * 2, rank / 2 * 2 + 1};

		assert_int_equal(rh_comm_trace_open(&origin, &job->traces[rank], NULL), 0);
		rh_comm_trace_add_group(&job->traces[rank], group_of(rank, 0), members, 2);
	}
}

static void job_end(struct job *job)
{
	rh_stall_deinit(&job->stall);
	for (int32_t rank = 0; rank < RANKS; rank++)
		rh_comm_trace_close(&job->traces[rank]);
	test_scratch_remove(job->folder);
}

/* Each rank has noted the time within the last second. */
static void job_look(struct job *job, bool expected)
{
	int64_t now = ++job->looked;
	enum rh_stall_change change;

	for (int32_t rank = 0; rank < RANKS; rank++) {
		struct rh_comm_trace_head *head = job->traces[rank].head;
		int64_t since = (int64_t)(((double)now - test_random_part(&job->seed)) * BILLION);

		head->clocks[1] = (struct rh_comm_trace_clock){head->clocks[0].ticks + since, head->clocks[0].time + since};
		head->clock = 1;
	}
	change = rh_stall_look(&job->stall, job->folder, (now + 1) * RH_SECOND, rh_clock_wall());
	job->named += change == RH_STALL_BEGUN;
	if (change == RH_STALL_BEGUN && !expected)
		fail_msg("step %llu, second %lld: %s", (unsigned long long)job->step, (long long)now,
		         rh_str_text(&job->stall.text));
}

static void job_apply(struct job *job, const struct event *event)
{
	const struct rh_comm_op op = {.what = RH_COMM_BARRIER};
	struct rh_comm_trace *trace = &job->traces[event->rank];
	uint64_t *place = &job->places[event->rank][event->op];
	int64_t ticks = trace->head->clocks[0].ticks + (int64_t)(event->at * BILLION);

	if (event->end) {
		rh_comm_trace_end(trace, *place, &op, 0);
		rh_comm_trace_at(trace, *place)->ended = ticks;
		return;
	}
	*place = rh_comm_trace_post(trace, &op, group_of(event->rank, event->op), job->step, RH_COMM_NO_RANK);
	rh_comm_trace_at(trace, *place)->begun = ticks;
}

static int compare_events(const void *a, const void *b)
{
	const struct event *left = a;
	const struct event *right = b;

	return (left->at > right->at) - (left->at < right->at);
}

/* In the order of time, with the looks that fall between them. */
static void job_play(struct job *job, struct event *events, size_t count, bool expected)
{
	qsort(events, count, sizeof(*events), compare_events);
	for (size_t i = 0; i < count; i++) {
		while ((double)(job->looked + 1) < events[i].at)
			job_look(job, expected);
		job_apply(job, &events[i]);
	}
}

/* Each half meets in its group, and then all do. */
static void job_step(struct job *job, const struct habit *habit, bool expected)
{
	int32_t late = test_random_below(&job->seed, 200) == 0 ? (int32_t)test_random_below(&job->seed, RANKS) : RANKS;
	struct event events[EVENTS];
	double half[2] = {0, 0};
	double all;
	size_t count = 0;

	job->step++;
	for (int32_t rank = 0; rank < RANKS; rank++) {
		job->now[rank] += habit->step * (1 + habit->jitter * test_random_part(&job->seed)) +
		                  (rank == late ? habit->hiccup * test_random_part(&job->seed) : 0) +
		                  (rank == 0 && job->step % 500 == 0 ? habit->save : 0);
		half[rank / 2] = job->now[rank] > half[rank / 2] ? job->now[rank] : half[rank / 2];
		events[count++] = (struct event){job->now[rank], rank, 0, false};
	}
	all = (half[0] > half[1] ? half[0] : half[1]) + 0.003;
	for (int32_t rank = 0; rank < RANKS; rank++) {
		events[count++] = (struct event){half[rank / 2] + 0.001, rank, 0, true};
		events[count++] = (struct event){half[rank / 2] + 0.002, rank, 1, false};
		events[count++] = (struct event){all, rank, 1, true};
		job->now[rank] = all;
	}
	job_play(job, events, count, expected);
}

/* At last rank 2 does not come. */
static void job_stand(struct job *job)
{
	struct event events[RANKS];
	size_t count = 0;

	job->step++;
	for (int32_t rank = 0; rank < RANKS; rank++) {
		if (rank != 2)
			events[count++] = (struct event){job->now[rank] + 0.1, rank, 0, false};
	}
	job_play(job, events, count, false);
	for (int i = 0; i < SECONDS_MOST && !job->stall.on; i++)
		job_look(job, true);
	assert_true(job->stall.on);
	assert_int_equal(job->stall.rank, 2);
}

static void play(const struct habit *habit, uint64_t seed)
{
	struct job job;

	job_begin(&job, seed);
	for (size_t i = 0; i < steps_of_a_run; i++)
		job_step(&job, habit, job.named < habit->named);
	assert_int_equal(job.named, habit->named);
	job_stand(&job);
	job_end(&job);
}

static void test_stall_steps__nobody_is_named(void **state)
{
	static const struct habit habits[] = {
		{.step = 0.1, .jitter = 0.2},
		{.step = 0.1, .jitter = 3, .hiccup = 5},
		{.step = 0.2, .jitter = 1, .hiccup = 9.7},
		{.step = 0.02, .jitter = 20, .hiccup = 9.5},
		{.step = 0.5, .jitter = 0.1, .hiccup = 2, .save = 9},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(habits) / sizeof(*habits); i++)
		play(&habits[i], i + 1);
}

/* A wait that is longer than any before is named once. */
static void test_stall_steps__a_long_pause_is_named_once(void **state)
{
	static const struct habit habit = {.step = 0.1, .jitter = 1, .save = 25, .named = 1};

	(void)state;
	play(&habit, 7);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stall_steps__nobody_is_named),
		cmocka_unit_test(test_stall_steps__a_long_pause_is_named_once),
	};

	if (argc > 1 && strtol(argv[1], NULL, 10) >= STEPS_LEAST)
		steps_of_a_run = (size_t)strtol(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
