/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/lease/keeper.h
 * @brief Carries an election (kube/lease/lease.h) out over a client. One thread.
 */
#ifndef RH_KUBE_LEASE_KEEPER_H
#define RH_KUBE_LEASE_KEEPER_H

#include "kube/lease/lease.h"

/** One election and its client. */
struct rh_lease_keeper;

/** Told of each change of the state, also the first to SEEKING's end. @p words for people, "" for none; borrowed. */
typedef void rh_lease_changed_fn(void *arg, enum rh_lease_state state, const char *words);
/** Told when tries begin to fail, and when they are good again. @param words the server's; "": good again. Borrowed */
typedef void rh_lease_trouble_fn(void *arg, const char *words);

/** What it needs. */
struct rh_lease_keeper_options {
	struct rh_http *http; /**< borrowed for its life */
	/** What to elect; identity may be NULL: host name and a random number. Borrowed during the call */
	struct rh_lease_options lease;
	rh_lease_changed_fn *changed; /**< comes from rh_lease_keeper_step() alone, likewise the next */
	rh_lease_trouble_fn *trouble; /**< NULL: nobody asks */
	void *arg;
};

/** @return 0, RH_EINVAL, RH_EIO or RH_ENOMEM */
int rh_lease_keeper_new(const struct rh_lease_keeper_options *options, struct rh_lease_keeper **ret_keeper,
                        struct rh_error *err);
/** Free it; what is under way is cancelled. Call rh_lease_keeper_release() before, and wait. NULL is nothing. */
void rh_lease_keeper_free(struct rh_lease_keeper *keeper);
RH_DEFINE_CLEANUP(lease_keeper);
/** Begin to give the lease up: changed is told RH_LEASE_RELEASED, whether the server is there or not. */
void rh_lease_keeper_release(struct rh_lease_keeper *keeper);
/** Do what is due. @param now monotonic microseconds */
void rh_lease_keeper_step(struct rh_lease_keeper *keeper, int64_t now);
/** @return monotonic microseconds when rh_lease_keeper_step() is to be called though nothing happens; RH_NEVER */
int64_t rh_lease_keeper_deadline(const struct rh_lease_keeper *keeper);
/** @return the election, borrowed, for its holder and words */
const struct rh_lease *rh_lease_keeper_lease(const struct rh_lease_keeper *keeper);

#endif
