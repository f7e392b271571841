/* SPDX-License-Identifier: Apache-2.0 */
#include "base/support.h"
#include "base/yaml/parts.h"

/* One scalar and what it means. */
struct scalar_row {
	const char *text;
	enum rh_yaml_kind kind;
	const char *number; /* in JSON's form */
};

static void check_rows(const struct scalar_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct rh_yaml_number number = {""};

		support_row(rows[i].text);
		assert_int_equal(rh_yaml_resolve(rows[i].text, strlen(rows[i].text), &number), rows[i].kind);
		assert_string_equal(number.text, rows[i].number);
	}
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void test_scalar__words(void **state)
{
	static const struct scalar_row rows[] = {
		{"", RH_YAML_NULL, ""},     {"~", RH_YAML_NULL, ""},      {"null", RH_YAML_NULL, ""},
		{"Null", RH_YAML_NULL, ""}, {"NULL", RH_YAML_NULL, ""},   {"true", RH_YAML_TRUE, ""},
		{"True", RH_YAML_TRUE, ""}, {"TRUE", RH_YAML_TRUE, ""},   {"yes", RH_YAML_TRUE, ""},
		{"Yes", RH_YAML_TRUE, ""},  {"YES", RH_YAML_TRUE, ""},    {"on", RH_YAML_TRUE, ""},
		{"On", RH_YAML_TRUE, ""},   {"ON", RH_YAML_TRUE, ""},     {"y", RH_YAML_TRUE, ""},
		{"Y", RH_YAML_TRUE, ""},    {"false", RH_YAML_FALSE, ""}, {"no", RH_YAML_FALSE, ""},
		{"NO", RH_YAML_FALSE, ""},  {"off", RH_YAML_FALSE, ""},   {"n", RH_YAML_FALSE, ""},
		{"N", RH_YAML_FALSE, ""},   {"False", RH_YAML_FALSE, ""}, {"Off", RH_YAML_FALSE, ""},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_scalar__words_that_are_text(void **state)
{
	static const struct scalar_row rows[] = {
		{"tRUE", RH_YAML_STRING, ""},     {"nUll", RH_YAML_STRING, ""},  {"yEs", RH_YAML_STRING, ""},
		{"none", RH_YAML_STRING, ""},     {"nil", RH_YAML_STRING, ""},   {"norway", RH_YAML_STRING, ""},
		{"oN", RH_YAML_STRING, ""},       {"Never", RH_YAML_STRING, ""}, {"Off ", RH_YAML_STRING, ""},
		{"<<", RH_YAML_STRING, ""},       {"=", RH_YAML_STRING, ""},     {"~x", RH_YAML_STRING, ""},
		{"\xC3\xA9", RH_YAML_STRING, ""},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_scalar__not_finite(void **state)
{
	static const struct scalar_row rows[] = {
		{".inf", RH_YAML_NOT_FINITE, ""},  {".Inf", RH_YAML_NOT_FINITE, ""},  {".INF", RH_YAML_NOT_FINITE, ""},
		{"-.inf", RH_YAML_NOT_FINITE, ""}, {"+.Inf", RH_YAML_NOT_FINITE, ""}, {".nan", RH_YAML_NOT_FINITE, ""},
		{".NaN", RH_YAML_NOT_FINITE, ""},  {".NAN", RH_YAML_NOT_FINITE, ""},  {"-.nan", RH_YAML_STRING, ""},
		{"+.NaN", RH_YAML_STRING, ""},     {"inf", RH_YAML_STRING, ""},       {"nan", RH_YAML_STRING, ""},
		{".iNF", RH_YAML_STRING, ""},      {"--.inf", RH_YAML_STRING, ""},    {"-.inf.", RH_YAML_STRING, ""},
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* What kubectl makes of them. */
static void test_scalar__integers(void **state)
{
	static const struct scalar_row rows[] = {
		{"0", RH_YAML_INTEGER, "0"},      {"-0", RH_YAML_INTEGER, "-0"},     {"1", RH_YAML_INTEGER, "1"},
		{"-1", RH_YAML_INTEGER, "-1"},    {"+12", RH_YAML_INTEGER, "12"},    {"1_000", RH_YAML_INTEGER, "1000"},
		{"1__0", RH_YAML_INTEGER, "10"},  {"1_", RH_YAML_INTEGER, "1"},      {"0x1F", RH_YAML_INTEGER, "31"},
		{"0Xff", RH_YAML_INTEGER, "255"}, {"-0x10", RH_YAML_INTEGER, "-16"}, {"0o17", RH_YAML_INTEGER, "15"},
		{"017", RH_YAML_INTEGER, "15"},   {"-017", RH_YAML_INTEGER, "-15"},  {"0755", RH_YAML_INTEGER, "493"},
		{"0b101", RH_YAML_INTEGER, "5"},  {"-0b11", RH_YAML_INTEGER, "-3"},  {"00", RH_YAML_INTEGER, "0"},
		{"0_7", RH_YAML_INTEGER, "7"},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_scalar__large_integers(void **state)
{
	static const struct scalar_row rows[] = {
		{"9007199254740993", RH_YAML_INTEGER, "9007199254740993"},
		{"9223372036854775807", RH_YAML_INTEGER, "9223372036854775807"},
		{"-9223372036854775808", RH_YAML_INTEGER, "-9223372036854775808"},
		{"+9223372036854775807", RH_YAML_INTEGER, "9223372036854775807"},
		{"9_223_372_036_854_775_807", RH_YAML_INTEGER, "9223372036854775807"},
		{"0x7fffffffffffffff", RH_YAML_INTEGER, "9223372036854775807"},
		{"-0x8000000000000000", RH_YAML_INTEGER, "-9223372036854775808"},
		{"0777777777777777777777", RH_YAML_INTEGER, "9223372036854775807"},
		{"18446744073709551615", RH_YAML_INTEGER, "18446744073709551615"},
		{"0xFFFFFFFFFFFFFFFF", RH_YAML_INTEGER, "18446744073709551615"},
		{"18446744073709551616", RH_YAML_REAL, "18446744073709551616"},
		{"+9223372036854775808", RH_YAML_REAL, "9223372036854775808"},
		{"-9223372036854775809", RH_YAML_REAL, "-9223372036854775809"},
		{"0777777777777777777777777", RH_YAML_REAL, "777777777777777777777777"},
		{"0xFFFFFFFFFFFFFFFFF", RH_YAML_STRING, ""},
		{"-0x8000000000000001", RH_YAML_STRING, ""},
		{"+0xFFFFFFFFFFFFFFFF", RH_YAML_STRING, ""},
		{"0b11111111111111111111111111111111111111111111111111111111111111111", RH_YAML_STRING, ""},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_scalar__decimals(void **state)
{
	static const struct scalar_row rows[] = {
		{"1.5", RH_YAML_REAL, "1.5"},     {"-1.5", RH_YAML_REAL, "-1.5"},
		{"+.5", RH_YAML_REAL, "0.5"},     {".5", RH_YAML_REAL, "0.5"},
		{"-.5", RH_YAML_REAL, "-0.5"},    {"1.", RH_YAML_REAL, "1"},
		{"1e3", RH_YAML_REAL, "1e3"},     {"1E3", RH_YAML_REAL, "1E3"},
		{"1e+3", RH_YAML_REAL, "1e+3"},   {"1.e3", RH_YAML_REAL, "1e3"},
		{"12e-1", RH_YAML_REAL, "12e-1"}, {".5e1", RH_YAML_REAL, "0.5e1"},
		{"01.5", RH_YAML_REAL, "1.5"},    {"685_230.15", RH_YAML_REAL, "685230.15"},
		{"00.5", RH_YAML_REAL, "0.5"},    {"1e-999", RH_YAML_REAL, "1e-999"},
		{"08", RH_YAML_REAL, "8"},        {"0789", RH_YAML_REAL, "789"},
		{"0.", RH_YAML_REAL, "0"},        {"-08.0e0", RH_YAML_REAL, "-8.0e0"},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_scalar__texts_that_start_like_numbers(void **state)
{
	static const struct scalar_row rows[] = {
		{"-", RH_YAML_STRING, ""},         {"+", RH_YAML_STRING, ""},
		{".", RH_YAML_STRING, ""},         {"-.", RH_YAML_STRING, ""},
		{"..", RH_YAML_STRING, ""},        {"...", RH_YAML_STRING, ""},
		{"1.2.3", RH_YAML_STRING, ""},     {"10.0.0.1", RH_YAML_STRING, ""},
		{"1e", RH_YAML_STRING, ""},        {"1e+", RH_YAML_STRING, ""},
		{"e3", RH_YAML_STRING, ""},        {"0x", RH_YAML_STRING, ""},
		{"0xg", RH_YAML_STRING, ""},       {"0b2", RH_YAML_STRING, ""},
		{"0o8", RH_YAML_STRING, ""},       {"1a", RH_YAML_STRING, ""},
		{"1 2", RH_YAML_STRING, ""},       {"--1", RH_YAML_STRING, ""},
		{"100m", RH_YAML_STRING, ""},      {"4Gi", RH_YAML_STRING, ""},
		{"1e999", RH_YAML_STRING, ""},     {"_1", RH_YAML_STRING, ""},
		{"._5", RH_YAML_STRING, ""},       {"12:30:45", RH_YAML_STRING, ""},
		{"190:20:30", RH_YAML_STRING, ""}, {"2026-11-21", RH_YAML_STRING, ""},
		{"0x1.8p1", RH_YAML_STRING, ""},   {"2026-11-21T10:00:00Z", RH_YAML_STRING, ""},
	};

	(void)state;
	CHECK_ROWS(rows);
}

static void test_scalar__length_counts(void **state)
{
	struct rh_yaml_number number;

	(void)state;
	assert_int_equal(rh_yaml_resolve("12345", 2, &number), RH_YAML_INTEGER);
	assert_string_equal(number.text, "12");
	assert_int_equal(rh_yaml_resolve("truex", 4, &number), RH_YAML_TRUE);
	assert_int_equal(rh_yaml_resolve("1\0002", 3, &number), RH_YAML_STRING);
	assert_int_equal(rh_yaml_resolve("true", 0, &number), RH_YAML_NULL);
}

static void test_scalar__endless_digits_are_text(void **state)
{
	char digits[400];
	struct rh_yaml_number number;

	(void)state;
	memset(digits, '1', sizeof(digits));
	assert_int_equal(rh_yaml_resolve(digits, 309, &number), RH_YAML_REAL);
	assert_int_equal(strlen(number.text), 309);
	assert_int_equal(rh_yaml_resolve(digits, 310, &number), RH_YAML_STRING);
	digits[0] = '.';
	assert_int_equal(rh_yaml_resolve(digits, 318, &number), RH_YAML_REAL);
	assert_int_equal(strlen(number.text), 319);
	assert_int_equal(rh_yaml_resolve(digits, 319, &number), RH_YAML_STRING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalar__words),
		cmocka_unit_test(test_scalar__words_that_are_text),
		cmocka_unit_test(test_scalar__not_finite),
		cmocka_unit_test(test_scalar__integers),
		cmocka_unit_test(test_scalar__large_integers),
		cmocka_unit_test(test_scalar__decimals),
		cmocka_unit_test(test_scalar__texts_that_start_like_numbers),
		cmocka_unit_test(test_scalar__length_counts),
		cmocka_unit_test(test_scalar__endless_digits_are_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
