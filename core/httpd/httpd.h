/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file httpd/httpd.h
 * @brief A small HTTP server on the event loop, with or without TLS. The only module that uses libmicrohttpd.
 *
 * It has no thread: requests are answered from the loop, so a handler must not block. Slow or silent clients do not
 * lock others out: a request must be complete after 10 s, a reply taken after 10 s, the next request of a connection
 * begin after 120 s; when all places are used, a connection is closed for the next one, see connections.h.
 */
#ifndef RH_HTTPD_HTTPD_H
#define RH_HTTPD_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"
#include "base/str.h"

/** Opaque server. */
struct rh_httpd;

/** A complete request. Borrowed until the handler returns. */
struct rh_httpd_request {
	const char *method;        /**< "GET", "POST" */
	const char *path;          /**< decoded, without the query */
	const char *query;         /**< not decoded; "" without one */
	const char *host;          /**< the header Host; "" without one */
	const char *authorization; /**< the header Authorization; "" without one */
	const char *body;          /**< NUL-terminated; "" without one */
	size_t body_length;
	bool loopback; /**< the peer is on this machine */
};

/** The reply. Initially 404 without a body. */
struct rh_httpd_reply {
	unsigned int status;
	const char *content_type; /**< static storage */
	struct rh_str body;       /**< a failed append makes the status 500 */
};

/** Answer one request. */
typedef void rh_httpd_fn(void *arg, const struct rh_httpd_request *request, struct rh_httpd_reply *reply);

/** Options of a server. */
struct rh_httpd_options {
	struct rh_loop *loop;    /**< borrowed for the server's life */
	int order;               /**< of the server in the loop, see struct rh_loop_source */
	const char *address;     /**< see rh_endpoint_parse(); borrowed during the call */
	const char *certificate; /**< PEM, with the chain; NULL: no TLS. Borrowed during the call */
	const char *key;         /**< PEM; with certificate. Borrowed during the call */
	rh_httpd_fn *handler;
	void *arg;
	size_t body_max;    /**< longest request body in bytes; 0: none is accepted */
	size_t connections; /**< most connections, at least 1 */
};

/** Start to listen, as a source of the loop. @param[out] ret_httpd owned by the caller. @return 0,
 * RH_EINVAL (invalid address, certificate or key), RH_EIO or RH_ENOMEM */
int rh_httpd_new(const struct rh_httpd_options *options, struct rh_httpd **ret_httpd, struct rh_error *err);
/** Stop listening, close all connections and free @p httpd. NULL is ignored. */
void rh_httpd_free(struct rh_httpd *httpd);
RH_DEFINE_CLEANUP(httpd);
/** @return the port of its socket */
uint16_t rh_httpd_port(const struct rh_httpd *httpd);
/**
 * Show another certificate to the connections that come from now on; those that there are keep theirs. For a server
 * with TLS. Both texts are PEM, borrowed during the call.
 * @return 0, RH_EINVAL (they cannot be used, or do not belong together: the former pair stays) or RH_ENOMEM
 */
int rh_httpd_exchange(struct rh_httpd *httpd, const char *certificate, const char *key, struct rh_error *err);

#endif
