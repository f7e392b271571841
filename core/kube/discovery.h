/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/discovery.h
 * @brief Which resources an API server has: one GET for each group and version that is asked about. One thread.
 */
#ifndef RH_KUBE_DISCOVERY_H
#define RH_KUBE_DISCOVERY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/http.h"

/** What the server says about a resource. */
enum rh_discovery_state {
	RH_DISCOVERY_UNKNOWN, /**< no answer yet, or none that tells */
	RH_DISCOVERY_MISSING, /**< the server does not have it */
	RH_DISCOVERY_OLDER,   /**< it lacks the status subresource, or a verb that we need */
	RH_DISCOVERY_THERE
};

/** A resource that is asked about. Texts are borrowed for the discovery's life. */
struct rh_discovery_want {
	const char *api_version; /**< "v1", "kubeflow.org/v1" */
	const char *plural;      /**< "pytorchjobs" */
	bool status;             /**< its status is a subresource that can be patched */
	const char *cure;        /**< a command that installs it, for the words; NULL: none */
};

/** A question on its way. */
struct rh_discovery;

/** All is answered, one way or the other. Called once, from the loop. */
typedef void rh_discovery_done_fn(void *arg);

/** Who is asked, and about what. */
struct rh_discovery_options {
	struct rh_http *http;                  /**< borrowed for its life */
	const struct rh_discovery_want *wants; /**< likewise */
	size_t count;                          /**< of wants, at least one */
	rh_discovery_done_fn *done;
	void *arg;
};

/** Ask. @return 0 or RH_ENOMEM, then done is not called */
int rh_discovery_new(const struct rh_discovery_options *options, struct rh_discovery **ret_discovery,
                     struct rh_error *err);
/** Free it; what is under way is cancelled. Not from inside done. NULL is nothing. */
void rh_discovery_free(struct rh_discovery *discovery);
RH_DEFINE_CLEANUP(discovery);
/** @return what is known of want number @p index */
enum rh_discovery_state rh_discovery_state(const struct rh_discovery *discovery, size_t index);
/** Append for people what keeps want number @p index from being used, and the cure; nothing when it is there. */
void rh_discovery_explain(const struct rh_discovery *discovery, size_t index, struct rh_str *out);
/**
 * Judge one want by the server's APIResourceList. Pure.
 * @param list NULL: the server has no such group or version
 */
enum rh_discovery_state rh_discovery_judge(const struct rh_discovery_want *want, const struct rh_json *list);

#endif
