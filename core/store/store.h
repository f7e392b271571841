/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file store/store.h
 * @brief The interface of object stores: a cluster, the local mode and tests implement it.
 *
 * All calls are asynchronous and return at once. Outcomes and events are callbacks on the thread of the event loop,
 * never from inside the call that caused them. A store follows Kubernetes' rules: resourceVersion and UID
 * preconditions, the status subresource, graceful deletion of pods, collection of the objects that a deleted object
 * owned.
 */
#ifndef RH_STORE_STORE_H
#define RH_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/** A resource. A store copies what it keeps of one. */
struct rh_resource {
	const char *api_version; /**< "v1", "kubeflow.org/v1" */
	const char *kind;        /**< "Pod" */
	const char *plural;      /**< "pods" */
};

/** Pods, Services and Events. */
extern const struct rh_resource rh_resource_pods;
/** @see rh_resource_pods */
extern const struct rh_resource rh_resource_services;
/** @see rh_resource_pods */
extern const struct rh_resource rh_resource_events;

/** Type of a watch event. RH_WATCH_SYNCED: the initial list is complete; its object is NULL. */
enum rh_watch_event { RH_WATCH_ADDED, RH_WATCH_MODIFIED, RH_WATCH_DELETED, RH_WATCH_SYNCED };

/** Called for each event of a watch. @p object is borrowed until it returns; for DELETED it is the last state. */
typedef void rh_watch_fn(void *arg, enum rh_watch_event event, const struct rh_json *object);

/** Result of a request. */
enum rh_outcome_code {
	RH_OUTCOME_OK,
	RH_OUTCOME_CONFLICT,  /**< a precondition did not hold */
	RH_OUTCOME_EXISTS,    /**< create: an object has the name */
	RH_OUTCOME_GONE,      /**< it does not exist */
	RH_OUTCOME_DENIED,    /**< refused for good: invalid, forbidden, quota, admission */
	RH_OUTCOME_THROTTLED, /**< to be retried after retry_after */
	RH_OUTCOME_UNKNOWN    /**< no response, or one that does not show whether the request was carried out */
};

/** The outcome of a request. */
struct rh_outcome {
	enum rh_outcome_code code;
	const struct rh_json *object; /**< as it is now; NULL: there is none; borrowed until the callback returns */
	const char *message;          /**< the store's message for any code but OK; never NULL */
	int64_t retry_after;          /**< microseconds; for THROTTLED */
	bool forbidden;               /**< of DENIED: a right is missing */
	bool budget;                  /**< of THROTTLED: a PodDisruptionBudget forbids the eviction now */
	const char *text;             /**< for LOG: what was read, any bytes; else NULL; borrowed likewise */
};

/** Called once for each request that was submitted, unless it is cancelled. */
typedef void rh_done_fn(void *arg, const struct rh_outcome *outcome);

/** The verb of a request. */
enum rh_verb {
	RH_VERB_GET,
	RH_VERB_FIND, /**< as GET, by a list of this one name: needs the right to list instead of get */
	RH_VERB_CREATE,
	RH_VERB_PATCH,        /**< JSON merge patch (RFC 7386) of everything but status */
	RH_VERB_PATCH_STATUS, /**< merge patch of the status subresource */
	/**
	 * Replace the object by the body, except identity and status. Requires resource_version, and the right to update
	 * where PATCH needs the right to patch.
	 */
	RH_VERB_REPLACE,
	RH_VERB_DELETE, /**< background propagation */
	RH_VERB_EVICT,  /**< DELETE of a pod, unless a PodDisruptionBudget forbids it: `budget`; needs to create
	                   pods/eviction */
	RH_VERB_LOG     /**< what a container of the pod wrote: log; needs the right to get pods/log */
};

/** The last lines of a log, and of these the first bytes: a longer text loses its end. */
struct rh_log_query {
	const char *container;
	bool previous; /**< of the instance before the last one */
	int32_t lines;
	int32_t bytes;
};

/** One request. Texts are borrowed during submit(). */
struct rh_request {
	enum rh_verb verb;
	const struct rh_resource *resource;
	const char *namespace_;
	const char *name;             /**< not for CREATE: the body names it */
	const char *uid;              /**< precondition; NULL is none */
	const char *resource_version; /**< precondition; NULL is none */
	struct rh_json *body;         /**< for CREATE, PATCH* and REPLACE; taken by submit(), also when it fails */
	int64_t grace_seconds;        /**< for DELETE; -1 is the object's own */
	bool metadata; /**< for GET, FIND and CREATE: the outcome's object has apiVersion, kind and metadata alone */
	bool secret;   /**< the body is overwritten before it is freed */
	const struct rh_log_query *log; /**< for LOG; else NULL */
	/**
	 * Approximate size of the response in bytes; 0: small. A store limits the bytes of large requests and responses
	 * that are in flight.
	 */
	size_t answer_size;
};

/** A store: its operations; the implementation's own data follows. */
struct rh_store {
	/**
	 * Start a watch: call @p fn for every object of @p resource that has the label key @p label (NULL: for all). ADDED
	 * events for existing objects come first, then SYNCED once, then changes. After a gap the store delivers the
	 * difference: ADDED or MODIFIED for existing objects, also for unchanged ones, and DELETED for objects that were
	 * deleted meanwhile and that an earlier event or outcome has shown; such a DELETED event may have only apiVersion,
	 * kind, and metadata with namespace, name and uid. So a listener that files objects by other members has to find
	 * them by UID. An object that loses the label is DELETED. The watch lasts until unwatch(), or as long as the store.
	 * @return its handle for unwatch(); 0 when memory is out, then there is no watch
	 */
	uint64_t (*watch)(struct rh_store *store, const struct rh_resource *resource, const char *label, rh_watch_fn *fn,
	                  void *arg);
	/**
	 * watch() whose objects say in which versions of the resource their spec was written: of metadata.managedFields the
	 * entries with f:spec are left, without what is below. NULL: watch() does as well, because the store has no such
	 * records.
	 */
	uint64_t (*watch_writers)(struct rh_store *store, const struct rh_resource *resource, rh_watch_fn *fn, void *arg);
	/**
	 * watch() of a resource that is in no namespace, for a store that is limited to one. NULL: watch() does as well,
	 * because the store is not.
	 */
	uint64_t (*watch_cluster)(struct rh_store *store, const struct rh_resource *resource, rh_watch_fn *fn, void *arg);
	/**
	 * End a watch: its callback is not called any more, its request in flight is cancelled, its memory is freed. Not to
	 * be called from a callback of the same watch. An unknown handle, or 0, is ignored.
	 */
	void (*unwatch)(struct rh_store *store, uint64_t watch);
	/**
	 * Submit a request; @p done is called once with the outcome. @param[out] ret_id for cancel(); may be NULL
	 * @return 0 or RH_ENOMEM, then @p done is not called
	 */
	int (*submit)(struct rh_store *store, struct rh_request *request, rh_done_fn *done, void *arg, uint64_t *ret_id,
	              struct rh_error *err);
	/** Cancel a request: its callback is not called; the request itself may still be carried out. */
	void (*cancel)(struct rh_store *store, uint64_t id);
};

#endif
