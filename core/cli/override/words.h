/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/override/words.h
 * @brief A line of words, as a shell cuts it, without its expansions.
 */
#ifndef RH_CLI_OVERRIDE_WORDS_H
#define RH_CLI_OVERRIDE_WORDS_H

#include "base/error.h"
#include "base/json.h"

/**
 * Cut @p text at blanks; quotes of both kinds and backslashes keep blanks in a word.
 * @param[out] ret_words array of strings, owned by the caller
 * @return 0, RH_EINVAL (a quote has no end) or RH_ENOMEM
 */
int rh_words_split(const char *text, struct rh_json **ret_words, struct rh_error *err);

#endif
