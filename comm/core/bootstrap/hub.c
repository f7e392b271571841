/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/hub.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/hub_parts.h"
#include "comm/core/bootstrap/socket.h"
#include "comm/core/error.h"
#include "comm/core/thread.h"

/* Who has connected has so long to say who it is. */
#define HUB_HELLO_TIMEOUT (10 * RH_COMM_SECOND)
#define HUB_TICK (RH_COMM_SECOND / 2)
#define HUB_TICK_LATE (RH_COMM_SECOND / 20)
/* Connections that are no ranks (yet), beyond the world's. */
#define HUB_STRANGERS 64

/* Room for one more item of an array that grows by doubling, when count is a power of two. */
void *rh_comm_hub_grow(void *items, size_t count, size_t size)
{
	if (count > 0 && (count & (count - 1)) != 0)
		return items;
	return realloc(items, (count > 0 ? count * 2 : 1) * size);
}

static void hub_peer_free(struct hub_peer *peer)
{
	if (peer->fd >= 0)
		(void)close(peer->fd);
	rh_comm_buffer_deinit(&peer->in);
	rh_comm_buffer_deinit(&peer->out);
	free(peer);
}

bool rh_comm_hub_is_rank(const struct hub_peer *peer)
{
	return peer->stage == HUB_MEMBER || peer->stage == HUB_LEFT;
}

/* What cannot be told for want of memory leaves a rank waiting until its time limit: so its line is cut instead. */
void rh_comm_hub_send(struct hub_peer *peer, uint32_t kind, const void *head, size_t head_length, const void *data,
                      size_t length)
{
	if (peer->fd >= 0 && rh_comm_frame_add(&peer->out, kind, head, head_length, data, length) < 0)
		(void)shutdown(peer->fd, SHUT_RDWR);
}

void rh_comm_hub_broadcast(struct rh_comm_hub *hub, uint32_t kind, const void *data, size_t length)
{
	for (size_t i = 0; i < hub->peer_count; i++) {
		if (rh_comm_hub_is_rank(hub->peers[i]))
			rh_comm_hub_send(hub->peers[i], kind, data, length, NULL, 0);
	}
}

struct hub_peer *rh_comm_hub_find(const struct rh_comm_hub *hub, int32_t rank)
{
	for (size_t i = 0; i < hub->peer_count; i++) {
		if (rh_comm_hub_is_rank(hub->peers[i]) && hub->peers[i]->hello.rank == rank)
			return hub->peers[i];
	}
	return NULL;
}

static void hub_on_member_frame(struct rh_comm_hub *hub, struct hub_peer *peer, uint32_t kind, const uint8_t *payload,
                                size_t length)
{
	switch (kind) {
	case RH_COMM_FRAME_PUT:
		rh_comm_hub_on_put(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_GET:
		rh_comm_hub_on_get(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_BEAT:
		rh_comm_hub_on_beat(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_END:
		rh_comm_hub_on_end(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_ANSWER:
		rh_comm_hub_on_answer(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_GONE:
		rh_comm_hub_on_gone(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_LEAVE:
		rh_comm_hub_on_leave(hub, peer, payload, length);
		break;
	default:
		break;
	}
}

static void hub_on_frame(struct rh_comm_hub *hub, struct hub_peer *peer, uint32_t kind, const uint8_t *payload,
                         size_t length)
{
	if (peer->stage == HUB_MEMBER)
		hub_on_member_frame(hub, peer, kind, payload, length);
	else
		rh_comm_hub_greet(hub, peer, kind, payload, length);
}

static void hub_read(struct rh_comm_hub *hub, struct hub_peer *peer)
{
	int64_t n = rh_comm_buffer_read(&peer->in, peer->fd);
	int number = errno;
	const uint8_t *payload;
	uint32_t kind;
	size_t length;
	int32_t r;

	while ((r = rh_comm_frame_look(&peer->in, &kind, &payload, &length)) > 0) {
		hub_on_frame(hub, peer, kind, payload, length);
		rh_comm_frame_drop(&peer->in);
	}
	if (n < 0 || r < 0)
		rh_comm_hub_lose(hub, peer, n < 0 ? number : 0);
}

static void hub_write(struct rh_comm_hub *hub, struct hub_peer *peer)
{
	int32_t r = rh_comm_buffer_write(&peer->out, peer->fd);

	if (r < 0)
		rh_comm_hub_lose(hub, peer, errno);
	else if (peer->stage == HUB_REFUSED && peer->out.length == 0)
		rh_comm_hub_lose(hub, peer, 0);
}

static void hub_accept(struct rh_comm_hub *hub)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	int fd = accept4(hub->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct hub_peer **peers = rh_comm_hub_grow(hub->peers, hub->peer_count, sizeof(struct hub_peer *));
	struct hub_peer *peer = calloc(1, sizeof(*peer));

	if (peers)
		hub->peers = peers;
	hub->full = fd < 0 && (errno == EMFILE || errno == ENFILE);
	if (fd < 0 || !peers || !peer || hub->peer_count >= (size_t)hub->world + HUB_STRANGERS) {
		if (fd >= 0)
			(void)close(fd);
		free(peer);
		return;
	}
	peer->fd = fd;
	peer->since = rh_comm_now();
	(void)getnameinfo((struct sockaddr *)&address, length, peer->address, sizeof(peer->address), NULL, 0,
	                  NI_NUMERICHOST);
	rh_comm_socket_watch_peer(fd, hub->death_timeout);
	hub->peers[hub->peer_count++] = peer;
}

/* Forget connections that are closed, but for ranks: their last heartbeat is still of use. */
static void hub_sweep(struct rh_comm_hub *hub, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < hub->peer_count; i++) {
		struct hub_peer *peer = hub->peers[i];
		bool late = peer->stage < HUB_MEMBER && now - peer->since > HUB_HELLO_TIMEOUT;

		if (!rh_comm_hub_is_rank(peer) && (peer->fd < 0 || late))
			hub_peer_free(peer);
		else
			hub->peers[kept++] = peer;
	}
	hub->peer_count = kept;
}

/* There is room for the most that hub_accept() lets in: the hub goes on when there is no memory left. */
static struct pollfd *hub_poll_set(const struct rh_comm_hub *hub)
{
	struct pollfd *set = hub->set;

	set[0] = (struct pollfd){.fd = hub->wake, .events = POLLIN};
	set[1] = (struct pollfd){.fd = hub->full ? -1 : hub->listener, .events = POLLIN};
	for (size_t i = 0; i < hub->peer_count; i++) {
		set[i + 2].fd = hub->peers[i]->fd;
		set[i + 2].events = (short)(POLLIN | (hub->peers[i]->out.length > 0 ? POLLOUT : 0));
	}
	return set;
}

static void hub_serve(struct rh_comm_hub *hub, const struct pollfd *set)
{
	size_t count = hub->peer_count;

	for (size_t i = 0; i < count; i++) {
		if (set[i + 2].revents && hub->peers[i]->fd >= 0)
			hub_read(hub, hub->peers[i]);
	}
	if (set[1].revents)
		hub_accept(hub);
	for (size_t i = 0; i < hub->peer_count; i++) {
		if (hub->peers[i]->fd >= 0 && hub->peers[i]->out.length > 0)
			hub_write(hub, hub->peers[i]);
	}
}

/* @param ready how many of the set have news. @return when it is to be called at the latest */
static int64_t hub_turn(struct rh_comm_hub *hub, const struct pollfd *set, int ready, int64_t tick)
{
	if (ready > 0)
		hub_serve(hub, set);
	if (rh_comm_now() < tick && hub->about.since == 0)
		return tick;
	rh_comm_hub_judge(hub, rh_comm_now());
	hub_sweep(hub, rh_comm_now());
	hub->full = false;
	return rh_comm_now() + HUB_TICK;
}

static void *hub_run(void *arg)
{
	struct rh_comm_hub *hub = arg;
	int64_t tick = rh_comm_now() + HUB_TICK;

	for (;;) {
		int64_t now = rh_comm_now();
		int64_t left = hub->about.since > 0 ? HUB_TICK_LATE : tick > now ? tick - now : 0;
		struct pollfd *set = hub_poll_set(hub);
		int ready = poll(set, (nfds_t)hub->peer_count + 2, (int)(left / 1000) + 1);

		if (ready > 0 && set[0].revents)
			return NULL;
		(void)pthread_mutex_lock(&hub->lock);
		tick = hub_turn(hub, set, ready, tick);
		(void)pthread_mutex_unlock(&hub->lock);
	}
}

void rh_comm_hub_hold(struct rh_comm_hub *hub)
{
	(void)pthread_mutex_lock(&hub->lock);
}

void rh_comm_hub_let_go(struct rh_comm_hub *hub)
{
	(void)pthread_mutex_unlock(&hub->lock);
}

void rh_comm_hub_forget(struct rh_comm_hub *hub)
{
	for (size_t i = 0; i < hub->peer_count; i++) {
		if (hub->peers[i]->fd >= 0)
			(void)close(hub->peers[i]->fd);
		hub->peers[i]->fd = -1;
	}
	(void)close(hub->listener);
	(void)close(hub->wake);
	hub->listener = -1;
	hub->wake = -1;
}

static int32_t hub_start(struct rh_comm_hub *hub, const struct rh_comm_env *env, struct rh_comm_error *err)
{
	struct rh_comm_listener listener;
	struct rh_comm_sha256 hash;
	int r;

	rh_comm_sha256_init(&hash);
	rh_comm_sha256_add(&hash, env->job, strlen(env->job));
	rh_comm_sha256_end(&hash, hub->job);
	hub->secret = strdup(env->secret);
	hub->wake = eventfd(0, EFD_CLOEXEC);
	hub->set = calloc((size_t)hub->world + HUB_STRANGERS + 2, sizeof(*hub->set));
	if (!hub->set)
		errno = ENOMEM;
	if (!hub->secret || !hub->set || hub->wake < 0)
		return rh_comm_fail_os(err, errno, "rh_comm");
	r = rh_comm_socket_listen(env->host, env->port, &listener, err);
	if (r < 0)
		return r;
	hub->listener = listener.fd;
	hub->port = listener.port;
	(void)snprintf(hub->host, sizeof(hub->host), "%s", listener.host);
	r = rh_comm_thread_start(&hub->thread, hub_run, hub);
	return r == 0 ? 0 : rh_comm_fail_os(err, r, "a thread for the hub");
}

static void hub_release(struct rh_comm_hub *hub)
{
	for (size_t i = 0; i < hub->peer_count; i++)
		hub_peer_free(hub->peers[i]);
	rh_comm_hub_store_deinit(hub);
	rh_comm_hub_case_deinit(hub);
	free(hub->peers);
	free(hub->gone);
	free(hub->set);
	free(hub->secret);
	(void)pthread_mutex_destroy(&hub->lock);
	if (hub->listener >= 0)
		(void)close(hub->listener);
	if (hub->wake >= 0)
		(void)close(hub->wake);
	free(hub);
}

int32_t rh_comm_hub_new(const struct rh_comm_env *env, struct rh_comm_hub **ret_hub, struct rh_comm_error *err)
{
	struct rh_comm_hub *hub = calloc(1, sizeof(*hub));
	int32_t r;

	if (!hub)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	(void)pthread_mutex_init(&hub->lock, NULL);
	hub->listener = -1;
	hub->wake = -1;
	hub->world = env->world;
	hub->death_timeout = env->death_timeout;
	hub->log = env->log;
	hub->slow = env->slow;
	r = hub_start(hub, env, err);
	if (r < 0) {
		hub_release(hub);
		return r;
	}
	*ret_hub = hub;
	return 0;
}

int32_t rh_comm_hub_port(const struct rh_comm_hub *hub)
{
	return hub->port;
}

const char *rh_comm_hub_host(const struct rh_comm_hub *hub)
{
	return hub->host;
}

void rh_comm_hub_free(struct rh_comm_hub *hub)
{
	static const uint64_t one = 1;

	if (!hub)
		return;
	while (write(hub->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	(void)pthread_join(hub->thread, NULL);
	hub_release(hub);
}
