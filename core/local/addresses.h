/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/addresses.h
 * @brief Where replicas are reached on this machine: addresses in 127.0.0.0/8 and ports, held against all other runs
 * (DESIGN section 5).
 *
 * Ports and blocks of 254 addresses are held as numbers (local/locks.h), which vanish with the process, however it
 * ends. A port is taken only when, beside, nobody has it bound.
 */
#ifndef RH_LOCAL_ADDRESSES_H
#define RH_LOCAL_ADDRESSES_H

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "job/addresses.h"
#include "job/job.h"
#include "local/locks.h"

/** Opaque pool: what this process holds. */
struct rh_address_pool;

/** Told what the user should know about addresses, in one sentence. */
typedef void rh_address_note_fn(void *arg, const char *text);

/** What a pool is made from. Borrowed for its life. */
struct rh_address_options {
	const struct rh_config *config; /**< range of ports */
	struct rh_locks *locks;
	rh_address_note_fn *note; /**< may be NULL */
	void *arg;
};

/** @return 0, RH_EINVAL (no port in the range) or RH_ENOMEM */
int rh_address_pool_new(const struct rh_address_options *options, struct rh_address_pool **ret_pool,
                        struct rh_error *err);
/** Give every port back and free the pool. NULL is nothing. */
void rh_address_pool_free(struct rh_address_pool *pool);
RH_DEFINE_CLEANUP(address_pool);
/**
 * Make the plan of one attempt of a job. Asked again for the same attempt it says the same, with places added or
 * dropped as replicas were; a new attempt keeps the addresses and gets fresh ports, and those of the attempt before are
 * given back. Ports: one for each replica, free on every interface; the same for all replicas of a type under
 * RH_KIND_SHARED_PORT unless the kind binds every interface. A port that the job's template names itself is kept where
 * it is free.
 * @param[out] ret_addresses must be empty; the caller owns it
 * @return 0, RH_EAGAIN (nothing free) or RH_ENOMEM
 */
int rh_address_pool_plan(struct rh_address_pool *pool, const struct rh_job *job, int32_t attempt,
                         struct rh_addresses *ret_addresses, struct rh_error *err);
/** @return the place of a replica of the job @p uid, @p type in any case; borrowed until the job's next plan; NULL when
 * there is none */
const struct rh_address *rh_address_pool_find(const struct rh_address_pool *pool, const char *uid, const char *type,
                                              int32_t index);
/** Append lines of /etc/hosts that give every replica's Service names (COMPAT D.1) the replica's address. */
void rh_address_pool_hosts(const struct rh_address_pool *pool, const char *namespace_, struct rh_str *out);

#endif
