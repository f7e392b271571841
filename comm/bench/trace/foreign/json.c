/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bench/trace/foreign/value.h"

#define DEPTH_MOST 64
#define NUMBER_ROOM 64

/* What is being read. */
struct json {
	struct rh_values *values;
	const char *at;
	const char *end;
	const char *why;
	int depth;
};

static struct rh_value *json_value(struct json *json);

static struct rh_value *json_fail(struct json *json, const char *why)
{
	if (!json->why)
		json->why = why;
	return NULL;
}

static struct rh_value *json_made(struct json *json, struct rh_value *value)
{
	return value ? value : json_fail(json, "it holds too much");
}

static void json_skip_space(struct json *json)
{
	while (json->at < json->end && memchr(" \t\r\n", *json->at, 4))
		json->at++;
}

/* @return whether that byte comes next; it is taken */
static bool json_take(struct json *json, char byte)
{
	json_skip_space(json);
	if (json->at == json->end || *json->at != byte)
		return false;
	json->at++;
	return true;
}

static struct rh_value *json_word(struct json *json)
{
	static const struct {
		const char *word;
		enum rh_value_kind kind;
		int64_t integer;
	} words[] = {{"true", RH_VALUE_FLAG, 1}, {"false", RH_VALUE_FLAG, 0}, {"null", RH_VALUE_NULL, 0}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t length = strlen(words[i].word);
		struct rh_value *value;

		if ((size_t)(json->end - json->at) < length || memcmp(json->at, words[i].word, length) != 0)
			continue;
		json->at += length;
		value = rh_value_new(json->values, words[i].kind);
		if (value)
			value->integer = words[i].integer;
		return json_made(json, value);
	}
	return json_fail(json, "it is no JSON");
}

static struct rh_value *json_number(struct json *json)
{
	char text[NUMBER_ROOM];
	size_t length = 0;
	struct rh_value *value;
	char *end;
	double fraction;

	while (json->at + length < json->end && length < sizeof(text) - 1 &&
	       memchr("+-.eE0123456789", json->at[length], 15))
		length++;
	memcpy(text, json->at, length);
	text[length] = '\0';
	fraction = strtod(text, &end);
	if (length == 0 || *end != '\0')
		return json_fail(json, "it has a number that is none");
	json->at += length;
	value = rh_value_new(json->values, RH_VALUE_NUMBER);
	if (value && strpbrk(text, ".eE"))
		value->integer = fabs(fraction) < 9e18 ? (int64_t)fraction : 0;
	else if (value)
		value->integer = strtoll(text, NULL, 10);
	return json_made(json, value);
}

/* Four digits of \uXXXX. @return the bytes of UTF-8; 0: no digits. Halves of pairs stay as they are. */
static size_t json_unicode(const char *digits, char *out)
{
	char text[5] = {digits[0], digits[1], digits[2], digits[3], '\0'};
	unsigned long code;

	if (strspn(text, "0123456789abcdefABCDEF") != 4)
		return 0;
	code = strtoul(text, NULL, 16);
	if (code < 0x80) {
		out[0] = (char)(code > 0 ? code : ' ');
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | code >> 12);
	out[1] = (char)(0x80 | (code >> 6 & 0x3f));
	out[2] = (char)(0x80 | (code & 0x3f));
	return 3;
}

/* One character, maybe escaped. @return bytes written, at most 3; 0: not valid */
static size_t json_character(struct json *json, char *out)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (*json->at != '\\') {
		*out = *json->at++;
		return 1;
	}
	if (json->end - json->at < 2)
		return 0;
	if (json->at[1] == 'u' && json->end - json->at >= 6) {
		size_t length = json_unicode(json->at + 2, out);

		json->at += 6;
		return length;
	}
	found = json->at[1] != '\0' ? strchr(from, json->at[1]) : NULL;
	json->at += 2;
	if (found)
		*out = to[found - from];
	return found ? 1 : 0;
}

/* The text after its first quote. */
static struct rh_value *json_text(struct json *json)
{
	const char *end = json->at;
	struct rh_value *value;
	size_t length = 0;
	char *copy;

	while (end < json->end && *end != '"')
		end += *end == '\\' ? 2 : 1;
	if (end >= json->end)
		return json_fail(json, "a text in it has no end");
	value = rh_value_new(json->values, RH_VALUE_TEXT);
	copy = value ? rh_values_take(json->values, (size_t)(end - json->at) + 4) : NULL;
	if (!copy)
		return json_fail(json, "it holds too much");
	while (json->at < end) {
		size_t written = json_character(json, copy + length);

		if (written == 0)
			return json_fail(json, "a text in it is not valid");
		length += written;
	}
	json->at++;
	copy[length] = '\0';
	value->text = copy;
	return value;
}

/* @return whether a key and the colon were read */
static bool json_key(struct json *json, struct rh_value *map)
{
	struct rh_value *key;

	if (!json_take(json, '"'))
		return json_fail(json, "a member in it has no name") != NULL;
	key = json_text(json);
	if (!key)
		return false;
	if (!json_take(json, ':'))
		return json_fail(json, "a member in it has no value") != NULL;
	return rh_value_append(json->values, map, key) || json_fail(json, "it holds too much");
}

/* A list or a map, after its bracket. */
static struct rh_value *json_items(struct json *json, enum rh_value_kind kind)
{
	char close = kind == RH_VALUE_MAP ? '}' : ']';
	struct rh_value *whole = json_made(json, rh_value_new(json->values, kind));

	if (whole && json_take(json, close))
		return whole;
	while (whole) {
		struct rh_value *item;

		if (kind == RH_VALUE_MAP && !json_key(json, whole))
			return NULL;
		item = json_value(json);
		if (!item)
			return NULL;
		if (!rh_value_append(json->values, whole, item))
			return json_fail(json, "it holds too much");
		if (json_take(json, close))
			return whole;
		if (!json_take(json, ','))
			return json_fail(json, "it is cut, or no JSON");
	}
	return NULL;
}

static struct rh_value *json_value(struct json *json)
{
	struct rh_value *value;

	if (json->depth == DEPTH_MOST)
		return json_fail(json, "it is nested too deep");
	json->depth++;
	if (json_take(json, '{'))
		value = json_items(json, RH_VALUE_MAP);
	else if (json_take(json, '['))
		value = json_items(json, RH_VALUE_LIST);
	else if (json_take(json, '"'))
		value = json_text(json);
	else if (json->at < json->end && memchr("-0123456789", *json->at, 11))
		value = json_number(json);
	else
		value = json_word(json);
	json->depth--;
	return value;
}

struct rh_value *rh_value_parse_json(struct rh_values *values, const char *bytes, size_t length, const char **why)
{
	struct json json = {.values = values, .at = bytes, .end = bytes + length};
	struct rh_value *value = json_value(&json);

	json_skip_space(&json);
	if (value && json.at != json.end)
		value = json_fail(&json, "something follows its JSON");
	*why = json.why;
	return value;
}
