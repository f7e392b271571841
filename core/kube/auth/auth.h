/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/auth/auth.h
 * @brief Credentials of one user, renewed when they expire.
 *
 * Token, certificate and CA files are read again at most once a minute, and when the server refuses the credential.
 * The CA file is also read again when the server's certificate cannot be verified.
 * An exec plugin (client.authentication.k8s.io) runs as a child process while requests wait for its credential. All
 * functions are called on the loop's thread.
 */
#ifndef RH_KUBE_AUTH_AUTH_H
#define RH_KUBE_AUTH_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"

struct rh_kubeconfig;

/** rh_auth_get(): the credential is not ready yet; call again after rh_auth_step(). */
#define RH_AUTH_WAIT 1

/** Credentials of one user. */
struct rh_auth;

/** The credential that a request carries. Borrowed until the next call of any other function of this file. */
struct rh_auth_credential {
	const char *authorization; /**< the whole header, "Authorization: Bearer …"; secret; NULL: none */
	const char *certificate;   /**< PEM; NULL: none */
	const char *key;           /**< PEM; secret */
	const char *authority;     /**< PEM of the CAs for the server's certificate; NULL: the system's */
	uint64_t generation;       /**< grows with each change */
};

/**
 * Create the credential source. Files are read at once; exec plugins start when they are needed.
 * @param loop borrowed for the life of the result
 * @param config borrowed for the life of the result
 * @param[out] ret_auth owned by the caller
 * @return 0, RH_EINVAL, RH_EIO, RH_ENOENT or RH_ENOMEM
 */
int rh_auth_new(struct rh_loop *loop, const struct rh_kubeconfig *config, struct rh_auth **ret_auth,
                struct rh_error *err);
/** Free @p auth: kill a running plugin and wipe all secrets. NULL is ignored. */
void rh_auth_free(struct rh_auth *auth);
RH_DEFINE_CLEANUP(auth);
/**
 * Get a credential that is valid at @p now, monotonic microseconds. May block to read a small file.
 * @return 0, RH_AUTH_WAIT, or negative when no credential is available; @p err names file, field and cause
 */
int rh_auth_get(struct rh_auth *auth, int64_t now, struct rh_auth_credential *ret_credential, struct rh_error *err);
/**
 * Report that the server answered 401 to the credential of @p generation.
 * @param now monotonic microseconds
 * @return whether a retry can succeed: a newer credential exists, or may exist
 */
bool rh_auth_refused(struct rh_auth *auth, int64_t now, uint64_t generation);
/**
 * Report that the server's certificate could not be verified with the CAs of @p generation. May block to read small
 * files.
 * @param now monotonic microseconds. @return whether a retry can succeed: newer CAs were read
 */
bool rh_auth_distrusted(struct rh_auth *auth, int64_t now, uint64_t generation);
/** Check running plugins and expiry times. @param now monotonic microseconds */
void rh_auth_step(struct rh_auth *auth, int64_t now);
/** @return the latest time of the next rh_auth_step(), monotonic microseconds, or RH_NEVER */
int64_t rh_auth_deadline(const struct rh_auth *auth);

#endif
