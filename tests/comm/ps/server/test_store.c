/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/server/store.h"

#define COUNT 5

static struct rh_ps_store *make_store(int32_t mode, int32_t rule, int32_t workers)
{
	struct rh_ps_config config = {.servers = 1,
	                              .workers = workers,
	                              .mode = mode,
	                              .rule = rule,
	                              .staleness = 2,
	                              .rate = 0.1,
	                              .momentum = 0.9,
	                              .beta1 = 0.9,
	                              .beta2 = 0.999,
	                              .epsilon = 1e-8};
	struct rh_ps_store *store = rh_ps_store_new(&config, 1);

	assert_non_null(store);
	return store;
}

static struct rh_ps_head make_head(uint32_t kind, int32_t worker, uint64_t sequence)
{
	return (struct rh_ps_head){.kind = kind,
	                           .sequence = sequence,
	                           .key = 1,
	                           .bytes = COUNT * sizeof(float),
	                           .length = COUNT * sizeof(float),
	                           .type = RH_COMM_F32,
	                           .worker = worker};
}

/* Take a record if it counts, and apply what is full. @return the result of rh_ps_store_check() */
static int32_t take(struct rh_ps_store *store, const struct rh_ps_head *head, const void *payload)
{
	struct rh_comm_error err;
	struct rh_ps_entry *entry = NULL;
	int32_t r = rh_ps_store_check(store, head, payload, &err);

	if (r <= 0)
		return r;
	assert_int_equal(rh_ps_store_take(store, head, payload, &entry, &err), 0);
	while (entry && rh_ps_store_settle(store, entry))
		;
	return r;
}

static int32_t take_floats(struct rh_ps_store *store, uint32_t kind, int32_t worker, uint64_t sequence, float value)
{
	struct rh_ps_head head = make_head(kind, worker, sequence);
	float values[COUNT];

	for (int i = 0; i < COUNT; i++)
		values[i] = value * (float)(i + 1);
	return take(store, &head, values);
}

static void assert_value(const struct rh_ps_store *store, float first)
{
	const struct rh_ps_entry *entry = rh_ps_store_find(store, 1, 0);
	float values[COUNT];

	assert_non_null(entry);
	memcpy(values, entry->value, sizeof(values));
	for (int i = 0; i < COUNT; i++)
		assert_float_equal(values[i], first * (float)(i + 1), 1e-5);
}

static void test_store__rounds_wait_for_all_workers(void **state)
{
	static const struct {
		int32_t rule;
		float after_one;
		float after_two;
	} rows[] = {
		{RH_PS_SUM, 10 + 1 + 2, 10 + 1 + 2 + 7},
		{RH_PS_AVERAGE, 10 + 1.5F, 10 + 1.5F + 3.5F},
		{RH_PS_TOTAL, 3, 7},
		{RH_PS_MEAN, 1.5F, 3.5F},
		{RH_PS_SGD, 10 - 0.1F * 1.5F, 10 - 0.1F * 1.5F - 0.1F * 3.5F},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_store *store = make_store(RH_PS_SYNC, rows[i].rule, 2);

		assert_int_equal(take_floats(store, RH_PS_REC_INIT, 0, 1, 10), 1);
		/* worker 0 is two rounds ahead */
		assert_int_equal(take_floats(store, RH_PS_REC_PUSH, 0, 2, 1), 1);
		assert_int_equal(take_floats(store, RH_PS_REC_PUSH, 0, 3, 3), 1);
		assert_value(store, 10);
		assert_int_equal(take_floats(store, RH_PS_REC_PUSH, 1, 1, 2), 1);
		assert_value(store, rows[i].after_one);
		assert_int_equal(take_floats(store, RH_PS_REC_PUSH, 1, 2, 4), 1);
		assert_value(store, rows[i].after_two);
		rh_ps_store_free(store);
	}
}

static void test_store__asynchronous_pushes_count_at_once(void **state)
{
	static const struct {
		int32_t rule;
		float expected;
	} rows[] = {{RH_PS_SUM, 14}, {RH_PS_AVERAGE, 12}, {RH_PS_SGD, 9.6F}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_store *store = make_store(RH_PS_ASYNC, rows[i].rule, 2);

		(void)take_floats(store, RH_PS_REC_INIT, 0, 1, 10);
		(void)take_floats(store, RH_PS_REC_PUSH, 1, 1, 1);
		(void)take_floats(store, RH_PS_REC_PUSH, 1, 2, 3);
		assert_value(store, rows[i].expected);
		rh_ps_store_free(store);
	}
}

/* By the formulas, in double. */
static double reference_adam(double value, const double *pushes, int count)
{
	double mean = 0;
	double square = 0;

	for (int t = 1; t <= count; t++) {
		double g = pushes[t - 1];

		mean = 0.9 * mean + 0.1 * g;
		square = 0.999 * square + 0.001 * g * g;
		value -= 0.1 * (mean / (1 - pow(0.9, t))) / (sqrt(square / (1 - pow(0.999, t))) + 1e-8);
	}
	return value;
}

static double reference_momentum(double value, const double *pushes, int count)
{
	double mean = 0;

	for (int t = 0; t < count; t++) {
		mean = 0.9 * mean + pushes[t];
		value -= 0.1 * mean;
	}
	return value;
}

static double reference_adagrad(double value, const double *pushes, int count)
{
	double square = 0;

	for (int t = 0; t < count; t++) {
		square += pushes[t] * pushes[t];
		value -= 0.1 * pushes[t] / (sqrt(square) + 1e-8);
	}
	return value;
}

static void check_optimizer(int32_t rule, int32_t type, double expected)
{
	static const double pushes[] = {1, -2, 0.5, 3};
	struct rh_ps_store *store = make_store(RH_PS_ASYNC, rule, 1);
	struct rh_ps_head head = make_head(RH_PS_REC_INIT, 0, 1);
	size_t size = type == RH_COMM_F32 ? sizeof(float) : sizeof(double);
	double wide = 10;
	float narrow = 10;

	head.type = type;
	head.bytes = (uint32_t)size;
	head.length = (uint32_t)size;
	assert_int_equal(take(store, &head, type == RH_COMM_F32 ? (void *)&narrow : (void *)&wide), 1);
	head.kind = RH_PS_REC_PUSH;
	for (size_t i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
		head.sequence++;
		wide = pushes[i];
		narrow = (float)pushes[i];
		assert_int_equal(take(store, &head, type == RH_COMM_F32 ? (void *)&narrow : (void *)&wide), 1);
	}
	memcpy(&narrow, rh_ps_store_find(store, 1, 0)->value, sizeof(narrow));
	memcpy(&wide, rh_ps_store_find(store, 1, 0)->value, size);
	if (type == RH_COMM_F32)
		assert_float_equal(narrow, expected, 1e-5);
	else
		assert_true(fabs(wide - expected) < 1e-12);
	rh_ps_store_free(store);
}

static void test_store__optimizers_follow_their_formulas(void **state)
{
	static const double pushes[] = {1, -2, 0.5, 3};

	(void)state;
	check_optimizer(RH_PS_ADAM, RH_COMM_F32, reference_adam(10, pushes, 4));
	check_optimizer(RH_PS_ADAM, RH_COMM_F64, reference_adam(10, pushes, 4));
	check_optimizer(RH_PS_MOMENTUM, RH_COMM_F32, reference_momentum(10, pushes, 4));
	check_optimizer(RH_PS_MOMENTUM, RH_COMM_F64, reference_momentum(10, pushes, 4));
	check_optimizer(RH_PS_ADAGRAD, RH_COMM_F32, reference_adagrad(10, pushes, 4));
	check_optimizer(RH_PS_ADAGRAD, RH_COMM_F64, reference_adagrad(10, pushes, 4));
	check_optimizer(RH_PS_SGD, RH_COMM_F64, 10 - 0.1 * 2.5);
}

static void test_store__what_has_counted_does_not_count_again(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_ASYNC, RH_PS_SUM, 2);

	(void)state;
	assert_int_equal(take_floats(store, RH_PS_REC_INIT, 0, 1, 0), 1);
	assert_int_equal(take_floats(store, RH_PS_REC_PUSH, 0, 5, 1), 1);
	assert_int_equal(take_floats(store, RH_PS_REC_PUSH, 0, 5, 1), 0);
	assert_int_equal(take_floats(store, RH_PS_REC_PUSH_PULL, 0, 4, 1), 0);
	assert_int_equal(take_floats(store, RH_PS_REC_PUSH, 1, 5, 1), 1);
	assert_int_equal(take_floats(store, RH_PS_REC_INIT, 0, 6, 9), 0);
	assert_value(store, 2);
	rh_ps_store_free(store);
}

static void test_store__only_worker_0_gives_first_values(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_SYNC, RH_PS_SUM, 2);

	(void)state;
	assert_int_equal(take_floats(store, RH_PS_REC_INIT, 1, 1, 5), 0);
	assert_int_equal(take_floats(store, RH_PS_REC_PUSH, 1, 2, 5), RH_COMM_EINVAL);
	assert_int_equal(take_floats(store, RH_PS_REC_INIT, 0, 1, 6), 1);
	assert_value(store, 6);
	rh_ps_store_free(store);
}

static void test_store__refuses_what_does_not_fit(void **state)
{
	static const struct {
		const char *name;
		struct rh_ps_head head;
		const char *words;
	} rows[] = {
		{"another size",
	     {.kind = RH_PS_REC_PUSH, .length = 8, .sequence = 9, .key = 1, .bytes = 8, .type = RH_COMM_F32},
	     "same count"},
		{"another type",
	     {.kind = RH_PS_REC_PUSH, .length = 20, .sequence = 9, .key = 1, .bytes = 20, .type = RH_COMM_I32},
	     "same count"},
		{"too short",
	     {.kind = RH_PS_REC_PUSH, .length = 16, .sequence = 9, .key = 1, .bytes = 20, .type = RH_COMM_F32},
	     "expected 20"},
		{"unknown key",
	     {.kind = RH_PS_REC_PUSH, .length = 20, .sequence = 9, .key = 2, .bytes = 20, .type = RH_COMM_F32},
	     "not known"},
		{"no such type",
	     {.kind = RH_PS_REC_INIT, .length = 20, .sequence = 9, .key = 2, .bytes = 20, .type = 99},
	     "cannot be kept"},
		{"half an element",
	     {.kind = RH_PS_REC_INIT, .length = 18, .sequence = 9, .key = 2, .bytes = 18, .type = RH_COMM_F32},
	     "cannot be kept"},
		{"no elements", {.kind = RH_PS_REC_INIT, .sequence = 9, .key = 2, .type = RH_COMM_F32}, "cannot be kept"},
		{"integers for SGD",
	     {.kind = RH_PS_REC_INIT, .length = 20, .sequence = 9, .key = 2, .bytes = 20, .type = RH_COMM_I32},
	     "f32 or f64"},
		{"no such worker",
	     {.kind = RH_PS_REC_PUSH, .length = 20, .sequence = 9, .key = 1, .bytes = 20, .type = RH_COMM_F32, .worker = 2},
	     "worker 2"},
		{"half a rate", {.kind = RH_PS_REC_RATE, .length = 4, .sequence = 9}, "learning rate"},
		{"an answer",
	     {.kind = RH_PS_REC_ACK, .sequence = 9, .key = 1, .bytes = 20, .type = RH_COMM_F32},
	     "change nothing"},
	};
	struct rh_ps_store *store = make_store(RH_PS_SYNC, RH_PS_SGD, 2);

	(void)state;
	(void)take_floats(store, RH_PS_REC_INIT, 0, 1, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_comm_error err = {0};

		if (rh_ps_store_check(store, &rows[i].head, NULL, &err) != RH_COMM_EINVAL || !strstr(err.text, rows[i].words))
			fail_msg("%s: %s", rows[i].name, err.text);
	}
	rh_ps_store_free(store);
}

static void test_store__pulls_wait_for_the_own_round(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_SYNC, RH_PS_SUM, 3);
	const struct rh_ps_entry *entry;

	(void)state;
	(void)take_floats(store, RH_PS_REC_INIT, 0, 1, 1);
	entry = rh_ps_store_find(store, 1, 0);
	assert_true(rh_ps_store_ready(store, entry, 0));
	(void)take_floats(store, RH_PS_REC_PUSH, 0, 2, 1);
	assert_false(rh_ps_store_ready(store, entry, 1));
	assert_int_equal(rh_ps_store_blocker(store, entry, 1, 0), 1);
	(void)take_floats(store, RH_PS_REC_PUSH, 1, 2, 1);
	assert_int_equal(rh_ps_store_blocker(store, entry, 1, 0), 2);
	(void)take_floats(store, RH_PS_REC_PUSH, 2, 2, 1);
	assert_true(rh_ps_store_ready(store, entry, 1));
	assert_int_equal(rh_ps_store_blocker(store, entry, 1, 0), -1);
	rh_ps_store_free(store);
}

static void test_store__staleness_bounds_the_lead(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_STALE, RH_PS_SUM, 2);
	struct rh_ps_head leave = {.kind = RH_PS_REC_LEAVE, .worker = 1, .sequence = 9};
	const struct rh_ps_entry *entry;

	(void)state;
	(void)take_floats(store, RH_PS_REC_INIT, 0, 1, 0);
	entry = rh_ps_store_find(store, 1, 0);
	for (uint64_t i = 0; i < 3; i++) {
		assert_true(rh_ps_store_ready(store, entry, i));
		(void)take_floats(store, RH_PS_REC_PUSH, 0, 2 + i, 1);
	}
	/* each push counted at once; three ahead are more than two */
	assert_value(store, 3);
	assert_false(rh_ps_store_ready(store, entry, 3));
	assert_int_equal(rh_ps_store_blocker(store, entry, 3, 0), 1);
	(void)take_floats(store, RH_PS_REC_PUSH, 1, 1, 1);
	assert_true(rh_ps_store_ready(store, entry, 3));
	(void)take_floats(store, RH_PS_REC_PUSH, 0, 6, 1);
	assert_false(rh_ps_store_ready(store, entry, 4));
	assert_int_equal(take(store, &leave, NULL), 1);
	assert_true(rh_ps_store_ready(store, entry, 4));
	rh_ps_store_free(store);
}

static void test_store__a_hold_keeps_the_value(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_SYNC, RH_PS_SUM, 1);
	struct rh_ps_entry *entry;

	(void)state;
	(void)take_floats(store, RH_PS_REC_INIT, 0, 1, 1);
	entry = rh_ps_store_find(store, 1, 0);
	entry->hold = 1;
	(void)take_floats(store, RH_PS_REC_PUSH, 0, 2, 2);
	(void)take_floats(store, RH_PS_REC_PUSH, 0, 3, 4);
	assert_value(store, 1);
	entry->hold = 0;
	assert_true(rh_ps_store_settle(store, entry));
	assert_value(store, 3);
	assert_true(rh_ps_store_settle(store, entry));
	assert_false(rh_ps_store_settle(store, entry));
	assert_value(store, 7);
	rh_ps_store_free(store);
}

static void test_store__barrier_goes_by_rounds_in_every_mode(void **state)
{
	struct rh_ps_head head = {
		.kind = RH_PS_REC_PUSH_PULL, .key = RH_PS_BARRIER_KEY, .sequence = 1, .type = RH_COMM_U8, .worker = 0};
	struct rh_ps_store *store = make_store(RH_PS_ASYNC, RH_PS_ADAM, 2);
	const struct rh_ps_entry *entry;

	(void)state;
	assert_int_equal(take(store, &head, NULL), 1);
	entry = rh_ps_store_find(store, RH_PS_BARRIER_KEY, 0);
	assert_false(rh_ps_store_ready(store, entry, 1));
	head.worker = 1;
	assert_int_equal(take(store, &head, NULL), 1);
	assert_true(rh_ps_store_ready(store, entry, 1));
	rh_ps_store_free(store);
}

static void test_store__many_keys_are_found_again(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_ASYNC, RH_PS_SUM, 1);
	struct rh_ps_head head = make_head(RH_PS_REC_INIT, 0, 1);
	float values[COUNT] = {0};

	(void)state;
	for (uint64_t key = 0; key < 3000; key++) {
		head.key = key * key;
		head.part = (uint32_t)(key % 3);
		values[0] = (float)key;
		assert_int_equal(take(store, &head, values), 1);
	}
	assert_int_equal(store->entry_count, 3000);
	for (uint64_t key = 0; key < 3000; key++) {
		const struct rh_ps_entry *entry = rh_ps_store_find(store, key * key, (uint32_t)(key % 3));

		assert_non_null(entry);
		memcpy(values, entry->value, sizeof(values));
		assert_float_equal(values[0], (float)key, 0);
	}
	assert_null(rh_ps_store_find(store, 4, 1));
	rh_ps_store_free(store);
}

static void test_store__learning_rate_holds_from_then_on(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_ASYNC, RH_PS_SGD, 1);
	struct rh_ps_head head = {.kind = RH_PS_REC_RATE, .length = sizeof(double), .sequence = 3};
	double rate = 0.5;

	(void)state;
	(void)take_floats(store, RH_PS_REC_INIT, 0, 1, 10);
	(void)take_floats(store, RH_PS_REC_PUSH, 0, 2, 10);
	assert_value(store, 9);
	assert_int_equal(take(store, &head, &rate), 1);
	(void)take_floats(store, RH_PS_REC_PUSH, 0, 4, 10);
	assert_value(store, 4);
	rh_ps_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store__rounds_wait_for_all_workers),
		cmocka_unit_test(test_store__asynchronous_pushes_count_at_once),
		cmocka_unit_test(test_store__optimizers_follow_their_formulas),
		cmocka_unit_test(test_store__what_has_counted_does_not_count_again),
		cmocka_unit_test(test_store__only_worker_0_gives_first_values),
		cmocka_unit_test(test_store__refuses_what_does_not_fit),
		cmocka_unit_test(test_store__pulls_wait_for_the_own_round),
		cmocka_unit_test(test_store__staleness_bounds_the_lead),
		cmocka_unit_test(test_store__a_hold_keeps_the_value),
		cmocka_unit_test(test_store__barrier_goes_by_rounds_in_every_mode),
		cmocka_unit_test(test_store__many_keys_are_found_again),
		cmocka_unit_test(test_store__learning_rate_holds_from_then_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
