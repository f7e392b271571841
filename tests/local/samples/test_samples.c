/* SPDX-License-Identifier: Apache-2.0 */
#include "local/samples/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/scratch.h"

#define KIB 1024
#define POINTS 1000

struct fixture {
	char *folder;
	char *path;
};

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));

	fixture->folder = test_scratch();
	fixture->path = rh_path_join(fixture->folder, "samples.jsonl");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	rh_free(fixture->path);
	test_scratch_remove(fixture->folder);
	rh_free(fixture);
	return 0;
}

/* What `count` replicas use; `cpu` is that of the first one, and each next one has one processor more. */
static void look(struct rh_samples *samples, size_t count, double cpu, int64_t memory, int64_t time, int64_t now)
{
	rh_auto_free struct rh_run_use *uses = rh_alloc_array(count + 1, sizeof(*uses));
	const struct rh_run_load load = {.time = time, .uses = uses, .use_count = count};
	char names[8][32];

	assert_true(count <= 8);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "worker-%zu", i);
		uses[i] = (struct rh_run_use){.job = "j",
		                              .replica = names[i],
		                              .processes = 1,
		                              .cpu = cpu + (double)i,
		                              .read = 10,
		                              .written = 20,
		                              .memory = memory};
	}
	assert_int_equal(rh_samples_add(samples, &load, now), 0);
}

static void test_samples__are_read_as_they_were_written(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_samples_all all = {0};
	struct rh_samples *samples = rh_samples_new(fixture->path, 0);
	const struct rh_samples_series *series;

	look(samples, 1, 0.5, 4 * KIB, RH_SECOND, RH_SECOND);
	look(samples, 2, 0.25, 8 * KIB, RH_SECOND, 2 * RH_SECOND);
	rh_samples_free(samples);
	assert_int_equal(rh_samples_read(fixture->path, POINTS, &all), 0);
	assert_int_equal(all.count, 2);
	assert_null(rh_samples_find(&all, "k", "worker-0"));
	series = rh_samples_find(&all, "j", "worker-0");
	assert_int_equal(series->count, 2);
	assert_int_equal(series->points[0].from, 0);
	assert_int_equal(series->points[0].to, 1000);
	assert_float_equal(series->points[0].cpu, 0.5, 1e-9);
	assert_float_equal(series->points[1].cpu, 0.25, 1e-9);
	assert_float_equal(series->points[1].memory, 8 * KIB, 1e-9);
	assert_float_equal(series->points[1].read, 10, 1e-9);
	assert_float_equal(series->points[1].written, 20, 1e-9);
	assert_float_equal(series->cpu_most, 0.5, 1e-9);
	assert_float_equal(series->memory_most, 8 * KIB, 1e-9);
	assert_int_equal(all.series[1].count, 1);
	assert_float_equal(all.series[1].points[0].cpu, 1.25, 1e-9);
}

/* A status line looks each second, also when the file has a line less often: nothing of it is lost. */
static void test_samples__looks_between_two_lines_count(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_samples_all all = {0};
	struct rh_samples *samples = rh_samples_new(fixture->path, 0);

	look(samples, 1, 4, 40 * KIB, RH_SECOND / 4, RH_SECOND / 4);
	look(samples, 1, 0, 4 * KIB, 3 * RH_SECOND / 4, RH_SECOND);
	rh_samples_free(samples);
	assert_int_equal(rh_samples_read(fixture->path, POINTS, &all), 0);
	assert_int_equal(all.series[0].count, 1);
	assert_float_equal(all.series[0].points[0].cpu, 1, 1e-9);
	assert_float_equal(all.series[0].points[0].memory, 40 * KIB, 1e-9);
}

static void test_samples__a_missing_file_has_none(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_samples_all all = {0};
	struct rh_samples *samples = rh_samples_new(fixture->path, 0);

	rh_samples_free(samples); /* nothing ran */
	assert_int_equal(access(fixture->path, F_OK), -1);
	assert_int_equal(rh_samples_read(fixture->path, POINTS, &all), 0);
	assert_int_equal(all.count, 0);
}

/* What was written last may be a part of a line; no byte makes the reader fail, or lose what stands before it. */
static void test_samples__cut_at_any_byte(void **state)
{
	const struct fixture *fixture = *state;
	struct rh_samples *samples = rh_samples_new(fixture->path, 0);
	rh_auto_free char *text = NULL;
	size_t length;
	size_t before = 0;

	for (int i = 1; i <= 4; i++)
		look(samples, (size_t)i, 1, KIB, RH_SECOND, i * RH_SECOND);
	rh_samples_free(samples);
	assert_int_equal(rh_file_read(fixture->path, 1 << 20, &text, &length, NULL), 0);
	for (size_t cut = 0; cut <= length; cut++) {
		rh_auto_samples_all all = {0};
		size_t points = 0;

		assert_int_equal(truncate(fixture->path, 0), 0);
		test_scratch_append(fixture->folder, "samples.jsonl", text, cut);
		assert_int_equal(rh_samples_read(fixture->path, POINTS, &all), 0);
		for (size_t i = 0; i < all.count; i++)
			points += all.series[i].count;
		assert_true(points >= before);
		before = points;
	}
	assert_int_equal(before, 1 + 2 + 3 + 4);
}

static void test_samples__damaged_lines_are_left_out(void **state)
{
	static const char damaged[] =
		"{\"replica\":7,\"job\":\"j\",\"name\":\"later\"}\n"
		"{\"replica\":0}\n[]\nnothing\n\n"
		"{\"replica\":0,\"job\":\"j\",\"name\":\"one\"}\n"
		"{\"t\":2000,\"d\":1000,\"u\":[[0,1,500,4,0,0],[9,1,500,4,0,0],[0,1,-5,4,0,0],[0],{}]}\n"
		"{\"t\":1000,\"d\":1000,\"u\":[[0,1,500,4,0,0]]}\n"
		"{\"t\":9000,\"d\":10000,\"u\":[[0,1,500,4,0,0]]}\n"
		"{\"t\":\"x\",\"u\":[[0,1,500,4,0,0]]}\n";
	const struct fixture *fixture = *state;
	rh_auto_samples_all all = {0};

	test_scratch_append(fixture->folder, "samples.jsonl", damaged, strlen(damaged));
	assert_int_equal(rh_samples_read(fixture->path, POINTS, &all), 0);
	assert_int_equal(all.count, 1);
	assert_string_equal(all.series[0].name, "one");
	assert_int_equal(all.series[0].count, 1);
}

/* Two months of a run: the file stays small, and so does what is read of it. */
static void test_samples__are_bounded(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_samples_all all = {0};
	struct rh_samples *samples = rh_samples_new(fixture->path, 0);
	const int64_t end = 60 * 24 * 3600 * RH_SECOND;
	const struct rh_samples_series *series;
	struct stat st;
	int64_t now = 0;

	while (now < end) {
		int64_t step = rh_samples_step(samples);

		now += step;
		look(samples, 8, now < end / 2 ? 1 : 3, KIB, step, now);
	}
	rh_samples_free(samples);
	assert_int_equal(stat(fixture->path, &st), 0);
	assert_true(st.st_size < 16 * RH_SAMPLES_ROOM);
	assert_int_equal(rh_samples_read(fixture->path, 800, &all), 0);
	assert_int_equal(all.count, 8);
	series = &all.series[0];
	assert_true(series->count <= 100);
	assert_true(series->count >= 25);
	assert_int_equal(series->points[0].from, 0);
	assert_float_equal(series->points[0].cpu, 1, 1e-6);
	assert_float_equal(series->points[series->count - 1].cpu, 3, 1e-6);
	assert_int_equal(series->points[series->count - 1].to, now / 1000);
}

static void test_samples__without_memory(void **state)
{
	const struct fixture *fixture = *state;
	const struct rh_run_use use = {.job = "j", .replica = "worker-0", .processes = 1};
	const struct rh_run_load load = {.time = RH_SECOND, .uses = &use, .use_count = 1};
	int r = RH_ENOMEM;

	for (long count = 0; count < 100 && r < 0; count++) {
		struct rh_samples *samples;

		(void)rh_mem_fail_after(count);
		samples = rh_samples_new(fixture->path, 0);
		r = samples ? rh_samples_add(samples, &load, RH_SECOND) : RH_ENOMEM;
		(void)rh_mem_fail_after(-1);
		rh_samples_free(samples);
	}
	assert_int_equal(r, 0);
	r = RH_ENOMEM;
	for (long count = 0; count < 100 && r < 0; count++) {
		rh_auto_samples_all all = {0};

		(void)rh_mem_fail_after(count);
		r = rh_samples_read(fixture->path, POINTS, &all);
		(void)rh_mem_fail_after(-1);
		assert_true(r == 0 || r == RH_ENOMEM);
	}
	assert_int_equal(r, 0);
}

static void test_samples__a_file_that_cannot_be_written(void **state)
{
	const struct rh_run_use use = {.job = "j", .replica = "worker-0", .processes = 1};
	const struct rh_run_load load = {.time = RH_SECOND, .uses = &use, .use_count = 1};
	struct rh_samples *samples = rh_samples_new("/dev/full", 0);

	(void)state;
	assert_int_equal(rh_samples_add(samples, &load, RH_SECOND), RH_EIO);
	rh_samples_free(samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_samples__are_read_as_they_were_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples__looks_between_two_lines_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples__a_missing_file_has_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples__cut_at_any_byte, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples__damaged_lines_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples__are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples__without_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples__a_file_that_cannot_be_written, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("local/samples/samples", tests, NULL, NULL);
}
