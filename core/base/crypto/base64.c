/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/base64.h"

#include <stdint.h>
#include <string.h>

static const char base64_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int base64_digit(char c)
{
	const char *at = c != '\0' ? strchr(base64_alphabet, c) : NULL;

	return at ? (int)(at - base64_alphabet) : -1;
}

size_t rh_base64_room(size_t length)
{
	/* a last group is written whole before its padding is taken off */
	return length + 4;
}

bool rh_base64_decode(const char *text, char *to, size_t *ret_length)
{
	uint32_t bits = 0;
	int digits = 0;
	int padding = 0;
	size_t length = 0;

	for (; *text; text++) {
		int digit = base64_digit(*text);

		if (*text == '\n' || *text == '\r')
			continue;
		padding += *text == '=' ? 1 : 0;
		if ((digit < 0 && *text != '=') || (digit >= 0 && padding > 0))
			return false;
		bits = bits << 6 | (uint32_t)(digit < 0 ? 0 : digit);
		if (++digits % 4 != 0)
			continue;
		if (padding > 2)
			return false;
		to[length++] = (char)(bits >> 16);
		to[length++] = (char)(bits >> 8);
		to[length++] = (char)bits;
		length -= (size_t)padding;
		bits = 0;
	}
	to[length] = '\0';
	*ret_length = length;
	return digits % 4 == 0;
}

static uint32_t base64_byte(const char *bytes, size_t length, size_t i)
{
	return i < length ? (uint32_t)(unsigned char)bytes[i] : 0;
}

void rh_base64_encode(const char *bytes, size_t length, struct rh_str *out)
{
	for (size_t i = 0; i < length; i += 3) {
		uint32_t bits = base64_byte(bytes, length, i) << 16 | base64_byte(bytes, length, i + 1) << 8 |
		                base64_byte(bytes, length, i + 2);
		char group[4];

		for (size_t d = 0; d < 4; d++)
			group[d] = i + d <= length ? base64_alphabet[bits >> (18 - 6 * d) & 63] : '=';
		rh_str_append_bytes(out, group, sizeof(group));
	}
}
