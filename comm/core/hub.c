/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/hub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/error.h"
#include "comm/core/frame.h"
#include "comm/core/socket.h"
#include "comm/core/thread.h"

/* Who has connected has so long to say who it is. */
#define HUB_HELLO_TIMEOUT (10 * RH_COMM_SECOND)
/* A rank is called slow when others have waited for it so long. */
#define HUB_SLOW (10 * RH_COMM_SECOND)
/* Without a heartbeat for so long, a rank whose host answers is stopped, or starved. */
#define HUB_SILENT (3 * RH_COMM_SECOND)
#define HUB_TICK RH_COMM_SECOND
/* Connections that are no ranks (yet), beyond the world's. */
#define HUB_STRANGERS 64

enum hub_stage { HUB_HELLO, HUB_PROOF, HUB_MEMBER, HUB_LEFT, HUB_REFUSED };

struct hub_peer {
	int fd;
	enum hub_stage stage;
	struct rh_comm_hello hello;
	uint8_t nonce[RH_COMM_NONCE];
	struct rh_comm_buffer in;
	struct rh_comm_buffer out;
	struct rh_comm_beat beat;
	int64_t since;   /* of the connection, then of the last heartbeat */
	uint64_t warned; /* the collective for which it was called slow */
	char address[64];
};

struct hub_value {
	char *key;
	void *data;
	size_t length;
};

struct hub_wish {
	char *key;
	int32_t rank;
	uint64_t number;
};

struct rh_comm_hub {
	pthread_t thread;
	int listener;
	int wake;
	int32_t world;
	int32_t port;
	char host[64];
	uint8_t job[RH_COMM_DIGEST];
	char *secret;
	int64_t death_timeout;
	bool log;
	struct hub_peer **peers;
	size_t peer_count;
	struct hub_value *values;
	size_t value_count;
	struct hub_wish *wishes;
	size_t wish_count;
	int32_t left;
	bool over;
};

/* Room for one more item of an array that grows by doubling, when count is a power of two. */
static void *hub_grow(void *items, size_t count, size_t size)
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

static bool hub_is_rank(const struct hub_peer *peer)
{
	return peer->stage == HUB_MEMBER || peer->stage == HUB_LEFT;
}

/* What cannot be told for want of memory leaves a rank waiting until its time limit: so its line is cut instead. */
static void hub_send(struct hub_peer *peer, uint32_t kind, const void *head, size_t head_length, const void *data,
                     size_t length)
{
	if (peer->fd >= 0 && rh_comm_frame_add(&peer->out, kind, head, head_length, data, length) < 0)
		(void)shutdown(peer->fd, SHUT_RDWR);
}

static void hub_broadcast(struct rh_comm_hub *hub, uint32_t kind, const void *data, size_t length)
{
	for (size_t i = 0; i < hub->peer_count; i++) {
		if (hub_is_rank(hub->peers[i]))
			hub_send(hub->peers[i], kind, data, length, NULL, 0);
	}
}

/* The world is over: tell it once. */
static void hub_end(struct rh_comm_hub *hub, const struct rh_comm_end *end)
{
	if (hub->over)
		return;
	hub->over = true;
	hub_broadcast(hub, RH_COMM_FRAME_END, end, sizeof(*end));
}

static void hub_refuse(struct hub_peer *peer, const char *why)
{
	peer->stage = HUB_REFUSED;
	hub_send(peer, RH_COMM_FRAME_REFUSED, why, strlen(why), NULL, 0);
}

static struct hub_peer *hub_find(const struct rh_comm_hub *hub, int32_t rank)
{
	for (size_t i = 0; i < hub->peer_count; i++) {
		if (hub_is_rank(hub->peers[i]) && hub->peers[i]->hello.rank == rank)
			return hub->peers[i];
	}
	return NULL;
}

/* @return NULL when the hello is fine; else what is wrong, written to `text` */
static const char *hub_check_hello(const struct rh_comm_hub *hub, const struct rh_comm_hello *hello, char *text,
                                   size_t room)
{
	const struct hub_peer *other;

	if (hello->protocol != RH_COMM_PROTOCOL) {
		(void)snprintf(text, room, "rank 0 speaks protocol %d and this rank %u: use one version of rh_comm everywhere",
		               RH_COMM_PROTOCOL, hello->protocol);
		return text;
	}
	if (!rh_comm_digest_equal(hello->job, hub->job))
		return "rank 0 belongs to another job or attempt (RH_COMM_JOB differs)";
	if (hello->world != hub->world || hello->rank < 0 || hello->rank >= hub->world) {
		(void)snprintf(text, room, "rank 0 has a world of %d, and this is rank %d of %d", (int)hub->world,
		               (int)hello->rank, (int)hello->world);
		return text;
	}
	other = hub_find(hub, hello->rank);
	if (other) {
		(void)snprintf(text, room, "there is a rank %d already, at %s", (int)hello->rank, other->address);
		return text;
	}
	return NULL;
}

static void hub_on_hello(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	struct rh_comm_challenge challenge;
	char text[200];
	const char *why;

	if (length < sizeof(peer->hello)) {
		hub_refuse(peer, "the hello is too short");
		return;
	}
	memcpy(&peer->hello, payload, sizeof(peer->hello));
	why = hub_check_hello(hub, &peer->hello, text, sizeof(text));
	if (!why && getrandom(peer->nonce, sizeof(peer->nonce), 0) != sizeof(peer->nonce))
		why = "rank 0 has no random numbers";
	if (why) {
		hub_refuse(peer, why);
		return;
	}
	memcpy(challenge.nonce, peer->nonce, sizeof(challenge.nonce));
	rh_comm_prove(hub->secret, "hub", peer->hello.nonce, &peer->hello, challenge.proof);
	peer->stage = HUB_PROOF;
	hub_send(peer, RH_COMM_FRAME_CHALLENGE, &challenge, sizeof(challenge), NULL, 0);
}

static void hub_on_proof(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	uint8_t proof[RH_COMM_DIGEST];

	rh_comm_prove(hub->secret, "rank", peer->nonce, &peer->hello, proof);
	if (length != RH_COMM_DIGEST || !rh_comm_digest_equal(proof, payload)) {
		hub_refuse(peer, "the secret (RH_COMM_SECRET) is not rank 0's");
		return;
	}
	/* another one may have taken the place meanwhile */
	if (hub_find(hub, peer->hello.rank)) {
		hub_refuse(peer, "there is such a rank already");
		return;
	}
	peer->stage = HUB_MEMBER;
	peer->since = rh_comm_now();
	hub_send(peer, RH_COMM_FRAME_WELCOME, NULL, 0, NULL, 0);
}

static void hub_answer(struct hub_peer *peer, uint64_t number, const struct hub_value *value)
{
	hub_send(peer, RH_COMM_FRAME_VALUE, &number, sizeof(number), value->data, value->length);
}

static void hub_answer_wishes(struct rh_comm_hub *hub, const struct hub_value *value)
{
	size_t kept = 0;

	for (size_t i = 0; i < hub->wish_count; i++) {
		struct hub_wish *wish = &hub->wishes[i];
		struct hub_peer *peer;

		if (strcmp(wish->key, value->key) != 0) {
			hub->wishes[kept++] = *wish;
			continue;
		}
		peer = hub_find(hub, wish->rank);
		if (peer)
			hub_answer(peer, wish->number, value);
		free(wish->key);
	}
	hub->wish_count = kept;
}

/* The first value of a key stays. */
static bool hub_put(struct rh_comm_hub *hub, const char *key, const void *data, size_t length)
{
	struct hub_value *values = hub_grow(hub->values, hub->value_count, sizeof(*values));
	struct hub_value value = {.key = strdup(key), .data = malloc(length > 0 ? length : 1), .length = length};

	if (values)
		hub->values = values;
	if (!values || !value.key || !value.data) {
		free(value.key);
		free(value.data);
		return false;
	}
	memcpy(value.data, data, length);
	hub->values[hub->value_count++] = value;
	hub_answer_wishes(hub, &value);
	return true;
}

static void hub_on_put(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	const uint8_t *end = memchr(payload, '\0', length);

	if (!end || !hub_put(hub, (const char *)payload, end + 1, length - (size_t)(end + 1 - payload)))
		(void)shutdown(peer->fd, SHUT_RDWR);
}

static bool hub_wish(struct rh_comm_hub *hub, const struct hub_wish *wish)
{
	struct hub_wish *wishes = hub_grow(hub->wishes, hub->wish_count, sizeof(*wishes));

	if (!wishes)
		return false;
	hub->wishes = wishes;
	hub->wishes[hub->wish_count++] = *wish;
	return true;
}

static void hub_on_get(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	struct hub_wish wish = {.rank = peer->hello.rank};

	if (length < sizeof(wish.number))
		return;
	memcpy(&wish.number, payload, sizeof(wish.number));
	wish.key = strndup((const char *)payload + sizeof(wish.number), length - sizeof(wish.number));
	for (size_t i = 0; wish.key && i < hub->value_count; i++) {
		if (strcmp(hub->values[i].key, wish.key) == 0) {
			hub_answer(peer, wish.number, &hub->values[i]);
			free(wish.key);
			return;
		}
	}
	if (!wish.key || !hub_wish(hub, &wish)) {
		free(wish.key);
		(void)shutdown(peer->fd, SHUT_RDWR);
	}
}

static void hub_on_beat(struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	if (length != sizeof(peer->beat))
		return;
	memcpy(&peer->beat, payload, sizeof(peer->beat));
	peer->since = rh_comm_now();
}

static void hub_on_end(struct rh_comm_hub *hub, const struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	struct rh_comm_end end;

	if (length != sizeof(end))
		return;
	memcpy(&end, payload, sizeof(end));
	end.text[sizeof(end.text) - 1] = '\0';
	if (end.code >= 0)
		end.code = RH_COMM_EABORTED;
	if (end.rank < 0 || end.rank >= hub->world)
		end.rank = peer->hello.rank;
	hub_end(hub, &end);
}

static void hub_on_leave(struct rh_comm_hub *hub, struct hub_peer *peer)
{
	peer->stage = HUB_LEFT;
	if (++hub->left == hub->world)
		hub_broadcast(hub, RH_COMM_FRAME_ALL_LEFT, NULL, 0);
}

static void hub_on_member_frame(struct rh_comm_hub *hub, struct hub_peer *peer, uint32_t kind, const uint8_t *payload,
                                size_t length)
{
	switch (kind) {
	case RH_COMM_FRAME_PUT:
		hub_on_put(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_GET:
		hub_on_get(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_BEAT:
		hub_on_beat(peer, payload, length);
		break;
	case RH_COMM_FRAME_END:
		hub_on_end(hub, peer, payload, length);
		break;
	case RH_COMM_FRAME_LEAVE:
		hub_on_leave(hub, peer);
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
	else if (peer->stage == HUB_HELLO && kind == RH_COMM_FRAME_HELLO)
		hub_on_hello(hub, peer, payload, length);
	else if (peer->stage == HUB_PROOF && kind == RH_COMM_FRAME_PROOF)
		hub_on_proof(hub, peer, payload, length);
	else if (peer->stage < HUB_MEMBER)
		hub_refuse(peer, "this is no rank of rh_comm");
}

/* A rank whose line is gone without a word is dead. */
static void hub_lose(struct rh_comm_hub *hub, struct hub_peer *peer, int number)
{
	struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = peer->hello.rank};
	char words[100];

	(void)close(peer->fd);
	peer->fd = -1;
	if (peer->stage != HUB_MEMBER)
		return;
	if (number == 0 || number == ECONNRESET)
		(void)snprintf(end.text, sizeof(end.text), "rank %d at %s died: its connection closed", (int)end.rank,
		               peer->address);
	else
		(void)snprintf(end.text, sizeof(end.text), "rank %d at %s is cut off: %s", (int)end.rank, peer->address,
		               strerror_r(number, words, sizeof(words)));
	hub_end(hub, &end);
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
		hub_lose(hub, peer, n < 0 ? number : 0);
}

static void hub_write(struct rh_comm_hub *hub, struct hub_peer *peer)
{
	int32_t r = rh_comm_buffer_write(&peer->out, peer->fd);

	if (r < 0)
		hub_lose(hub, peer, errno);
	else if (peer->stage == HUB_REFUSED && peer->out.length == 0)
		hub_lose(hub, peer, 0);
}

static void hub_accept(struct rh_comm_hub *hub)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	int fd = accept4(hub->listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct hub_peer **peers = hub_grow(hub->peers, hub->peer_count, sizeof(struct hub_peer *));
	struct hub_peer *peer = calloc(1, sizeof(*peer));

	if (peers)
		hub->peers = peers;
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

		if (!hub_is_rank(peer) && (peer->fd < 0 || late))
			hub_peer_free(peer);
		else
			hub->peers[kept++] = peer;
	}
	hub->peer_count = kept;
}

static const char *hub_operation(int32_t what)
{
	static const char *const names[] = {"operation",  "all-reduce", "reduce-scatter",
	                                    "all-gather", "broadcast",  "barrier"};

	return what > 0 && what < (int32_t)(sizeof(names) / sizeof(*names)) ? names[what] : names[0];
}

/* Who waits longest, of those that wait. */
static const struct hub_peer *hub_find_waiting(const struct rh_comm_hub *hub)
{
	const struct hub_peer *found = NULL;

	for (size_t i = 0; i < hub->peer_count; i++) {
		const struct hub_peer *peer = hub->peers[i];

		if (peer->stage == HUB_MEMBER && peer->beat.waiting > 0 && (!found || peer->beat.waiting > found->beat.waiting))
			found = peer;
	}
	return found;
}

static void hub_end_for_left(struct rh_comm_hub *hub, const struct hub_peer *peer)
{
	struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = peer->hello.rank};

	(void)snprintf(end.text, sizeof(end.text), "rank %d has left while others wait for it", (int)end.rank);
	hub_end(hub, &end);
}

/* Name the ranks that all wait for; end the world for one that will never come. */
static void hub_judge_waits(struct rh_comm_hub *hub, int64_t now)
{
	const struct hub_peer *waiting = hub_find_waiting(hub);

	for (size_t i = 0; waiting && i < hub->peer_count; i++) {
		struct hub_peer *peer = hub->peers[i];
		uint64_t number = waiting->beat.done + 1;

		if (!hub_is_rank(peer) || peer->beat.posted >= number)
			continue;
		if (peer->stage == HUB_LEFT)
			hub_end_for_left(hub, peer);
		if (waiting->beat.waiting < HUB_SLOW || peer->warned == number || !hub->log)
			continue;
		peer->warned = number;
		(void)fprintf(stderr, "rh_comm: rank %d at %s is %s: rank %d has waited %lld s for it in %s number %llu\n",
		              (int)peer->hello.rank, peer->address,
		              now - peer->since > HUB_SILENT ? "stopped or starved" : "slow", (int)waiting->hello.rank,
		              (long long)(waiting->beat.waiting / RH_COMM_SECOND), hub_operation(waiting->beat.what),
		              (unsigned long long)number);
	}
}

static struct pollfd *hub_poll_set(const struct rh_comm_hub *hub)
{
	struct pollfd *set = calloc(hub->peer_count + 2, sizeof(*set));

	if (!set)
		return NULL;
	set[0] = (struct pollfd){.fd = hub->wake, .events = POLLIN};
	set[1] = (struct pollfd){.fd = hub->listener, .events = POLLIN};
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

static void *hub_run(void *arg)
{
	struct rh_comm_hub *hub = arg;
	int64_t tick = rh_comm_now() + HUB_TICK;

	for (;;) {
		int64_t now = rh_comm_now();
		int64_t left = tick > now ? tick - now : 0;
		struct pollfd *set = hub_poll_set(hub);

		if (set && poll(set, (nfds_t)hub->peer_count + 2, (int)(left / 1000) + 1) > 0) {
			if (set[0].revents) {
				free(set);
				return NULL;
			}
			hub_serve(hub, set);
		}
		free(set);
		if (rh_comm_now() >= tick) {
			tick = rh_comm_now() + HUB_TICK;
			hub_judge_waits(hub, rh_comm_now());
			hub_sweep(hub, rh_comm_now());
		}
	}
}

static int32_t hub_start(struct rh_comm_hub *hub, const struct rh_comm_env *env, struct rh_comm_error *err)
{
	struct rh_comm_sha256 hash;
	int r;

	rh_comm_sha256_init(&hash);
	rh_comm_sha256_add(&hash, env->job, strlen(env->job));
	rh_comm_sha256_end(&hash, hub->job);
	hub->secret = strdup(env->secret);
	hub->wake = eventfd(0, EFD_CLOEXEC);
	if (!hub->secret || hub->wake < 0)
		return rh_comm_fail_os(err, errno, "rh_comm");
	r = rh_comm_socket_listen(env->host, env->port, &hub->listener, &hub->port, hub->host, sizeof(hub->host), err);
	if (r < 0)
		return r;
	r = rh_comm_thread_start(&hub->thread, hub_run, hub);
	return r == 0 ? 0 : rh_comm_fail_os(err, r, "a thread for the hub");
}

static void hub_release(struct rh_comm_hub *hub)
{
	for (size_t i = 0; i < hub->peer_count; i++)
		hub_peer_free(hub->peers[i]);
	for (size_t i = 0; i < hub->value_count; i++) {
		free(hub->values[i].key);
		free(hub->values[i].data);
	}
	for (size_t i = 0; i < hub->wish_count; i++)
		free(hub->wishes[i].key);
	free(hub->peers);
	free(hub->values);
	free(hub->wishes);
	free(hub->secret);
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
	hub->listener = -1;
	hub->wake = -1;
	hub->world = env->world;
	hub->death_timeout = env->death_timeout;
	hub->log = env->log;
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
