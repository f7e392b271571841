/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/options.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define WORDS_MOST 24
#define NEAR(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)

/* Words separated by blanks. "_" stands for a word without a letter. */
static int32_t read_line(const char *line, struct rh_bench_options *ret_options, char *why, size_t room)
{
	/* what the options borrow lives as long as the test */
	static char text[512];
	char *words[WORDS_MOST + 1] = {NULL};
	char *rest = text;
	size_t count = 0;

	(void)snprintf(text, sizeof(text), "%s", line);
	for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
		assert_true(count < WORDS_MOST);
		if (strcmp(word, "_") == 0)
			word[0] = '\0';
		if (*word || line[0])
			words[count++] = word;
	}
	why[0] = '\0';
	return rh_bench_options_read(words, ret_options, why, room);
}

static struct rh_bench_options read_good(const char *line)
{
	struct rh_bench_options options = {0};
	char why[256];

	print_message("%s\n", line);
	if (read_line(line, &options, why, sizeof(why)) != 0)
		fail_msg("%s: %s", line, why);
	return options;
}

static void test_options__defaults_of_bench(void **state)
{
	struct rh_bench_options options = read_good("bench");

	(void)state;
	assert_false(options.check);
	assert_false(options.json);
	assert_false(options.help);
	assert_int_equal(options.local, 0);
	assert_int_equal(options.parts, RH_BENCH_PAIRS | RH_BENCH_ALL_REDUCE | RH_BENCH_PUSH_PULL);
	assert_int_equal(options.time, 30000000);
	assert_int_equal(options.timeout, 0);
	NEAR(options.ratio, 0.5);
	NEAR(options.least, 0);
	assert_null(options.backend);
	assert_null(options.svg);
	assert_int_equal(options.size_count, 7);
	assert_int_equal(options.sizes[0], 8);
	assert_int_equal(options.sizes[6], 64 << 20);
}

static void test_options__defaults_of_check(void **state)
{
	struct rh_bench_options options = read_good("check");

	(void)state;
	assert_true(options.check);
	assert_int_equal(options.parts, RH_BENCH_PAIRS | RH_BENCH_ALL_REDUCE);
	assert_int_equal(options.time, 10000000);
	assert_int_equal(options.size_count, 3);
	assert_int_equal(options.sizes[1], 1 << 20);
}

static void test_options__every_option(void **state)
{
	struct rh_bench_options options =
		read_good("bench --local 4 --backend ucx --only pairs,push-pull --time 2.5 --timeout 7 --ratio 0.25 "
	              "--least 1.5 -o json --svg x.svg");

	(void)state;
	assert_int_equal(options.local, 4);
	assert_string_equal(options.backend, "ucx");
	assert_int_equal(options.parts, RH_BENCH_PAIRS | RH_BENCH_PUSH_PULL);
	assert_int_equal(options.time, 2500000);
	assert_int_equal(options.timeout, 7000000);
	NEAR(options.ratio, 0.25);
	NEAR(options.least, 1.5);
	assert_true(options.json);
	assert_string_equal(options.svg, "x.svg");
}

static void test_options__with_equals(void **state)
{
	struct rh_bench_options options = read_good("check --local=3 --output=json --svg=a=b.svg --only=all-reduce");

	(void)state;
	assert_int_equal(options.local, 3);
	assert_true(options.json);
	assert_string_equal(options.svg, "a=b.svg");
	assert_int_equal(options.parts, RH_BENCH_ALL_REDUCE);
}

static void test_options__the_last_counts(void **state)
{
	struct rh_bench_options options = read_good("check --local 3 --local 5 -o json -o text --sizes 8,16 --sizes 4");

	(void)state;
	assert_int_equal(options.local, 5);
	assert_false(options.json);
	assert_int_equal(options.size_count, 1);
	assert_int_equal(options.sizes[0], 4);
}

struct size_row {
	const char *line;
	size_t bytes;
};

static void test_options__sizes(void **state)
{
	static const struct size_row rows[] = {
		{"bench --sizes 4", 4},
		{"bench --sizes 1000", 1000},
		{"bench --sizes 2K", 2048},
		{"bench --sizes 2k", 2048},
		{"bench --sizes 25M", (size_t)25 << 20},
		{"bench --sizes 16G", (size_t)16 << 30},
	};
	struct rh_bench_options options;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		options = read_good(rows[i].line);
		assert_int_equal(options.size_count, 1);
		assert_int_equal(options.sizes[0], rows[i].bytes);
	}
	options = read_good("bench --sizes 8,64K,16M");
	assert_int_equal(options.size_count, 3);
	assert_int_equal(options.sizes[2], 16 << 20);
}

static void test_options__help(void **state)
{
	static const char *const lines[] = {"--help", "-h", "bench --help", "check --nonsense -h"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_true(read_good(lines[i]).help);
}

struct bad_row {
	const char *line;
	const char *why;
};

static void test_options__mistakes(void **state)
{
	static const struct bad_row rows[] = {
		{"", "must be bench or check"},
		{"bnech", "not \"bnech\""},
		{"--local 2", "not \"--local\""},
		{"bench --loacl 2", "unknown option \"--loacl\""},
		{"bench extra", "unknown option \"extra\""},
		{"bench --local", "--local needs a value"},
		{"bench --local=", "--local needs a value"},
		{"bench --local _", "--local needs a value"},
		{"bench --local 0", "--local \"0\" must be a whole number from 1 to 256"},
		{"bench --local 257", "from 1 to 256"},
		{"bench --local 2.5", "a whole number"},
		{"bench --local two", "\"two\""},
		{"bench --local 2x", "\"2x\""},
		{"bench --local nan", "\"nan\""},
		{"bench --time 0", "--time \"0\" must be seconds"},
		{"bench --time -1", "--time \"-1\""},
		{"bench --time 1e99", "--time \"1e99\""},
		{"bench --time inf", "--time \"inf\""},
		{"bench --timeout 0", "--timeout \"0\" must be seconds"},
		{"bench --ratio 1.1", "from 0 to 1"},
		{"bench --ratio -0.1", "from 0 to 1"},
		{"bench --least -1", "GB/s"},
		{"bench -o xml", "--output \"xml\" must be text or json"},
		{"bench --only nothing", "--only \"nothing\""},
		{"bench --only pairs,nothing", "--only \"nothing\""},
		{"bench --only ,", "--only \"\""},
		{"bench --sizes 0", "--sizes \"0\""},
		{"bench --sizes 6", "multiples of 4"},
		{"bench --sizes -4", "--sizes \"-4\""},
		{"bench --sizes 17G", "at most 16G"},
		{"bench --sizes 99999999999999999999", "at most 16G"},
		{"bench --sizes 8T", "--sizes \"8T\""},
		{"bench --sizes 8KB", "--sizes \"8KB\""},
		{"bench --sizes 64K,8", "ascending"},
		{"bench --sizes 8,8", "ascending"},
		{"bench --sizes 8,,16", "--sizes \"\""},
		{"bench --sizes 4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96,100", "at most 24"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_bench_options options = {.local = 77};
		char why[256];

		print_message("%s\n", rows[i].line);
		assert_int_equal(read_line(rows[i].line, &options, why, sizeof(why)), RH_COMM_EINVAL);
		if (!strstr(why, rows[i].why))
			fail_msg("\"%s\" does not say \"%s\"", why, rows[i].why);
		assert_int_equal(options.local, 77);
	}
}

static void test_options__a_long_word_is_cut(void **state)
{
	char line[400];
	char why[64];
	struct rh_bench_options options;

	(void)state;
	(void)snprintf(line, sizeof(line), "bench --sizes %0300d", 7);
	assert_int_equal(read_line(line, &options, why, sizeof(why)), RH_COMM_EINVAL);
	assert_true(strlen(why) < sizeof(why));
}

static void test_options__help_names_every_option(void **state)
{
	static const char *const names[] = {"--local", "--backend", "--only",   "--sizes",   "--time",
	                                    "--ratio", "--least",   "--output", "--timeout", "--svg"};
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	assert_non_null(out);
	rh_bench_options_help(out);
	assert_int_equal(fclose(out), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_non_null(strstr(text, names[i]));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options__defaults_of_bench),
		cmocka_unit_test(test_options__defaults_of_check),
		cmocka_unit_test(test_options__every_option),
		cmocka_unit_test(test_options__with_equals),
		cmocka_unit_test(test_options__the_last_counts),
		cmocka_unit_test(test_options__sizes),
		cmocka_unit_test(test_options__help),
		cmocka_unit_test(test_options__mistakes),
		cmocka_unit_test(test_options__a_long_word_is_cut),
		cmocka_unit_test(test_options__help_names_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
