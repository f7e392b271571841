/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/request/wait.h
 * @brief Waiting: spin, then yield, then sleep.
 */
#ifndef RH_COMM_CORE_REQUEST_WAIT_H
#define RH_COMM_CORE_REQUEST_WAIT_H

#include "comm/core/request/request.h"

/** State of one wait. All zero but for `spin` is the beginning. */
struct rh_comm_backoff {
	int32_t rounds;
	int64_t since; /**< when spinning began, microseconds; below 0: a yield has ended it */
	int64_t spin;  /**< microseconds of spinning */
	bool yielded;  /**< the latest round was a yield: on a busy machine much time may have passed */
};

/** Spin or yield once. @return false: it is time to sleep; the state is reset */
bool rh_comm_backoff_spin(struct rh_comm_backoff *backoff, bool crowded);
/**
 * Make progress once, then sleep until something may have changed, at most @p time microseconds. The lock is not held.
 * @param request what is waited for; NULL: anything of the context
 */
void rh_comm_sleep(struct rh_comm *comm, const struct rh_comm_request *request, int64_t time);

#endif
