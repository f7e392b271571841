/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "comm/native/native.h"

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Copy into the ring from `at` on, around its end. */
static void ring_put(struct native_ring *ring, uint64_t at, const char *data, size_t length)
{
	size_t place = at % NATIVE_RING;
	size_t first = smaller(length, NATIVE_RING - place);

	memcpy(ring->data + place, data, first);
	memcpy(ring->data, data + first, length - first);
}

static void ring_take(const struct native_ring *ring, uint64_t at, char *data, size_t length)
{
	size_t place = at % NATIVE_RING;
	size_t first = smaller(length, NATIVE_RING - place);

	memcpy(data, ring->data + place, first);
	memcpy(data + first, ring->data, length - first);
}

static size_t ring_write(struct native_ring *ring, const char *data, size_t length)
{
	uint64_t head = atomic_load_explicit(&ring->head.value, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->tail.value, memory_order_acquire);
	size_t n = smaller(length, NATIVE_RING - (size_t)(head - tail));

	if (n == 0)
		return 0;
	ring_put(ring, head, data, n);
	atomic_store_explicit(&ring->head.value, head + n, memory_order_release);
	return n;
}

static size_t ring_read(struct native_ring *ring, char *data, size_t length)
{
	uint64_t tail = atomic_load_explicit(&ring->tail.value, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head.value, memory_order_acquire);
	size_t n = smaller(length, (size_t)(head - tail));

	if (n == 0)
		return 0;
	ring_take(ring, tail, data, n);
	atomic_store_explicit(&ring->tail.value, tail + n, memory_order_release);
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
		return (int64_t)ring_write(stream->out, data, length);
	return stream_result(send(stream->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL), false);
}

int64_t native_stream_read(struct native_stream *stream, void *data, size_t length)
{
	if (stream->in)
		return (int64_t)ring_read(stream->in, data, length);
	return stream_result(recv(stream->fd, data, length, MSG_DONTWAIT), true);
}
