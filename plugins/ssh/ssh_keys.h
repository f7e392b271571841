/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ssh/ssh_keys.h
 * @brief A pair of keys in the form of ssh, for plugins that are built with this file.
 */
#ifndef RH_SSH_SSH_KEYS_H
#define RH_SSH_SSH_KEYS_H

#include <stdint.h>

#include "roundhouse/plugin.h"

/** A pair of keys as ssh has them. */
struct ssh_keys {
	char *private_key; /**< PEM of SEC 1, zero-terminated; owned */
	char *public_key;  /**< a line of authorized_keys, zero-terminated; owned */
};

/**
 * Print a pair of the host. A pure function.
 * @param pair as of RH_OBJECT_PAIR @return 0, RH_ENOMEM or RH_EINVAL (@p size is not RH_PAIR_BYTES)
 */
int32_t ssh_keys_print(const uint8_t *pair, uint32_t size, struct ssh_keys *ret_keys);
/** Overwrite and free the pair. */
void ssh_keys_free(struct ssh_keys *keys);
/** @return a text in base64, owned by the caller, for ssh_keys_wipe(); NULL when memory is out */
char *ssh_keys_encode(const char *text);
/** Overwrite and free a text. NULL is ignored. */
void ssh_keys_wipe(char *text);

#endif
