/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of collectives: what differs has another one, and words for it. */
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/bootstrap/protocol/label.h"

static const struct {
	struct rh_comm_op op;
	const char *text;
} rows[] = {
	{{.what = RH_COMM_ALL_REDUCE, .count = 4, .type = RH_COMM_F32, .reduce = RH_COMM_SUM}, "all-reduce of 4 f32, sum"},
	{{.what = RH_COMM_ALL_REDUCE, .count = 4, .type = RH_COMM_F32, .reduce = RH_COMM_MAX}, "all-reduce of 4 f32, max"},
	{{.what = RH_COMM_ALL_REDUCE, .count = 4, .type = RH_COMM_U8, .reduce = RH_COMM_AVG}, "all-reduce of 4 u8, avg"},
	{{.what = RH_COMM_ALL_REDUCE, .count = 17179869183, .type = RH_COMM_U8, .reduce = RH_COMM_PROD},
     "all-reduce of 17179869183 u8, prod"},
	{{.what = RH_COMM_REDUCE_SCATTER, .count = 1, .type = RH_COMM_I64, .reduce = RH_COMM_MIN},
     "reduce-scatter of 1 i64, min"},
	{{.what = RH_COMM_ALL_GATHER, .count = 0, .type = RH_COMM_BF16}, "all-gather of 0 bf16"},
	{{.what = RH_COMM_ALL_GATHER, .count = 3, .type = RH_COMM_F8_E5M2}, "all-gather of 3 e5m2"},
	{{.what = RH_COMM_ALL_REDUCE, .count = 4, .type = RH_COMM_U64, .reduce = RH_COMM_BXOR},
     "all-reduce of 4 u64, bxor"},
	{{.what = RH_COMM_ALL_REDUCE, .count = 4, .type = RH_COMM_I16, .reduce = RH_COMM_BAND},
     "all-reduce of 4 i16, band"},
	{{.what = RH_COMM_BROADCAST, .count = 7, .type = RH_COMM_F64, .peer = 65535}, "broadcast of 7 f64 from rank 65535"},
	{{.what = RH_COMM_BARRIER}, "barrier"},
	{{.what = RH_COMM_ALL_TO_ALL, .count = 9, .type = RH_COMM_I8}, "all-to-all of 9 i8"},
	{{.what = RH_COMM_ALL_TO_ALL_V, .type = RH_COMM_I8}, "all-to-all-v of i8"},
	{{.what = RH_COMM_GATHER, .count = 2, .type = RH_COMM_F32, .peer = 3}, "gather of 2 f32 to rank 3"},
	{{.what = RH_COMM_GATHER_V, .count = 2, .type = RH_COMM_F32, .peer = 3}, "gather-v of f32 to rank 3"},
	{{.what = RH_COMM_SCATTER, .count = 2, .type = RH_COMM_F32, .peer = 65535}, "scatter of 2 f32 from rank 65535"},
	{{.what = RH_COMM_SCATTER_V, .type = RH_COMM_F32, .peer = 0}, "scatter-v of f32 from rank 0"},
	{{.what = RH_COMM_REDUCE, .count = 2, .type = RH_COMM_F32, .reduce = RH_COMM_MIN, .peer = 1},
     "reduce of 2 f32, min to rank 1"},
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* In the world, where a root has one number only. */
static uint64_t label_of(const struct rh_comm_op *op)
{
	return rh_comm_label(op, op->peer);
}

static void test_label__words(void **state)
{
	char text[120];

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		rh_comm_label_text(label_of(&rows[i].op), text, sizeof(text));
		assert_string_equal(text, rows[i].text);
		for (size_t j = 0; j < i; j++)
			assert_true(label_of(&rows[i].op) != label_of(&rows[j].op));
	}
}

/* What does not matter for an operation is no part of its label. */
static void test_label__only_what_matters(void **state)
{
	const struct rh_comm_op barriers[] = {{.what = RH_COMM_BARRIER},
	                                      {.what = RH_COMM_BARRIER, .count = 9, .type = 3, .peer = 1, .reduce = 2}};
	const struct rh_comm_op sums[] = {{.what = RH_COMM_ALL_REDUCE, .count = 1, .type = 1, .reduce = 1},
	                                  {.what = RH_COMM_ALL_REDUCE, .count = 1, .type = 1, .reduce = 1, .peer = 5}};
	const struct rh_comm_op gathers[] = {{.what = RH_COMM_ALL_GATHER, .count = 1, .type = 1},
	                                     {.what = RH_COMM_ALL_GATHER, .count = 1, .type = 1, .reduce = 3, .peer = 2}};

	(void)state;
	assert_true(label_of(&barriers[0]) == label_of(&barriers[1]));
	assert_true(label_of(&sums[0]) == label_of(&sums[1]));
	assert_true(label_of(&gathers[0]) == label_of(&gathers[1]));
}

/* Lists are part of the label; with the same sum, too. */
static void test_label__lists(void **state)
{
	static const size_t lists[][3] = {{1, 2, 3}, {3, 2, 1}, {0, 3, 3}, {6, 0, 0}};
	struct rh_comm_op op = {.what = RH_COMM_REDUCE_SCATTER_V, .type = RH_COMM_F32, .reduce = RH_COMM_MAX};
	static const char start[] = "reduce-scatter-v of 6 f32, max in all, with the list of counts ";
	uint64_t labels[4];
	char text[120];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		op.in_counts = lists[i];
		labels[i] = rh_comm_label_listed(&op, 3);
		assert_true(labels[i] == rh_comm_label_listed(&op, 3));
		for (size_t j = 0; j < i; j++)
			assert_true(labels[i] != labels[j]);
		rh_comm_label_text(labels[i], text, sizeof(text));
		assert_memory_equal(text, start, sizeof(start) - 1);
	}
}

/* An id has the number in its low bits, and stands for all that came before. */
static void test_label__ids_distinguish_histories(void **state)
{
	uint64_t sum = label_of(&rows[0].op);
	uint64_t max = label_of(&rows[1].op);
	uint64_t one = rh_comm_history(rh_comm_history(0, sum), max);
	uint64_t other = rh_comm_history(rh_comm_history(0, max), sum);

	(void)state;
	assert_true(one != other);
	assert_int_equal(rh_comm_id(one, 5) & ((1 << RH_COMM_ID_BITS) - 1), 5);
	assert_true(rh_comm_id(one, 5) != rh_comm_id(other, 5));
	assert_int_equal(rh_comm_id(one, UINT64_C(1) << RH_COMM_ID_BITS) & ((1 << RH_COMM_ID_BITS) - 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_label__words),
		cmocka_unit_test(test_label__only_what_matters),
		cmocka_unit_test(test_label__lists),
		cmocka_unit_test(test_label__ids_distinguish_histories),
	};

	return cmocka_run_group_tests_name("comm/core/bootstrap/protocol/label", tests, NULL, NULL);
}
