/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/durable/replay.h
 * @brief Replays a journal: records are applied again; damage is distinguished from an incomplete last record.
 */
#ifndef RH_COMM_PS_SERVER_DURABLE_REPLAY_H
#define RH_COMM_PS_SERVER_DURABLE_REPLAY_H

#include "comm/ps/server/store.h"

/** @return the checksum that stands in a record's head, which is taken for zero meanwhile */
uint64_t rh_ps_replay_sum(const struct rh_ps_head *head, const uint8_t *payload);
/**
 * Let @p store take all records of the log @p fd, from its start. Blocks.
 *
 * A process that is killed leaves a log whose last record ends too early: nobody was answered for that one, and it does
 * not count. Anything else that is not as it was written is an error, as what follows it was answered for.
 *
 * @param name of the log, for words. @param[out] ret_length bytes of all whole records
 * @return 0; RH_COMM_EIO: it cannot be read, or is damaged; RH_COMM_EINVAL: a record does not fit the store;
 * RH_COMM_ENOMEM
 */
int32_t rh_ps_replay(int fd, const char *name, struct rh_ps_store *store, uint64_t *ret_length,
                     struct rh_comm_error *err);

#endif
