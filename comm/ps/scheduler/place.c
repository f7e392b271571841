/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/scheduler/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"
#include "roundhouse/ps.h"

bool rh_ps_place_is_sane(const struct rh_ps_place *place)
{
	return place->host[0] && memchr(place->host, '\0', sizeof(place->host)) && place->port >= 1 &&
	       place->port <= UINT16_MAX;
}

bool rh_ps_place_equal(const struct rh_ps_place *a, const struct rh_ps_place *b)
{
	return a->port == b->port && strncmp(a->host, b->host, sizeof(a->host)) == 0;
}

void rh_ps_place_set(struct rh_ps_place *ret_place, const char *host, int32_t port)
{
	memset(ret_place, 0, sizeof(*ret_place));
	(void)snprintf(ret_place->host, sizeof(ret_place->host), "%s", host ? host : "");
	ret_place->port = port;
}

void rh_ps_place_print(const struct rh_ps_place *place, char *ret_text)
{
	(void)snprintf(ret_text, RH_PS_PLACE_TEXT, strchr(place->host, ':') ? "[%s]:%d" : "%s:%d", place->host,
	               (int)place->port);
}

int32_t rh_ps_place_read(const char *text, size_t length, struct rh_ps_place *ret_place, struct rh_comm_error *err)
{
	const char *colon = memrchr(text, ':', length);
	bool bracketed = length > 0 && text[0] == '[';
	size_t host = colon ? (size_t)(colon - text) : 0;
	char *end = NULL;
	long port = 0;

	memset(ret_place, 0, sizeof(*ret_place));
	if (bracketed)
		host = host > 2 && text[host - 1] == ']' ? host - 2 : 0;
	if (host > 0 && host < sizeof(ret_place->host))
		port = strtol(colon + 1, &end, 10);
	if (port < 1 || port > UINT16_MAX || end != text + length)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "servers: \"%.*s\" must be host:port, as in \"ps-0:2222,ps-1:2222\"", (int)length, text);
	memcpy(ret_place->host, text + bracketed, host);
	ret_place->port = (int32_t)port;
	return 0;
}

static int32_t places_read(const char *text, struct rh_ps_place *places, int32_t count, struct rh_comm_error *err)
{
	int32_t r = 0;

	for (int32_t i = 0; i < count && r == 0; i++) {
		size_t length = strcspn(text, ",");

		r = rh_ps_place_read(text, length, &places[i], err);
		text += length + (text[length] == ',');
	}
	return r;
}

int32_t rh_ps_places_read(const char *text, struct rh_ps_place **ret_places, int32_t *ret_count,
                          struct rh_comm_error *err)
{
	struct rh_ps_place *places;
	int32_t count = 1;
	int32_t r;

	for (const char *at = strchr(text, ','); at && count <= RH_PS_MAX; at = strchr(at + 1, ','))
		count++;
	if (count > RH_PS_MAX)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "there are more than %d servers", RH_PS_MAX);
	places = calloc((size_t)count, sizeof(*places));
	if (!places)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	r = places_read(text, places, count, err);
	if (r < 0) {
		free(places);
		return r;
	}
	*ret_places = places;
	*ret_count = count;
	return 0;
}
