/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/json_build.h"
#include "base/json_node.h"

/* From this many members on, keys are looked up in a hash map. */
#define JSON_KEYS_WALK_MAX 16
/* Blocks of a tree's room, bytes for each byte of text: three do for most Kubernetes objects. */
#define JSON_ROOM_RATIO 3
#define JSON_ROOM_MIN 64
/* A large tree lies in blocks that the C library takes from the system and gives back as a whole. */
#define JSON_ROOM_MAX (1024 * 1024)
/* Stands for a character that a text here cannot hold. */
#define JSON_REPLACEMENT 0xFFFDu

/* Where a parse stands. */
struct json_parser {
	const char *text;
	size_t at, end;
	size_t values; /* that may still be made */
	int depth;
	bool lenient;
	struct rh_json_room room;
	struct rh_str word; /* the string that is being read */
	struct rh_error *err;
};

static int json_parse_value(struct json_parser *parser, struct rh_json *json);

void rh_json_keys_deinit(struct rh_json_keys *keys)
{
	rh_map_free(keys->map);
	*keys = (struct rh_json_keys){0};
}

bool rh_json_keys_have(const struct rh_json_keys *keys, const struct rh_json *object, const char *key)
{
	return keys->map ? rh_map_get(keys->map, key) != NULL : rh_json_get(object, key) != NULL;
}

/* Start the map with the members that are there already. */
static int json_keys_index(struct rh_json_keys *keys, const struct rh_json *object)
{
	rh_auto(map) map = rh_map_new();

	if (!map)
		return RH_ENOMEM;
	for (struct rh_json *member = rh_json_first(object); member; member = rh_json_next(member))
		if (rh_map_set(map, rh_json_key(member), member, NULL) < 0)
			return RH_ENOMEM;
	keys->map = rh_take(map);
	return 0;
}

/* Note a member that has just been put behind the others. */
static int json_keys_note(struct rh_json_keys *keys, const struct rh_json *object, const char *key,
                          struct rh_json *value)
{
	keys->count++;
	if (keys->map)
		return rh_map_set(keys->map, key, value, NULL);
	return keys->count > JSON_KEYS_WALK_MAX ? json_keys_index(keys, object) : 0;
}

int rh_json_keys_add(struct rh_json_keys *keys, struct rh_json *object, const char *key, struct rh_json *value)
{
	int r = rh_json_add(object, key, value);

	return r < 0 ? r : json_keys_note(keys, object, key, value);
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

static int json_fail_at(struct json_parser *parser, size_t offset, const char *what)
{
	size_t line, column;

	rh_json_position(parser->text, offset, &line, &column);
	return rh_fail(parser->err, RH_EINVAL, "line %zu, column %zu: %s", line, column, what);
}

static int json_fail(struct json_parser *parser, const char *what)
{
	return json_fail_at(parser, parser->at, parser->at == parser->end ? "the text ends too early" : what);
}

/* @return the byte at the parser, or 0 at the end (a zero byte is nowhere allowed) */
static char json_peek(const struct json_parser *parser)
{
	return parser->at < parser->end ? parser->text[parser->at] : '\0';
}

static void json_skip_space(struct json_parser *parser)
{
	while (parser->at < parser->end && strchr(" \t\r\n", parser->text[parser->at]) && parser->text[parser->at])
		parser->at++;
}

static bool json_accept(struct json_parser *parser, char c)
{
	if (json_peek(parser) != c)
		return false;
	parser->at++;
	return true;
}

static int json_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool json_hex4(struct json_parser *parser, unsigned *ret_value)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++, parser->at++) {
		int digit = json_hex_digit(json_peek(parser));

		if (digit < 0)
			return false;
		value = value * 16 + (unsigned)digit;
	}
	*ret_value = value;
	return true;
}

static void json_append_utf8(struct rh_str *out, unsigned code)
{
	char bytes[4];
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

	for (size_t i = n - 1; i > 0; i--, code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3F));
	bytes[0] = (char)(lead[n] | code);
	rh_str_append_bytes(out, bytes, n);
}

/* What follows \u; a pair of surrogates is one character. */
static int json_parse_unicode(struct json_parser *parser, struct rh_str *out)
{
	size_t start = parser->at - 2;
	unsigned code, low;

	if (!json_hex4(parser, &code))
		return json_fail(parser, "expected four hexadecimal digits");
	if (code == 0 && !parser->lenient)
		return json_fail_at(parser, start, "a string must not hold the character \\u0000");
	if (code == 0)
		code = JSON_REPLACEMENT;
	if (code >= 0xD800 && code <= 0xDBFF) {
		if (!json_accept(parser, '\\') || !json_accept(parser, 'u') || !json_hex4(parser, &low) || low < 0xDC00 ||
		    low > 0xDFFF)
			return json_fail_at(parser, start, "half of a surrogate pair");
		code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
	} else if (code >= 0xDC00 && code <= 0xDFFF) {
		return json_fail_at(parser, start, "half of a surrogate pair");
	}
	json_append_utf8(out, code);
	return 0;
}

static int json_parse_escape(struct json_parser *parser, struct rh_str *out)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char c = json_peek(parser);
	const char *letter = c != '\0' ? strchr(letters, c) : NULL;

	if (json_accept(parser, 'u'))
		return json_parse_unicode(parser, out);
	if (!letter)
		return json_fail(parser, "unknown escape in a string");
	parser->at++;
	rh_str_append_bytes(out, &meanings[letter - letters], 1);
	return 0;
}

/* Copy characters up to the next quote or backslash. */
static int json_parse_plain(struct json_parser *parser, struct rh_str *out)
{
	size_t start = parser->at;

	while (parser->at < parser->end) {
		unsigned char c = (unsigned char)parser->text[parser->at];
		size_t step = rh_utf8_length(parser->text + parser->at, parser->end - parser->at);

		if (c == '"' || c == '\\')
			break;
		if (c < 0x20)
			return json_fail(parser, "a control character in a string must be written as an escape");
		if (step == 0)
			return json_fail(parser, "bytes that are not UTF-8");
		parser->at += step;
	}
	rh_str_append_bytes(out, parser->text + start, parser->at - start);
	return 0;
}

/* Read a string whose opening quote is next. @param[out] ret_text in the room */
static int json_parse_text(struct json_parser *parser, char **ret_text)
{
	struct rh_str *out = &parser->word;

	rh_str_clear(out);
	parser->at++;
	while (!json_accept(parser, '"')) {
		int r = json_parse_plain(parser, out);

		if (r == 0 && json_accept(parser, '\\'))
			r = json_parse_escape(parser, out);
		else if (r == 0 && json_peek(parser) != '"')
			r = json_fail(parser, "expected the end of a string");
		if (r < 0)
			return r;
	}
	*ret_text = out->failed ? NULL : rh_json_room_text(&parser->room, rh_str_text(out), out->length);
	return *ret_text ? 0 : rh_fail_oom(parser->err);
}

static int json_parse_string(struct json_parser *parser, struct rh_json *json)
{
	char *text = NULL;
	int r = json_parse_text(parser, &text);

	if (r < 0)
		return r;
	json->type = RH_JSON_STRING;
	json->is.text = text;
	return 0;
}

static size_t json_skip_digits(struct json_parser *parser)
{
	size_t start = parser->at;

	while (json_peek(parser) >= '0' && json_peek(parser) <= '9')
		parser->at++;
	return parser->at - start;
}

/* The grammar of RFC 8259, section 6. */
static bool json_skip_number(struct json_parser *parser)
{
	json_accept(parser, '-');
	if (!json_accept(parser, '0') && json_skip_digits(parser) == 0)
		return false;
	if (json_accept(parser, '.') && json_skip_digits(parser) == 0)
		return false;
	if (json_accept(parser, 'e') || json_accept(parser, 'E')) {
		if (!json_accept(parser, '+'))
			json_accept(parser, '-');
		return json_skip_digits(parser) > 0;
	}
	return true;
}

static int json_parse_number(struct json_parser *parser, struct rh_json *json)
{
	size_t start = parser->at;
	int r;

	if (!json_skip_number(parser))
		return json_fail(parser, "a number is not well formed");
	r = rh_json_room_number(&parser->room, parser->text + start, parser->at - start, json);
	if (r == RH_EINVAL)
		return json_fail_at(parser, start, "a number is too large");
	return r < 0 ? rh_fail_oom(parser->err) : 0;
}

/* @return a value to be filled in, the last of @p parent (NULL: the root), or NULL when memory is out */
static struct rh_json *json_begin(struct json_parser *parser, struct rh_json *parent, char *key)
{
	struct rh_json *json = rh_json_room_value(&parser->room, RH_JSON_NULL);

	if (!json)
		return NULL;
	json->key = key;
	json->key_lent = key != NULL;
	if (parent)
		rh_json_link(parent, json);
	return json;
}

static int json_parse_items(struct json_parser *parser, struct rh_json *array)
{
	do {
		struct rh_json *item = json_begin(parser, array, NULL);
		int r = item ? json_parse_value(parser, item) : rh_fail_oom(parser->err);

		if (r < 0)
			return r;
		json_skip_space(parser);
	} while (json_accept(parser, ','));
	return json_accept(parser, ']') ? 0 : json_fail(parser, "expected , or ]");
}

static int json_parse_array(struct json_parser *parser, struct rh_json *array)
{
	array->type = RH_JSON_ARRAY;
	json_skip_space(parser);
	return json_accept(parser, ']') ? 0 : json_parse_items(parser, array);
}

static int json_fail_twice(struct json_parser *parser, size_t offset, const char *key)
{
	char what[192];

	snprintf(what, sizeof(what), "the key \"%.128s\" stands twice in one object", key);
	return json_fail_at(parser, offset, what);
}

static int json_parse_member(struct json_parser *parser, struct rh_json *object, struct rh_json_keys *keys)
{
	struct rh_json *value;
	char *key = NULL;
	size_t start;
	int r;

	json_skip_space(parser);
	start = parser->at;
	if (json_peek(parser) != '"')
		return json_fail(parser, "expected a key in double quotes");
	r = json_parse_text(parser, &key);
	if (r < 0)
		return r;
	if (rh_json_keys_have(keys, object, key)) {
		if (!parser->lenient)
			return json_fail_twice(parser, start, key);
		object = NULL; /* the first counts: this value belongs to nothing */
	}
	json_skip_space(parser);
	if (!json_accept(parser, ':'))
		return json_fail(parser, "expected :");
	value = json_begin(parser, object, key);
	if (!value || (object && json_keys_note(keys, object, key, value) < 0))
		return rh_fail_oom(parser->err);
	return json_parse_value(parser, value);
}

static int json_parse_object(struct json_parser *parser, struct rh_json *object)
{
	rh_auto_json_keys keys = {0};

	object->type = RH_JSON_OBJECT;
	json_skip_space(parser);
	if (json_accept(parser, '}'))
		return 0;
	do {
		int r = json_parse_member(parser, object, &keys);

		if (r < 0)
			return r;
		json_skip_space(parser);
	} while (json_accept(parser, ','));
	return json_accept(parser, '}') ? 0 : json_fail(parser, "expected , or }");
}

static int json_parse_word(struct json_parser *parser, const char *word)
{
	size_t length = strlen(word);

	if (parser->end - parser->at < length || memcmp(parser->text + parser->at, word, length) != 0)
		return json_fail(parser, "expected a value");
	parser->at += length;
	return 0;
}

static int json_parse_bool(struct json_parser *parser, struct rh_json *json)
{
	json->type = RH_JSON_BOOL;
	json->is.truth = json_peek(parser) == 't';
	return json_parse_word(parser, json->is.truth ? "true" : "false");
}

/* Pass over an array or object without looking at what it holds. */
static int json_skip_nested(struct json_parser *parser)
{
	bool quoted = false;
	size_t open = 0;

	while (parser->at < parser->end) {
		char c = parser->text[parser->at++];

		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\')
			parser->at += parser->at < parser->end;
		else if (!quoted && (c == '[' || c == '{'))
			open++;
		else if (!quoted && (c == ']' || c == '}') && --open == 0)
			return 0;
	}
	return json_fail(parser, "expected ] or }");
}

static int json_parse_nested(struct json_parser *parser, struct rh_json *json)
{
	bool array = json_peek(parser) == '[';
	int r;

	if (parser->depth >= RH_JSON_DEPTH_MAX)
		return parser->lenient ? json_skip_nested(parser) : json_fail(parser, "nested too deeply");
	parser->depth++;
	parser->at++;
	r = array ? json_parse_array(parser, json) : json_parse_object(parser, json);
	parser->depth--;
	return r;
}

/* Fill @p json, which is null, with the value that comes next. */
static int json_parse_value(struct json_parser *parser, struct rh_json *json)
{
	json_skip_space(parser);
	if (parser->values == 0)
		return json_fail(parser, "the text holds too many values");
	parser->values--;
	switch (json_peek(parser)) {
	case '{':
	case '[':
		return json_parse_nested(parser, json);
	case '"':
		return json_parse_string(parser, json);
	case 't':
	case 'f':
		return json_parse_bool(parser, json);
	case 'n':
		return json_parse_word(parser, "null");
	case '-':
		return json_parse_number(parser, json);
	default:
		if (json_peek(parser) >= '0' && json_peek(parser) <= '9')
			return json_parse_number(parser, json);
		return json_fail(parser, "expected a value");
	}
}

static size_t json_room_step(size_t length)
{
	if (length >= JSON_ROOM_MAX / JSON_ROOM_RATIO)
		return JSON_ROOM_MAX;
	return length * JSON_ROOM_RATIO > JSON_ROOM_MIN ? length * JSON_ROOM_RATIO : JSON_ROOM_MIN;
}

static int json_parse_document(struct json_parser *parser, struct rh_json **ret_json)
{
	struct rh_json *json = json_begin(parser, NULL, NULL);
	int r = json ? json_parse_value(parser, json) : rh_fail_oom(parser->err);

	if (r < 0)
		return r;
	json_skip_space(parser);
	if (parser->at != parser->end)
		return json_fail(parser, "expected nothing more after the document");
	*ret_json = json;
	return 0;
}

int rh_json_parse_span(struct rh_json_span *span, struct rh_json **ret_json, struct rh_error *err)
{
	struct json_parser parser = {
		.text = span->text,
		.at = span->start,
		.end = span->end,
		.values = span->values,
		.lenient = span->lenient,
		.err = err,
	};
	int r;

	parser.room.step = json_room_step(span->end - span->start);
	if (span->end - span->start >= 3 && memcmp(span->text + span->start, "\xEF\xBB\xBF", 3) == 0)
		parser.at += 3;
	r = json_parse_document(&parser, ret_json);
	span->values = parser.values;
	rh_str_deinit(&parser.word);
	if (r < 0)
		rh_json_room_deinit(&parser.room);
	return r;
}

int rh_json_parse(const char *text, size_t length, struct rh_json **ret_json, struct rh_error *err)
{
	struct rh_json_span span = {.text = text, .start = 0, .end = length, .values = SIZE_MAX};

	return rh_json_parse_span(&span, ret_json, err);
}

int rh_json_parse_lenient(const char *text, size_t length, struct rh_json **ret_json, struct rh_error *err)
{
	struct rh_json_span span = {.text = text, .start = 0, .end = length, .values = SIZE_MAX, .lenient = true};

	return rh_json_parse_span(&span, ret_json, err);
}
