/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page/text.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

static bool text_is_html(char c)
{
	return c == '<' || c == '>' || c == '&';
}

/* A character of one byte that needs an escape, or one that is not UTF-8. */
static void text_put_escape(FILE *out, char c)
{
	if (c == '\n')
		(void)fputs("\\n", out);
	else if (c == '"' || c == '\\')
		(void)fprintf(out, "\\%c", c);
	else if (c == '\0' || (unsigned char)c >= 0x80)
		(void)fputs("\\ufffd", out);
	else
		(void)fprintf(out, "\\u%04x", (unsigned)c);
}

/* @return bytes of the character that may stand as it is; 0: it needs an escape */
static size_t text_plain(const char *text, size_t length)
{
	char c = *text;

	if ((unsigned char)c >= 0x80)
		return rh_utf8_length(text, length);
	return (unsigned char)c >= ' ' && c != '"' && c != '\\' && !text_is_html(c) ? 1 : 0;
}

void rh_page_put_text(FILE *out, const char *text, size_t length)
{
	size_t from = 0;

	(void)fputc('"', out);
	for (size_t at = 0; at < length;) {
		size_t step = text_plain(text + at, length - at);

		if (step == 0) {
			(void)fwrite(text + from, 1, at - from, out);
			text_put_escape(out, text[at]);
			from = at + 1;
		}
		at += step ? step : 1;
	}
	(void)fwrite(text + from, 1, length - from, out);
	(void)fputc('"', out);
}

void rh_page_put_string(FILE *out, const char *text)
{
	if (text)
		rh_page_put_text(out, text, strlen(text));
	else
		(void)fputs("null", out);
}

/* Outside of strings JSON has none of these characters. */
int rh_page_put_json(FILE *out, const struct rh_json *json)
{
	rh_auto_str text = {0};

	if (json)
		rh_json_print(json, false, &text);
	else
		rh_str_append(&text, "null");
	for (const char *at = rh_str_text(&text); *at; at++) {
		if (text_is_html(*at))
			text_put_escape(out, *at);
		else
			(void)fputc(*at, out);
	}
	return text.failed ? RH_ENOMEM : 0;
}
