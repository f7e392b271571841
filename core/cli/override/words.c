/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/override/words.h"

#include <string.h>

#include "base/str.h"

#define WORDS_BLANKS " \t\n"

/* A part in quotes; in double ones a backslash stands before what is to be taken as it is. @return what follows, or
 * NULL: it has no end */
static const char *words_quoted(const char *text, struct rh_str *word)
{
	char quote = *text++;

	for (; *text && *text != quote; text++) {
		if (quote == '"' && *text == '\\' && text[1] && strchr("\"\\$`", text[1]))
			text++;
		rh_str_append_bytes(word, text, 1);
	}
	return *text ? text + 1 : NULL;
}

/* @return what follows the word that starts at @p text, or NULL: a quote has no end */
static const char *words_take(const char *text, struct rh_str *word)
{
	while (text && *text && !strchr(WORDS_BLANKS, *text)) {
		if (*text == '\'' || *text == '"') {
			text = words_quoted(text, word);
			continue;
		}
		if (*text == '\\' && text[1])
			text++;
		rh_str_append_bytes(word, text, 1);
		text++;
	}
	return text;
}

int rh_words_split(const char *text, struct rh_json **ret_words, struct rh_error *err)
{
	rh_auto(json) words = rh_json_new_array();
	const char *at = text;

	while (words && *(at += strspn(at, WORDS_BLANKS))) {
		rh_auto_str word = {0};

		at = words_take(at, &word);
		if (!at)
			return rh_fail(err, RH_EINVAL, "\"%s\" has a quote without an end", text);
		if (word.failed || rh_json_append(words, rh_json_new_string(rh_str_text(&word))) < 0)
			return rh_fail_oom(err);
	}
	if (!words)
		return rh_fail_oom(err);
	*ret_words = rh_take(words);
	return 0;
}
