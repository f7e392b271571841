/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/protocol/sha256.h
 * @brief SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for the hello of the bootstrap: the library depends on nothing.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_PROTOCOL_SHA256_H
#define RH_COMM_CORE_BOOTSTRAP_PROTOCOL_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a digest. */
#define RH_COMM_DIGEST 32

/** A hash in progress. */
struct rh_comm_sha256 {
	uint32_t state[8];
	uint64_t length; /**< bytes so far */
	uint8_t block[64];
};

/** Begin. */
void rh_comm_sha256_init(struct rh_comm_sha256 *hash);
/** Add @p length bytes. */
void rh_comm_sha256_add(struct rh_comm_sha256 *hash, const void *data, size_t length);
/** End. @param[out] ret_digest RH_COMM_DIGEST bytes */
void rh_comm_sha256_end(struct rh_comm_sha256 *hash, uint8_t *ret_digest);
/** HMAC-SHA-256. @param[out] ret_digest RH_COMM_DIGEST bytes */
void rh_comm_hmac(const void *key, size_t key_length, const void *data, size_t length, uint8_t *ret_digest);
/** @return whether both digests are equal, in a time that does not depend on where they differ */
bool rh_comm_digest_equal(const uint8_t *a, const uint8_t *b);

#endif
