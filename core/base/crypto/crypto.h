/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/crypto/crypto.h
 * @brief Hashes and signatures of what is to be loaded, and keys of jobs. The only module of this layer that knows
 * OpenSSL's libcrypto.
 *
 * libcrypto is loaded at the first call: linked, it would cost the process of every local pod 4 ms and 3 MiB.
 */
#ifndef RH_BASE_CRYPTO_CRYPTO_H
#define RH_BASE_CRYPTO_CRYPTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** Room for a SHA-256 in hexadecimal digits, with its zero. */
#define RH_SHA256_HEX_SIZE 65
/** Bytes of a BLAKE2b-512. */
#define RH_BLAKE2B_SIZE 64
/** Bytes of an Ed25519 public key, and of a signature. */
#define RH_ED25519_KEY_SIZE 32
#define RH_ED25519_SIGNATURE_SIZE 64
/** Bytes of a pair of keys on P-521: the private number, then the public point. */
#define RH_PAIR_SIZE 199
#define RH_PAIR_NUMBER_SIZE 66

/**
 * Load libcrypto and let it set itself up, which takes 2 ms, before a fork whose child would do so again. A failure is
 * reported by the first call that needs it.
 */
void rh_crypto_prepare(void);
/**
 * Hash a whole file that nobody shortens meanwhile (base/library/sealed.h). @param[out] ret_hex small letters
 * @return 0, or RH_EIO: the file cannot be read, or there is no libcrypto
 */
int rh_crypto_sha256(int fd, char ret_hex[RH_SHA256_HEX_SIZE], struct rh_error *err);
/** rh_crypto_sha256() with BLAKE2b-512, as bytes. */
int rh_crypto_blake2b(int fd, uint8_t ret_hash[RH_BLAKE2B_SIZE], struct rh_error *err);
/**
 * Check an Ed25519 signature (RFC 8032) of @p length bytes.
 * @return 1: it is that of the key's owner, 0: it is not, RH_EIO: there is no libcrypto
 */
int rh_crypto_verify(const uint8_t key[RH_ED25519_KEY_SIZE], const void *message, size_t length,
                     const uint8_t signature[RH_ED25519_SIGNATURE_SIZE], struct rh_error *err);
/**
 * Make a pair of ECDSA keys on P-521. @param[out] ret_pair the private number, the highest byte first, then the public
 * point, uncompressed; the caller overwrites it when it is done
 * @return 0, or RH_EIO: there is no libcrypto, or it makes none
 */
int rh_crypto_pair(uint8_t ret_pair[RH_PAIR_SIZE], struct rh_error *err);

#endif
