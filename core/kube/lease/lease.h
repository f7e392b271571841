/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/lease/lease.h
 * @brief Who leads: one holder of a Lease (coordination.k8s.io/v1), as client-go's leader election does it. Pure.
 *
 * It says what to send and is told what was answered; it keeps no clock and does no I/O. Whether another holder's lease
 * is still good is judged by how long ago, on our own clock, it was seen to change: clocks of two machines are never
 * compared.
 */
#ifndef RH_KUBE_LEASE_LEASE_H
#define RH_KUBE_LEASE_LEASE_H

#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "kube/http/http.h"

/** How long a lease is good, in microseconds, unless an option says something else. */
#define RH_LEASE_DURATION INT64_C(15000000)
/** How long its holder may go without renewing it. */
#define RH_LEASE_RENEW_DEADLINE INT64_C(10000000)
/** How long to wait between two tries. */
#define RH_LEASE_RETRY_PERIOD INT64_C(2000000)

/** Where an election stands. The last two are ends. */
enum rh_lease_state {
	RH_LEASE_SEEKING, /**< somebody else leads, or nobody is known */
	RH_LEASE_LEADING, /**< we lead */
	/**
	 * There is no election: no Lease was ever read, and the server has refused them (status 403) for a whole duration.
	 * We may work, and go on asking. It ends with LEADING as soon as a Lease can be had, or with LOST.
	 */
	RH_LEASE_FORBIDDEN,
	RH_LEASE_LOST, /**< we worked, and could neither renew nor be refused in time, or another has it: stop at once */
	RH_LEASE_RELEASED, /**< given up by rh_lease_release() */
};

/** What an election is about. Texts are copied. */
struct rh_lease_options {
	const char *namespace_;
	const char *name;
	const char *identity;   /**< of ours; differs from that of every other candidate, past ones included */
	int64_t duration;       /**< microseconds; 0: RH_LEASE_DURATION */
	int64_t renew_deadline; /**< less than duration; 0: RH_LEASE_RENEW_DEADLINE */
	int64_t retry_period;   /**< less than renew_deadline; 0: RH_LEASE_RETRY_PERIOD */
	uint64_t seed;          /**< of the jitter between the tries of those who do not lead */
};

/** One election. */
struct rh_lease;

/** @return 0, RH_EINVAL (times that do not fit together, texts that are no names) or RH_ENOMEM */
int rh_lease_new(const struct rh_lease_options *options, struct rh_lease **ret_lease, struct rh_error *err);
/** Free it; the Lease stays as it is. NULL is nothing. */
void rh_lease_free(struct rh_lease *lease);
RH_DEFINE_CLEANUP(lease);
/**
 * Look what is to be sent. What was returned counts as sent: it is to be told to rh_lease_answer(), and nothing more is
 * returned before. @param now monotonic, @param wall wall-clock microseconds
 * @param[out] ret_request borrowed until the next call
 * @return 1 and a request, 0 for nothing, or RH_ENOMEM
 */
int rh_lease_next(struct rh_lease *lease, int64_t now, int64_t wall, struct rh_http_request *ret_request,
                  struct rh_error *err);
/** Tell the answer to what rh_lease_next() returned. @param now monotonic microseconds */
void rh_lease_answer(struct rh_lease *lease, int64_t now, const struct rh_http_response *response);
/** Give the lease up as soon as what is under way is answered, so that another need not wait for its end. */
void rh_lease_release(struct rh_lease *lease);
/** @return where it stands at @p now, monotonic microseconds */
enum rh_lease_state rh_lease_look(struct rh_lease *lease, int64_t now);
/** @return when rh_lease_look() or rh_lease_next() may say something new though nothing is answered; RH_NEVER */
int64_t rh_lease_deadline(const struct rh_lease *lease);
/** @return who holds it as far as is known, borrowed; "" for nobody */
const char *rh_lease_holder(const struct rh_lease *lease);
/** @return what went wrong with the last try, for people, borrowed; "" for nothing */
const char *rh_lease_message(const struct rh_lease *lease);

#endif
