/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/outcome.h
 * @brief What the answer of an API server means for the one who asked. Pure.
 *
 * The rules are those of Kubernetes' API conventions: the HTTP status, and the reason, details and causes of the
 * Status object in the body.
 */
#ifndef RH_KUBE_STORE_OUTCOME_H
#define RH_KUBE_STORE_OUTCOME_H

#include "kube/http/http.h"
#include "store/store.h"

/** An outcome with what it lends. All zero is empty. */
struct rh_kube_outcome {
	struct rh_outcome outcome;
	struct rh_json *body; /**< owned; the answer as a tree, NULL when it has none */
	char message[1024];
};

/** Free what it holds. */
void rh_kube_outcome_deinit(struct rh_kube_outcome *outcome);
/** A local outcome that is freed when it goes out of scope. */
#define rh_auto_kube_outcome __attribute__((cleanup(rh_kube_outcome_deinit))) struct rh_kube_outcome

/**
 * Read an answer. Never fails: a good answer that cannot be read, for want of memory too, is RH_OUTCOME_UNKNOWN, and a
 * refusal that cannot be read is what its HTTP status says.
 * @param[out] ret_outcome points into itself: it must not be moved
 */
void rh_kube_outcome_read(enum rh_verb verb, const struct rh_http_response *response,
                          struct rh_kube_outcome *ret_outcome);
/**
 * The words of a server's refusal: the message of the Status in @p body, or the start of a body that is none, or the
 * name of the HTTP status. @return @p room
 */
const char *rh_kube_outcome_message(int32_t status, const char *body, char *room, size_t size);
/**
 * @return a number that two texts about the same failure share, for who tells of each once: streams, ports and times in
 * them do not count
 */
uint64_t rh_kube_outcome_gist(const char *words);

#endif
