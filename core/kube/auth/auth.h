/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/auth/auth.h
 * @brief Who asks: credentials that are read again, or asked for again, when they run out.
 *
 * A token file is read again at most once a minute, and when the server refuses what it gave; so are certificate files,
 * and the file of the authorities, which is also read again when the server's certificate cannot be verified.
 * An exec plugin (client.authentication.k8s.io) runs beside the loop; who needs its credential waits. One thread.
 */
#ifndef RH_KUBE_AUTH_AUTH_H
#define RH_KUBE_AUTH_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"

struct rh_kubeconfig;

/** rh_auth_get(): a credential is on its way; ask again after rh_auth_step(). */
#define RH_AUTH_WAIT 1

/** Credentials of one user. */
struct rh_auth;

/** What a request carries. Borrowed until the next call of any other function here. */
struct rh_auth_credential {
	const char *authorization; /**< the whole header, "Authorization: Bearer …"; secret; NULL: none */
	const char *certificate;   /**< PEM; NULL: none */
	const char *key;           /**< PEM; secret */
	const char *authority;     /**< PEM of who may sign the server's certificate; NULL: whom the system trusts */
	uint64_t generation;       /**< grows with each change */
};

/**
 * @param loop and @param config borrowed for the life of the result; files are read at once, programs start when they
 * are needed. @return 0, RH_EINVAL, RH_EIO, RH_ENOENT or RH_ENOMEM
 */
int rh_auth_new(struct rh_loop *loop, const struct rh_kubeconfig *config, struct rh_auth **ret_auth,
                struct rh_error *err);
/** Free it; a program that runs is killed; secrets are wiped. NULL is nothing. */
void rh_auth_free(struct rh_auth *auth);
RH_DEFINE_CLEANUP(auth);
/**
 * Get a credential that holds at @p now, monotonic microseconds. May read a small file.
 * @return 0, RH_AUTH_WAIT, or negative when there is none to be had; @p err names file, field and cause
 */
int rh_auth_get(struct rh_auth *auth, int64_t now, struct rh_auth_credential *ret_credential, struct rh_error *err);
/**
 * The server answered 401 to the credential of @p generation.
 * @return whether asking again is worth it: there is a newer one, or there may be
 */
bool rh_auth_refused(struct rh_auth *auth, int64_t now, uint64_t generation);
/**
 * The server's certificate could not be verified with the authorities of @p generation. May read small files.
 * @param now monotonic microseconds. @return whether asking again is worth it: there are newer ones
 */
bool rh_auth_distrusted(struct rh_auth *auth, int64_t now, uint64_t generation);
/** Do what is due. @param now monotonic microseconds */
void rh_auth_step(struct rh_auth *auth, int64_t now);
/** @return monotonic microseconds when rh_auth_step() is to be called though nothing happens; RH_NEVER */
int64_t rh_auth_deadline(const struct rh_auth *auth);

#endif
