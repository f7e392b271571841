/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/server_peers.h"

#include <stdlib.h>
#include <sys/socket.h>

void *rh_comm_server_grow(void *items, size_t count, size_t size)
{
	if (count > 0 && (count & (count - 1)) != 0)
		return items;
	return realloc(items, (count > 0 ? count * 2 : 1) * size);
}

bool rh_comm_server_is_rank(const struct server_peer *peer)
{
	return peer->stage == SERVER_MEMBER || peer->stage == SERVER_LEFT;
}

bool rh_comm_server_warns(struct server_peer *peer, const struct server_warned *warning)
{
	const struct server_warned *last = &peer->warned;

	if (last->at != 0 && warning->at - warning->waiting <= last->at && warning->waiting < 2 * last->waiting &&
	    last->silent >= warning->silent)
		return false;
	peer->warned = *warning;
	return true;
}

/* A frame that cannot be queued for lack of memory would leave the rank waiting: its connection is closed instead. */
void rh_comm_server_send(struct server_peer *peer, uint32_t kind, const void *head, size_t head_length,
                         const void *data, size_t length)
{
	if (peer->fd >= 0 && rh_comm_frame_add(&peer->out, kind, head, head_length, data, length) < 0)
		(void)shutdown(peer->fd, SHUT_RDWR);
}

void rh_comm_server_broadcast(struct rh_comm_server *server, uint32_t kind, const void *data, size_t length)
{
	for (size_t i = 0; i < server->peer_count; i++) {
		if (rh_comm_server_is_rank(server->peers[i]))
			rh_comm_server_send(server->peers[i], kind, data, length, NULL, 0);
	}
}

struct server_peer *rh_comm_server_find(const struct rh_comm_server *server, int32_t rank)
{
	for (size_t i = 0; i < server->peer_count; i++) {
		if (rh_comm_server_is_rank(server->peers[i]) && server->peers[i]->hello.rank == rank)
			return server->peers[i];
	}
	return NULL;
}

void rh_comm_server_end(struct rh_comm_server *server, const struct rh_comm_end *end)
{
	if (server->over)
		return;
	server->over = true;
	rh_comm_server_broadcast(server, RH_COMM_FRAME_END, end, sizeof(*end));
}
