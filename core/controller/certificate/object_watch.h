/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/certificate/object_watch.h
 * @brief Reports when one object of the API server is not what it was when it was read last.
 *
 * A watch of the collection with the object's name as field selector. It begins with the object as it is, so nothing
 * is missed between a read and the watch, nor when the watch ends and begins again. One thread.
 */
#ifndef RH_CONTROLLER_CERTIFICATE_OBJECT_WATCH_H
#define RH_CONTROLLER_CERTIFICATE_OBJECT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "kube/http/http.h"

/** Opaque watch. */
struct rh_object_watch;

/** What is watched. Texts are copied. */
struct rh_object_watch_options {
	struct rh_http *http;   /**< borrowed for its life */
	const char *collection; /**< path: "/api/v1/namespaces/a/secrets" */
	const char *name;       /**< of the object */
	/** The object has another version than the one that is known, or it is gone; may come more than once for a change.
	 */
	void (*changed)(void *arg);
	void *arg;
};

/** @return 0 or RH_ENOMEM */
int rh_object_watch_new(const struct rh_object_watch_options *options, struct rh_object_watch **ret_watch,
                        struct rh_error *err);
/** Free it; what is under way is cancelled. NULL is nothing. */
void rh_object_watch_free(struct rh_object_watch *watch);
RH_DEFINE_CLEANUP(object_watch);
/** The object was read or written with this resource version; "": there is none. The watch begins with the first call.
 */
void rh_object_watch_know(struct rh_object_watch *watch, const char *version);
/** @return whether the server refuses it: who wants to hear of changes has to read the object again and again */
bool rh_object_watch_is_refused(const struct rh_object_watch *watch);
/** Do what is due. @param now monotonic microseconds */
void rh_object_watch_step(struct rh_object_watch *watch, int64_t now);
/** @return monotonic microseconds when rh_object_watch_step() is to be called; RH_NEVER while an answer is waited for
 */
int64_t rh_object_watch_deadline(const struct rh_object_watch *watch);

#endif
