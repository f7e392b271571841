/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/window.h
 * @brief How many requests may be in flight, and which of those that wait goes next. Pure: the caller says the time.
 *
 * The window follows what the server can work on at once. The lowest latency of a round of answers is the server's own;
 * what answers take beyond it they have waited in the server, where they delay the requests of all tenants. So the
 * window shrinks until few requests wait there, and grows by one a round while all places are used and fewer wait. The
 * lowest latency is measured anew now and then, with next to nothing in flight. This is TCP Vegas (Brakmo and Peterson,
 * 1995) with the probe of BBR (Cardwell et al., 2016). The window halves when the server answers 429 or cannot be
 * reached. A Retry-After holds for all. With a rate (V1's --kube-api-qps) a token bucket stands before the window.
 */
#ifndef RH_KUBE_STORE_WINDOW_H
#define RH_KUBE_STORE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most that may ever be in flight. */
#define RH_WINDOW_MAX 256

/** What waits is of one of these classes; an earlier one goes first, but a later one never starves. */
enum rh_window_class {
	RH_WINDOW_STATE,   /**< the job's own state: patches, and gets that settle a doubt */
	RH_WINDOW_OBJECTS, /**< creates and deletes */
	RH_WINDOW_EVENTS,  /**< for people: they may be late */
	RH_WINDOW_CLASSES  /**< how many there are */
};

/** The window. Times are monotonic microseconds. Set up by rh_window_init(); read only. */
struct rh_window {
	double size;
	size_t flying;
	size_t spare; /**< of these, sent while the window was full */
	double qps;   /**< 0: no rate */
	double burst;
	double tokens;
	int64_t tokens_at;     /**< when they were counted */
	int64_t blocked_until; /**< nothing goes before that */
	int64_t settled_at;    /**< answers to what was sent before do not shrink it again */
	double lowest;         /**< lowest mean latency of a round, microseconds; 0: not known yet */
	int64_t lowest_at;     /**< when it was measured */
	double probe;          /**< size to return to after a probe of the lowest latency; 0: none is under way */
	double sum;            /**< of the latencies of this round */
	size_t answers;        /**< of this round */
	bool full;             /**< a request of this round found no place */
};

/** How a request went. */
struct rh_window_answer {
	int32_t status;      /**< HTTP status; 0: none came */
	int64_t sent_at;     /**< when rh_window_send() was called for it */
	int64_t retry_after; /**< microseconds; 0: not said */
	bool spare;          /**< what rh_window_send() returned for it */
};

/** @param size at first; 0: 32. @param qps 0: no rate. @param burst at least 1 is used */
void rh_window_init(struct rh_window *window, size_t size, double qps, int32_t burst);
/**
 * @param spare whether the request may have a place beyond a full window: there is one for each four of the window, and
 * each stays taken until its request is over. A server that asks for a pause, and a rate, hold these requests, too.
 * @return whether a request may go at @p now; if not, *@p ret_when is when to ask again though no answer comes:
 * RH_NEVER where only an answer can help
 */
bool rh_window_open(struct rh_window *window, bool spare, int64_t now, int64_t *ret_when);
/**
 * @param passed how often each class has waited for an earlier one, counted here; all zero at first
 * @return the class that goes next, given how many of each wait; RH_WINDOW_CLASSES when none does
 */
enum rh_window_class rh_window_pick(uint32_t passed[RH_WINDOW_CLASSES], const size_t waiting[RH_WINDOW_CLASSES]);
/** A request goes. @return whether it has a spare place */
bool rh_window_send(struct rh_window *window, int64_t now);
/** A request is over. */
void rh_window_end(struct rh_window *window, const struct rh_window_answer *answer, int64_t now);

#endif
