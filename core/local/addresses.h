/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/addresses.h
 * @brief Addresses of replicas on this machine, in 127.0.0.0/8, and ports, both locked against other runs.
 *
 * Ports and blocks of 254 addresses are held as locks (local/locks.h), which end with the process. A port is taken only
 * if no process has it bound.
 */
#ifndef RH_LOCAL_ADDRESSES_H
#define RH_LOCAL_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "job/addresses.h"
#include "job/job.h"
#include "local/locks.h"

/** Opaque pool of the addresses and ports that this process holds. */
struct rh_address_pool;

/** Receives a sentence for the user about addresses. */
typedef void rh_address_note_fn(void *arg, const char *text);

/** Options of a pool. Borrowed for the pool's life. */
struct rh_address_options {
	const struct rh_config *config; /**< range of ports */
	struct rh_locks *locks;
	rh_address_note_fn *note; /**< may be NULL */
	void *arg;
};

/**
 * Bind a socket to the port, and let go of it. Without SO_REUSEADDR also ports count as used on which connections have
 * just ended: servers that do not set it either could not start there.
 * @return whether no process has the port bound on any interface
 */
bool rh_address_is_free(int32_t port);

/** Create a pool. @param[out] ret_pool owned by the caller. @return 0, RH_EINVAL (no port in the range) or RH_ENOMEM */
int rh_address_pool_new(const struct rh_address_options *options, struct rh_address_pool **ret_pool,
                        struct rh_error *err);
/** Release every port and free the pool. NULL is ignored. */
void rh_address_pool_free(struct rh_address_pool *pool);
RH_DEFINE_CLEANUP(address_pool);
/**
 * Plan the addresses of one attempt of a job. Another call for the same attempt returns the same plan, with places
 * added or removed as replicas were; a new attempt keeps the addresses, gets new ports and releases those of the
 * previous one. Ports: one for each replica, free on every interface; the same for all replicas of a type under
 * RH_KIND_SHARED_PORT unless the kind binds every interface. A port that the job's template sets is used if it is free.
 * @param[out] ret_addresses must be empty; the caller owns it
 * @return 0, RH_EAGAIN (nothing free) or RH_ENOMEM
 */
int rh_address_pool_plan(struct rh_address_pool *pool, const struct rh_job *job, int32_t attempt,
                         struct rh_addresses *ret_addresses, struct rh_error *err);
/** @return the address of a replica of the job @p uid, borrowed until the job's next plan, or NULL. @param type in any
 * case */
const struct rh_address *rh_address_pool_find(const struct rh_address_pool *pool, const char *uid, const char *type,
                                              int32_t index);
/** Append lines of /etc/hosts that give every replica's Service names (v1-behaviour D.1) the replica's address. */
void rh_address_pool_hosts(const struct rh_address_pool *pool, const char *namespace_, struct rh_str *out);

#endif
