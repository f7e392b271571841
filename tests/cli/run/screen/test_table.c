/* SPDX-License-Identifier: Apache-2.0 */
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

#include "base/mem.h"
#include "base/os/clock.h"
#include "cli/run/screen/table.h"

/* The narrowest terminal that the columns fit into. */
#define NARROWEST 40
#define LINES_MAX 8

/* What was printed, and its lines without their ends. */
struct printed {
	char *text;
	char *lines[LINES_MAX];
	size_t count;
};

static void table_fill(struct rh_table *table, const struct rh_run_replica *replicas, size_t count, bool multiple)
{
	for (size_t i = 0; i < count; i++)
		rh_table_add(table, &replicas[i], multiple);
	assert_int_equal(table->count, count);
}

static struct printed print(const struct rh_table *table, size_t width)
{
	struct printed printed = {0};
	size_t size;
	FILE *out = open_memstream(&printed.text, &size);
	char *rest = NULL;

	assert_non_null(out);
	rh_table_print(table, width, out);
	assert_int_equal(fclose(out), 0);
	for (char *line = strtok_r(printed.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		assert_true(printed.count < LINES_MAX);
		printed.lines[printed.count++] = line;
	}
	return printed;
}

static void assert_printed(const struct rh_table *table, size_t width, const char *const *lines, size_t count)
{
	struct printed printed = print(table, width);

	assert_int_equal(printed.count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(printed.lines[i], lines[i]);
	free(printed.text);
}

static const struct rh_run_replica replicas[] = {
	{.job = "digits", .type = "Master", .outcome = "Succeeded", .exit_code = 0, .duration = 90 * RH_SECOND},
	{.job = "digits",
     .type = "Worker",
     .index = 11,
     .outcome = "Failed",
     .container = "data-loader",
     .exit_code = 137,
     .restarts = 3,
     .duration = 12 * RH_SECOND},
	{.job = "digits", .type = "Worker", .index = 2, .outcome = "Never started", .exit_code = -1},
};

#define REPLICAS (sizeof(replicas) / sizeof(replicas[0]))

static void test_table__nothing_without_rows(void **state)
{
	struct rh_table table = {0};
	struct printed printed = print(&table, 0);

	(void)state;
	assert_int_equal(printed.count, 0);
	free(printed.text);
	rh_table_deinit(&table);
}

static void test_table__columns(void **state)
{
	static const char *const lines[] = {
		"REPLICA   OUTCOME              EXIT RESTARTS DURATION",
		"Master-0  Succeeded               0        0    1m30s",
		"Worker-11 Failed (data-loader)  137        3      12s",
		"Worker-2  Never started           -        0     0.0s",
	};
	struct rh_table table = {0};

	(void)state;
	table_fill(&table, replicas, REPLICAS, false);
	/* a terminal that is wide enough is no limit */
	assert_printed(&table, 0, lines, REPLICAS + 1);
	assert_printed(&table, strlen(lines[0]), lines, REPLICAS + 1);
	assert_printed(&table, 1000, lines, REPLICAS + 1);
	rh_table_deinit(&table);
}

static void test_table__several_jobs(void **state)
{
	static const char *const lines[] = {
		"REPLICA          OUTCOME              EXIT RESTARTS DURATION",
		"digits/Master-0  Succeeded               0        0    1m30s",
		"digits/Worker-11 Failed (data-loader)  137        3      12s",
		"digits/Worker-2  Never started           -        0     0.0s",
	};
	struct rh_table table = {0};

	(void)state;
	table_fill(&table, replicas, REPLICAS, true);
	assert_printed(&table, 0, lines, REPLICAS + 1);
	rh_table_deinit(&table);
}

static const struct rh_run_replica long_names[] = {
	{.job = "a-job-whose-name-has-as-many-letters-as-a-label-may-have-on-it",
     .type = "Worker",
     .index = 7,
     .outcome = "Failed",
     .container = "a-container-whose-name-is-long-too",
     .exit_code = 1,
     .duration = 59 * RH_SECOND},
	{.job = "a-job-whose-name-has-as-many-letters-as-a-label-may-have-on-it",
     .type = "Worker",
     .index = 1234,
     .outcome = "Succeeded",
     .duration = 59 * RH_SECOND},
};

static void test_table__names_are_cut_in_the_middle(void **state)
{
	struct rh_table table = {0};
	struct printed printed;

	(void)state;
	table_fill(&table, long_names, 2, true);
	printed = print(&table, 90);
	assert_int_equal(printed.count, 3);
	/* the replica stays whole where there is room for it */
	assert_memory_equal(printed.lines[1], "a-job-", strlen("a-job-"));
	assert_non_null(strstr(printed.lines[1], "/Worker-7 "));
	assert_non_null(strstr(printed.lines[2], "/Worker-1234 "));
	free(printed.text);
	rh_table_deinit(&table);
}

/* From 40 columns on no line is wider than the terminal, and the end of a name, which has the index, stays. */
static void test_table__every_width(void **state)
{
	(void)state;
	for (int multiple = 0; multiple < 2; multiple++) {
		struct rh_table table = {0};

		table_fill(&table, long_names, 2, multiple != 0);
		for (size_t width = NARROWEST; width <= 160; width++) {
			struct printed printed = print(&table, width);

			assert_int_equal(printed.count, 3);
			for (size_t i = 0; i < printed.count; i++) {
				assert_true(strlen(printed.lines[i]) <= width);
				assert_int_equal(strlen(printed.lines[i]), strlen(printed.lines[0]));
			}
			assert_memory_equal(strchr(printed.lines[1], ' ') - 2, "-7", 2);
			assert_memory_equal(strchr(printed.lines[2], ' ') - 2, "34", 2);
			free(printed.text);
		}
		rh_table_deinit(&table);
	}
}

/* Narrower than all columns together: the names stay readable, and the terminal wraps. */
static void test_table__too_narrow(void **state)
{
	static const char *const lines[] = {
		"REPLICA  OUTCOME  EXIT RESTARTS DURATION",
		"Master-0 Su...ded    0        0    1m30s",
		"Wo...-11 Fa...er)  137        3      12s",
		"Worker-2 Ne...ted    -        0     0.0s",
	};
	struct rh_table table = {0};

	(void)state;
	table_fill(&table, replicas, REPLICAS, false);
	for (size_t width = 1; width <= NARROWEST; width++)
		assert_printed(&table, width, lines, REPLICAS + 1);
	rh_table_deinit(&table);
}

static void test_table__failing_allocations(void **state)
{
	long failures = 0;
	size_t rows;

	(void)state;
	do {
		struct rh_table table = {0};

		rh_mem_fail_after(failures++);
		for (size_t i = 0; i < REPLICAS; i++)
			rh_table_add(&table, &replicas[i], false);
		rh_mem_fail_after(-1);
		rows = table.count;
		if (rows > 0 && (!table.rows[rows - 1].replica || !table.rows[rows - 1].outcome)) {
			struct printed printed = print(&table, 0);

			assert_non_null(strchr(printed.lines[rows], '?'));
			free(printed.text);
			rows = 0;
		}
		rh_table_deinit(&table);
	} while (rows < REPLICAS);
	assert_true(failures > (long)REPLICAS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table__nothing_without_rows), cmocka_unit_test(test_table__columns),
		cmocka_unit_test(test_table__several_jobs),         cmocka_unit_test(test_table__names_are_cut_in_the_middle),
		cmocka_unit_test(test_table__every_width),          cmocka_unit_test(test_table__too_narrow),
		cmocka_unit_test(test_table__failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
