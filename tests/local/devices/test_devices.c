/* SPDX-License-Identifier: Apache-2.0 */
#include "local/devices/devices.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/scratch.h"

static int set_up(void **state)
{
	*state = test_scratch();
	return 0;
}

static int tear_down(void **state)
{
	test_scratch_remove(*state);
	return 0;
}

static void put(const char *root, const char *path)
{
	rh_auto_free char *whole = rh_asprintf("%s%s", root, path);

	assert_int_equal(rh_dir_make(whole, 0755, NULL), 0);
}

/* The ids, separated by spaces. @return owned by the caller */
static char *ids(const struct rh_devices *devices)
{
	rh_auto_str text = {0};

	for (size_t i = 0; i < devices->count; i++)
		rh_str_appendf(&text, "%s%s", i > 0 ? " " : "", devices->items[i].id);
	return rh_str_take(&text);
}

static void test_devices__are_found(void **state)
{
	const char *root = *state;
	struct rh_devices devices;
	rh_auto_free char *text = NULL;

	rh_devices_find(root, NULL, &devices);
	assert_int_equal(devices.count, 0);
	put(root, "/proc/driver/nvidia/gpus/0000:01:00.0");
	put(root, "/proc/driver/nvidia/gpus/0000:02:00.0");
	put(root, "/proc/driver/nvidia/gpus/0000:03:00.0");
	rh_devices_find(root, NULL, &devices);
	assert_int_equal(devices.count, 3);
	/* a container has nodes of its own devices only, whatever their numbers are on the machine */
	put(root, "/dev/nvidia4");
	put(root, "/dev/nvidia11");
	put(root, "/dev/nvidiactl");
	put(root, "/dev/nvidia-uvm");
	put(root, "/dev/nvidia1x");
	rh_devices_find(root, NULL, &devices);
	text = ids(&devices);
	assert_string_equal(text, "0 1");
	assert_int_equal(devices.items[1].number, 1);
}

static void test_devices__visible_ones_are_the_answer(void **state)
{
	static const struct {
		const char *visible;
		const char *ids;
	} rows[] = {
		{"", ""},
		{"-1", ""},
		{"NoDevFiles", "NoDevFiles"},
		{"0", "0"},
		{"2,0,5", "2 0 5"},
		{"2, 3 ,4", "2 3 4"},
		{"2,-1,3", "2"},
		{"GPU-8932f937,1", "GPU-8932f937 1"},
		{"1,,2", "1"},
		{",1", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_devices devices;
		rh_auto_free char *text = NULL;

		put(*state, "/dev/nvidia0");
		rh_devices_find(*state, rows[i].visible, &devices);
		text = ids(&devices);
		if (strcmp(text, rows[i].ids) != 0)
			fail_msg("\"%s\": \"%s\"", rows[i].visible, text);
	}
}

/* Every process that sees a device must know it by the same number. */
static void test_devices__numbers_are_the_same_everywhere(void **state)
{
	struct rh_devices one;
	struct rh_devices other;

	(void)state;
	rh_devices_find("", "7,GPU-aaaa,GPU-bbbb", &one);
	rh_devices_find("", "GPU-bbbb,7", &other);
	assert_int_equal(one.items[0].number, 7);
	assert_int_equal(other.items[1].number, 7);
	assert_int_equal(one.items[2].number, other.items[0].number);
	assert_int_not_equal(one.items[1].number, one.items[2].number);
	for (size_t i = 0; i < one.count; i++)
		assert_in_range(one.items[i].number, 0, 65535);
}

static void test_devices__more_than_the_most(void **state)
{
	rh_auto_str list = {0};
	struct rh_devices devices;

	(void)state;
	for (int i = 0; i < 2 * RH_DEVICES_MAX; i++)
		rh_str_appendf(&list, "%s%d", i > 0 ? "," : "", i);
	rh_devices_find("", rh_str_text(&list), &devices);
	assert_int_equal(devices.count, RH_DEVICES_MAX);
}

static void test_devices__are_picked_once(void **state)
{
	struct rh_devices devices;
	bool used[4] = {false, true, false, false};
	const char *picked[4] = {NULL};
	struct rh_error err = {0};

	(void)state;
	rh_devices_find("", "10,11,12,13", &devices);
	assert_int_equal(rh_devices_pick(&devices, used, 2, picked, &err), 0);
	assert_string_equal(picked[0], "10");
	assert_string_equal(picked[1], "12");
	assert_true(used[0] && used[1] && used[2] && !used[3]);
	assert_int_equal(rh_devices_pick(&devices, used, 0, picked, &err), 0);
	assert_int_equal(rh_devices_pick(&devices, used, 2, picked, &err), RH_EAGAIN);
	assert_non_null(strstr(err.message, "wants 2 GPUs"));
	assert_non_null(strstr(err.message, "3 of 4 are in use"));
	assert_false(used[3]);
	assert_int_equal(rh_devices_pick(&devices, used, 5, picked, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "wants 5 GPUs"));
	assert_non_null(strstr(err.message, "has 4"));
	assert_int_equal(rh_devices_pick(&devices, used, 1, picked, &err), 0);
	assert_string_equal(picked[0], "13");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_devices__are_found),
		CASE(test_devices__visible_ones_are_the_answer),
		cmocka_unit_test(test_devices__numbers_are_the_same_everywhere),
		cmocka_unit_test(test_devices__more_than_the_most),
		cmocka_unit_test(test_devices__are_picked_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
