/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/lease/keeper.h
 * @brief Runs an election (kube/lease/lease.h) over an HTTP client. All functions are called on the loop's thread.
 */
#ifndef RH_KUBE_LEASE_KEEPER_H
#define RH_KUBE_LEASE_KEEPER_H

#include "kube/lease/lease.h"

/** One election and its client. */
struct rh_lease_keeper;

/** Called for each change of the state; SEEKING is the first state. @p message for users, "" for none; borrowed. */
typedef void rh_lease_changed_fn(void *arg, enum rh_lease_state state, const char *message);
/** Called when attempts begin to fail, and when they succeed again. @param status HTTP status; 0:
 * no response. @param message of the server; "": success. Borrowed
 */
typedef void rh_lease_trouble_fn(void *arg, int32_t status, const char *message);

/** Options of a keeper. */
struct rh_lease_keeper_options {
	struct rh_http *http; /**< borrowed for the keeper's life */
	/** Options of the election; a NULL identity becomes host name and a random number. Borrowed during the call */
	struct rh_lease_options lease;
	rh_lease_changed_fn *changed; /**< called from rh_lease_keeper_step() only, like trouble */
	rh_lease_trouble_fn *trouble; /**< may be NULL */
	void *arg;
};

/** Create a keeper. @param[out] ret_keeper owned by the caller. @return 0, RH_EINVAL, RH_EIO or RH_ENOMEM */
int rh_lease_keeper_new(const struct rh_lease_keeper_options *options, struct rh_lease_keeper **ret_keeper,
                        struct rh_error *err);
/** Cancel the request in progress and free @p keeper. Call rh_lease_keeper_release() first and wait for RELEASED. NULL
 * is ignored. */
void rh_lease_keeper_free(struct rh_lease_keeper *keeper);
RH_DEFINE_CLEANUP(lease_keeper);
/** Begin to release the lease: changed() gets RH_LEASE_RELEASED, even when the server cannot be reached. */
void rh_lease_keeper_release(struct rh_lease_keeper *keeper);
/** Send requests and report changes that are due. @param now monotonic microseconds */
void rh_lease_keeper_step(struct rh_lease_keeper *keeper, int64_t now);
/** @return the latest time of the next rh_lease_keeper_step(), monotonic microseconds, or RH_NEVER */
int64_t rh_lease_keeper_deadline(const struct rh_lease_keeper *keeper);
/** @return the election, borrowed, for its holder and message */
const struct rh_lease *rh_lease_keeper_lease(const struct rh_lease_keeper *keeper);

#endif
