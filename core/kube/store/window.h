/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/window.h
 * @brief Limit of requests in flight, and the class of the next request. Pure: the caller passes the time.
 *
 * The window adapts to the concurrency of the server. The lowest latency of a round of responses is the server's
 * processing time; time beyond it was spent in the server's queue, where requests delay those of all tenants. So the
 * window shrinks until few requests are queued there, and grows by one a round while all places are used and fewer are
 * queued. The lowest latency is measured again from time to time, with few requests in flight. This is TCP Vegas
 * (Brakmo and Peterson, 1995) with the probe of BBR (Cardwell et al., 2016). The window halves when the server answers
 * 429 or cannot be reached. A Retry-After stops all requests. With a rate (V1's --kube-api-qps) a token bucket limits
 * requests before the window.
 */
#ifndef RH_KUBE_STORE_WINDOW_H
#define RH_KUBE_STORE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Upper limit of the window. */
#define RH_WINDOW_MAX 256

/** Classes of requests; an earlier class goes first, but never starves a later one. */
enum rh_window_class {
	RH_WINDOW_STATE,   /**< the job's own state: patches, and gets after an unknown outcome */
	RH_WINDOW_OBJECTS, /**< creates and deletes */
	RH_WINDOW_EVENTS,  /**< for users: may be late */
	RH_WINDOW_CLASSES  /**< number of classes */
};

/** The window. Times are monotonic microseconds. Initialized by rh_window_init(); members are read only. */
struct rh_window {
	double size;
	size_t in_flight;
	size_t spare; /**< of these, sent while the window was full */
	double qps;   /**< 0: no rate */
	double burst;
	double tokens;
	int64_t tokens_at;     /**< when they were counted */
	int64_t blocked_until; /**< no request is sent before */
	int64_t settled_at;    /**< responses to requests sent before do not shrink it again */
	double lowest;         /**< lowest mean latency of a round, microseconds; 0: not known yet */
	int64_t lowest_at;     /**< when it was measured */
	double probe;          /**< size to restore after a probe of the lowest latency; 0: no probe */
	double sum;            /**< of the latencies of this round */
	size_t answers;        /**< of this round */
	bool full;             /**< a request of this round found no place */
};

/** The response to a request. */
struct rh_window_answer {
	int32_t status;      /**< HTTP status; 0: no response */
	int64_t sent_at;     /**< when rh_window_send() was called for it */
	int64_t retry_after; /**< microseconds; 0: not given */
	bool spare;          /**< what rh_window_send() returned for it */
};

/** Initialize. @param size initial size; 0: 32. @param qps requests per second; 0: no limit. @param burst at least 1 */
void rh_window_init(struct rh_window *window, size_t size, double qps, int32_t burst);
/**
 * @param spare whether the request may use a spare place of a full window: there is one for each four places of the
 * window. A Retry-After and the rate apply to these requests, too.
 * @return whether a request may be sent at @p now; if not, *@p ret_when is when to check again without a response:
 * RH_NEVER if only a response can free a place
 */
bool rh_window_open(struct rh_window *window, bool spare, int64_t now, int64_t *ret_when);
/**
 * @param passed how often an earlier class went before each class, updated by this function; all zero at first
 * @return the class of the next request, given the queued requests of each; RH_WINDOW_CLASSES when none is queued
 */
enum rh_window_class rh_window_pick(uint32_t passed[RH_WINDOW_CLASSES], const size_t waiting[RH_WINDOW_CLASSES]);
/** Report that a request is sent. @return whether it uses a spare place */
bool rh_window_send(struct rh_window *window, int64_t now);
/** Report the end of a request. */
void rh_window_end(struct rh_window *window, const struct rh_window_answer *answer, int64_t now);

#endif
