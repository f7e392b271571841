/* SPDX-License-Identifier: Apache-2.0 */
#include "base/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* Room for the host of an address. */
#define ENDPOINT_HOST_SIZE 64

static int endpoint_refuse(const char *address, struct rh_error *err)
{
	return rh_fail(err, RH_EINVAL,
	               "\"%s\" is not an address to listen at; write HOST:PORT, as \":8080\", \"127.0.0.1:8080\" or "
	               "\"[::1]:8080\", or 0 for none",
	               address);
}

static bool endpoint_port(const char *text, uint16_t *ret_port)
{
	char *end;
	long port = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || port > UINT16_MAX)
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

static bool endpoint_set_v6(const char *host, uint16_t port, struct sockaddr_storage *ret_address,
                            socklen_t *ret_length)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
		return false;
	memset(ret_address, 0, sizeof(*ret_address));
	memcpy(ret_address, &v6, sizeof(v6));
	*ret_length = sizeof(v6);
	return true;
}

static bool endpoint_set_v4(const char *host, uint16_t port, struct sockaddr_storage *ret_address,
                            socklen_t *ret_length)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
		return false;
	memset(ret_address, 0, sizeof(*ret_address));
	memcpy(ret_address, &v4, sizeof(v4));
	*ret_length = sizeof(v4);
	return true;
}

int rh_endpoint_parse(const char *address, struct sockaddr_storage *ret_address, socklen_t *ret_length,
                      struct rh_error *err)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon ? (size_t)(colon - address) : 0;
	char host[ENDPOINT_HOST_SIZE];
	uint16_t port;

	if (!colon || length >= sizeof(host) || !endpoint_port(colon + 1, &port))
		return endpoint_refuse(address, err);
	rh_copy(host, length + 1, address);
	if (length == 0)
		return endpoint_set_v6("::", port, ret_address, ret_length) ? 0 : RH_EINVAL;
	if (strcmp(host, "localhost") == 0)
		return endpoint_set_v4("127.0.0.1", port, ret_address, ret_length) ? 0 : RH_EINVAL;
	if (host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		return endpoint_set_v6(host + 1, port, ret_address, ret_length) ? 0 : endpoint_refuse(address, err);
	}
	return endpoint_set_v4(host, port, ret_address, ret_length) ? 0 : endpoint_refuse(address, err);
}

bool rh_endpoint_any_v4(uint16_t port, struct sockaddr_storage *ret_address, socklen_t *ret_length)
{
	return endpoint_set_v4("0.0.0.0", port, ret_address, ret_length);
}
