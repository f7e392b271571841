/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json/build.h"
#include "base/yaml.h"
#include "base/yaml/parts.h"

static bool yaml_text_looks_like_json(const char *text, size_t start, size_t end)
{
	if (end - start >= 3 && memcmp(text + start, "\xEF\xBB\xBF", 3) == 0)
		start += 3;
	while (start < end && memchr(" \t\r\n", text[start], 4))
		start++;
	return start < end && (text[start] == '{' || text[start] == '[');
}

/* @return the offset of the next line that starts with ---, or `length` */
static size_t yaml_text_find_separator(const char *text, size_t at, size_t length)
{
	while (at < length) {
		const char *newline;

		if (length - at >= 3 && memcmp(text + at, "---", 3) == 0)
			return at;
		newline = memchr(text + at, '\n', length - at);
		if (!newline)
			break;
		at = (size_t)(newline - text) + 1;
	}
	return length;
}

static bool yaml_text_is_blank(const char *text, size_t start, size_t end)
{
	while (start < end && memchr(" \t\r\n", text[start], 4))
		start++;
	return start == end;
}

bool rh_yaml_looks_like_json(const char *text, size_t length)
{
	return yaml_text_looks_like_json(text, 0, length);
}

/* No line inside a JSON document can start with ---, so the text is split before it is parsed. */
int rh_yaml_parse_json(const struct rh_json_span *whole, struct rh_json *documents, struct rh_error *err)
{
	struct rh_json_span span = *whole;

	for (; span.start <= whole->end; span.start = span.end + 3) {
		struct rh_json *document = NULL;
		int r;

		span.end = yaml_text_find_separator(span.text, span.start, whole->end);
		if (yaml_text_is_blank(span.text, span.start, span.end))
			continue;
		if (!yaml_text_looks_like_json(span.text, span.start, span.end))
			return 1;
		r = rh_json_parse_span(&span, &document, err);
		if (r < 0)
			return r;
		if (rh_json_append(documents, document) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}
