/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/answers.h
 * @brief Answers of plugins that come after the pass that asked for them, and whose turn it is at a worker process.
 *
 * A pass over a job that gets no answer at once ends, and is repeated when the answer is there. Operations are pure, so
 * the repeated pass sends the same request, and takes the answer that was kept: struct rh_answers (host/host.h) keeps
 * those of one job until a pass needs none that is missing. Answers are known by the key of their request.
 */
#ifndef RH_HOST_WORKER_ANSWERS_H
#define RH_HOST_WORKER_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "host/operations.h"

/** Most answers of one job that are kept, the last ones: more than the operations that one pass repeats. */
#define RH_ANSWERS_MAX 16

/** Jobs that have to do with one worker process. All zero: none. They leave it before they are freed. */
struct rh_worker_turns {
	struct rh_answers *asker; /**< whose answer is to come; NULL: nobody's */
	struct rh_answers *first; /**< of those that wait for their turn */
};

/**
 * Take the answer to a request out, or a copy where a further pass may need it again. @param key of the request
 * @param[out] answer replaced by it when 0 is returned
 * @return what the operation came to: 0, or a negative status with its message in @p err; 1: there is none
 */
int rh_answers_take(struct rh_answers *answers, uint64_t key, struct rh_str *answer, struct rh_error *err);
/** Make @p answers the asker of @p turns; it waits nowhere else any more. */
void rh_worker_turns_ask(struct rh_worker_turns *turns, struct rh_answers *answers);
/** Let @p answers wait for its turn: at the end, or, when it had been called, at the head. */
void rh_worker_turns_wait(struct rh_worker_turns *turns, struct rh_answers *answers);
/**
 * Give the asker what its request came to, and call it; without an asker nothing happens. @param status 0 or negative,
 * with @p err. @param answer taken
 */
void rh_worker_turns_answer(struct rh_worker_turns *turns, uint64_t key, int status, const struct rh_error *err,
                            struct rh_str *answer);
/** Call the asker, which is to ask again. */
void rh_worker_turns_recall(struct rh_worker_turns *turns);
/** Call the first that waits: it is no longer among them. Without any nothing happens. */
void rh_worker_turns_call(struct rh_worker_turns *turns);
/** Let everybody leave. */
void rh_worker_turns_deinit(struct rh_worker_turns *turns);

#endif
