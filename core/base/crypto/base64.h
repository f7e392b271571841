/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/crypto/base64.h
 * @brief Base64 with the standard alphabet and padding (RFC 4648 section 4).
 */
#ifndef RH_BASE_CRYPTO_BASE64_H
#define RH_BASE_CRYPTO_BASE64_H

#include <stddef.h>

#include <stdbool.h>

#include "base/str.h"

/** @return bytes that rh_base64_decode() needs for a text of @p length bytes, the terminating zero included */
size_t rh_base64_room(size_t length);
/**
 * Decode @p text into @p to, which has rh_base64_room() bytes; a zero byte is added. Line ends are skipped, as Go's
 * decoder does.
 * @param[out] ret_length bytes without that zero
 * @return false when @p text is not base64
 */
bool rh_base64_decode(const char *text, char *to, size_t *ret_length);
/** Append the base64 of @p length bytes to @p out (check out->failed). */
void rh_base64_encode(const char *bytes, size_t length, struct rh_str *out);

#endif
