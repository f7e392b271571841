/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as ranks write them, in files, read and compared: who did not come, and who posted something else. */
#include "comm/bench/trace/find.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/bench/trace/print.h"
#include "comm/core/trace/ring.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define RANKS 3
#define PATH_ROOM 200
#define GROUP 77

/* A world of ranks that write. */
struct scene {
	char folder[40];
	struct rh_comm_trace traces[RANKS];
	uint64_t numbers[RANKS]; /* collectives of the world so far */
	struct rh_trace_rank ranks[RANKS];
	struct rh_trace_findings findings;
};

static void scene_begin(struct scene *scene)
{
	*scene = (struct scene){.folder = "/tmp/rh-comm-trace-XXXXXX"};
	assert_non_null(mkdtemp(scene->folder));
	for (int32_t rank = 0; rank < RANKS; rank++) {
		struct rh_comm_trace_origin origin = {scene->folder, "job 1", rank, RANKS};

		assert_int_equal(rh_comm_trace_open(&origin, &scene->traces[rank], NULL), 0);
	}
}

static char *scene_path(const struct scene *scene, int32_t rank, char *path)
{
	(void)snprintf(path, PATH_ROOM, "%s/" RH_COMM_TRACE_NAME, scene->folder, (int)rank);
	return path;
}

static void scene_read(struct scene *scene)
{
	char path[PATH_ROOM];
	char why[500] = "";

	for (int32_t rank = 0; rank < RANKS; rank++) {
		if (rh_trace_read(scene_path(scene, rank, path), &scene->ranks[rank], why, sizeof(why)) != 0)
			fail_msg("%s", why);
	}
	assert_int_equal(rh_trace_find(scene->ranks, RANKS, &scene->findings), 0);
}

static void scene_end(struct scene *scene)
{
	char path[PATH_ROOM];

	rh_trace_findings_deinit(&scene->findings);
	for (int32_t rank = 0; rank < RANKS; rank++) {
		rh_trace_rank_deinit(&scene->ranks[rank]);
		rh_comm_trace_close(&scene->traces[rank]);
		(void)unlink(scene_path(scene, rank, path));
	}
	assert_int_equal(rmdir(scene->folder), 0);
}

static struct rh_comm_op all_reduce(size_t count)
{
	return (struct rh_comm_op){.what = RH_COMM_ALL_REDUCE, .count = count, .type = RH_COMM_F32, .reduce = RH_COMM_SUM};
}

/* @param end whether it is done */
static void post(struct scene *scene, int32_t rank, const struct rh_comm_op *op, bool end)
{
	struct rh_comm_trace *trace = &scene->traces[rank];
	uint64_t number = ++scene->numbers[rank];
	uint64_t place = rh_comm_trace_post(trace, op, 0, 0, RH_COMM_NO_RANK);

	rh_comm_trace_start(trace, place, op, number);
	if (end)
		rh_comm_trace_end(trace, place, op, 0);
}

static void post_all(struct scene *scene, size_t times)
{
	for (size_t i = 0; i < times; i++) {
		struct rh_comm_op op = all_reduce(i + 1);

		for (int32_t rank = 0; rank < RANKS; rank++)
			post(scene, rank, &op, true);
	}
}

static void expect_text(const struct scene *scene, size_t i, const char *wanted)
{
	char text[700];

	assert_true(i < scene->findings.count);
	(void)rh_trace_finding_text(&scene->findings.items[i], text, sizeof(text));
	if (!strstr(text, wanted))
		fail_msg("\"%s\" does not have \"%s\"", text, wanted);
}

static void test_find__nothing_where_all_came(void **state)
{
	static const size_t times[] = {0, 1, 5, RH_COMM_TRACE_ENTRIES, RH_COMM_TRACE_ENTRIES + 7};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct scene scene;

		scene_begin(&scene);
		post_all(&scene, times[i]);
		scene_read(&scene);
		assert_int_equal(scene.findings.count, 0);
		assert_int_equal(scene.ranks[1].posted, times[i]);
		assert_int_equal(scene.ranks[1].count, times[i] < RH_COMM_TRACE_ENTRIES ? times[i] : RH_COMM_TRACE_ENTRIES);
		scene_end(&scene);
	}
}

static void test_find__who_did_not_come(void **state)
{
	struct rh_comm_op op = all_reduce(1000);
	struct scene scene;

	(void)state;
	for (size_t before = 0; before < 3000; before = before * 3 + 1) {
		char wanted[100];

		scene_begin(&scene);
		post_all(&scene, before);
		post(&scene, 0, &op, false);
		post(&scene, 2, &op, false);
		scene_read(&scene);
		assert_int_equal(scene.findings.count, 1);
		(void)snprintf(wanted, sizeof(wanted), "rank 1 did not come to number %zu, all-reduce of 1000 f32, sum; rank ",
		               before + 1);
		expect_text(&scene, 0, wanted);
		assert_int_equal(scene.findings.items[0].kind, RH_TRACE_MISSING);
		scene_end(&scene);
	}
}

static void test_find__who_posted_something_else(void **state)
{
	struct rh_comm_op rows[] = {all_reduce(5), all_reduce(4), all_reduce(4), {.what = RH_COMM_BARRIER}};
	static const char *const wanted[] = {"posted all-reduce of 5 f32, sum as number 4, rank 0 all-reduce of 4 f32, sum",
	                                     "posted all-reduce of 4 f64, sum as", "posted all-reduce of 4 f32, max as",
	                                     "posted barrier as number 4"};

	(void)state;
	rows[1].type = RH_COMM_F64;
	rows[2].reduce = RH_COMM_MAX;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_op op = all_reduce(4);
		struct scene scene;

		scene_begin(&scene);
		post_all(&scene, 3);
		for (int32_t rank = 0; rank < RANKS; rank++)
			post(&scene, rank, rank == 1 ? &rows[i] : &op, false);
		scene_read(&scene);
		assert_int_equal(scene.findings.count, 1);
		assert_int_equal(scene.findings.items[0].count, 1);
		assert_int_equal(scene.findings.items[0].ranks[0], 1);
		expect_text(&scene, 0, wanted[i]);
		scene_end(&scene);
	}
}

/* Rank 2 is in the group, rank 0 is not; and what is posted elsewhere does not count there. */
static void test_find__who_did_not_come_in_a_group(void **state)
{
	static const int32_t members[] = {2, 1};
	struct rh_comm_op op = all_reduce(8);
	struct scene scene;
	uint64_t place;

	(void)state;
	scene_begin(&scene);
	post_all(&scene, 2);
	rh_comm_trace_add_group(&scene.traces[1], 5, members, 2);
	rh_comm_trace_add_group(&scene.traces[1], GROUP, members, 2);
	rh_comm_trace_add_group(&scene.traces[2], GROUP, members, 2);
	place = rh_comm_trace_post(&scene.traces[1], &op, GROUP, 1, RH_COMM_NO_RANK);
	rh_comm_trace_start(&scene.traces[1], place, &op, 1);
	scene_read(&scene);
	assert_int_equal(scene.findings.count, 1);
	expect_text(&scene, 0,
	            "rank 2 did not come to number 1 of group 4d (2 ranks), all-reduce of 8 f32, sum; rank 1 has");
	scene_end(&scene);
}

static void test_find__a_message_that_is_open(void **state)
{
	struct rh_comm_op op = {.what = RH_COMM_RECV, .count = 8, .type = RH_COMM_U8, .peer = 2, .tag = 9};
	struct scene scene;
	uint64_t place;

	(void)state;
	scene_begin(&scene);
	place = rh_comm_trace_post(&scene.traces[1], &op, 0, 0, 2);
	rh_comm_trace_start(&scene.traces[1], place, &op, 0);
	place = rh_comm_trace_post(&scene.traces[0], &op, 0, 0, 2);
	rh_comm_trace_end(&scene.traces[0], place, &op, 0);
	scene_read(&scene);
	assert_int_equal(scene.findings.count, 1);
	expect_text(&scene, 0, "s for receive of 8 u8 from rank 2, tag 9");
	assert_int_equal(scene.findings.items[0].ranks[0], 1);
	scene_end(&scene);
}

static void test_find__times_are_those_of_the_day(void **state)
{
	struct rh_comm_op op = all_reduce(1);
	struct timespec now;
	struct scene scene;
	int64_t difference;

	(void)state;
	scene_begin(&scene);
	/* so long the pace of the processor's clock is measured */
	(void)usleep(20000);
	rh_comm_trace_note_time(&scene.traces[0]);
	post(&scene, 0, &op, true);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	scene_read(&scene);
	difference = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - scene.ranks[0].ops[0].ended;
	assert_true(difference > -1000000);
	/* only a machine that stands still takes so long */
	assert_true(difference < INT64_C(60000000000));
	assert_true(scene.ranks[0].ops[0].ended >= scene.ranks[0].ops[0].begun);
	scene_end(&scene);
}

static void test_find__a_file_is_of_its_user_alone_and_replaced(void **state)
{
	struct rh_comm_trace_origin origin = {NULL, "", 0, RANKS};
	struct rh_comm_trace again;
	struct scene scene;
	struct stat before, after;
	char path[PATH_ROOM];

	(void)state;
	scene_begin(&scene);
	origin.folder = scene.folder;
	assert_int_equal(stat(scene_path(&scene, 0, path), &before), 0);
	assert_int_equal(before.st_mode & 07777, 0600);
	assert_int_equal(rh_comm_trace_open(&origin, &again, NULL), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	rh_comm_trace_close(&again);
	scene_end(&scene);
}

static void test_find__a_folder_that_cannot_be_written(void **state)
{
	struct rh_comm_trace_origin origin = {"/nonexistent/folder", "", 0, 1};
	struct rh_comm_trace trace = {.length = 0};
	struct rh_comm_error err;

	(void)state;
	assert_int_equal(rh_comm_trace_open(&origin, &trace, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "RH_COMM_TRACE: create \"/nonexistent/folder/rank-0.rhtrace\""));
	assert_null(trace.head);
}

/* Overwrite a byte of rank 0's file, or cut it, and read it: it is refused or read, and nothing else happens. */
static void test_find__a_damaged_file(void **state)
{
	struct scene scene;
	char path[PATH_ROOM];
	char why[500];

	(void)state;
	scene_begin(&scene);
	post_all(&scene, 3);
	scene_path(&scene, 0, path);
	for (off_t at = 0; at < (off_t)sizeof(struct rh_comm_trace_head); at++) {
		struct rh_trace_rank rank;
		int fd = open(path, O_RDWR | O_CLOEXEC);
		uint8_t old, bad;

		assert_int_equal(pread(fd, &old, 1, at), 1);
		bad = (uint8_t)~old;
		assert_int_equal(pwrite(fd, &bad, 1, at), 1);
		if (rh_trace_read(path, &rank, why, sizeof(why)) == 0)
			rh_trace_rank_deinit(&rank);
		else
			assert_non_null(strstr(why, "a trace"));
		assert_int_equal(pwrite(fd, &old, 1, at), 1);
		(void)close(fd);
	}
	scene_read(&scene);
	for (off_t length = 0; length < 700; length += 50) {
		assert_int_equal(truncate(path, length), 0);
		assert_true(rh_trace_read(path, &scene.ranks[0], why, sizeof(why)) < 0);
	}
	/* the mapping of a file that was cut must not be touched any more */
	scene.traces[0].head = NULL;
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find__nothing_where_all_came),
		cmocka_unit_test(test_find__who_did_not_come),
		cmocka_unit_test(test_find__who_posted_something_else),
		cmocka_unit_test(test_find__who_did_not_come_in_a_group),
		cmocka_unit_test(test_find__a_message_that_is_open),
		cmocka_unit_test(test_find__times_are_those_of_the_day),
		cmocka_unit_test(test_find__a_file_is_of_its_user_alone_and_replaced),
		cmocka_unit_test(test_find__a_folder_that_cannot_be_written),
		cmocka_unit_test(test_find__a_damaged_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
