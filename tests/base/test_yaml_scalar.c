/* SPDX-License-Identifier: Apache-2.0 */
#include "base/support.h"
#include "base/yaml_parts.h"

/* One scalar and what it means. */
struct scalar_row {
	const char *text;
	enum rh_yaml_kind kind;
	double number;
};

static void check_rows(const struct scalar_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double number = 0;

		support_row(rows[i].text);
		assert_int_equal(rh_yaml_resolve(rows[i].text, strlen(rows[i].text), &number), rows[i].kind);
		assert_true(number == rows[i].number);
	}
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void test_yaml_scalar__words(void **state)
{
	static const struct scalar_row rows[] = {
		{"", RH_YAML_NULL, 0},       {"~", RH_YAML_NULL, 0},    {"null", RH_YAML_NULL, 0},   {"Null", RH_YAML_NULL, 0},
		{"NULL", RH_YAML_NULL, 0},   {"true", RH_YAML_TRUE, 0}, {"True", RH_YAML_TRUE, 0},   {"TRUE", RH_YAML_TRUE, 0},
		{"yes", RH_YAML_TRUE, 0},    {"Yes", RH_YAML_TRUE, 0},  {"YES", RH_YAML_TRUE, 0},    {"on", RH_YAML_TRUE, 0},
		{"On", RH_YAML_TRUE, 0},     {"ON", RH_YAML_TRUE, 0},   {"y", RH_YAML_TRUE, 0},      {"Y", RH_YAML_TRUE, 0},
		{"false", RH_YAML_FALSE, 0}, {"no", RH_YAML_FALSE, 0},  {"NO", RH_YAML_FALSE, 0},    {"off", RH_YAML_FALSE, 0},
		{"n", RH_YAML_FALSE, 0},     {"N", RH_YAML_FALSE, 0},   {"False", RH_YAML_FALSE, 0}, {"Off", RH_YAML_FALSE, 0},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_yaml_scalar__words_that_are_text(void **state)
{
	static const struct scalar_row rows[] = {
		{"tRUE", RH_YAML_STRING, 0},     {"nUll", RH_YAML_STRING, 0},  {"yEs", RH_YAML_STRING, 0},
		{"none", RH_YAML_STRING, 0},     {"nil", RH_YAML_STRING, 0},   {"norway", RH_YAML_STRING, 0},
		{"oN", RH_YAML_STRING, 0},       {"Never", RH_YAML_STRING, 0}, {"Off ", RH_YAML_STRING, 0},
		{"<<", RH_YAML_STRING, 0},       {"=", RH_YAML_STRING, 0},     {"~x", RH_YAML_STRING, 0},
		{"\xC3\xA9", RH_YAML_STRING, 0},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_yaml_scalar__not_finite(void **state)
{
	static const struct scalar_row rows[] = {
		{".inf", RH_YAML_NOT_FINITE, 0},  {".Inf", RH_YAML_NOT_FINITE, 0},  {".INF", RH_YAML_NOT_FINITE, 0},
		{"-.inf", RH_YAML_NOT_FINITE, 0}, {"+.Inf", RH_YAML_NOT_FINITE, 0}, {".nan", RH_YAML_NOT_FINITE, 0},
		{".NaN", RH_YAML_NOT_FINITE, 0},  {".NAN", RH_YAML_NOT_FINITE, 0},  {"-.nan", RH_YAML_STRING, 0},
		{"+.NaN", RH_YAML_STRING, 0},     {"inf", RH_YAML_STRING, 0},       {"nan", RH_YAML_STRING, 0},
		{".iNF", RH_YAML_STRING, 0},      {"--.inf", RH_YAML_STRING, 0},    {"-.inf.", RH_YAML_STRING, 0},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_yaml_scalar__integers(void **state)
{
	static const struct scalar_row rows[] = {
		{"0", RH_YAML_NUMBER, 0},
		{"1", RH_YAML_NUMBER, 1},
		{"-1", RH_YAML_NUMBER, -1},
		{"+12", RH_YAML_NUMBER, 12},
		{"1_000", RH_YAML_NUMBER, 1000},
		{"1_", RH_YAML_NUMBER, 1},
		{"0x1F", RH_YAML_NUMBER, 31},
		{"0Xff", RH_YAML_NUMBER, 255},
		{"-0x10", RH_YAML_NUMBER, -16},
		{"0o17", RH_YAML_NUMBER, 15},
		{"017", RH_YAML_NUMBER, 15},
		{"-017", RH_YAML_NUMBER, -15},
		{"0755", RH_YAML_NUMBER, 493},
		{"0b101", RH_YAML_NUMBER, 5},
		{"-0b11", RH_YAML_NUMBER, -3},
		{"08", RH_YAML_NUMBER, 8},
		{"0789", RH_YAML_NUMBER, 789},
		{"00", RH_YAML_NUMBER, 0},
		{"0_7", RH_YAML_NUMBER, 7},
		{"0xFFFFFFFFFFFFFFFFFF", RH_YAML_NUMBER, 4722366482869645213695.0},
		{"9007199254740992", RH_YAML_NUMBER, 9007199254740992.0},
		{"18446744073709551616", RH_YAML_NUMBER, 18446744073709551616.0},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_yaml_scalar__decimals(void **state)
{
	static const struct scalar_row rows[] = {
		{"1.5", RH_YAML_NUMBER, 1.5},  {"-1.5", RH_YAML_NUMBER, -1.5}, {"+.5", RH_YAML_NUMBER, 0.5},
		{".5", RH_YAML_NUMBER, 0.5},   {"1.", RH_YAML_NUMBER, 1},      {"1e3", RH_YAML_NUMBER, 1000},
		{"1E3", RH_YAML_NUMBER, 1000}, {"1e+3", RH_YAML_NUMBER, 1000}, {"12e-1", RH_YAML_NUMBER, 1.2},
		{".5e1", RH_YAML_NUMBER, 5},   {"01.5", RH_YAML_NUMBER, 1.5},  {"685_230.15", RH_YAML_NUMBER, 685230.15},
		{"1e-999", RH_YAML_NUMBER, 0},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_yaml_scalar__texts_that_start_like_numbers(void **state)
{
	static const struct scalar_row rows[] = {
		{"-", RH_YAML_STRING, 0},         {"+", RH_YAML_STRING, 0},
		{".", RH_YAML_STRING, 0},         {"-.", RH_YAML_STRING, 0},
		{"..", RH_YAML_STRING, 0},        {"...", RH_YAML_STRING, 0},
		{"1.2.3", RH_YAML_STRING, 0},     {"10.0.0.1", RH_YAML_STRING, 0},
		{"1e", RH_YAML_STRING, 0},        {"1e+", RH_YAML_STRING, 0},
		{"e3", RH_YAML_STRING, 0},        {"0x", RH_YAML_STRING, 0},
		{"0xg", RH_YAML_STRING, 0},       {"0b2", RH_YAML_STRING, 0},
		{"0o8", RH_YAML_STRING, 0},       {"1a", RH_YAML_STRING, 0},
		{"1 2", RH_YAML_STRING, 0},       {"--1", RH_YAML_STRING, 0},
		{"100m", RH_YAML_STRING, 0},      {"4Gi", RH_YAML_STRING, 0},
		{"1e999", RH_YAML_STRING, 0},     {"_1", RH_YAML_STRING, 0},
		{"._5", RH_YAML_STRING, 0},       {"12:30:45", RH_YAML_STRING, 0},
		{"190:20:30", RH_YAML_STRING, 0}, {"2026-11-21", RH_YAML_STRING, 0},
		{"0x1.8p1", RH_YAML_STRING, 0},   {"2026-11-21T10:00:00Z", RH_YAML_STRING, 0},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_yaml_scalar__length_counts(void **state)
{
	double number = 0;

	(void)state;
	assert_int_equal(rh_yaml_resolve("12345", 2, &number), RH_YAML_NUMBER);
	assert_true(number == 12);
	assert_int_equal(rh_yaml_resolve("truex", 4, &number), RH_YAML_TRUE);
	assert_int_equal(rh_yaml_resolve("1\0002", 3, &number), RH_YAML_STRING);
	assert_int_equal(rh_yaml_resolve("true", 0, &number), RH_YAML_NULL);
}

static void test_yaml_scalar__endless_digits_are_text(void **state)
{
	char digits[400];
	double number = 0;

	(void)state;
	memset(digits, '1', sizeof(digits));
	assert_int_equal(rh_yaml_resolve(digits, 300, &number), RH_YAML_NUMBER);
	assert_int_equal(rh_yaml_resolve(digits, 301, &number), RH_YAML_STRING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yaml_scalar__words),
		cmocka_unit_test(test_yaml_scalar__words_that_are_text),
		cmocka_unit_test(test_yaml_scalar__not_finite),
		cmocka_unit_test(test_yaml_scalar__integers),
		cmocka_unit_test(test_yaml_scalar__decimals),
		cmocka_unit_test(test_yaml_scalar__texts_that_start_like_numbers),
		cmocka_unit_test(test_yaml_scalar__length_counts),
		cmocka_unit_test(test_yaml_scalar__endless_digits_are_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
