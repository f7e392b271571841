/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/store.h
 * @brief State of a server: values, rounds, and which requests were applied. No sockets, no files, no clock.
 *
 * The same records in the same order give the same bits: that is how a log is replayed.
 */
#ifndef RH_COMM_PS_SERVER_STORE_H
#define RH_COMM_PS_SERVER_STORE_H

#include <stdbool.h>
#include <sys/queue.h>

#include "comm/ps/protocol/wire.h"
#include "roundhouse/ps.h"

/** Key of the barrier: an entry without a value, synchronous in every mode. */
#define RH_PS_BARRIER_KEY UINT64_MAX

/** Configuration of a store. */
struct rh_ps_config {
	int32_t index;
	int32_t servers;
	int32_t workers;
	int32_t mode;
	int32_t staleness;
	int32_t rule;
	double rate;
	double momentum;
	double beta1;
	double beta2;
	double epsilon;
};

/** A round that is incomplete, or waits for an earlier one. */
struct rh_ps_round {
	struct rh_ps_round *next;
	int32_t count; /**< pushes in it */
	int32_t reserved;
	double rate;       /**< learning rate at its last push */
	uint8_t *data;     /**< their sum; NULL: the entry has rows, and none was pushed yet */
	uint64_t *touched; /**< a bit for each row that was pushed; NULL: the entry has no rows */
};

/** A request that waits for an entry (waiters.h). */
struct rh_ps_waiter;

/** One part of a value. */
struct rh_ps_entry {
	struct rh_ps_entry *next;
	uint64_t key;
	uint32_t part;
	uint32_t bytes;
	int32_t type;
	uint32_t width;   /**< elements of a row; 0: it has no rows */
	bool known;       /**< it has its first value */
	int32_t hold;     /**< queued answers that need this version: no round is applied meanwhile */
	uint64_t version; /**< rounds, or pushes, applied to the value */
	uint32_t copied;  /**< the copy (replica/copy.h) that has it; 0: none */
	uint64_t *pushed; /**< for each worker its pushes */
	uint8_t *value;
	uint8_t *slots[2];                 /**< state of the rule, such as momentum; NULL: none yet */
	uint64_t *steps;                   /**< of RH_PS_ADAM: steps that each row has taken; NULL: it has no rows */
	struct rh_ps_round *rounds;        /**< the first is number version + 1 */
	LIST_HEAD(, rh_ps_waiter) waiters; /**< the server's */
};

/** State of one worker. */
struct rh_ps_worker_record {
	uint64_t session; /**< random number of the process; 0: none yet */
	uint64_t last;    /**< number of its latest applied request */
	bool left;        /**< it has left */
};

/** All of a server. Members are read only outside of store.c and image.c. */
struct rh_ps_store {
	struct rh_ps_config config;
	uint64_t epoch; /**< random number that identifies this state */
	struct rh_ps_worker_record *workers;
	struct rh_ps_entry **buckets;
	size_t bucket_count; /**< a power of two */
	size_t entry_count;
	uint64_t value_bytes; /**< of all values, with their rounds and rule state */
	uint8_t *scratch;     /**< one part */
};

/** @return NULL: out of memory. @param epoch not 0 */
struct rh_ps_store *rh_ps_store_new(const struct rh_ps_config *config, uint64_t epoch);
/** Free it. NULL is ignored. */
void rh_ps_store_free(struct rh_ps_store *store);
/** @return the entry; NULL: there is none */
struct rh_ps_entry *rh_ps_store_find(const struct rh_ps_store *store, uint64_t key, uint32_t part);
/**
 * Find the entry, or create one without a value.
 * @return 0; RH_COMM_EINVAL: its size or type is another one; RH_COMM_ENOMEM
 */
int32_t rh_ps_store_open(struct rh_ps_store *store, const struct rh_ps_head *head, struct rh_ps_entry **ret_entry,
                         struct rh_comm_error *err);
/**
 * Check a record.
 * @param payload head->length bytes. @return 1: it would change something; 0: it was applied already; RH_COMM_EINVAL
 * with the reason
 */
int32_t rh_ps_store_check(const struct rh_ps_store *store, const struct rh_ps_head *head, const uint8_t *payload,
                          struct rh_comm_error *err);
/**
 * Apply a record that changes something: SESSION, LEAVE, RATE, INIT with a first value, or a push, for which
 * rh_ps_store_check() gives 1. Complete rounds are not applied yet.
 * @param[out] ret_entry its entry; NULL: none. @return 0; RH_COMM_ENOMEM: nothing was changed
 */
int32_t rh_ps_store_take(struct rh_ps_store *store, const struct rh_ps_head *head, const uint8_t *payload,
                         struct rh_ps_entry **ret_entry, struct rh_comm_error *err);
/** Find the round @p number of an entry, which is not applied yet, or make it, without pushes; those before it exist.
 * @return borrowed from the entry; NULL: out of memory */
struct rh_ps_round *rh_ps_store_round(struct rh_ps_entry *entry, uint64_t number);
/** Apply the next round if it is complete and no answer holds the version. @return whether one was applied */
bool rh_ps_store_settle(struct rh_ps_store *store, struct rh_ps_entry *entry);
/**
 * @return whether a pull of a worker, made after @p pushed pushes of its own, may be answered
 */
bool rh_ps_store_ready(const struct rh_ps_store *store, const struct rh_ps_entry *entry, uint64_t pushed);
/** @return the first worker, from @p from on, that such a pull waits for; -1: none */
int32_t rh_ps_store_blocker(const struct rh_ps_store *store, const struct rh_ps_entry *entry, uint64_t pushed,
                            int32_t from);
/** @return whether the entry is synchronous */
bool rh_ps_store_is_sync(const struct rh_ps_store *store, const struct rh_ps_entry *entry);
/** @return whether the entry counts the steps of each row */
bool rh_ps_store_counts_steps(const struct rh_ps_store *store, const struct rh_ps_entry *entry);
/** @return the number of state arrays of @p rule for each value */
int32_t rh_ps_rule_slots(int32_t rule);

/** One change of some elements of a value. */
struct rh_ps_change {
	const struct rh_ps_config *config;
	struct rh_ps_entry *entry;
	const uint8_t *data; /**< what was pushed to these elements */
	size_t first;        /**< the first of them */
	size_t count;
	uint64_t steps;  /**< that they have taken, with this one */
	int32_t divisor; /**< by which it is to be divided for a mean */
	double rate;
	uint8_t *scratch; /**< one part */
};

/** Change these elements by the rule. */
void rh_ps_rule_apply(const struct rh_ps_change *change);

#endif
