/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"

/* Where a print stands. */
struct json_printer {
	struct rh_str *out;
	bool pretty;
	int depth;
};

static void json_print_value(struct json_printer *printer, const struct rh_json *json);

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

static void json_print_number(const struct rh_json *json, struct rh_str *out)
{
	char buffer[RH_JSON_NUMBER_SIZE];

	rh_str_append(out, rh_json_number_text(json, buffer));
}

static void json_print_break(struct json_printer *printer)
{
	if (!printer->pretty)
		return;
	rh_str_append(printer->out, "\n");
	for (int i = 0; i < printer->depth; i++)
		rh_str_append(printer->out, "  ");
}

static void json_print_children(struct json_printer *printer, const struct rh_json *json, const char *brackets)
{
	const struct rh_json *child = rh_json_first(json);

	rh_str_append_bytes(printer->out, brackets, 1);
	printer->depth++;
	for (bool first = true; child; child = rh_json_next(child), first = false) {
		if (!first)
			rh_str_append(printer->out, ",");
		json_print_break(printer);
		if (rh_json_key(child) && brackets[0] == '{') {
			rh_json_quote(rh_json_key(child), printer->out);
			rh_str_append(printer->out, printer->pretty ? ": " : ":");
		}
		json_print_value(printer, child);
	}
	printer->depth--;
	if (rh_json_first(json))
		json_print_break(printer);
	rh_str_append_bytes(printer->out, brackets + 1, 1);
}

static void json_print_value(struct json_printer *printer, const struct rh_json *json)
{
	switch (rh_json_type(json)) {
	case RH_JSON_BOOL:
		rh_str_append(printer->out, rh_json_bool(json, false) ? "true" : "false");
		break;
	case RH_JSON_NUMBER:
		json_print_number(json, printer->out);
		break;
	case RH_JSON_STRING:
		rh_json_quote(rh_json_string(json), printer->out);
		break;
	case RH_JSON_ARRAY:
		json_print_children(printer, json, "[]");
		break;
	case RH_JSON_OBJECT:
		json_print_children(printer, json, "{}");
		break;
	case RH_JSON_ABSENT:
	case RH_JSON_NULL:
	default:
		rh_str_append(printer->out, "null");
		break;
	}
}

void rh_json_print(const struct rh_json *json, bool pretty, struct rh_str *out)
{
	struct json_printer printer = {.out = out, .pretty = pretty};

	json_print_value(&printer, json);
}

char *rh_json_text(const struct rh_json *json)
{
	rh_auto_str out = {0};

	rh_json_print(json, false, &out);
	return rh_str_take(&out);
}
