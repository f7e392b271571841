/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "job/support.h"
#include "job/values/quantity.h"

struct good_row {
	const char *text;
	int64_t milli;
};

static const struct good_row good_rows[] = {
	{"0", 0},
	{"1", 1000},
	{"+1", 1000},
	{"-1", -1000},
	{"007", 7000},
	{"1.5", 1500},
	{"1.", 1000},
	{".5", 500},
	{"0.001", 1},
	{"500m", 500},
	{"100u", 1},
	{"1n", 1},
	{"-1n", -1},
	{"0n", 0},
	{"1001u", 2},
	{"0.0001", 1},
	{"-0.0011", -2},
	{"2k", 2000000},
	{"2M", INT64_C(2000000000)},
	{"2G", INT64_C(2000000000000)},
	{"2T", INT64_C(2000000000000000)},
	{"2P", INT64_C(2000000000000000000)},
	{"1Ki", 1024000},
	{"1.5Gi", INT64_C(1610612736000)},
	{"1Mi", INT64_C(1048576000)},
	{"0.5Ki", 512000},
	{"1Ti", INT64_C(1099511627776000)},
	{"1Pi", INT64_C(1125899906842624000)},
	{"2e3", 2000000},
	{"2E3", 2000000},
	{"2e+3", 2000000},
	{"2e-3", 2},
	{"2e0", 2000},
	{"15e-1", 1500},
	{"1e-9", 1},
	{"0.1", 100},
	{"100000000000000000000000000000e-27", 100000},
	{"0.100000000000000000000000000000000", 100},
	{"0.100000000000000000000000000000001", 101},
	{"0.00000000000000000000000000000000000000000001", 1},
	{"9223372036854775.807", INT64_MAX},
	{"9223372036854775.806", INT64_MAX - 1},
	{"9223372036854775.808", INT64_MAX},
	{"9223372036854775807", INT64_MAX},
	{"-9223372036854775807", -INT64_MAX},
	{"1E", INT64_MAX},
	{"1Ei", INT64_MAX},
	{"-9Ei", -INT64_MAX},
	{"99999999999999999999999999999999999999999999", INT64_MAX},
	{"1e99999999999999999999", INT64_MAX},
	{"1e-99999999999999999999", 1},
	{"0e99999999999999999999", 0},
};

static void test_quantity__parse_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good_rows) / sizeof(good_rows[0]); i++) {
		int64_t milli = -77;

		if (rh_quantity_parse(good_rows[i].text, &milli, NULL) != 0 || milli != good_rows[i].milli)
			fail_msg("%s: got %lld", good_rows[i].text, (long long)milli);
	}
}

static const char *const bad_texts[] = {
	"",    " ",   "abc",  ".",   "+",   "-",    "+-1", "--1", "1 ",   " 1",   "1.2.3", "1,5",  "1K",
	"1ki", "1KI", "1kb",  "1GB", "1mm", "1e",   "1e+", "1e-", "1ee",  "1e3k", "1e1.5", "0x10", "1_000",
	"Gi",  "m",   "1Gi ", "inf", "nan", "1e3 ", "½",   "1i",  "1Eii", "1\n",  "e3",    ".e3",
};

static void test_quantity__parse_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(bad_texts[0]); i++) {
		struct rh_error err = {0};
		int64_t milli = -77;

		if (rh_quantity_parse(bad_texts[i], &milli, &err) != RH_EINVAL || milli != -77)
			fail_msg("\"%s\" was taken for %lld", bad_texts[i], (long long)milli);
		assert_non_null(strstr(err.message, bad_texts[i]));
	}
}

static void test_quantity__long_digits(void **state)
{
	char text[4096];
	int64_t milli = 0;

	(void)state;
	memset(text, '9', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(rh_quantity_parse(text, &milli, NULL), 0);
	assert_int_equal(milli, INT64_MAX);
	text[1] = '.';
	assert_int_equal(rh_quantity_parse(text, &milli, NULL), 0);
	assert_int_equal(milli, 10000);
}

struct json_row {
	const char *json;
	int result;
	int64_t milli;
};

static const struct json_row json_rows[] = {
	{"'1.5Gi'", 0, INT64_C(1610612736000)},
	{"'bad'", RH_EINVAL, 0},
	{"4", 0, 4000},
	{"0.1", 0, 100},
	{"0.3", 0, 300},
	{"-2", 0, -2000},
	{"1e30", 0, INT64_MAX},
	{"1e-30", 0, 1},
	{"2.5", 0, 2500},
	{"true", RH_EINVAL, 0},
	{"null", RH_EINVAL, 0},
	{"[]", RH_EINVAL, 0},
	{"{}", RH_EINVAL, 0},
};

static void test_quantity__from_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(json_rows) / sizeof(json_rows[0]); i++) {
		rh_auto(json) json = test_json(json_rows[i].json);
		int64_t milli = 0;

		if (rh_quantity_from_json(json, &milli, NULL) != json_rows[i].result || milli != json_rows[i].milli)
			fail_msg("%s: got %lld", json_rows[i].json, (long long)milli);
	}
	assert_int_equal(rh_quantity_from_json(NULL, &(int64_t){0}, NULL), RH_EINVAL);
}

struct sum_row {
	const char *json; /* a list: what is added, each once */
	int64_t times;
	const char *text;
};

/* As apimachinery's Quantity prints what Add() made. */
static const struct sum_row sum_rows[] = {
	{"[]", 1, "0"},
	{"['0']", 1, "0"},
	{"['2','2','2']", 1, "6"},
	{"['4Gi']", 3, "12Gi"},
	{"['500m']", 1, "500m"},
	{"['500m']", 2, "1"},
	{"['250m']", 6, "1500m"},
	{"[1000]", 1, "1k"},
	{"['1500']", 1, "1500"},
	{"['2M']", 1, "2M"},
	{"['1.5Gi']", 1, "1536Mi"},
	{"['512Mi','512Mi']", 1, "1Gi"},
	{"['1Gi','1']", 1, "1073741825"},
	{"['1','1Gi']", 1, "1073741825"},
	{"['0','1Gi']", 1, "1Gi"},
	{"['1000Mi']", 1, "1000Mi"},
	{"['0.5Ki']", 1, "512"},
	{"['1.0001Ki']", 1, "1025"},
	{"['2e3']", 1, "2e3"},
	{"['2e3']", 3, "6e3"},
	{"['5e-3']", 1, "5e-3"},
	{"['15e0']", 1, "15"},
	{"['-2Gi']", 1, "-2Gi"},
	{"['-1.5Ki']", 1, "-1536"},
	{"['1Pi']", 1000, "9223372036854776"},
	{"['1G']", 0, "0"},
};

static void test_quantity__sums(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sum_rows) / sizeof(sum_rows[0]); i++) {
		rh_auto(json) list = test_json(sum_rows[i].json);
		struct rh_quantity sum = {0};
		char text[RH_QUANTITY_SIZE];

		for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
			struct rh_quantity quantity;

			assert_int_equal(rh_quantity_read(item, &quantity, NULL), 0);
			rh_quantity_add(&sum, &quantity, sum_rows[i].times);
		}
		if (strcmp(rh_quantity_print(&sum, text), sum_rows[i].text) != 0)
			fail_msg("%s: %s, not %s", sum_rows[i].json, text, sum_rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantity__parse_good),  cmocka_unit_test(test_quantity__parse_bad),
		cmocka_unit_test(test_quantity__long_digits), cmocka_unit_test(test_quantity__from_json),
		cmocka_unit_test(test_quantity__sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
