/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/error.h"

#define BACKLOG 1024
/* Who waits for a connection looks so often at what else there is. */
#define SLICE (RH_COMM_SECOND / 2)

static int socket_bind(const struct sockaddr *address, socklen_t length)
{
	static const int on = 1;
	static const int off = 0;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int number;

	if (fd < 0)
		return -1;
	if (address->sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address, length) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	number = errno;
	(void)close(fd);
	errno = number;
	return -1;
}

static int socket_bind_host(const char *host, int32_t port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char service[16];
	int fd = -1;

	(void)snprintf(service, sizeof(service), "%d", (int)port);
	errno = EADDRNOTAVAIL;
	if (!host || getaddrinfo(host, service, &hints, &found) != 0)
		return -1;
	for (const struct addrinfo *at = found; at && fd < 0 && errno == EADDRNOTAVAIL; at = at->ai_next)
		fd = socket_bind(at->ai_addr, at->ai_addrlen);
	freeaddrinfo(found);
	return fd;
}

static int socket_bind_all(int32_t port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket_bind((const struct sockaddr *)&six, sizeof(six));

	/* a kernel without IPv6 */
	if (fd < 0 && errno != EADDRINUSE)
		fd = socket_bind((const struct sockaddr *)&four, sizeof(four));
	return fd;
}

int32_t rh_comm_socket_listen(const char *host, int32_t port, struct rh_comm_listener *ret_listener,
                              struct rh_comm_error *err)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	bool all = false;
	char service[16] = "0";
	char what[300];
	int fd = socket_bind_host(host, port);

	if (fd < 0 && errno == EADDRNOTAVAIL) {
		fd = socket_bind_all(port);
		all = true;
	}
	if (fd < 0) {
		(void)snprintf(what, sizeof(what), "listen on %s port %d", host ? host : "all addresses,", (int)port);
		return rh_comm_fail_os(err, errno, what);
	}
	(void)getsockname(fd, (struct sockaddr *)&address, &length);
	*ret_listener = (struct rh_comm_listener){.fd = fd};
	(void)getnameinfo((struct sockaddr *)&address, length, ret_listener->host, sizeof(ret_listener->host), service,
	                  sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV);
	if (all)
		(void)snprintf(ret_listener->host, sizeof(ret_listener->host), "127.0.0.1");
	ret_listener->port = (int32_t)strtol(service, NULL, 10);
	return 0;
}

/* Wait for a connection that is being made. @return 0 or errno */
static int socket_finish(int fd, const struct rh_comm_calling *calling)
{
	struct pollfd set = {.fd = fd, .events = POLLOUT};
	int number = 0;
	socklen_t length = sizeof(number);
	int ready = 0;

	while (ready <= 0) {
		int64_t left = calling->deadline - rh_comm_now();

		if (calling->check && calling->check(calling->arg) < 0)
			return ECANCELED;
		ready = poll(&set, 1, left > SLICE ? (int)(SLICE / 1000) : left > 0 ? (int)(left / 1000) + 1 : 0);
		if (ready < 0 && errno != EINTR)
			return errno;
		if (ready == 0 && left <= 0)
			return ETIMEDOUT;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &length) < 0)
		return errno;
	return number;
}

/* @return the connected descriptor, or -1 with errno */
static int socket_try(const struct addrinfo *address, const struct rh_comm_calling *calling)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int number = 0;

	if (fd < 0)
		return -1;
	if (connect(fd, address->ai_addr, address->ai_addrlen) < 0)
		number = errno == EINPROGRESS ? socket_finish(fd, calling) : errno;
	if (number == 0)
		return fd;
	(void)close(fd);
	errno = number;
	return -1;
}

int32_t rh_comm_socket_call(const struct rh_comm_calling *calling, int *ret_fd, struct rh_comm_error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *found = NULL;
	char service[16];
	char what[300];
	int fd = -1;
	int r;

	(void)snprintf(service, sizeof(service), "%d", (int)calling->port);
	(void)snprintf(what, sizeof(what), "connect to %s port %d", calling->host, (int)calling->port);
	r = getaddrinfo(calling->host, service, &hints, &found);
	if (r != 0)
		return rh_comm_fail(err, RH_COMM_EIO, RH_COMM_NO_RANK, "%s: %s", what, gai_strerror(r));
	errno = EADDRNOTAVAIL;
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
		fd = socket_try(at, calling);
	freeaddrinfo(found);
	if (fd < 0)
		return rh_comm_fail_os(err, errno, what);
	*ret_fd = fd;
	return 0;
}

int32_t rh_comm_socket_connect(const char *host, int32_t port, int64_t deadline, int *ret_fd, struct rh_comm_error *err)
{
	struct rh_comm_calling calling = {.host = host, .port = port, .deadline = deadline};

	return rh_comm_socket_call(&calling, ret_fd, err);
}

void rh_comm_socket_watch_idle(int fd, int64_t timeout)
{
	static const int on = 1;
	int seconds = (int)(timeout / RH_COMM_SECOND);
	int probes = seconds > 2 ? seconds - 1 : 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

void rh_comm_socket_watch_peer(int fd, int64_t timeout)
{
	static const int on = 1;
	unsigned milliseconds = (unsigned)(timeout / 1000);

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	rh_comm_socket_watch_idle(fd, timeout);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

void rh_comm_socket_prepare_bulk(int fd)
{
	static const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool rh_comm_socket_is_unanswered(int fd, int64_t *ret_silence)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 || length < sizeof(info))
		return false;
	*ret_silence = (int64_t)info.tcpi_last_ack_recv * 1000;
	return info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
}
