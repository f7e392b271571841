/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/loop.h"

#include <stdbool.h>
#include <uv.h>

#include "base/os/clock.h"

/* Longest single sleep, so that a conversion to milliseconds cannot overflow. */
#define LOOP_SLEEP_MAX (INT64_C(3600) * RH_SECOND)

struct rh_loop {
	uv_loop_t uv;
	uv_prepare_t prepare;
	uv_timer_t timer;
	uv_idle_t idle;                /* while it is active the loop does not sleep */
	struct rh_loop_entry *sources; /* in their order */
	bool stepping;                 /* removed sources stay in the list until the turn ends */
	bool stopped;
};

struct rh_loop_entry {
	struct rh_loop_source source;
	struct rh_loop_entry *next;
	bool removed;
};

struct rh_loop_watch {
	uv_poll_t poll;
	rh_loop_ready_fn *fn;
	void *arg;
	unsigned events; /* what it looks for */
	unsigned ready;  /* enum rh_loop_event, last reported */
};

struct loop_signal {
	uv_signal_t signal;
	rh_loop_signal_fn *fn;
	void *arg;
};

static int loop_fail(struct rh_error *err, int code, const char *what)
{
	if (code == UV_ENOMEM)
		return rh_fail_oom(err);
	return rh_fail(err, RH_EIO, "event loop: %s: %s", what, uv_strerror(code));
}

static void loop_free_data(uv_handle_t *handle)
{
	rh_free(handle->data);
}

static void loop_on_timer(uv_timer_t *timer)
{
	(void)timer; /* waking up was all it is for */
}

static void loop_on_idle(uv_idle_t *idle)
{
	(void)idle;
}

static void loop_sleep(struct rh_loop *loop, int64_t deadline)
{
	int64_t delay = deadline == RH_NEVER ? RH_NEVER : deadline - rh_clock_monotonic();

	if (delay <= 0) {
		(void)uv_idle_start(&loop->idle, loop_on_idle);
		return;
	}
	(void)uv_idle_stop(&loop->idle);
	if (delay == RH_NEVER) {
		(void)uv_timer_stop(&loop->timer);
		return;
	}
	if (delay > LOOP_SLEEP_MAX)
		delay = LOOP_SLEEP_MAX;
	uv_update_time(&loop->uv); /* the turn may have taken long */
	(void)uv_timer_start(&loop->timer, loop_on_timer, (uint64_t)((delay + 999) / 1000), 0);
}

static void loop_on_prepare(uv_prepare_t *prepare)
{
	struct rh_loop *loop = prepare->data;

	loop_sleep(loop, rh_loop_turn(loop, rh_clock_monotonic()));
}

int rh_loop_add(struct rh_loop *loop, const struct rh_loop_source *source, struct rh_loop_entry **ret_entry,
                struct rh_error *err)
{
	struct rh_loop_entry *entry = rh_alloc(sizeof(*entry));
	struct rh_loop_entry **place = &loop->sources;

	if (!entry)
		return rh_fail_oom(err);
	entry->source = *source;
	while (*place && (*place)->source.order <= source->order)
		place = &(*place)->next;
	entry->next = *place;
	*place = entry;
	if (ret_entry)
		*ret_entry = entry;
	return 0;
}

int rh_loop_add_all(struct rh_loop *loop, const struct rh_loop_source *sources, size_t count, struct rh_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = rh_loop_add(loop, &sources[i], NULL, err);
	return r;
}

/* Free removed sources. */
static void loop_sweep(struct rh_loop *loop)
{
	struct rh_loop_entry **place = &loop->sources;

	while (*place) {
		struct rh_loop_entry *entry = *place;

		if (!entry->removed) {
			place = &entry->next;
			continue;
		}
		*place = entry->next;
		rh_free(entry);
	}
}

void rh_loop_remove(struct rh_loop *loop, struct rh_loop_entry *entry)
{
	if (!entry)
		return;
	entry->removed = true;
	if (!loop->stepping)
		loop_sweep(loop);
}

static int64_t loop_deadline(const struct rh_loop *loop)
{
	int64_t earliest = RH_NEVER;

	for (const struct rh_loop_entry *entry = loop->sources; entry; entry = entry->next) {
		int64_t deadline = entry->source.deadline ? entry->source.deadline(entry->source.arg) : RH_NEVER;

		if (deadline < earliest)
			earliest = deadline;
	}
	return earliest;
}

int64_t rh_loop_turn(struct rh_loop *loop, int64_t now)
{
	loop->stepping = true;
	for (const struct rh_loop_entry *entry = loop->sources; entry && !loop->stopped; entry = entry->next) {
		if (!entry->removed && entry->source.step)
			entry->source.step(entry->source.arg, now);
	}
	loop->stepping = false;
	loop_sweep(loop);
	return loop->stopped ? RH_NEVER : loop_deadline(loop);
}

int rh_loop_new(struct rh_loop **ret_loop, struct rh_error *err)
{
	struct rh_loop *loop = rh_alloc(sizeof(*loop));
	int r;

	if (!loop)
		return rh_fail_oom(err);
	r = uv_loop_init(&loop->uv);
	if (r < 0) {
		rh_free(loop);
		return loop_fail(err, r, "start");
	}
	/* these never fail: they only fill the handles in */
	(void)uv_prepare_init(&loop->uv, &loop->prepare);
	(void)uv_timer_init(&loop->uv, &loop->timer);
	(void)uv_idle_init(&loop->uv, &loop->idle);
	loop->prepare.data = loop;
	(void)uv_prepare_start(&loop->prepare, loop_on_prepare);
	*ret_loop = loop;
	return 0;
}

static void loop_close(uv_handle_t *handle, void *arg)
{
	const struct rh_loop *loop = arg;
	bool embedded = handle == (const uv_handle_t *)&loop->prepare || handle == (const uv_handle_t *)&loop->timer ||
	                handle == (const uv_handle_t *)&loop->idle;

	if (!uv_is_closing(handle))
		uv_close(handle, embedded ? NULL : loop_free_data);
}

void rh_loop_free(struct rh_loop *loop)
{
	if (!loop)
		return;
	uv_walk(&loop->uv, loop_close, loop);
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	(void)uv_loop_close(&loop->uv);
	for (struct rh_loop_entry *entry = loop->sources; entry; entry = entry->next)
		entry->removed = true;
	loop_sweep(loop);
	rh_free(loop);
}

static void loop_on_signal(uv_signal_t *handle, int number)
{
	const struct loop_signal *signal = handle->data;

	signal->fn(signal->arg, number);
}

int rh_loop_signal(struct rh_loop *loop, int number, rh_loop_signal_fn *fn, void *arg, struct rh_error *err)
{
	struct loop_signal *signal = rh_alloc(sizeof(*signal));
	int r;

	if (!signal)
		return rh_fail_oom(err);
	r = uv_signal_init(&loop->uv, &signal->signal);
	if (r < 0) {
		rh_free(signal);
		return loop_fail(err, r, "signals");
	}
	signal->signal.data = signal;
	signal->fn = fn;
	signal->arg = arg;
	r = uv_signal_start(&signal->signal, loop_on_signal, number);
	if (r < 0) {
		uv_close((uv_handle_t *)&signal->signal, loop_free_data);
		return loop_fail(err, r, "signals");
	}
	return 0;
}

static void loop_on_poll(uv_poll_t *poll, int status, int events)
{
	struct rh_loop_watch *watch = poll->data;

	watch->ready = 0;
	if (events & (UV_READABLE | UV_DISCONNECT))
		watch->ready |= RH_LOOP_READ;
	if (events & UV_WRITABLE)
		watch->ready |= RH_LOOP_WRITE;
	if (status < 0 || (events & UV_DISCONNECT))
		watch->ready |= watch->events; /* the error shows again in the owner's read() or write() */
	watch->fn(watch->arg);
}

int rh_loop_watch_for(struct rh_loop_watch *watch, unsigned events, struct rh_error *err)
{
	int polled = 0;
	int r;

	if (events & RH_LOOP_READ)
		polled |= UV_READABLE | UV_DISCONNECT;
	if (events & RH_LOOP_WRITE)
		polled |= UV_WRITABLE;
	r = polled ? uv_poll_start(&watch->poll, polled, loop_on_poll) : uv_poll_stop(&watch->poll);
	if (r < 0)
		return loop_fail(err, r, "watch");
	watch->events = events;
	return 0;
}

unsigned rh_loop_ready(const struct rh_loop_watch *watch)
{
	return watch->ready;
}

int rh_loop_watch(struct rh_loop *loop, int fd, rh_loop_ready_fn *fn, void *arg, struct rh_loop_watch **ret_watch,
                  struct rh_error *err)
{
	struct rh_loop_watch *watch = rh_alloc(sizeof(*watch));
	int r;

	if (!watch)
		return rh_fail_oom(err);
	r = uv_poll_init(&loop->uv, &watch->poll, fd);
	if (r < 0) {
		rh_free(watch);
		return loop_fail(err, r, "watch");
	}
	watch->poll.data = watch;
	watch->fn = fn;
	watch->arg = arg;
	r = rh_loop_watch_for(watch, RH_LOOP_READ, err);
	if (r < 0)
		uv_close((uv_handle_t *)&watch->poll, loop_free_data);
	else
		*ret_watch = watch;
	return r;
}

void rh_loop_unwatch(struct rh_loop_watch *watch)
{
	if (!watch)
		return;
	(void)uv_poll_stop(&watch->poll);
	uv_close((uv_handle_t *)&watch->poll, loop_free_data);
}

void rh_loop_run(struct rh_loop *loop)
{
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	loop->stopped = false;
}

void rh_loop_stop(struct rh_loop *loop)
{
	loop->stopped = true;
	uv_stop(&loop->uv);
}
