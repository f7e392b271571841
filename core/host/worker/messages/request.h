/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/messages/request.h
 * @brief One operation of a plugin as a request to its worker process, and the key by which its answer is known.
 */
#ifndef RH_HOST_WORKER_MESSAGES_REQUEST_H
#define RH_HOST_WORKER_MESSAGES_REQUEST_H

#include "base/hash.h"
#include "base/str.h"
#include "host/call/reply.h"
#include "host/registry.h"
#include "host/worker/process.h"

/** Pieces of a request. */
#define RH_REQUEST_PIECES 6

/** One operation. All borrowed. */
struct rh_ask {
	enum rh_operation operation;
	const char *name;                   /**< of the operation, for messages: "pod()"; static storage */
	const char *object;                 /**< likewise: "PyTorchJob default/mnist" */
	const struct rh_slot *slot;         /**< of the plugin */
	const struct rh_snapshot *snapshot; /**< the job */
	const struct rh_json *pod;          /**< for pod(): its body so far */
	const char *type;                   /**< for pod() */
	int32_t index;                      /**< for pod(): the first one */
	int32_t count;                      /**< for pod(): how many from there on */
	const struct rh_made *made;         /**< for make() */
};

/** A request. All zero: empty. */
struct rh_worker_request {
	struct rh_str context; /**< kind, addresses and settings of the job */
	struct rh_str head;    /**< up to the text of the job */
	char *job;             /**< NULL: it is not needed, or not yet; owned */
	struct rh_str state;   /**< up to the text of the pod */
	char *pod;             /**< NULL: none is asked for; owned */
	struct rh_str tail;
	uint64_t job_key; /**< of the job with its addresses and settings */
	uint64_t key;     /**< of the whole request: one with the same key has the same answer */
};

/** Free what it holds. */
void rh_request_deinit(struct rh_worker_request *request);
/** Put @p ask into @p request, which is empty. @param seed of its keys. @return 0 or RH_ENOMEM */
int rh_request_make(struct rh_worker_request *request, const struct rh_ask *ask, const struct rh_hash_key *seed);
/**
 * Give its bytes, without the job where the process has it. @param job key of the job that the process has; 0: none
 * @param[out] ret_pieces borrowed from the request and from @p ask. @return 0 or RH_ENOMEM
 */
int rh_request_finish(struct rh_worker_request *request, const struct rh_ask *ask, uint64_t job,
                      struct rh_piece ret_pieces[RH_REQUEST_PIECES]);

#endif
