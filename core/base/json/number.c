/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/build.h"
#include "base/json/node.h"
#include "base/str.h"

/* Numbers up to this length are converted without an allocation. */
#define NUMBER_ROOM 320

bool rh_json_digits_whole(const char *text, size_t length, int64_t *ret_value)
{
	bool negative = text[0] == '-';
	int64_t value = 0;

	for (size_t i = negative; i < length; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, negative ? -digit : digit, &value))
			return false;
	}
	*ret_value = value;
	return true;
}

int rh_json_read_number(const char *text, size_t length, double *ret_value)
{
	char room[NUMBER_ROOM];
	rh_auto_free char *large = NULL;
	const char *digits = room;
	locale_t plain;
	double value;

	if (length < sizeof(room)) {
		memcpy(room, text, length);
		room[length] = '\0';
	} else {
		digits = large = rh_strndup(text, length);
		if (!large)
			return RH_ENOMEM;
	}
	plain = newlocale(LC_ALL_MASK, "C", NULL);
	if (!plain)
		return RH_ENOMEM;
	value = strtod_l(digits, NULL, plain);
	freelocale(plain);
	if (!isfinite(value))
		return RH_EINVAL;
	*ret_value = value;
	return 0;
}

/* The shortest of 15 to 17 digits that reads back as the same double; a comma from a locale becomes a point. */
static void number_print_real(double value, char text[RH_JSON_NUMBER_SIZE])
{
	char *comma;

	if (trunc(value) == value && fabs(value) < 1e21) {
		(void)snprintf(text, RH_JSON_NUMBER_SIZE, "%.0f", value);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text, RH_JSON_NUMBER_SIZE, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	comma = strchr(text, ',');
	if (comma)
		*comma = '.';
}

/* @return whether cJSON prints it as it is; then it has no text */
static bool number_set(struct rh_json_digits *digits, double value, const char *text, size_t length)
{
	bool plain = trunc(value) == value && fabs(value) < RH_JSON_PLAIN_END;

	digits->value = value == 0 ? 0 : value; /* there is no -0 */
	digits->text = plain ? NULL : text;
	digits->length = length;
	return plain;
}

void rh_json_digits_integer(int64_t value, struct rh_json_digits *ret_digits)
{
	char *buffer = ret_digits->buffer;

	if (!number_set(ret_digits, (double)value, buffer, 0))
		ret_digits->length = (size_t)snprintf(buffer, sizeof(ret_digits->buffer), "%" PRId64, value);
}

void rh_json_digits_real(double value, struct rh_json_digits *ret_digits)
{
	char *buffer = ret_digits->buffer;

	if (number_set(ret_digits, value, buffer, 0))
		return;
	if (isfinite(value))
		number_print_real(value, buffer);
	else
		rh_copy(buffer, sizeof(ret_digits->buffer), "null");
	ret_digits->length = strlen(buffer);
}

int rh_json_digits_read(const char *text, size_t length, struct rh_json_digits *ret_digits)
{
	double value;
	int64_t whole;
	int r;

	if (rh_json_digits_whole(text, length, &whole)) {
		rh_json_digits_integer(whole, ret_digits);
		return 0;
	}
	r = rh_json_read_number(text, length, &value);
	if (r < 0)
		return r;
	if (memchr(text, '.', length) || memchr(text, 'e', length) || memchr(text, 'E', length))
		rh_json_digits_real(value, ret_digits);
	else
		(void)number_set(ret_digits, value, text, length);
	return 0;
}
