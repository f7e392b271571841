/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/store/window.h"

#include <math.h>

#include "base/os/clock.h"

#define WINDOW_FIRST 32
/* Slow responses alone do not shrink the window below this. */
#define WINDOW_LEAST 4
/* Target of requests queued in the server: enough to keep it busy, few enough not to delay other clients. */
#define WINDOW_QUEUE 4
/* Responses between two changes of the window's size. */
#define WINDOW_ROUND 8
/* The lowest latency is measured again after this time, because a server may become slower permanently, */
#define WINDOW_PROBE_AFTER (10 * RH_SECOND)
/* with this many concurrent requests, which find almost no queue. */
#define WINDOW_PROBE 2
/* Pause after a server cannot be reached, or asks for a pause without a time. */
#define WINDOW_PAUSE RH_SECOND
/* Upper limit of a server's Retry-After. */
#define WINDOW_PAUSE_MAX (60 * RH_SECOND)
/* For this many places of the window there is one spare place for namespaces with few requests in flight. */
#define WINDOW_SPARE 4
/* A class lets earlier classes go first at most this many times. */
#define WINDOW_PATIENCE 16

void rh_window_init(struct rh_window *window, size_t size, double qps, int32_t burst)
{
	size_t first = size ? size : WINDOW_FIRST;

	*window = (struct rh_window){.size = (double)(first < RH_WINDOW_MAX ? first : RH_WINDOW_MAX)};
	if (qps > 0) {
		window->qps = qps;
		window->burst = burst > 1 ? burst : 1;
		window->tokens = window->burst;
		window->tokens_at = -1;
	}
}

static void window_fill(struct rh_window *window, int64_t now)
{
	if (window->tokens_at >= 0 && now > window->tokens_at)
		window->tokens += (double)(now - window->tokens_at) * window->qps / (double)RH_SECOND;
	if (window->tokens > window->burst)
		window->tokens = window->burst;
	window->tokens_at = now;
}

static bool window_is_full(const struct rh_window *window)
{
	return (double)window->in_flight + 1 > window->size;
}

bool rh_window_open(struct rh_window *window, bool spare, int64_t now, int64_t *ret_when)
{
	*ret_when = RH_NEVER;
	if (now < window->blocked_until) {
		*ret_when = window->blocked_until;
		return false;
	}
	if (window_is_full(window)) {
		window->full = true;
		if (!spare || (double)window->spare + 1 > window->size / WINDOW_SPARE)
			return false;
	}
	if (window->qps <= 0)
		return true;
	window_fill(window, now);
	if (window->tokens >= 1)
		return true;
	*ret_when = now + (int64_t)ceil((1 - window->tokens) / window->qps * (double)RH_SECOND);
	return false;
}

enum rh_window_class rh_window_pick(uint32_t passed[RH_WINDOW_CLASSES], const size_t waiting[RH_WINDOW_CLASSES])
{
	enum rh_window_class first = RH_WINDOW_STATE;
	enum rh_window_class picked;

	while (first < RH_WINDOW_CLASSES && waiting[first] == 0)
		first++;
	picked = first;
	for (enum rh_window_class i = first + 1; i < RH_WINDOW_CLASSES; i++) {
		if (waiting[i] > 0 && ++passed[i] > WINDOW_PATIENCE)
			picked = i;
	}
	if (picked < RH_WINDOW_CLASSES)
		passed[picked] = 0;
	return picked;
}

bool rh_window_send(struct rh_window *window, int64_t now)
{
	bool spare = window_is_full(window);

	window->in_flight++;
	window->spare += spare;
	if (window->qps > 0) {
		window_fill(window, now);
		window->tokens -= 1;
	}
	return spare;
}

/* Responses to requests sent with the previous size do not count for the new one. */
static void window_resize(struct rh_window *window, double size, int64_t now)
{
	window->size = size;
	window->settled_at = now;
}

static void window_block(struct rh_window *window, int64_t pause, int64_t now)
{
	int64_t until = now + (pause > WINDOW_PAUSE_MAX ? WINDOW_PAUSE_MAX : pause);

	if (until > window->blocked_until)
		window->blocked_until = until;
}

/* The few requests of a probe do not wait for our own ones in the server. */
static void window_end_probe(struct rh_window *window, double mean, int64_t now)
{
	window->lowest = mean;
	window->lowest_at = now;
	window_resize(window, window->probe, now);
	window->probe = 0;
}

/*
 * The lowest latency is the server's own, the rest is time in its queue. So the server works on lowest / mean of the
 * requests in flight (Little's law; TCP Vegas does the same with round-trip times).
 */
static void window_judge(struct rh_window *window, double mean, int64_t now)
{
	double size;

	if (window->lowest <= 0 || mean < window->lowest) {
		window->lowest = mean;
		window->lowest_at = now;
	}
	size = window->size * window->lowest / mean + WINDOW_QUEUE;
	if (window->full && now - window->lowest_at > WINDOW_PROBE_AFTER) {
		window->probe = window->size;
		window_resize(window, fmin(window->size, WINDOW_PROBE), now);
	} else if (size < window->size && window->size > WINDOW_LEAST) {
		window_resize(window, fmax((window->size + size) / 2, WINDOW_LEAST), now);
	} else if (window->full && window->size + 1 <= RH_WINDOW_MAX) {
		window->size += 1;
	}
}

static void window_end_round(struct rh_window *window, int64_t now)
{
	double mean = fmax(1, window->sum / (double)window->answers);

	if (window->probe > 0)
		window_end_probe(window, mean, now);
	else
		window_judge(window, mean, now);
	window->sum = 0;
	window->answers = 0;
	window->full = false;
}

void rh_window_end(struct rh_window *window, const struct rh_window_answer *answer, int64_t now)
{
	bool fresh = answer->sent_at >= window->settled_at;
	bool away = answer->status == 0;
	bool asked = answer->status == 429 || (answer->status == 503 && answer->retry_after > 0);

	if (window->in_flight > 0)
		window->in_flight--;
	if (answer->spare && window->spare > 0)
		window->spare--;
	if (away || asked) {
		window_block(window, answer->retry_after > 0 ? answer->retry_after : WINDOW_PAUSE, now);
		window->probe = 0;
		if (fresh)
			window_resize(window, fmax(1, window->size / 2), now);
		return;
	}
	if (!fresh)
		return;
	window->sum += (double)(now - answer->sent_at);
	window->answers++;
	if (window->answers >= WINDOW_ROUND)
		window_end_round(window, now);
}
