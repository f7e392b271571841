/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/child/call.h
 * @brief One operation, called twice with one question: the answers must be equal, and the host must take them.
 */
#ifndef RH_CONFORMANCE_CHILD_CALL_H
#define RH_CONFORMANCE_CHILD_CALL_H

#include "conformance/board.h"
#include "host/operations.h"

/** What is asked. */
struct rh_call {
	struct rh_board *board;
	const struct rh_snapshot *snapshot;
	enum rh_stage stage;
	const char *label;      /**< of the case */
	const char *state;      /**< ", on one machine"; "" */
	const char *type;       /**< pod(): replica type */
	int32_t index;          /**< pod(): replica */
	struct rh_json *before; /**< pod(): the pod, borrowed */
	struct rh_job *job;     /**< expand(): the job, borrowed, which gets its expansion */
	bool valid;             /**< the job is valid: the host must be able to use the answer */
	bool small;             /**< the job has few replicas and usual texts: it must fit all limits */
};

/** What is answered. Free it with rh_answer_deinit(). */
struct rh_answer {
	int result;                    /**< 0 or the error of the host */
	struct rh_error error;         /**< its message */
	struct rh_findings findings;   /**< validate() */
	struct rh_json *json;          /**< pod(): the pod; objects(): an array; owned */
	struct rh_judgement judgement; /**< judge() */
	char *text; /**< all of it, for comparisons; owned; NULL: memory was out, or the call was left out */
};

/**
 * Call an operation twice. An operation that is skipped (board->skip) is not called.
 * @param[out] ret_answer the first answer; its text is NULL where there is none
 */
void rh_call(const struct rh_call *call, struct rh_answer *ret_answer);
/** Free it and make it empty. */
void rh_answer_deinit(struct rh_answer *answer);

#endif
