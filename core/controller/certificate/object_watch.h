/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/certificate/object_watch.h
 * @brief Reports when one object of the API server differs from its last read version.
 *
 * A watch of the collection with the object's name as field selector. It starts with the present object, so no change
 * is missed between a read and the watch, or when the watch restarts. It is a source of the loop, which sends what is
 * due. All functions are called on the loop's thread.
 */
#ifndef RH_CONTROLLER_CERTIFICATE_OBJECT_WATCH_H
#define RH_CONTROLLER_CERTIFICATE_OBJECT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"
#include "kube/http/http.h"

/** Opaque watch. */
struct rh_object_watch;

/** Options of a watch. Strings are copied. */
struct rh_object_watch_options {
	struct rh_loop *loop;   /**< borrowed for the watch's life */
	int order;              /**< of the watch in the loop, see struct rh_loop_source */
	struct rh_http *http;   /**< borrowed for the watch's life */
	const char *collection; /**< path: "/api/v1/namespaces/a/secrets" */
	const char *name;       /**< of the object */
	/** Called when the object has another version than the known one, or is gone; maybe more than once for a change.
	 */
	void (*changed)(void *arg);
	void *arg;
};

/** Create a watch and register it with the loop. @param[out] ret_watch owned by the caller. @return 0 or RH_ENOMEM */
int rh_object_watch_new(const struct rh_object_watch_options *options, struct rh_object_watch **ret_watch,
                        struct rh_error *err);
/** Cancel the request in progress, end the source and free @p watch. NULL is ignored. */
void rh_object_watch_free(struct rh_object_watch *watch);
RH_DEFINE_CLEANUP(object_watch);
/** Set the known resource version after a read or write; "": the object does not exist. The first call starts the
 * watch.
 */
void rh_object_watch_know(struct rh_object_watch *watch, const char *version);
/** @return whether the server refuses the watch: then the caller must poll the object */
bool rh_object_watch_is_refused(const struct rh_object_watch *watch);

#endif
