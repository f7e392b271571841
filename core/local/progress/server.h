/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/progress/server.h
 * @brief What a run needs of an HTTPS server. It is passed in, because the libraries for HTTP and TLS are loaded only
 * for runs that use it.
 */
#ifndef RH_LOCAL_PROGRESS_SERVER_H
#define RH_LOCAL_PROGRESS_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/os/loop.h"
#include "base/str.h"

/** Opaque server. */
struct rh_progress_server;

/** A complete request. Borrowed until the answer is given. */
struct rh_progress_request {
	const char *method;
	const char *path;          /**< decoded, without the query */
	const char *authorization; /**< the header; "" without one */
	const char *body;          /**< NUL-terminated, at most RH_REPORT_MAX bytes */
	size_t body_length;
};

/** Answer a request: append a JSON body. Must not block. @return the HTTP status */
typedef unsigned rh_progress_answer_fn(void *arg, const struct rh_progress_request *request, struct rh_str *body);

/** How to serve. */
struct rh_progress_serving {
	/**
	 * Make a certificate, listen at a free port of 127.0.0.1, and take part in @p loop.
	 * @param[out] ret_server owned by the caller. @return 0, RH_EIO or RH_ENOMEM
	 */
	int (*open)(struct rh_loop *loop, rh_progress_answer_fn *answer, void *arg, struct rh_progress_server **ret_server,
	            struct rh_error *err);
	/** @return its port */
	uint16_t (*port)(const struct rh_progress_server *server);
	/** @return the certificate by which clients know it, PEM, borrowed */
	const char *(*authority)(const struct rh_progress_server *server);
	/** Close all connections and free the server, while the loop still exists. NULL is ignored. */
	void (*close)(struct rh_progress_server *server);
};

#endif
