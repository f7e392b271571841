/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_SECONDS INT64_C(86400)

/* A point in time, as a calendar writes it. */
struct clock_fields {
	int64_t year, month, day;
	int64_t hour, minute, second;
	int64_t microsecond;
	int64_t offset; /* seconds east of UTC */
};

static int64_t clock_read(clockid_t id)
{
	struct timespec now = {0};

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * RH_SECOND + now.tv_nsec / 1000;
}

int64_t rh_clock_wall(void)
{
	return clock_read(CLOCK_REALTIME);
}

int64_t rh_clock_monotonic(void)
{
	/* not CLOCK_MONOTONIC, which stops while the machine sleeps: a Lease does not stop */
	return clock_read(CLOCK_BOOTTIME);
}

static int64_t clock_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/*
 * Days since 1970-01-01 of a date of the proleptic Gregorian calendar. Years are counted from March, so that the leap
 * day is the last of its year, and in eras of 400 years, which all have 146097 days.
 */
static int64_t clock_days(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = clock_floor_div(y, 400);
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

/* The inverse of clock_days(). */
static void clock_date(int64_t days, struct clock_fields *fields)
{
	int64_t shifted = days + 719468;
	int64_t era = clock_floor_div(shifted, 146097);
	int64_t day_of_era = shifted - era * 146097;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month = (5 * day_of_year + 2) / 153;

	fields->day = day_of_year - (153 * month + 2) / 5 + 1;
	fields->month = month < 10 ? month + 3 : month - 9;
	fields->year = year_of_era + era * 400 + (fields->month <= 2);
}

static void clock_split(int64_t time, struct clock_fields *fields)
{
	int64_t seconds = clock_floor_div(time, RH_SECOND);
	int64_t days = clock_floor_div(seconds, DAY_SECONDS);
	int64_t rest = seconds - days * DAY_SECONDS;

	clock_date(days, fields);
	fields->hour = rest / 3600;
	fields->minute = rest / 60 % 60;
	fields->second = rest % 60;
	fields->microsecond = time % RH_SECOND + (time % RH_SECOND < 0 ? RH_SECOND : 0);
}

static const char *clock_format(int64_t time, bool micro, char buffer[RH_TIME_SIZE])
{
	struct clock_fields f = {0};
	int n;

	clock_split(time, &f);
	n = snprintf(buffer, RH_TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d", (int)f.year, (int)f.month, (int)f.day,
	             (int)f.hour, (int)f.minute, (int)f.second);
	if (micro)
		snprintf(buffer + n, RH_TIME_SIZE - (size_t)n, ".%06dZ", (int)f.microsecond);
	else
		snprintf(buffer + n, RH_TIME_SIZE - (size_t)n, "Z");
	return buffer;
}

const char *rh_time_format(int64_t time, char buffer[RH_TIME_SIZE])
{
	return clock_format(time, false, buffer);
}

const char *rh_time_format_micro(int64_t time, char buffer[RH_TIME_SIZE])
{
	return clock_format(time, true, buffer);
}

static bool clock_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read exactly `count` digits. */
static bool clock_digits(const char **text, int count, int64_t *ret_value)
{
	int64_t value = 0;

	for (int i = 0; i < count; i++, (*text)++) {
		if (!clock_is_digit(**text))
			return false;
		value = value * 10 + (**text - '0');
	}
	*ret_value = value;
	return true;
}

static bool clock_one_of(const char **text, const char *characters)
{
	if (**text == '\0' || !strchr(characters, **text))
		return false;
	(*text)++;
	return true;
}

static bool clock_fraction(const char **text, int64_t *ret_microseconds)
{
	int64_t scale = RH_SECOND / 10;

	*ret_microseconds = 0;
	if (!clock_one_of(text, "."))
		return true;
	if (!clock_is_digit(**text))
		return false;
	for (; clock_is_digit(**text); (*text)++, scale /= 10)
		*ret_microseconds += (**text - '0') * scale;
	return true;
}

static bool clock_offset(const char **text, int64_t *ret_seconds)
{
	int64_t hours, minutes, sign = **text == '-' ? -1 : 1;

	if (clock_one_of(text, "Zz")) {
		*ret_seconds = 0;
		return true;
	}
	if (!clock_one_of(text, "+-") || !clock_digits(text, 2, &hours) || !clock_one_of(text, ":") ||
	    !clock_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

static bool clock_scan(const char *text, struct clock_fields *f)
{
	return clock_digits(&text, 4, &f->year) && clock_one_of(&text, "-") && clock_digits(&text, 2, &f->month) &&
	       clock_one_of(&text, "-") && clock_digits(&text, 2, &f->day) && clock_one_of(&text, "Tt") &&
	       clock_digits(&text, 2, &f->hour) && clock_one_of(&text, ":") && clock_digits(&text, 2, &f->minute) &&
	       clock_one_of(&text, ":") && clock_digits(&text, 2, &f->second) && clock_fraction(&text, &f->microsecond) &&
	       clock_offset(&text, &f->offset) && *text == '\0';
}

/* A leap second (:60) is refused, as Go's time package does, which wrote most of what we read. */
static bool clock_in_range(const struct clock_fields *f)
{
	static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = f->year % 4 == 0 && (f->year % 100 != 0 || f->year % 400 == 0);

	if (f->month < 1 || f->month > 12 || f->day < 1)
		return false;
	if (f->day > month_days[f->month - 1] + (leap && f->month == 2))
		return false;
	return f->hour < 24 && f->minute < 60 && f->second < 60;
}

int rh_time_parse(const char *text, int64_t *ret_time, struct rh_error *err)
{
	struct clock_fields f = {0};
	int64_t seconds;

	if (!clock_scan(text, &f) || !clock_in_range(&f))
		return rh_fail(err, RH_EINVAL, "\"%.64s\" is not an RFC 3339 time such as 2026-11-21T10:00:00Z", text);
	seconds = clock_days(f.year, f.month, f.day) * DAY_SECONDS + f.hour * 3600 + f.minute * 60 + f.second - f.offset;
	*ret_time = seconds * RH_SECOND + f.microsecond;
	return 0;
}

/* Read a unit of Go's time.ParseDuration. @return its nanoseconds, or 0 */
static int64_t clock_unit(const char **text)
{
	static const struct {
		const char *name;
		int64_t nanoseconds;
	} units[] = {{"ns", 1},
	             {"us", 1000},
	             {"\xC2\xB5s", 1000},
	             {"\xCE\xBCs", 1000},
	             {"ms", 1000000},
	             {"s", INT64_C(1000000000)},
	             {"m", INT64_C(60000000000)},
	             {"h", INT64_C(3600000000000)}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(*text, units[i].name, length) == 0) {
			*text += length;
			return units[i].nanoseconds;
		}
	}
	return 0;
}

/* One "1.5h" of a sum. A number without a unit is seconds where it is the whole text. */
static bool clock_duration_part(const char **text, bool alone, int64_t *sum)
{
	const char *start = *text;
	int64_t whole = 0, unit;
	double fraction = 0, scale = 0.1;

	for (; clock_is_digit(**text); (*text)++)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, **text - '0', &whole))
			return false;
	if (clock_one_of(text, "."))
		for (; clock_is_digit(**text); (*text)++, scale /= 10)
			fraction += (**text - '0') * scale;
	if (!clock_is_digit(start[0]) && !(start[0] == '.' && clock_is_digit(start[1])))
		return false;
	unit = alone && **text == '\0' ? INT64_C(1000000000) : clock_unit(text);
	return unit > 0 && !__builtin_mul_overflow(whole, unit, &whole) && !__builtin_add_overflow(*sum, whole, sum) &&
	       !__builtin_add_overflow(*sum, (int64_t)(fraction * (double)unit + 0.5), sum);
}

int rh_duration_parse(const char *text, int64_t *ret_microseconds, struct rh_error *err)
{
	const char *rest = text;
	int64_t nanoseconds = 0;

	do {
		if (!clock_duration_part(&rest, rest == text, &nanoseconds))
			return rh_fail(err, RH_EINVAL, "\"%.64s\" is not a duration such as 90s, 1.5m or 1h30m", text);
	} while (*rest != '\0');
	*ret_microseconds = nanoseconds / 1000;
	return 0;
}

const char *rh_duration_format(int64_t microseconds, char buffer[RH_TIME_SIZE])
{
	uint64_t us = microseconds < 0 ? -(uint64_t)microseconds : (uint64_t)microseconds;
	const char *sign = microseconds < 0 ? "-" : "";
	unsigned long long seconds = us / RH_SECOND;

	if (seconds < 10)
		snprintf(buffer, RH_TIME_SIZE, "%s%llu.%us", sign, seconds, (unsigned)(us % RH_SECOND / (RH_SECOND / 10)));
	else if (seconds < 60)
		snprintf(buffer, RH_TIME_SIZE, "%s%llus", sign, seconds);
	else if (seconds < 3600)
		snprintf(buffer, RH_TIME_SIZE, "%s%llum%02llus", sign, seconds / 60, seconds % 60);
	else
		snprintf(buffer, RH_TIME_SIZE, "%s%lluh%02llum", sign, seconds / 3600, seconds / 60 % 60);
	return buffer;
}
