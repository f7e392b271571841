/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file httpd/certificate.h
 * @brief Certificates for the webhooks, compatible with V1 (v1-behaviour F.5), and for the progress endpoint of `run`.
 * The only module that uses libcrypto's X.509.
 *
 * A CA and a server certificate that it signed: RSA with 2048 bits, keys as PKCS #1, so that V1 can read them after a
 * downgrade.
 */
#ifndef RH_HTTPD_CERTIFICATE_H
#define RH_HTTPD_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/** CA and server certificate with their keys, PEM; owned. All zero is none. */
struct rh_certificates {
	char *ca;     /**< ca.crt */
	char *ca_key; /**< ca.key; secret */
	char *crt;    /**< tls.crt */
	char *key;    /**< tls.key; secret */
};

/** Wipe the keys, free the strings and make it empty. */
void rh_certificates_deinit(struct rh_certificates *certificates);
/**
 * Create new certificates for the DNS name @p name: the CA is valid for ten years, the server certificate for one.
 * @param now wall-clock microseconds @return 0, RH_EIO (error of libcrypto) or RH_ENOMEM
 */
int rh_certificates_make(const char *name, int64_t now, struct rh_certificates *ret_certificates, struct rh_error *err);
/**
 * Make a certificate with a key of the curve P-256, which takes a millisecond, for a server at 127.0.0.1 that lasts no
 * longer than its process: it signs itself, so clients take the certificate itself as their CA. Valid for one year.
 * @param now wall-clock microseconds @param[out] ret_certificates crt and key; the others are NULL
 * @return 0, RH_EIO (error of libcrypto) or RH_ENOMEM
 */
int rh_certificates_make_local(int64_t now, struct rh_certificates *ret_certificates, struct rh_error *err);
/**
 * Replace what is not valid at @p now and @p ahead microseconds later, see rh_certificates_good(): the server
 * certificate and key, and the CA only if it is not valid itself, so that clients need no other CA.
 * @param[in,out] certificates owned by the caller; unchanged after an error @return 0, RH_EIO or RH_ENOMEM
 */
int rh_certificates_renew(struct rh_certificates *certificates, const char *name, int64_t now, int64_t ahead,
                          struct rh_error *err);
/**
 * Append the CA bundle for a time in which certificates of several CAs are in use: @p own (PEM), then at most 8 other
 * CAs of @p bundle (PEM; NULL: none; other content is dropped) that are valid at @p now.
 * @return number of other CAs, or RH_ENOMEM
 */
int rh_certificates_trust(const char *own, const char *bundle, int64_t now, struct rh_str *out);
/**
 * @return whether all four parts exist, keys match certificates, the CA signed the server certificate, which is for
 * @p name, and both are valid at @p now and @p ahead microseconds later. Never fails: unreadable ones are not valid
 */
bool rh_certificates_good(const struct rh_certificates *certificates, const char *name, int64_t now, int64_t ahead);

/** Local certificates that are freed when they go out of scope. */
#define rh_auto_certificates __attribute__((cleanup(rh_certificates_deinit))) struct rh_certificates

#endif
