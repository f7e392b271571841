/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/sha256.h"

#include <string.h>

#define BLOCK 64

static const uint32_t sha256_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t sha256_rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void sha256_schedule(const uint8_t *block, uint32_t *w)
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[i * 4] << 24 | (uint32_t)block[i * 4 + 1] << 16 | (uint32_t)block[i * 4 + 2] << 8 |
		       (uint32_t)block[i * 4 + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t s0 = sha256_rotate(w[i - 15], 7) ^ sha256_rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = sha256_rotate(w[i - 2], 17) ^ sha256_rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void sha256_block(uint32_t *state, const uint8_t *block)
{
	uint32_t w[64];
	uint32_t v[8];

	sha256_schedule(block, w);
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t s1 = sha256_rotate(v[4], 6) ^ sha256_rotate(v[4], 11) ^ sha256_rotate(v[4], 25);
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t first = v[7] + s1 + choice + sha256_constants[i] + w[i];
		uint32_t s0 = sha256_rotate(v[0], 2) ^ sha256_rotate(v[0], 13) ^ sha256_rotate(v[0], 22);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += first;
		v[0] = first + s0 + majority;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void rh_comm_sha256_init(struct rh_comm_sha256 *hash)
{
	static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	memcpy(hash->state, start, sizeof(start));
	hash->length = 0;
}

void rh_comm_sha256_add(struct rh_comm_sha256 *hash, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	while (length > 0) {
		size_t at = hash->length % BLOCK;
		size_t piece = BLOCK - at < length ? BLOCK - at : length;

		memcpy(hash->block + at, bytes, piece);
		hash->length += piece;
		bytes += piece;
		length -= piece;
		if (at + piece == BLOCK)
			sha256_block(hash->state, hash->block);
	}
}

void rh_comm_sha256_end(struct rh_comm_sha256 *hash, uint8_t *ret_digest)
{
	static const uint8_t padding[BLOCK] = {0x80};
	uint64_t bits = hash->length * 8;
	size_t at = hash->length % BLOCK;
	uint8_t tail[8];

	for (int i = 0; i < 8; i++)
		tail[i] = (uint8_t)(bits >> (56 - 8 * i));
	rh_comm_sha256_add(hash, padding, (at < 56 ? 56 : 120) - at);
	rh_comm_sha256_add(hash, tail, sizeof(tail));
	for (int i = 0; i < RH_COMM_DIGEST; i++)
		ret_digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

static void hmac_pad(uint8_t *block, const uint8_t *key, uint8_t with)
{
	for (int i = 0; i < BLOCK; i++)
		block[i] = key[i] ^ with;
}

void rh_comm_hmac(const void *key, size_t key_length, const void *data, size_t length, uint8_t *ret_digest)
{
	struct rh_comm_sha256 hash;
	uint8_t whole[BLOCK] = {0};
	uint8_t pad[BLOCK];
	uint8_t inner[RH_COMM_DIGEST];

	if (key_length > BLOCK) {
		rh_comm_sha256_init(&hash);
		rh_comm_sha256_add(&hash, key, key_length);
		rh_comm_sha256_end(&hash, whole);
	} else if (key_length > 0) {
		memcpy(whole, key, key_length);
	}
	hmac_pad(pad, whole, 0x36);
	rh_comm_sha256_init(&hash);
	rh_comm_sha256_add(&hash, pad, BLOCK);
	rh_comm_sha256_add(&hash, data, length);
	rh_comm_sha256_end(&hash, inner);
	hmac_pad(pad, whole, 0x5c);
	rh_comm_sha256_init(&hash);
	rh_comm_sha256_add(&hash, pad, BLOCK);
	rh_comm_sha256_add(&hash, inner, sizeof(inner));
	rh_comm_sha256_end(&hash, ret_digest);
}

bool rh_comm_digest_equal(const uint8_t *a, const uint8_t *b)
{
	uint8_t different = 0;

	for (int i = 0; i < RH_COMM_DIGEST; i++)
		different |= a[i] ^ b[i];
	return different == 0;
}
