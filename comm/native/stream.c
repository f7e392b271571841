/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/collective/smaller.h"
#include "comm/core/error.h"
#include "comm/native/stream.h"

/* A piece is published at once, so that the other side reads it while the next one is written. */
#define RING_PIECES 4
/* The clock is looked at once in so many times, and the socket so often, in microseconds. */
#define CHECK_EVERY 16
#define CHECK_PERIOD (RH_COMM_SECOND / 4)

static char *ring_data(struct native_ring *ring)
{
	return (char *)(ring + 1);
}

/* Into the ring; around its end it is two pieces. */
static size_t ring_write(const struct native_stream *stream, const char *data, size_t length)
{
	struct native_ring *ring = stream->out;
	uint64_t head = atomic_load_explicit(&ring->head.value, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->tail.value, memory_order_acquire);
	size_t n =
		rh_comm_smaller(rh_comm_smaller(length, stream->ring / RING_PIECES), stream->ring - (size_t)(head - tail));
	size_t place = head % stream->ring;
	size_t first = rh_comm_smaller(n, stream->ring - place);

	if (n == 0)
		return 0;
	memcpy(ring_data(ring) + place, data, first);
	memcpy(ring_data(ring), data + first, n - first);
	atomic_store_explicit(&ring->head.value, head + n, memory_order_release);
	native_wakeup_signal(stream->wakeup);
	return n;
}

static size_t ring_read(const struct native_stream *stream, char *data, size_t length)
{
	struct native_ring *ring = stream->in;
	uint64_t tail = atomic_load_explicit(&ring->tail.value, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head.value, memory_order_acquire);
	size_t n = rh_comm_smaller(rh_comm_smaller(length, stream->ring / RING_PIECES), (size_t)(head - tail));
	size_t place = tail % stream->ring;
	size_t first = rh_comm_smaller(n, stream->ring - place);

	if (n == 0)
		return 0;
	memcpy(data, ring_data(ring) + place, first);
	memcpy(data + first, ring_data(ring), n - first);
	atomic_store_explicit(&ring->tail.value, tail + n, memory_order_release);
	native_wakeup_signal(stream->wakeup);
	return n;
}

static int64_t stream_result(ssize_t n, bool reading)
{
	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return 0;
	if (n == 0 && !reading)
		return 0;
	if (n == 0)
		errno = 0;
	return RH_COMM_EPEER;
}

int64_t native_stream_write(struct native_stream *stream, const void *data, size_t length)
{
	if (stream->out)
		return (int64_t)ring_write(stream, data, length);
	return stream_result(send(stream->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL), false);
}

int64_t native_stream_read(struct native_stream *stream, void *data, size_t length)
{
	if (stream->in)
		return (int64_t)ring_read(stream, data, length);
	return stream_result(recv(stream->fd, data, length, MSG_DONTWAIT), true);
}

bool native_stream_is_answered(struct native_stream *stream, int64_t timeout)
{
	int64_t silence = 0;
	int64_t now;

	if (stream->fd < 0 || ++stream->checks % CHECK_EVERY != 0)
		return true;
	now = rh_comm_now();
	if (now - stream->checked < CHECK_PERIOD)
		return true;
	stream->checked = now;
	if (!rh_comm_socket_is_unanswered(stream->fd, &silence)) {
		stream->unanswered = 0;
		return true;
	}
	/* what was idle for long before has been silent for long, too */
	if (stream->unanswered == 0 || silence < now - stream->unanswered)
		stream->unanswered = now;
	return now - stream->unanswered < timeout;
}
