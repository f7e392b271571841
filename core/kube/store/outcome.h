/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/outcome.h
 * @brief Maps the response of an API server to the outcome of a request. Pure.
 *
 * The rules are those of Kubernetes' API conventions: the HTTP status, and the reason, details and causes of the
 * Status object in the body.
 */
#ifndef RH_KUBE_STORE_OUTCOME_H
#define RH_KUBE_STORE_OUTCOME_H

#include "kube/http/http.h"
#include "store/store.h"

/** An outcome and the storage that it borrows from. All zero is empty. */
struct rh_kube_outcome {
	struct rh_outcome outcome;
	struct rh_json *body; /**< owned; the parsed response, NULL when it has no body */
	char *text;           /**< owned; what a log has, NULL: it is none */
	char message[1024];
};

/** Free what @p outcome owns. */
void rh_kube_outcome_deinit(struct rh_kube_outcome *outcome);
/** A local outcome that is freed when it goes out of scope. */
#define rh_auto_kube_outcome __attribute__((cleanup(rh_kube_outcome_deinit))) struct rh_kube_outcome

/**
 * Read a response. Never fails: a successful response that cannot be parsed, or not for lack of memory, is
 * RH_OUTCOME_UNKNOWN; an error response that cannot be parsed is classified by its HTTP status.
 * @param[out] ret_outcome points into itself: it must not be moved
 */
void rh_kube_outcome_read(enum rh_verb verb, const struct rh_http_response *response,
                          struct rh_kube_outcome *ret_outcome);
/**
 * Of an answer with metadata alone: give the object the kind that it has in the store, and make sure that it has no
 * content. Without memory the outcome is RH_OUTCOME_UNKNOWN.
 */
void rh_kube_outcome_name(struct rh_kube_outcome *outcome, const char *api_version, const char *kind);
/**
 * Get the message of an error response: that of the Status in @p body, else the start of the body, else the name of the
 * HTTP status. @return @p room
 */
const char *rh_kube_outcome_message(int32_t status, const char *body, char *room, size_t size);
/**
 * @return a hash that is equal for messages about the same failure, to report each failure once: it ignores streams,
 * ports and times
 */
uint64_t rh_kube_outcome_gist(const char *message);

#endif
