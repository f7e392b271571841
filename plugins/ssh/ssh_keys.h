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
/**
 * Reply with a Secret of type kubernetes.io/ssh-auth that has a pair of keys; for rh_plugin.make.
 * @param labels of the Secret, a JSON object; NULL: none
 * @return 0, or the status of host->fail() or host->object()
 */
int32_t ssh_keys_make_secret(const struct rh_services *host, const struct rh_view *view, const struct rh_made *made,
                             const char *labels, struct rh_reply *reply);

#endif
