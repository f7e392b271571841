/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file store/store.h
 * @brief Where objects live: the one interface behind which a cluster, a laptop and a test look alike.
 *
 * All calls are asynchronous and return at once; answers and events come as callbacks, never from inside the call that
 * asked, on the thread of the event loop. A store keeps Kubernetes' rules: resourceVersion and UID preconditions, the
 * status subresource, graceful deletion of pods, collection of what a deleted object owned.
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

/**
 * What happened to a watched object. RH_WATCH_SYNCED: all that existed when the watch began has been told; its object
 * is NULL.
 */
enum rh_watch_event { RH_WATCH_ADDED, RH_WATCH_MODIFIED, RH_WATCH_DELETED, RH_WATCH_SYNCED };

/** Called for each event of a watch. @p object is borrowed until it returns; for DELETED it is the last state. */
typedef void rh_watch_fn(void *arg, enum rh_watch_event event, const struct rh_json *object);

/** How a request ended. */
enum rh_outcome_code {
	RH_OUTCOME_OK,
	RH_OUTCOME_CONFLICT,  /**< a precondition did not hold */
	RH_OUTCOME_EXISTS,    /**< create: the name is taken */
	RH_OUTCOME_GONE,      /**< it does not exist */
	RH_OUTCOME_DENIED,    /**< refused for good: invalid, forbidden, quota, admission */
	RH_OUTCOME_THROTTLED, /**< not now; retry_after says when */
	RH_OUTCOME_UNKNOWN    /**< no answer, or one that does not tell whether it was done */
};

/** The answer to a request. */
struct rh_outcome {
	enum rh_outcome_code code;
	/** the object as it is now; NULL when there is none; borrowed until the callback returns */
	const struct rh_json *object;
	const char *message; /**< the store's own words for anything but OK; never NULL */
	int64_t retry_after; /**< microseconds; for THROTTLED */
};

/** Called once for each request that was submitted, unless it is cancelled. */
typedef void rh_done_fn(void *arg, const struct rh_outcome *outcome);

/** What a request does. */
enum rh_verb {
	RH_VERB_GET,
	RH_VERB_FIND, /**< as GET, by the list of this one name: it needs the right to list, and none to get */
	RH_VERB_CREATE,
	RH_VERB_PATCH,        /**< JSON merge patch (RFC 7386) of everything but status */
	RH_VERB_PATCH_STATUS, /**< merge patch of the status subresource */
	/**
	 * Put the body, which is a whole object, in the place of what is there: all but identity and status. It demands
	 * resource_version, and needs the right to update where PATCH needs the one to patch.
	 */
	RH_VERB_REPLACE,
	RH_VERB_DELETE /**< background propagation */
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
	/**
	 * Bytes that the answer will have, about; 0: few. A store has only so many bytes of large requests and answers
	 * under way at a time.
	 */
	size_t answer_size;
};

/** A store: its operations, then whatever the implementation keeps behind them. */
struct rh_store {
	/**
	 * Begin a watch: tell @p fn of every object of @p resource that carries the label key @p label (NULL: of all).
	 * ADDED for what exists, then SYNCED, then what happens. SYNCED is told once. After a gap the store tells the
	 * difference: ADDED or MODIFIED for what exists, also where nothing changed, and DELETED for what went meanwhile,
	 * of what the watch has told and of what answers to requests have shown; its last state may then be nothing but
	 * apiVersion, kind and metadata with namespace, name and uid. So a listener that sorts objects by anything else
	 * remembers by UID where each went. An object that loses the label is DELETED. Lasts until unwatch(), or as long as
	 * the store.
	 * @return its handle for unwatch(); 0 when memory is out, then there is no watch
	 */
	uint64_t (*watch)(struct rh_store *store, const struct rh_resource *resource, const char *label, rh_watch_fn *fn,
	                  void *arg);
	/**
	 * End a watch: its callback is not called any more, its request under way is cancelled, its memory is freed. Not
	 * from inside a callback of the same watch. A handle of no watch, and 0, is nothing.
	 */
	void (*unwatch)(struct rh_store *store, uint64_t watch);
	/**
	 * Submit a request; @p done is called once with the outcome. @param[out] ret_id for cancel(); may be NULL
	 * @return 0 or RH_ENOMEM, then @p done is not called
	 */
	int (*submit)(struct rh_store *store, struct rh_request *request, rh_done_fn *done, void *arg, uint64_t *ret_id,
	              struct rh_error *err);
	/** Forget a request: its callback is not called any more; the request itself may still be carried out. */
	void (*cancel)(struct rh_store *store, uint64_t id);
};

#endif
