/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: assigns numbers, and distributes the addresses of the servers once all are known (join.h). */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/ps/protocol/handshake.h"
#include "comm/ps/protocol/wire.h"
#include "comm/ps/scheduler/roles.h"

#define HELLO_TIMEOUT (10 * RH_COMM_SECOND)
#define TICK 100
/* Room for an address, its brackets, port and comma. */
#define PLACE (RH_PS_HOST_MAX + 16)
/* Room for the names of those who are waited for. */
#define NAMES 200

/* A server or a worker that is expected. */
struct slot {
	struct node *node; /* NULL: no process has it */
	bool taken;        /* a process had it */
	bool left;         /* in good order */
	int64_t lost;      /* when its connection ended */
	char place[PLACE]; /* of a server; "": not known yet */
};

enum node_phase { NODE_NEW, NODE_PROVING, NODE_ASSIGNED };

/* A connection. */
struct node {
	LIST_ENTRY(node) link;
	struct rh_ps_wire *wire;
	enum node_phase phase;
	bool broken;
	int64_t since;
	struct rh_ps_hello hello;
	uint8_t nonce[RH_PS_NONCE];
	struct slot *slot; /* NULL: none, or another process has taken it */
	char host[RH_PS_HOST_MAX];
};

struct rh_ps_scheduler {
	struct rh_ps_scheduler_settings settings;
	char *secret;
	char *backend;
	uint8_t digest[RH_COMM_DIGEST];
	struct slot *servers;
	struct slot *workers;
	struct pollfd *sets;
	size_t set_room;
	size_t node_count;
	int listener;
	int wake;
	_Atomic bool stop;
	bool complete; /* all have been there at the same time */
	int64_t until; /* for all to come */
	struct rh_comm_error failed;
	LIST_HEAD(, node) nodes;
};

static bool node_send(struct node *node, const struct rh_ps_head *pattern, const void *payload, size_t length)
{
	struct rh_ps_head head = *pattern;
	uint8_t *at;

	head.length = (uint32_t)length;
	at = rh_ps_wire_add(node->wire, &head);
	if (at && length > 0)
		memcpy(at, payload, length);
	/* who does not read a few lines is of no use */
	if (!at || rh_ps_wire_flush(node->wire) < 0)
		node->broken = true;
	return !node->broken;
}

static void node_refuse(struct node *node, const struct rh_comm_error *reason)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_REFUSED, .status = reason->code, .worker = reason->rank};

	(void)node_send(node, &head, reason->text, strlen(reason->text) + 1);
	node->broken = true;
}

static void node_free(struct rh_ps_scheduler *scheduler, struct node *node)
{
	if (node->slot) {
		node->slot->node = NULL;
		node->slot->lost = rh_comm_now();
	}
	LIST_REMOVE(node, link);
	scheduler->node_count--;
	rh_ps_wire_free(node->wire);
	free(node);
}

static void scheduler_accept(struct rh_ps_scheduler *scheduler)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	int fd = accept4(scheduler->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct node *node = fd < 0 ? NULL : calloc(1, sizeof(*node));

	if (node)
		node->wire = rh_ps_wire_new(fd);
	if (!node || !node->wire) {
		if (fd >= 0)
			(void)close(fd);
		free(node);
		return;
	}
	rh_comm_socket_watch_peer(fd, scheduler->settings.death_timeout);
	if (getnameinfo((struct sockaddr *)&address, length, node->host, sizeof(node->host), NULL, 0, NI_NUMERICHOST) != 0)
		node->host[0] = '\0';
	node->since = rh_comm_now();
	LIST_INSERT_HEAD(&scheduler->nodes, node, link);
	scheduler->node_count++;
}

static int32_t scheduler_check(const struct rh_ps_scheduler *scheduler, const struct rh_ps_hello *hello,
                               struct rh_comm_error *err)
{
	const struct rh_ps_scheduler_settings *settings = &scheduler->settings;
	bool server = hello->role == RH_PS_ROLE_SERVES;
	int32_t index = server ? hello->server : hello->worker;
	int32_t count = server ? settings->servers : settings->workers;

	if (hello->protocol != RH_PS_PROTOCOL || (!server && hello->role != RH_PS_ROLE_JOINS))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "this is a scheduler of protocol %d: use one version of the library", RH_PS_PROTOCOL);
	if (!rh_comm_digest_equal(hello->job, scheduler->digest))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the scheduler belongs to another job");
	if (strncmp(hello->backend, scheduler->backend, sizeof(hello->backend)) != 0)
		return rh_comm_fail(
			err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			"the scheduler is configured for the backend \"%s\" and this %s \"%.*s\": set RH_PS_BACKEND to the "
			"same everywhere",
			scheduler->backend, server ? "server" : "worker", RH_PS_BACKEND_MAX, hello->backend);
	if ((hello->servers != 0 && hello->servers != settings->servers) ||
	    (hello->workers != 0 && hello->workers != settings->workers) || index >= count || index < -1)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "the scheduler is configured for %d servers and %d workers, and this is %s %d of %d and %d",
		                    (int)settings->servers, (int)settings->workers, server ? "server" : "worker", (int)index,
		                    (int)hello->servers, (int)hello->workers);
	return 0;
}

/* A process without a number gets an unused one, or else that of a process that died. @return NULL: there is none */
static struct slot *scheduler_find_slot(const struct rh_ps_scheduler *scheduler, const struct rh_ps_hello *hello)
{
	bool server = hello->role == RH_PS_ROLE_SERVES;
	struct slot *slots = server ? scheduler->servers : scheduler->workers;
	int32_t count = server ? scheduler->settings.servers : scheduler->settings.workers;
	int32_t index = server ? hello->server : hello->worker;

	if (index >= 0)
		return &slots[index];
	for (int32_t i = 0; i < count; i++)
		if (!slots[i].taken)
			return &slots[i];
	for (int32_t i = 0; i < count; i++)
		if (!slots[i].node && !slots[i].left)
			return &slots[i];
	return NULL;
}

static bool scheduler_is_placed(const struct rh_ps_scheduler *scheduler)
{
	for (int32_t i = 0; i < scheduler->settings.servers; i++)
		if (!scheduler->servers[i].place[0])
			return false;
	return true;
}

/* @return the caller's; NULL: out of memory */
static char *scheduler_list(const struct rh_ps_scheduler *scheduler)
{
	/* there is at least one, which the compiler cannot see */
	size_t count = scheduler->settings.servers > 0 ? (size_t)scheduler->settings.servers : 1;
	char *list = calloc(count, PLACE);
	size_t at = 0;

	for (int32_t i = 0; list && i < scheduler->settings.servers; i++) {
		size_t length = strlen(scheduler->servers[i].place);

		if (i > 0)
			list[at++] = ',';
		memcpy(list + at, scheduler->servers[i].place, length);
		at += length;
	}
	return list;
}

/* @param node NULL: everybody */
static void scheduler_send_addresses(struct rh_ps_scheduler *scheduler, struct node *node)
{
	const struct rh_ps_head head = {.kind = RH_PS_REC_PLACES};
	char *list = scheduler_is_placed(scheduler) ? scheduler_list(scheduler) : NULL;
	struct node *at;

	if (!list)
		return;
	LIST_FOREACH(at, &scheduler->nodes, link)
	{
		if (at->phase == NODE_ASSIGNED && at->slot && (!node || node == at))
			(void)node_send(at, &head, list, strlen(list) + 1);
	}
	free(list);
}

static void scheduler_on_hello(struct rh_ps_scheduler *scheduler, struct node *node, const uint8_t *payload)
{
	const struct rh_ps_head head = {.kind = RH_PS_REC_CHALLENGE};
	struct rh_ps_challenge challenge;
	struct rh_comm_error err;

	memcpy(&node->hello, payload, sizeof(node->hello));
	if (scheduler_check(scheduler, &node->hello, &err) < 0) {
		node_refuse(node, &err);
		return;
	}
	rh_ps_random(node->nonce, sizeof(node->nonce));
	memcpy(challenge.nonce, node->nonce, sizeof(challenge.nonce));
	rh_ps_prove(scheduler->secret, "server", node->hello.nonce, &node->hello, challenge.proof);
	node->phase = NODE_PROVING;
	(void)node_send(node, &head, &challenge, sizeof(challenge));
}

/* A process that asks for a slot of another process replaces it: the replica was restarted. */
static void scheduler_assign(struct rh_ps_scheduler *scheduler, struct node *node)
{
	bool server = node->hello.role == RH_PS_ROLE_SERVES;
	struct rh_ps_assignment note = {.servers = scheduler->settings.servers, .workers = scheduler->settings.workers};
	struct slot *slot = scheduler_find_slot(scheduler, &node->hello);
	const struct rh_ps_head head = {.kind = RH_PS_REC_ASSIGN};
	struct rh_comm_error err;

	if (!slot) {
		(void)rh_comm_fail(&err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "all %d %s of this job have joined already",
		                   (int)(server ? note.servers : note.workers), server ? "servers" : "workers");
		node_refuse(node, &err);
		return;
	}
	note.index = (int32_t)(slot - (server ? scheduler->servers : scheduler->workers));
	if (slot->node) {
		(void)rh_comm_fail(&err, RH_COMM_EPEER, RH_COMM_NO_RANK, "another process has become %s %d",
		                   server ? "server" : "worker", (int)note.index);
		slot->node->slot = NULL;
		node_refuse(slot->node, &err);
	}
	slot->node = node;
	slot->taken = true;
	slot->left = false;
	node->slot = slot;
	node->phase = NODE_ASSIGNED;
	if (node_send(node, &head, &note, sizeof(note)) && !server)
		scheduler_send_addresses(scheduler, node);
}

static void scheduler_on_proof(struct rh_ps_scheduler *scheduler, struct node *node, const uint8_t *payload)
{
	uint8_t expected[RH_COMM_DIGEST];
	struct rh_comm_error err;

	rh_ps_prove(scheduler->secret, "worker", node->nonce, &node->hello, expected);
	if (rh_comm_digest_equal(payload, expected)) {
		scheduler_assign(scheduler, node);
		return;
	}
	(void)rh_comm_fail(&err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the scheduler has another secret");
	node_refuse(node, &err);
}

static void scheduler_on_place(struct rh_ps_scheduler *scheduler, struct node *node, const uint8_t *payload)
{
	struct rh_ps_place place;
	const char *host;

	memcpy(&place, payload, sizeof(place));
	place.host[sizeof(place.host) - 1] = '\0';
	host = place.host[0] ? place.host : node->host;
	/* a list is a text */
	if (strpbrk(host, ",[] ") || !host[0] || place.port < 1 || place.port > UINT16_MAX) {
		node->broken = true;
		return;
	}
	(void)snprintf(node->slot->place, PLACE, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, (int)place.port);
	scheduler_send_addresses(scheduler, NULL);
}

static void node_on_leave(struct node *node)
{
	if (node->slot) {
		node->slot->left = true;
		node->slot->node = NULL;
		node->slot = NULL;
	}
	node->broken = true;
}

static void scheduler_on_record(struct rh_ps_scheduler *scheduler, struct node *node, const struct rh_ps_head *head,
                                const uint8_t *payload)
{
	bool server = node->hello.role == RH_PS_ROLE_SERVES;

	if (node->phase == NODE_NEW && head->kind == RH_PS_REC_HELLO && head->length == sizeof(node->hello))
		scheduler_on_hello(scheduler, node, payload);
	else if (node->phase == NODE_PROVING && head->kind == RH_PS_REC_PROOF && head->length == RH_COMM_DIGEST)
		scheduler_on_proof(scheduler, node, payload);
	else if (node->slot && head->kind == RH_PS_REC_LEAVE)
		node_on_leave(node);
	else if (node->slot && server && head->kind == RH_PS_REC_PLACE && head->length == sizeof(struct rh_ps_place))
		scheduler_on_place(scheduler, node, payload);
	else
		node->broken = true;
}

static void scheduler_serve(struct rh_ps_scheduler *scheduler, struct node *node, short events)
{
	const uint8_t *payload;
	struct rh_ps_head head;
	bool gone = false;
	int32_t r;

	if (events != 0)
		gone = rh_ps_wire_fill(node->wire) < 0;
	while (!node->broken && (r = rh_ps_wire_next(node->wire, &head, &payload)) != 0) {
		if (r < 0) {
			node->broken = true;
			break;
		}
		scheduler_on_record(scheduler, node, &head, payload);
		rh_ps_wire_drop(node->wire);
	}
	if (rh_ps_wire_flush(node->wire) < 0 || gone)
		node->broken = true;
	if (node->phase != NODE_ASSIGNED && rh_comm_now() - node->since > HELLO_TIMEOUT)
		node->broken = true;
}

/* Names of those slots that are not (or no more) taken, from the first on. @return how many those are */
static int32_t scheduler_list_missing(const struct slot *slots, int32_t count, const char *what, char *names)
{
	size_t length = strlen(names);
	int32_t missing = 0;

	for (int32_t i = 0; i < count; i++) {
		if (slots[i].node || slots[i].left)
			continue;
		missing++;
		if (length < NAMES - 40)
			length += (size_t)snprintf(names + length, NAMES - length, "%s%s %d", length > 0 ? ", " : "", what, (int)i);
	}
	return missing;
}

static bool scheduler_is_complete(const struct rh_ps_scheduler *scheduler, char *names)
{
	const struct rh_ps_scheduler_settings *settings = &scheduler->settings;
	int32_t servers = scheduler_list_missing(scheduler->servers, settings->servers, "server", names);
	int32_t workers = scheduler_list_missing(scheduler->workers, settings->workers, "worker", names);

	return servers + workers == 0 && scheduler_is_placed(scheduler);
}

/* @return the index of one that has died and did not come back in time; -1: none */
static int32_t scheduler_find_lost(const struct slot *slots, int32_t count, int64_t before)
{
	for (int32_t i = 0; i < count; i++)
		if (slots[i].taken && !slots[i].node && !slots[i].left && slots[i].lost <= before)
			return i;
	return -1;
}

static bool scheduler_all_left(const struct rh_ps_scheduler *scheduler)
{
	for (int32_t i = 0; i < scheduler->settings.workers; i++)
		if (!scheduler->workers[i].left)
			return false;
	return true;
}

static void scheduler_check_lost(struct rh_ps_scheduler *scheduler, int64_t now)
{
	int64_t before = now - scheduler->settings.grace;
	int32_t server = scheduler_find_lost(scheduler->servers, scheduler->settings.servers, before);
	int32_t worker = scheduler_find_lost(scheduler->workers, scheduler->settings.workers, before);

	if (server >= 0)
		(void)rh_comm_fail(&scheduler->failed, RH_COMM_EPEER, server, "server %d at %s died and did not come back",
		                   (int)server, scheduler->servers[server].place);
	else if (worker >= 0)
		(void)rh_comm_fail(&scheduler->failed, RH_COMM_EPEER, worker, "worker %d died and did not come back",
		                   (int)worker);
}

/* Who is missing at the beginning, and who has been lost later. */
static void scheduler_tick(struct rh_ps_scheduler *scheduler)
{
	char names[NAMES] = "";
	int64_t now = rh_comm_now();

	if (scheduler->complete) {
		scheduler_check_lost(scheduler, now);
		return;
	}
	scheduler->complete = scheduler_is_complete(scheduler, names);
	if (!scheduler->complete && now >= scheduler->until)
		(void)rh_comm_fail(&scheduler->failed, RH_COMM_ETIME, RH_COMM_NO_RANK, "%s did not come in time",
		                   names[0] ? names : "an address of a server");
}

static bool scheduler_make_sets(struct rh_ps_scheduler *scheduler)
{
	size_t count = scheduler->node_count + 2;
	struct pollfd *sets = scheduler->sets;
	const struct node *node;
	size_t i = 2;

	if (count > scheduler->set_room) {
		sets = realloc(sets, 2 * count * sizeof(*sets));
		if (!sets)
			return false;
		scheduler->sets = sets;
		scheduler->set_room = 2 * count;
	}
	sets[0] = (struct pollfd){.fd = scheduler->listener, .events = POLLIN};
	sets[1] = (struct pollfd){.fd = scheduler->wake, .events = POLLIN};
	LIST_FOREACH(node, &scheduler->nodes, link)
	{
		sets[i] = (struct pollfd){.fd = rh_ps_wire_fd(node->wire), .events = POLLIN};
		if (rh_ps_wire_unsent(node->wire))
			sets[i].events |= POLLOUT;
		i++;
	}
	return true;
}

static void scheduler_turn(struct rh_ps_scheduler *scheduler)
{
	struct node *node;
	struct node *next;
	size_t i = 2;

	if (!scheduler_make_sets(scheduler)) {
		(void)rh_comm_fail(&scheduler->failed, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
		return;
	}
	if (poll(scheduler->sets, scheduler->node_count + 2, TICK) < 0 && errno != EINTR)
		(void)rh_comm_fail_os(&scheduler->failed, errno, "scheduler");
	LIST_FOREACH(node, &scheduler->nodes, link)
	scheduler_serve(scheduler, node, scheduler->sets[i++].revents);
	for (node = LIST_FIRST(&scheduler->nodes); node; node = next) {
		next = LIST_NEXT(node, link);
		if (node->broken)
			node_free(scheduler, node);
	}
	if (scheduler->sets[0].revents)
		scheduler_accept(scheduler);
	scheduler_tick(scheduler);
}

/* Every process gets the reason for the end of the job. */
static void scheduler_give_up(struct rh_ps_scheduler *scheduler)
{
	struct rh_comm_error reason = scheduler->failed;
	struct node *node;

	(void)snprintf(reason.text, sizeof(reason.text), "the scheduler gives up: %.400s", scheduler->failed.text);
	LIST_FOREACH(node, &scheduler->nodes, link)
	node_refuse(node, &reason);
}

int32_t rh_ps_scheduler_run(struct rh_ps_scheduler *scheduler, struct rh_comm_error *err)
{
	if (scheduler->settings.init_timeout == RH_COMM_NEVER)
		scheduler->until = RH_COMM_NEVER;
	else
		scheduler->until = rh_comm_now() + scheduler->settings.init_timeout;
	while (!atomic_load(&scheduler->stop) && scheduler->failed.code == 0 && !scheduler_all_left(scheduler))
		scheduler_turn(scheduler);
	atomic_store(&scheduler->stop, false);
	if (scheduler->failed.code < 0)
		scheduler_give_up(scheduler);
	if (scheduler->failed.code < 0 && err)
		*err = scheduler->failed;
	return scheduler->failed.code;
}

/* What it needs later is its own. */
static int32_t scheduler_open(struct rh_ps_scheduler *scheduler, struct rh_comm_error *err)
{
	const struct rh_ps_scheduler_settings *settings = &scheduler->settings;
	struct rh_comm_listener listener;
	int32_t r;

	scheduler->secret = strdup(settings->secret);
	scheduler->backend = strdup(settings->backend);
	scheduler->servers = calloc((size_t)settings->servers, sizeof(*scheduler->servers));
	scheduler->workers = calloc((size_t)settings->workers, sizeof(*scheduler->workers));
	if (!scheduler->secret || !scheduler->backend || !scheduler->servers || !scheduler->workers)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	rh_ps_job_digest(settings->job, scheduler->digest);
	scheduler->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (scheduler->wake < 0)
		return rh_comm_fail_os(err, errno, "scheduler");
	r = rh_comm_socket_listen(settings->host, settings->port, &listener, err);
	if (r < 0)
		return r;
	scheduler->listener = listener.fd;
	scheduler->settings.port = listener.port;
	return 0;
}

int32_t rh_ps_scheduler_new(const struct rh_ps_scheduler_options *options, struct rh_ps_scheduler **ret_scheduler,
                            struct rh_comm_error *err)
{
	const struct rh_comm_variables variables = {rh_ps_getenv, NULL};
	struct rh_ps_scheduler *scheduler = calloc(1, sizeof(*scheduler));
	int32_t r;

	if (!scheduler)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	scheduler->listener = -1;
	scheduler->wake = -1;
	r = rh_ps_scheduler_settings_read(options, &variables, &scheduler->settings, err);
	if (r == 0)
		r = scheduler_open(scheduler, err);
	if (r < 0) {
		rh_ps_scheduler_free(scheduler);
		return r;
	}
	*ret_scheduler = scheduler;
	return 0;
}

int32_t rh_ps_scheduler_port(const struct rh_ps_scheduler *scheduler)
{
	return scheduler->settings.port;
}

void rh_ps_scheduler_stop(struct rh_ps_scheduler *scheduler)
{
	static const uint64_t one = 1;

	atomic_store(&scheduler->stop, true);
	(void)!write(scheduler->wake, &one, sizeof(one));
}

void rh_ps_scheduler_free(struct rh_ps_scheduler *scheduler)
{
	if (!scheduler)
		return;
	while (!LIST_EMPTY(&scheduler->nodes))
		node_free(scheduler, LIST_FIRST(&scheduler->nodes));
	if (scheduler->listener >= 0)
		(void)close(scheduler->listener);
	if (scheduler->wake >= 0)
		(void)close(scheduler->wake);
	free(scheduler->sets);
	free(scheduler->servers);
	free(scheduler->workers);
	free(scheduler->secret);
	free(scheduler->backend);
	free(scheduler);
}
