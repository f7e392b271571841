/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1 (FIPS 180-4), because the label job-key of JobSet is one. It protects nothing here. */
#include "sha1.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SHA1_BLOCK 64

static uint32_t sha1_rotate(uint32_t word, int bits)
{
	return word << bits | word >> (32 - bits);
}

static void sha1_block(uint32_t state[5], const uint8_t *block)
{
	static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
	uint32_t words[80];
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

	for (int i = 0; i < 16; i++)
		words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
		           block[4 * i + 3];
	for (int i = 16; i < 80; i++)
		words[i] = sha1_rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
	for (int i = 0; i < 80; i++) {
		const int round = i / 20;
		const uint32_t mixed = round == 0 ? (b & c) | (~b & d) : round == 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
		const uint32_t next = sha1_rotate(a, 5) + mixed + e + constants[round] + words[i];

		e = d;
		d = c;
		c = sha1_rotate(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void sha1_print(const char *text, char ret_hex[SHA1_TEXT])
{
	uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	const size_t length = strlen(text);
	const size_t rest = length % SHA1_BLOCK;
	const uint64_t bits = (uint64_t)length * 8;
	uint8_t tail[2 * SHA1_BLOCK] = {0};
	const size_t size = rest < SHA1_BLOCK - 8 ? SHA1_BLOCK : 2 * SHA1_BLOCK;

	for (size_t at = 0; at + SHA1_BLOCK <= length; at += SHA1_BLOCK)
		sha1_block(state, (const uint8_t *)text + at);
	memcpy(tail, text + length - rest, rest);
	tail[rest] = 0x80;
	for (size_t i = 0; i < 8; i++)
		tail[size - 1 - i] = (uint8_t)(bits >> (8 * i));
	for (size_t at = 0; at < size; at += SHA1_BLOCK)
		sha1_block(state, tail + at);
	for (size_t i = 0; i < 5; i++)
		snprintf(ret_hex + 8 * i, 9, "%08x", (unsigned)state[i]);
}
