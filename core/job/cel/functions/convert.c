/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "job/cel/functions/duration.h"
#include "job/cel/functions/functions.h"
#include "job/values/quantity.h"

/* Every function below has the form of rh_cel_call; most do not need all of it. */
#define CONVERT_CALL(name) \
	static struct rh_cel_value name(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
#define CONVERT_UNUSED() ((void)room, (void)count)

/* @return whether the value's text, without zeros in it, fits into the buffer */
static bool convert_text(const struct rh_cel_value *value, char *buffer, size_t size)
{
	if (value->text.length >= size || memchr(value->text.data, '\0', value->text.length))
		return false;
	memcpy(buffer, value->text.data, value->text.length);
	buffer[value->text.length] = '\0';
	return true;
}

CONVERT_CALL(convert_same)
{
	CONVERT_UNUSED();
	return args[0];
}

CONVERT_CALL(convert_type)
{
	const char *name = rh_cel_kind_name(args[0].kind);

	CONVERT_UNUSED();
	return (struct rh_cel_value){.kind = RH_CEL_TYPE, .text = {name, strlen(name)}};
}

CONVERT_CALL(convert_int)
{
	char text[64], *end;
	long long value;

	CONVERT_UNUSED();
	switch ((int)args[0].kind) {
	case RH_CEL_UINT:
		return args[0].natural > INT64_MAX ? rh_cel_error("integer overflow")
		                                   : rh_cel_integer(RH_CEL_INT, args[0].integer);
	case RH_CEL_DOUBLE:
		if (!(args[0].number > -0x1p63 && args[0].number < 0x1p63))
			return rh_cel_error("integer overflow");
		return rh_cel_integer(RH_CEL_INT, (int64_t)args[0].number);
	case RH_CEL_TIMESTAMP:
		return rh_cel_integer(RH_CEL_INT, args[0].integer / 1000000 - (args[0].integer % 1000000 < 0));
	case RH_CEL_STRING:
		errno = 0;
		if (!convert_text(&args[0], text, sizeof(text)) || strspn(text, "+-0123456789") != strlen(text) || !*text)
			return rh_cel_error("type conversion error from 'string' to 'int'");
		value = strtoll(text, &end, 10);
		return *end || errno || end == text ? rh_cel_error("type conversion error from 'string' to 'int'")
		                                    : rh_cel_integer(RH_CEL_INT, value);
	default:
		return args[0];
	}
}

CONVERT_CALL(convert_uint)
{
	struct rh_cel_value value = {.kind = RH_CEL_UINT};
	char text[64], *end;

	CONVERT_UNUSED();
	switch ((int)args[0].kind) {
	case RH_CEL_INT:
		value.natural = args[0].natural;
		return args[0].integer < 0 ? rh_cel_error("unsigned integer overflow") : value;
	case RH_CEL_DOUBLE:
		if (!(args[0].number >= 0 && args[0].number < 0x1p64))
			return rh_cel_error("unsigned integer overflow");
		value.natural = (uint64_t)args[0].number;
		return value;
	case RH_CEL_STRING:
		errno = 0;
		if (!convert_text(&args[0], text, sizeof(text)) || strspn(text, "0123456789") != strlen(text) || !*text)
			return rh_cel_error("type conversion error from 'string' to 'uint'");
		value.natural = strtoull(text, &end, 10);
		return *end || errno ? rh_cel_error("type conversion error from 'string' to 'uint'") : value;
	default:
		return args[0];
	}
}

CONVERT_CALL(convert_double)
{
	struct rh_cel_value value = {.kind = RH_CEL_DOUBLE};
	char text[64], *end;

	CONVERT_UNUSED();
	switch ((int)args[0].kind) {
	case RH_CEL_INT:
		value.number = (double)args[0].integer;
		return value;
	case RH_CEL_UINT:
		value.number = (double)args[0].natural;
		return value;
	case RH_CEL_STRING:
		if (!convert_text(&args[0], text, sizeof(text)) || strspn(text, " \t\n") || !*text)
			return rh_cel_error("type conversion error from 'string' to 'double'");
		value.number = strtod(text, &end);
		return *end ? rh_cel_error("type conversion error from 'string' to 'double'") : value;
	default:
		return args[0];
	}
}

CONVERT_CALL(convert_bool)
{
	static const char yes[] = " 1 t true TRUE True T ", no[] = " 0 f false FALSE False F ";
	char text[16], word[20];

	CONVERT_UNUSED();
	if (args[0].kind == RH_CEL_BOOL)
		return args[0];
	if (!convert_text(&args[0], text, sizeof(text)) || strchr(text, ' '))
		return rh_cel_error("type conversion error from 'string' to 'bool'");
	(void)snprintf(word, sizeof(word), " %s ", text);
	if (strstr(yes, word))
		return rh_cel_bool(true);
	return strstr(no, word) ? rh_cel_bool(false) : rh_cel_error("type conversion error from 'string' to 'bool'");
}

/* As Go's %g of the shortest digits that read as the same number. */
static void convert_print_double(double number, char *buffer, size_t size)
{
	int digits = 1, exponent = 0;
	const char *sign;

	if (isnan(number) || isinf(number)) {
		(void)snprintf(buffer, size, "%s", isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf");
		return;
	}
	for (; digits <= DBL_DECIMAL_DIG; digits++) {
		(void)snprintf(buffer, size, "%.*e", digits - 1, number);
		if (strtod(buffer, NULL) == number)
			break;
	}
	sign = strchr(buffer, 'e');
	exponent = sign ? (int)strtol(sign + 1, NULL, 10) : 0;
	if (exponent >= -4 && exponent < 21)
		(void)snprintf(buffer, size, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 0, number);
}

static void convert_print_duration(int64_t nanoseconds, char *buffer, size_t size)
{
	uint64_t rest = nanoseconds < 0 ? 0 - (uint64_t)nanoseconds : (uint64_t)nanoseconds;
	int length = snprintf(buffer, size, "%s%" PRIu64, nanoseconds < 0 ? "-" : "", rest / 1000000000u);

	if (rest % 1000000000u) {
		length += snprintf(buffer + length, size - (size_t)length, ".%09" PRIu64, rest % 1000000000u);
		while (buffer[length - 1] == '0')
			length--;
	}
	(void)snprintf(buffer + length, size - (size_t)length, "s");
}

CONVERT_CALL(convert_string)
{
	char buffer[400] = "";

	(void)count;
	switch ((int)args[0].kind) {
	case RH_CEL_STRING:
		return args[0];
	case RH_CEL_BYTES:
		for (size_t at = 0, bytes; at < args[0].text.length; at += bytes) {
			bytes = rh_utf8_length(args[0].text.data + at, args[0].text.length - at);
			if (bytes == 0)
				return rh_cel_error("invalid UTF-8 in bytes, cannot convert to string");
		}
		return rh_cel_string(room, args[0].text.data, args[0].text.length);
	case RH_CEL_BOOL:
		rh_copy(buffer, sizeof(buffer), args[0].flag ? "true" : "false");
		break;
	case RH_CEL_INT:
		(void)snprintf(buffer, sizeof(buffer), "%" PRId64, args[0].integer);
		break;
	case RH_CEL_UINT:
		(void)snprintf(buffer, sizeof(buffer), "%" PRIu64, args[0].natural);
		break;
	case RH_CEL_DOUBLE:
		convert_print_double(args[0].number, buffer, sizeof(buffer));
		break;
	case RH_CEL_DURATION:
		convert_print_duration(args[0].integer, buffer, sizeof(buffer));
		break;
	default:
		if (args[0].integer % 1000000)
			(void)rh_time_format_micro(args[0].integer, buffer);
		else
			(void)rh_time_format(args[0].integer, buffer);
		break;
	}
	return rh_cel_string(room, buffer, strlen(buffer));
}

CONVERT_CALL(convert_bytes)
{
	struct rh_cel_value value = args[0];

	CONVERT_UNUSED();
	value.kind = RH_CEL_BYTES;
	return value;
}

CONVERT_CALL(convert_duration)
{
	char text[64];
	int64_t nanoseconds;

	CONVERT_UNUSED();
	if (args[0].kind == RH_CEL_DURATION)
		return args[0];
	/* CEL has this function, and no value for it */
	if (args[0].kind == RH_CEL_INT)
		return rh_cel_error("type conversion error from 'int' to 'google.protobuf.Duration'");
	if (!convert_text(&args[0], text, sizeof(text)) || !rh_cel_duration_parse(text, &nanoseconds))
		return rh_cel_error("type conversion error from 'string' to 'google.protobuf.Duration'");
	return rh_cel_integer(RH_CEL_DURATION, nanoseconds);
}

CONVERT_CALL(convert_timestamp)
{
	char text[64];
	int64_t time;

	CONVERT_UNUSED();
	if (args[0].kind == RH_CEL_TIMESTAMP)
		return args[0];
	if (args[0].kind == RH_CEL_INT)
		return __builtin_mul_overflow(args[0].integer, 1000000, &time) ? rh_cel_error("timestamp overflow")
		                                                               : rh_cel_integer(RH_CEL_TIMESTAMP, time);
	if (!convert_text(&args[0], text, sizeof(text)) || rh_time_parse(text, &time, NULL) != 0)
		return rh_cel_error("type conversion error from 'string' to 'google.protobuf.Timestamp'");
	return rh_cel_integer(RH_CEL_TIMESTAMP, time);
}

static struct rh_cel_value convert_units(const struct rh_cel_value *duration, int64_t unit)
{
	return rh_cel_integer(RH_CEL_INT, duration->integer / unit);
}

CONVERT_CALL(convert_hours)
{
	CONVERT_UNUSED();
	return convert_units(&args[0], INT64_C(3600000000000));
}

CONVERT_CALL(convert_minutes)
{
	CONVERT_UNUSED();
	return convert_units(&args[0], INT64_C(60000000000));
}

CONVERT_CALL(convert_seconds)
{
	CONVERT_UNUSED();
	return convert_units(&args[0], 1000000000);
}

CONVERT_CALL(convert_quantity)
{
	char text[64];
	int64_t milli;

	CONVERT_UNUSED();
	if (!convert_text(&args[0], text, sizeof(text)) || rh_quantity_parse(text, &milli, NULL) != 0)
		return rh_cel_error(
			"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
	return rh_cel_integer(RH_CEL_QUANTITY, milli);
}

CONVERT_CALL(convert_is_quantity)
{
	char text[64];
	int64_t milli;

	CONVERT_UNUSED();
	return rh_cel_bool(convert_text(&args[0], text, sizeof(text)) && rh_quantity_parse(text, &milli, NULL) == 0);
}

CONVERT_CALL(convert_compare)
{
	CONVERT_UNUSED();
	return rh_cel_integer(RH_CEL_INT, (args[0].integer > args[1].integer) - (args[0].integer < args[1].integer));
}

CONVERT_CALL(convert_is_greater)
{
	CONVERT_UNUSED();
	return rh_cel_bool(args[0].integer > args[1].integer);
}

CONVERT_CALL(convert_is_less)
{
	CONVERT_UNUSED();
	return rh_cel_bool(args[0].integer < args[1].integer);
}

CONVERT_CALL(convert_sign)
{
	CONVERT_UNUSED();
	return rh_cel_integer(RH_CEL_INT, (args[0].integer > 0) - (args[0].integer < 0));
}

CONVERT_CALL(convert_add)
{
	int64_t sum = 0, other = args[1].kind == RH_CEL_INT ? 1000 : 1;

	CONVERT_UNUSED();
	if (__builtin_mul_overflow(args[1].integer, other, &other) || __builtin_add_overflow(args[0].integer, other, &sum))
		return rh_cel_error("quantity overflow");
	return rh_cel_integer(RH_CEL_QUANTITY, sum);
}

CONVERT_CALL(convert_sub)
{
	int64_t sum = 0, other = args[1].kind == RH_CEL_INT ? 1000 : 1;

	CONVERT_UNUSED();
	if (__builtin_mul_overflow(args[1].integer, other, &other) || __builtin_sub_overflow(args[0].integer, other, &sum))
		return rh_cel_error("quantity overflow");
	return rh_cel_integer(RH_CEL_QUANTITY, sum);
}

const struct rh_cel_function rh_cel_convert_functions[] = {
	{"dyn", "*", '*', false, convert_same},
	{"type", "*", 't', false, convert_type},
	{"int", "i", 'i', false, convert_int},
	{"int", "u", 'i', false, convert_int},
	{"int", "d", 'i', false, convert_int},
	{"int", "s", 'i', false, convert_int},
	{"int", "T", 'i', false, convert_int},
	{"uint", "u", 'u', false, convert_uint},
	{"uint", "i", 'u', false, convert_uint},
	{"uint", "d", 'u', false, convert_uint},
	{"uint", "s", 'u', false, convert_uint},
	{"double", "d", 'd', false, convert_double},
	{"double", "i", 'd', false, convert_double},
	{"double", "u", 'd', false, convert_double},
	{"double", "s", 'd', false, convert_double},
	{"bool", "b", 'b', false, convert_bool},
	{"bool", "s", 'b', false, convert_bool},
	{"string", "s", 's', false, convert_string},
	{"string", "b", 's', false, convert_string},
	{"string", "i", 's', false, convert_string},
	{"string", "u", 's', false, convert_string},
	{"string", "d", 's', false, convert_string},
	{"string", "y", 's', false, convert_string},
	{"string", "D", 's', false, convert_string},
	{"string", "T", 's', false, convert_string},
	{"bytes", "s", 'y', false, convert_bytes},
	{"bytes", "y", 'y', false, convert_bytes},
	{"duration", "s", 'D', false, convert_duration},
	{"duration", "D", 'D', false, convert_duration},
	{"duration", "i", 'D', false, convert_duration},
	{"timestamp", "s", 'T', false, convert_timestamp},
	{"timestamp", "T", 'T', false, convert_timestamp},
	{"timestamp", "i", 'T', false, convert_timestamp},
	{"getHours", "D", 'i', true, convert_hours},
	{"getMinutes", "D", 'i', true, convert_minutes},
	{"getSeconds", "D", 'i', true, convert_seconds},
	{"quantity", "s", 'q', false, convert_quantity},
	{"isQuantity", "s", 'b', false, convert_is_quantity},
	{"compareTo", "qq", 'i', true, convert_compare},
	{"isGreaterThan", "qq", 'b', true, convert_is_greater},
	{"isLessThan", "qq", 'b', true, convert_is_less},
	{"sign", "q", 'i', false, convert_sign},
	{"add", "qq", 'q', true, convert_add},
	{"add", "qi", 'q', true, convert_add},
	{"sub", "qq", 'q', true, convert_sub},
	{"sub", "qi", 'q', true, convert_sub},
	{NULL, NULL, 0, false, NULL},
};
