/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/lease/lease.h
 * @brief Leader election with a Lease (coordination.k8s.io/v1), compatible with client-go. Pure.
 *
 * The module returns the request to send and takes its response; it reads no clock and does no I/O. Another holder's
 * lease expires by the local time since it was seen to change: clocks of two machines are never compared.
 */
#ifndef RH_KUBE_LEASE_LEASE_H
#define RH_KUBE_LEASE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "kube/http/http.h"

/** Default validity of a lease, in microseconds. */
#define RH_LEASE_DURATION INT64_C(15000000)
/** Default time in which the holder must renew it, in microseconds. */
#define RH_LEASE_RENEW_DEADLINE INT64_C(10000000)
/** Default pause between two attempts, in microseconds. */
#define RH_LEASE_RETRY_PERIOD INT64_C(2000000)

/** State of an election. The last two are final. */
enum rh_lease_state {
	RH_LEASE_SEEKING, /**< another candidate leads, or no leader is known */
	RH_LEASE_LEADING, /**< this process leads */
	/**
	 * There is no election: no Lease was ever read, and the server has refused access (status 403) for a whole
	 * duration. The process may work, and keeps trying. The next state is LEADING once access is granted, or LOST.
	 */
	RH_LEASE_FORBIDDEN,
	RH_LEASE_LOST,     /**< not renewed in time, or another holder took it: stop at once */
	RH_LEASE_RELEASED, /**< after rh_lease_release() */
};

/** Options of an election. Strings are copied. */
struct rh_lease_options {
	const char *namespace_;
	const char *name;
	const char *identity;   /**< of this candidate; unique among all candidates, past ones included */
	int64_t duration;       /**< microseconds; 0: RH_LEASE_DURATION */
	int64_t renew_deadline; /**< less than duration; 0: RH_LEASE_RENEW_DEADLINE */
	int64_t retry_period;   /**< less than renew_deadline; 0: RH_LEASE_RETRY_PERIOD */
	uint64_t seed;          /**< of the jitter between the attempts of a candidate */
};

/** One election. */
struct rh_lease;

/** Create an election. @param[out] ret_lease owned by the caller. @return 0, RH_EINVAL (inconsistent times or invalid
 * names) or RH_ENOMEM */
int rh_lease_new(const struct rh_lease_options *options, struct rh_lease **ret_lease, struct rh_error *err);
/** Free @p lease; the Lease object in the cluster is not changed. NULL is ignored. */
void rh_lease_free(struct rh_lease *lease);
RH_DEFINE_CLEANUP(lease);
/**
 * Get the next request. A returned request counts as sent: pass its response to rh_lease_answer() before calling again.
 * @param now monotonic, @param wall wall-clock microseconds
 * @param[out] ret_request borrowed until the next call
 * @return 1 and a request, 0 for nothing, or RH_ENOMEM
 */
int rh_lease_next(struct rh_lease *lease, int64_t now, int64_t wall, struct rh_http_request *ret_request,
                  struct rh_error *err);
/** Process the response to the request from rh_lease_next(). @param now monotonic microseconds */
void rh_lease_answer(struct rh_lease *lease, int64_t now, const struct rh_http_response *response);
/** Release the lease after the response to the request in progress, so that another candidate need not wait for expiry.
 */
void rh_lease_release(struct rh_lease *lease);
/** @return the state at @p now, monotonic microseconds */
enum rh_lease_state rh_lease_look(struct rh_lease *lease, int64_t now);
/** @return whether this process may write at @p now, monotonic microseconds: it leads, or there is no election */
bool rh_lease_works(const struct rh_lease *lease, int64_t now);
/** @return the time, monotonic microseconds, when rh_lease_look() or rh_lease_next() may change without a response;
 * RH_NEVER: not at all */
int64_t rh_lease_deadline(const struct rh_lease *lease);
/** @return the identity of the last known holder, borrowed; "" for none */
const char *rh_lease_holder(const struct rh_lease *lease);
/** @return HTTP status of the last response; 0: none */
int32_t rh_lease_status(const struct rh_lease *lease);
/** @return why the last attempt failed, for users, borrowed; "" when it succeeded */
const char *rh_lease_message(const struct rh_lease *lease);

#endif
