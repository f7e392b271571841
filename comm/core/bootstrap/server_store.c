/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "comm/core/bootstrap/server_store.h"

static void server_answer(struct server_peer *peer, uint64_t number, const struct server_value *value)
{
	rh_comm_server_send(peer, RH_COMM_FRAME_VALUE, &number, sizeof(number), value->data, value->length);
}

static void server_answer_wishes(struct rh_comm_server *server, const struct server_value *value)
{
	size_t kept = 0;

	for (size_t i = 0; i < server->get_count; i++) {
		struct server_get *wish = &server->gets[i];
		struct server_peer *peer;

		if (strcmp(wish->key, value->key) != 0) {
			server->gets[kept++] = *wish;
			continue;
		}
		peer = rh_comm_server_find(server, wish->rank);
		if (peer)
			server_answer(peer, wish->number, value);
		free(wish->key);
	}
	server->get_count = kept;
}

/* The first value of a key stays. */
static bool server_put(struct rh_comm_server *server, const char *key, const void *data, size_t length)
{
	struct server_value *values = rh_comm_server_grow(server->values, server->value_count, sizeof(*values));
	struct server_value value = {.key = strdup(key), .data = malloc(length > 0 ? length : 1), .length = length};

	if (values)
		server->values = values;
	if (!values || !value.key || !value.data) {
		free(value.key);
		free(value.data);
		return false;
	}
	memcpy(value.data, data, length);
	server->values[server->value_count++] = value;
	server_answer_wishes(server, &value);
	return true;
}

void rh_comm_server_on_put(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                           size_t length)
{
	const uint8_t *end = memchr(payload, '\0', length);

	if (!end || length > RH_COMM_PUT_MAX ||
	    !server_put(server, (const char *)payload, end + 1, length - (size_t)(end + 1 - payload)))
		(void)shutdown(peer->fd, SHUT_RDWR);
}

static bool server_get(struct rh_comm_server *server, const struct server_get *wish)
{
	struct server_get *gets = rh_comm_server_grow(server->gets, server->get_count, sizeof(*gets));

	if (!gets)
		return false;
	server->gets = gets;
	server->gets[server->get_count++] = *wish;
	return true;
}

void rh_comm_server_on_get(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                           size_t length)
{
	struct server_get wish = {.rank = peer->hello.rank};

	if (length < sizeof(wish.number))
		return;
	memcpy(&wish.number, payload, sizeof(wish.number));
	wish.key = strndup((const char *)payload + sizeof(wish.number), length - sizeof(wish.number));
	for (size_t i = 0; wish.key && i < server->value_count; i++) {
		if (strcmp(server->values[i].key, wish.key) == 0) {
			server_answer(peer, wish.number, &server->values[i]);
			free(wish.key);
			return;
		}
	}
	if (!wish.key || !server_get(server, &wish)) {
		free(wish.key);
		(void)shutdown(peer->fd, SHUT_RDWR);
	}
}

void rh_comm_server_store_deinit(struct rh_comm_server *server)
{
	for (size_t i = 0; i < server->value_count; i++) {
		free(server->values[i].key);
		free(server->values[i].data);
	}
	for (size_t i = 0; i < server->get_count; i++)
		free(server->gets[i].key);
	free(server->values);
	free(server->gets);
}
