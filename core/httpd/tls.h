/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file httpd/tls.h
 * @brief Certificate and key of an HTTPS server. The only module that uses GnuTLS.
 *
 * A pair is immutable and reference counted: a server uses a new one for new connections, existing connections keep
 * theirs. All functions are called on the loop's thread.
 */
#ifndef RH_HTTPD_TLS_H
#define RH_HTTPD_TLS_H

#include "base/error.h"
#include "base/mem.h"

/** Opaque pair. */
struct rh_httpd_tls;

/** GnuTLS priority string: TLS 1.3, and 1.2 with forward secrecy and authenticated encryption. */
#define RH_HTTPD_TLS_PRIORITIES                                                   \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:" \
	"-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD:"    \
	"-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1"

/**
 * Read a certificate, with its chain, and its key; PEM.
 * @param[out] ret_tls owned by the caller. @return 0, RH_EINVAL (unreadable, or certificate and key do not match) or
 * RH_ENOMEM
 */
int rh_httpd_tls_new(const char *certificate, const char *key, struct rh_httpd_tls **ret_tls, struct rh_error *err);
/** Add a reference. @return @p tls */
struct rh_httpd_tls *rh_httpd_tls_keep(struct rh_httpd_tls *tls);
/** Drop a reference; the last one wipes the key and frees @p tls. NULL is ignored. */
void rh_httpd_tls_free(struct rh_httpd_tls *tls);
RH_DEFINE_CLEANUP(httpd_tls);
/**
 * Use this pair in a session, before its handshake. The pair must outlive the session.
 * @param session a gnutls_session_t. @return 0 or RH_ENOMEM
 */
int rh_httpd_tls_use(const struct rh_httpd_tls *tls, void *session);

#endif
