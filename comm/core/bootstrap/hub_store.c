/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "comm/core/bootstrap/hub_parts.h"

static void hub_answer(struct hub_peer *peer, uint64_t number, const struct hub_value *value)
{
	rh_comm_hub_send(peer, RH_COMM_FRAME_VALUE, &number, sizeof(number), value->data, value->length);
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
		peer = rh_comm_hub_find(hub, wish->rank);
		if (peer)
			hub_answer(peer, wish->number, value);
		free(wish->key);
	}
	hub->wish_count = kept;
}

/* The first value of a key stays. */
static bool hub_put(struct rh_comm_hub *hub, const char *key, const void *data, size_t length)
{
	struct hub_value *values = rh_comm_hub_grow(hub->values, hub->value_count, sizeof(*values));
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

void rh_comm_hub_on_put(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	const uint8_t *end = memchr(payload, '\0', length);

	if (!end || length > RH_COMM_PUT_MAX ||
	    !hub_put(hub, (const char *)payload, end + 1, length - (size_t)(end + 1 - payload)))
		(void)shutdown(peer->fd, SHUT_RDWR);
}

static bool hub_wish(struct rh_comm_hub *hub, const struct hub_wish *wish)
{
	struct hub_wish *wishes = rh_comm_hub_grow(hub->wishes, hub->wish_count, sizeof(*wishes));

	if (!wishes)
		return false;
	hub->wishes = wishes;
	hub->wishes[hub->wish_count++] = *wish;
	return true;
}

void rh_comm_hub_on_get(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
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

void rh_comm_hub_store_deinit(struct rh_comm_hub *hub)
{
	for (size_t i = 0; i < hub->value_count; i++) {
		free(hub->values[i].key);
		free(hub->values[i].data);
	}
	for (size_t i = 0; i < hub->wish_count; i++)
		free(hub->wishes[i].key);
	free(hub->values);
	free(hub->wishes);
}
