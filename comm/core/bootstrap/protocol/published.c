/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/published.h"

#include <string.h>

#include "comm/core/bootstrap/protocol/frame.h"
#include "comm/core/error.h"

#define ADDRESS_PORT_MAX 65535
/* The last protocol in which an address was text: "29500 10.0.0.1". */
#define ADDRESS_LAST_TEXT 7

_Static_assert(sizeof(struct rh_comm_published_address) == 8 + RH_COMM_ADDRESS_ROOM, "no padding");

int32_t rh_comm_published_address_make(struct rh_comm_published_address *ret_address, const char *host, int32_t port,
                                       struct rh_comm_error *err)
{
	size_t length = strlen(host);

	*ret_address = (struct rh_comm_published_address){.protocol = RH_COMM_PROTOCOL, .port = port};
	if (length >= sizeof(ret_address->host))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the host name \"%.40s...\" has more than %d bytes",
		                    host, RH_COMM_ADDRESS_ROOM - 1);
	memcpy(ret_address->host, host, length);
	return 0;
}

int32_t rh_comm_published_address_check(const struct rh_comm_published_address *address, int64_t length, int32_t rank,
                                        struct rh_comm_error *err)
{
	const char *first = (const char *)address;

	if (length > 0 && first[0] >= '0' && first[0] <= '9')
		return rh_comm_fail(err, RH_COMM_EINVAL, rank,
		                    "rank %d uses protocol %d or older and this rank %d: use one version of rh_comm everywhere",
		                    (int)rank, ADDRESS_LAST_TEXT, RH_COMM_PROTOCOL);
	if (length >= (int64_t)sizeof(address->protocol) && address->protocol != RH_COMM_PROTOCOL)
		return rh_comm_fail(err, RH_COMM_EINVAL, rank,
		                    "rank %d uses protocol %u and this rank %d: use one version of rh_comm everywhere",
		                    (int)rank, address->protocol, RH_COMM_PROTOCOL);
	if (length != (int64_t)sizeof(*address) || address->port <= 0 || address->port > ADDRESS_PORT_MAX ||
	    !memchr(address->host, '\0', sizeof(address->host)))
		return rh_comm_fail(err, RH_COMM_EIO, rank, "the address that rank %d published is malformed", (int)rank);
	return 0;
}
