/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/scan.h"

#include <stdio.h>
#include <string.h>

#include "base/json/build.h"
#include "base/json/node.h"
#include "base/str.h"

/* Integers of so many characters are exact in a double and print as they are. */
#define SCAN_PLAIN_MAX 15
/* Numbers without an exponent and of fewer characters are finite. */
#define SCAN_FINITE_MAX 300

static int scan_value(struct rh_json_scan *scan);

void rh_json_scan_deinit(struct rh_json_scan *scan)
{
	rh_free(rh_take(scan->copy));
}

const char *rh_json_scan_readable(const struct rh_json_scan *scan)
{
	return scan->copy ? scan->copy : scan->text + scan->start;
}

void rh_json_position(const char *text, size_t offset, size_t *ret_line, size_t *ret_column)
{
	*ret_line = 1;
	*ret_column = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			(*ret_line)++;
			*ret_column = 1;
		} else if (((unsigned char)text[i] & 0xC0) != 0x80) {
			(*ret_column)++;
		}
	}
}

int rh_json_scan_fail(struct rh_json_scan *scan, size_t offset, const char *what)
{
	size_t line, column;

	rh_json_position(scan->text, offset, &line, &column);
	return rh_fail(scan->err, RH_EINVAL, "line %zu, column %zu: %s", line, column, what);
}

static int scan_fail(struct rh_json_scan *scan, const char *what)
{
	return rh_json_scan_fail(scan, scan->at, scan->at == scan->end ? "the text ends too early" : what);
}

/* @return the byte at the position of the check, or 0 at the end (a zero byte is nowhere allowed) */
static char scan_peek(const struct rh_json_scan *scan)
{
	return scan->at < scan->end ? scan->text[scan->at] : '\0';
}

static void scan_space(struct rh_json_scan *scan)
{
	char c = scan_peek(scan);

	while (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
		scan->at++;
		c = scan_peek(scan);
	}
}

static bool scan_accept(struct rh_json_scan *scan, char c)
{
	if (scan_peek(scan) != c)
		return false;
	scan->at++;
	return true;
}

/* @return where byte @p offset of the text is in the copy for cJSON; NULL when memory is out */
static char *scan_edit(struct rh_json_scan *scan, size_t offset)
{
	if (!scan->copy)
		scan->copy = rh_strndup(scan->text + scan->start, scan->end - scan->start);
	if (!scan->copy)
		(void)rh_fail_oom(scan->err);
	return scan->copy ? scan->copy + (offset - scan->start) : NULL;
}

static int scan_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool scan_hex4(struct rh_json_scan *scan, unsigned *ret_value)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++, scan->at++) {
		int digit = scan_hex_digit(scan_peek(scan));

		if (digit < 0)
			return false;
		value = value * 16 + (unsigned)digit;
	}
	*ret_value = value;
	return true;
}

/* Texts here end at a zero byte: U+FFFD replaces it, or the text is refused. */
static int scan_zero(struct rh_json_scan *scan, size_t start)
{
	char *escape;

	if (!scan->lenient)
		return rh_json_scan_fail(scan, start, "a string must not hold the character \\u0000");
	escape = scan_edit(scan, start);
	if (!escape)
		return RH_ENOMEM;
	memcpy(escape, "\\ufffd", strlen("\\ufffd"));
	return 0;
}

/* The digits after \u; a pair of surrogates is one character. */
static int scan_unicode(struct rh_json_scan *scan)
{
	size_t start = scan->at - 2;
	unsigned code, low;

	if (!scan_hex4(scan, &code))
		return scan_fail(scan, "expected four hexadecimal digits");
	if (code == 0)
		return scan_zero(scan, start);
	if (code < 0xD800 || code > 0xDFFF)
		return 0;
	if (code > 0xDBFF || !scan_accept(scan, '\\') || !scan_accept(scan, 'u') || !scan_hex4(scan, &low) ||
	    low < 0xDC00 || low > 0xDFFF)
		return rh_json_scan_fail(scan, start, "half of a surrogate pair");
	return 0;
}

static int scan_escape(struct rh_json_scan *scan)
{
	char c = scan_peek(scan);

	if (scan_accept(scan, 'u'))
		return scan_unicode(scan);
	if (c == '\0' || !strchr("\"\\/bfnrt", c))
		return scan_fail(scan, "unknown escape in a string");
	scan->at++;
	return 0;
}

static int scan_refuse_bytes(struct rh_json_scan *scan)
{
	int r = scan_fail(scan, "bytes that are not UTF-8");

	rh_error_set_topic(scan->err, RH_ERROR_UTF8);
	return r;
}

/* Pass over characters up to the next quote or backslash. */
static int scan_plain(struct rh_json_scan *scan)
{
	const char *at = scan->text + scan->at, *end = scan->text + scan->end;
	size_t step = 1;

	while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20 && step > 0) {
		step = (unsigned char)*at < 0x80 ? 1 : rh_utf8_length(at, (size_t)(end - at));
		at += step;
	}
	scan->at = (size_t)(at - scan->text);
	if (step == 0)
		return scan_refuse_bytes(scan);
	if (at < end && (unsigned char)*at < 0x20)
		return scan_fail(scan, "a control character in a string must be written as an escape");
	return 0;
}

/* A string whose opening quote is next. */
static int scan_string(struct rh_json_scan *scan)
{
	size_t start = scan->at++, escapes = 0;

	while (!scan_accept(scan, '"')) {
		int r = scan_plain(scan);

		if (r == 0 && scan_accept(scan, '\\')) {
			escapes++;
			r = scan_escape(scan);
		} else if (r == 0 && scan_peek(scan) != '"') {
			r = scan_fail(scan, "expected the end of a string");
		}
		if (r < 0)
			return r;
	}
	/* as many bytes as cJSON allocates: a backslash less for each escape, and a zero for one of the quotes */
	rh_json_node_need(&scan->need, scan->at - start - escapes);
	return 0;
}

size_t rh_json_scan_string(const char *text)
{
	size_t length = 1;

	while (text[length] != '"')
		length += text[length] == '\\' ? 2 : 1;
	return length + 1;
}

static size_t scan_digits(struct rh_json_scan *scan)
{
	size_t start = scan->at;

	while (scan_peek(scan) >= '0' && scan_peek(scan) <= '9')
		scan->at++;
	return scan->at - start;
}

/* The grammar of RFC 8259, section 6. */
static bool scan_number_form(struct rh_json_scan *scan)
{
	scan_accept(scan, '-');
	if (!scan_accept(scan, '0') && scan_digits(scan) == 0)
		return false;
	if (scan_accept(scan, '.') && scan_digits(scan) == 0)
		return false;
	if (scan_accept(scan, 'e') || scan_accept(scan, 'E')) {
		if (!scan_accept(scan, '+'))
			scan_accept(scan, '-');
		return scan_digits(scan) > 0;
	}
	return true;
}

size_t rh_json_scan_number(const char *text, size_t length)
{
	struct rh_json_scan scan = {.text = text, .end = length};

	return scan_number_form(&scan) ? scan.at : 0;
}

/* @return whether cJSON keeps a number, and prints it as it is here */
static bool scan_is_plain(const char *text, size_t length)
{
	size_t start = text[0] == '-';

	for (size_t i = start; i < length; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return length <= SCAN_PLAIN_MAX && (start == 0 || text[start] != '0');
}

/* A number that cJSON might change, or not read; it is set in the tree afterwards. */
static int scan_odd_number(struct rh_json_scan *scan, size_t start, size_t length)
{
	const char *text = scan->text + start;
	double value;
	int r = 0;

	if (length > SCAN_FINITE_MAX || memchr(text, 'e', length) || memchr(text, 'E', length))
		r = rh_json_read_number(text, length, &value);
	if (r < 0)
		return r == RH_EINVAL ? rh_json_scan_fail(scan, start, "a number is too large") : rh_fail_oom(scan->err);
	if (length > RH_JSON_DIGITS_MAX) {
		char *digits = scan_edit(scan, start);

		if (!digits)
			return RH_ENOMEM;
		memset(digits + 1, ' ', length - 1);
		*digits = '0';
	}
	scan->odd_numbers++;
	rh_json_node_need(&scan->need, length < RH_JSON_NUMBER_SIZE ? RH_JSON_NUMBER_SIZE : length + 1);
	return 0;
}

static int scan_number(struct rh_json_scan *scan)
{
	size_t start = scan->at, length;

	if (!scan_number_form(scan))
		return scan_fail(scan, "a number is not well formed");
	length = scan->at - start;
	if (length > scan->longest_number && length <= RH_JSON_DIGITS_MAX)
		scan->longest_number = length;
	return scan_is_plain(scan->text + start, length) ? 0 : scan_odd_number(scan, start, length);
}

static int scan_items(struct rh_json_scan *scan)
{
	scan_space(scan);
	if (scan_accept(scan, ']'))
		return 0;
	do {
		int r = scan_value(scan);

		if (r < 0)
			return r;
		scan_space(scan);
	} while (scan_accept(scan, ','));
	return scan_accept(scan, ']') ? 0 : scan_fail(scan, "expected , or ]");
}

static int scan_member(struct rh_json_scan *scan)
{
	int r;

	scan_space(scan);
	if (scan_peek(scan) != '"')
		return scan_fail(scan, "expected a key in double quotes");
	r = scan_string(scan);
	if (r < 0)
		return r;
	scan_space(scan);
	if (!scan_accept(scan, ':'))
		return scan_fail(scan, "expected :");
	return scan_value(scan);
}

static int scan_members(struct rh_json_scan *scan)
{
	scan_space(scan);
	if (scan_accept(scan, '}'))
		return 0;
	do {
		int r = scan_member(scan);

		if (r < 0)
			return r;
		scan_space(scan);
	} while (scan_accept(scan, ','));
	return scan_accept(scan, '}') ? 0 : scan_fail(scan, "expected , or }");
}

static int scan_word(struct rh_json_scan *scan, const char *word)
{
	size_t length = strlen(word);

	if (scan->end - scan->at < length || memcmp(scan->text + scan->at, word, length) != 0)
		return scan_fail(scan, "expected a value");
	scan->at += length;
	return 0;
}

/* Pass over an array or object without looking at what it holds: the copy has an empty one. */
static int scan_skip_nested(struct rh_json_scan *scan)
{
	size_t start = scan->at, open = 0;
	bool quoted = false;
	char *inside;

	do {
		char c = scan_peek(scan);

		if (scan->at == scan->end)
			return scan_fail(scan, "expected ] or }");
		scan->at++;
		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\')
			scan->at += scan->at < scan->end;
		else if (!quoted && (c == '[' || c == '{'))
			open++;
		else if (!quoted && (c == ']' || c == '}'))
			open--;
	} while (open > 0);
	inside = scan_edit(scan, start);
	if (!inside)
		return RH_ENOMEM;
	memset(inside, ' ', scan->at - start);
	memcpy(inside, "[]", 2);
	scan->deep = true;
	return 0;
}

static int scan_nested(struct rh_json_scan *scan)
{
	bool array = scan_peek(scan) == '[';
	int r;

	if (scan->depth >= RH_JSON_DEPTH_MAX)
		return scan->lenient ? scan_skip_nested(scan) : scan_fail(scan, "nested too deeply");
	scan->depth++;
	scan->at++;
	r = array ? scan_items(scan) : scan_members(scan);
	scan->depth--;
	return r;
}

static int scan_value(struct rh_json_scan *scan)
{
	scan_space(scan);
	if (scan->values == 0)
		return scan_fail(scan, "the text holds too many values");
	scan->values--;
	scan->need.values++;
	switch (scan_peek(scan)) {
	case '{':
	case '[':
		return scan_nested(scan);
	case '"':
		return scan_string(scan);
	case 't':
		return scan_word(scan, "true");
	case 'f':
		return scan_word(scan, "false");
	case 'n':
		return scan_word(scan, "null");
	case '-':
		return scan_number(scan);
	default:
		if (scan_peek(scan) >= '0' && scan_peek(scan) <= '9')
			return scan_number(scan);
		return scan_fail(scan, "expected a value");
	}
}

int rh_json_scan(struct rh_json_scan *scan)
{
	int r;

	if (scan->end - scan->at >= 3 && memcmp(scan->text + scan->at, "\xEF\xBB\xBF", 3) == 0)
		scan->at += 3;
	scan->start = scan->at;
	r = scan_value(scan);
	if (r < 0)
		return r;
	/* cJSON copies each number, and adds a zero byte, before it reads it */
	rh_json_node_need(&scan->need, scan->longest_number + 1);
	scan_space(scan);
	return scan->at == scan->end ? 0 : scan_fail(scan, "expected nothing more after the document");
}
