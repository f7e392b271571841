/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/answers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/** Who was called, in order: "ab". */
struct calls {
	char names[64];
	size_t count;
};

/** A job that asks. */
struct asker {
	struct calls *calls;
	char name;
	struct rh_answers *answers;
};

static void on_ready(void *arg)
{
	struct asker *asker = arg;

	asker->calls->names[asker->calls->count++] = asker->name;
}

static void open_askers(struct asker *askers, size_t count, struct calls *calls)
{
	for (size_t i = 0; i < count; i++) {
		askers[i] = (struct asker){calls, (char)('a' + i), NULL};
		askers[i].answers = rh_answers_new(on_ready, &askers[i]);
		assert_non_null(askers[i].answers);
	}
}

static void close_askers(struct asker *askers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rh_answers_free(askers[i].answers);
}

static struct rh_str text(const char *words)
{
	struct rh_str str = {0};

	rh_str_append(&str, words);
	return str;
}

static void answer(struct rh_worker_turns *turns, uint64_t key, const char *words)
{
	struct rh_str str = text(words);

	rh_worker_turns_answer(turns, key, 0, NULL, &str);
	assert_null(str.data);
}

static void test_answers__one_is_kept_until_the_end_of_the_pass(void **state)
{
	struct calls calls = {0};
	struct rh_worker_turns turns = {0};
	struct asker asker[1];
	rh_auto_str out = {0};

	(void)state;
	open_askers(asker, 1, &calls);
	assert_int_equal(rh_answers_take(asker->answers, 7, &out, NULL), 1);
	rh_worker_turns_ask(&turns, asker->answers);
	assert_true(rh_answers_are_awaited(asker->answers));
	answer(&turns, 7, "seven");
	assert_string_equal(calls.names, "a");
	assert_false(rh_answers_are_awaited(asker->answers));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rh_answers_take(asker->answers, 7, &out, NULL), 0);
		assert_string_equal(rh_str_text(&out), "seven");
	}
	assert_int_equal(rh_answers_take(asker->answers, 8, &out, NULL), 1);
	rh_answers_clear(asker->answers);
	assert_int_equal(rh_answers_take(asker->answers, 7, &out, NULL), 1);
	close_askers(asker, 1);
}

static void test_answers__a_failure_is_taken_once(void **state)
{
	struct calls calls = {0};
	struct rh_worker_turns turns = {0};
	struct asker asker[1];
	struct rh_error err = {0};
	struct rh_str none = {0};
	rh_auto_str out = {0};

	(void)state;
	open_askers(asker, 1, &calls);
	rh_worker_turns_ask(&turns, asker->answers);
	(void)rh_fail(&err, RH_EAGAIN, "it crashed");
	rh_worker_turns_answer(&turns, 7, RH_EAGAIN, &err, &none);
	err = (struct rh_error){0};
	assert_int_equal(rh_answers_take(asker->answers, 7, &out, &err), RH_EAGAIN);
	assert_string_equal(err.message, "it crashed");
	assert_int_equal(rh_answers_take(asker->answers, 7, &out, &err), 1);
	close_askers(asker, 1);
}

static void test_answers__the_last_ones_are_kept(void **state)
{
	struct calls calls = {0};
	struct rh_worker_turns turns = {0};
	struct asker asker[1];
	rh_auto_str out = {0};

	(void)state;
	open_askers(asker, 1, &calls);
	for (uint64_t key = 0; key <= RH_ANSWERS_MAX; key++) {
		rh_worker_turns_ask(&turns, asker->answers);
		answer(&turns, key, "x");
	}
	assert_int_equal(rh_answers_take(asker->answers, 0, &out, NULL), 1);
	assert_int_equal(rh_answers_take(asker->answers, 1, &out, NULL), 0);
	close_askers(asker, 1);
}

static void test_answers__turns_are_in_order(void **state)
{
	struct calls calls = {0};
	struct rh_worker_turns turns = {0};
	struct asker asker[4];

	(void)state;
	open_askers(asker, 4, &calls);
	for (size_t i = 0; i < 4; i++)
		rh_worker_turns_wait(&turns, asker[i].answers);
	rh_worker_turns_wait(&turns, asker[0].answers); /* its place is the same */
	rh_worker_turns_call(&turns);
	rh_worker_turns_wait(&turns, asker[0].answers); /* somebody else was quicker: it is the next one again */
	rh_answers_clear(asker[1].answers);
	for (int i = 0; i < 4; i++)
		rh_worker_turns_call(&turns);
	assert_string_equal(calls.names, "aacd");
	close_askers(asker, 4);
}

static void test_answers__who_is_gone_is_not_called(void **state)
{
	struct calls calls = {0};
	struct rh_worker_turns turns = {0};
	struct asker asker[3];

	(void)state;
	open_askers(asker, 3, &calls);
	rh_worker_turns_ask(&turns, asker[0].answers);
	rh_worker_turns_wait(&turns, asker[1].answers);
	rh_worker_turns_wait(&turns, asker[2].answers);
	rh_answers_free(rh_take(asker[0].answers));
	answer(&turns, 1, "for nobody");
	rh_answers_free(rh_take(asker[1].answers));
	rh_worker_turns_call(&turns);
	rh_worker_turns_wait(&turns, asker[2].answers);
	rh_worker_turns_deinit(&turns);
	assert_false(rh_answers_are_awaited(asker[2].answers));
	assert_string_equal(calls.names, "c");
	close_askers(asker, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers__one_is_kept_until_the_end_of_the_pass),
		cmocka_unit_test(test_answers__a_failure_is_taken_once),
		cmocka_unit_test(test_answers__the_last_ones_are_kept),
		cmocka_unit_test(test_answers__turns_are_in_order),
		cmocka_unit_test(test_answers__who_is_gone_is_not_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
