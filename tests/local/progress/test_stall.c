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

#define RANKS 3
#define GROUP 77
#define BILLION INT64_C(1000000000)

/* A world that stands still for so many seconds. */
struct scene {
	char folder[40];
	struct rh_comm_trace traces[RANKS];
	uint64_t numbers[RANKS];
	int64_t now; /* monotonic microseconds */
	struct rh_stall stall;
};

static void scene_begin(struct scene *scene)
{
	*scene = (struct scene){.folder = "/tmp/rh-stall-XXXXXX", .now = RH_SECOND};
	assert_non_null(mkdtemp(scene->folder));
	for (int32_t rank = 0; rank < RANKS; rank++) {
		struct rh_comm_trace_origin origin = {scene->folder, "job 1", rank, RANKS};

		assert_int_equal(rh_comm_trace_open(&origin, &scene->traces[rank], NULL), 0);
	}
}

static void scene_end(struct scene *scene)
{
	rh_stall_deinit(&scene->stall);
	for (int32_t rank = 0; rank < RANKS; rank++)
		rh_comm_trace_close(&scene->traces[rank]);
	assert_int_equal(rh_dir_remove(scene->folder, NULL), 0);
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

/* A collective of a group, posted `from` seconds after the begin; `to` 0: not done. */
static void post(struct scene *scene, int32_t rank, uint64_t group, int64_t from, int64_t to)
{
	struct rh_comm_op op = {.what = RH_COMM_BARRIER};
	struct rh_comm_trace *trace = &scene->traces[rank];
	uint64_t number = ++scene->numbers[rank];
	uint64_t place = rh_comm_trace_post(trace, &op, group, number, RH_COMM_NO_RANK);
	struct rh_comm_trace_entry *entry = rh_comm_trace_at(trace, place);

	rh_comm_trace_start(trace, place, &op, number);
	entry->begun = trace->head->clocks[0].ticks + from * BILLION;
	if (to > 0) {
		rh_comm_trace_end(trace, place, &op, 0);
		entry->ended = trace->head->clocks[0].ticks + to * BILLION;
	}
}

static void look(struct scene *scene, int64_t seconds, enum rh_stall_change expected)
{
	scene->now += seconds * RH_SECOND;
	assert_int_equal(rh_stall_look(&scene->stall, scene->folder, scene->now, rh_clock_wall()), expected);
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
	look(&scene, 2, RH_STALL_BEGUN);
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
	look(&scene, 11, RH_STALL_BEGUN);
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
	look(&scene, 29, RH_STALL_SAME);
	scene_pass(&scene, 41);
	look(&scene, 12, RH_STALL_BEGUN);
	scene_end(&scene);
}

/* Rank 1 waits for rank 2 in a group, and rank 0 for rank 1. */
static void test_stall__who_waits_itself_is_not_to_blame(void **state)
{
	static const int32_t members[] = {1, 2};
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	scene_stand(&scene, 30, 1);
	for (int32_t rank = 1; rank < RANKS; rank++)
		rh_comm_trace_add_group(&scene.traces[rank], GROUP, members, 2);
	scene.numbers[1] = 0;
	post(&scene, 1, GROUP, 2, 0);
	look(&scene, 0, RH_STALL_SAME);
	look(&scene, 11, RH_STALL_BEGUN);
	assert_int_equal(scene.stall.rank, 2);
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
	look(&scene, 11, RH_STALL_BEGUN);
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
	struct scene scene = {.folder = "/nonexistent", .now = RH_SECOND};

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
		cmocka_unit_test(test_stall__who_waits_itself_is_not_to_blame),
		cmocka_unit_test(test_stall__a_message),
		cmocka_unit_test(test_stall__traces_of_two_attempts),
		cmocka_unit_test(test_stall__no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
