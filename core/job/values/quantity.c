/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A quantity is digits x 10^exponent x 1024^binary. The digits that count are kept in 128 bits, so that every
 * value that fits the result is exact; digits that are cut off only mean that the result is rounded up.
 */
#include "job/values/quantity.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* 20 digits stay below 2^67, so that 1024^6 times them stays below 2^127. */
#define QUANTITY_DIGITS_MAX 20
/* Far beyond any exponent that matters, far below an overflow of int. */
#define QUANTITY_EXPONENT_MAX 100000000

/* 128 bits: ISO C has no type of this width, both compilers that are supported do. */
typedef unsigned quantity_wide __attribute__((mode(TI)));

struct quantity {
	bool negative;
	bool inexact; /* digits other than zero were cut off */
	quantity_wide digits;
	int exponent; /* power of ten */
	int binary;   /* power of 1024 */
	enum rh_quantity_form form;
};

struct quantity_suffix {
	const char *text;
	int exponent;
	int binary;
};

static const struct quantity_suffix quantity_suffixes[] = {
	{"", 0, 0},   {"n", -9, 0}, {"u", -6, 0}, {"m", -3, 0}, {"k", 3, 0},  {"M", 6, 0},  {"G", 9, 0},  {"T", 12, 0},
	{"P", 15, 0}, {"E", 18, 0}, {"Ki", 0, 1}, {"Mi", 0, 2}, {"Gi", 0, 3}, {"Ti", 0, 4}, {"Pi", 0, 5}, {"Ei", 0, 6},
};

static int quantity_shift(int exponent, int by)
{
	int sum = exponent + by;

	return sum > QUANTITY_EXPONENT_MAX ? QUANTITY_EXPONENT_MAX
	                                   : (sum < -QUANTITY_EXPONENT_MAX ? -QUANTITY_EXPONENT_MAX : sum);
}

static void quantity_add_digit(struct quantity *quantity, int *count, int digit, bool fraction)
{
	if (*count == 0 && digit == 0) {
		if (fraction)
			quantity->exponent = quantity_shift(quantity->exponent, -1);
		return;
	}
	if (*count < QUANTITY_DIGITS_MAX) {
		quantity->digits = quantity->digits * 10 + (unsigned)digit;
		(*count)++;
		if (fraction)
			quantity->exponent = quantity_shift(quantity->exponent, -1);
		return;
	}
	quantity->inexact = quantity->inexact || digit != 0;
	if (!fraction)
		quantity->exponent = quantity_shift(quantity->exponent, 1);
}

/* Returns what follows the number, or NULL when there is no digit. */
static const char *quantity_read_number(const char *text, struct quantity *quantity)
{
	bool fraction = false;
	bool any = false;
	int count = 0;

	if (*text == '+' || *text == '-')
		quantity->negative = *text++ == '-';
	for (; isdigit((unsigned char)*text) || (*text == '.' && !fraction); text++) {
		if (*text == '.') {
			fraction = true;
			continue;
		}
		any = true;
		quantity_add_digit(quantity, &count, *text - '0', fraction);
	}
	return any ? text : NULL;
}

/* "e3", "E-3"; a bare "E" is the suffix of 10^18. */
static bool quantity_read_exponent(const char *text, struct quantity *quantity)
{
	bool negative = text[1] == '-';
	int exponent = 0;

	if (text[0] != 'e' && text[0] != 'E')
		return false;
	text += text[1] == '+' || text[1] == '-' ? 2 : 1;
	if (!*text)
		return false;
	for (; isdigit((unsigned char)*text); text++)
		exponent = exponent < QUANTITY_EXPONENT_MAX / 10 ? exponent * 10 + (*text - '0') : QUANTITY_EXPONENT_MAX;
	if (*text)
		return false;
	quantity->exponent = quantity_shift(quantity->exponent, negative ? -exponent : exponent);
	return true;
}

static bool quantity_read_suffix(const char *text, struct quantity *quantity)
{
	for (size_t i = 0; i < sizeof(quantity_suffixes) / sizeof(quantity_suffixes[0]); i++) {
		if (strcmp(text, quantity_suffixes[i].text) != 0)
			continue;
		quantity->exponent = quantity_shift(quantity->exponent, quantity_suffixes[i].exponent);
		quantity->binary = quantity_suffixes[i].binary;
		quantity->form = quantity->binary ? RH_QUANTITY_BINARY : RH_QUANTITY_DECIMAL;
		return true;
	}
	quantity->form = RH_QUANTITY_EXPONENT;
	return quantity_read_exponent(text, quantity);
}

static uint64_t quantity_magnitude(const struct quantity *quantity)
{
	quantity_wide value = quantity->digits << (10 * quantity->binary);
	bool inexact = quantity->inexact;
	int exponent = quantity->exponent + 3;

	if (value == 0)
		return 0;
	for (; exponent > 0 && value <= INT64_MAX; exponent--)
		value *= 10;
	for (; exponent < 0 && value > 0; exponent++) {
		inexact = inexact || value % 10 != 0;
		value /= 10;
	}
	if (inexact && value < INT64_MAX)
		value++;
	return value > INT64_MAX ? INT64_MAX : (uint64_t)value;
}

static int quantity_parse(const char *text, struct rh_quantity *ret_quantity, struct rh_error *err)
{
	struct quantity quantity = {0};
	const char *suffix = quantity_read_number(text, &quantity);
	int64_t magnitude;

	if (!suffix || !quantity_read_suffix(suffix, &quantity))
		return rh_fail(err, RH_EINVAL,
		               "quantity \"%.64s\" is not a number with an optional suffix, such as 500m, 1.5 or 2Gi", text);
	magnitude = (int64_t)quantity_magnitude(&quantity);
	*ret_quantity = (struct rh_quantity){quantity.negative ? -magnitude : magnitude, quantity.form};
	return 0;
}

int rh_quantity_parse(const char *text, int64_t *ret_milli, struct rh_error *err)
{
	struct rh_quantity quantity;
	int r = quantity_parse(text, &quantity, err);

	if (r == 0)
		*ret_milli = quantity.milli;
	return r;
}

int rh_quantity_read(const struct rh_json *json, struct rh_quantity *ret_quantity, struct rh_error *err)
{
	char buffer[RH_JSON_NUMBER_SIZE];
	const char *number = rh_json_number_text(json, buffer);

	if (rh_json_string(json))
		return quantity_parse(rh_json_string(json), ret_quantity, err);
	if (!number)
		return rh_fail(err, RH_EINVAL, "a quantity must be of type string or number, not %s", rh_json_type_name(json));
	return quantity_parse(number, ret_quantity, err);
}

int rh_quantity_from_json(const struct rh_json *json, int64_t *ret_milli, struct rh_error *err)
{
	struct rh_quantity quantity;
	int r = rh_quantity_read(json, &quantity, err);

	if (r == 0)
		*ret_milli = quantity.milli;
	return r;
}

void rh_quantity_add(struct rh_quantity *sum, const struct rh_quantity *quantity, int64_t times)
{
	int64_t product;

	if (sum->milli == 0)
		sum->form = quantity->form;
	if (__builtin_mul_overflow(quantity->milli, times, &product))
		product = quantity->milli < 0 ? -INT64_MAX : INT64_MAX;
	if (__builtin_add_overflow(sum->milli, product, &sum->milli))
		sum->milli = product < 0 ? -INT64_MAX : INT64_MAX;
}

/* Divide by @p base as often as nothing is left over, at most @p most times. @return how often */
static int quantity_reduce(int64_t *number, int64_t base, int most)
{
	int times = 0;

	while (*number != 0 && times < most && *number % base == 0) {
		*number /= base;
		times++;
	}
	return times;
}

static const char *quantity_print_binary(int64_t milli, char buffer[RH_QUANTITY_SIZE])
{
	static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	int64_t number = milli / 1000 + (milli % 1000 > 0) - (milli % 1000 < 0);
	int power = quantity_reduce(&number, 1024, 6);

	(void)snprintf(buffer, RH_QUANTITY_SIZE, "%" PRId64 "%s", number, suffixes[power]);
	return buffer;
}

const char *rh_quantity_print(const struct rh_quantity *quantity, char buffer[RH_QUANTITY_SIZE])
{
	static const char *const suffixes[] = {"m", "", "k", "M", "G", "T", "P", "E"};
	int64_t number = quantity->milli;
	int power;

	if (quantity->form == RH_QUANTITY_BINARY && (number >= 1024 * 1000 || number <= -1024 * 1000))
		return quantity_print_binary(number, buffer);
	power = quantity_reduce(&number, 1000, 7);
	if (number == 0)
		(void)snprintf(buffer, RH_QUANTITY_SIZE, "0");
	else if (quantity->form == RH_QUANTITY_EXPONENT && power != 1)
		(void)snprintf(buffer, RH_QUANTITY_SIZE, "%" PRId64 "e%d", number, 3 * (power - 1));
	else
		(void)snprintf(buffer, RH_QUANTITY_SIZE, "%" PRId64 "%s", number, suffixes[power]);
	return buffer;
}
