/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/yaml.h"
#include "base/yaml/parts.h"

/* YAML readers look only 1024 characters ahead for the colon of a key; from here on it is written as "? key". */
#define PRINT_KEY_MAX 128

/* How a string can be written. */
enum print_style { PRINT_PLAIN, PRINT_SINGLE, PRINT_DOUBLE, PRINT_LITERAL };

static void print_block(const struct rh_json *json, int indent, struct rh_str *out);

static bool print_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Characters that YAML allows as they are; the byte order mark and the exotic line breaks are written as escapes. */
static bool print_is_printable(const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;

	if (length == 1)
		return s[0] >= 0x20 && s[0] != 0x7F;
	if (length == 2)
		return s[0] != 0xC2 || s[1] >= 0xA0;
	if (length == 3 && s[0] == 0xE2 && s[1] == 0x80)
		return s[2] != 0xA8 && s[2] != 0xA9;
	if (length == 3 && s[0] == 0xEF)
		return memcmp(s, "\xEF\xBB\xBF", 3) != 0 && memcmp(s, "\xEF\xBF\xBE", 3) < 0;
	return length > 0;
}

/* @return whether all characters, except those in `besides`, need no quotes */
static bool print_all_printable(const char *text, const char *besides)
{
	size_t length = strlen(text);

	while (length > 0) {
		size_t step = rh_utf8_length(text, length);

		if (!print_is_printable(text, step) && !strchr(besides, *text))
			return false;
		step = step > 0 ? step : 1;
		text += step;
		length -= step;
	}
	return true;
}

/*
 * A text that other readers of YAML 1.1 take for a date or a number in base 60: 2026-11-21, 12:30:45. Ours does not,
 * but what we print is read by others.
 */
static bool print_looks_like_time(const char *text)
{
	if (*text == '+' || *text == '-')
		text++;
	if (!print_is_digit(*text) || !strpbrk(text, "-:"))
		return false;
	return strspn(text, "0123456789-:.+_ TtZz") == strlen(text);
}

/* @return whether a plain scalar of this text reads back as this text */
static bool print_can_be_plain(const char *text)
{
	size_t length = strlen(text);

	if (strchr("-?:", text[0]) && (text[1] == ' ' || text[1] == '\0'))
		return false;
	if (strchr(",[]{}#&*!|>'\"%@` ", text[0]) || strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0)
		return false;
	return !strstr(text, ": ") && !strstr(text, " #") && text[length - 1] != ':' && text[length - 1] != ' ';
}

/* A block of lines (|) keeps its text unless it has white space in places where a parser or a person would lose it. */
static bool print_can_be_literal(const char *text)
{
	if (!strchr(text, '\n') || strchr(" \t\n", text[0]) || !print_all_printable(text, "\n\t"))
		return false;
	return !strstr(text, " \n") && !strstr(text, "\t\n") && !strchr(" \t", text[strlen(text) - 1]);
}

static enum print_style print_choose(const char *text)
{
	struct rh_yaml_number number;

	if (print_can_be_literal(text))
		return PRINT_LITERAL;
	if (!print_all_printable(text, ""))
		return PRINT_DOUBLE;
	if (rh_yaml_resolve(text, strlen(text), &number) != RH_YAML_STRING || print_looks_like_time(text) ||
	    strcmp(text, "<<") == 0 || strcmp(text, "=") == 0)
		return PRINT_DOUBLE;
	return print_can_be_plain(text) ? PRINT_PLAIN : PRINT_SINGLE;
}

static void print_single(const char *text, struct rh_str *out)
{
	rh_str_append(out, "'");
	for (; *text != '\0'; text++)
		rh_str_append_bytes(out, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
	rh_str_append(out, "'");
}

static unsigned print_code_point(const char *text, size_t length)
{
	static const unsigned char lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	unsigned code = (unsigned char)text[0] & lead_mask[length];

	for (size_t i = 1; i < length; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3F);
	return code;
}

static void print_escape(const char *text, size_t length, struct rh_str *out)
{
	static const char characters[] = "\n\t\r\"\\", letters[] = "ntr\"\\";
	const char *found = strchr(characters, text[0]);
	unsigned code;

	if (found) {
		rh_str_append_bytes(out, (const char[]){'\\', letters[found - characters]}, 2);
		return;
	}
	code = length > 0 ? print_code_point(text, length) : 0xFFFD;
	rh_str_appendf(out, code < 0x100 ? "\\x%02X" : "\\u%04X", code);
}

static void print_double(const char *text, struct rh_str *out)
{
	size_t length = strlen(text);

	rh_str_append(out, "\"");
	while (length > 0) {
		size_t step = rh_utf8_length(text, length);

		if (print_is_printable(text, step) && *text != '"' && *text != '\\')
			rh_str_append_bytes(out, text, step);
		else
			print_escape(text, step, out);
		step = step > 0 ? step : 1;
		text += step;
		length -= step;
	}
	rh_str_append(out, "\"");
}

static void print_spaces(int count, struct rh_str *out)
{
	for (int i = 0; i < count; i++)
		rh_str_append_bytes(out, " ", 1);
}

/* The lines of a | block, without a newline after the last one. Empty lines get no indent. */
static void print_literal(const char *text, int indent, struct rh_str *out)
{
	size_t length = strlen(text), end = length;

	while (end > 0 && text[end - 1] == '\n')
		end--;
	rh_str_append(out, length == end ? "|-" : length == end + 1 ? "|" : "|+");
	/* The caller adds the newline after the last line and that of the block's end. */
	length = length > end ? length - 1 : length;
	for (const char *line = text; line <= text + length;) {
		size_t n = strcspn(line, "\n");

		rh_str_append(out, "\n");
		if (n > 0)
			print_spaces(indent, out);
		rh_str_append_bytes(out, line, n);
		line += n + 1;
	}
}

/* @param indent columns of the lines of a block; 0 where a block is not possible (keys, the root) */
static void print_string(const char *text, int indent, struct rh_str *out)
{
	enum print_style style = print_choose(text);

	if (style == PRINT_LITERAL && indent > 0)
		print_literal(text, indent, out);
	else if (style == PRINT_PLAIN)
		rh_str_append(out, text);
	else if (style == PRINT_SINGLE)
		print_single(text, out);
	else
		print_double(text, out);
}

static bool print_is_block(const struct rh_json *json)
{
	return rh_json_first(json) != NULL;
}

/* A value on the line of its key or dash. */
static void print_inline(const struct rh_json *json, int indent, struct rh_str *out)
{
	const char *text = rh_json_string(json);

	if (text)
		print_string(text, indent, out);
	else
		rh_json_print(json, false, out);
}

static void print_member(const struct rh_json *member, int indent, struct rh_str *out)
{
	const char *key = rh_json_key(member);
	bool array = rh_json_type(member) == RH_JSON_ARRAY;

	if (strlen(key) > PRINT_KEY_MAX) {
		rh_str_append(out, "? ");
		print_string(key, 0, out);
		rh_str_append(out, "\n");
		print_spaces(indent, out);
	} else {
		print_string(key, 0, out);
	}
	rh_str_append(out, ":");
	if (print_is_block(member)) {
		/* A list below its key has no further indent, as with kubectl. */
		int below = array ? indent : indent + 2;

		rh_str_append(out, "\n");
		print_spaces(below, out);
		print_block(member, below, out);
		return;
	}
	rh_str_append(out, " ");
	print_inline(member, indent + 2, out);
}

static void print_item(const struct rh_json *item, int indent, struct rh_str *out)
{
	rh_str_append(out, "- ");
	if (print_is_block(item))
		print_block(item, indent + 2, out);
	else
		print_inline(item, indent + 2, out);
}

/* An object or array with children; the first line's indent is there already, and no newline ends the last line. */
static void print_block(const struct rh_json *json, int indent, struct rh_str *out)
{
	bool array = rh_json_type(json) == RH_JSON_ARRAY;

	for (const struct rh_json *child = rh_json_first(json); child; child = rh_json_next(child)) {
		if (array)
			print_item(child, indent, out);
		else
			print_member(child, indent, out);
		if (!rh_json_next(child))
			break;
		rh_str_append(out, "\n");
		print_spaces(indent, out);
	}
}

int rh_yaml_print(const struct rh_json *json, struct rh_str *out)
{
	if (print_is_block(json))
		print_block(json, 0, out);
	else
		print_inline(json, 0, out);
	rh_str_append(out, "\n");
	return out->failed ? RH_ENOMEM : 0;
}
