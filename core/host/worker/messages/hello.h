/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/messages/hello.h
 * @brief What a worker process says of its plugin once it is loaded: the host's copy of what describe() returned.
 */
#ifndef RH_HOST_WORKER_MESSAGES_HELLO_H
#define RH_HOST_WORKER_MESSAGES_HELLO_H

#include "base/mem.h"
#include "base/str.h"
#include "host/registry.h"

/** Opaque: a plugin as its worker describes it. Owns all texts that it gives out. */
struct rh_hello;

/**
 * Append what is known of the plugin in @p slot, which this process has loaded. @param notes of init(): of each a byte
 * 1, its level and its text
 */
void rh_hello_put(struct rh_str *out, const struct rh_slot *slot, const struct rh_str *notes);
/**
 * Read such a message (taken, also on error). Nothing of what it says is checked but its form: see rh_abi_check_kind().
 * @return 0, RH_ENOMEM, or RH_EPLUGIN when it is malformed
 */
int rh_hello_read(struct rh_str *message, struct rh_hello **ret_hello, struct rh_error *err);
/** Free it. NULL is nothing. */
void rh_hello_free(struct rh_hello *hello);
RH_DEFINE_CLEANUP(hello);

/** @return whether both say the same; their notes may differ */
bool rh_hello_equal(const struct rh_hello *a, const struct rh_hello *b);
/**
 * Get the notes of init(), one after another. @param cursor starts as 0. @param[out] ret_level RH_NOTE_*, unchecked
 * @return the text, or NULL after the last
 */
const char *rh_hello_note(const struct rh_hello *hello, size_t *cursor, int32_t *ret_level);
/** @return its state: ready, failed or refused */
enum rh_plugin_state rh_hello_state(const struct rh_hello *hello);
/** @return why it is not ready; "" when it is */
const char *rh_hello_reason(const struct rh_hello *hello);
/** @return its table with name, release and settings, and without operations; NULL when it was refused before */
const struct rh_plugin *rh_hello_plugin(const struct rh_hello *hello);
/** @return whether its table has @p operation */
bool rh_hello_has(const struct rh_hello *hello, uint32_t operation);
/** @return kind number @p index of those that it serves, or, where @p idle, would serve; NULL after the last */
const struct rh_kind *rh_hello_kind(const struct rh_hello *hello, bool idle, size_t index);

#endif
