/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/replica/copy.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/core/thread.h"
#include "comm/ps/protocol/call.h"
#include "comm/ps/server/replica/backup.h"
#include "comm/ps/server/replica/entry.h"

/* How long one call of the backup may take, and how long to wait before the next one. */
#define CALL_TIMEOUT RH_COMM_SECOND
#define CALL_PAUSE 100000
/* Bytes of entries that are sent in a row, before workers get their turn. */
#define MOVE_BYTES (4 * RH_PS_PART_MAX)

enum copy_state {
	COPY_IDLE,   /* no backup, or it is being called */
	COPY_MOVING, /* entries are being sent */
	COPY_LIVE,   /* all entries are sent: answers are gated */
	COPY_STUCK   /* the backup is lost: answers stay gated until the scheduler decides */
};

/* A thread that calls the backup. What it reads does not change meanwhile. */
struct copy_call {
	pthread_t thread;
	const struct rh_ps_copy *copy;
	struct rh_ps_place place;
	uint64_t term;
	struct rh_ps_wire *wire; /* the result; NULL: not connected */
	_Atomic bool done;
};

struct rh_ps_copy {
	struct rh_ps_copy_plan plan;
	char *secret;
	uint8_t job[RH_COMM_DIGEST];
	char backend[RH_PS_BACKEND_MAX];
	struct rh_ps_config config; /* of the store, for the greeting */
	enum copy_state state;
	struct rh_ps_role_note note;
	struct copy_call *call; /* NULL: none */
	int64_t call_at;
	struct rh_ps_wire *wire; /* NULL: not connected */
	uint32_t events;
	bool readable;
	bool blocked;
	uint64_t sent; /* records of all copies */
	uint64_t base; /* those before the present copy */
	uint64_t acked;
	uint64_t complete_at; /* number of COPIED */
	bool synced;
	uint32_t report;     /* what the scheduler is to know; 0: nothing */
	uint32_t generation; /* of the present copy */
	size_t bucket;       /* where to look for the next entry */
	bool found;          /* since the first bucket */
	uint8_t *entry;      /* being sent */
	size_t entry_room;
	size_t entry_at;
	size_t entry_length;
};

struct rh_ps_copy *rh_ps_copy_new(const struct rh_ps_copy_plan *plan)
{
	struct rh_ps_copy *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	copy->plan = *plan;
	copy->secret = strdup(plan->secret);
	if (!copy->secret) {
		free(copy);
		return NULL;
	}
	memcpy(copy->job, plan->job, sizeof(copy->job));
	(void)snprintf(copy->backend, sizeof(copy->backend), "%s", plan->backend);
	return copy;
}

/* Waits for the thread. @return the connection; NULL: there is none */
static struct rh_ps_wire *copy_end_call(struct rh_ps_copy *copy)
{
	struct rh_ps_wire *wire;

	(void)pthread_join(copy->call->thread, NULL);
	wire = copy->call->wire;
	free(copy->call);
	copy->call = NULL;
	return wire;
}

void rh_ps_copy_free(struct rh_ps_copy *copy)
{
	if (!copy)
		return;
	if (copy->call)
		rh_ps_wire_free(copy_end_call(copy));
	rh_ps_wire_free(copy->wire);
	free(copy->entry);
	free(copy->secret);
	free(copy);
}

static void copy_drop(struct rh_ps_copy *copy)
{
	rh_ps_wire_free(copy->wire);
	copy->wire = NULL;
	copy->readable = false;
	copy->blocked = false;
	copy->entry_at = 0;
	copy->entry_length = 0;
}

void rh_ps_copy_start(struct rh_ps_copy *copy, const struct rh_ps_role_note *note)
{
	copy_drop(copy);
	copy->note = *note;
	copy->note.peer.host[sizeof(copy->note.peer.host) - 1] = '\0';
	copy->state = COPY_IDLE;
	copy->report = 0;
	copy->call_at = 0;
}

/* A backup that does not have everything is not missed; one that has might be the primary by now. */
static void copy_lose(struct rh_ps_copy *copy)
{
	copy_drop(copy);
	if (copy->state == COPY_LIVE) {
		copy->state = COPY_STUCK;
		copy->report = RH_PS_REC_ALONE;
		return;
	}
	copy->state = COPY_IDLE;
	copy->call_at = rh_comm_now() + CALL_PAUSE;
}

static int32_t call_greet(const struct copy_call *call, const struct rh_ps_call *to, struct rh_ps_hello *hello,
                          struct rh_ps_welcome *ret_welcome)
{
	const struct rh_ps_copy *copy = call->copy;
	int32_t r;

	memset(hello, 0, sizeof(*hello));
	hello->role = RH_PS_ROLE_COPIES;
	hello->worker = -1;
	hello->workers = copy->config.workers;
	hello->server = copy->config.index;
	hello->servers = copy->config.servers;
	hello->session = call->term;
	memcpy(hello->job, copy->job, sizeof(hello->job));
	(void)snprintf(hello->backend, sizeof(hello->backend), "%s", copy->backend);
	r = rh_ps_call_greet(to, hello, copy->secret);
	return r < 0 ? r : rh_ps_call_receive(to, RH_PS_REC_WELCOME, ret_welcome, sizeof(*ret_welcome));
}

static int32_t call_connect(const struct copy_call *call, struct rh_ps_call *to)
{
	struct rh_ps_call_proof proof = {.secret = call->copy->secret};
	struct rh_ps_welcome welcome;
	struct rh_ps_hello hello;
	int fd = -1;
	int32_t r = rh_comm_socket_connect(call->place.host, call->place.port, to->deadline, &fd, NULL);

	if (r < 0)
		return r;
	rh_comm_socket_watch_peer(fd, call->copy->plan.death_timeout);
	to->wire = rh_ps_wire_new(fd);
	if (!to->wire) {
		(void)close(fd);
		return RH_COMM_ENOMEM;
	}
	r = call_greet(call, to, &hello, &welcome);
	if (r < 0)
		return r;
	welcome.local[sizeof(welcome.local) - 1] = '\0';
	fd = call->copy->plan.no_shm || !welcome.local[0] ? -1 : rh_ps_local_connect(welcome.local);
	proof.hello = &hello;
	proof.ticket = welcome.ticket;
	return fd < 0 ? 0 : rh_ps_call_attach_near(to, fd, &proof);
}

static void *call_run(void *arg)
{
	static const uint64_t one = 1;
	struct copy_call *call = arg;
	struct rh_ps_call to = {.whom = "the backup", .deadline = rh_comm_now() + CALL_TIMEOUT};
	int wake = call->copy->plan.wake;

	if (call_connect(call, &to) < 0)
		rh_ps_wire_free(to.wire);
	else
		call->wire = to.wire;
	atomic_store(&call->done, true);
	(void)!write(wake, &one, sizeof(one));
	return NULL;
}

static void copy_call(struct rh_ps_copy *copy, const struct rh_ps_store *store)
{
	struct copy_call *call = calloc(1, sizeof(*call));

	copy->call_at = rh_comm_now() + CALL_PAUSE;
	if (!call)
		return;
	copy->config = store->config;
	call->copy = copy;
	call->place = copy->note.peer;
	call->term = copy->note.term;
	if (rh_comm_thread_start(&call->thread, call_run, call) != 0)
		free(call);
	else
		copy->call = call;
}

static uint8_t *copy_put(struct rh_ps_copy *copy, const struct rh_ps_head *head)
{
	uint8_t *at = rh_ps_wire_add(copy->wire, head);

	copy->sent += at != NULL;
	return at;
}

static void copy_put_workers(const struct rh_ps_store *store, uint8_t *at)
{
	for (int32_t i = 0; i < store->config.workers; i++) {
		const struct rh_ps_worker_record *record = &store->workers[i];
		struct rh_ps_copy_worker worker = {record->session, record->last, record->left};

		memcpy(at + (size_t)i * sizeof(worker), &worker, sizeof(worker));
	}
}

static bool copy_begin(struct rh_ps_copy *copy, const struct rh_ps_store *store)
{
	size_t workers = (size_t)store->config.workers * sizeof(struct rh_ps_copy_worker);
	struct rh_ps_head head = {.kind = RH_PS_REC_BEGIN};
	struct rh_ps_copy_begin begin;
	uint8_t *at;

	memset(&begin, 0, sizeof(begin));
	begin.config = store->config;
	begin.epoch = store->epoch;
	head.length = (uint32_t)(sizeof(begin) + workers);
	copy->base = copy->sent;
	copy->acked = copy->sent;
	at = copy_put(copy, &head);
	if (!at)
		return false;
	memcpy(at, &begin, sizeof(begin));
	copy_put_workers(store, at + sizeof(begin));
	return true;
}

/* Go on with what the thread has connected, unless the scheduler has decided anew. */
static void copy_adopt(struct rh_ps_copy *copy, const struct rh_ps_store *store)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = copy->plan.mark};
	struct rh_ps_wire *wire;
	bool stale;

	if (!copy->call || !atomic_load(&copy->call->done))
		return;
	stale = copy->call->term != copy->note.term || copy->state != COPY_IDLE;
	wire = copy_end_call(copy);
	if (stale || !wire) {
		rh_ps_wire_free(wire);
		return;
	}
	copy->wire = wire;
	copy->events = EPOLLIN;
	copy->readable = true;
	copy->synced = false;
	copy->generation++;
	copy->bucket = 0;
	copy->found = false;
	copy->state = COPY_MOVING;
	if (epoll_ctl(copy->plan.poller, EPOLL_CTL_ADD, rh_ps_wire_fd(wire), &event) < 0 || !copy_begin(copy, store))
		copy_lose(copy);
}

/* @return false: malformed */
static bool copy_on_record(struct rh_ps_copy *copy, const struct rh_ps_head *head)
{
	uint64_t acked = copy->base + head->sequence;

	if (head->kind != RH_PS_REC_ACK || acked < copy->acked || acked > copy->sent)
		return false;
	copy->acked = acked;
	if (copy->state == COPY_LIVE && !copy->synced && acked >= copy->complete_at) {
		copy->synced = true;
		copy->report = RH_PS_REC_SYNCED;
	}
	return true;
}

static void copy_receive(struct rh_ps_copy *copy)
{
	bool gone = copy->readable && rh_ps_wire_fill(copy->wire) < 0;
	const uint8_t *payload;
	struct rh_ps_head head;
	int32_t r;

	copy->readable = false;
	while ((r = rh_ps_wire_next(copy->wire, &head, &payload)) > 0) {
		bool good = copy_on_record(copy, &head);

		rh_ps_wire_drop(copy->wire);
		if (!good) {
			r = RH_COMM_EINVAL;
			break;
		}
	}
	if (r < 0 || gone)
		copy_lose(copy);
}

/* @return an entry that is not sent yet; NULL: none, of all */
static struct rh_ps_entry *copy_next(struct rh_ps_copy *copy, const struct rh_ps_store *store)
{
	for (;;) {
		for (; copy->bucket < store->bucket_count; copy->bucket++) {
			for (struct rh_ps_entry *entry = store->buckets[copy->bucket]; entry; entry = entry->next) {
				if (entry->copied == copy->generation)
					continue;
				copy->found = true;
				return entry;
			}
		}
		/* new ones may have come, and others been moved to buckets where we were */
		copy->bucket = 0;
		if (!copy->found)
			return NULL;
		copy->found = false;
	}
}

/* @return false: out of memory */
static bool copy_take_entry(struct rh_ps_copy *copy, const struct rh_ps_store *store, struct rh_ps_entry *entry)
{
	size_t size = rh_ps_entry_size(store, entry);

	if (size > copy->entry_room) {
		uint8_t *data = realloc(copy->entry, size);

		if (!data)
			return false;
		copy->entry = data;
		copy->entry_room = size;
	}
	rh_ps_entry_write(store, entry, copy->entry);
	copy->entry_at = 0;
	copy->entry_length = size;
	entry->copied = copy->generation;
	return true;
}

/* @return bytes that were sent; 0: there is no room now */
static size_t copy_send_piece(struct rh_ps_copy *copy)
{
	size_t left = copy->entry_length - copy->entry_at;
	struct rh_ps_head head = {.kind = RH_PS_REC_PIECE};
	uint8_t *at;

	head.length = (uint32_t)(left < RH_PS_PART_MAX ? left : RH_PS_PART_MAX);
	head.flags = head.length == left ? RH_PS_LAST : 0;
	at = copy_put(copy, &head);
	if (!at)
		return 0;
	memcpy(at, copy->entry + copy->entry_at, head.length);
	copy->entry_at += head.length;
	return head.length;
}

static bool copy_complete(struct rh_ps_copy *copy, const struct rh_ps_store *store)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_COPIED};
	uint8_t *at;

	head.length = (uint32_t)((size_t)store->config.workers * sizeof(struct rh_ps_copy_worker));
	at = copy_put(copy, &head);
	if (!at)
		return false;
	copy_put_workers(store, at);
	copy->complete_at = copy->sent;
	copy->state = COPY_LIVE;
	return true;
}

/* Send entries, until enough is sent for now. @return whether there are more, and room */
static bool copy_move(struct rh_ps_copy *copy, const struct rh_ps_store *store)
{
	size_t moved = 0;

	while (moved < MOVE_BYTES) {
		struct rh_ps_entry *entry;
		size_t sent;

		if (copy->entry_at < copy->entry_length) {
			sent = copy_send_piece(copy);
			if (sent == 0)
				return false;
			moved += sent;
			continue;
		}
		entry = copy_next(copy, store);
		if (!entry)
			return !copy_complete(copy, store) && rh_ps_wire_fits(copy->wire, RH_PS_PART_MAX);
		if (!copy_take_entry(copy, store, entry)) {
			copy_lose(copy);
			return false;
		}
	}
	return true;
}

static void copy_flush(struct rh_ps_copy *copy)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = copy->plan.mark};

	if (rh_ps_wire_flush(copy->wire) < 0) {
		copy_lose(copy);
		return;
	}
	if (rh_ps_wire_unsent(copy->wire))
		event.events |= EPOLLOUT;
	if (event.events != copy->events &&
	    epoll_ctl(copy->plan.poller, EPOLL_CTL_MOD, rh_ps_wire_fd(copy->wire), &event) == 0)
		copy->events = event.events;
}

void rh_ps_copy_wake(struct rh_ps_copy *copy)
{
	copy->readable = true;
}

bool rh_ps_copy_turn(struct rh_ps_copy *copy, struct rh_ps_store *store, int64_t now)
{
	bool more = false;

	if (!copy)
		return false;
	copy->blocked = false;
	copy_adopt(copy, store);
	if (copy->state == COPY_IDLE && !copy->call && copy->note.peer.port > 0 && now >= copy->call_at)
		copy_call(copy, store);
	if (copy->wire)
		copy_receive(copy);
	if (copy->wire && copy->state == COPY_MOVING)
		more = copy_move(copy, store);
	return more && copy->wire;
}

void rh_ps_copy_flush(struct rh_ps_copy *copy)
{
	if (copy && copy->wire)
		copy_flush(copy);
}

bool rh_ps_copy_may_take(struct rh_ps_copy *copy)
{
	if (!copy || !copy->wire)
		return true;
	if (copy->entry_at >= copy->entry_length) {
		if (rh_ps_wire_fits(copy->wire, RH_PS_PART_MAX))
			return true;
		copy_flush(copy);
		if (!copy->wire || rh_ps_wire_fits(copy->wire, RH_PS_PART_MAX))
			return true;
	}
	copy->blocked = true;
	return false;
}

bool rh_ps_copy_is_blocked(const struct rh_ps_copy *copy)
{
	return copy && copy->blocked;
}

void rh_ps_copy_wait(struct rh_ps_copy *copy, int timeout)
{
	struct pollfd set = {.events = POLLIN};

	if (!copy->wire || !rh_ps_wire_sleep(copy->wire))
		return;
	set.fd = rh_ps_wire_fd(copy->wire);
	if (rh_ps_wire_unsent(copy->wire))
		set.events |= POLLOUT;
	if (poll(&set, 1, timeout) > 0)
		copy->readable = true;
}

/* Entries that are not sent yet will be sent as they are then. */
static bool copy_needs(const struct rh_ps_copy *copy, const struct rh_ps_store *store, const struct rh_ps_head *head)
{
	const struct rh_ps_entry *entry;

	if (copy->state == COPY_LIVE || head->kind == RH_PS_REC_SESSION || head->kind == RH_PS_REC_LEAVE ||
	    head->kind == RH_PS_REC_RATE)
		return true;
	entry = rh_ps_store_find(store, head->key, head->part);
	return entry && entry->copied == copy->generation;
}

void rh_ps_copy_add(struct rh_ps_copy *copy, const struct rh_ps_store *store, const struct rh_ps_head *head,
                    const uint8_t *payload)
{
	uint8_t *at;

	if (!copy || !copy->wire || !copy_needs(copy, store, head))
		return;
	at = copy_put(copy, head);
	if (!at)
		copy_lose(copy);
	else if (head->length > 0)
		memcpy(at, payload, head->length);
}

bool rh_ps_copy_gates(const struct rh_ps_copy *copy)
{
	return copy && (copy->state == COPY_LIVE || copy->state == COPY_STUCK);
}

uint64_t rh_ps_copy_sent(const struct rh_ps_copy *copy)
{
	/* what is taken while the backup is lost is not answered before the scheduler's decision */
	return copy->sent + (copy->state == COPY_STUCK);
}

uint64_t rh_ps_copy_acked(const struct rh_ps_copy *copy)
{
	return copy->acked;
}

bool rh_ps_copy_is_stuck(const struct rh_ps_copy *copy)
{
	return copy && copy->state == COPY_STUCK;
}

uint32_t rh_ps_copy_report(struct rh_ps_copy *copy, uint64_t *ret_term)
{
	uint32_t report = copy ? copy->report : 0;

	if (report == 0)
		return 0;
	copy->report = 0;
	*ret_term = copy->note.term;
	return report;
}

bool rh_ps_copy_is_calling(const struct rh_ps_copy *copy)
{
	return copy && copy->state == COPY_IDLE && copy->note.peer.port > 0;
}

bool rh_ps_copy_sleep(struct rh_ps_copy *copy)
{
	return !copy || !copy->wire || rh_ps_wire_sleep(copy->wire);
}
