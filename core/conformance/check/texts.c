/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check/texts.h"

#include <string.h>

#include "base/str.h"

/** Deepest nesting that is looked at. */
#define TEXTS_DEPTH_MAX 64

void rh_check_text(struct rh_board *board, const char *what, const char *text)
{
	size_t left = text ? strlen(text) : 0, length = 1;
	const char *start = text;

	for (; left > 0 && length > 0; text += length, left -= length)
		length = rh_utf8_length(text, left);
	if (length == 0)
		rh_board_add(board, RH_CHECK_TEXTS, "%s is not UTF-8: byte 0x%02x at offset %zu", what, (unsigned char)*text,
		             (size_t)(text - start));
}

static void texts_walk(struct rh_board *board, const char *what, const struct rh_json *json, int depth)
{
	if (depth > TEXTS_DEPTH_MAX)
		return;
	rh_check_text(board, what, rh_json_key(json));
	rh_check_text(board, rh_json_key(json) ? rh_json_key(json) : what, rh_json_string(json));
	for (const struct rh_json *child = rh_json_first(json); child; child = rh_json_next(child))
		texts_walk(board, what, child, depth + 1);
}

void rh_check_texts(struct rh_board *board, const char *what, const struct rh_json *json)
{
	texts_walk(board, what, json, 0);
}
