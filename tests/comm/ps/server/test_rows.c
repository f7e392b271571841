/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes and pulls by row: which rows change, by how much, and what is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/server/rows.h"

#define ROWS 70U /* more than a word of bits */
#define WIDTH 3U
#define COUNT (ROWS * WIDTH)
#define PUSHES 4
#define NONSENSE 20000

/* A request, as it lies in a wire. */
struct request {
	struct rh_ps_head head;
	_Alignas(RH_PS_ALIGN) uint8_t payload[2048];
};

static struct rh_ps_store *make_store(int32_t mode, int32_t rule, int32_t workers)
{
	struct rh_ps_config config = {.servers = 1,
	                              .workers = workers,
	                              .mode = mode,
	                              .rule = rule,
	                              .staleness = 1,
	                              .rate = 0.1,
	                              .momentum = 0.9,
	                              .beta1 = 0.9,
	                              .beta2 = 0.999,
	                              .epsilon = 1e-8};
	struct rh_ps_store *store = rh_ps_store_new(&config, 1);

	assert_non_null(store);
	return store;
}

static void make_whole(struct request *request, uint32_t kind, int32_t worker, uint64_t sequence, double value)
{
	double values[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		values[i] = value;
	request->head = (struct rh_ps_head){.kind = (uint16_t)kind,
	                                    .sequence = sequence,
	                                    .key = 1,
	                                    .bytes = sizeof(values),
	                                    .length = sizeof(values),
	                                    .type = RH_COMM_F64,
	                                    .width = WIDTH,
	                                    .worker = worker};
	memcpy(request->payload, values, sizeof(values));
}

/* Each row gets the same value in all its elements. */
static void make_rows(struct request *request, int32_t worker, uint64_t sequence, uint32_t count, const uint32_t *rows,
                      const double *values)
{
	uint8_t *at = request->payload + rh_ps_rows_offset(count);

	request->head = (struct rh_ps_head){.kind = RH_PS_REC_PUSH_ROWS,
	                                    .sequence = sequence,
	                                    .key = 1,
	                                    .bytes = COUNT * sizeof(double),
	                                    .type = RH_COMM_F64,
	                                    .width = WIDTH,
	                                    .rows = count,
	                                    .worker = worker};
	request->head.length = (uint32_t)rh_ps_rows_length(&request->head, sizeof(double));
	assert_true(request->head.length <= sizeof(request->payload));
	if (count > 0)
		memcpy(request->payload, rows, count * sizeof(*rows));
	for (uint32_t i = 0; i < count * WIDTH; i++)
		memcpy(at + i * sizeof(double), &values[i / WIDTH], sizeof(double));
}

static int32_t take(struct rh_ps_store *store, const struct request *request)
{
	struct rh_ps_entry *entry = NULL;
	int32_t r = rh_ps_store_check(store, &request->head, request->payload, NULL);

	if (r <= 0)
		return r;
	assert_int_equal(rh_ps_store_take(store, &request->head, request->payload, &entry, NULL), 0);
	while (entry && rh_ps_store_settle(store, entry))
		;
	return r;
}

static void init(struct rh_ps_store *store, double value)
{
	struct request request;

	make_whole(&request, RH_PS_REC_INIT, 0, 1, value);
	assert_int_equal(take(store, &request), 1);
}

static void push(struct rh_ps_store *store, int32_t worker, uint64_t sequence, uint32_t row, double value)
{
	struct request request;

	make_rows(&request, worker, sequence, 1, &row, &value);
	assert_int_equal(take(store, &request), 1);
}

static double value_of(const struct rh_ps_store *store, uint32_t row)
{
	const struct rh_ps_entry *entry = rh_ps_store_find(store, 1, 0);
	double values[WIDTH];

	memcpy(values, entry->value + row * sizeof(values), sizeof(values));
	for (size_t i = 1; i < WIDTH; i++)
		assert_true(values[i] == values[0]);
	return values[0];
}

/* One row, by the formulas, with the pushes that it got alone. */
static double reference(int32_t rule, double value, const double *pushes, int count)
{
	double mean = 0;
	double square = 0;

	for (int t = 1; t <= count; t++) {
		double g = pushes[t - 1];

		if (rule == RH_PS_SGD) {
			value -= 0.1 * g;
		} else if (rule == RH_PS_MOMENTUM) {
			mean = 0.9 * mean + g;
			value -= 0.1 * mean;
		} else if (rule == RH_PS_ADAGRAD) {
			square += g * g;
			value -= 0.1 * g / (sqrt(square) + 1e-8);
		} else {
			mean = 0.9 * mean + 0.1 * g;
			square = 0.999 * square + 0.001 * g * g;
			value -= 0.1 * (mean / (1 - pow(0.9, t))) / (sqrt(square / (1 - pow(0.999, t))) + 1e-8);
		}
	}
	return value;
}

static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-12))
		fail_msg("%.17g is not %.17g", value, expected);
}

/* Rows 2 and 69 are pushed to at different times; each takes its own steps, and no other row takes any. */
static void check_optimizer(int32_t mode, int32_t rule)
{
	static const double first[PUSHES] = {1, -2, 0.5, 3};
	static const double last[2] = {-4, 0.25};
	struct rh_ps_store *store = make_store(mode, rule, 1);
	uint64_t sequence = 1;

	init(store, 10);
	for (int i = 0; i < PUSHES; i++) {
		push(store, 0, ++sequence, 2, first[i]);
		if (i % 2 == 1)
			push(store, 0, ++sequence, ROWS - 1, last[i / 2]);
	}
	assert_near(value_of(store, 2), reference(rule, 10, first, PUSHES));
	assert_near(value_of(store, ROWS - 1), reference(rule, 10, last, 2));
	for (uint32_t row = 0; row < ROWS - 1; row++)
		if (row != 2)
			assert_true(value_of(store, row) == 10);
	rh_ps_store_free(store);
}

static void test_rows__optimizers_step_touched_rows_alone(void **state)
{
	static const int32_t modes[] = {RH_PS_SYNC, RH_PS_ASYNC, RH_PS_STALE};
	static const int32_t rules[] = {RH_PS_SGD, RH_PS_MOMENTUM, RH_PS_ADAM, RH_PS_ADAGRAD};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		for (size_t j = 0; j < sizeof(rules) / sizeof(rules[0]); j++)
			check_optimizer(modes[i], rules[j]);
}

/* A push of the whole value is a step of each row, whatever steps they have taken. */
static void test_rows__whole_pushes_step_every_row(void **state)
{
	static const double both[] = {3, 1};
	struct rh_ps_store *store = make_store(RH_PS_ASYNC, RH_PS_ADAM, 1);
	struct request request;

	(void)state;
	init(store, 10);
	push(store, 0, 2, 5, 3);
	make_whole(&request, RH_PS_REC_PUSH, 0, 3, 1);
	assert_int_equal(take(store, &request), 1);
	assert_near(value_of(store, 5), reference(RH_PS_ADAM, 10, both, 2));
	assert_near(value_of(store, 4), reference(RH_PS_ADAM, 10, both + 1, 1));
	assert_near(value_of(store, ROWS - 1), reference(RH_PS_ADAM, 10, both + 1, 1));
	rh_ps_store_free(store);
}

/* Rounds of two workers: their rows are added up; one without rows is counted, and a whole push touches all rows. */
static void test_rows__rounds_add_up_rows(void **state)
{
	static const struct {
		int32_t rule;
		double both; /* row 1: 4 and 8 */
		double one;  /* row 64: 6 of worker 1 alone */
		double none; /* row 0 */
	} rows[] = {
		{RH_PS_SUM, 22, 16, 10},
		{RH_PS_AVERAGE, 16, 13, 10},
		{RH_PS_TOTAL, 12, 6, 10},
		{RH_PS_MEAN, 6, 3, 10},
		{RH_PS_SGD, 10 - 0.1 * 6, 10 - 0.1 * 3, 10},
	};
	static const uint32_t index[] = {1, 64};
	static const double values[] = {8, 6};
	struct request request;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_store *store = make_store(RH_PS_SYNC, rows[i].rule, 2);
		const struct rh_ps_entry *entry;

		init(store, 10);
		entry = rh_ps_store_find(store, 1, 0);
		push(store, 0, 2, 1, 4);
		assert_true(value_of(store, 1) == 10);
		assert_false(rh_ps_store_ready(store, entry, 1));
		make_rows(&request, 1, 2, 2, index, values);
		assert_int_equal(take(store, &request), 1);
		assert_near(value_of(store, 1), rows[i].both);
		assert_near(value_of(store, 64), rows[i].one);
		assert_near(value_of(store, 0), rows[i].none);
		/* nobody has rows: the round is one all the same */
		for (int32_t worker = 0; worker < 2; worker++) {
			make_rows(&request, worker, 3, 0, NULL, NULL);
			assert_int_equal(request.head.length, 0);
			assert_int_equal(take(store, &request), 1);
		}
		assert_int_equal(entry->version, 2);
		assert_near(value_of(store, 64), rows[i].one);
		rh_ps_store_free(store);
	}
}

static void test_rows__whole_pushes_and_rows_share_a_round(void **state)
{
	struct request request;

	(void)state;
	for (int whole_first = 0; whole_first < 2; whole_first++) {
		struct rh_ps_store *store = make_store(RH_PS_SYNC, RH_PS_SUM, 2);

		init(store, 10);
		for (int i = 0; i < 2; i++) {
			make_whole(&request, RH_PS_REC_PUSH, 1, 2, 2);
			if (i == whole_first)
				push(store, 0, 2, 65, 4);
			else
				assert_int_equal(take(store, &request), 1);
		}
		assert_true(value_of(store, 65) == 16);
		assert_true(value_of(store, 64) == 12);
		assert_true(value_of(store, ROWS - 1) == 12);
		rh_ps_store_free(store);
	}
}

static void test_rows__staleness_counts_pushes_of_rows(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_STALE, RH_PS_SUM, 2);
	const struct rh_ps_entry *entry;
	struct request request;

	(void)state;
	init(store, 0);
	entry = rh_ps_store_find(store, 1, 0);
	push(store, 0, 2, 3, 1);
	push(store, 0, 3, 4, 1);
	assert_false(rh_ps_store_ready(store, entry, 2));
	make_rows(&request, 1, 2, 0, NULL, NULL);
	assert_int_equal(take(store, &request), 1);
	assert_true(rh_ps_store_ready(store, entry, 2));
	rh_ps_store_free(store);
}

static void test_rows__what_has_counted_does_not_count_again(void **state)
{
	struct rh_ps_store *store = make_store(RH_PS_ASYNC, RH_PS_SUM, 1);
	struct request request;
	uint32_t row = 7;
	double value = 1;

	(void)state;
	init(store, 0);
	make_rows(&request, 0, 5, 1, &row, &value);
	assert_int_equal(take(store, &request), 1);
	assert_int_equal(take(store, &request), 0);
	request.head.kind = RH_PS_REC_PUSH_PULL_ROWS;
	assert_int_equal(take(store, &request), 0);
	assert_true(value_of(store, 7) == 1);
	rh_ps_store_free(store);
}

static void test_rows__nothing_of_a_worker_is_trusted(void **state)
{
	static const struct {
		const char *name;
		uint32_t rows[2];
		uint32_t count;
		int32_t longer; /* of the payload, bytes */
		uint32_t width;
		const char *words;
	} rows[] = {
		{"out of range", {0, ROWS}, 2, 0, WIDTH, "row 70 is out of range: the part has 70 rows"},
		{"far out of range", {0, UINT32_MAX}, 2, 0, WIDTH, "row 4294967295 is out of range"},
		{"descending", {5, 4}, 2, 0, WIDTH, "rows must ascend: row 4 follows row 5"},
		{"repeated", {5, 5}, 2, 0, WIDTH, "rows must ascend: row 5 follows row 5"},
		{"more than there are", {0, 1}, ROWS + 1, 0, WIDTH, "received 71 rows"},
		{"too many for any record", {0, 1}, UINT32_MAX, 0, WIDTH, "received 4294967295 rows"},
		{"too short", {0, 1}, 2, -8, WIDTH, "received 2 rows in 104 bytes"},
		{"too long", {0, 1}, 2, 8, WIDTH, "received 2 rows in 120 bytes"},
		{"another width", {0, 1}, 2, 0, WIDTH + 1, "has rows of 3 elements, and the request rows of 4"},
		{"no width", {0, 1}, 2, 0, 0, "has rows of 3 elements, and the request rows of 0"},
	};
	static const double values[2] = {1, 1};
	struct rh_ps_store *store = make_store(RH_PS_SYNC, RH_PS_SGD, 2);
	struct request request;

	(void)state;
	init(store, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_comm_error err = {0};

		make_rows(&request, 0, 9, 2, rows[i].rows, values);
		request.head.rows = rows[i].count;
		request.head.width = rows[i].width;
		request.head.length = (uint32_t)((int32_t)request.head.length + rows[i].longer);
		if (rh_ps_store_check(store, &request.head, request.payload, &err) != RH_COMM_EINVAL ||
		    !strstr(err.text, rows[i].words))
			fail_msg("%s: %s", rows[i].name, err.text);
	}
	rh_ps_store_free(store);
}

static void test_rows__widths_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		uint32_t bytes;
		uint32_t width;
	} rows[] = {
		{24, 2}, {24, 4}, {24, UINT32_MAX}, {24, UINT32_C(1) << 29}, {RH_PS_PART_MAX, 1}, {RH_PS_PART_MAX, 131072},
	};
	struct rh_ps_store *store = make_store(RH_PS_ASYNC, RH_PS_SUM, 1);
	struct rh_ps_head head = {
		.kind = RH_PS_REC_INIT, .sequence = 1, .key = 3, .type = RH_COMM_F64, .flags = RH_PS_ZEROS};
	struct rh_comm_error err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		head.bytes = rows[i].bytes;
		head.width = rows[i].width;
		assert_int_equal(rh_ps_store_check(store, &head, NULL, &err), RH_COMM_EINVAL);
		assert_non_null(strstr(err.text, "cannot be rows of"));
	}
	/* a key without rows is pushed to as a whole alone */
	head.bytes = 24;
	head.width = 0;
	assert_int_equal(rh_ps_store_check(store, &head, NULL, &err), 1);
	{
		struct rh_ps_entry *entry = NULL;

		assert_int_equal(rh_ps_store_take(store, &head, NULL, &entry, &err), 0);
	}
	head.kind = RH_PS_REC_PUSH_ROWS;
	head.sequence = 2;
	head.flags = 0;
	assert_int_equal(rh_ps_store_check(store, &head, NULL, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "key 3 has no rows"));
	rh_ps_store_free(store);
}

static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Requests with damage anywhere in their head or indices: what is taken keeps within the value. */
static void test_rows__nonsense_is_refused(void **state)
{
	static const uint32_t index[] = {3, 9, 64};
	static const double values[] = {1, 1, 1};
	struct rh_ps_store *store = make_store(RH_PS_SYNC, RH_PS_ADAM, 2);
	uint64_t random = 21;
	int refused = 0;

	(void)state;
	init(store, 1);
	for (int i = 0; i < NONSENSE; i++) {
		struct request request;
		uint8_t *at = next_random(&random) % 2 ? (uint8_t *)&request.head : request.payload;

		make_rows(&request, (int32_t)(next_random(&random) % 2), (uint64_t)i + 2, 3, index, values);
		request.head.kind = (uint16_t)(next_random(&random) % 2 ? RH_PS_REC_PUSH_ROWS : RH_PS_REC_PUSH_PULL_ROWS);
		at[next_random(&random) % (at == request.payload ? 12 : sizeof(request.head))] ^=
			(uint8_t)(1 << next_random(&random) % 8);
		/* a wire has as many bytes as the head says */
		if (request.head.length > sizeof(request.payload))
			continue;
		/* a number of a far request would make all that follow count before */
		request.head.sequence = (uint64_t)i + 2;
		refused += take(store, &request) < 0;
	}
	assert_in_range(refused, NONSENSE / 4, NONSENSE);
	rh_ps_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows__optimizers_step_touched_rows_alone),
		cmocka_unit_test(test_rows__whole_pushes_step_every_row),
		cmocka_unit_test(test_rows__rounds_add_up_rows),
		cmocka_unit_test(test_rows__whole_pushes_and_rows_share_a_round),
		cmocka_unit_test(test_rows__staleness_counts_pushes_of_rows),
		cmocka_unit_test(test_rows__what_has_counted_does_not_count_again),
		cmocka_unit_test(test_rows__nothing_of_a_worker_is_trusted),
		cmocka_unit_test(test_rows__widths_that_do_not_fit_are_refused),
		cmocka_unit_test(test_rows__nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
