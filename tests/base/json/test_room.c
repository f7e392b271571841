/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/room.h"

#include "base/support.h"

#define VALUE 64

static void test_room__gives_what_was_counted(void **state)
{
	struct rh_json_need need = {.values = 3};
	struct rh_json_room room;
	void *root, *values[2], *texts[3];

	(void)state;
	for (size_t size = 1; size <= 3; size++)
		rh_json_need_text(&need, size, VALUE);
	(void)rh_mem_fail_after(1);
	assert_int_equal(rh_json_room_open(&room, &need, VALUE), 0);
	root = rh_json_room_take(VALUE);
	for (size_t i = 0; i < 3; i++) {
		texts[i] = rh_json_room_take(i + 1);
		assert_non_null(texts[i]);
		memset(texts[i], 'x', i + 1);
	}
	for (size_t i = 0; i < 2; i++) {
		values[i] = rh_json_room_take(VALUE);
		assert_non_null(values[i]);
		assert_true(rh_json_room_holds(values[i]));
		memset(values[i], 'x', VALUE);
	}
	rh_json_room_close(&room);
	(void)rh_mem_fail_after(-1);
	assert_false(rh_json_room_holds(root));
	for (size_t i = 0; i < 2; i++)
		rh_json_room_release(values[i]);
	for (size_t i = 0; i < 3; i++)
		rh_json_room_release(texts[i]);
	rh_json_room_release(root);
}

/* A text as large as a value, more texts and more values than were counted: they have memory of their own. */
static void test_room__that_is_too_small(void **state)
{
	struct rh_json_need need = {.values = 1, .texts = 1};
	struct rh_json_room room;
	void *root, *more[3];

	(void)state;
	assert_int_equal(rh_json_room_open(&room, &need, VALUE), 0);
	root = rh_json_room_take(VALUE);
	more[0] = rh_json_room_take(VALUE);
	more[1] = rh_json_room_take(2);
	more[2] = rh_json_room_take(1000);
	rh_json_room_close(&room);
	for (size_t i = 0; i < 3; i++)
		assert_false(rh_json_room_holds(more[i]));
	rh_json_room_release(root);
	for (size_t i = 0; i < 3; i++)
		rh_json_room_release(more[i]);
}

static void test_room__the_last_text_is_taken_back(void **state)
{
	struct rh_json_need need = {.values = 1};
	struct rh_json_room room;
	void *root, *text;

	(void)state;
	rh_json_need_text(&need, 10, VALUE);
	assert_int_equal(rh_json_room_open(&room, &need, VALUE), 0);
	root = rh_json_room_take(VALUE);
	for (int i = 0; i < 5; i++) {
		text = rh_json_room_take(10);
		assert_true((char *)text > (char *)root && (char *)text < (char *)root + 200);
		rh_json_room_release(text);
	}
	rh_json_room_close(&room);
	rh_json_room_release(root);
}

static void test_room__without_a_room(void **state)
{
	(void)state;
	for (size_t size = 0; size < 200; size++) {
		void *memory = rh_json_room_take(size);

		assert_non_null(memory);
		assert_false(rh_json_room_holds(memory));
		rh_json_room_release(memory);
	}
	rh_json_room_release(NULL);
}

static void test_room__in_which_nothing_was_made(void **state)
{
	struct rh_json_need need = {.values = 1};
	struct rh_json_room room;

	(void)state;
	(void)rh_mem_fail_after(0);
	assert_int_equal(rh_json_room_open(&room, &need, VALUE), RH_ENOMEM);
	(void)rh_mem_fail_after(-1);
	assert_int_equal(rh_json_room_open(&room, &need, VALUE), 0);
	rh_json_room_close(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room__gives_what_was_counted),      cmocka_unit_test(test_room__that_is_too_small),
		cmocka_unit_test(test_room__the_last_text_is_taken_back), cmocka_unit_test(test_room__without_a_room),
		cmocka_unit_test(test_room__in_which_nothing_was_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
