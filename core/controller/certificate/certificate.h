/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/certificate/certificate.h
 * @brief Certificates for the webhooks, as V1 made them (COMPAT F.5). The only module that knows libcrypto.
 *
 * A key pair of an authority and one of a server that it signed: RSA of 2048 bits, keys as PKCS #1, so that V1 can read
 * them when somebody goes back to it.
 */
#ifndef RH_CONTROLLER_CERTIFICATE_CERTIFICATE_H
#define RH_CONTROLLER_CERTIFICATE_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/** The four texts, PEM; owned. All zero is none. */
struct rh_certificates {
	char *ca;     /**< ca.crt */
	char *ca_key; /**< ca.key; secret */
	char *crt;    /**< tls.crt */
	char *key;    /**< tls.key; secret */
};

/** Free them, keys wiped first, and make it empty. */
void rh_certificates_deinit(struct rh_certificates *certificates);
/**
 * Make new ones for the DNS name @p name: the authority good for ten years, the server for one.
 * @param now wall-clock microseconds @return 0, RH_EIO (what libcrypto says) or RH_ENOMEM
 */
int rh_certificates_make(const char *name, int64_t now, struct rh_certificates *ret_certificates, struct rh_error *err);
/**
 * Make new what is not good at @p now and @p ahead microseconds later, see rh_certificates_good(): the server's
 * certificate and key, and those of the authority only where it is not good itself, so that who trusts it need not
 * learn of another.
 * @param[in,out] certificates owned by the caller; unchanged after an error @return 0, RH_EIO or RH_ENOMEM
 */
int rh_certificates_renew(struct rh_certificates *certificates, const char *name, int64_t now, int64_t ahead,
                          struct rh_error *err);
/**
 * Append whom to trust while certificates of several authorities are in use: @p own (PEM), then the other authorities
 * of @p bundle (PEM; NULL: none; anything else in it is left out) that are good at @p now, at most 8.
 * @return how many others there are, or RH_ENOMEM
 */
int rh_certificates_trust(const char *own, const char *bundle, int64_t now, struct rh_str *out);
/**
 * @return whether all four are there, keys belong to certificates, the authority signed the server's, which is for
 * @p name, and both are good at @p now and @p ahead microseconds later. Never fails: what cannot be read is not good
 */
bool rh_certificates_good(const struct rh_certificates *certificates, const char *name, int64_t now, int64_t ahead);

/** Local certificates that are freed when they go out of scope. */
#define rh_auto_certificates __attribute__((cleanup(rh_certificates_deinit))) struct rh_certificates

#endif
