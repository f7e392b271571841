/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/measure.h"
#include "comm/bench/options.h"
#include "comm/bench/print.h"
#include "comm/bench/result/result.h"
#include "comm/bench/result/verdict.h"

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

enum form { TEXT, JSON, SVG };

/* Pairs reach 10 and 0.5 us on a host, 1 and 20 us between hosts of two; but from 0 to 1 it is 2. */
static void make_result(int32_t world, struct rh_bench_result *result)
{
	assert_int_equal(rh_bench_result_init(result, world), 0);
	(void)snprintf(result->backend, sizeof(result->backend), "native");
	for (int32_t i = 0; i < world; i++) {
		result->hosts[i] = i / 2;
		result->copy[i] = 7 + i;
		result->ready[i] = 3.5;
	}
	for (int32_t a = 0; a < world; a++) {
		for (int32_t b = 0; b < world; b++) {
			size_t cell = (size_t)a * (size_t)world + (size_t)b;

			if (a != b)
				result->bandwidth[cell] = a / 2 == b / 2 ? 10 : 1;
			if (a != b)
				result->latency[cell] = a / 2 == b / 2 ? 0.5 : 20;
		}
	}
	if (world > 1)
		result->bandwidth[1] = 2;
	result->sizes[0] = (struct rh_bench_size){8, 60, 0.1, 0.125};
	result->sizes[1] = (struct rh_bench_size){1000000, 30, 90, 100};
	result->size_count = 2;
	result->push_pull = (struct rh_bench_push_pull){3.25, 200000};
}

static const struct rh_bench_finding slow_pair = {RH_BENCH_SLOW_BANDWIDTH, 0, 1, 2, 10, 0.2};

static char *print(int32_t world, enum form form, bool slow, bool check)
{
	struct rh_bench_finding finding = slow_pair;
	const struct rh_bench_verdict verdict = {&finding, slow ? 1 : 0};
	const struct rh_bench_options options = {.check = check, .parts = RH_BENCH_PAIRS};
	struct rh_bench_result result;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	make_result(world, &result);
	if (form == TEXT)
		rh_bench_print_text(&result, &options, &verdict, out);
	else if (form == JSON)
		rh_bench_print_json(&result, &options, &verdict, out);
	else
		rh_bench_print_svg(&result, &verdict, out);
	assert_int_equal(fclose(out), 0);
	rh_bench_result_deinit(&result);
	return text;
}

static size_t count(const char *text, const char *word)
{
	size_t length = strlen(word);
	size_t n = 0;

	/* sanitizers measure the whole rest of the text at each strstr() */
	for (const char *at = text; *at; at++)
		n += *at == *word && strncmp(at, word, length) == 0;
	return n;
}

static void says(const char *text, const char *word)
{
	if (!strstr(text, word))
		fail_msg("\"%s\" is not in:\n%s", word, text);
}

static void test_print__text(void **state)
{
	char *text = print(4, TEXT, true, false);

	(void)state;
	says(text, "4 ranks on 2 hosts, backend native; the last was ready after 3.5 ms, the slowest copies 7 GB/s\n");
	says(text, "on one host           2        0.5       0.5       0.5         10         2        10\n");
	says(text, "between hosts         4         20        20        20          1         1         1\n");
	says(text, "     0       -       2       1       1\n");
	/* 1,000,000 bytes in 100 us are 10 GB/s; 4 ranks: busbw is 1.5 of that */
	says(text, "     1000000      30        90.00       100.00     10.000     15.000\n");
	says(text, "4 workers: push and pull at once 3.25 GB/s each way at 4 MB, 2e+05 keys");
	says(text, "slow: rank 0 to 1: 2 GB/s, 0.20 of the median of pairs like it\n");
	assert_null(strstr(text, "fine:"));
	free(text);
}

static void test_print__text_of_a_check_is_the_verdict(void **state)
{
	char *text = print(4, TEXT, false, true);

	(void)state;
	says(text, "fine: no pair or rank is slow beside its like\n");
	assert_null(strstr(text, "busbw"));
	assert_int_equal(count(text, "\n"), 2);
	free(text);
}

static void test_print__text_of_large_worlds_has_no_matrix(void **state)
{
	char *text = print(16, TEXT, false, false);

	(void)state;
	says(text, "from rank (row) to rank (column)");
	free(text);
	text = print(17, TEXT, false, false);
	assert_null(strstr(text, "from rank (row) to rank (column)"));
	says(text, "between hosts");
	free(text);
}

static void test_print__text_of_one_rank(void **state)
{
	char *text = print(1, TEXT, false, false);

	(void)state;
	says(text, "1 rank on 1 host,");
	assert_null(strstr(text, "latency us"));
	free(text);
}

static void test_print__json(void **state)
{
	char *text = print(4, JSON, true, false);

	(void)state;
	says(text, "\"status\": 1,\n");
	says(text, "\"world\": 4,\n");
	says(text, "{\"rank\": 3, \"host\": 1, \"readyMs\": 3.5, \"copyGBps\": 10}");
	says(text, "[0, 2, 1, 1],\n");
	says(text, "{\"bytes\": 1000000, \"rounds\": 30, \"bestUs\": 90, \"medianUs\": 100, \"algbwGBps\": 10, "
	           "\"busbwGBps\": 15}");
	says(text, "\"pushPull\": {\"workers\": 4, \"GBps\": 3.25, \"keysPerSecond\": 200000}");
	says(text, "{\"kind\": \"slow-bandwidth\", \"from\": 0, \"to\": 1, \"value\": 2, \"median\": 10, \"ratio\": 0.2, "
	           "\"text\": ");
	free(text);
}

static void test_print__json_of_a_fine_run(void **state)
{
	char *text = print(2, JSON, false, true);

	(void)state;
	says(text, "\"status\": 0,\n");
	says(text, "\"findings\": [\n  ]\n}\n");
	free(text);
}

static char *print_failure(const char *words)
{
	struct rh_comm_error err = {.code = RH_COMM_EPEER, .rank = 3};
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	(void)snprintf(err.text, sizeof(err.text), "%s", words);
	rh_bench_print_json_error(&err, RH_BENCH_UNREACHABLE, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_print__json_of_a_failure(void **state)
{
	char *text = print_failure("rank 3 died");

	(void)state;
	assert_string_equal(
		text, "{\n  \"status\": 2,\n  \"error\": {\"code\": -20, \"rank\": 3, \"text\": \"rank 3 died\"}\n}\n");
	free(text);
}

static void test_print__json_quotes(void **state)
{
	char *text = print_failure("a \"b\" \\ \n \x01 \xc3\xa9");

	(void)state;
	says(text, "\"a \\\"b\\\" \\\\ \\u000a \\u0001 \\ufffd\\ufffd\"");
	free(text);
}

static void test_print__json_knows_no_infinity(void **state)
{
	const struct rh_bench_options options = {0};
	const struct rh_bench_verdict verdict = {0};
	struct rh_bench_result result;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	make_result(2, &result);
	result.copy[0] = INFINITY;
	result.copy[1] = NAN;
	rh_bench_print_json(&result, &options, &verdict, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(count(text, "\"copyGBps\": null"), 2);
	rh_bench_result_deinit(&result);
	free(text);
}

static void test_print__svg(void **state)
{
	char *text = print(4, SVG, true, false);

	(void)state;
	assert_int_equal(strncmp(text, "<svg xmlns=", 11), 0);
	says(text, "</svg>\n");
	assert_int_equal(count(text, "<title>rank "), 12);
	says(text, "<title>rank 0 to 1: 2 GB/s, 0.5 us, slow</title>");
	says(text, "<title>rank 1 to 0: 10 GB/s, 0.5 us</title>");
	/* the cell and the legend */
	assert_int_equal(count(text, "#d7301f"), 2);
	says(text, ">10 GB/s</text>");
	free(text);
}

static void test_print__svg_of_a_fine_run_has_no_frame(void **state)
{
	char *text = print(4, SVG, false, false);

	(void)state;
	assert_null(strstr(text, "#d7301f"));
	free(text);
}

static void test_print__svg_of_any_world_is_whole(void **state)
{
	static const int32_t worlds[] = {1, 2, 3, 16, 17, 64, 120};

	(void)state;
	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
		char *text = print(worlds[i], SVG, worlds[i] > 1, false);

		assert_int_equal(count(text, "<title>"), (size_t)(worlds[i] * (worlds[i] - 1)));
		assert_int_equal(count(text, "<rect"), count(text, "/>") + count(text, "</rect>"));
		assert_int_equal(count(text, "<text"), count(text, "</text>"));
		assert_int_equal(count(text, "</svg>"), 1);
		assert_null(strstr(text, "nan"));
		free(text);
	}
}

/* Cells too small for a number have none. */
static void test_print__svg_of_many_ranks_has_no_digits(void **state)
{
	char *text = print(64, SVG, false, false);

	(void)state;
	assert_null(strstr(text, ">1.00</text>"));
	free(text);
	text = print(8, SVG, false, false);
	says(text, ">1.00</text>");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print__text),
		cmocka_unit_test(test_print__text_of_a_check_is_the_verdict),
		cmocka_unit_test(test_print__text_of_large_worlds_has_no_matrix),
		cmocka_unit_test(test_print__text_of_one_rank),
		cmocka_unit_test(test_print__json),
		cmocka_unit_test(test_print__json_of_a_fine_run),
		cmocka_unit_test(test_print__json_of_a_failure),
		cmocka_unit_test(test_print__json_quotes),
		cmocka_unit_test(test_print__json_knows_no_infinity),
		cmocka_unit_test(test_print__svg),
		cmocka_unit_test(test_print__svg_of_a_fine_run_has_no_frame),
		cmocka_unit_test(test_print__svg_of_any_world_is_whole),
		cmocka_unit_test(test_print__svg_of_many_ranks_has_no_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
