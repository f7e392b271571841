/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>

uint64_t rh_hash(const void *bytes, size_t length)
{
	return rh_hash_more(RH_HASH_START, bytes, length);
}

uint64_t rh_hash_more(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ b[i]) * UINT64_C(0x100000001B3);
	return hash;
}

static uint64_t hash_rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void hash_sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = hash_rotate(v[1], 13) ^ v[0];
	v[0] = hash_rotate(v[0], 32);
	v[2] += v[3];
	v[3] = hash_rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = hash_rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = hash_rotate(v[1], 17) ^ v[2];
	v[2] = hash_rotate(v[2], 32);
}

static void hash_sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	hash_sip_round(v);
	v[0] ^= word;
}

uint64_t rh_hash_keyed(const struct rh_hash_key *key, const void *bytes, size_t length)
{
	uint64_t v[4] = {key->half[0] ^ UINT64_C(0x736F6D6570736575), key->half[1] ^ UINT64_C(0x646F72616E646F6D),
	                 key->half[0] ^ UINT64_C(0x6C7967656E657261), key->half[1] ^ UINT64_C(0x7465646279746573)};
	const unsigned char *b = bytes;
	uint64_t word;
	size_t done = 0;

	for (; length - done >= sizeof(word); done += sizeof(word)) {
		memcpy(&word, b + done, sizeof(word));
		hash_sip_word(v, word);
	}
	word = 0;
	memcpy(&word, b + done, length - done);
	hash_sip_word(v, word | (uint64_t)length << 56);
	v[2] ^= 0xFF;
	for (int i = 0; i < 3; i++)
		hash_sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
