/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json/node.h"
#include "base/json/scan.h"

/* @return the letter of a two-character escape, or 0 */
static char json_escape_letter(unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
		return (char)c;
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return '\0';
	}
}

static void json_quote_byte(unsigned char c, struct rh_str *out)
{
	char letter = json_escape_letter(c);

	if (letter != '\0')
		rh_str_append_bytes(out, (const char[]){'\\', letter}, 2);
	else
		rh_str_appendf(out, "\\u%04x", c);
}

/* @return how many bytes need no change at the start of `text` */
static size_t json_plain_length(const char *text, size_t length)
{
	size_t plain = 0;

	while (plain < length) {
		unsigned char c = (unsigned char)text[plain];
		size_t step = c < 0x80 ? 1 : rh_utf8_length(text + plain, length - plain);

		if (step == 0 || c < 0x20 || c == '"' || c == '\\')
			break;
		plain += step;
	}
	return plain;
}

void rh_json_quote(const char *text, struct rh_str *out)
{
	size_t length = strlen(text);

	rh_str_append(out, "\"");
	while (length > 0) {
		size_t plain = json_plain_length(text, length);

		rh_str_append_bytes(out, text, plain);
		text += plain;
		length -= plain;
		if (length == 0)
			break;
		if ((unsigned char)*text < 0x80)
			json_quote_byte((unsigned char)*text, out);
		else
			rh_str_append(out, "\xEF\xBF\xBD");
		text++;
		length--;
	}
	rh_str_append(out, "\"");
}

static void json_break(struct rh_str *out, int depth)
{
	rh_str_append(out, "\n");
	for (int i = 0; i < depth; i++)
		rh_str_append(out, "  ");
}

/* Indent a compact text. The library does so with tabs, and keeps an array on one line. */
static void json_indent(const char *text, struct rh_str *out)
{
	int depth = 0;
	size_t length;

	for (; *text != '\0'; text += length) {
		bool opens = *text == '{' || *text == '[';

		length = *text == '"' ? rh_json_scan_string(text) : 1;
		if (opens && (text[1] == '}' || text[1] == ']'))
			length = 2;
		else if (opens)
			depth++;
		else if (*text == '}' || *text == ']')
			json_break(out, --depth);
		rh_str_append_bytes(out, text, length);
		if (*text == ':')
			rh_str_append(out, " ");
		else if (*text == ',' || (opens && length == 1))
			json_break(out, depth);
	}
}

/* Replace what is not UTF-8; only strings can hold it. */
static void json_append_utf8(const char *text, size_t length, struct rh_str *out)
{
	while (length > 0) {
		size_t whole = 0, step;

		while ((step = rh_utf8_length(text + whole, length - whole)) > 0)
			whole += step;
		rh_str_append_bytes(out, text, whole);
		text += whole;
		length -= whole;
		if (length == 0)
			break;
		rh_str_append(out, "\xEF\xBF\xBD");
		text++;
		length--;
	}
}

static bool json_is_ascii(const char *text, size_t length)
{
	unsigned char all = 0;

	for (size_t i = 0; i < length; i++)
		all |= (unsigned char)text[i];
	return all < 0x80;
}

void rh_json_print(const struct rh_json *json, bool pretty, struct rh_str *out)
{
	rh_auto_free char *text = rh_json_text(json);

	if (!text)
		out->failed = true;
	else if (pretty)
		json_indent(text, out);
	else
		rh_str_append(out, text);
}

char *rh_json_text(const struct rh_json *json)
{
	rh_auto_free char *text = json ? rh_json_node_print(json) : rh_strdup("null");
	size_t length = text ? strlen(text) : 0;
	rh_auto_str whole = {0};

	if (json_is_ascii(text, length))
		return rh_take(text);
	json_append_utf8(text, length, &whole);
	return rh_str_take(&whole);
}
