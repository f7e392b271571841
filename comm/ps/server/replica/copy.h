/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/replica/copy.h
 * @brief The primary's side: copies its state to its backup while it serves, and then every record that changes it.
 *
 * Once the backup has all, nothing is answered before the backup has acknowledged what the answer depends on: answers
 * are gated. When the backup is lost, they stay gated until the scheduler, which could have made the backup the
 * primary, lets this server go on alone. NULL, where a copy is asked for, is a server without replicas.
 */
#ifndef RH_COMM_PS_SERVER_REPLICA_COPY_H
#define RH_COMM_PS_SERVER_REPLICA_COPY_H

#include "comm/ps/protocol/handshake.h"
#include "comm/ps/scheduler/join.h"
#include "comm/ps/server/store.h"

/** Opaque copy. */
struct rh_ps_copy;

/** Parameters of rh_ps_copy_new(). Texts are copied. */
struct rh_ps_copy_plan {
	const char *secret;
	const uint8_t *job; /**< RH_COMM_DIGEST bytes */
	const char *backend;
	int poller;  /**< epoll that is to wake for the copy, with @e mark */
	void *mark;  /**< data of its events */
	int wake;    /**< eventfd that wakes the poller */
	bool no_shm; /**< never through shared memory */
	int64_t death_timeout;
};

/** @return NULL: out of memory */
struct rh_ps_copy *rh_ps_copy_new(const struct rh_ps_copy_plan *plan);
/** Free it. Blocks while a backup is being connected, seconds at most. NULL is ignored. */
void rh_ps_copy_free(struct rh_ps_copy *copy);
/** The scheduler's decision: answers are not gated any more, and the backup, if the note names one, is copied anew. */
void rh_ps_copy_start(struct rh_ps_copy *copy, const struct rh_ps_role_note *note);
/** The descriptor has something to read. */
void rh_ps_copy_wake(struct rh_ps_copy *copy);
/** Send what was added. */
void rh_ps_copy_flush(struct rh_ps_copy *copy);
/** Move on: connect, receive, copy. @return whether there is more to do at once */
bool rh_ps_copy_turn(struct rh_ps_copy *copy, struct rh_ps_store *store, int64_t now);
/** @return whether a request may be executed now: what it changes can be sent */
bool rh_ps_copy_may_take(struct rh_ps_copy *copy);
/** @return whether rh_ps_copy_may_take() returned false since the last turn */
bool rh_ps_copy_is_blocked(const struct rh_ps_copy *copy);
/** Wait until the backup has taken something in. @param timeout milliseconds at most */
void rh_ps_copy_wait(struct rh_ps_copy *copy, int timeout);
/** Send a record that the store is about to take. There is room: rh_ps_copy_may_take(). */
void rh_ps_copy_add(struct rh_ps_copy *copy, const struct rh_ps_store *store, const struct rh_ps_head *head,
                    const uint8_t *payload);
/** @return whether answers wait for the backup */
bool rh_ps_copy_gates(const struct rh_ps_copy *copy);
/** @return records that were sent to the backup, a count that only grows until rh_ps_copy_start() */
uint64_t rh_ps_copy_sent(const struct rh_ps_copy *copy);
/** @return how many of them it has acknowledged */
uint64_t rh_ps_copy_acked(const struct rh_ps_copy *copy);
/** @return whether the backup is lost, and the scheduler has not let this server go on alone yet */
bool rh_ps_copy_is_stuck(const struct rh_ps_copy *copy);
/** @return what the scheduler is to know, once: RH_PS_REC_SYNCED or RH_PS_REC_ALONE; 0: nothing */
uint32_t rh_ps_copy_report(struct rh_ps_copy *copy, uint64_t *ret_term);
/** @return whether it is connecting: look again soon */
bool rh_ps_copy_is_calling(const struct rh_ps_copy *copy);
/** Announce that this side is about to sleep. @return false: there is something to do first */
bool rh_ps_copy_sleep(struct rh_ps_copy *copy);

#endif
