/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/crypto/minisign.h
 * @brief Detached signatures of files as minisign makes them (https://jedisct1.github.io/minisign/).
 */
#ifndef RH_BASE_CRYPTO_MINISIGN_H
#define RH_BASE_CRYPTO_MINISIGN_H

#include <stdint.h>

#include "base/crypto/crypto.h"
#include "base/error.h"

/** Bytes of the number that a key and its signatures share. */
#define RH_MINISIGN_ID_SIZE 8

/** A public key. */
struct rh_minisign_key {
	uint8_t id[RH_MINISIGN_ID_SIZE];
	uint8_t key[RH_ED25519_KEY_SIZE];
};

/** Read a public key, the line that starts with RW. @return 0 or RH_EINVAL */
int rh_minisign_key_parse(const char *text, struct rh_minisign_key *ret_key);
/**
 * Check that @p text, that of a .minisig file, is a signature of @p key for the file behind @p fd, which nobody
 * shortens meanwhile (base/library/sealed.h); its trusted comment is checked as well. Signatures of minisign before
 * 0.10, and of minisign -l, which are not of a hash, are refused.
 * @return 0; RH_EINVAL with what is wrong and what to do; RH_EIO: as rh_crypto_verify()
 */
int rh_minisign_verify(const struct rh_minisign_key *key, int fd, const char *text, struct rh_error *err);

#endif
