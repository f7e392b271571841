/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/wrap.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WRAP_WIDTH 80
#define WRAP_WIDTH_MIN 40
#define WRAP_WIDTH_MAX 100

/** Text on its way into lines. */
struct wrap {
	const char *start;
	size_t width;
	size_t column; /* where the next word goes */
	bool empty;    /* the line has no word yet */
	struct rh_str *out;
};

static void wrap_end_line(struct wrap *wrap)
{
	rh_str_append(wrap->out, "\n");
	wrap->column = 0;
	wrap->empty = true;
}

static void wrap_word(struct wrap *wrap, const char *word, size_t length)
{
	if (!wrap->empty && wrap->column + 1 + length > wrap->width)
		wrap_end_line(wrap);
	if (wrap->empty && wrap->column == 0) {
		rh_str_append(wrap->out, wrap->start);
		wrap->column = strlen(wrap->start);
	} else if (!wrap->empty) {
		rh_str_append(wrap->out, " ");
		wrap->column++;
	}
	rh_str_append_bytes(wrap->out, word, length);
	wrap->column += length;
	wrap->empty = false;
}

/** @return how much of a word goes on one line: of values "a|b|c" that are too long for one, as many as fit */
static size_t wrap_cut(const struct wrap *wrap, const char *word, size_t length)
{
	size_t start = strlen(wrap->start);
	size_t most = wrap->width > start ? wrap->width - start : 0;
	size_t cut = length > most ? most : 0;

	while (cut > 0 && word[cut - 1] != '|')
		cut--;
	return cut > 0 ? cut : length;
}

/** Put the words of one line of the text into lines. */
static void wrap_words(struct wrap *wrap, const char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		size_t word = 0;

		while (at < length && text[at] == ' ')
			at++;
		while (at + word < length && text[at + word] != ' ')
			word++;
		word = wrap_cut(wrap, text + at, word);
		if (word > 0)
			wrap_word(wrap, text + at, word);
		at += word;
	}
}

/** Take over a line as it is. */
static void wrap_keep(struct wrap *wrap, const char *text, size_t length)
{
	if (!wrap->empty)
		wrap_end_line(wrap);
	rh_str_append_bytes(wrap->out, text, length);
	wrap_end_line(wrap);
}

void rh_cli_wrap(const char *text, const char *start, size_t used, size_t width, struct rh_str *out)
{
	struct wrap wrap = {.start = start, .width = width, .column = used, .empty = true, .out = out};

	while (*text) {
		size_t length = strcspn(text, "\n");

		if (length == 0 || *text == ' ')
			wrap_keep(&wrap, text, length);
		else
			wrap_words(&wrap, text, length);
		text += length + (text[length] == '\n');
	}
	if (!wrap.empty)
		wrap_end_line(&wrap);
}

size_t rh_cli_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return WRAP_WIDTH;
	if (size.ws_col < WRAP_WIDTH_MIN)
		return WRAP_WIDTH_MIN;
	return size.ws_col < WRAP_WIDTH_MAX ? size.ws_col : WRAP_WIDTH_MAX;
}
