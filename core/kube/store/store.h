/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/store.h
 * @brief The store whose objects live in a Kubernetes API server.
 *
 * Watches survive server restarts, expired resource versions and broken streams. After a gap the store sends the
 * difference as ADDED, MODIFIED and DELETED; SYNCED is sent once for each watch. All functions are called on the loop's
 * thread.
 */
#ifndef RH_KUBE_STORE_STORE_H
#define RH_KUBE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/http/http.h"
#include "store/store.h"

/** A store over an API server. */
struct rh_kube_store;

/** A persistent failure of a watch, or of all requests, for logs and readiness. All borrowed until the callback
 * returns. */
struct rh_kube_problem {
	const struct rh_resource *about; /**< what is watched; NULL: the credentials of requests are refused */
	const char *resource;            /**< its display name, "pytorchjobs.kubeflow.org"; "requests" without one */
	const char *verb;                /**< "list" or "watch"; of "requests" "authenticate" */
	const char *namespace_;          /**< "" for all namespaces */
	int32_t status;                  /**< HTTP status; 0: no answer; 200: the problem is over */
	const char *message;             /**< message of the server or of the connection */
};

/** A completed call, for metrics. All borrowed until the callback returns. */
struct rh_kube_call {
	const char *verb;     /**< "get", "create", "patch", "update", "delete", "list" or "watch" */
	const char *resource; /**< "pods", "pytorchjobs/status" */
	int32_t status;       /**< HTTP status; 0: no answer */
	int64_t took;         /**< microseconds; of a watch, how long it lasted */
};

/** Options of a store. */
struct rh_kube_store_options {
	struct rh_http *http;       /**< borrowed for the store's life */
	struct rh_http *watch_http; /**< borrowed likewise; a separate client for lists and watches; NULL: http */
	const char *namespace_;     /**< watch only this namespace; NULL: all. Copied */
	double qps;                 /**< limit of write requests per second; 0: none, only the adaptive window limits */
	int32_t burst;              /**< burst size; used with qps */
	size_t window;              /**< initial limit of requests in flight; 0: 32 */
	/** Called once when a watch stops working and once when it works again; likewise when the server rejects the
	 * credentials of requests (401); may be NULL. */
	void (*problem)(void *arg, const struct rh_kube_problem *problem);
	/** Called for every completed call; may be NULL. */
	void (*observe)(void *arg, const struct rh_kube_call *call);
	/** @return whether a write may be sent now: asked right before it is sent, see rh_http_may_fn; NULL: always */
	bool (*may_write)(void *arg);
	void *arg;     /**< first argument of the callbacks */
	uint64_t seed; /**< of the jitter; 0: from the kernel */
	bool pages;    /**< list in pages even where the server could stream the list */
	/** @return monotonic microseconds; NULL: rh_clock_monotonic(). For tests */
	int64_t (*clock)(void *arg);
};

/** Create a store. @param[out] ret_store owned by the caller. @return 0 or RH_ENOMEM */
int rh_kube_store_new(const struct rh_kube_store_options *options, struct rh_kube_store **ret_store,
                      struct rh_error *err);
/** Cancel all requests and free @p store; no callback is called any more. NULL is ignored. */
void rh_kube_store_free(struct rh_kube_store *store);
RH_DEFINE_CLEANUP(kube_store);
/** @return its rh_store interface, borrowed, valid for the life of @p store */
struct rh_store *rh_kube_store_face(struct rh_kube_store *store);
/** Process retries, timeouts and requests that wait for the window. @param now monotonic microseconds */
void rh_kube_store_step(struct rh_kube_store *store, int64_t now);
/** @return the latest time of the next rh_kube_store_step(), monotonic microseconds, or RH_NEVER */
int64_t rh_kube_store_deadline(const struct rh_kube_store *store);

/** Load of a store, for metrics. */
struct rh_kube_store_load {
	size_t waiting;   /**< requests that wait for the window */
	size_t in_flight; /**< requests in flight */
	size_t window;    /**< limit of requests in flight */
	size_t watches;   /**< watches that work now */
	size_t kept;      /**< objects that the watches remember */
};
/** Get the load. */
void rh_kube_store_load(const struct rh_kube_store *store, struct rh_kube_store_load *ret_load);

#endif
