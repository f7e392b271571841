/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/http/httpd.h
 * @brief A small HTTP server on the event loop, with or without TLS. The only module that knows libmicrohttpd.
 *
 * It has no thread: what a request asks for is answered at once, from the loop. So a handler must not block.
 * Clients that are slow, or silent, keep nobody else away: a request has 10 s to come in whole, an answer 10 s to be
 * taken, a connection 120 s for its next request; and where all places are taken, one of the address that has most of
 * them is closed for the next, the one that has gone longest without a whole request.
 */
#ifndef RH_CONTROLLER_HTTP_HTTPD_H
#define RH_CONTROLLER_HTTP_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"
#include "base/str.h"

/** Opaque server. */
struct rh_httpd;

/** A request that has come in whole. Borrowed until the handler returns. */
struct rh_httpd_request {
	const char *method; /**< "GET", "POST" */
	const char *path;   /**< decoded, without the query */
	const char *query;  /**< as it was sent; "" without one */
	const char *host;   /**< the header Host; "" without one */
	const char *body;   /**< NUL-terminated; "" without one */
	size_t body_length;
	bool loopback; /**< the other end is this machine */
};

/** The answer. At the call it is 404 with no body. */
struct rh_httpd_reply {
	unsigned int status;
	const char *content_type; /**< static storage */
	struct rh_str body;       /**< a failed append makes the answer 500 */
};

/** Answer one request. */
typedef void rh_httpd_fn(void *arg, const struct rh_httpd_request *request, struct rh_httpd_reply *reply);

/** What a server needs. */
struct rh_httpd_options {
	struct rh_loop *loop;    /**< borrowed for its life */
	const char *address;     /**< see rh_endpoint_parse(); borrowed during the call */
	const char *certificate; /**< PEM, with the chain; NULL: no TLS. Borrowed during the call */
	const char *key;         /**< PEM; with certificate. Borrowed during the call */
	rh_httpd_fn *handler;
	void *arg;
	size_t body_max;    /**< longest request body, bytes; 0: none is taken */
	size_t connections; /**< connections at a time, at least 1 */
};

/** Start to listen. @return 0, RH_EINVAL (address; certificate and key that cannot be used), RH_EIO or RH_ENOMEM */
int rh_httpd_new(const struct rh_httpd_options *options, struct rh_httpd **ret_httpd, struct rh_error *err);
/** Stop to listen and close all connections. NULL is nothing. */
void rh_httpd_free(struct rh_httpd *httpd);
RH_DEFINE_CLEANUP(httpd);
/** @return the port it listens at */
uint16_t rh_httpd_port(const struct rh_httpd *httpd);
/**
 * Show another certificate to the connections that come from now on; those that there are keep theirs. For a server
 * with TLS. Both texts are PEM, borrowed during the call.
 * @return 0, RH_EINVAL (they cannot be used, or do not belong together: the former pair stays) or RH_ENOMEM
 */
int rh_httpd_exchange(struct rh_httpd *httpd, const char *certificate, const char *key, struct rh_error *err);
/** Do what is due; from the loop's turn. @return microseconds until it is to be called again; RH_NEVER */
int64_t rh_httpd_turn(struct rh_httpd *httpd);

#endif
