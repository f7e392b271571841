/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/durable/journal.h
 * @brief The folder of a server: an image of its store, and a log of the changes since.
 *
 * Files are named after the server's index and a generation that grows: state-0.7 and log-0.7 belong together. A new
 * image begins a new log. An incomplete end of a log, which was never acknowledged, is truncated.
 */
#ifndef RH_COMM_PS_SERVER_DURABLE_JOURNAL_H
#define RH_COMM_PS_SERVER_DURABLE_JOURNAL_H

#include "comm/ps/server/store.h"

/** Opaque journal. */
struct rh_ps_journal;

/** Parameters of rh_ps_journal_open(). */
struct rh_ps_journal_plan {
	const char *folder;
	struct rh_ps_config config;
	bool synced;    /**< commit() waits for the disk */
	uint64_t bytes; /**< of log after which a new image is due, if the log is also as large as the state */
	uint64_t epoch; /**< of the store, when there is none yet */
};

/**
 * Open the folder, create it if it is missing, and restore the store. Blocks.
 * @return 0; RH_COMM_EINVAL: it belongs to another server, or is in use; RH_COMM_EIO; RH_COMM_ENOMEM
 */
int32_t rh_ps_journal_open(const struct rh_ps_journal_plan *plan, struct rh_ps_journal **ret_journal,
                           struct rh_ps_store **ret_store, struct rh_comm_error *err);
/** Close the files. NULL is ignored. */
void rh_ps_journal_free(struct rh_ps_journal *journal);
/** Append a record that the store applies. @return 0 or RH_COMM_EIO */
int32_t rh_ps_journal_add(struct rh_ps_journal *journal, const struct rh_ps_head *head, const uint8_t *payload,
                          struct rh_comm_error *err);
/** Make the appended records durable. @return 0 or RH_COMM_EIO */
int32_t rh_ps_journal_commit(struct rh_ps_journal *journal, struct rh_comm_error *err);
/** @return whether a new image is due */
bool rh_ps_journal_is_long(const struct rh_ps_journal *journal, const struct rh_ps_store *store);
/** Write an image and begin a new log. Blocks. @return 0 or RH_COMM_EIO */
int32_t rh_ps_journal_renew(struct rh_ps_journal *journal, const struct rh_ps_store *store, struct rh_comm_error *err);

#endif
