/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/replica/backup.h
 * @brief The backup's side: takes the state of its primary, and then every record that changes it.
 *
 * The primary sends BEGIN, its entries in PIECEs, among them the records that change entries that were sent already,
 * and COPIED. From then on it sends every record that changes its store, before it answers for it. The same records in
 * the same order give the same bits (store.h).
 */
#ifndef RH_COMM_PS_SERVER_REPLICA_BACKUP_H
#define RH_COMM_PS_SERVER_REPLICA_BACKUP_H

#include "comm/ps/server/store.h"

/** Payload of BEGIN; a struct rh_ps_copy_worker for each worker follows. */
struct rh_ps_copy_begin {
	struct rh_ps_config config;
	uint64_t epoch;
};

/** A worker, in the payload of BEGIN and of COPIED. */
struct rh_ps_copy_worker {
	uint64_t session;
	uint64_t last;
	uint64_t left;
};

/** State of a copy that is received. All zero: none. */
struct rh_ps_backup {
	bool complete;     /**< the store has all that the primary has answered for */
	bool begun;        /**< BEGIN was received */
	uint64_t received; /**< records since BEGIN, which counts */
	uint64_t acked;    /**< how many of them were acknowledged */
	uint8_t *entry;    /**< owned; an entry of which pieces are missing */
	size_t length;
	size_t room;
};

/** Another connection: what came over the last one does not count any more. */
void rh_ps_backup_restart(struct rh_ps_backup *backup);
/** Free what it holds. */
void rh_ps_backup_deinit(struct rh_ps_backup *backup);
/**
 * Take a record of the primary. BEGIN replaces the store.
 * @param store owned by the caller. @return 0; RH_COMM_EINVAL: the primary has other options than this server, or the
 * record is malformed; RH_COMM_ENOMEM
 */
int32_t rh_ps_backup_take(struct rh_ps_backup *backup, struct rh_ps_store **store, const struct rh_ps_head *head,
                          const uint8_t *payload, struct rh_comm_error *err);

#endif
