/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/call.h
 * @brief One request of a store, as it is sent to an API server; for core/kube alone.
 */
#ifndef RH_KUBE_STORE_CALL_H
#define RH_KUBE_STORE_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "kube/http/http.h"
#include "kube/store/window.h"
#include "store/store.h"

/** A request that is queued or in progress. */
struct rh_call {
	struct rh_call *next;
	struct rh_call *previous;
	void *owner; /**< the store */
	uint64_t id; /**< for cancel() */
	bool spare;  /**< it uses a spare place of the window */
	uint64_t http_id;
	enum rh_verb verb;
	enum rh_window_class class;
	const char *method;       /**< static storage */
	const char *content_type; /**< likewise; NULL without a body */
	char *path;
	char *namespace_; /**< NULL: none */
	size_t weight;    /**< estimated bytes in memory until the response: body and response */
	char *body;       /**< NULL: none */
	bool secret;      /**< body is overwritten before it is freed */
	/** Of a request for metadata alone: what kind the object is, which the answer does not say; else NULL. Owned. */
	char *api_version;
	char *kind;       /**< likewise */
	char *resource;   /**< "pods", "pytorchjobs/status" */
	rh_done_fn *done; /**< NULL: the result is not needed any more */
	void *arg;
	int64_t sent_at; /**< monotonic microseconds */
};

/** Calls in order of arrival. All zero is empty. */
struct rh_call_queue {
	struct rh_call *first;
	struct rh_call *last;
	size_t count;
};

/** Create a call from @p request and take its body. @return owned by the caller; NULL: out of memory */
struct rh_call *rh_call_new(struct rh_request *request) __attribute__((warn_unused_result));
/** Free @p call. NULL is ignored. */
void rh_call_free(struct rh_call *call);
RH_DEFINE_CLEANUP(call);
/** @return the media type of the answer; NULL: JSON. Static storage */
const char *rh_call_accept(const struct rh_call *call);
/** @return the verb as metrics name it: "get", "list", "create", "patch", "update", "delete" */
const char *rh_call_verb(const struct rh_call *call);
/** Append @p call; the queue takes ownership. */
void rh_call_append(struct rh_call_queue *queue, struct rh_call *call);
/** Remove @p call; the caller takes ownership. */
void rh_call_remove(struct rh_call_queue *queue, struct rh_call *call);
/** @return the call with @p id, borrowed, or NULL */
struct rh_call *rh_call_find(const struct rh_call_queue *queue, uint64_t id);
/** Free all calls and cancel those in progress in @p http (NULL: none are). */
void rh_call_clear(struct rh_call_queue *queue, struct rh_http *http);

#endif
