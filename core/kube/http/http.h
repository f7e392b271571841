/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/http/http.h
 * @brief Requests to one API server, asynchronous on the event loop. The only module that knows libcurl.
 *
 * Connections are pooled and multiplexed (HTTP/2 where the server speaks it), credentials are the client's own matter:
 * who sends a request says nothing about them. Bytes are written and callbacks called by rh_http_step() alone, so the
 * owner's turn decides what comes before. One thread.
 */
#ifndef RH_KUBE_HTTP_HTTP_H
#define RH_KUBE_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"

struct rh_kubeconfig;

/** Opaque client of one API server. */
struct rh_http;

/**
 * Called with each piece of the body of an answer whose status is 200 to 299; any other answer's body goes to the
 * response.
 * @return 0 to go on; anything else ends the request: its done function is called with status 0
 */
typedef int rh_http_chunk_fn(void *arg, const char *data, size_t length);

/** One request. All borrowed during rh_http_send(). */
struct rh_http_request {
	const char *method;       /**< "GET", "POST", "PATCH", "DELETE", "PUT" */
	const char *path;         /**< with its query, percent-encoded: "/api/v1/pods?limit=500" */
	const char *content_type; /**< of the body; NULL without one */
	const char *body;         /**< copied; NULL: none */
	size_t body_length;
	int64_t timeout;         /**< microseconds for the whole exchange; 0: no limit */
	int64_t idle_timeout;    /**< microseconds without a byte from the server after which it is dead; 0: no limit */
	rh_http_chunk_fn *chunk; /**< gets the body of a good answer piece by piece; NULL: it is gathered */
};

/** How a request ended. Borrowed until the callback returns. */
struct rh_http_response {
	int32_t status;      /**< HTTP status; 0: there was no complete answer */
	bool sent;           /**< the request may have reached the server: with status 0 its effect is unknown */
	const char *words;   /**< for people, why there is no answer; "" when there is one; never a secret */
	int64_t retry_after; /**< microseconds that the server asks to wait; 0: it says nothing */
	const char *body;    /**< NUL-terminated; "" when it was told to a chunk function, and for no answer */
	size_t body_length;
};

/** Called once for each request that was sent, unless it is cancelled. */
typedef void rh_http_done_fn(void *arg, const struct rh_http_response *response);
/**
 * Told of every call that ends by itself, for metrics: @p path without its query, @p status 0 for no answer, @p seconds
 * from rh_http_send() to the last byte.
 */
typedef void rh_http_observe_fn(void *arg, const char *method, const char *path, int32_t status, double seconds);

/** What a client needs. */
struct rh_http_options {
	struct rh_loop *loop;               /**< borrowed for the client's life */
	const struct rh_kubeconfig *config; /**< likewise: server, TLS, credentials */
	rh_http_observe_fn *observe;        /**< may be NULL */
	void *arg;                          /**< of observe */
	size_t body_max;                    /**< longest body that is gathered, bytes; 0: 64 MiB */
	/** another client of the same config whose credentials serve this one, too; borrowed, freed later; NULL: its own */
	struct rh_http *credentials_of;
};

/** @return 0, RH_EINVAL (credentials that cannot be used, naming file and field), RH_EIO or RH_ENOMEM */
int rh_http_new(const struct rh_http_options *options, struct rh_http **ret_http, struct rh_error *err);
/** Free it; what is under way is cancelled. Not from inside a callback of it. NULL is nothing. */
void rh_http_free(struct rh_http *http);
RH_DEFINE_CLEANUP(http);
/**
 * Send a request.
 * @param[out] ret_id for rh_http_cancel(), never 0; may be NULL. @return 0 or RH_ENOMEM, then @p done is not called
 */
int rh_http_send(struct rh_http *http, const struct rh_http_request *request, rh_http_done_fn *done, void *arg,
                 uint64_t *ret_id, struct rh_error *err);
/** Forget a request: no callback of it is called any more. An id that is over is nothing. */
void rh_http_cancel(struct rh_http *http, uint64_t id);
/**
 * Close the connections from which nothing has come since @p since (monotonic microseconds): their requests end as cut.
 * For a server that another client finds silent.
 */
void rh_http_close_silent(struct rh_http *http, int64_t since);
/** Do what is due; from the loop's turn. @param now monotonic microseconds */
void rh_http_step(struct rh_http *http, int64_t now);
/** @return monotonic microseconds when rh_http_step() is to be called though nothing happens; RH_NEVER: not at all */
int64_t rh_http_deadline(const struct rh_http *http);

#endif
