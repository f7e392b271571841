/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/ps/protocol/ring.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are sent as they lie in memory, which must be little-endian"
#endif

#define BUFFER_FIRST 65536
#define RECORD_MAX (sizeof(struct rh_ps_head) + RH_PS_PART_MAX)
/* Most bytes that wait to be sent. */
#define OUT_MAX RECORD_MAX
#define WAKE_BYTES 256

/* Bytes from begin to end are there. */
struct wire_buffer {
	uint8_t *data;
	size_t begin;
	size_t end;
	size_t room;
};

struct rh_ps_wire {
	int fd;
	int watched; /* -1: there is no second connection */
	const struct rh_ps_stream *stream;
	void *self;
	struct rh_ps_ring *ring; /* NULL: all records go over the socket */
	struct wire_buffer in;
	struct wire_buffer out;
	size_t current; /* bytes of the record that next() returned */
	bool full;      /* add() found no room since the last sleep */
	uint64_t added; /* bytes, over the stream */
	uint64_t sent;
	uint64_t held; /* what was added after these bytes is not sent yet */
};

/* @return bytes; 0: nothing now; RH_COMM_EPEER */
static int64_t socket_read(int fd, void *data, size_t room)
{
	ssize_t n;

	do
		n = recv(fd, data, room, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return n;
	return n < 0 && errno == EAGAIN ? 0 : RH_COMM_EPEER;
}

static int64_t socket_send(void *self, const void *data, size_t length)
{
	const struct rh_ps_wire *wire = self;
	ssize_t n;

	do
		n = send(wire->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return errno == EAGAIN ? 0 : RH_COMM_EPEER;
}

/* The second connection carries nothing; only its end matters. */
static int64_t socket_recv(void *self, void *data, size_t room)
{
	const struct rh_ps_wire *wire = self;
	int64_t n = socket_read(wire->fd, data, room);
	char byte;

	if (n != 0 || wire->watched < 0)
		return n;
	return socket_read(wire->watched, &byte, 1) == 0 ? 0 : RH_COMM_EPEER;
}

static bool socket_blocked(const void *self, bool unsent)
{
	(void)self;
	return unsent;
}

static bool socket_moving(const void *self)
{
	(void)self;
	return false;
}

static void socket_close(void *self)
{
	(void)self;
}

static const struct rh_ps_stream socket_stream = {socket_send, socket_recv, socket_blocked, socket_moving,
                                                  socket_close};

struct rh_ps_wire *rh_ps_wire_new(int fd)
{
	struct rh_ps_wire *wire = calloc(1, sizeof(*wire));

	if (!wire)
		return NULL;
	wire->fd = fd;
	wire->watched = -1;
	wire->held = UINT64_MAX;
	wire->stream = &socket_stream;
	wire->self = wire;
	return wire;
}

void rh_ps_wire_free(struct rh_ps_wire *wire)
{
	if (!wire)
		return;
	wire->stream->close(wire->self);
	if (wire->fd >= 0)
		(void)close(wire->fd);
	if (wire->watched >= 0)
		(void)close(wire->watched);
	rh_ps_ring_free(wire->ring);
	free(wire->in.data);
	free(wire->out.data);
	free(wire);
}

int rh_ps_wire_fd(const struct rh_ps_wire *wire)
{
	return wire->fd;
}

bool rh_ps_wire_is_shared(const struct rh_ps_wire *wire)
{
	return wire->ring != NULL;
}

bool rh_ps_wire_is_foreign(const struct rh_ps_wire *wire)
{
	return wire->self != wire;
}

int32_t rh_ps_wire_over(struct rh_ps_wire *wire, const struct rh_ps_stream *stream, void *self,
                        void (*adopt)(void *self, const void *data, size_t length))
{
	size_t length = wire->in.end - wire->in.begin;

	if (length > RH_PS_ALIGN || wire->out.begin < wire->out.end)
		return RH_COMM_EINVAL;
	if (length > 0)
		adopt(self, wire->in.data + wire->in.begin, length);
	wire->in.begin = 0;
	wire->in.end = 0;
	wire->stream = stream;
	wire->self = self;
	return 0;
}

void rh_ps_wire_watch(struct rh_ps_wire *wire, int fd)
{
	wire->watched = fd;
}

int rh_ps_wire_watched(const struct rh_ps_wire *wire)
{
	return wire->watched;
}

int rh_ps_wire_release(struct rh_ps_wire *wire)
{
	int fd = wire->fd;

	wire->fd = -1;
	return fd;
}

int32_t rh_ps_wire_memory(int *ret_memory)
{
	return rh_ps_ring_memory(ret_memory);
}

int32_t rh_ps_wire_share(struct rh_ps_wire *wire, int memory, bool server)
{
	wire->ring = rh_ps_ring_new(memory, server);
	if (wire->ring)
		rh_ps_ring_hold(wire->ring, wire->held);
	return wire->ring ? 0 : RH_COMM_EIO;
}

/* Move to another block, or to the start of this one. Data stays aligned: records begin where they began. */
static bool wire_move(struct wire_buffer *buffer, size_t room)
{
	size_t length = buffer->end - buffer->begin;
	uint8_t *data = buffer->data;

	if (room > buffer->room) {
		data = aligned_alloc(RH_PS_ALIGN, room);
		if (!data)
			return false;
	}
	if (length > 0)
		memmove(data, buffer->data + buffer->begin, length);
	if (data != buffer->data)
		free(buffer->data);
	buffer->data = data;
	buffer->room = room;
	buffer->begin = 0;
	buffer->end = length;
	return true;
}

/*
 * Make room for `more` bytes after the present ones. What is moved is never more than what has gone since the last
 * time, so that bytes are moved once on average.
 */
static bool wire_reserve(struct wire_buffer *buffer, size_t more)
{
	size_t length = buffer->end - buffer->begin;
	size_t room = buffer->room > 0 ? buffer->room : BUFFER_FIRST;

	if (buffer->end + more <= buffer->room)
		return true;
	if (buffer->begin >= length && length + more <= buffer->room)
		return wire_move(buffer, buffer->room);
	while (room < length + more || room == buffer->room)
		room *= 2;
	return wire_move(buffer, room);
}

/* One byte wakes the other side; what it is does not matter. */
static int32_t wire_drain(const struct rh_ps_wire *wire)
{
	uint8_t bytes[WAKE_BYTES];

	return socket_read(wire->fd, bytes, sizeof(bytes)) < 0 ? RH_COMM_EPEER : 0;
}

int32_t rh_ps_wire_fill(struct rh_ps_wire *wire)
{
	struct wire_buffer *in = &wire->in;
	int64_t n;

	if (wire->ring)
		return wire_drain(wire);
	if (in->end == in->room && !wire_reserve(in, BUFFER_FIRST / 2))
		return RH_COMM_ENOMEM;
	n = wire->stream->recv(wire->self, in->data + in->end, in->room - in->end);
	if (n < 0)
		return RH_COMM_EPEER;
	in->end += (size_t)n;
	return 0;
}

static int32_t wire_next_buffered(struct rh_ps_wire *wire, struct rh_ps_head *ret_head, const uint8_t **ret_payload)
{
	struct wire_buffer *in = &wire->in;
	size_t length = in->end - in->begin;
	struct rh_ps_head head;
	size_t whole;

	if (length < sizeof(head))
		return 0;
	memcpy(&head, in->data + in->begin, sizeof(head));
	if (!rh_ps_head_is_sane(&head))
		return RH_COMM_EINVAL;
	whole = sizeof(head) + rh_ps_padded(head.length);
	if (length < whole)
		return wire_reserve(in, whole - length) ? 0 : RH_COMM_ENOMEM;
	wire->current = whole;
	*ret_head = head;
	*ret_payload = in->data + in->begin + sizeof(head);
	return 1;
}

int32_t rh_ps_wire_next(struct rh_ps_wire *wire, struct rh_ps_head *ret_head, const uint8_t **ret_payload)
{
	if (wire->ring)
		return rh_ps_ring_next(wire->ring, ret_head, ret_payload);
	return wire_next_buffered(wire, ret_head, ret_payload);
}

void rh_ps_wire_drop(struct rh_ps_wire *wire)
{
	if (wire->ring) {
		rh_ps_ring_drop(wire->ring);
		return;
	}
	wire->in.begin += wire->current;
	wire->current = 0;
	if (wire->in.begin == wire->in.end) {
		wire->in.begin = 0;
		wire->in.end = 0;
	}
}

bool rh_ps_wire_fits(struct rh_ps_wire *wire, size_t length)
{
	const struct wire_buffer *out = &wire->out;
	size_t whole = sizeof(struct rh_ps_head) + rh_ps_padded(length);

	if (wire->ring)
		return rh_ps_ring_fits(wire->ring, length);
	if (out->begin == out->end || out->end - out->begin + whole <= OUT_MAX)
		return true;
	wire->full = true;
	return false;
}

uint64_t rh_ps_wire_added(const struct rh_ps_wire *wire)
{
	return wire->ring ? rh_ps_ring_added(wire->ring) : wire->added;
}

void rh_ps_wire_hold(struct rh_ps_wire *wire, uint64_t until)
{
	wire->held = until;
	if (wire->ring)
		rh_ps_ring_hold(wire->ring, until);
}

/* @return bytes that may be sent now */
static size_t wire_sendable(const struct rh_ps_wire *wire)
{
	size_t length = wire->out.end - wire->out.begin;
	uint64_t may = wire->held > wire->sent ? wire->held - wire->sent : 0;

	return may < length ? (size_t)may : length;
}

uint8_t *rh_ps_wire_add(struct rh_ps_wire *wire, const struct rh_ps_head *head)
{
	struct wire_buffer *out = &wire->out;
	size_t padded = rh_ps_padded(head->length);
	uint8_t *at;

	if (wire->ring)
		return rh_ps_ring_add(wire->ring, head);
	if (!rh_ps_wire_fits(wire, head->length))
		return NULL;
	if (!wire_reserve(out, sizeof(*head) + padded)) {
		wire->full = true;
		return NULL;
	}
	at = out->data + out->end;
	memcpy(at, head, sizeof(*head));
	at += sizeof(*head);
	/* the other end must not see earlier content of the buffer */
	memset(at + head->length, 0, padded - head->length);
	out->end += sizeof(*head) + padded;
	wire->added += sizeof(*head) + padded;
	return at;
}

static int32_t wire_send(struct rh_ps_wire *wire)
{
	struct wire_buffer *out = &wire->out;
	size_t length;

	/* a backend moves only when it is asked */
	if (rh_ps_wire_is_foreign(wire) && wire->stream->send(wire->self, NULL, 0) < 0)
		return RH_COMM_EPEER;
	while ((length = wire_sendable(wire)) > 0) {
		int64_t n = wire->stream->send(wire->self, out->data + out->begin, length);

		if (n <= 0)
			return n < 0 ? RH_COMM_EPEER : 0;
		out->begin += (size_t)n;
		wire->sent += (uint64_t)n;
	}
	if (out->begin == out->end) {
		out->begin = 0;
		out->end = 0;
	}
	return 0;
}

int32_t rh_ps_wire_flush(struct rh_ps_wire *wire)
{
	static const char wake = 'w';

	if (!wire->ring)
		return wire_send(wire);
	/* when the socket is full, the other side has enough to wake from */
	if (rh_ps_ring_flush(wire->ring) && send(wire->fd, &wake, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN)
		return RH_COMM_EPEER;
	return 0;
}

static bool wire_has_more(const struct rh_ps_wire *wire)
{
	return wire->out.begin < wire->out.end;
}

bool rh_ps_wire_unsent(const struct rh_ps_wire *wire)
{
	return wire->stream->blocked(wire->self, wire_sendable(wire) > 0);
}

bool rh_ps_wire_moving(const struct rh_ps_wire *wire)
{
	return wire->stream->moving(wire->self);
}

bool rh_ps_wire_sleep(struct rh_ps_wire *wire)
{
	bool was_full = wire->full;

	if (wire->ring)
		return rh_ps_ring_sleep(wire->ring);
	/* what could not be added may fit now; while something is unsent, the socket signals when */
	wire->full = false;
	return !was_full || wire_has_more(wire);
}

int32_t rh_ps_wire_send_fd(int socket, int fd)
{
	char byte = 'm';
	struct iovec vector = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.room = {0}};
	struct msghdr message = {
		.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)};
	struct cmsghdr *part = CMSG_FIRSTHDR(&message);

	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_RIGHTS;
	part->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(part), &fd, sizeof(fd));
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : RH_COMM_EIO;
}

int rh_ps_wire_receive_fd(int socket, int64_t timeout)
{
	char byte;
	struct iovec vector = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)};
	struct pollfd set = {.fd = socket, .events = POLLIN};
	struct cmsghdr *part;
	int fd;

	if (poll(&set, 1, (int)(timeout / 1000) + 1) <= 0 ||
	    recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return RH_COMM_EIO;
	part = CMSG_FIRSTHDR(&message);
	if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
	    part->cmsg_len != CMSG_LEN(sizeof(int)))
		return RH_COMM_EIO;
	memcpy(&fd, CMSG_DATA(part), sizeof(fd));
	return fd;
}
