/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for operations: a waiting thread makes progress itself, spins, then yields, then sleeps. */
#include <sched.h>
#include <time.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"
#include "comm/core/request/check.h"
#include "comm/core/request/wait.h"

/*
 * Microseconds of spinning and numbers of yields; crowded ranks need each other's processor. Spinning that was in vain
 * is halved the next time, for a peer may be waiting for this very processor; when it was not, it is doubled.
 */
#define SPIN_TIME RH_COMM_SPIN
#define SPIN_TIME_MIN 2
/*
 * Ranks that have both gone to sleep would do so each time: what ends one's wait is the other one, who wakes up only
 * then. Now and then one spins for as long as that takes, and both are awake again.
 */
#define SPIN_TIME_LONG 200
#define SPIN_LONG_EVERY 16
#define SPIN_ROUNDS_CROWDED 4
#define YIELDS 16
/* The clock, the world and the time limit are looked at once in so many rounds, and after each yield: beside busy
 * processes one may take longer than all that. */
#define CLOCK_ROUNDS 32
#define LOOK_ROUNDS 256
/* A sleep lasts at most so long: the state of the world and the clock are checked again, and a lost wake-up does no
 * harm. */
#define NAP_MAX 5000
/* Without a backend that can sleep, and when two contexts have to be checked. */
#define NAP_BLIND 100
/* Small operations are tried so often before anything is written down about them. */
#define QUICK_BYTES 65536
#define QUICK_ROUNDS 400

static inline void wait_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

bool rh_comm_backoff_spin(struct rh_comm_backoff *backoff, bool crowded)
{
	int32_t round = backoff->rounds++;
	bool spin = crowded ? round < SPIN_ROUNDS_CROWDED : backoff->since >= 0;

	backoff->yielded = !spin;
	if (spin) {
		wait_relax();
		if (round == 0)
			backoff->since = rh_comm_now();
		else if (round % CLOCK_ROUNDS == 0 && rh_comm_now() - backoff->since > backoff->spin)
			*backoff = (struct rh_comm_backoff){SPIN_ROUNDS_CROWDED, -1, backoff->spin, false};
		return true;
	}
	if (round < SPIN_ROUNDS_CROWDED + YIELDS) {
		(void)sched_yield();
		return true;
	}
	*backoff = (struct rh_comm_backoff){.spin = backoff->spin};
	return false;
}

static bool wait_is_over(const struct rh_comm_request *request)
{
	return atomic_load_explicit(&request->status, memory_order_acquire) != RH_COMM_BUSY;
}

static void nap_blind(int64_t time)
{
	struct timespec pause = {0, (time < NAP_BLIND ? time : NAP_BLIND) * 1000};

	(void)nanosleep(&pause, NULL);
}

void rh_comm_sleep(struct rh_comm *comm, const struct rh_comm_request *request, int64_t time)
{
	const struct rh_comm_backend *backend = comm->module.backend;
	uint64_t ticket = 0;
	int32_t r;

	/* no backend signals copies between host and device */
	if (atomic_load_explicit(&comm->cuda.copying, memory_order_relaxed) > 0) {
		nap_blind(time);
		return;
	}
	if (comm->hierarchy && comm->hierarchy->inter && atomic_load(&comm->hierarchy->inter->pending) > 0) {
		/* progress of the ranks of this host does not end this sleep */
		rh_comm_sleep(comm->hierarchy->inter, NULL, NAP_BLIND * 2);
		return;
	}
	if (comm->hierarchy && atomic_load(&comm->hierarchy->intra->pending) > 0) {
		rh_comm_sleep(comm->hierarchy->intra, NULL, time);
		return;
	}
	if (!backend->arm || !backend->pause || !comm->self ||
	    (request && request->executor && request->executor->on_device)) {
		nap_blind(time);
		return;
	}
	(void)pthread_mutex_lock(&comm->lock);
	r = backend->arm(comm->self, &ticket);
	rh_comm_progress(comm);
	(void)pthread_mutex_unlock(&comm->lock);
	if (r == 0 && (request ? !wait_is_over(request) : atomic_load(&comm->pending) > 0))
		backend->pause(comm->self, ticket, time);
}

/* One look at everything that can move. */
static void wait_drive(struct rh_comm *comm)
{
	if (pthread_mutex_trylock(&comm->lock) != 0)
		return;
	rh_comm_progress(comm);
	(void)pthread_mutex_unlock(&comm->lock);
}

static int64_t wait_nap_time(const struct rh_comm_request *request, int64_t until)
{
	int64_t end = request->deadline < until ? request->deadline : until;
	int64_t left = end == RH_COMM_NEVER ? NAP_MAX : end - rh_comm_now() + 1;

	return left > NAP_MAX ? NAP_MAX : left > 0 ? left : 1;
}

/* @return how long this wait is to spin */
static int64_t wait_spin(struct rh_comm *comm)
{
	int32_t spin = atomic_load_explicit(&comm->spin, memory_order_relaxed);

	if (spin == SPIN_TIME || atomic_fetch_add_explicit(&comm->waits, 1, memory_order_relaxed) % SPIN_LONG_EVERY != 0)
		return spin;
	return SPIN_TIME_LONG;
}

/* @param vain it did not end while we spun */
static void wait_learn(struct rh_comm *comm, bool vain)
{
	int32_t spin = atomic_load_explicit(&comm->spin, memory_order_relaxed);
	int32_t next = vain ? spin / 2 : spin * 2;

	next = next < SPIN_TIME_MIN ? SPIN_TIME_MIN : next > SPIN_TIME ? SPIN_TIME : next;
	if (next != spin)
		atomic_store_explicit(&comm->spin, next, memory_order_relaxed);
}

static void wait_await(struct rh_comm_request *request, int64_t until)
{
	struct rh_comm *comm = request->comm;
	struct rh_comm_backoff backoff = {.spin = wait_spin(comm)};

	for (int round = 1; !wait_is_over(request); round++) {
		wait_drive(comm);
		if (wait_is_over(request)) {
			if (backoff.since != 0) /* below 0: a yield has ended it, for the peer had to have this processor */
				wait_learn(comm, backoff.since < 0);
			return;
		}
		/* what came during a yield was moved on first: an operation that it completes has not failed */
		if (round % LOOK_ROUNDS == 0 || backoff.yielded)
			rh_comm_request_check_limits(request);
		if (!wait_is_over(request) && !rh_comm_backoff_spin(&backoff, comm->world->crowded)) {
			wait_learn(comm, true);
			rh_comm_request_check_limits(request);
			if (!wait_is_over(request))
				rh_comm_sleep(comm, request, wait_nap_time(request, until));
			if (until != RH_COMM_NEVER && rh_comm_now() >= until)
				return;
		}
	}
}

/* The result of a complete request. */
static int32_t wait_collect(struct rh_comm_request *request, struct rh_comm_error *err)
{
	struct rh_comm *comm = request->comm;
	int32_t status = atomic_load_explicit(&request->status, memory_order_acquire);

	/* a local failure leaves the ranks diverged: the world ends, and the rendezvous server knows the cause */
	if (status == RH_COMM_EINVAL && request->sequence > 0)
		status = rh_comm_world_diagnose(comm, &request->err, RH_COMM_REACHED_OPEN + request->sequence, err);
	else if (status < 0)
		status = rh_comm_world_fail(comm->world, &request->err, err);
	(void)pthread_mutex_lock(&comm->lock);
	rh_comm_request_recycle(request);
	(void)pthread_mutex_unlock(&comm->lock);
	return status;
}

/* @return as rh_comm_test() */
static int32_t wait_until(struct rh_comm_request *request, int64_t until, struct rh_comm_error *err)
{
	struct rh_comm *comm = request->comm;

	if (!wait_is_over(request)) {
		atomic_fetch_add_explicit(&comm->drivers, 1, memory_order_relaxed);
		wait_await(request, until);
		atomic_fetch_sub_explicit(&comm->drivers, 1, memory_order_relaxed);
	}
	if (wait_is_over(request))
		return wait_collect(request, err);
	/* a caller that returns later relies on background progress until then */
	rh_comm_world_wake(comm->world);
	return RH_COMM_BUSY;
}

int32_t rh_comm_wait(struct rh_comm_request *request, struct rh_comm_error *err)
{
	return wait_until(request, RH_COMM_NEVER, err);
}

static int64_t wait_end(int64_t time)
{
	int64_t now = rh_comm_now();

	return time > RH_COMM_NEVER - now ? RH_COMM_NEVER : now + time;
}

int32_t rh_comm_wait_for(struct rh_comm_request *request, int64_t time, struct rh_comm_error *err)
{
	return wait_until(request, wait_end(time), err);
}

int32_t rh_comm_test(struct rh_comm_request *request, struct rh_comm_error *err)
{
	struct rh_comm *comm = request->comm;

	if (!wait_is_over(request)) {
		wait_drive(comm);
		if (!wait_is_over(request))
			rh_comm_request_check_limits(request);
		/* who only looks now and then counts on the background */
		rh_comm_world_wake(comm->world);
	}
	return wait_is_over(request) ? wait_collect(request, err) : RH_COMM_BUSY;
}

static int32_t wait_post(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_request **ret_request,
                         struct rh_comm_error *err)
{
	struct rh_comm_request *request = rh_comm_request_post(comm, op);

	if (!request)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	*ret_request = request;
	return 0;
}

int32_t rh_comm_post(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_request **ret_request,
                     struct rh_comm_error *err)
{
	struct rh_comm_op room;
	const struct rh_comm_op *whole = rh_comm_request_complete(comm, op, &room);
	int32_t r = rh_comm_world_check(comm->world, err);

	if (r == 0)
		r = rh_comm_request_check(comm, whole, err);
	if (r == 0)
		r = wait_post(comm, whole, ret_request, err);
	if (r == 0 && !wait_is_over(*ret_request))
		rh_comm_world_wake(comm->world);
	return r;
}

/* Small collectives of a backend that has them: nothing else is in flight, so there is no order to keep. */
static bool wait_is_quick(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	return comm->module.backend->collective && comm->size > 1 && op->what <= RH_COMM_BARRIER &&
	       op->memory == RH_COMM_HOST && op->count * rh_comm_type_size(op->type) <= QUICK_BYTES &&
	       comm->world->tune.count == 0;
}

static int32_t quick_test(struct rh_comm *comm, void *work)
{
	int spin = atomic_load_explicit(&comm->spin, memory_order_relaxed);
	int rounds = comm->world->crowded ? SPIN_ROUNDS_CROWDED : QUICK_ROUNDS * spin / SPIN_TIME;
	int32_t r = comm->module.backend->test(comm->self, work);

	/* no wait took place, so the spin time is unchanged: a rank that alternates with a peer finds all its messages */
	if (r != RH_COMM_BUSY)
		return r;
	for (int round = 1; round < rounds && r == RH_COMM_BUSY; round++) {
		wait_relax();
		r = comm->module.backend->test(comm->self, work);
	}
	if (r == 0)
		wait_learn(comm, false);
	return r;
}

/* With the lock. @return 0: done; RH_COMM_BUSY: *ret_request is to be waited for, or, when NULL, to be posted */
static int32_t quick_try(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_request **ret_request)
{
	struct rh_comm_request *request;
	uint64_t history = comm->history;
	uint64_t traced;
	void *work = NULL;
	int32_t r = 0;

	/* a spare request means that the rest cannot fail for want of memory */
	if (comm->first || !comm->spare)
		return RH_COMM_BUSY;
	comm->error.code = 0;
	/* what it refuses it refuses again when it is posted */
	if (comm->module.backend->collective(comm->self, op, rh_comm_request_record(comm, op), &work) != 0) {
		comm->posted--;
		comm->history = history;
		return RH_COMM_BUSY;
	}
	traced = rh_comm_request_trace(comm, op, comm->posted);
	if (work)
		r = quick_test(comm, work);
	if (r == 0) {
		comm->done++;
		rh_comm_request_trace_end(comm, traced, op, 0);
		return 0;
	}
	request = rh_comm_request_new(comm, op);
	request->traced = traced;
	request->sequence = comm->posted;
	request->work = work;
	atomic_fetch_add_explicit(&comm->pending, 1, memory_order_relaxed);
	if (r == RH_COMM_BUSY)
		rh_comm_request_enqueue(request);
	else
		rh_comm_request_finish(request, r);
	*ret_request = request;
	return RH_COMM_BUSY;
}

/* @return 0: it is done, or *ret_request is to be waited for; RH_COMM_E* */
static int32_t run_start(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_request **ret_request,
                         struct rh_comm_error *err)
{
	struct rh_comm_op room;
	const struct rh_comm_op *whole = rh_comm_request_complete(comm, op, &room);
	int32_t r = rh_comm_world_check(comm->world, err);

	*ret_request = NULL;
	if (r == 0)
		r = rh_comm_request_check(comm, whole, err);
	if (r < 0)
		return r;
	if (wait_is_quick(comm, whole) && pthread_mutex_trylock(&comm->lock) == 0) {
		r = quick_try(comm, whole, ret_request);
		(void)pthread_mutex_unlock(&comm->lock);
		if (r == 0)
			return 0;
	}
	return *ret_request ? 0 : wait_post(comm, whole, ret_request, err);
}

int32_t rh_comm_run(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	struct rh_comm_request *request = NULL;
	int32_t r = run_start(comm, op, &request, err);

	return r < 0 || !request ? r : wait_until(request, RH_COMM_NEVER, err);
}

int32_t rh_comm_run_for(struct rh_comm *comm, const struct rh_comm_op *op, int64_t time,
                        struct rh_comm_request **ret_request, struct rh_comm_error *err)
{
	struct rh_comm_request *request = NULL;
	int32_t r = run_start(comm, op, &request, err);

	if (r < 0 || !request)
		return r;
	r = wait_until(request, wait_end(time), err);
	if (r == RH_COMM_BUSY)
		*ret_request = request;
	return r;
}
