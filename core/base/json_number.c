/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_build.h"
#include "base/json_node.h"

/* Numbers up to this length are converted without an allocation. */
#define NUMBER_ROOM 320
/* 2^63, the first whole number behind int64_t. */
#define NUMBER_INT64_END 0x1p63

/* @return whether @p text is digits behind at most one minus, and an int64_t holds it */
static bool number_read_integer(const char *text, size_t length, int64_t *ret_value)
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

/* As Go prints and reads it again: 1.0 and 1e3 are integers. */
static void number_set_real(struct rh_json *number, double value)
{
	bool whole = trunc(value) == value && value >= -NUMBER_INT64_END && value < NUMBER_INT64_END;

	number->form = whole ? RH_JSON_WHOLE : RH_JSON_REAL;
	if (whole)
		number->is.integer = (int64_t)value;
	else
		number->is.real = value;
}

/* Read a number into @p number; for RH_JSON_BEYOND the text is the caller's. @return 0, RH_EINVAL or RH_ENOMEM */
static int number_read(const char *text, size_t length, struct rh_json *number)
{
	double value;
	int r;

	number->form = RH_JSON_WHOLE;
	if (number_read_integer(text, length, &number->is.integer))
		return 0;
	r = rh_json_read_number(text, length, &value);
	if (r < 0)
		return r;
	if (memchr(text, '.', length) || memchr(text, 'e', length) || memchr(text, 'E', length))
		number_set_real(number, value);
	else
		number->form = RH_JSON_BEYOND;
	return 0;
}

int rh_json_room_number(struct rh_json_room *room, const char *text, size_t length, struct rh_json *json)
{
	int r = number_read(text, length, json);

	json->type = RH_JSON_NUMBER;
	if (r < 0 || json->form != RH_JSON_BEYOND)
		return r;
	json->is.text = rh_json_room_text(room, text, length);
	return json->is.text ? 0 : RH_ENOMEM;
}

struct rh_json *rh_json_new_literal(const char *text, size_t length)
{
	struct rh_json number = {0};
	struct rh_json *json;

	if (number_read(text, length, &number) < 0)
		return NULL;
	if (number.form == RH_JSON_BEYOND)
		json = rh_json_node_new_text(RH_JSON_NUMBER, text, length);
	else
		json = rh_json_node_new(RH_JSON_NUMBER, 0);
	if (!json)
		return NULL;
	json->form = number.form;
	if (number.form != RH_JSON_BEYOND)
		json->is = number.is;
	return json;
}

struct rh_json *rh_json_new_integer(int64_t value)
{
	struct rh_json *json = rh_json_node_new(RH_JSON_NUMBER, 0);

	if (json)
		json->is.integer = value;
	return json;
}

struct rh_json *rh_json_new_number(double value)
{
	struct rh_json *json = rh_json_node_new(RH_JSON_NUMBER, 0);

	if (json)
		number_set_real(json, value);
	return json;
}

bool rh_json_integer(const struct rh_json *json, int64_t *ret_value)
{
	if (rh_json_type(json) != RH_JSON_NUMBER || json->form != RH_JSON_WHOLE)
		return false;
	*ret_value = json->is.integer;
	return true;
}

double rh_json_number(const struct rh_json *json, double fallback)
{
	double value = fallback;

	if (rh_json_type(json) != RH_JSON_NUMBER)
		return fallback;
	if (json->form == RH_JSON_WHOLE)
		return (double)json->is.integer;
	if (json->form == RH_JSON_REAL)
		return json->is.real;
	(void)rh_json_read_number(json->is.text, strlen(json->is.text), &value);
	return value;
}

bool rh_json_number_equal(const struct rh_json *a, const struct rh_json *b)
{
	if (a->form == RH_JSON_WHOLE || b->form == RH_JSON_WHOLE)
		return a->form == b->form && a->is.integer == b->is.integer;
	return rh_json_number(a, 0) == rh_json_number(b, 0);
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

const char *rh_json_number_text(const struct rh_json *json, char buffer[RH_JSON_NUMBER_SIZE])
{
	if (rh_json_type(json) != RH_JSON_NUMBER)
		return NULL;
	if (json->form == RH_JSON_BEYOND)
		return json->is.text;
	if (json->form == RH_JSON_WHOLE)
		(void)snprintf(buffer, RH_JSON_NUMBER_SIZE, "%" PRId64, json->is.integer);
	else if (isfinite(json->is.real))
		number_print_real(json->is.real, buffer);
	else
		(void)snprintf(buffer, RH_JSON_NUMBER_SIZE, "null");
	return buffer;
}
