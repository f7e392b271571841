/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "job/cel/functions/functions.h"
#include "job/cel/regex/regex.h"

/* @return bytes of the first @p count characters; the length of the text when it has not more */
static size_t text_skip(const struct rh_cel_value *text, int64_t count)
{
	size_t at = 0;

	for (; at < text->text.length && count > 0; count--)
		for (at++; at < text->text.length && ((unsigned char)text->text.data[at] & 0xC0) == 0x80;)
			at++;
	return at;
}

static struct rh_cel_value text_part(const struct rh_cel_value *text, size_t from, size_t to)
{
	return (struct rh_cel_value){.kind = RH_CEL_STRING, .text = {text->text.data + from, to - from}};
}

static int64_t text_characters(const struct rh_cel_value *text, size_t bytes)
{
	struct rh_cel_value part = text_part(text, 0, bytes);

	return rh_cel_size(&part);
}

static bool text_is_at(const struct rh_cel_value *text, const struct rh_cel_value *part, size_t at)
{
	return text->text.length - at >= part->text.length &&
	       (part->text.length == 0 || memcmp(text->text.data + at, part->text.data, part->text.length) == 0);
}

static bool text_find(const struct rh_cel_value *text, const struct rh_cel_value *part, size_t from, size_t *ret_at)
{
	for (size_t at = from; at <= text->text.length; at++) {
		if (!text_is_at(text, part, at))
			continue;
		*ret_at = at;
		return true;
	}
	return false;
}

static struct rh_cel_value text_int(int64_t value)
{
	return rh_cel_integer(RH_CEL_INT, value);
}

static struct rh_cel_value text_size(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return text_int(rh_cel_size(&args[0]));
}

static struct rh_cel_value text_contains(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	size_t at;

	(void)room;
	(void)count;
	return rh_cel_bool(text_find(&args[0], &args[1], 0, &at));
}

static struct rh_cel_value text_starts(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return rh_cel_bool(text_is_at(&args[0], &args[1], 0));
}

static struct rh_cel_value text_ends(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)room;
	(void)count;
	return rh_cel_bool(args[0].text.length >= args[1].text.length &&
	                   text_is_at(&args[0], &args[1], args[0].text.length - args[1].text.length));
}

static struct rh_cel_value text_matches(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	rh_auto(regex) regex = NULL;
	bool found = false;
	int r = rh_regex_compile(args[1].text.data, args[1].text.length, &regex, NULL);

	(void)count;
	if (r == 0)
		r = rh_regex_search(regex, args[0].text.data, args[0].text.length, &found);
	room->failed = room->failed || r == RH_ENOMEM;
	return r < 0 ? rh_cel_error("the regular expression cannot be compared") : rh_cel_bool(found);
}

/* Most bytes that all comparisons of one findAll() look at. */
#define TEXT_FIND_MAX (4u << 20)

/* @return bytes of the character at @p at; 1 at the end */
static size_t text_width(const struct rh_cel_value *text, size_t at)
{
	struct rh_cel_value rest = text_part(text, at, text->text.length);
	size_t width = text_skip(&rest, 1);

	return width ? width : 1;
}

/*
 * Append up to @p most matches to @p items, as Go's FindAllString() does: an empty one that ends where the one before
 * it does is none.
 */
static int text_find_matches(const struct rh_regex *regex, const struct rh_cel_value *text, int64_t most,
                             struct rh_cel_value *items, size_t *ret_count)
{
	struct rh_regex_match match = {0};
	size_t before = SIZE_MAX, read = 0;
	bool found = true;
	int r = 0;

	*ret_count = 0;
	while (match.from <= text->text.length && (most < 0 || (int64_t)*ret_count < most) && read < TEXT_FIND_MAX) {
		r = rh_regex_find(regex, text->text.data, text->text.length, &match, &found);
		if (r < 0 || !found)
			return r;
		if (match.end != match.from || match.start != before)
			items[(*ret_count)++] = text_part(text, match.start, match.end);
		read += match.read;
		before = match.end;
		match.from = match.end == match.from ? match.from + text_width(text, match.from) : match.end;
	}
	return read < TEXT_FIND_MAX ? 0 : RH_EINVAL;
}

/* @return a list of matches, or an error */
static struct rh_cel_value text_matches_of(struct rh_cel_room *room, const struct rh_cel_value *args, int64_t most)
{
	size_t length = args[0].text.length, count = 0;
	size_t enough = most >= 0 && (uint64_t)most <= length ? (size_t)most : length + 1;
	struct rh_cel_value *items = rh_cel_room_take(room, (enough + 1) * sizeof(*items));
	rh_auto(regex) regex = NULL;
	int r = rh_regex_compile(args[1].text.data, args[1].text.length, &regex, NULL);

	if (!items)
		return rh_cel_error("out of memory");
	if (r == 0)
		r = text_find_matches(regex, &args[0], most, items, &count);
	room->failed = room->failed || r == RH_ENOMEM;
	return r < 0 ? rh_cel_error("the regular expression cannot be compared") : rh_cel_list(items, count);
}

static struct rh_cel_value text_find_first(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	struct rh_cel_value found = text_matches_of(room, args, 1);

	(void)count;
	if (found.kind == RH_CEL_ERROR)
		return found;
	return found.count ? found.items[0] : text_part(&args[0], 0, 0);
}

static struct rh_cel_value text_find_all(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	return text_matches_of(room, args, count > 2 ? args[2].integer : -1);
}

static struct rh_cel_value text_case(struct rh_cel_room *room, const struct rh_cel_value *text, int (*change)(int))
{
	struct rh_cel_value copy = rh_cel_string(room, text->text.data, text->text.length);

	for (size_t i = 0; copy.kind == RH_CEL_STRING && i < copy.text.length; i++) {
		unsigned char letter = (unsigned char)copy.text.data[i];

		if (letter < 0x80)
			((char *)(uintptr_t)copy.text.data)[i] = (char)change(letter);
	}
	return copy;
}

static struct rh_cel_value text_lower(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	return text_case(room, &args[0], tolower);
}

static struct rh_cel_value text_upper(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	(void)count;
	return text_case(room, &args[0], toupper);
}

static struct rh_cel_value text_trim(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	size_t from = 0, to = args[0].text.length;

	(void)room;
	(void)count;
	while (from < to && isspace((unsigned char)args[0].text.data[from]))
		from++;
	while (to > from && isspace((unsigned char)args[0].text.data[to - 1]))
		to--;
	return text_part(&args[0], from, to);
}

static struct rh_cel_value text_char_at(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	size_t at = text_skip(&args[0], args[1].integer);
	struct rh_cel_value rest = text_part(&args[0], at, args[0].text.length);

	(void)count;
	if (args[1].integer < 0 || args[1].integer > rh_cel_size(&args[0]))
		return rh_cel_error_number(room, "index out of range", args[1].integer);
	return text_part(&args[0], at, at + text_skip(&rest, 1));
}

static struct rh_cel_value text_substring(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	int64_t size = rh_cel_size(&args[0]), from = args[1].integer, to = count > 2 ? args[2].integer : size;

	if (from < 0 || from > size)
		return rh_cel_error_number(room, "index out of range", from);
	if (to < 0 || to > size)
		return rh_cel_error_number(room, "index out of range", to);
	if (to < from)
		return rh_cel_error("invalid substring range. start > end");
	return text_part(&args[0], text_skip(&args[0], from), text_skip(&args[0], to));
}

static struct rh_cel_value text_index(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	int64_t from = count > 2 ? args[2].integer : 0;
	size_t at;

	if (from < 0 || from > rh_cel_size(&args[0]))
		return rh_cel_error_number(room, "index out of range", from);
	if (!text_find(&args[0], &args[1], text_skip(&args[0], from), &at))
		return text_int(-1);
	return text_int(text_characters(&args[0], at));
}

static struct rh_cel_value text_last_index(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	int64_t size = rh_cel_size(&args[0]), from = count > 2 ? args[2].integer : size;
	size_t at;

	if (from < 0 || from > size)
		return rh_cel_error_number(room, "index out of range", from);
	for (at = text_skip(&args[0], from) + 1; at-- > 0;) {
		if (text_is_at(&args[0], &args[1], at))
			return text_int(text_characters(&args[0], at));
	}
	return text_int(-1);
}

static struct rh_cel_value text_of(struct rh_cel_room *room, struct rh_str *text)
{
	if (text->failed) {
		room->failed = true;
		return rh_cel_error("out of memory");
	}
	return rh_cel_string(room, rh_str_text(text), text->length);
}

static struct rh_cel_value text_replace(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	int64_t left = count > 3 ? args[3].integer : -1;
	size_t from = 0, at;
	rh_auto_str out = {0};

	/* an empty text is before each character, and behind the last */
	while (left != 0 && text_find(&args[0], &args[1], from, &at) && out.length < 1u << 20) {
		size_t next = args[1].text.length ? at + args[1].text.length : at;

		rh_str_append_bytes(&out, args[0].text.data + from, at - from);
		rh_str_append_bytes(&out, args[2].text.data, args[2].text.length);
		if (next == at) {
			struct rh_cel_value rest = text_part(&args[0], at, args[0].text.length);

			next += text_skip(&rest, 1);
			rh_str_append_bytes(&out, args[0].text.data + at, next - at);
			if (next == at)
				return text_of(room, &out);
		}
		from = next;
		left -= left > 0;
	}
	rh_str_append_bytes(&out, args[0].text.data + from, args[0].text.length - from);
	return text_of(room, &out);
}

/* Where the next part ends: at the separator, or behind one character where that is empty. */
static size_t text_part_end(const struct rh_cel_value *args, size_t from)
{
	struct rh_cel_value rest = text_part(&args[0], from, args[0].text.length);
	size_t at = args[0].text.length;

	if (args[1].text.length == 0)
		return from + text_skip(&rest, 1);
	(void)text_find(&args[0], &args[1], from, &at);
	return at;
}

static struct rh_cel_value text_split(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	int64_t most = count > 2 ? args[2].integer : -1;
	size_t parts = 0, from = 0, end = args[0].text.length, width = args[1].text.length;
	struct rh_cel_value *items = rh_cel_room_take(room, (end + 1) * sizeof(*items));

	if (!items)
		return rh_cel_error("out of memory");
	if (most == 0 || (width == 0 && end == 0))
		return rh_cel_list(items, 0);
	for (;;) {
		size_t at = (int64_t)parts + 1 == most ? end : text_part_end(args, from);

		items[parts++] = text_part(&args[0], from, at);
		if (at == end)
			return rh_cel_list(items, parts);
		from = at + width;
	}
}

static struct rh_cel_value text_join(struct rh_cel_room *room, const struct rh_cel_value *args, size_t count)
{
	rh_auto_str out = {0};

	for (size_t i = 0; i < args[0].count; i++) {
		const struct rh_cel_value *item = &args[0].items[i];

		if (item->kind != RH_CEL_STRING)
			return rh_cel_no_overload();
		if (i > 0 && count > 1)
			rh_str_append_bytes(&out, args[1].text.data, args[1].text.length);
		rh_str_append_bytes(&out, item->text.data, item->text.length);
	}
	return text_of(room, &out);
}

const struct rh_cel_function rh_cel_text_functions[] = {
	{"size", "s", 'i', false, text_size},
	{"size", "s", 'i', true, text_size},
	{"size", "y", 'i', false, text_size},
	{"size", "y", 'i', true, text_size},
	{"contains", "ss", 'b', true, text_contains},
	{"startsWith", "ss", 'b', true, text_starts},
	{"endsWith", "ss", 'b', true, text_ends},
	{"matches", "ss", 'b', true, text_matches},
	{"matches", "ss", 'b', false, text_matches},
	{"find", "ss", 's', true, text_find_first},
	{"findAll", "ss", 'L', true, text_find_all},
	{"findAll", "ssi", 'L', true, text_find_all},
	{"lowerAscii", "s", 's', true, text_lower},
	{"upperAscii", "s", 's', true, text_upper},
	{"trim", "s", 's', true, text_trim},
	{"charAt", "si", 's', true, text_char_at},
	{"substring", "si", 's', true, text_substring},
	{"substring", "sii", 's', true, text_substring},
	{"indexOf", "ss", 'i', true, text_index},
	{"indexOf", "ssi", 'i', true, text_index},
	{"lastIndexOf", "ss", 'i', true, text_last_index},
	{"lastIndexOf", "ssi", 'i', true, text_last_index},
	{"replace", "sss", 's', true, text_replace},
	{"replace", "sssi", 's', true, text_replace},
	{"split", "ss", 'L', true, text_split},
	{"split", "ssi", 'L', true, text_split},
	{"join", "L", 's', true, text_join},
	{"join", "Ls", 's', true, text_join},
	{NULL, NULL, 0, false, NULL},
};
