/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/functions/arithmetic.h"

#include <string.h>

static struct rh_cel_value arithmetic_int(char sign, int64_t a, int64_t b)
{
	int64_t result = 0;
	bool over = false;

	if ((sign == '/' || sign == '%') && b == 0)
		return rh_cel_error(sign == '/' ? "division by zero" : "modulus by zero");
	switch (sign) {
	case '+':
		over = __builtin_add_overflow(a, b, &result);
		break;
	case '-':
		over = __builtin_sub_overflow(a, b, &result);
		break;
	case '*':
		over = __builtin_mul_overflow(a, b, &result);
		break;
	default:
		over = a == INT64_MIN && b == -1;
		result = over ? 0 : sign == '/' ? a / b : a % b;
		break;
	}
	return over ? rh_cel_error("integer overflow") : rh_cel_integer(RH_CEL_INT, result);
}

static struct rh_cel_value arithmetic_uint(char sign, uint64_t a, uint64_t b)
{
	struct rh_cel_value value = {.kind = RH_CEL_UINT};
	bool over = false;

	if ((sign == '/' || sign == '%') && b == 0)
		return rh_cel_error(sign == '/' ? "division by zero" : "modulus by zero");
	switch (sign) {
	case '+':
		over = __builtin_add_overflow(a, b, &value.natural);
		break;
	case '-':
		over = __builtin_sub_overflow(a, b, &value.natural);
		break;
	case '*':
		over = __builtin_mul_overflow(a, b, &value.natural);
		break;
	default:
		value.natural = sign == '/' ? a / b : a % b;
		break;
	}
	return over ? rh_cel_error("unsigned integer overflow") : value;
}

static struct rh_cel_value arithmetic_double(char sign, double a, double b)
{
	double result = sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;

	return (struct rh_cel_value){.kind = RH_CEL_DOUBLE, .number = result};
}

/* Timestamps are microseconds, durations nanoseconds. */
static struct rh_cel_value arithmetic_time(char sign, const struct rh_cel_value *a, const struct rh_cel_value *b,
                                           enum rh_cel_kind kind)
{
	bool times = a->kind == RH_CEL_TIMESTAMP && b->kind == RH_CEL_TIMESTAMP;
	bool durations = a->kind == RH_CEL_DURATION && b->kind == RH_CEL_DURATION;
	int64_t x = a->integer, y = b->integer, result;

	if (!times && !durations && a->kind == RH_CEL_DURATION)
		x /= 1000;
	if (!times && !durations && b->kind == RH_CEL_DURATION)
		y /= 1000;
	if (sign == '+' ? __builtin_add_overflow(x, y, &result) : __builtin_sub_overflow(x, y, &result))
		return rh_cel_error("duration overflow");
	if (times && __builtin_mul_overflow(result, 1000, &result))
		return rh_cel_error("duration overflow");
	return rh_cel_integer(kind, result);
}

static struct rh_cel_value arithmetic_append(struct rh_cel_room *room, const struct rh_cel_value *a,
                                             const struct rh_cel_value *b)
{
	bool list = a->kind == RH_CEL_LIST;
	size_t width = list ? sizeof(*a) : 1, left = list ? a->count : a->text.length,
		   right = list ? b->count : b->text.length;
	char *room_for = rh_cel_room_take(room, (left + right) * width + 1);
	struct rh_cel_value value = {.kind = a->kind};

	if (!room_for)
		return rh_cel_error("out of memory");
	if (left)
		memcpy(room_for, list ? (const void *)a->items : a->text.data, left * width);
	if (right)
		memcpy(room_for + left * width, list ? (const void *)b->items : b->text.data, right * width);
	if (list)
		return rh_cel_list((const struct rh_cel_value *)(const void *)room_for, left + right);
	value.text.data = room_for;
	value.text.length = left + right;
	return value;
}

enum rh_cel_kind rh_cel_arithmetic_kind(char sign, enum rh_cel_kind a, enum rh_cel_kind b)
{
	bool sum = sign == '+' || sign == '-';

	if (a == RH_CEL_DYN || b == RH_CEL_DYN)
		return RH_CEL_DYN;
	if (a == RH_CEL_TIMESTAMP && b == RH_CEL_TIMESTAMP)
		return sign == '-' ? RH_CEL_DURATION : RH_CEL_ERROR;
	if (a == RH_CEL_TIMESTAMP && b == RH_CEL_DURATION)
		return sum ? RH_CEL_TIMESTAMP : RH_CEL_ERROR;
	if (a == RH_CEL_DURATION && b == RH_CEL_TIMESTAMP)
		return sign == '+' ? RH_CEL_TIMESTAMP : RH_CEL_ERROR;
	if (a != b)
		return RH_CEL_ERROR;
	switch ((int)a) {
	case RH_CEL_INT:
	case RH_CEL_UINT:
		return a;
	case RH_CEL_DOUBLE:
		return sign == '%' ? RH_CEL_ERROR : a;
	case RH_CEL_STRING:
	case RH_CEL_BYTES:
	case RH_CEL_LIST:
		return sign == '+' ? a : RH_CEL_ERROR;
	case RH_CEL_DURATION:
		return sum ? a : RH_CEL_ERROR;
	default:
		return RH_CEL_ERROR;
	}
}

struct rh_cel_value rh_cel_arithmetic(struct rh_cel_room *room, char sign, const struct rh_cel_value *a,
                                      const struct rh_cel_value *b)
{
	enum rh_cel_kind kind = rh_cel_arithmetic_kind(sign, a->kind, b->kind);

	switch ((int)kind) {
	case RH_CEL_INT:
		return arithmetic_int(sign, a->integer, b->integer);
	case RH_CEL_UINT:
		return arithmetic_uint(sign, a->natural, b->natural);
	case RH_CEL_DOUBLE:
		return arithmetic_double(sign, a->number, b->number);
	case RH_CEL_DURATION:
	case RH_CEL_TIMESTAMP:
		return arithmetic_time(sign, a, b, kind);
	case RH_CEL_STRING:
	case RH_CEL_BYTES:
	case RH_CEL_LIST:
		return arithmetic_append(room, a, b);
	default:
		return rh_cel_no_overload();
	}
}
