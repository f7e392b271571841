/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/http/http.h
 * @brief Requests to one API server, asynchronous on the event loop. The only module that knows libcurl.
 *
 * Connections are pooled and multiplexed (HTTP/2 where the server supports it). The client adds the credentials to each
 * request. Only rh_http_step() writes bytes and calls callbacks, so the owner controls what runs before. All functions
 * are called on the loop's thread.
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
 * Called with each piece of the body of a response with status 200 to 299. The body of any other response is collected
 * in struct rh_http_response.
 * @return 0 to continue; any other value ends the request: its done function is called with status 0
 */
typedef int rh_http_chunk_fn(void *arg, const char *data, size_t length);
/**
 * Asked each time right before bytes of a request are given to its connection: the request as a whole and each piece of
 * its body, however long it had to wait for a connection or for the server.
 * @return whether they may be sent; if not, the request ends without a response
 */
typedef bool rh_http_may_fn(void *arg);

/** One request. All borrowed during rh_http_send(). */
struct rh_http_request {
	const char *method;       /**< "GET", "POST", "PATCH", "DELETE", "PUT" */
	const char *path;         /**< with its query, percent-encoded: "/api/v1/pods?limit=500" */
	const char *content_type; /**< of the body; NULL without one */
	const char *accept;       /**< media type of the answer; NULL: application/json. Static storage */
	bool secret;              /**< the copy of the body is overwritten before it is freed */
	const char *body;         /**< copied; NULL: none */
	size_t body_length;
	int64_t timeout;         /**< microseconds for the whole exchange; 0: no limit */
	int64_t idle_timeout;    /**< microseconds without a byte from the server until the request fails; 0: no limit */
	rh_http_chunk_fn *chunk; /**< receives the body of a successful response in pieces; NULL: collect it */
	rh_http_may_fn *may;     /**< whether it may still be sent; NULL: always */
	void *may_arg;           /**< argument of may, which must outlive the request */
};

/** How a request ended. Borrowed until the callback returns. */
struct rh_http_response {
	int32_t status;      /**< HTTP status; 0: no complete response */
	bool sent;           /**< the request may have reached the server: with status 0 its effect is unknown */
	const char *message; /**< for users: why there is no response; "" with a response; never a secret */
	int64_t retry_after; /**< Retry-After in microseconds; 0: not given */
	const char *body;    /**< NUL-terminated; "" when a chunk function received it, and without a response */
	size_t body_length;
};

/** Called once for each request that was sent, unless it is cancelled. */
typedef void rh_http_done_fn(void *arg, const struct rh_http_response *response);
/**
 * Called when a request ends without being cancelled, for metrics. @p path has no query, @p status is 0 without a
 * response,
 * @p seconds is the time from rh_http_send() to the last byte.
 */
typedef void rh_http_observe_fn(void *arg, const char *method, const char *path, int32_t status, double seconds);

/** Options of a client. */
struct rh_http_options {
	struct rh_loop *loop;               /**< borrowed for the client's life */
	const struct rh_kubeconfig *config; /**< borrowed for the client's life: server, TLS, credentials */
	rh_http_observe_fn *observe;        /**< may be NULL */
	void *arg;                          /**< first argument of observe */
	size_t body_max;                    /**< longest collected body in bytes; 0: 64 MiB */
	/** Another client of the same config that shares its credentials; borrowed, must be freed after this one; NULL:
	 * none */
	struct rh_http *credentials_of;
};

/**
 * Create a client. @param[out] ret_http owned by the caller
 * @return 0, RH_EINVAL (unusable credentials; @p err names file and field), RH_EIO or RH_ENOMEM
 */
int rh_http_new(const struct rh_http_options *options, struct rh_http **ret_http, struct rh_error *err);
/** Cancel all requests and free @p http. Must not be called from a callback of it. NULL is ignored. */
void rh_http_free(struct rh_http *http);
RH_DEFINE_CLEANUP(http);
/**
 * Queue a request; rh_http_step() sends it.
 * @param[out] ret_id for rh_http_cancel(), never 0; may be NULL. @return 0 or RH_ENOMEM, then @p done is not called
 */
int rh_http_send(struct rh_http *http, const struct rh_http_request *request, rh_http_done_fn *done, void *arg,
                 uint64_t *ret_id, struct rh_error *err);
/** Cancel a request: none of its callbacks is called any more. The id of an ended request is ignored. */
void rh_http_cancel(struct rh_http *http, uint64_t id);
/**
 * Close the connections that have received nothing since @p since (monotonic microseconds); their requests fail. Used
 * when another client of the same server timed out.
 */
void rh_http_close_silent(struct rh_http *http, int64_t since);
/**
 * Reset all connections that requests use, so that the kernel drops what it has not sent yet. For an owner that must
 * not write any more; only rh_http_free() may follow.
 */
void rh_http_reset(struct rh_http *http);
/** Send, receive, time out and call callbacks. A step of the loop. @param now monotonic microseconds */
void rh_http_step(struct rh_http *http, int64_t now);
/** @return the latest time of the next rh_http_step(), monotonic microseconds, or RH_NEVER */
int64_t rh_http_deadline(const struct rh_http *http);
/** @return rh_http_step() and rh_http_deadline() as a source of the loop, for an owner that has nothing to add */
struct rh_loop_source rh_http_source(struct rh_http *http, int order);

#endif
