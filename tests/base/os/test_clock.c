/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/clock.h"
#include "base/support.h"

static void test_clock__wall_is_this_century(void **state)
{
	(void)state;
	assert_true(rh_clock_wall() > INT64_C(1600000000) * RH_SECOND);
	assert_true(rh_clock_wall() < INT64_C(4102444800) * RH_SECOND);
}

static void test_clock__monotonic_never_goes_back(void **state)
{
	int64_t before = rh_clock_monotonic();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t now = rh_clock_monotonic();

		assert_true(now >= before);
		before = now;
	}
}

static void test_clock__format(void **state)
{
	static const struct {
		int64_t time;
		const char *expected, *micro;
	} rows[] = {
		{0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
		{-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z"},
		{INT64_C(951782400000000), "2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z"},
		{INT64_C(951868799000007), "2000-02-29T23:59:59Z", "2000-02-29T23:59:59.000007Z"},
		{INT64_C(1795255200123456), "2026-11-21T10:00:00Z", "2026-11-21T10:00:00.123456Z"},
		{INT64_C(4107542400000000), "2100-03-01T00:00:00Z", "2100-03-01T00:00:00.000000Z"},
		{INT64_C(253402300799999999), "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999Z"},
		{INT64_C(-62167219200000000), "0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000000Z"},
	};
	char buffer[RH_TIME_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(rh_time_format(rows[i].time, buffer), rows[i].expected);
		assert_string_equal(rh_time_format_micro(rows[i].time, buffer), rows[i].micro);
	}
}

static void test_clock__format_has_room_for_any_time(void **state)
{
	char buffer[RH_TIME_SIZE];

	(void)state;
	assert_true(strlen(rh_time_format_micro(INT64_MAX, buffer)) < RH_TIME_SIZE);
	assert_int_equal(buffer[strlen(buffer) - 1], 'Z');
	assert_true(strlen(rh_time_format_micro(INT64_MIN, buffer)) < RH_TIME_SIZE);
	assert_int_equal(buffer[strlen(buffer) - 1], 'Z');
}

static void test_clock__parse(void **state)
{
	static const struct {
		const char *text;
		int64_t expected;
	} rows[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"1970-01-01t00:00:01z", 1000000},
		{"2026-11-21T10:00:00Z", INT64_C(1795255200000000)},
		{"2026-11-21T10:00:00.5Z", INT64_C(1795255200500000)},
		{"2026-11-21T10:00:00.123456Z", INT64_C(1795255200123456)},
		{"2026-11-21T10:00:00.123456789Z", INT64_C(1795255200123456)},
		{"2026-11-21T10:00:00.9999999999999999999999999Z", INT64_C(1795255200999999)},
		{"2026-11-21T12:30:00+02:30", INT64_C(1795255200000000)},
		{"2026-11-21T07:00:00-03:00", INT64_C(1795255200000000)},
		{"2000-02-29T00:00:00Z", INT64_C(951782400000000)},
		{"0000-01-01T00:00:00Z", INT64_C(-62167219200000000)},
		{"9999-12-31T23:59:59.999999Z", INT64_C(253402300799999999)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		int64_t time = 0;

		support_row(rows[i].text);
		assert_int_equal(rh_time_parse(rows[i].text, &time, &err), 0);
		assert_true(time == rows[i].expected);
	}
}

static void test_clock__parse_refuses(void **state)
{
	static const char *const rows[] = {
		"",
		"now",
		"2026",
		"2026-11-21",
		"2026-11-21T10:00:00",
		"2026-11-21 10:00:00Z",
		"2026-11-21T10:00Z",
		"2026-11-21T10:00:00.Z",
		"2026-11-21T10:00:00,5Z",
		"2026-11-21T10:00:00Zx",
		"2026-11-21T10:00:00+0200",
		"2026-11-21T10:00:00+02",
		"2026-11-21T10:00:00+24:00",
		"2026-11-21T10:00:00+00:60",
		"2026-13-21T10:00:00Z",
		"2026-00-21T10:00:00Z",
		"2026-11-31T10:00:00Z",
		"2026-11-00T10:00:00Z",
		"2026-02-29T10:00:00Z",
		"2100-02-29T10:00:00Z",
		"2026-11-21T24:00:00Z",
		"2026-11-21T10:60:00Z",
		"2026-11-21T10:00:60Z",
		"26-11-21T10:00:00Z",
		"12026-11-21T10:00:00Z",
		"-026-11-21T10:00:00Z",
		"2026-1-21T10:00:00Z",
		" 2026-11-21T10:00:00Z",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		int64_t time = 77;

		support_row(rows[i]);
		assert_int_equal(rh_time_parse(rows[i], &time, &err), RH_EINVAL);
		assert_true(time == 77);
		assert_non_null(strstr(err.message, rows[i]));
	}
}

static void test_clock__format_and_parse_agree_on_every_day(void **state)
{
	const int64_t day = 86400 * RH_SECOND;
	int64_t start = INT64_C(-62167219200000000);

	(void)state;
	for (int64_t n = 0; n < 146097 + 400; n++) {
		char buffer[RH_TIME_SIZE];
		int64_t time = -1;

		assert_int_equal(rh_time_parse(rh_time_format(start + n * day, buffer), &time, NULL), 0);
		assert_true(time == start + n * day);
	}
}

static void test_clock__duration(void **state)
{
	static const struct {
		const char *text;
		int64_t expected;
	} rows[] = {
		{"0", 0},
		{"90", 90000000},
		{"0.5", 500000},
		{"90s", 90000000},
		{"1.5m", 90000000},
		{"2h", INT64_C(7200000000)},
		{"1h30m", INT64_C(5400000000)},
		{"1h0m0.5s", INT64_C(3600500000)},
		{"100ms", 100000},
		{"7us", 7},
		{"7\xC2\xB5s", 7},
		{"7\xCE\xBCs", 7},
		{"1500ns", 1},
		{".5s", 500000},
		{"1.s", 1000000},
		{"0.1s", 100000},
		{"0.000001s", 1},
		{"2562047h", INT64_C(9223369200000000)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		int64_t us = -1;

		support_row(rows[i].text);
		assert_int_equal(rh_duration_parse(rows[i].text, &us, &err), 0);
		assert_true(us == rows[i].expected);
	}
}

static void test_clock__duration_refuses(void **state)
{
	static const char *const rows[] = {"",        "s",      ".",   ".s",   "-1s", "+1s",      "1d",
	                                   "1 s",     " 1s",    "1s ", "1h30", "1hm", "1e3s",     "0x1s",
	                                   "forever", "1.5.5s", "5S",  "1,5s", "inf", "2562048h", "99999999999999999999s"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		int64_t us = 77;

		support_row(rows[i]);
		assert_int_equal(rh_duration_parse(rows[i], &us, &err), RH_EINVAL);
		assert_true(us == 77);
		assert_non_null(strstr(err.message, "is not a duration"));
	}
}

static void test_clock__duration_format(void **state)
{
	static const struct {
		int64_t us;
		const char *expected;
	} rows[] = {
		{0, "0.0s"},
		{400000, "0.4s"},
		{449999, "0.4s"},
		{9999999, "9.9s"},
		{10000000, "10s"},
		{12900000, "12s"},
		{59999999, "59s"},
		{60000000, "1m00s"},
		{185000000, "3m05s"},
		{INT64_C(3599000000), "59m59s"},
		{INT64_C(3600000000), "1h00m"},
		{INT64_C(7800000000), "2h10m"},
		{INT64_C(360000000000), "100h00m"},
		{-400000, "-0.4s"},
	};
	char buffer[RH_TIME_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(rh_duration_format(rows[i].us, buffer), rows[i].expected);
	assert_string_equal(rh_duration_format(RH_NEVER, buffer), "2562047788h00m");
	assert_string_equal(rh_duration_format(INT64_MIN, buffer), "-2562047788h00m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock__wall_is_this_century),
		cmocka_unit_test(test_clock__monotonic_never_goes_back),
		cmocka_unit_test(test_clock__format),
		cmocka_unit_test(test_clock__format_has_room_for_any_time),
		cmocka_unit_test(test_clock__parse),
		cmocka_unit_test(test_clock__parse_refuses),
		cmocka_unit_test(test_clock__format_and_parse_agree_on_every_day),
		cmocka_unit_test(test_clock__duration),
		cmocka_unit_test(test_clock__duration_refuses),
		cmocka_unit_test(test_clock__duration_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
