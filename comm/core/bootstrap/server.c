/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/server.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/bootstrap/server_diagnosis.h"
#include "comm/core/bootstrap/server_handshake.h"
#include "comm/core/bootstrap/server_liveness.h"
#include "comm/core/bootstrap/server_pace.h"
#include "comm/core/bootstrap/server_peers.h"
#include "comm/core/bootstrap/server_store.h"
#include "comm/core/error.h"
#include "comm/core/thread.h"

/* Time limit of the handshake of a connection. */
#define SERVER_HELLO_TIMEOUT (10 * RH_COMM_SECOND)
#define SERVER_TICK (RH_COMM_SECOND / 2)
#define SERVER_TICK_LATE (RH_COMM_SECOND / 20)
/* Connections beyond the world's ranks, for those that are not ranks (yet). */
#define SERVER_STRANGERS 64

static void server_peer_free(struct server_peer *peer)
{
	if (peer->fd >= 0)
		(void)close(peer->fd);
	rh_comm_buffer_deinit(&peer->in);
	rh_comm_buffer_deinit(&peer->out);
	free(peer->pace);
	free(peer);
}

static void server_on_member_frame(struct rh_comm_server *server, struct server_peer *peer, uint32_t kind,
                                   const uint8_t *payload, size_t length)
{
	switch (kind) {
	case RH_COMM_FRAME_PUT:
		rh_comm_server_on_put(server, peer, payload, length);
		break;
	case RH_COMM_FRAME_GET:
		rh_comm_server_on_get(server, peer, payload, length);
		break;
	case RH_COMM_FRAME_BEAT:
		rh_comm_server_on_beat(server, peer, payload, length);
		break;
	case RH_COMM_FRAME_END:
		rh_comm_server_on_end(server, peer, payload, length);
		break;
	case RH_COMM_FRAME_STALLED:
		rh_comm_server_on_stalled(server, peer, payload, length);
		break;
	case RH_COMM_FRAME_ANSWER:
		rh_comm_server_on_answer(server, peer, payload, length);
		break;
	case RH_COMM_FRAME_GONE:
		rh_comm_server_on_gone(server, peer, payload, length);
		break;
	case RH_COMM_FRAME_PACE:
		rh_comm_server_on_pace(server, peer, payload, length);
		break;
	case RH_COMM_FRAME_LEAVE:
		rh_comm_server_on_leave(server, peer, payload, length);
		break;
	default:
		break;
	}
}

static void server_on_frame(struct rh_comm_server *server, struct server_peer *peer, uint32_t kind,
                            const uint8_t *payload, size_t length)
{
	if (peer->stage == SERVER_MEMBER)
		server_on_member_frame(server, peer, kind, payload, length);
	else
		rh_comm_server_handshake(server, peer, kind, payload, length);
}

static void server_read(struct rh_comm_server *server, struct server_peer *peer)
{
	int64_t n = rh_comm_buffer_read(&peer->in, peer->fd);
	int number = errno;
	const uint8_t *payload;
	uint32_t kind;
	size_t length;
	int32_t r;

	while ((r = rh_comm_frame_look(&peer->in, &kind, &payload, &length)) > 0) {
		server_on_frame(server, peer, kind, payload, length);
		rh_comm_frame_drop(&peer->in);
	}
	if (n < 0 || r < 0)
		rh_comm_server_lose(server, peer, n < 0 ? number : 0);
}

static void server_write(struct rh_comm_server *server, struct server_peer *peer)
{
	int32_t r = rh_comm_buffer_write(&peer->out, peer->fd);

	if (r < 0)
		rh_comm_server_lose(server, peer, errno);
	else if (peer->stage == SERVER_REFUSED && peer->out.length == 0)
		rh_comm_server_lose(server, peer, 0);
}

static void server_accept(struct rh_comm_server *server)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	int fd = accept4(server->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct server_peer **peers = rh_comm_server_grow(server->peers, server->peer_count, sizeof(struct server_peer *));
	struct server_peer *peer = calloc(1, sizeof(*peer));

	if (peers)
		server->peers = peers;
	server->full = fd < 0 && (errno == EMFILE || errno == ENFILE);
	if (fd < 0 || !peers || !peer || server->peer_count >= (size_t)server->world + SERVER_STRANGERS) {
		if (fd >= 0)
			(void)close(fd);
		free(peer);
		return;
	}
	peer->fd = fd;
	peer->since = rh_comm_now();
	(void)getnameinfo((struct sockaddr *)&address, length, peer->address, sizeof(peer->address), NULL, 0,
	                  NI_NUMERICHOST);
	rh_comm_socket_watch_peer(fd, server->death_timeout);
	server->peers[server->peer_count++] = peer;
}

/* Forget connections that are closed, but for ranks: their last heartbeat is still of use. */
static void server_sweep(struct rh_comm_server *server, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < server->peer_count; i++) {
		struct server_peer *peer = server->peers[i];
		bool late = peer->stage < SERVER_MEMBER && now - peer->since > SERVER_HELLO_TIMEOUT;

		if (!rh_comm_server_is_rank(peer) && (peer->fd < 0 || late))
			server_peer_free(peer);
		else
			server->peers[kept++] = peer;
	}
	server->peer_count = kept;
}

/* Room for the maximum that server_accept() admits: the server continues when memory is exhausted. */
static struct pollfd *server_poll_set(const struct rh_comm_server *server)
{
	struct pollfd *set = server->set;

	set[0] = (struct pollfd){.fd = server->wake, .events = POLLIN};
	set[1] = (struct pollfd){.fd = server->full ? -1 : server->listener, .events = POLLIN};
	for (size_t i = 0; i < server->peer_count; i++) {
		set[i + 2].fd = server->peers[i]->fd;
		set[i + 2].events = (short)(POLLIN | (server->peers[i]->out.length > 0 ? POLLOUT : 0));
	}
	return set;
}

static void server_serve(struct rh_comm_server *server, const struct pollfd *set)
{
	size_t count = server->peer_count;

	for (size_t i = 0; i < count; i++) {
		if (set[i + 2].revents && server->peers[i]->fd >= 0)
			server_read(server, server->peers[i]);
	}
	if (set[1].revents)
		server_accept(server);
	for (size_t i = 0; i < server->peer_count; i++) {
		if (server->peers[i]->fd >= 0 && server->peers[i]->out.length > 0)
			server_write(server, server->peers[i]);
	}
}

/* @param ready how many of the set are ready. @return when it must be called again at the latest */
static int64_t server_turn(struct rh_comm_server *server, const struct pollfd *set, int ready, int64_t tick)
{
	if (ready > 0)
		server_serve(server, set);
	if (rh_comm_now() < tick && server->inquiry.since == 0)
		return tick;
	rh_comm_server_check_liveness(server, rh_comm_now());
	rh_comm_server_judge_pace(server, rh_comm_now());
	server_sweep(server, rh_comm_now());
	server->full = false;
	return rh_comm_now() + SERVER_TICK;
}

static bool server_has_members(const struct rh_comm_server *server)
{
	for (size_t i = 0; i < server->peer_count; i++) {
		if (server->peers[i]->stage == SERVER_MEMBER)
			return true;
	}
	return false;
}

/*
 * Rank 0 has waited for the others as long as it does. They lose the server now, and would take the connection that
 * closes for a death.
 */
static void server_close(struct rh_comm_server *server)
{
	const struct server_peer *host = rh_comm_server_find(server, 0);
	struct rh_comm_end end = {
		.code = RH_COMM_EPEER,
		.rank = 0,
		.text = "rank 0 has left, and the world ends with it: the others did not leave within RH_COMM_DEATH_TIMEOUT"};

	if (!host || host->stage != SERVER_LEFT || !server_has_members(server))
		return;
	rh_comm_server_end(server, &end);
	for (size_t i = 0; i < server->peer_count; i++) {
		if (server->peers[i]->fd >= 0)
			(void)rh_comm_buffer_write(&server->peers[i]->out, server->peers[i]->fd);
	}
}

static void *server_run(void *arg)
{
	struct rh_comm_server *server = arg;
	int64_t tick = rh_comm_now() + SERVER_TICK;

	for (;;) {
		int64_t now = rh_comm_now();
		int64_t left = server->inquiry.since > 0 ? SERVER_TICK_LATE : tick > now ? tick - now : 0;
		struct pollfd *set = server_poll_set(server);
		int ready = poll(set, (nfds_t)server->peer_count + 2, (int)(left / 1000) + 1);

		bool ends = ready > 0 && set[0].revents;

		(void)pthread_mutex_lock(&server->lock);
		if (ends)
			server_close(server);
		else
			tick = server_turn(server, set, ready, tick);
		(void)pthread_mutex_unlock(&server->lock);
		if (ends)
			return NULL;
	}
}

void rh_comm_server_fork_prepare(struct rh_comm_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
}

void rh_comm_server_fork_parent(struct rh_comm_server *server)
{
	(void)pthread_mutex_unlock(&server->lock);
}

void rh_comm_server_fork_child(struct rh_comm_server *server)
{
	for (size_t i = 0; i < server->peer_count; i++) {
		if (server->peers[i]->fd >= 0)
			(void)close(server->peers[i]->fd);
		server->peers[i]->fd = -1;
	}
	(void)close(server->listener);
	(void)close(server->wake);
	server->listener = -1;
	server->wake = -1;
}

static int32_t server_start(struct rh_comm_server *server, const struct rh_comm_env *env, struct rh_comm_error *err)
{
	struct rh_comm_listener listener;
	struct rh_comm_sha256 hash;
	int r;

	rh_comm_sha256_init(&hash);
	rh_comm_sha256_add(&hash, env->job, strlen(env->job));
	rh_comm_sha256_end(&hash, server->job);
	server->secret = strdup(env->secret);
	server->wake = eventfd(0, EFD_CLOEXEC);
	server->set = calloc((size_t)server->world + SERVER_STRANGERS + 2, sizeof(*server->set));
	if (!server->set)
		errno = ENOMEM;
	if (!server->secret || !server->set || server->wake < 0)
		return rh_comm_fail_os(err, errno, "rh_comm");
	r = rh_comm_socket_listen(env->host, env->port, &listener, err);
	if (r < 0)
		return r;
	server->listener = listener.fd;
	server->port = listener.port;
	(void)snprintf(server->host, sizeof(server->host), "%s", listener.host);
	r = rh_comm_thread_start(&server->thread, server_run, server);
	return r == 0 ? 0 : rh_comm_fail_os(err, r, "a thread for the rendezvous server");
}

static void server_release(struct rh_comm_server *server)
{
	for (size_t i = 0; i < server->peer_count; i++)
		server_peer_free(server->peers[i]);
	rh_comm_server_store_deinit(server);
	rh_comm_server_diagnosis_deinit(server);
	free(server->peers);
	free(server->gone);
	free(server->set);
	free(server->secret);
	(void)pthread_mutex_destroy(&server->lock);
	if (server->listener >= 0)
		(void)close(server->listener);
	if (server->wake >= 0)
		(void)close(server->wake);
	free(server);
}

int32_t rh_comm_server_new(const struct rh_comm_env *env, struct rh_comm_server **ret_server, struct rh_comm_error *err)
{
	struct rh_comm_server *server = calloc(1, sizeof(*server));
	int32_t r;

	if (!server)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	(void)pthread_mutex_init(&server->lock, NULL);
	server->listener = -1;
	server->wake = -1;
	server->world = env->world;
	server->death_timeout = env->death_timeout;
	server->log = env->log;
	server->slow = env->slow;
	server->pace.found.late = RH_COMM_NO_RANK;
	r = server_start(server, env, err);
	if (r < 0) {
		server_release(server);
		return r;
	}
	*ret_server = server;
	return 0;
}

int32_t rh_comm_server_port(const struct rh_comm_server *server)
{
	return server->port;
}

void rh_comm_server_pace(struct rh_comm_server *server, struct rh_comm_pace *ret_pace)
{
	(void)pthread_mutex_lock(&server->lock);
	*ret_pace = server->pace.found;
	(void)pthread_mutex_unlock(&server->lock);
}

const char *rh_comm_server_host(const struct rh_comm_server *server)
{
	return server->host;
}

void rh_comm_server_free(struct rh_comm_server *server)
{
	static const uint64_t one = 1;

	if (!server)
		return;
	while (write(server->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	(void)pthread_join(server->thread, NULL);
	server_release(server);
}
