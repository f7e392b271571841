/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/screen/screen.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

#define SCREEN_ESCAPE '\033'
#define SCREEN_PLAIN "\033[0m"

/* Bytes of a control sequence behind "ESC [": parameters and intermediate bytes, then one that says what it does. */
static size_t screen_csi(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length && text[at] >= 0x20 && text[at] <= 0x3f)
		at++;
	return at < length ? at + 1 : at;
}

/* Whether a control sequence is "ESC [ 1 ; 31 m": what private parameters as "<" and ">" make of it is no colour. */
static bool screen_is_colour(const char *sequence, size_t size)
{
	for (size_t i = 2; i + 1 < size; i++) {
		if ((sequence[i] < '0' || sequence[i] > '9') && sequence[i] != ';' && sequence[i] != ':')
			return false;
	}
	return size > 2 && sequence[size - 1] == 'm';
}

/* Bytes of a text for the terminal itself behind "ESC ]" and the like, up to BEL or "ESC \". */
static size_t screen_string(const char *text, size_t length)
{
	for (size_t at = 0; at < length; at++) {
		if (text[at] == '\a')
			return at + 1;
		if (text[at] == SCREEN_ESCAPE)
			return at + 1 < length && text[at + 1] == '\\' ? at + 2 : at;
	}
	return length;
}

/* @return bytes of the sequence that starts with the escape character at `text` */
static size_t screen_sequence(const char *text, size_t length, bool *ret_colour)
{
	size_t size;

	*ret_colour = false;
	if (length < 2)
		return length;
	if (text[1] == '[') {
		size = 2 + screen_csi(text + 2, length - 2);
		*ret_colour = screen_is_colour(text, size);
		return size;
	}
	if (strchr("]PX^_", text[1]) && text[1])
		return 2 + screen_string(text + 2, length - 2);
	/* with intermediate bytes, as "ESC ( B" */
	size = 1;
	while (size < length && text[size] >= 0x20 && text[size] <= 0x2f)
		size++;
	return size < length ? size + 1 : size;
}

static bool screen_is_harmless(char byte)
{
	return (unsigned char)byte >= 0x20 ? byte != 0x7f : byte == '\t' || byte == '\b' || byte == '\r';
}

/* In UTF-8, U+0080 to U+009F are control characters of their own: U+009B is "ESC [". @return bytes of the sequence that
 * starts with one; 0: none does */
static size_t screen_c1(const char *text, size_t length)
{
	unsigned char second = length > 1 && text[0] == '\xc2' ? (unsigned char)text[1] : 0;

	if (second < 0x80 || second > 0x9f)
		return 0;
	return second == 0x9b ? 2 + screen_csi(text + 2, length - 2) : 2;
}

void rh_screen_clean(const char *text, size_t length, struct rh_str *out)
{
	bool coloured = false;

	for (size_t at = 0; at < length;) {
		bool colour = false;
		size_t size = text[at] == SCREEN_ESCAPE ? screen_sequence(text + at, length - at, &colour)
		                                        : screen_c1(text + at, length - at);

		if (colour || (size == 0 && screen_is_harmless(text[at])))
			rh_str_append_bytes(out, text + at, colour ? size : 1);
		coloured = coloured || colour;
		at += size > 0 ? size : 1;
	}
	if (coloured)
		rh_str_append(out, SCREEN_PLAIN);
}

/* @return bytes of the character, or of the sequence that sets a colour and takes no column, at the start of a text */
static size_t screen_step(const char *text, size_t length, bool *ret_column)
{
	bool colour = false;
	size_t size = *text == SCREEN_ESCAPE ? screen_sequence(text, length, &colour) : rh_utf8_length(text, length);

	*ret_column = !colour;
	return size > 0 ? size : 1;
}

void rh_screen_fit(const char *text, size_t length, size_t columns, struct rh_str *out)
{
	rh_auto_str clean = {0};
	size_t used = 0;

	rh_screen_clean(text, length, &clean);
	for (size_t at = 0; at < clean.length;) {
		const char *here = clean.data + at;
		bool column = true;
		size_t size = screen_step(here, clean.length - at, &column);
		bool moves = *here == '\b' || *here == '\r';

		at += size;
		if (moves || (column && used == columns))
			continue;
		used += column ? 1 : 0;
		rh_str_append_bytes(out, *here == '\t' ? " " : here, size);
	}
	out->failed = out->failed || clean.failed;
}

size_t rh_screen_width(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}
