/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/watch/watch.h
 * @brief One watch as a state machine: list, then follow, and go on through all that a server does. Pure.
 *
 * Who drives it sends the request that rh_kube_watch_begin() makes when rh_kube_watch_due() has come, feeds it what
 * arrives and says how it ended. It tells each object once for each change, whatever the server repeats; after a gap
 * it lists again and tells the difference. Nothing here knows a clock or a connection.
 */
#ifndef RH_KUBE_WATCH_WATCH_H
#define RH_KUBE_WATCH_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/http/http.h"
#include "kube/store/store.h"
#include "store/store.h"

/** Opaque watch. */
struct rh_kube_watch;

/** What a watch is to do. Texts are copied. */
struct rh_kube_watch_options {
	const struct rh_resource *resource;
	const char *namespace_; /**< NULL: all */
	const char *label;      /**< only objects that carry this key; NULL: all */
	rh_watch_fn *fn;
	void *arg;
	/** Told once for each change of what keeps the watch from working; may be NULL. */
	void (*problem)(void *arg, const struct rh_kube_problem *problem);
	void *problem_arg;
	uint64_t seed; /**< of the jitter */
	bool pages;    /**< list in pages even where the server could stream the list */
};

/** @return owned by the caller, or NULL when memory is out */
struct rh_kube_watch *rh_kube_watch_new(const struct rh_kube_watch_options *options)
	__attribute__((warn_unused_result));
/** Free it. NULL is nothing. */
void rh_kube_watch_free(struct rh_kube_watch *watch);
RH_DEFINE_CLEANUP(kube_watch);
/** If something was told that keeps it from working, tell that this is over: it works, or nobody waits for it. */
void rh_kube_watch_clear_problem(struct rh_kube_watch *watch);

/**
 * The server has answered a request with @p object, of whatever kind: if the watch never sees it, because it goes in a
 * gap, it says that it is DELETED; and so it does at once of an older one of the same name.
 */
void rh_kube_watch_learn(struct rh_kube_watch *watch, const struct rh_json *object);

/** @return monotonic microseconds when the next request is to be sent; RH_NEVER while one is under way */
int64_t rh_kube_watch_due(const struct rh_kube_watch *watch);
/**
 * The request to send now. @param[out] path appended; @p ret_request points into it
 * @return 0, then the request counts as under way, or RH_ENOMEM: it is due again after a while
 */
int rh_kube_watch_begin(struct rh_kube_watch *watch, int64_t now, struct rh_str *path,
                        struct rh_http_request *ret_request);
/**
 * Take the next piece of the answer; a piece of no bytes says that a good answer has begun.
 * @return 0, or a negative status: the request is to be ended, and rh_kube_watch_end() called, which knows why
 */
int rh_kube_watch_feed(struct rh_kube_watch *watch, const char *data, size_t length, int64_t now);
/** The request is over. */
void rh_kube_watch_end(struct rh_kube_watch *watch, const struct rh_http_response *response, int64_t now);

/** What a watch is doing, for metrics and tests. */
struct rh_kube_watch_state {
	bool synced;         /**< all that existed has been told at least once */
	bool works;          /**< synced, and nothing keeps it from hearing more */
	size_t kept;         /**< objects that it remembers */
	const char *version; /**< resource version that was heard last; "" when it has to list; borrowed */
};
/** Look at it. */
void rh_kube_watch_look(const struct rh_kube_watch *watch, struct rh_kube_watch_state *ret_state);

#endif
