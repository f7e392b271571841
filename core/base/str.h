/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/str.h
 * @brief A growable string, and small helpers for text.
 *
 * An append that runs out of memory marks the string as failed; later appends do nothing, and
 * rh_str_take() reports the failure. So code that builds a text need not check each append.
 */
#ifndef RH_BASE_STR_H
#define RH_BASE_STR_H

#include <stddef.h>

#include <stdbool.h>

#include "base/mem.h"

/** A growable string. All zero is the empty string. */
struct rh_str {
	char *data;      /**< zero-terminated once anything was appended; NULL before */
	size_t length;   /**< bytes without the terminating zero */
	size_t capacity; /**< bytes allocated */
	bool failed;     /**< an append ran out of memory */
};

/** Free what @p str holds and make it empty. */
void rh_str_deinit(struct rh_str *str);
/** Append a zero-terminated string. */
void rh_str_append(struct rh_str *str, const char *text);
/** Append @p length bytes. */
void rh_str_append_bytes(struct rh_str *str, const char *bytes, size_t length);
/** Append formatted text. */
void rh_str_appendf(struct rh_str *str, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Make room for @p more bytes, so that appends of these do not move the text. */
void rh_str_reserve(struct rh_str *str, size_t more);
/** Empty the string and keep its room. */
void rh_str_clear(struct rh_str *str);
/** Keep the first @p length bytes; a shorter string is unchanged. */
void rh_str_cut(struct rh_str *str, size_t length);
/** @return the text, never NULL ("" when empty or failed); borrowed until the next change */
const char *rh_str_text(const struct rh_str *str);
/**
 * Append @p length bytes of a foreign text as a part of one line: control characters become spaces, and a text of more
 * than @p most bytes is cut after a whole UTF-8 character and gets "...".
 */
void rh_str_append_line(struct rh_str *str, const char *text, size_t length, size_t most);
/** Move the text out. @return owned by the caller ("" when empty); NULL when an append had failed */
char *rh_str_take(struct rh_str *str) __attribute__((warn_unused_result));

/** A local string that is freed when it goes out of scope. */
#define rh_auto_str __attribute__((cleanup(rh_str_deinit))) struct rh_str

/** @return whether @p text starts with @p prefix */
bool rh_starts_with(const char *text, const char *prefix);
/** @return whether @p text ends with @p ending, and has something before it */
bool rh_ends_with(const char *text, const char *ending);
/** @return whether both are NULL, or both are the same text */
bool rh_text_equal(const char *a, const char *b);
/** @return whether the @p length bytes of @p word are one of @p words, which @p separator characters separate */
bool rh_words_have(const char *words, char separator, const char *word, size_t length);
/** Copy with truncation into @p size bytes, always zero-terminated. */
void rh_copy(char *to, size_t size, const char *from);
/** Replace the end of a text that was cut to @p size bytes by "...", after a whole UTF-8 character. */
void rh_mark_cut(char *text, size_t size);
/**
 * Check the UTF-8 character at the start of @p text (RFC 3629).
 * @return its length in bytes (1 to 4), or 0 when the @p length bytes do not start with a whole, valid one
 */
size_t rh_utf8_length(const char *text, size_t length);
/**
 * The nearest of @p count @p candidates to a misspelt @p word, for "did you mean".
 * @return borrowed from @p candidates, or NULL when none is near enough (edit distance, without regard to case,
 * at most a third of the word's length)
 */
const char *rh_nearest(const char *word, const char *const *candidates, size_t count);

#endif
