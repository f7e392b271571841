/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdarg.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>

/* Room of the first allocation: most names and numbers fit. */
#define STR_FIRST_CAPACITY 64
/* Longer words are not searched for: no name of a field or command is as long. */
#define STR_NEAREST_MAX 63

void rh_str_deinit(struct rh_str *str)
{
	rh_free(str->data);
	*str = (struct rh_str){0};
}

/* Make room for `more` bytes and the zero. */
static bool str_reserve(struct rh_str *str, size_t more)
{
	size_t needed, capacity = str->capacity > 0 ? str->capacity : STR_FIRST_CAPACITY;
	char *data;

	if (str->failed)
		return false;
	if (__builtin_add_overflow(str->length, more, &needed) || needed > SIZE_MAX / 2 - 1) {
		str->failed = true;
		return false;
	}
	if (needed < str->capacity)
		return true;
	while (capacity <= needed)
		capacity *= 2;
	data = rh_realloc_array(str->data, capacity, 1);
	if (!data) {
		str->failed = true;
		return false;
	}
	str->data = data;
	str->capacity = capacity;
	return true;
}

void rh_str_reserve(struct rh_str *str, size_t more)
{
	(void)str_reserve(str, more);
}

void rh_str_append(struct rh_str *str, const char *text)
{
	rh_str_append_bytes(str, text, strlen(text));
}

void rh_str_append_bytes(struct rh_str *str, const char *bytes, size_t length)
{
	if (!str_reserve(str, length))
		return;
	if (length > 0)
		memcpy(str->data + str->length, bytes, length);
	str->length += length;
	str->data[str->length] = '\0';
}

void rh_str_appendf(struct rh_str *str, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (length < 0) {
		str->failed = true;
		return;
	}
	if (!str_reserve(str, (size_t)length))
		return;
	va_start(args, fmt);
	vsnprintf(str->data + str->length, (size_t)length + 1, fmt, args);
	va_end(args);
	str->length += (size_t)length;
}

void rh_str_clear(struct rh_str *str)
{
	str->length = 0;
	str->failed = false;
	if (str->data)
		str->data[0] = '\0';
}

void rh_str_cut(struct rh_str *str, size_t length)
{
	if (length >= str->length)
		return;
	str->length = length;
	str->data[length] = '\0';
}

void rh_str_append_line(struct rh_str *str, const char *text, size_t length, size_t most)
{
	size_t kept = length < most ? length : most;

	while (kept < length && kept > 0 && ((unsigned char)text[kept] & 0xC0) == 0x80)
		kept--;
	for (size_t i = 0; i < kept; i++)
		rh_str_append_bytes(str, (unsigned char)text[i] < ' ' ? " " : text + i, 1);
	rh_str_append(str, kept < length ? "..." : "");
}

const char *rh_str_text(const struct rh_str *str)
{
	return str->data && !str->failed ? str->data : "";
}

char *rh_str_take(struct rh_str *str)
{
	char *text = NULL;

	if (!str->failed)
		text = str->data ? rh_take(str->data) : rh_strdup("");
	rh_str_deinit(str);
	return text;
}

bool rh_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool rh_ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), tail = strlen(ending);

	return length > tail && strcmp(text + length - tail, ending) == 0;
}

bool rh_text_equal(const char *a, const char *b)
{
	if (!a || !b)
		return a == b;
	return strcmp(a, b) == 0;
}

bool rh_words_have(const char *words, char separator, const char *word, size_t length)
{
	while (words) {
		const char *end = strchrnul(words, separator);

		if ((size_t)(end - words) == length && strncmp(words, word, length) == 0)
			return true;
		words = *end ? end + 1 : NULL;
	}
	return false;
}

void rh_copy(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (size == 0)
		return;
	if (length >= size)
		length = size - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

void rh_mark_cut(char *text, size_t size)
{
	size_t end = size - sizeof("...");

	while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
		end--;
	memcpy(text + end, "...", sizeof("..."));
}

size_t rh_utf8_length(const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t count;
	/* The second byte has a narrower range after some first bytes: no overlong forms, no surrogates (RFC 3629, 4). */
	unsigned low = 0x80, high = 0xBF;

	if (length == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xC2 || s[0] > 0xF4)
		return 0;
	count = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
	if (s[0] == 0xE0)
		low = 0xA0;
	else if (s[0] == 0xF0)
		low = 0x90;
	else if (s[0] == 0xED)
		high = 0x9F;
	else if (s[0] == 0xF4)
		high = 0x8F;
	if (length < count || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < count; i++)
		if (s[i] < 0x80 || s[i] > 0xBF)
			return 0;
	return count;
}

static char str_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t str_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* One row of the distance table: what the prefix of `a` that ends at index i costs against each prefix of `b`. */
static void str_distance_row(const char *a, const char *b, size_t i, size_t (*rows)[STR_NEAREST_MAX + 1])
{
	size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *swapped = rows[(i + 1) % 3];

	now[0] = i;
	for (size_t j = 1; b[j - 1] != '\0'; j++) {
		bool same = str_lower(a[i - 1]) == str_lower(b[j - 1]);

		now[j] = str_min(before[j - 1] + !same, str_min(before[j], now[j - 1]) + 1);
		if (i > 1 && j > 1 && str_lower(a[i - 1]) == str_lower(b[j - 2]) && str_lower(a[i - 2]) == str_lower(b[j - 1]))
			now[j] = str_min(now[j], swapped[j - 2] + 1);
	}
}

/* Edit distance without regard to case; two neighbours that changed places count once. */
static size_t str_distance(const char *a, const char *b, size_t b_length)
{
	size_t rows[3][STR_NEAREST_MAX + 1] = {0};
	size_t i;

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (i = 1; a[i - 1] != '\0'; i++)
		str_distance_row(a, b, i, rows);
	return rows[(i - 1) % 3][b_length];
}

const char *rh_nearest(const char *word, const char *const *candidates, size_t count)
{
	size_t best = strlen(word) / 3 + 1;
	const char *nearest = NULL;

	if (strlen(word) > STR_NEAREST_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(candidates[i]);
		size_t distance = length > STR_NEAREST_MAX ? best : str_distance(word, candidates[i], length);

		if (distance < best) {
			best = distance;
			nearest = candidates[i];
		}
	}
	return nearest;
}
