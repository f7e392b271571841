/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as ranks write them, whose clocks are set so that operations lie as far back as a case needs. */
#include "local/progress/stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/support.h"
#include "comm/core/trace/ring.h"
#include "local/scratch.h"

#define RANKS 3
#define GROUP 77
#define BILLION INT64_C(1000000000)

/* A world that stands still for so many seconds. */
struct scene {
	char *folder;
	struct rh_comm_trace traces[RANKS];
	uint64_t numbers[RANKS];
	int64_t now; /* monotonic microseconds */
	struct rh_stall stall;
};

static void scene_begin(struct scene *scene)
{
	*scene = (struct scene){.folder = test_scratch(), .now = RH_SECOND};
	for (int32_t rank = 0; rank < RANKS; rank++) {
		struct rh_comm_trace_origin origin = {scene->folder, "job 1", rank, RANKS};

		assert_int_equal(rh_comm_trace_open(&origin, &scene->traces[rank], NULL), 0);
		/* all began at one moment, however long this takes */
		scene->traces[rank].head->clocks[0] = scene->traces[0].head->clocks[0];
	}
}

static void scene_end(struct scene *scene)
{
	rh_stall_deinit(&scene->stall);
	for (int32_t rank = 0; rank < RANKS; rank++)
		rh_comm_trace_close(&scene->traces[rank]);
	test_scratch_remove(scene->folder);
}

/* Since the ranks began so many seconds have passed, by their clocks. */
static void scene_pass(struct scene *scene, int64_t seconds)
{
	for (int32_t rank = 0; rank < RANKS; rank++) {
		struct rh_comm_trace_head *head = scene->traces[rank].head;

		head->clocks[1].ticks = head->clocks[0].ticks + seconds * BILLION;
		head->clocks[1].time = head->clocks[0].time + seconds * BILLION;
		head->clock = 1;
	}
}

/* Collective `number` of a group, posted `from` seconds after the begin; `to` 0: not done. */
static void post_number(struct scene *scene, int32_t rank, uint64_t group, uint64_t number, const int64_t *times)
{
	struct rh_comm_op op = {.what = RH_COMM_BARRIER};
	struct rh_comm_trace *trace = &scene->traces[rank];
	uint64_t place = rh_comm_trace_post(trace, &op, group, number, RH_COMM_NO_RANK);
	struct rh_comm_trace_entry *entry = rh_comm_trace_at(trace, place);

	rh_comm_trace_start(trace, place, &op, number);
	entry->begun = trace->head->clocks[0].ticks + times[0] * BILLION;
	if (times[1] > 0) {
		rh_comm_trace_end(trace, place, &op, 0);
		entry->ended = trace->head->clocks[0].ticks + times[1] * BILLION;
	}
}

/* The next collective of a rank that is in one group alone. */
static void post(struct scene *scene, int32_t rank, uint64_t group, int64_t from, int64_t to)
{
	const int64_t times[] = {from, to};

	post_number(scene, rank, group, ++scene->numbers[rank], times);
}

/* Once a second, as a run does, and at the last one this is found; before nothing is. */
static void look(struct scene *scene, int64_t seconds, enum rh_stall_change expected)
{
	enum rh_stall_change found = RH_STALL_SAME;

	for (int64_t i = seconds > 0 ? 1 : 0; i <= seconds; i++) {
		assert_int_equal(found, RH_STALL_SAME);
		scene->now += seconds > 0 ? RH_SECOND : 0;
		found = rh_stall_look(&scene->stall, scene->folder, scene->now, rh_clock_wall());
	}
	assert_int_equal(found, expected);
}

/* A stall is found, sooner or later. */
static void await(struct scene *scene)
{
	for (int i = 0; i < 30 && !scene->stall.on; i++) {
		scene->now += RH_SECOND;
		(void)rh_stall_look(&scene->stall, scene->folder, scene->now, rh_clock_wall());
	}
	assert_true(scene->stall.on);
}

static void add_group(struct scene *scene, uint64_t group, int32_t one, int32_t other)
{
	const int32_t members[] = {one, other};

	rh_comm_trace_add_group(&scene->traces[one], group, members, 2);
	rh_comm_trace_add_group(&scene->traces[other], group, members, 2);
}

/* All have been in a barrier for a second; then some wait in another one from the second second on. */
static void scene_stand(struct scene *scene, int64_t seconds, int32_t waiting)
{
	for (int32_t rank = 0; rank < RANKS; rank++)
		post(scene, rank, 0, 1, 2);
	for (int32_t rank = 0; rank < waiting; rank++)
		post(scene, rank, 0, 2, 0);
	scene_pass(scene, seconds);
}

static void test_stall__who_did_not_come_is_named_once(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	scene_stand(&scene, 14, 2);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 9, RH_STALL_SAME);
	look(&scene, 1, RH_STALL_BEGUN);
	assert_int_equal(scene.stall.rank, 2);
	assert_int_equal(scene.stall.process, getpid());
	assert_string_equal(rh_str_text(&scene.stall.text),
	                    "rank 2 did not come to number 2, barrier; rank 0 has waited 12.000 s there");
	look(&scene, 60, RH_STALL_SAME);
	post(&scene, 2, 0, 14, 15);
	look(&scene, 1, RH_STALL_ENDED);
	look(&scene, 1, RH_STALL_SAME);
	scene_end(&scene);
}

/* Its process is not looked at: it may be long gone. */
static void test_stall__a_rank_that_has_left(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	scene_stand(&scene, 30, 2);
	rh_comm_trace_close(&scene.traces[2]);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 10, RH_STALL_BEGUN);
	assert_int_equal(scene.stall.rank, 2);
	assert_int_equal(scene.stall.process, 0);
	scene_end(&scene);
}

static void test_stall__nobody_waits(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 100, RH_STALL_SAME);
	scene_stand(&scene, 200, 0);
	look(&scene, 1, RH_STALL_SAME);
	look(&scene, 100, RH_STALL_SAME);
	look(&scene, 100, RH_STALL_SAME);
	scene_end(&scene);
}

/* Waits that took 10 s and ended well are usual: three times as long is a stall. */
static void test_stall__waits_that_end_well_are_learned(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	for (int32_t rank = 0; rank < RANKS; rank++)
		post(&scene, rank, 0, rank == 0 ? 0 : 10, 10);
	for (int32_t rank = 0; rank < 2; rank++)
		post(&scene, rank, 0, 10, 0);
	scene_pass(&scene, 39);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 28, RH_STALL_SAME);
	scene_pass(&scene, 41);
	await(&scene);
	scene_end(&scene);
}

/* What has been called a stall, and ended well, is usual from then on. */
static void test_stall__a_stall_that_ends_well_is_learned(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	scene_stand(&scene, 30, 2);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 10, RH_STALL_BEGUN);
	look(&scene, 10, RH_STALL_SAME);
	post(&scene, 2, 0, 30, 31);
	for (int32_t rank = 0; rank < 2; rank++) {
		rh_comm_trace_at(&scene.traces[rank], 2)->kind = RH_COMM_BARRIER | (uint32_t)RH_COMM_TRACE_DONE << 24;
		post(&scene, rank, 0, 31, 0);
	}
	scene_pass(&scene, 31 + 60);
	look(&scene, 1, RH_STALL_ENDED);
	look(&scene, 60, RH_STALL_SAME);
	scene_pass(&scene, 31 + 65);
	await(&scene);
	assert_int_equal(scene.stall.rank, 2);
	scene_end(&scene);
}

/* Rank 1 waits for rank 2 in a group, and rank 0 for rank 1. */
static void test_stall__who_waits_itself_is_not_to_blame(void **state)
{
	static const int64_t times[] = {2, 0};
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	scene_stand(&scene, 30, 1);
	add_group(&scene, GROUP, 1, 2);
	post_number(&scene, 1, GROUP, 1, times);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 10, RH_STALL_BEGUN);
	assert_int_equal(scene.stall.rank, 2);
	assert_string_equal(
		rh_str_text(&scene.stall.text),
		"rank 2 did not come to number 1 of group 4d (2 ranks), barrier; rank 1 has waited 28.000 s there");
	scene_end(&scene);
}

/* Rank 0 waits for rank 2 in one group. Rank 2 works with rank 1 in another one, where it always waits, never for long.
 */
static void test_stall__one_group_stands_while_another_goes_on(void **state)
{
	static const int64_t forever[] = {1, 0};
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	add_group(&scene, GROUP, 0, 2);
	add_group(&scene, GROUP + 1, 1, 2);
	post_number(&scene, 0, GROUP, 1, forever);
	look(&scene, 0, RH_STALL_SAME);
	for (int64_t second = 2; second <= 11; second++) {
		int64_t done[] = {second - 1, second};
		int64_t open[] = {second, 0};

		for (int32_t rank = 1; rank < RANKS; rank++)
			post_number(&scene, rank, GROUP + 1, (uint64_t)(2 * second), done);
		post_number(&scene, 2, GROUP + 1, (uint64_t)(2 * second + 1), open);
		scene_pass(&scene, second);
		look(&scene, 1, second == 11 ? RH_STALL_BEGUN : RH_STALL_SAME);
		if (second < 11)
			rh_comm_trace_end(&scene.traces[2], scene.traces[2].head->posted,
			                  &(struct rh_comm_op){.what = RH_COMM_BARRIER}, 0);
	}
	assert_int_equal(scene.stall.rank, 2);
	assert_string_equal(
		rh_str_text(&scene.stall.text),
		"rank 2 did not come to number 1 of group 4d (2 ranks), barrier; rank 0 has waited 10.000 s there");
	/* that rank 2 works with rank 1 is not the end */
	post_number(&scene, 2, GROUP + 1, 30, (const int64_t[]){12, 13});
	look(&scene, 1, RH_STALL_SAME);
	post_number(&scene, 0, GROUP, 2, (const int64_t[]){13, 0});
	look(&scene, 1, RH_STALL_ENDED);
	scene_end(&scene);
}

/* Rank 2 was stopped in a collective to which all have come. */
static void test_stall__a_rank_that_is_stopped_where_others_wait(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	scene_stand(&scene, 14, 3);
	scene.traces[2].head->clocks[1] = scene.traces[2].head->clocks[0];
	scene.traces[2].head->clocks[1].ticks += 3 * BILLION;
	scene.traces[2].head->clocks[1].time += 3 * BILLION;
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 10, RH_STALL_BEGUN);
	assert_int_equal(scene.stall.rank, 2);
	assert_string_equal(rh_str_text(&scene.stall.text),
	                    "rank 0 has waited 12.000 s in barrier; rank 2 has given no sign of life for 11.000 s");
	scene_end(&scene);
}

/* In each step a barrier of all and one of the group {0, 1}, which rank 1 leaves out once: all wait for each other. */
static void test_stall__an_operation_that_was_left_out(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	add_group(&scene, GROUP, 0, 1);
	for (int32_t rank = 0; rank < RANKS; rank++) {
		for (int64_t step = 1; step <= 4; step++) {
			bool out = rank == 1 && step == 3;
			bool stands = rank == 0 ? step == 3 : step == 4;
			const int64_t done[] = {step, step + 1};
			const int64_t open[] = {step, 0};

			if (rank == 0 && step == 4)
				break;
			post_number(&scene, rank, 0, (uint64_t)step, stands && rank != 0 ? open : done);
			if (rank < 2 && !out && !(stands && rank != 0))
				post_number(&scene, rank, GROUP, (uint64_t)step, stands ? open : done);
		}
	}
	scene_pass(&scene, 30);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 10, RH_STALL_BEGUN);
	assert_int_equal(scene.stall.rank, 1);
	assert_string_equal(
		rh_str_text(&scene.stall.text),
		"rank 1 did not come to number 3 of group 4d (2 ranks), barrier; rank 0 has waited 27.000 s there; rank 1 "
		"itself waits in barrier, so that they wait for each other");
	scene_end(&scene);
}

/* Ctrl-Z of all, and later fg: what is known is old. */
static void test_stall__whoever_looks_was_stopped_too(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	scene_stand(&scene, 14, 2);
	look(&scene, 5, RH_STALL_SAME);
	scene.now += 1000 * RH_SECOND;
	look(&scene, 10, RH_STALL_SAME);
	look(&scene, 1, RH_STALL_BEGUN);
	scene_end(&scene);
}

static void test_stall__a_message(void **state)
{
	const struct rh_comm_op op = {.what = RH_COMM_RECV, .count = 4, .type = RH_COMM_F32, .peer = 1, .tag = 9};
	struct scene scene;
	uint64_t place;

	(void)state;
	scene_begin(&scene);
	place = rh_comm_trace_post(&scene.traces[0], &op, 0, 0, 1);
	rh_comm_trace_at(&scene.traces[0], place)->begun = scene.traces[0].head->clocks[0].ticks;
	scene_pass(&scene, 20);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 10, RH_STALL_BEGUN);
	assert_int_equal(scene.stall.rank, 1);
	assert_string_equal(rh_str_text(&scene.stall.text),
	                    "rank 0 has waited 20.000 s for receive of 4 f32 from rank 1, tag 9");
	scene_end(&scene);
}

/* A job that starts again, and files of others: these name nobody. */
static void test_stall__traces_of_two_attempts(void **state)
{
	struct rh_comm_trace_origin origin = {.job = "job 2", .rank = 1, .world = RANKS};
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	origin.folder = scene.folder;
	scene_stand(&scene, 30, 2);
	rh_comm_trace_close(&scene.traces[1]);
	assert_int_equal(rh_comm_trace_open(&origin, &scene.traces[1], NULL), 0);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 30, RH_STALL_SAME);
	scene_end(&scene);
}

static void test_stall__no_folder(void **state)
{
	char nowhere[] = "/nonexistent";
	struct scene scene = {.folder = nowhere, .now = RH_SECOND};

	(void)state;
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 100, RH_STALL_SAME);
	rh_stall_deinit(&scene.stall);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stall__who_did_not_come_is_named_once),
		cmocka_unit_test(test_stall__a_rank_that_has_left),
		cmocka_unit_test(test_stall__nobody_waits),
		cmocka_unit_test(test_stall__waits_that_end_well_are_learned),
		cmocka_unit_test(test_stall__a_stall_that_ends_well_is_learned),
		cmocka_unit_test(test_stall__who_waits_itself_is_not_to_blame),
		cmocka_unit_test(test_stall__one_group_stands_while_another_goes_on),
		cmocka_unit_test(test_stall__a_rank_that_is_stopped_where_others_wait),
		cmocka_unit_test(test_stall__an_operation_that_was_left_out),
		cmocka_unit_test(test_stall__whoever_looks_was_stopped_too),
		cmocka_unit_test(test_stall__a_message),
		cmocka_unit_test(test_stall__traces_of_two_attempts),
		cmocka_unit_test(test_stall__no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
