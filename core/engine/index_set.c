/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/index_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Ranges up to this length are written as text, which is readable. */
#define INDEX_SET_RANGES_MAX 128

void rh_index_set_deinit(struct rh_index_set *set)
{
	rh_free(set->bits);
	*set = (struct rh_index_set){0};
}

bool rh_index_set_has(const struct rh_index_set *set, int32_t index)
{
	return index >= 0 && index < set->room && (set->bits[index / 8] >> (index % 8) & 1);
}

static int index_set_grow(struct rh_index_set *set, int32_t index)
{
	size_t old = (size_t)set->room / 8;
	size_t room = (size_t)index / 8 + 1;
	uint8_t *bits;

	/* Doubling keeps a pass that adds many indices in order linear. */
	if (room < old * 2)
		room = old * 2;
	bits = rh_realloc_array(set->bits, room, 1);
	if (!bits)
		return RH_ENOMEM;
	memset(bits + old, 0, room - old);
	set->bits = bits;
	set->room = (int32_t)(room * 8);
	return 0;
}

bool rh_index_set_is_empty(const struct rh_index_set *set)
{
	for (int32_t i = 0; i < set->room / 8; i++) {
		if (set->bits[i])
			return false;
	}
	return true;
}

int rh_index_set_add(struct rh_index_set *set, int32_t index)
{
	if (index < 0 || index > RH_INDEX_MAX)
		return 0;
	if (index >= set->room && index_set_grow(set, index) < 0)
		return RH_ENOMEM;
	set->bits[index / 8] |= (uint8_t)(1u << (index % 8));
	return 0;
}

void rh_index_set_remove(struct rh_index_set *set, int32_t index)
{
	if (rh_index_set_has(set, index))
		set->bits[index / 8] &= (uint8_t) ~(1u << (index % 8));
}

/* Bytes up to the last nonzero one. */
static size_t index_set_bytes(const struct rh_index_set *set)
{
	size_t bytes = (size_t)set->room / 8;

	while (bytes > 0 && !set->bits[bytes - 1])
		bytes--;
	return bytes;
}

bool rh_index_set_equal(const struct rh_index_set *a, const struct rh_index_set *b)
{
	size_t bytes = index_set_bytes(a);

	return bytes == index_set_bytes(b) && (bytes == 0 || memcmp(a->bits, b->bits, bytes) == 0);
}

int rh_index_set_copy(struct rh_index_set *to, const struct rh_index_set *from)
{
	size_t bytes = index_set_bytes(from);

	if (bytes == 0)
		return 0;
	to->bits = rh_alloc(bytes);
	if (!to->bits)
		return RH_ENOMEM;
	memcpy(to->bits, from->bits, bytes);
	to->room = (int32_t)(bytes * 8);
	return 0;
}

static void index_set_print_ranges(const struct rh_index_set *set, struct rh_str *out)
{
	for (int32_t i = 0; i < set->room; i++) {
		int32_t first = i;

		if (!rh_index_set_has(set, i))
			continue;
		while (rh_index_set_has(set, i + 1))
			i++;
		rh_str_append(out, out->length ? "," : "");
		if (i == first)
			rh_str_appendf(out, "%d", first);
		else
			rh_str_appendf(out, "%d-%d", first, i);
	}
}

static void index_set_print_hex(const struct rh_index_set *set, struct rh_str *out)
{
	size_t bytes = (size_t)set->room / 8;

	while (bytes > 0 && !set->bits[bytes - 1])
		bytes--;
	rh_str_append(out, "x");
	for (size_t i = 0; i < bytes; i++)
		rh_str_appendf(out, "%02x", set->bits[i]);
}

void rh_index_set_print(const struct rh_index_set *set, struct rh_str *out)
{
	rh_auto_str ranges = {0};
	rh_auto_str hex = {0};

	index_set_print_ranges(set, &ranges);
	index_set_print_hex(set, &hex);
	if (ranges.failed || hex.failed)
		out->failed = true;
	else
		rh_str_append(
			out, rh_str_text(ranges.length <= INDEX_SET_RANGES_MAX || ranges.length <= hex.length ? &ranges : &hex));
}

static int index_set_add_byte(struct rh_index_set *set, int32_t first, unsigned byte)
{
	for (int bit = 0; bit < 8; bit++) {
		if ((byte >> bit & 1) && rh_index_set_add(set, first + bit) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static int index_set_parse_hex(struct rh_index_set *set, const char *text, int32_t limit)
{
	static const char digits[] = "0123456789abcdef";

	for (int32_t i = 0; text[0] && text[1] && i < limit; i += 8, text += 2) {
		const char *high = strchr(digits, text[0]);
		const char *low = strchr(digits, text[1]);

		if (!high || !low)
			return 0;
		if (index_set_add_byte(set, i, (unsigned)(high - digits) << 4 | (unsigned)(low - digits)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* Read a number from @p least to below @p limit. @return the text behind it, or NULL when it is not a number */
static const char *index_set_number(const char *text, int32_t least, int32_t limit, int32_t *ret_number)
{
	char *end;
	long number;

	if (*text < '0' || *text > '9')
		return NULL;
	number = strtol(text, &end, 10);
	if (number < least || number >= limit)
		return NULL;
	*ret_number = (int32_t)number;
	return end;
}

int rh_index_set_parse(struct rh_index_set *set, const char *text, int32_t limit)
{
	int32_t first, last = -1;

	if (*text == 'x')
		return index_set_parse_hex(set, text + 1, limit);
	while ((text = index_set_number(text, last + 1, limit, &first))) {
		last = first;
		if (*text == '-')
			text = index_set_number(text + 1, first, limit, &last);
		if (!text)
			return 0;
		for (int32_t i = first; i <= last; i++) {
			if (rh_index_set_add(set, i) < 0)
				return RH_ENOMEM;
		}
		if (*text++ != ',')
			return 0;
	}
	return 0;
}
