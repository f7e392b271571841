/* SPDX-License-Identifier: Apache-2.0 */
/* The service thread of a world: the connection to the rendezvous server, heartbeats, and progress in the background.
 */
#include <sched.h>
#include <stdio.h>

#include "comm/core/error.h"
#include "comm/core/group.h"
#include "comm/core/memory/stage.h"
#include "comm/core/request/service.h"
#include "comm/core/request/wait.h"

#define BEAT_PERIOD RH_COMM_SECOND
#define BEAT_TRIES 100
/* Heartbeats without an acknowledgement before a warning calls rank 0 stopped. */
#define UNANSWERED_MOST 2
/* While operations are in flight the line is looked at so often at least. */
#define SERVICE_PAUSE 1000
/* It spins only briefly, because computing threads need the processor. */
#define SERVICE_SPIN 10
/* What backends still have to move of operations that are done is looked for so often. */
#define SERVICE_PAUSE_IDLE (RH_COMM_SECOND / 20)
/* With more than one busy context there is nothing to sleep on but the clock. */
#define SERVICE_PAUSE_SHORT 200
/* A wait that took so long, and ended well, is remembered. */
#define STALL_LEARNED RH_COMM_SECOND

/* What one look at all contexts found. */
struct service_look {
	int busy;             /* contexts with operations in flight that no thread waits for */
	struct rh_comm *only; /* one of them; a guest is counted in it */
	int64_t pause;        /* for which one may sleep when none is busy */
};

/* @return whether it has operations in flight that the service thread is to drive */
static bool service_drive(struct rh_comm *comm, bool over)
{
	if (comm->is_subgroup || atomic_load_explicit(&comm->pending, memory_order_seq_cst) == 0)
		return false;
	if (atomic_load_explicit(&comm->drivers, memory_order_relaxed) > 0)
		return false;
	if (pthread_mutex_trylock(&comm->lock) != 0)
		return true;
	if (over)
		rh_comm_fail_all(comm);
	else
		rh_comm_progress(comm);
	(void)pthread_mutex_unlock(&comm->lock);
	return atomic_load_explicit(&comm->pending, memory_order_relaxed) > 0;
}

/* @return microseconds after which to look again */
static int64_t service_idle(struct rh_comm *comm, bool over)
{
	const struct rh_comm_backend *backend = comm->module.backend;
	int32_t r = RH_COMM_BUSY;

	if (!backend || !backend->idle || !comm->self || over)
		return RH_COMM_NEVER;
	if (atomic_load_explicit(&comm->drivers, memory_order_relaxed) > 0 || pthread_mutex_trylock(&comm->lock) != 0)
		return SERVICE_PAUSE_IDLE;
	if (!comm->aborted && !comm->first)
		r = backend->idle(comm->self);
	(void)pthread_mutex_unlock(&comm->lock);
	return r == RH_COMM_BUSY ? SERVICE_PAUSE : SERVICE_PAUSE_IDLE;
}

/* The context that is found is not freed before service_leave(). */
static struct service_look service_drive_all(struct rh_comm_world *world)
{
	bool over = rh_comm_world_check(world, NULL) < 0;
	struct service_look look = {.pause = RH_COMM_NEVER};

	(void)pthread_mutex_lock(&world->lock);
	for (struct rh_comm *comm = world->contexts; comm; comm = comm->next) {
		int64_t pause;

		if (service_drive(comm, over)) {
			look.busy++;
			look.only = comm;
			continue;
		}
		pause = service_idle(comm, over);
		look.pause = pause < look.pause ? pause : look.pause;
	}
	if (look.only)
		atomic_fetch_add(&look.only->references, 1);
	(void)pthread_mutex_unlock(&world->lock);
	return look;
}

static void service_leave(const struct service_look *look)
{
	if (look->only)
		atomic_fetch_sub(&look->only->references, 1);
}

/* What the oldest operation of a context waits for; who it is is known of messages alone. */
static void service_fill_waiting(const struct rh_comm *comm, struct rh_comm_beat *beat)
{
	const struct rh_comm_request *first = comm->first;

	/* who waits for its own device does not wait for others */
	if (!first || !rh_comm_stage_waits(first))
		return;
	beat->waiting = rh_comm_now() - first->since;
	beat->what = first->op.what;
	beat->group = comm->name;
	beat->number = first->sequence;
	/* later ones may be done already */
	if (first->sequence > 0 && !comm->is_group)
		beat->done = first->sequence - 1;
	else if (first->sequence == 0)
		beat->peer = rh_comm_world_rank(comm, first->op.peer);
}

static void service_fill_beat(const struct rh_comm *comm, struct rh_comm_beat *beat)
{
	*beat = (struct rh_comm_beat){.posted = comm->posted, .done = comm->done, .peer = RH_COMM_NO_RANK};
	service_fill_waiting(comm, beat);
}

/* No operation of the world's own context is waited for: look at the groups. */
static void service_fill_group(struct rh_comm *group, struct rh_comm_beat *beat)
{
	struct rh_comm_beat other = *beat;

	if (!group->is_group || group->is_subgroup || atomic_load_explicit(&group->pending, memory_order_relaxed) == 0 ||
	    pthread_mutex_trylock(&group->lock) != 0)
		return;
	other.peer = RH_COMM_NO_RANK;
	service_fill_waiting(group, &other);
	(void)pthread_mutex_unlock(&group->lock);
	if (other.waiting > beat->waiting)
		*beat = other;
}

/* What a context, whose lock is held, has posted up to what is asked for. */
static void service_fill_answer(const struct rh_comm *comm, struct rh_comm_answer *answer)
{
	uint64_t last = answer->query.needed - RH_COMM_REACHED_OPEN;

	answer->reached = RH_COMM_REACHED_OPEN + comm->posted;
	(void)rh_comm_group_text(comm, answer->text, sizeof(answer->text));
	for (uint64_t i = 0; answer->query.needed > RH_COMM_REACHED_OPEN && i < RH_COMM_REMEMBERED; i++) {
		uint64_t number = last + i + 1 - RH_COMM_REMEMBERED;

		/* below 1 it wraps around, and is beyond all that were posted */
		if (number > 0 && number <= comm->posted && comm->posted - number < RH_COMM_REMEMBERED)
			answer->labels[i] = comm->labels[number % RH_COMM_REMEMBERED];
	}
}

/* With the lock over the contexts. @return false: the context is busy now */
static bool service_find_answer(const struct rh_comm_world *world, struct rh_comm_answer *answer)
{
	struct rh_comm *comm = world->contexts;

	if (answer->query.group == 0 && (!comm || comm->is_group)) {
		answer->reached = RH_COMM_REACHED_OPENING;
		return true;
	}
	while (comm && comm->name != answer->query.group)
		comm = comm->next;
	for (const struct rh_comm *group = world->opening; group && !comm; group = group->next) {
		if (group->name == answer->query.group)
			answer->reached = RH_COMM_REACHED_OPENING;
	}
	if (!comm)
		return true;
	if (pthread_mutex_trylock(&comm->lock) != 0)
		return false;
	service_fill_answer(comm, answer);
	(void)pthread_mutex_unlock(&comm->lock);
	return true;
}

/* The operation that any thread of this rank posted last. */
static void service_fill_latest(const struct rh_comm_world *world, struct rh_comm_latest *latest)
{
	const struct rh_comm_trace *trace = &world->trace;
	uint64_t place = atomic_load_explicit(&trace->head->posted, memory_order_relaxed);
	const struct rh_comm_trace_entry *entry = rh_comm_trace_at(trace, place);
	int64_t ended;

	if (place == 0 || atomic_load_explicit(&entry->place, memory_order_acquire) != place)
		return;
	ended = atomic_load_explicit(&entry->ended, memory_order_relaxed);
	latest->group = atomic_load_explicit(&entry->group, memory_order_relaxed);
	latest->number = atomic_load_explicit(&entry->number, memory_order_relaxed);
	latest->what = (int32_t)(atomic_load_explicit(&entry->kind, memory_order_relaxed) & 255);
	latest->open = ended == 0;
	latest->ago = rh_comm_trace_since(trace, ended ? ended : atomic_load_explicit(&entry->begun, memory_order_relaxed));
}

/* With the lock over the contexts. */
static void service_fill_latest_group(const struct rh_comm_world *world, struct rh_comm_latest *latest)
{
	for (const struct rh_comm *comm = world->contexts; comm && latest->group != 0; comm = comm->next) {
		if (comm->name == latest->group)
			(void)rh_comm_group_text(comm, latest->text, sizeof(latest->text));
	}
}

/* Who holds the lock of a context does not for long. */
static void service_answer(struct rh_comm_world *world, const struct rh_comm_query *query)
{
	struct rh_comm_answer answer = {.query = *query};
	bool found = false;

	while (!found && !atomic_load(&world->stop)) {
		(void)pthread_mutex_lock(&world->lock);
		found = service_find_answer(world, &answer);
		(void)pthread_mutex_unlock(&world->lock);
		if (!found)
			(void)sched_yield();
	}
	service_fill_latest(world, &answer.latest);
	(void)pthread_mutex_lock(&world->lock);
	service_fill_latest_group(world, &answer.latest);
	(void)pthread_mutex_unlock(&world->lock);
	rh_comm_client_answer(world->client, &answer);
}

/* The rendezvous server names slow or stopped ranks; when rank 0 itself is stopped, each rank that waits warns. */
static void service_warn(struct rh_comm_world *world, const struct rh_comm_beat *beat)
{
	bool silent = rh_comm_client_unanswered(world->client) > UNANSWERED_MOST;

	if (!silent)
		world->warned = false;
	if (!silent || world->warned || !world->env.log || beat->waiting < world->env.slow)
		return;
	world->warned = true;
	(void)fprintf(stderr, "rh_comm: rank 0 is stopped or throttled: rank %d has waited %lld s in %s\n",
	              (int)world->env.rank, (long long)(beat->waiting / RH_COMM_SECOND), rh_comm_what_name(beat->what));
}

/*
 * Learn from a wait that ended how long waits take that end well. @return whether the wait that goes on is to be
 * reported: after the limit or three times what is usual, whichever is longer, and each time that it has doubled
 */
static bool service_is_stalled(struct rh_comm_world *world, const struct rh_comm_beat *beat)
{
	struct rh_comm_stall *stall = &world->stall;

	if (stall->group != beat->group || stall->number != beat->number) {
		if (stall->number > 0 && stall->waited >= STALL_LEARNED)
			stall->usual = stall->waited > stall->usual ? stall->waited : (7 * stall->usual + stall->waited) / 8;
		stall->group = beat->group;
		stall->number = beat->number;
		stall->next = 3 * stall->usual > world->env.slow ? 3 * stall->usual : world->env.slow;
	}
	stall->waited = beat->waiting;
	if (stall->number == 0 || stall->waited < stall->next)
		return false;
	stall->next = 2 * stall->waited;
	return true;
}

/* With the lock over the contexts, so that the group is not freed. */
static void service_report(const struct rh_comm_world *world, struct rh_comm *comm, const struct rh_comm_beat *beat)
{
	struct rh_comm_case about = {.query = {beat->group, RH_COMM_REACHED_OPEN + beat->number}};
	char text[320];
	char label[120];
	char group[120];
	uint64_t known = 0;

	about.ranks = comm->ranks;
	about.count = comm->size;
	(void)pthread_mutex_lock(&comm->lock);
	if (comm->posted - beat->number < RH_COMM_REMEMBERED)
		known = comm->labels[beat->number % RH_COMM_REMEMBERED];
	(void)pthread_mutex_unlock(&comm->lock);
	if (known)
		rh_comm_label_text(known, label, sizeof(label));
	else
		(void)snprintf(label, sizeof(label), "%s", rh_comm_what_name(beat->what));
	(void)snprintf(text, sizeof(text), "rank %d has waited %lld s in number %llu%s, %s", (int)world->env.rank,
	               (long long)(beat->waiting / RH_COMM_SECOND), (unsigned long long)beat->number,
	               rh_comm_group_text(comm, group, sizeof(group)), label);
	rh_comm_client_report_stall(world->client, text, &about);
}

/* After the heartbeat, to which the rendezvous server compares it. */
static void service_check_stall(struct rh_comm_world *world, const struct rh_comm_beat *beat)
{
	struct rh_comm *comm;

	if (!service_is_stalled(world, beat) || !world->env.log)
		return;
	(void)pthread_mutex_lock(&world->lock);
	comm = world->contexts;
	while (comm && comm->name != beat->group)
		comm = comm->next;
	if (comm)
		service_report(world, comm, beat);
	(void)pthread_mutex_unlock(&world->lock);
}

/* How long this rank waits, for rank 0; and in rank 0 what that says of all. */
static void service_report_pace(struct rh_comm_world *world, const struct rh_comm_pace_mark *marks, size_t count)
{
	struct rh_comm_pace pace;

	rh_comm_client_pace(world->client, marks, count);
	if (!world->server)
		return;
	rh_comm_server_pace(world->server, &pace);
	rh_comm_trace_note_pace(&world->trace, &pace);
}

/* How the world's own context, the list's first, does. One that is busy for long is reported as it was. */
static void service_beat(struct rh_comm_world *world, struct rh_comm_beat *beat)
{
	struct rh_comm_pace_mark marks[RH_COMM_PACE_MARKS];
	size_t count = 0;
	struct rh_comm *comm;

	(void)pthread_mutex_lock(&world->lock);
	comm = world->contexts;
	if (comm && !comm->is_group) {
		for (int i = 0; i < BEAT_TRIES; i++) {
			if (pthread_mutex_trylock(&comm->lock) != 0) {
				(void)sched_yield();
				continue;
			}
			service_fill_beat(comm, beat);
			count = rh_comm_waits_take(&world->trace.waits, rh_comm_trace_nanoseconds(), rh_comm_trace_ticks(), marks);
			(void)pthread_mutex_unlock(&comm->lock);
			break;
		}
		if (beat->waiting == 0 || beat->group != 0) {
			beat->waiting = 0;
			for (struct rh_comm *group = comm->next; group; group = group->next)
				service_fill_group(group, beat);
		}
	}
	(void)pthread_mutex_unlock(&world->lock);
	rh_comm_trace_note_time(&world->trace);
	service_warn(world, beat);
	rh_comm_client_beat(world->client, beat);
	service_report_pace(world, marks, count);
	service_check_stall(world, beat);
}

/* Sleep until the server, a peer or a thread that posts wakes this one. */
static void service_sleep(struct rh_comm_world *world, const struct service_look *look, int64_t beat)
{
	if (look->busy == 1) {
		rh_comm_sleep(look->only, NULL, SERVICE_PAUSE);
		(void)rh_comm_client_serve(world->client, 0);
		return;
	}
	beat -= rh_comm_now();
	(void)rh_comm_client_serve(world->client, look->busy > 0       ? SERVICE_PAUSE_SHORT
	                                          : look->pause < beat ? look->pause
	                                                               : beat);
}

/* Announce that posting threads have to wake this one, then check once more for requests posted just before. */
static bool service_may_doze(struct rh_comm_world *world)
{
	struct service_look look;

	atomic_store_explicit(&world->asleep, true, memory_order_seq_cst);
	look = service_drive_all(world);
	service_leave(&look);
	return look.busy == 0;
}

void *rh_comm_service_run(void *arg)
{
	struct rh_comm_world *world = arg;
	struct rh_comm_backoff backoff = {.spin = SERVICE_SPIN};
	struct rh_comm_beat last = {.peer = RH_COMM_NO_RANK};
	struct rh_comm_query query;
	int64_t beat = 0;
	int64_t line = 0;

	while (!atomic_load(&world->stop)) {
		struct service_look look = service_drive_all(world);

		if (rh_comm_client_has_query(world->client, &query))
			service_answer(world, &query);
		if (rh_comm_now() >= beat) {
			service_beat(world, &last);
			beat = rh_comm_now() + BEAT_PERIOD;
		}
		/* beside busy processes the yields below take long */
		if (look.busy > 0 && rh_comm_now() >= line) {
			(void)rh_comm_client_serve(world->client, 0);
			line = rh_comm_now() + SERVICE_PAUSE;
		}
		if ((look.busy == 0 && service_may_doze(world)) ||
		    (look.busy > 0 && !rh_comm_backoff_spin(&backoff, world->crowded)))
			service_sleep(world, &look, beat);
		service_leave(&look);
		atomic_store_explicit(&world->asleep, false, memory_order_relaxed);
	}
	return NULL;
}
