/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that push and pull rows of one value: which they get, in every mode, and what they may not ask for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/servers.h"

#define PUSHES 30

/* @return what is pulled of the rows of a push, after so many rounds of all workers */
static float sum_of(uint64_t row, int rounds, int32_t workers)
{
	struct sparse_push push;
	float sum = 0;

	for (int i = 0; i < rounds; i++) {
		for (int32_t worker = 0; worker < workers; worker++) {
			(void)sparse_op(&push, RH_PS_PUSH_ROWS, i, worker);
			for (size_t j = 0; j < SPARSE_PUSHED; j++)
				sum += push.rows[j] == row ? push.in[j * SPARSE_WIDTH] : 0;
		}
	}
	return sum;
}

/* Each pull sees exactly the rounds that the worker itself has pushed, and repeated rows as often as they are named. */
static int do_rounds(struct rh_ps *ps, void *arg)
{
	struct rh_ps_op init = sparse_init();
	struct sparse_push push;
	struct rh_ps_op op;

	(void)arg;
	must_run(ps, &init, 1);
	for (int i = 0; i < PUSHES; i++) {
		op = sparse_op(&push, RH_PS_PUSH_PULL_ROWS, i, rh_ps_worker(ps));
		must_run(ps, &op, 1);
		for (size_t j = 0; j < SPARSE_PUSHED * SPARSE_WIDTH; j++)
			must(push.out[j] == sum_of(push.rows[j / SPARSE_WIDTH], i + 1, rh_ps_workers(ps)), "wrong rows of a round");
	}
	sparse_must_be_sum(ps, PUSHES);
	return 0;
}

static void test_rows__rounds_are_exact(void **state)
{
	static const int32_t servers_of[] = {1, 3};

	(void)state;
	for (size_t i = 0; i < sizeof(servers_of) / sizeof(servers_of[0]); i++) {
		struct servers servers = {.options = {.workers = 3, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};

		servers_start(&servers, servers_of[i]);
		workers_run(&servers, do_rounds, NULL);
	}
}

static int do_sum(struct rh_ps *ps, void *arg)
{
	struct rh_ps_op barrier = {.size = sizeof(barrier), .what = RH_PS_BARRIER};
	struct rh_ps_op init = sparse_init();
	struct sparse_push pushes[PUSHES];
	struct rh_ps_op ops[PUSHES];
	struct rh_ps_op none;

	(void)arg;
	must_run(ps, &init, 1);
	for (int i = 0; i < PUSHES; i++)
		ops[i] = sparse_op(&pushes[i], i % 2 ? RH_PS_PUSH_ROWS : RH_PS_PUSH_PULL_ROWS, i, rh_ps_worker(ps));
	must_run(ps, ops, PUSHES);
	must_run(ps, &barrier, 1);
	/* no rows at all: nothing is sent to asynchronous servers, and others count it */
	none = sparse_init();
	none.what = RH_PS_PUSH_PULL_ROWS;
	must_run(ps, &none, 1);
	none.what = RH_PS_PULL_ROWS;
	must_run(ps, &none, 1);
	must_run(ps, &barrier, 1);
	sparse_must_be_sum(ps, PUSHES);
	return 0;
}

static void test_rows__pushes_all_count_in_every_mode(void **state)
{
	static const int32_t modes[] = {RH_PS_SYNC, RH_PS_ASYNC, RH_PS_STALE};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct servers servers = {.options = {.workers = 2, .mode = modes[i], .staleness = 2, .rule = RH_PS_SUM}};
		struct workers_plan plan = {.options = {.part = 4096, .no_shm = i == 1}, .fn = do_sum};
		struct workers workers;

		servers_start(&servers, 2);
		workers_start(&servers, &plan, &workers);
		assert_int_equal(workers_wait(&workers, 0), 0);
		assert_int_equal(workers_wait(&workers, 1), 0);
		servers_wait(&servers);
	}
}

/* An embedding of which each worker learns its rows, with Adam in the server: a row is right after as many steps. */
static int do_learning(struct rh_ps *ps, void *arg)
{
	struct rh_ps_op init = sparse_init();
	float values[2 * SPARSE_WIDTH] = {0};
	float gradient[2 * SPARSE_WIDTH];
	const uint64_t rows[2] = {(uint64_t)rh_ps_worker(ps), 990 + (uint64_t)rh_ps_worker(ps)};
	struct rh_ps_op op = sparse_init();

	(void)arg;
	must_run(ps, &init, 1);
	op.what = RH_PS_PUSH_PULL_ROWS;
	op.rows = rows;
	op.row_count = 2;
	op.in = gradient;
	op.out = values;
	for (int i = 0; i < 400; i++) {
		for (size_t j = 0; j < 2 * SPARSE_WIDTH; j++)
			gradient[j] = values[j] - (j < SPARSE_WIDTH ? 2.0F : -1.0F);
		must_run(ps, &op, 1);
	}
	must(values[0] > 1.9F && values[0] < 2.1F && values[SPARSE_WIDTH] > -1.1F && values[SPARSE_WIDTH] < -0.9F,
	     "nothing was learnt");
	return 0;
}

static void test_rows__optimizers_learn(void **state)
{
	static const int32_t rules[] = {RH_PS_MOMENTUM, RH_PS_ADAM, RH_PS_ADAGRAD};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct servers servers = {
			.options = {.workers = 2, .mode = RH_PS_SYNC, .rule = rules[i], .momentum = 0.5, .rate = 0.1}};

		if (rules[i] == RH_PS_ADAGRAD)
			servers.options.rate = 0.5;
		servers_start(&servers, 2);
		workers_run(&servers, do_learning, NULL);
	}
}

/* Types of other sizes, rows of all widths, and values that end with a part that is not whole. */
static void check_shape(struct rh_ps *ps, uint64_t key, int32_t type, int32_t width, uint64_t rows)
{
	size_t size = type == RH_COMM_U8 ? 1 : 8;
	uint64_t index[3] = {0, rows / 2, rows - 1};
	uint8_t *in = calloc(3 * (size_t)width, size);
	uint8_t *out = calloc(3 * (size_t)width, size);
	struct rh_ps_op op = {.size = sizeof(op),
	                      .what = RH_PS_INIT,
	                      .key = key,
	                      .count = (size_t)width * rows,
	                      .type = type,
	                      .width = width};
	struct rh_comm_error err = {0};

	assert_true(in && out);
	for (size_t i = 0; i < 3 * (size_t)width; i++)
		in[i * size] = (uint8_t)(i % 100);
	if (rh_ps_run(ps, &op, 1, &err) < 0)
		fail_msg("width %d: %s", (int)width, err.text);
	op.what = RH_PS_PUSH_PULL_ROWS;
	op.rows = index;
	op.row_count = 3;
	op.in = in;
	op.out = out;
	if (rh_ps_run(ps, &op, 1, &err) < 0)
		fail_msg("width %d: %s", (int)width, err.text);
	assert_memory_equal(in, out, 3 * (size_t)width * size);
	free(in);
	free(out);
}

static void test_rows__every_shape_is_kept(void **state)
{
	static const struct {
		int32_t type;
		int32_t width;
		uint64_t rows;
	} rows[] = {
		{RH_COMM_U8, 1, 300000}, {RH_COMM_U8, 4096, 5}, {RH_COMM_U8, 4095, 5}, {RH_COMM_U8, 2049, 5},
		{RH_COMM_F64, 1, 5000},  {RH_COMM_F64, 512, 9}, {RH_COMM_F64, 7, 3},   {RH_COMM_I64, 511, 100},
	};
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM}};
	struct rh_ps *ps;

	(void)state;
	servers_start(&servers, 2);
	ps = servers_connect(&servers, 0, false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_shape(ps, i, rows[i].type, rows[i].width, rows[i].rows);
	rh_ps_free(ps);
	servers_wait(&servers);
}

static void test_rows__refuses_wrong_operations(void **state)
{
	static const uint64_t good[] = {1, 1, 2};
	static const uint64_t descending[] = {3, 2};
	static const uint64_t far[] = {0, 10};
	static float buffer[40];
	static const struct {
		const char *name;
		struct rh_ps_op op;
		const char *words;
	} rows[] = {
		{"no width", {.what = RH_PS_PUSH_ROWS, .count = 40}, "op.width is 0"},
		{"negative width", {.what = RH_PS_INIT, .count = 40, .width = -1}, "op.width is -1"},
		{"a part of a row",
	     {.what = RH_PS_PULL, .count = 40, .width = 3, .out = buffer},
	     "op.count is 40 and must be a multiple of op.width, 3"},
		{"a row that is too long",
	     {.what = RH_PS_INIT, .count = 2048, .width = 2048},
	     "a row of 8192 bytes does not fit a part of 4096"},
		{"rows for all of the value",
	     {.what = RH_PS_PUSH, .count = 40, .width = 4, .in = buffer, .rows = good, .row_count = 3},
	     "op.rows is for RH_PS_PUSH_ROWS"},
		{"no rows",
	     {.what = RH_PS_PULL_ROWS, .count = 40, .width = 4, .out = buffer, .row_count = 3},
	     "op.rows is NULL"},
		{"no elements",
	     {.what = RH_PS_PUSH_ROWS, .count = 40, .width = 4, .rows = good, .row_count = 3},
	     "op.in is NULL"},
		{"nothing to pull into",
	     {.what = RH_PS_PUSH_PULL_ROWS, .count = 40, .width = 4, .in = buffer, .rows = good, .row_count = 3},
	     "op.out is NULL"},
		{"unsorted",
	     {.what = RH_PS_PUSH_ROWS, .count = 40, .width = 4, .in = buffer, .rows = descending, .row_count = 2},
	     "op.rows[1] is 2, after 3: sort the rows"},
		{"out of range",
	     {.what = RH_PS_PULL_ROWS, .count = 40, .width = 4, .out = buffer, .rows = far, .row_count = 2},
	     "op.rows[1] is 10 and must be below 10, the rows of the value"},
		{"an unknown key",
	     {.what = RH_PS_PUSH_ROWS, .key = 5, .count = 40, .width = 4, .in = buffer, .rows = good, .row_count = 3},
	     "key 5 part 0 is not known"},
		{"another width than at first",
	     {.what = RH_PS_PUSH_ROWS, .key = 1, .count = 40, .width = 8, .in = buffer, .rows = good, .row_count = 3},
	     "key 1 has rows of 4 elements, and the request rows of 8"},
		{"all of the value without its width",
	     {.what = RH_PS_PUSH, .key = 1, .count = 40, .in = buffer},
	     "key 1 has rows of 4 elements, and the request rows of 0"},
	};
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};
	struct rh_ps_op op = workers_op_on(RH_PS_INIT, 1, NULL, NULL, 40);
	struct rh_ps *ps;

	(void)state;
	servers_start(&servers, 1);
	ps = servers_connect(&servers, 0, false);
	op.width = 4;
	assert_int_equal(rh_ps_run(ps, &op, 1, NULL), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_comm_error err = {0};

		op = rows[i].op;
		op.size = sizeof(op);
		op.type = RH_COMM_F32;
		if (rh_ps_run(ps, &op, 1, &err) != RH_COMM_EINVAL || !strstr(err.text, rows[i].words))
			fail_msg("%s: %s", rows[i].name, err.text);
	}
	rh_ps_free(ps);
	servers_wait(&servers);
}

/* A caller that was compiled before there were rows: its operations end before them. */
static void test_rows__earlier_callers_go_on(void **state)
{
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};
	_Alignas(struct rh_ps_op) uint8_t ops[2 * offsetof(struct rh_ps_op, rows)];
	float values[2][3] = {{1, 2, 3}, {4, 5, 6}};
	struct rh_comm_error err = {0};
	struct rh_ps_op op;
	struct rh_ps *ps;

	(void)state;
	servers_start(&servers, 1);
	ps = servers_connect(&servers, 0, false);
	for (uint64_t i = 0; i < 2; i++) {
		op = workers_op_on(RH_PS_INIT, i, values[i], NULL, 3);
		op.size = offsetof(struct rh_ps_op, rows);
		memcpy(ops + i * op.size, &op, op.size);
	}
	assert_int_equal(rh_ps_run(ps, (const struct rh_ps_op *)(const void *)ops, 2, NULL), 0);
	memset(values, 0, sizeof(values));
	op = workers_op_on(RH_PS_PULL, 1, NULL, values[1], 3);
	assert_int_equal(rh_ps_run(ps, &op, 1, NULL), 0);
	assert_true(values[1][0] == 4 && values[1][2] == 6);
	/* one array has operations of one size */
	memcpy(ops + offsetof(struct rh_ps_op, rows), &(uint32_t){sizeof(op)}, sizeof(uint32_t));
	assert_int_equal(rh_ps_run(ps, (const struct rh_ps_op *)(const void *)ops, 2, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "op.size is 72"));
	rh_ps_free(ps);
	servers_wait(&servers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows__rounds_are_exact),
		cmocka_unit_test(test_rows__pushes_all_count_in_every_mode),
		cmocka_unit_test(test_rows__optimizers_learn),
		cmocka_unit_test(test_rows__every_shape_is_kept),
		cmocka_unit_test(test_rows__refuses_wrong_operations),
		cmocka_unit_test(test_rows__earlier_callers_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
