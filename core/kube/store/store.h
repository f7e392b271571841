/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/store.h
 * @brief The store whose objects live in a Kubernetes API server.
 *
 * Watches are kept up through everything that a server does: restarts, expired resource versions, cut streams. After a
 * gap the store tells the difference as ADDED, MODIFIED and DELETED; SYNCED is told once for each watch. One thread.
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

/** Something that keeps a watch, or all requests, from working, for logs and readiness. All borrowed until the callback
 * returns. */
struct rh_kube_problem {
	const char *resource;   /**< "pytorchjobs.kubeflow.org"; "requests": the credentials are refused */
	const char *verb;       /**< "list" or "watch"; of "requests" "authenticate" */
	const char *namespace_; /**< "" for all namespaces */
	int32_t status;         /**< HTTP status; 0: no answer; 200: the problem is over */
	const char *words;      /**< the server's, or what the connection says */
};

/** A call that is over, for metrics. All borrowed until the callback returns. */
struct rh_kube_call {
	const char *verb;     /**< "get", "create", "patch", "update", "delete", "list" or "watch" */
	const char *resource; /**< "pods", "pytorchjobs/status" */
	int32_t status;       /**< HTTP status; 0: no answer */
	int64_t took;         /**< microseconds; of a watch, how long it lasted */
};

/** How a store behaves. */
struct rh_kube_store_options {
	struct rh_http *http;       /**< borrowed for its life */
	struct rh_http *watch_http; /**< likewise, with connections for lists and watches alone; NULL: @p http */
	const char *namespace_;     /**< watch this namespace alone; NULL: all. Copied */
	double qps;                 /**< requests per second that writes may take; 0: no rate, the window alone adapts */
	int32_t burst;              /**< most at once above the rate; used with qps */
	size_t window;              /**< requests in flight at first; 0: 32 */
	/** Told once when a watch stops working and once when it works again, and likewise of requests whose credentials
	 * the server refuses (401); may be NULL. */
	void (*problem)(void *arg, const struct rh_kube_problem *problem);
	/** Told of every call that is over; may be NULL. */
	void (*observe)(void *arg, const struct rh_kube_call *call);
	void *arg;     /**< of the callbacks */
	uint64_t seed; /**< of the jitter; 0: from the kernel */
	bool pages;    /**< list in pages even where the server could stream the list */
	/** @return monotonic microseconds; NULL: rh_clock_monotonic(). For tests */
	int64_t (*clock)(void *arg);
};

/** @return 0 or RH_ENOMEM */
int rh_kube_store_new(const struct rh_kube_store_options *options, struct rh_kube_store **ret_store,
                      struct rh_error *err);
/** Free it; what is under way is cancelled and nothing more is told. NULL is nothing. */
void rh_kube_store_free(struct rh_kube_store *store);
RH_DEFINE_CLEANUP(kube_store);
/** @return its rh_store face, as long-lived as the store */
struct rh_store *rh_kube_store_face(struct rh_kube_store *store);
/** Do what is due: retries, timeouts, what waits for the window. @param now monotonic microseconds */
void rh_kube_store_step(struct rh_kube_store *store, int64_t now);
/** @return monotonic microseconds when rh_kube_store_step() is to be called though nothing happens; RH_NEVER */
int64_t rh_kube_store_deadline(const struct rh_kube_store *store);

/** How much waits and is under way, for metrics. */
struct rh_kube_store_load {
	size_t waiting; /**< requests that wait for the window */
	size_t flying;  /**< requests in flight */
	size_t window;  /**< how many may be in flight */
	size_t watches; /**< watches that work now */
	size_t kept;    /**< objects that the watches remember */
};
/** Look at the load. */
void rh_kube_store_load(const struct rh_kube_store *store, struct rh_kube_store_load *ret_load);

#endif
