/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/error.h"
#include "base/mem.h"
#include "base/os/clock.h"
#include "engine/carry/fair/queue.h"

#define ITEMS 200

static void join(struct rh_queue *queue, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rh_queue_join(queue), 0);
}

static void test_queue__the_earliest_comes_first(void **state)
{
	static const int64_t times[] = {50, 10, 40, 10, 30, 20};
	static const size_t order[] = {1, 3, 5, 4, 2, 0};
	struct rh_queue_item items[6] = {0};
	struct rh_queue queue = {0};

	(void)state;
	join(&queue, 6);
	for (size_t i = 0; i < 6; i++)
		rh_queue_add(&queue, &items[i], times[i]);
	for (size_t i = 0; i < 6; i++)
		assert_ptr_equal(rh_queue_take(&queue, 100), &items[order[i]]);
	assert_null(rh_queue_take(&queue, 100));
	rh_queue_deinit(&queue);
}

static void test_queue__only_what_is_due_is_taken(void **state)
{
	struct rh_queue_item a = {0};
	struct rh_queue queue = {0};

	(void)state;
	assert_true(rh_queue_next(&queue) == RH_NEVER);
	join(&queue, 1);
	rh_queue_add(&queue, &a, 10);
	assert_int_equal(rh_queue_next(&queue), 10);
	assert_null(rh_queue_take(&queue, 9));
	assert_ptr_equal(rh_queue_take(&queue, 10), &a);
	assert_true(rh_queue_next(&queue) == RH_NEVER);
	rh_queue_deinit(&queue);
}

static void test_queue__a_key_stands_once_at_its_earliest_time(void **state)
{
	struct rh_queue_item a = {0};
	struct rh_queue_item b = {0};
	struct rh_queue queue = {0};

	(void)state;
	join(&queue, 2);
	rh_queue_add(&queue, &a, 20);
	rh_queue_add(&queue, &b, 15);
	rh_queue_add(&queue, &a, 30);
	assert_int_equal(queue.count, 2);
	assert_int_equal(a.at, 20);
	rh_queue_add(&queue, &a, 10);
	assert_int_equal(queue.count, 2);
	assert_ptr_equal(rh_queue_take(&queue, 100), &a);
	assert_ptr_equal(rh_queue_take(&queue, 100), &b);
	rh_queue_deinit(&queue);
}

static void test_queue__what_is_new_goes_before_what_is_late(void **state)
{
	struct rh_queue_item late[2] = {{.late = true}, {.late = true}};
	struct rh_queue_item new[2] = {0};
	struct rh_queue queue = {0};

	(void)state;
	join(&queue, 4);
	rh_queue_add(&queue, &late[0], RH_QUEUE_NOW);
	rh_queue_add(&queue, &late[1], RH_QUEUE_NOW);
	rh_queue_add(&queue, &new[0], RH_QUEUE_NOW);
	rh_queue_add(&queue, &new[1], RH_QUEUE_NOW);
	assert_ptr_equal(rh_queue_take(&queue, 1), &new[0]);
	assert_ptr_equal(rh_queue_take(&queue, 1), &new[1]);
	assert_ptr_equal(rh_queue_take(&queue, 1), &late[0]);
	assert_false(late[0].late);
	rh_queue_deinit(&queue);
}

/* A flow of hundreds of keys has one turn for each turn of a flow with few. */
static void test_queue__flows_have_fair_turns(void **state)
{
	struct rh_queue_flow flood = {0};
	struct rh_queue_flow calm = {0};
	struct rh_queue_item many[ITEMS] = {0};
	struct rh_queue_item few[3] = {0};
	struct rh_queue queue = {0};

	(void)state;
	join(&queue, ITEMS + 3);
	for (size_t i = 0; i < ITEMS; i++) {
		many[i].flow = &flood;
		rh_queue_add(&queue, &many[i], RH_QUEUE_NOW);
	}
	for (size_t i = 0; i < ITEMS / 2; i++)
		assert_ptr_equal(rh_queue_take(&queue, 1), &many[i]);
	for (size_t i = 0; i < 3; i++) {
		few[i].flow = &calm;
		rh_queue_add(&queue, &few[i], RH_QUEUE_NOW);
	}
	for (size_t i = 0; i < 3; i++) {
		struct rh_queue_item *first = rh_queue_take(&queue, 1);
		struct rh_queue_item *second = rh_queue_take(&queue, 1);

		assert_true(first == &few[i] || second == &few[i]);
		assert_true(first == &many[ITEMS / 2 + i] || second == &many[ITEMS / 2 + i]);
	}
	rh_queue_deinit(&queue);
}

/* An idle flow has no credit, and keys that wait for their time cost their flow no turn. */
static void test_queue__turns_are_not_saved_up(void **state)
{
	struct rh_queue_flow idle = {0};
	struct rh_queue_flow busy = {0};
	struct rh_queue_item timers[ITEMS] = {0};
	struct rh_queue_item items[4] = {0};
	struct rh_queue queue = {0};

	(void)state;
	join(&queue, ITEMS + 4);
	for (size_t i = 0; i < ITEMS; i++) {
		timers[i].flow = &idle;
		rh_queue_add(&queue, &timers[i], 1000);
	}
	items[0].flow = items[1].flow = &idle;
	items[2].flow = items[3].flow = &busy;
	for (size_t i = 0; i < ITEMS; i++) {
		rh_queue_add(&queue, &items[2], RH_QUEUE_NOW);
		assert_ptr_equal(rh_queue_take(&queue, 1), &items[2]);
	}
	rh_queue_add(&queue, &items[2], RH_QUEUE_NOW);
	rh_queue_add(&queue, &items[0], RH_QUEUE_NOW);
	rh_queue_add(&queue, &items[1], RH_QUEUE_NOW);
	rh_queue_add(&queue, &items[3], RH_QUEUE_NOW);
	assert_ptr_equal(rh_queue_take(&queue, 1), &items[0]);
	assert_ptr_equal(rh_queue_take(&queue, 1), &items[2]);
	assert_ptr_equal(rh_queue_take(&queue, 1), &items[1]);
	assert_ptr_equal(rh_queue_take(&queue, 1), &items[3]);
	rh_queue_deinit(&queue);
}

static void test_queue__back_off_doubles_up_to_the_longest(void **state)
{
	static const int64_t waits[] = {5, 10, 20, 40, 50, 50};
	struct rh_queue queue = {.backoff_first = 5, .backoff_max = 50};
	struct rh_queue_item a = {0};

	(void)state;
	join(&queue, 1);
	for (size_t i = 0; i < 6; i++) {
		rh_queue_fail(&queue, &a, 1000);
		assert_int_equal(a.at, 1000 + waits[i]);
		assert_ptr_equal(rh_queue_take(&queue, RH_NEVER), &a);
	}
	rh_queue_forgive(&a);
	rh_queue_fail(&queue, &a, 1000);
	assert_int_equal(a.at, 1005);
	assert_int_equal(rh_queue_wait(&queue, UINT32_MAX), 50);
	rh_queue_deinit(&queue);
}

static void test_queue__leaving_takes_a_key_out(void **state)
{
	struct rh_queue_item items[5] = {0};
	struct rh_queue queue = {0};

	(void)state;
	join(&queue, 5);
	for (size_t i = 0; i < 5; i++)
		rh_queue_add(&queue, &items[i], (int64_t)i);
	rh_queue_leave(&queue, &items[0]);
	rh_queue_leave(&queue, &items[2]);
	assert_int_equal(queue.members, 3);
	assert_ptr_equal(rh_queue_take(&queue, 100), &items[1]);
	assert_ptr_equal(rh_queue_take(&queue, 100), &items[3]);
	rh_queue_leave(&queue, &items[3]);
	assert_ptr_equal(rh_queue_take(&queue, 100), &items[4]);
	rh_queue_deinit(&queue);
}

/* A simple generator: the same numbers in every run. */
static uint32_t next_number(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

static void test_queue__many_come_out_in_order(void **state)
{
	struct rh_queue_item items[ITEMS] = {0};
	struct rh_queue queue = {0};
	uint32_t seed = 1;

	(void)state;
	join(&queue, ITEMS);
	for (int round = 0; round < 50; round++) {
		int64_t last = 0;
		size_t taken = 0;
		size_t queued = 0;
		struct rh_queue_item *item;

		for (size_t i = 0; i < 3 * ITEMS / 2; i++)
			rh_queue_add(&queue, &items[next_number(&seed) % ITEMS], 1 + next_number(&seed) % 1000);
		for (size_t i = 0; i < ITEMS; i++)
			queued += items[i].place > 0;
		while ((item = rh_queue_take(&queue, RH_NEVER))) {
			assert_true(item->at >= last);
			last = item->at;
			taken++;
		}
		assert_int_equal(taken, queued);
	}
	rh_queue_deinit(&queue);
}

static void test_queue__only_joining_needs_memory(void **state)
{
	struct rh_queue_item a = {0};
	struct rh_queue queue = {0};

	(void)state;
	rh_mem_fail_after(0);
	assert_int_equal(rh_queue_join(&queue), RH_ENOMEM);
	rh_mem_fail_after(-1);
	assert_int_equal(queue.members, 0);
	join(&queue, 1);
	rh_mem_fail_after(0);
	rh_queue_add(&queue, &a, 1);
	assert_ptr_equal(rh_queue_take(&queue, 1), &a);
	rh_queue_fail(&queue, &a, 1);
	rh_mem_fail_after(-1);
	rh_queue_leave(&queue, &a);
	rh_queue_deinit(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue__the_earliest_comes_first),
		cmocka_unit_test(test_queue__only_what_is_due_is_taken),
		cmocka_unit_test(test_queue__a_key_stands_once_at_its_earliest_time),
		cmocka_unit_test(test_queue__what_is_new_goes_before_what_is_late),
		cmocka_unit_test(test_queue__flows_have_fair_turns),
		cmocka_unit_test(test_queue__turns_are_not_saved_up),
		cmocka_unit_test(test_queue__back_off_doubles_up_to_the_longest),
		cmocka_unit_test(test_queue__leaving_takes_a_key_out),
		cmocka_unit_test(test_queue__many_come_out_in_order),
		cmocka_unit_test(test_queue__only_joining_needs_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
