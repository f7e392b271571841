/* SPDX-License-Identifier: Apache-2.0 */
/* With a libnvidia-ml.so.1 of ours (gpus/fake_nvml.c), which $LD_LIBRARY_PATH names. */
#include "local/devices/gpus.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"
#include "base/str.h"
#include "local/scratch.h"

/* What the library says, in a folder of the test. */
static struct rh_gpus *open_with(const char *folder, const char *text)
{
	rh_auto_free char *path = rh_path_join(folder, "nvml");

	assert_int_equal(rh_file_write_atomic(path, text, strlen(text), 0600, NULL), 0);
	assert_int_equal(setenv("RH_FAKE_NVML", path, 1), 0);
	return rh_gpus_open();
}

static int setup(void **state)
{
	*state = test_scratch();
	return 0;
}

static int teardown(void **state)
{
	test_scratch_remove(*state);
	return 0;
}

static void test_gpus__no_driver(void **state)
{
	(void)state;
	assert_int_equal(setenv("RH_FAKE_NVML", "/no/such/file", 1), 0);
	assert_null(rh_gpus_open());
}

static void test_gpus__no_gpu(void **state)
{
	assert_null(open_with(*state, ""));
}

static void test_gpus__processes_of_all_gpus(void **state)
{
	rh_auto(gpus) gpus = open_with(*state, "0 11 1024 10\n0 11 1024 30\n0 12 - -\n1 11 2048 100\n2 0 0 0\n");
	static const struct rh_gpu_use expected[] = {{11, 1024, 0.3}, {12, -1, 0}, {11, 2048, 1}};
	rh_auto_free struct rh_gpu_use *uses = NULL;
	size_t count = 0;

	assert_non_null(gpus);
	assert_int_equal(rh_gpus_read(gpus, &uses, &count), 0);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(uses[i].pid, expected[i].pid);
		assert_int_equal(uses[i].memory, expected[i].memory);
		assert_float_equal(uses[i].share, expected[i].share, 1e-9);
	}
}

/* Parts of a GPU say what memory processes have, and not what share of the time. */
static void test_gpus__no_samples(void **state)
{
	rh_auto(gpus) gpus = open_with(*state, "mig\n0 11 1024 10\n");
	rh_auto_free struct rh_gpu_use *uses = NULL;
	size_t count = 0;

	assert_non_null(gpus);
	assert_int_equal(rh_gpus_read(gpus, &uses, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(uses[0].memory, 1024);
	assert_float_equal(uses[0].share, -1, 0);
}

static void test_gpus__many_processes(void **state)
{
	rh_auto_str text = {0};
	rh_auto_free struct rh_gpu_use *uses = NULL;
	struct rh_gpus *gpus;
	size_t count = 0;

	for (int i = 1; i <= 500; i++)
		rh_str_appendf(&text, "0 %d %d 1\n", i, i);
	gpus = open_with(*state, rh_str_text(&text));
	assert_non_null(gpus);
	assert_int_equal(rh_gpus_read(gpus, &uses, &count), 0);
	assert_int_equal(count, 500);
	assert_int_equal(uses[499].memory, 500);
	assert_float_equal(uses[499].share, 0.01, 1e-9);
	rh_gpus_free(gpus);
}

static void test_gpus__together(void **state)
{
	static const struct rh_gpu_use uses[] = {{11, 1024, 0.5}, {11, 1024, 1}, {12, -1, 0.25}, {12, 1024, -1}};
	struct rh_gpu_total total = {.count = 0};

	(void)state;
	rh_gpu_total_add(&total, &uses[0]);
	rh_gpu_total_add(&total, &uses[1]);
	assert_int_equal(total.memory, 2048);
	assert_float_equal(total.share, 1.5, 1e-9);
	rh_gpu_total_add(&total, &uses[2]);
	assert_int_equal(total.memory, -1);
	assert_float_equal(total.share, 1.75, 1e-9);
	rh_gpu_total_add(&total, &uses[3]);
	assert_int_equal(total.count, 4);
	assert_int_equal(total.memory, -1);
	assert_float_equal(total.share, -1, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_gpus__no_driver),  CASE(test_gpus__no_gpu),         CASE(test_gpus__processes_of_all_gpus),
		CASE(test_gpus__no_samples), CASE(test_gpus__many_processes), CASE(test_gpus__together),
	};

	return cmocka_run_group_tests_name("local/gpus", tests, NULL, NULL);
}
