/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/endpoint.h"
#include "base/mem.h"

/* Connections that may wait to be accepted: as many as the system lets. A queue that is full makes a client wait for
 * a second. */
#define LISTEN_BACKLOG SOMAXCONN

bool rh_listen_is_off(const char *address)
{
	const char *colon = strrchr(address, ':');
	const char *port = colon ? colon + 1 : address;

	return !*address || (*port && strspn(port, "0") == strlen(port));
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
	int r = rh_endpoint_parse(address, &place, &length, err);
	int fd;

	if (r < 0)
		return r;
	fd = listen_try(&place, length);
	/* a system without IPv6 */
	if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) && address[0] == ':' &&
	    rh_endpoint_any_v4(ntohs(((struct sockaddr_in6 *)&place)->sin6_port), &place, &length))
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
