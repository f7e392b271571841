/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/counters.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/support.h"
#include "comm/core/trace/format.h"
#include "local/scratch.h"

#define NOW (INT64_C(1700000000) * 1000000)

static char *folder;

static int set_up(void **state)
{
	(void)state;
	folder = test_scratch();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_scratch_remove(folder);
	return 0;
}

static void write_bytes(const char *name, const void *bytes, size_t length)
{
	rh_auto_free char *path = rh_path_join(folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

/* A trace of a rank that gave its last sign of life so long ago. */
static struct rh_comm_trace_head trace(uint64_t posted, int64_t ago)
{
	struct rh_comm_trace_head head = {.head_bytes = sizeof(head), .clock = 2, .posted = posted};

	memcpy(head.magic, RH_COMM_TRACE_MAGIC, sizeof(head.magic));
	head.clocks[2].time = (NOW - ago) * 1000;
	return head;
}

static void add(const char *name, uint64_t posted, int64_t ago)
{
	const struct rh_comm_trace_head head = trace(posted, ago);

	write_bytes(name, &head, sizeof(head));
}

static void expect(size_t ranks, uint64_t operations)
{
	struct rh_counters counters;

	rh_counters_read(folder, NOW, &counters);
	assert_int_equal(counters.ranks, ranks);
	assert_int_equal(counters.operations, operations);
}

static void test_counters__the_one_that_is_behind(void **state)
{
	(void)state;
	expect(0, 0);
	add("rank-0.rhtrace", 41, 0);
	add("rank-1.rhtrace", 40, 1000000);
	expect(2, 40);
	add("rank-2.rhtrace", 3, RH_COUNTERS_FRESH + 1); /* it was killed */
	expect(2, 40);
}

static void test_counters__ranks_that_have_left(void **state)
{
	struct rh_comm_trace_head left = trace(7, 0);

	(void)state;
	atomic_store(&left.left, 1);
	write_bytes("rank-0.rhtrace", &left, sizeof(left));
	expect(1, 7); /* all have */
	add("rank-1.rhtrace", 9, 0);
	expect(1, 9);
}

/* Rank 0 has found it; its process is in its own trace. */
static void test_counters__the_rank_that_comes_last(void **state)
{
	struct rh_comm_trace_head host = trace(7, 0);
	struct rh_comm_trace_head late = trace(7, 0);
	struct rh_counter_late found;

	(void)state;
	late.rank = 1;
	late.process = 4711;
	write_bytes("rank-0.rhtrace", &host, sizeof(host));
	write_bytes("rank-1.rhtrace", &late, sizeof(late));
	assert_false(rh_counters_find_late(folder, NOW, &found)); /* nothing is known yet */
	atomic_store(&host.pace_rounds, 51);
	atomic_store(&host.pace_late, -1);
	write_bytes("rank-0.rhtrace", &host, sizeof(host));
	assert_false(rh_counters_find_late(folder, NOW, &found)); /* nobody comes last */
	atomic_store(&host.pace_late, 1);
	atomic_store(&host.pace_share, 250000);
	write_bytes("rank-0.rhtrace", &host, sizeof(host));
	assert_true(rh_counters_find_late(folder, NOW, &found));
	assert_int_equal(found.rank, 1);
	assert_int_equal(found.process, 4711);
	assert_true(found.share == 0.25);
	assert_false(rh_counters_find_late(folder, NOW + RH_COUNTERS_FRESH + 1, &found)); /* rank 0 was killed */
	atomic_store(&host.pace_late, 2);
	write_bytes("rank-0.rhtrace", &host, sizeof(host));
	assert_false(rh_counters_find_late(folder, NOW, &found)); /* it has no trace */
}

/* The folder belongs to programs that may write anything into it. */
static void test_counters__what_is_no_trace(void **state)
{
	struct rh_comm_trace_head head = trace(5, 0);
	rh_auto_free char *fifo = rh_path_join(folder, "fifo.rhtrace");
	rh_auto_free char *link = rh_path_join(folder, "link.rhtrace");
	struct rh_counters counters = {.ranks = 1};

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("/dev/zero", link), 0);
	write_bytes("cut.rhtrace", &head, sizeof(head) - 1);
	write_bytes("notes.txt", &head, sizeof(head));
	head.clock = UINT32_MAX;
	write_bytes("clock.rhtrace", &head, sizeof(head));
	expect(1, 5); /* that one, for lack of one whose time is known */
	head.magic[0] = 'x';
	write_bytes("clock.rhtrace", &head, sizeof(head));
	expect(0, 0);
	rh_counters_read("/nonexistent/folder", NOW, &counters);
	assert_int_equal(counters.ranks, 0);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_counters__the_one_that_is_behind),
		ROW(test_counters__ranks_that_have_left),
		ROW(test_counters__the_rank_that_comes_last),
		ROW(test_counters__what_is_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
