/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/hash.h
 * @brief Hash functions of bytes. Neither is cryptographic. Thread-safe.
 */
#ifndef RH_BASE_HASH_H
#define RH_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** Key of rh_hash_keyed(): random, see rh_random_seed() and rh_random_of_process(). */
struct rh_hash_key {
	uint64_t half[2];
};

/**
 * 64-bit FNV-1a (RFC 9923). For comparing texts with earlier ones and for choosing from few entries, where deliberate
 * collisions do no harm.
 * @return a hash of @p length bytes, the same on every machine and in every run
 */
uint64_t rh_hash(const void *bytes, size_t length);
/** The hash of no bytes, with which rh_hash_more() starts. */
#define RH_HASH_START UINT64_C(0xCBF29CE484222325)
/**
 * rh_hash() of bytes that lie apart.
 * @param hash RH_HASH_START, or the result for the bytes before
 * @return rh_hash() of those and @p length more @p bytes
 */
uint64_t rh_hash_more(uint64_t hash, const void *bytes, size_t length);
/**
 * SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF"). For tables whose keys users choose:
 * collisions cannot be constructed without the key.
 * @return a hash of @p length bytes; it depends on the byte order of the machine
 */
uint64_t rh_hash_keyed(const struct rh_hash_key *key, const void *bytes, size_t length);

#endif
