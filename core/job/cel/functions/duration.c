/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/functions/duration.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

struct duration_unit {
	const char *name;
	int64_t nanoseconds;
};

static const struct duration_unit duration_units[] = {
	{"ns", 1},       {"us", 1000},      {"\xC2\xB5s", 1000},         {"\xCE\xBCs", 1000},
	{"ms", 1000000}, {"s", 1000000000}, {"m", INT64_C(60000000000)}, {"h", INT64_C(3600000000000)},
};

/* @return the longest unit that the text starts with, or NULL */
static const struct duration_unit *duration_unit_at(const char *text)
{
	for (size_t i = 0; i < sizeof(duration_units) / sizeof(*duration_units); i++) {
		if (rh_starts_with(text, duration_units[i].name))
			return &duration_units[i];
	}
	return NULL;
}

/* One number and its unit. */
static bool duration_term(const char **at, int64_t *ret_nanoseconds)
{
	const struct duration_unit *unit;
	int64_t whole = 0;
	double fraction = 0, place = 1;
	const char *start = *at;
	bool digits = isdigit((unsigned char)*start);

	for (; isdigit((unsigned char)**at); ++*at)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, **at - '0', &whole))
			return false;
	if (**at == '.') {
		for (++*at; isdigit((unsigned char)**at); ++*at, digits = true)
			fraction += (**at - '0') * (place /= 10);
	}
	unit = duration_unit_at(*at);
	if (!digits || !unit || __builtin_mul_overflow(whole, unit->nanoseconds, ret_nanoseconds))
		return false;
	*at += strlen(unit->name);
	return !__builtin_add_overflow(*ret_nanoseconds, (int64_t)(fraction * (double)unit->nanoseconds + 0.0001),
	                               ret_nanoseconds);
}

bool rh_cel_duration_parse(const char *text, int64_t *ret_nanoseconds)
{
	bool negative = *text == '-';
	int64_t sum = 0, term;

	text += *text == '-' || *text == '+';
	if (strcmp(text, "0") == 0) {
		*ret_nanoseconds = 0;
		return true;
	}
	if (!*text)
		return false;
	while (*text) {
		if (!duration_term(&text, &term) || __builtin_add_overflow(sum, term, &sum))
			return false;
	}
	*ret_nanoseconds = negative ? -sum : sum;
	return true;
}
