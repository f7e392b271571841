/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/cel/lexer.h
 * @brief The words of a CEL expression; for parse.c alone.
 */
#ifndef RH_JOB_CEL_LEXER_H
#define RH_JOB_CEL_LEXER_H

#include <stddef.h>

#include "base/error.h"
#include "job/cel/value.h"

/** What a token is. */
enum rh_cel_token_kind { RH_CEL_TOKEN_END, RH_CEL_TOKEN_NAME, RH_CEL_TOKEN_LITERAL, RH_CEL_TOKEN_SIGN };

/** A token: text + at, length bytes. */
struct rh_cel_token {
	enum rh_cel_token_kind kind;
	size_t at, length;
	struct rh_cel_value literal;
};

/** Reads tokens one after the other. */
struct rh_cel_lexer {
	const char *text;
	size_t at;
	struct rh_cel_room *room; /**< for the texts of literals */
	struct rh_error *err;
};

/** Read the next token. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_cel_lexer_next(struct rh_cel_lexer *lexer, struct rh_cel_token *ret_token);

#endif
