/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to each rank of another host, made by the higher rank. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/published.h"
#include "comm/core/bootstrap/protocol/sha256.h"
#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/native/stream.h"

#define TOKEN 32
/* Time limit of the handshake of a connection. */
#define HELLO_TIMEOUT (5 * RH_COMM_SECOND)
/* Waits are cut so that a rank's death elsewhere ends them. */
#define SLICE (RH_COMM_SECOND / 2)

/* First bytes on a connection. The token went to the team's ranks alone, over lines that know the secret. */
struct tcp_hello {
	uint8_t token[TOKEN];
	int32_t rank;
	int32_t world;
};

struct tcp_opening {
	const struct rh_comm_team *team;
	struct native_stream *streams;
	int listener;
	struct tcp_hello hello;
};

static bool tcp_is_far(const struct rh_comm_team *team, int32_t rank)
{
	return team->hosts[rank] != team->hosts[team->rank];
}

static int32_t tcp_fail(const struct rh_comm_team *team, int32_t code, int32_t rank, const char *text)
{
	return team->fail(team->core, code, rank, text);
}

static int32_t tcp_agree_on_token(struct tcp_opening *opening)
{
	const struct rh_comm_team *team = opening->team;
	uint8_t *token = opening->hello.token;
	int64_t n;

	if (team->rank != 0) {
		n = team->get(team->core, "tcp-token", token, TOKEN);
		return n == TOKEN ? 0 : n < 0 ? (int32_t)n : RH_COMM_EIO;
	}
	if (getrandom(token, TOKEN, 0) != TOKEN)
		return tcp_fail(team, RH_COMM_EIO, RH_COMM_NO_RANK, "no random numbers are available");
	return team->put(team->core, "tcp-token", token, TOKEN);
}

static int32_t tcp_listen(struct tcp_opening *opening)
{
	const struct rh_comm_team *team = opening->team;
	struct rh_comm_error err;
	struct rh_comm_listener listener;
	struct rh_comm_published_address address;
	char key[32];
	int32_t r = rh_comm_socket_listen(team->address, 0, &listener, &err);

	if (r == 0) {
		opening->listener = listener.fd;
		r = rh_comm_published_address_make(&address, team->address, listener.port, &err);
	}
	if (r < 0)
		return tcp_fail(team, r, RH_COMM_NO_RANK, err.text);
	(void)snprintf(key, sizeof(key), "tcp/%d", (int)team->rank);
	return team->put(team->core, key, &address, sizeof(address));
}

static void tcp_take(struct tcp_opening *opening, int32_t rank, int fd)
{
	rh_comm_socket_prepare_bulk(fd);
	rh_comm_socket_watch_idle(fd, opening->team->death_timeout);
	opening->streams[rank].fd = fd;
}

/* The end of a wait after which we look whether there still is a world. */
static int64_t tcp_slice(const struct rh_comm_team *team)
{
	int64_t slice = rh_comm_now() + SLICE;

	return slice < team->deadline ? slice : team->deadline;
}

static int32_t tcp_connect(struct tcp_opening *opening, int32_t rank)
{
	const struct rh_comm_team *team = opening->team;
	struct rh_comm_error err;
	struct rh_comm_published_address address;
	char key[32];
	struct rh_comm_calling calling = {.deadline = team->deadline, .check = team->check, .arg = team->core};
	int64_t n;
	int32_t r;
	int fd = -1;

	(void)snprintf(key, sizeof(key), "tcp/%d", (int)rank);
	n = team->get(team->core, key, &address, sizeof(address));
	if (n < 0)
		return (int32_t)n;
	r = rh_comm_published_address_check(&address, n, rank, &err);
	if (r < 0)
		return tcp_fail(team, r, rank, err.text);
	calling.port = address.port;
	calling.host = address.host;
	r = rh_comm_socket_call(&calling, &fd, &err);
	if (r < 0)
		return tcp_fail(team, RH_COMM_EPEER, rank, err.text);
	tcp_take(opening, rank, fd);
	if (send(fd, &opening->hello, sizeof(opening->hello), MSG_NOSIGNAL) != (ssize_t)sizeof(opening->hello))
		return tcp_fail(team, RH_COMM_EPEER, rank, "its connection closed at once");
	return 0;
}

/* @return whether `length` bytes arrived in time */
static bool tcp_read(int fd, void *data, size_t length, int64_t deadline)
{
	size_t got = 0;

	while (got < length) {
		struct pollfd set = {.fd = fd, .events = POLLIN};
		int64_t left = deadline - rh_comm_now();
		ssize_t n;

		if (left <= 0 || poll(&set, 1, (int)(left / 1000) + 1) <= 0)
			return false;
		n = recv(fd, (char *)data + got, length - got, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		got += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Accept one connection; one that is not a rank's is closed without an answer. */
static void tcp_accept(struct tcp_opening *opening)
{
	const struct rh_comm_team *team = opening->team;
	struct tcp_hello hello;
	int fd = accept4(opening->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int64_t deadline = rh_comm_now() + HELLO_TIMEOUT;

	if (fd < 0)
		return;
	if (tcp_read(fd, &hello, sizeof(hello), deadline < team->deadline ? deadline : team->deadline) &&
	    rh_comm_digest_equal(hello.token, opening->hello.token) && hello.rank > team->rank &&
	    hello.rank < team->world && opening->streams[hello.rank].fd < 0)
		tcp_take(opening, hello.rank, fd);
	else
		(void)close(fd);
}

static int32_t tcp_missing(const struct tcp_opening *opening)
{
	const struct rh_comm_team *team = opening->team;

	for (int32_t rank = team->rank + 1; rank < team->world; rank++) {
		if (tcp_is_far(team, rank) && opening->streams[rank].fd < 0)
			return rank;
	}
	return RH_COMM_NO_RANK;
}

static int32_t tcp_accept_all(struct tcp_opening *opening)
{
	int32_t missing;

	while ((missing = tcp_missing(opening)) != RH_COMM_NO_RANK) {
		struct pollfd set = {.fd = opening->listener, .events = POLLIN};
		const struct rh_comm_team *team = opening->team;
		int64_t left = tcp_slice(team) - rh_comm_now();
		int32_t r = team->check(team->core);

		if (r < 0)
			return r;
		if (left <= 0)
			return tcp_fail(team, RH_COMM_ETIME, missing, "it did not connect in time");
		if (poll(&set, 1, (int)(left / 1000) + 1) > 0)
			tcp_accept(opening);
	}
	return 0;
}

int32_t native_tcp_open(const struct rh_comm_team *team, struct native_stream *streams)
{
	struct tcp_opening opening = {
		.team = team, .streams = streams, .listener = -1, .hello = {.rank = team->rank, .world = team->world}};
	int32_t r = tcp_agree_on_token(&opening);

	if (r == 0)
		r = tcp_listen(&opening);
	for (int32_t rank = 0; rank < team->rank && r == 0; rank++) {
		if (tcp_is_far(team, rank))
			r = tcp_connect(&opening, rank);
	}
	if (r == 0)
		r = tcp_accept_all(&opening);
	if (opening.listener >= 0)
		(void)close(opening.listener);
	return r;
}
