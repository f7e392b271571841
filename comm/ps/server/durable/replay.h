/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/durable/replay.h
 * @brief Replays a journal: records are applied again; damage is distinguished from an incomplete last record.
 */
#ifndef RH_COMM_PS_SERVER_DURABLE_REPLAY_H
#define RH_COMM_PS_SERVER_DURABLE_REPLAY_H

#include "comm/ps/server/store.h"

/** @return the checksum of a record, computed with zero in the checksum field of its head */
uint64_t rh_ps_replay_sum(const struct rh_ps_head *head, const uint8_t *payload);
/**
 * Apply all records of the log @p fd to @p store, from its start. Blocks.
 *
 * A process that is killed leaves a log with an incomplete last record: it was never acknowledged, and is dropped. Any
 * other difference from what was written is an error, because the records after it were acknowledged.
 *
 * @param name of the log, for messages. @param[out] ret_length bytes of all whole records
 * @return 0; RH_COMM_EIO: it cannot be read, or is damaged; RH_COMM_EINVAL: a record does not fit the store;
 * RH_COMM_ENOMEM
 */
int32_t rh_ps_replay(int fd, const char *name, struct rh_ps_store *store, uint64_t *ret_length,
                     struct rh_comm_error *err);

#endif
