/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/protocol/frame.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "roundhouse/comm.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "frames are sent as they lie in memory, which must be little-endian"
#endif

#define READ_PIECE 65536

void rh_comm_buffer_deinit(struct rh_comm_buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct rh_comm_buffer){0};
}

int32_t rh_comm_buffer_reserve(struct rh_comm_buffer *buffer, size_t more)
{
	size_t needed = buffer->length + more;
	size_t room = buffer->room > 0 ? buffer->room : 256;
	uint8_t *data;

	if (needed <= buffer->room)
		return 0;
	while (room < needed)
		room *= 2;
	data = realloc(buffer->data, room);
	if (!data)
		return RH_COMM_ENOMEM;
	buffer->data = data;
	buffer->room = room;
	return 0;
}

int32_t rh_comm_buffer_add(struct rh_comm_buffer *buffer, const void *data, size_t length)
{
	if (rh_comm_buffer_reserve(buffer, length) < 0)
		return RH_COMM_ENOMEM;
	if (length > 0)
		memcpy(buffer->data + buffer->length, data, length);
	buffer->length += length;
	return 0;
}

void rh_comm_buffer_drop(struct rh_comm_buffer *buffer, size_t length)
{
	buffer->length -= length;
	if (buffer->length > 0)
		memmove(buffer->data, buffer->data + length, buffer->length);
}

int32_t rh_comm_frame_add(struct rh_comm_buffer *buffer, uint32_t kind, const void *head, size_t head_length,
                          const void *data, size_t length)
{
	uint32_t front[2] = {kind, (uint32_t)(head_length + length)};

	/* all or nothing: half a frame would make nonsense of what follows */
	if (rh_comm_buffer_reserve(buffer, sizeof(front) + head_length + length) < 0)
		return RH_COMM_ENOMEM;
	(void)rh_comm_buffer_add(buffer, front, sizeof(front));
	(void)rh_comm_buffer_add(buffer, head, head_length);
	return rh_comm_buffer_add(buffer, data, length);
}

int32_t rh_comm_frame_look(const struct rh_comm_buffer *buffer, uint32_t *ret_kind, const uint8_t **ret_payload,
                           size_t *ret_length)
{
	uint32_t front[2];

	if (buffer->length < sizeof(front))
		return 0;
	memcpy(front, buffer->data, sizeof(front));
	if (front[0] < RH_COMM_FRAME_HELLO || front[0] > RH_COMM_FRAME_PACE || front[1] > RH_COMM_FRAME_MAX)
		return RH_COMM_EINVAL;
	if (buffer->length < sizeof(front) + front[1])
		return 0;
	*ret_kind = front[0];
	*ret_payload = buffer->data + sizeof(front);
	*ret_length = front[1];
	return 1;
}

void rh_comm_frame_drop(struct rh_comm_buffer *buffer)
{
	uint32_t front[2];

	memcpy(front, buffer->data, sizeof(front));
	rh_comm_buffer_drop(buffer, sizeof(front) + front[1]);
}

int64_t rh_comm_buffer_read(struct rh_comm_buffer *buffer, int fd)
{
	ssize_t n;

	if (rh_comm_buffer_reserve(buffer, READ_PIECE) < 0)
		return RH_COMM_ENOMEM;
	do
		n = recv(fd, buffer->data + buffer->length, READ_PIECE, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		buffer->length += (size_t)n;
		return n;
	}
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (n == 0)
		errno = 0;
	return RH_COMM_EPEER;
}

int32_t rh_comm_buffer_write(struct rh_comm_buffer *buffer, int fd)
{
	while (buffer->length > 0) {
		ssize_t n = send(fd, buffer->data, buffer->length, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n >= 0)
			rh_comm_buffer_drop(buffer, (size_t)n);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return 0;
		else if (errno != EINTR)
			return RH_COMM_EPEER;
	}
	return 0;
}

void rh_comm_prove(const char *secret, const char *who, const uint8_t *nonce, const struct rh_comm_hello *hello,
                   uint8_t *ret_digest)
{
	struct {
		char who[8];
		uint8_t nonce[RH_COMM_NONCE];
		struct rh_comm_hello hello;
	} text = {.hello = *hello};

	memcpy(text.who, who, strnlen(who, sizeof(text.who)));
	memcpy(text.nonce, nonce, RH_COMM_NONCE);
	rh_comm_hmac(secret, strlen(secret), &text, sizeof(text), ret_digest);
}
