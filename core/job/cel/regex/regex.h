/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/cel/regex/regex.h
 * @brief Regular expressions in the syntax of RE2, which an API server uses for patterns of schemas and for CEL's
 * matches(). A text is compared in time proportional to its length and to the length of the expression.
 *
 * Not known, and refused by name: Unicode classes (\p), \C, \Q and what RE2 does not have either (back references, look
 * around). (?i) folds ASCII letters only.
 */
#ifndef RH_JOB_CEL_REGEX_REGEX_H
#define RH_JOB_CEL_REGEX_REGEX_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"

/** A compiled expression. */
struct rh_regex;

/**
 * Compile @p pattern of @p length bytes.
 * @param[out] ret_regex owned by the caller
 * @return 0, RH_EINVAL (what is wrong, with its column) or RH_ENOMEM
 */
int rh_regex_compile(const char *pattern, size_t length, struct rh_regex **ret_regex, struct rh_error *err);
/** Free an expression. NULL is nothing. */
void rh_regex_free(struct rh_regex *regex);
RH_DEFINE_CLEANUP(regex);
/**
 * @param[out] ret_found whether some part of the @p length bytes of @p text, which are UTF-8, matches
 * @return 0, RH_EINVAL (the comparison would take too long) or RH_ENOMEM
 */
int rh_regex_search(const struct rh_regex *regex, const char *text, size_t length, bool *ret_found);

/** Where a match is looked for, and where it is. */
struct rh_regex_match {
	size_t from;       /**< set by the caller: a character of the text starts here, or the text ends */
	size_t start, end; /**< of the match: bytes from the start of the text */
	size_t read;       /**< bytes behind from that were looked at */
};

/**
 * Find the leftmost match, as Go's FindStringIndex() and Perl prefer one: of alternatives the first.
 * @param[in,out] match its start and end are set where there is one
 * @param[out] ret_found whether there is one
 * @return 0, RH_EINVAL (the comparison would take too long) or RH_ENOMEM
 */
int rh_regex_find(const struct rh_regex *regex, const char *text, size_t length, struct rh_regex_match *match,
                  bool *ret_found);

#endif
