/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/replica/entry.h
 * @brief One entry of a store as bytes, for the copy of a backup.
 */
#ifndef RH_COMM_PS_SERVER_REPLICA_ENTRY_H
#define RH_COMM_PS_SERVER_REPLICA_ENTRY_H

#include "comm/ps/server/store.h"

/** @return bytes of an entry in this form */
size_t rh_ps_entry_size(const struct rh_ps_store *store, const struct rh_ps_entry *entry);
/** Write an entry. @param[out] ret_data rh_ps_entry_size() bytes */
void rh_ps_entry_write(const struct rh_ps_store *store, const struct rh_ps_entry *entry, uint8_t *ret_data);
/**
 * Add an entry to a store that does not have it yet, and apply its complete rounds.
 * @return 0; RH_COMM_EINVAL: malformed, and then it is not to be used; RH_COMM_ENOMEM
 */
int32_t rh_ps_entry_read(struct rh_ps_store *store, const uint8_t *data, size_t length, struct rh_comm_error *err);

#endif
