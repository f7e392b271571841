/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/text.h
 * @brief JSON trees from texts, and texts from trees. Other users include base/json.h.
 */
#ifndef RH_BASE_JSON_TEXT_H
#define RH_BASE_JSON_TEXT_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json/value.h"
#include "base/str.h"

/** Deepest nesting that a parse accepts. */
#define RH_JSON_DEPTH_MAX 100

/**
 * Parse one JSON document of @p length bytes; trailing white space is allowed, anything else after it is not.
 * Refused with line and column: what RFC 8259 does not allow, bytes that are not UTF-8, U+0000 (texts here end at a
 * zero), duplicate keys, numbers that are not finite and nesting beyond RH_JSON_DEPTH_MAX. One thread at a time: cJSON
 * keeps the place of a mistake in a global.
 * @param[out] ret_json owned by the caller
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_json_parse(const char *text, size_t length, struct rh_json **ret_json, struct rh_error *err);
/**
 * As rh_json_parse(), for documents of many authors (what an API server reports of all its users' objects), where what
 * one of them wrote must not hide the others: U+0000 becomes U+FFFD, of a key that stands twice the first counts, and
 * an array or object beyond RH_JSON_DEPTH_MAX becomes null, unread.
 * @param[out] ret_json owned by the caller
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_json_parse_lenient(const char *text, size_t length, struct rh_json **ret_json, struct rh_error *err);
/** Print compactly, or with two spaces of indent when @p pretty; appended to @p out (check out->failed). */
void rh_json_print(const struct rh_json *json, bool pretty, struct rh_str *out);
/** Append @p text as a JSON string, in quotes; what is not UTF-8 becomes U+FFFD. */
void rh_json_quote(const char *text, struct rh_str *out);
/** Print compactly. @return owned by the caller, or NULL when memory is out */
char *rh_json_text(const struct rh_json *json) __attribute__((warn_unused_result));

#endif
