/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* Connections that may wait to be taken up. */
#define LISTEN_BACKLOG 64
/* Room for the host of an address. */
#define LISTEN_HOST_SIZE 64

bool rh_listen_is_off(const char *address)
{
	return !*address || strcmp(address, "0") == 0;
}

static int listen_refuse(const char *address, struct rh_error *err)
{
	return rh_fail(err, RH_EINVAL,
	               "\"%s\" is no address to listen at; write HOST:PORT, as \":8080\", \"127.0.0.1:8080\" or "
	               "\"[::1]:8080\", or 0 for none",
	               address);
}

static bool listen_port(const char *text, uint16_t *ret_port)
{
	char *end;
	long port = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || port > UINT16_MAX)
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

static bool listen_set_v6(const char *host, uint16_t port, struct sockaddr_storage *ret_address, socklen_t *ret_length)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
		return false;
	memset(ret_address, 0, sizeof(*ret_address));
	memcpy(ret_address, &v6, sizeof(v6));
	*ret_length = sizeof(v6);
	return true;
}

static bool listen_set_v4(const char *host, uint16_t port, struct sockaddr_storage *ret_address, socklen_t *ret_length)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
		return false;
	memset(ret_address, 0, sizeof(*ret_address));
	memcpy(ret_address, &v4, sizeof(v4));
	*ret_length = sizeof(v4);
	return true;
}

int rh_listen_parse(const char *address, struct sockaddr_storage *ret_address, socklen_t *ret_length,
                    struct rh_error *err)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon ? (size_t)(colon - address) : 0;
	char host[LISTEN_HOST_SIZE];
	uint16_t port;

	if (!colon || length >= sizeof(host) || !listen_port(colon + 1, &port))
		return listen_refuse(address, err);
	rh_copy(host, length + 1, address);
	if (length == 0)
		return listen_set_v6("::", port, ret_address, ret_length) ? 0 : RH_EINVAL;
	if (strcmp(host, "localhost") == 0)
		return listen_set_v4("127.0.0.1", port, ret_address, ret_length) ? 0 : RH_EINVAL;
	if (host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		return listen_set_v6(host + 1, port, ret_address, ret_length) ? 0 : listen_refuse(address, err);
	}
	return listen_set_v4(host, port, ret_address, ret_length) ? 0 : listen_refuse(address, err);
}

static int listen_bind(int fd, const struct sockaddr_storage *place, socklen_t length)
{
	const int on = 1;
	const int off = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -1;
	if (place->ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)place, length) < 0)
		return -1;
	return listen(fd, LISTEN_BACKLOG);
}

static int listen_try(const struct sockaddr_storage *place, socklen_t length)
{
	rh_auto_close int fd = socket(place->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int opened;

	if (fd < 0 || listen_bind(fd, place, length) < 0)
		return -1;
	opened = fd;
	fd = -1;
	return opened;
}

int rh_listen_open(const char *address, int *ret_fd, struct rh_error *err)
{
	struct sockaddr_storage place;
	socklen_t length;
	int r = rh_listen_parse(address, &place, &length, err);
	int fd;

	if (r < 0)
		return r;
	fd = listen_try(&place, length);
	/* a system without IPv6 */
	if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) && address[0] == ':' &&
	    listen_set_v4("0.0.0.0", ntohs(((struct sockaddr_in6 *)&place)->sin6_port), &place, &length))
		fd = listen_try(&place, length);
	if (fd < 0)
		return rh_fail(err, RH_EIO, "cannot listen at \"%s\": %s", address, strerror(errno));
	*ret_fd = fd;
	return 0;
}

uint16_t rh_listen_port(int fd)
{
	struct sockaddr_storage place;
	socklen_t length = sizeof(place);

	memset(&place, 0, sizeof(place));
	if (getsockname(fd, (struct sockaddr *)&place, &length) < 0)
		return 0;
	if (place.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&place)->sin6_port);
	return ntohs(((const struct sockaddr_in *)&place)->sin_port);
}
