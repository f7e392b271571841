/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json/build.h"
#include "base/yaml/parts.h"

/* Longer scalars are text. One digit may be added, before a point. */
#define SCALAR_NUMBER_MAX (RH_YAML_NUMBER_SIZE - 2)

/* The words of sigs.k8s.io/yaml v1.4 (goyaml.v2/resolve.go), y and n among them. */
static enum rh_yaml_kind scalar_word(const char *text, size_t length)
{
	static const struct {
		const char *word;
		enum rh_yaml_kind kind;
	} words[] = {
		{"", RH_YAML_NULL},           {"~", RH_YAML_NULL},          {"null", RH_YAML_NULL},
		{"Null", RH_YAML_NULL},       {"NULL", RH_YAML_NULL},       {"y", RH_YAML_TRUE},
		{"Y", RH_YAML_TRUE},          {"yes", RH_YAML_TRUE},        {"Yes", RH_YAML_TRUE},
		{"YES", RH_YAML_TRUE},        {"true", RH_YAML_TRUE},       {"True", RH_YAML_TRUE},
		{"TRUE", RH_YAML_TRUE},       {"on", RH_YAML_TRUE},         {"On", RH_YAML_TRUE},
		{"ON", RH_YAML_TRUE},         {"n", RH_YAML_FALSE},         {"N", RH_YAML_FALSE},
		{"no", RH_YAML_FALSE},        {"No", RH_YAML_FALSE},        {"NO", RH_YAML_FALSE},
		{"false", RH_YAML_FALSE},     {"False", RH_YAML_FALSE},     {"FALSE", RH_YAML_FALSE},
		{"off", RH_YAML_FALSE},       {"Off", RH_YAML_FALSE},       {"OFF", RH_YAML_FALSE},
		{".nan", RH_YAML_NOT_FINITE}, {".NaN", RH_YAML_NOT_FINITE}, {".NAN", RH_YAML_NOT_FINITE},
		{".inf", RH_YAML_NOT_FINITE}, {".Inf", RH_YAML_NOT_FINITE}, {".INF", RH_YAML_NOT_FINITE},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == length && memcmp(words[i].word, text, length) == 0)
			return words[i].kind;
	return RH_YAML_STRING;
}

static bool scalar_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static unsigned scalar_digit(char c)
{
	if (scalar_is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 99;
}

/* Base 16, 8 or 2 by prefix 0x, 0o, 0b; base 8 by a leading zero alone; else 10. */
static unsigned scalar_base(const char **text)
{
	const char *t = *text;

	if (t[0] != '0' || t[1] == '\0')
		return 10;
	*text += 2;
	switch (t[1]) {
	case 'x':
	case 'X':
		return 16;
	case 'o':
	case 'O':
		return 8;
	case 'b':
	case 'B':
		return 2;
	default:
		*text -= 1;
		return 8;
	}
}

/* Go's strconv.ParseInt, then ParseUint, which accepts no sign. Other numbers are not integers. */
static bool scalar_integer(const char *text, struct rh_yaml_number *ret_number)
{
	bool negative = *text == '-', sign = negative || *text == '+';
	uint64_t value = 0, most = sign ? (uint64_t)INT64_MAX + negative : UINT64_MAX;
	unsigned base;

	text += sign;
	base = scalar_base(&text);
	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		unsigned digit = scalar_digit(*text);

		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value) || value > most)
			return false;
	}
	(void)snprintf(ret_number->text, sizeof(ret_number->text), "%s%" PRIu64, negative ? "-" : "", value);
	return true;
}

static const char *scalar_skip_digits(const char *text)
{
	while (scalar_is_digit(*text))
		text++;
	return text;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool scalar_is_decimal(const char *text)
{
	const char *start, *end;

	text += *text == '-' || *text == '+';
	start = text;
	text = scalar_skip_digits(text);
	end = text;
	if (*text == '.')
		end = scalar_skip_digits(text + 1);
	if (text == start && end - text < 2)
		return false;
	text = end;
	if (*text == 'e' || *text == 'E') {
		text += text[1] == '-' || text[1] == '+' ? 2 : 1;
		if (!scalar_is_digit(*text))
			return false;
		text = scalar_skip_digits(text);
	}
	return *text == '\0';
}

/* Copy without the underscores that YAML 1.1 allows between digits. */
static void scalar_strip(const char *text, size_t length, char to[SCALAR_NUMBER_MAX + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		if (text[i] != '_')
			to[n++] = text[i];
	to[n] = '\0';
}

static void scalar_copy(const char *from, size_t length, char **to)
{
	memcpy(*to, from, length);
	*to += length;
}

/* Write a decimal as JSON does: no plus, no zeros before other digits, digits on both sides of a point. */
static void scalar_write_decimal(const char *text, char *to)
{
	const char *end;

	if (*text == '-')
		*to++ = '-';
	text += *text == '-' || *text == '+';
	text += strspn(text, "0");
	if (!scalar_is_digit(*text))
		*to++ = '0';
	end = scalar_skip_digits(text);
	scalar_copy(text, (size_t)(end - text), &to);
	text = *end == '.' && !scalar_is_digit(end[1]) ? end + 1 : end;
	scalar_copy(text, strlen(text) + 1, &to);
}

static bool scalar_decimal(const char *digits, struct rh_yaml_number *ret_number)
{
	double value;

	if (!scalar_is_decimal(digits) || rh_json_read_number(digits, strlen(digits), &value) < 0)
		return false;
	scalar_write_decimal(digits, ret_number->text);
	return true;
}

static enum rh_yaml_kind scalar_number(const char *text, size_t length, struct rh_yaml_number *ret_number)
{
	char digits[SCALAR_NUMBER_MAX + 1] = "";

	if (length == 0 || length > SCALAR_NUMBER_MAX || !memchr("+-.0123456789", text[0], 13))
		return RH_YAML_STRING;
	if (text[0] == '.' && memchr(text, '_', length))
		return RH_YAML_STRING;
	if (memchr(text, '\0', length))
		return RH_YAML_STRING;
	scalar_strip(text, length, digits);
	if (scalar_integer(digits, ret_number))
		return RH_YAML_INTEGER;
	return scalar_decimal(digits, ret_number) ? RH_YAML_REAL : RH_YAML_STRING;
}

enum rh_yaml_kind rh_yaml_resolve(const char *text, size_t length, struct rh_yaml_number *ret_number)
{
	enum rh_yaml_kind kind = scalar_word(text, length);

	if (kind != RH_YAML_STRING)
		return kind;
	if (length == 5 && (text[0] == '+' || text[0] == '-') && text[2] != 'n' && text[2] != 'N' &&
	    scalar_word(text + 1, 4) == RH_YAML_NOT_FINITE)
		return RH_YAML_NOT_FINITE;
	return scalar_number(text, length, ret_number);
}
