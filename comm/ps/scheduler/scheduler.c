/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: assigns numbers, and distributes the addresses of the servers once all are known (join.h). */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/ps/scheduler/slots.h"

#define HELLO_TIMEOUT (10 * RH_COMM_SECOND)
#define TICK 100

static void node_free(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node)
{
	struct rh_ps_slot *slot = node->slot;

	LIST_REMOVE(node, link);
	scheduler->node_count--;
	rh_ps_wire_free(node->wire);
	free(node);
	if (!slot)
		return;
	slot->node = NULL;
	slot->lost = rh_comm_now();
	rh_ps_slots_lose(scheduler, slot);
}

static void scheduler_accept(struct rh_ps_scheduler *scheduler)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	int fd = accept4(scheduler->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct rh_ps_node *node = fd < 0 ? NULL : calloc(1, sizeof(*node));

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

	if (hello->protocol != RH_PS_PROTOCOL)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "the scheduler uses protocol %d and this process protocol %u: use one version of the "
		                    "library everywhere",
		                    RH_PS_PROTOCOL, hello->protocol);
	if (!server && hello->role != RH_PS_ROLE_JOINS)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "this is the scheduler, not a server: set RH_PS_SERVERS to the addresses of the servers");
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

static void scheduler_on_hello(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node,
                               const struct rh_ps_head *from, const uint8_t *payload)
{
	const struct rh_ps_head head = {.kind = RH_PS_REC_CHALLENGE};
	struct rh_ps_challenge challenge;
	struct rh_comm_error err;

	if (!rh_ps_hello_read(&node->hello, payload, from->length)) {
		node->broken = true;
		return;
	}
	if (scheduler_check(scheduler, &node->hello, &err) < 0) {
		rh_ps_node_refuse(node, &err);
		return;
	}
	rh_ps_random(node->nonce, sizeof(node->nonce));
	memcpy(challenge.nonce, node->nonce, sizeof(challenge.nonce));
	rh_ps_prove(scheduler->secret, "server", node->hello.nonce, &node->hello, challenge.proof);
	node->phase = RH_PS_NODE_PROVING;
	(void)rh_ps_node_send(node, &head, &challenge, sizeof(challenge));
}

/* A process that asks for a slot of another process replaces it: the replica was restarted. */
static void scheduler_assign(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node)
{
	bool server = node->hello.role == RH_PS_ROLE_SERVES;
	struct rh_ps_assignment note = {.servers = scheduler->settings.servers,
	                                .workers = scheduler->settings.workers,
	                                .replicas = scheduler->settings.replicas};
	struct rh_ps_slot *slot = rh_ps_slots_find(scheduler, &node->hello);
	const struct rh_ps_head head = {.kind = RH_PS_REC_ASSIGN};
	struct rh_comm_error err;

	if (!slot) {
		(void)rh_comm_fail(&err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "all %d %s of this job have joined already",
		                   (int)(server ? rh_ps_slots_servers(scheduler) : note.workers),
		                   server ? "servers" : "workers");
		rh_ps_node_refuse(node, &err);
		return;
	}
	note.index = (int32_t)(slot - (server ? scheduler->servers : scheduler->workers));
	if (server)
		note.index %= scheduler->settings.servers;
	if (slot->node) {
		(void)rh_comm_fail(&err, RH_COMM_EPEER, RH_COMM_NO_RANK, "another process has become %s %d",
		                   server ? "server" : "worker", (int)note.index);
		slot->node->slot = NULL;
		rh_ps_node_refuse(slot->node, &err);
	}
	slot->node = node;
	slot->taken = true;
	slot->left = false;
	node->slot = slot;
	node->phase = RH_PS_NODE_ASSIGNED;
	if (rh_ps_node_send(node, &head, &note, sizeof(note)) && !server)
		rh_ps_slots_send(scheduler, node);
}

static void scheduler_on_proof(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node, const uint8_t *payload)
{
	uint8_t expected[RH_COMM_DIGEST];
	struct rh_comm_error err;

	rh_ps_prove(scheduler->secret, "worker", node->nonce, &node->hello, expected);
	if (rh_comm_digest_equal(payload, expected)) {
		scheduler_assign(scheduler, node);
		return;
	}
	(void)rh_comm_fail(&err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the scheduler has another secret");
	rh_ps_node_refuse(node, &err);
}

static void scheduler_on_place(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node, const uint8_t *payload)
{
	struct rh_ps_place place;

	memcpy(&place, payload, sizeof(place));
	if (!place.host[0])
		rh_ps_place_set(&place, node->host, place.port);
	if (!rh_ps_place_is_sane(&place)) {
		node->broken = true;
		return;
	}
	node->slot->place = place;
	rh_ps_slots_come(scheduler, node->slot);
}

static void node_on_leave(struct rh_ps_node *node)
{
	if (node->slot) {
		node->slot->left = true;
		node->slot->node = NULL;
		node->slot = NULL;
	}
	node->broken = true;
}

static void scheduler_on_record(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node,
                                const struct rh_ps_head *head, const uint8_t *payload)
{
	bool server = node->hello.role == RH_PS_ROLE_SERVES;

	if (node->phase == RH_PS_NODE_NEW && head->kind == RH_PS_REC_HELLO)
		scheduler_on_hello(scheduler, node, head, payload);
	else if (node->phase == RH_PS_NODE_PROVING && head->kind == RH_PS_REC_PROOF && head->length == RH_COMM_DIGEST)
		scheduler_on_proof(scheduler, node, payload);
	else if (node->slot && head->kind == RH_PS_REC_LEAVE)
		node_on_leave(node);
	else if (node->slot && server && head->kind == RH_PS_REC_PLACE && head->length == sizeof(struct rh_ps_place))
		scheduler_on_place(scheduler, node, payload);
	else if (node->slot && server && (head->kind == RH_PS_REC_SYNCED || head->kind == RH_PS_REC_ALONE))
		rh_ps_slots_report(scheduler, node->slot, head);
	else
		node->broken = true;
}

static void scheduler_serve(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node, short events)
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
	if (node->phase != RH_PS_NODE_ASSIGNED && rh_comm_now() - node->since > HELLO_TIMEOUT)
		node->broken = true;
}

static bool scheduler_is_complete(const struct rh_ps_scheduler *scheduler, char *names)
{
	return rh_ps_slots_list_missing(scheduler, names) == 0 && rh_ps_slots_are_placed(scheduler);
}

static bool scheduler_all_left(const struct rh_ps_scheduler *scheduler)
{
	for (int32_t i = 0; i < scheduler->settings.workers; i++)
		if (!scheduler->workers[i].left)
			return false;
	return true;
}

/* Who is missing at the beginning, and who has been lost later. */
static void scheduler_tick(struct rh_ps_scheduler *scheduler)
{
	char names[RH_PS_NAMES_MAX] = "";
	int64_t now = rh_comm_now();

	if (scheduler->complete) {
		rh_ps_slots_check_lost(scheduler, now);
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
	const struct rh_ps_node *node;
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
	struct rh_ps_node *node;
	struct rh_ps_node *next;
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
	struct rh_ps_node *node;

	(void)snprintf(reason.text, sizeof(reason.text), "the scheduler gives up: %.400s", scheduler->failed.text);
	LIST_FOREACH(node, &scheduler->nodes, link)
	rh_ps_node_refuse(node, &reason);
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
	scheduler->servers = calloc((size_t)rh_ps_slots_servers(scheduler), sizeof(*scheduler->servers));
	scheduler->shards = calloc((size_t)settings->servers, sizeof(*scheduler->shards));
	scheduler->workers = calloc((size_t)settings->workers, sizeof(*scheduler->workers));
	if (!scheduler->secret || !scheduler->backend || !scheduler->servers || !scheduler->shards || !scheduler->workers)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	for (int32_t i = 0; i < settings->servers; i++)
		rh_ps_shard_init(&scheduler->shards[i]);
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
	struct rh_ps_node *node;

	if (!scheduler)
		return;
	/* what ends with the scheduler has not died: nothing is decided any more */
	LIST_FOREACH(node, &scheduler->nodes, link)
	node->slot = NULL;
	while (!LIST_EMPTY(&scheduler->nodes))
		node_free(scheduler, LIST_FIRST(&scheduler->nodes));
	if (scheduler->listener >= 0)
		(void)close(scheduler->listener);
	if (scheduler->wake >= 0)
		(void)close(scheduler->wake);
	free(scheduler->sets);
	free(scheduler->servers);
	free(scheduler->shards);
	free(scheduler->workers);
	free(scheduler->secret);
	free(scheduler->backend);
	free(scheduler);
}
