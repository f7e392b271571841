/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/messages/wire.h"

#include <string.h>

void rh_wire_put_byte(struct rh_str *out, uint8_t value)
{
	rh_str_append_bytes(out, (const char *)&value, sizeof(value));
}

void rh_wire_put_int(struct rh_str *out, int32_t value)
{
	rh_str_append_bytes(out, (const char *)&value, sizeof(value));
}

void rh_wire_put_size(struct rh_str *out, uint32_t value)
{
	rh_str_append_bytes(out, (const char *)&value, sizeof(value));
}

/* The length counts the final zero, so that 0 is NULL and the reader can borrow the text in place. */
void rh_wire_put_text_head(struct rh_str *out, size_t length)
{
	if (length < UINT32_MAX)
		rh_wire_put_size(out, (uint32_t)length + 1);
	else
		out->failed = true;
}

void rh_wire_put_text(struct rh_str *out, const char *text)
{
	if (!text) {
		rh_wire_put_size(out, 0);
		return;
	}
	rh_wire_put_text_head(out, strlen(text));
	rh_str_append_bytes(out, text, strlen(text) + 1);
}

struct rh_wire rh_wire_read(const char *bytes, size_t length)
{
	return (struct rh_wire){.at = bytes, .left = length};
}

/** Take @p size bytes. @return them, borrowed, or NULL when there are not so many */
static const char *wire_take(struct rh_wire *wire, size_t size)
{
	const char *bytes = wire->at;

	if (wire->malformed || wire->left < size) {
		wire->malformed = true;
		return NULL;
	}
	wire->at += size;
	wire->left -= size;
	return bytes;
}

uint8_t rh_wire_byte(struct rh_wire *wire)
{
	const char *bytes = wire_take(wire, 1);

	return bytes ? (uint8_t)*bytes : 0;
}

int32_t rh_wire_int(struct rh_wire *wire)
{
	int32_t value = 0;
	const char *bytes = wire_take(wire, sizeof(value));

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

uint32_t rh_wire_size(struct rh_wire *wire, uint32_t most)
{
	uint32_t value = 0;
	const char *bytes = wire_take(wire, sizeof(value));

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	if (value <= most && value <= wire->left)
		return value;
	wire->malformed = true;
	return 0;
}

const char *rh_wire_text(struct rh_wire *wire)
{
	uint32_t size = rh_wire_size(wire, UINT32_MAX);
	const char *text = size > 0 ? wire_take(wire, size) : NULL;

	if (!text || strnlen(text, size) == size - 1)
		return text;
	wire->malformed = true;
	return NULL;
}

const char *rh_wire_text_required(struct rh_wire *wire)
{
	const char *text = rh_wire_text(wire);

	if (text)
		return text;
	wire->malformed = true;
	return "";
}

bool rh_wire_is_complete(const struct rh_wire *wire)
{
	return !wire->malformed && wire->left == 0;
}
