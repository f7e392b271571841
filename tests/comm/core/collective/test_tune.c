/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/collective/tune.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static void test_tune__what_a_table_says(void **state)
{
	static const struct {
		const char *table;
		int32_t what;
		size_t bytes;
		int32_t world;
		const char *algorithm;
		size_t chunk;
	} rows[] = {
		{"", RH_COMM_ALL_REDUCE, 8, 2, NULL, 0},
		{"#", RH_COMM_ALL_REDUCE, 8, 2, NULL, 0},
		{"@ring", RH_COMM_ALL_REDUCE, 8, 2, "ring", 0},
		{"allreduce:@ring", RH_COMM_BROADCAST, 8, 2, NULL, 0},
		{"allreduce,bcast:@ring", RH_COMM_BROADCAST, 8, 2, "ring", 0},
		{"allreduce:0-8k:@flat#allreduce:8k-inf:@staged:chunk=64k", RH_COMM_ALL_REDUCE, 8191, 2, "flat", 0},
		{"allreduce:0-8k:@flat#allreduce:8k-inf:@staged:chunk=64k", RH_COMM_ALL_REDUCE, 8192, 2, "staged", 65536},
		{"1m-2M:@levels", RH_COMM_ALL_REDUCE, 1 << 20, 2, "levels", 0},
		{"1m-2M:@levels", RH_COMM_ALL_REDUCE, 1 << 21, 2, NULL, 0},
		{"[3-4]:@doubling", RH_COMM_ALL_REDUCE, 1, 2, NULL, 0},
		{"[3-4]:@doubling", RH_COMM_ALL_REDUCE, 1, 4, "doubling", 0},
		{"[3-inf]:@doubling", RH_COMM_ALL_REDUCE, 1, 4000, "doubling", 0},
		{"@ring#@flat", RH_COMM_ALL_REDUCE, 1, 4, "flat", 0},
		{"chunk=1g", RH_COMM_REDUCE_SCATTER, 1, 4, NULL, (size_t)1 << 30},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_error err = {.text = ""};
		struct rh_comm_tune tune = {0};
		struct rh_comm_rule rule;

		if (rh_comm_tune_parse(rows[i].table, &tune, &err) != 0)
			fail_msg("row %zu: %s", i, err.text);
		rule = rh_comm_tune_find(&tune, rows[i].what, rows[i].bytes, rows[i].world);
		if (rule.chunk != rows[i].chunk || !rule.algorithm != !rows[i].algorithm ||
		    (rule.algorithm && strcmp(rule.algorithm, rows[i].algorithm) != 0))
			fail_msg("row %zu: %s, %zu", i, rule.algorithm ? rule.algorithm : "nothing", rule.chunk);
	}
}

static void test_tune__mistakes(void **state)
{
	static const char *const tables[] = {
		"ring",
		"@fast",
		"allreduce:",
		":@ring",
		"0-",
		"8k-4k",
		"-1-3",
		"0-8q",
		"[2]",
		"[2-",
		"chunk=",
		"chunk=0",
		"chunk=-4",
		"allreduce,x",
		"0-99999999999999999999",
		"allreduce:@ring:huh",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct rh_comm_error err = {.text = ""};
		struct rh_comm_tune tune = {.count = 7};

		if (rh_comm_tune_parse(tables[i], &tune, &err) != RH_COMM_EINVAL || !strstr(err.text, "RH_COMM_TUNE"))
			fail_msg("\"%s\": %s", tables[i], err.text);
		assert_int_equal(tune.count, 7);
	}
}

static void test_tune__limits(void **state)
{
	char many[RH_COMM_RULES * 6 + 6] = "";
	char text[RH_COMM_TUNE_ROOM + 1];
	struct rh_comm_tune tune;

	(void)state;
	for (size_t i = 0; i < RH_COMM_RULES; i++)
		memcpy(many + i * 6, "@ring#", 6);
	assert_int_equal(rh_comm_tune_parse(many, &tune, NULL), 0);
	assert_int_equal(tune.count, RH_COMM_RULES);
	memcpy(many + (size_t)RH_COMM_RULES * 6, "@ring", 5);
	assert_int_equal(rh_comm_tune_parse(many, &tune, NULL), RH_COMM_EINVAL);
	memset(text, '#', sizeof(text));
	text[RH_COMM_TUNE_ROOM] = '\0';
	assert_int_equal(rh_comm_tune_parse(text, &tune, NULL), RH_COMM_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tune__what_a_table_says),
		cmocka_unit_test(test_tune__mistakes),
		cmocka_unit_test(test_tune__limits),
	};

	return cmocka_run_group_tests_name("comm/core/collective/tune", tests, NULL, NULL);
}
