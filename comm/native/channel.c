/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "comm/native/channel.h"

static void queue_init(struct native_queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static void queue_append(struct native_queue *queue, struct native_message *message)
{
	message->next = NULL;
	message->link = queue->last;
	*queue->last = message;
	queue->last = &message->next;
}

static void queue_remove(struct native_queue *queue, struct native_message *message)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.*): what is in a queue has a link */
	*message->link = message->next;
	if (message->next)
		message->next->link = message->link;
	else
		queue->last = message->link;
	message->link = NULL;
}

static struct native_message *queue_find(const struct native_queue *queue, uint64_t tag)
{
	struct native_message *message = queue->first;

	while (message && message->tag != tag)
		message = message->next;
	return message;
}

static struct native_message *message_new(struct native_channel *channel, uint64_t tag, size_t length)
{
	struct native_message *message = calloc(1, sizeof(*message));

	if (!message)
		return NULL;
	message->kind = NATIVE_MESSAGE;
	message->channel = channel;
	message->tag = tag;
	message->length = length;
	return message;
}

void native_channel_init(struct native_channel *channel, int32_t peer)
{
	*channel = (struct native_channel){.stream = {.fd = -1}, .peer = peer};
	queue_init(&channel->sends);
	queue_init(&channel->recvs);
	queue_init(&channel->strays);
}

static void queue_free(struct native_queue *queue, bool owns_buffers)
{
	while (queue->first) {
		struct native_message *message = queue->first;

		queue_remove(queue, message);
		if (owns_buffers)
			free(message->to);
		free(message);
	}
}

void native_channel_deinit(struct native_channel *channel)
{
	if (channel->into && !channel->into->link)
		free(channel->into);
	queue_free(&channel->sends, false);
	queue_free(&channel->recvs, false);
	queue_free(&channel->strays, true);
}

static void channel_break(struct native_channel *channel, int32_t code)
{
	channel->broken = code;
	channel->number = errno;
}

static void message_end(struct native_message *message, int32_t status)
{
	message->status = status;
	message->done = true;
}

/* Write up to `length` bytes of which `*at` are through, counted with those before them. @return whether all went */
static bool channel_put(struct native_channel *channel, const void *data, size_t length, size_t before)
{
	while (channel->sent < before + length) {
		size_t at = channel->sent - before;
		int64_t n = native_stream_write(&channel->stream, (const char *)data + at, length - at);

		if (n < 0)
			channel_break(channel, (int32_t)n);
		if (n <= 0)
			return false;
		channel->sent += (size_t)n;
	}
	return true;
}

static void channel_send_all(struct native_channel *channel)
{
	while (channel->sends.first) {
		struct native_message *message = channel->sends.first;
		struct native_head head = {message->tag, message->length};

		if (channel->sent < sizeof(head) && !channel_put(channel, &head, sizeof(head), 0))
			return;
		if (!channel_put(channel, message->from, message->length, sizeof(head)))
			return;
		channel->sent = 0;
		queue_remove(&channel->sends, message);
		message_end(message, 0);
	}
}

/* Read until `length` bytes, counted with those before them, are there. @return whether they are */
static bool channel_get(struct native_channel *channel, void *data, size_t length, size_t before)
{
	while (channel->got < before + length) {
		size_t at = channel->got - before;
		int64_t n = native_stream_read(&channel->stream, (char *)data + at, length - at);

		if (n < 0)
			channel_break(channel, (int32_t)n);
		if (n <= 0)
			return false;
		channel->got += (size_t)n;
	}
	return true;
}

/* A message without a receive, while another receive waits: it is kept, so that the next one can arrive. */
static struct native_message *channel_stray(struct native_channel *channel)
{
	struct native_message *stray = message_new(channel, channel->head.tag, channel->head.length);

	if (stray)
		stray->to = malloc(stray->length);
	if (!stray || !stray->to) {
		free(stray);
		errno = ENOMEM;
		channel_break(channel, RH_COMM_ENOMEM);
		return NULL;
	}
	queue_append(&channel->strays, stray);
	return stray;
}

/* @return whether the message whose head has arrived has a destination */
static bool channel_match(struct native_channel *channel)
{
	struct native_message *recv;

	if (channel->into)
		return true;
	recv = queue_find(&channel->recvs, channel->head.tag);
	if (!recv && !channel->recvs.first)
		return false;
	if (!recv) {
		channel->into = channel_stray(channel);
		return channel->into != NULL;
	}
	if (recv->length != channel->head.length) {
		errno = EMSGSIZE;
		channel_break(channel, RH_COMM_EINVAL);
		return false;
	}
	queue_remove(&channel->recvs, recv);
	channel->into = recv;
	return true;
}

static void channel_recv_all(struct native_channel *channel)
{
	for (;;) {
		struct native_message *into;

		if (channel->got < sizeof(channel->head) && !channel_get(channel, &channel->head, sizeof(channel->head), 0))
			return;
		if (!channel_match(channel))
			return;
		into = channel->into;
		if (!channel_get(channel, into->to, into->length, sizeof(channel->head)))
			return;
		channel->got = 0;
		channel->into = NULL;
		message_end(into, 0);
	}
}

static void queue_fail(struct native_queue *queue, int32_t status)
{
	while (queue->first) {
		struct native_message *message = queue->first;

		queue_remove(queue, message);
		message_end(message, status);
	}
}

bool native_channel_is_busy(const struct native_channel *channel)
{
	return channel->sends.first || channel->recvs.first || channel->into;
}

void native_channel_progress(struct native_channel *channel)
{
	if (!channel->broken)
		channel_send_all(channel);
	if (!channel->broken)
		channel_recv_all(channel);
	if (!channel->broken)
		return;
	if (channel->into && !channel->into->link) {
		message_end(channel->into, channel->broken);
		channel->into = NULL;
	}
	queue_fail(&channel->sends, channel->broken);
	queue_fail(&channel->recvs, channel->broken);
}

void native_channel_check_peer(struct native_channel *channel, int64_t timeout)
{
	if (channel->broken || native_stream_is_answered(&channel->stream, timeout))
		return;
	errno = ETIMEDOUT;
	channel_break(channel, RH_COMM_EPEER);
	native_channel_progress(channel);
}

int32_t native_channel_send(struct native_channel *channel, uint64_t tag, const void *data, size_t length,
                            struct native_message **ret_message)
{
	struct native_message *message = message_new(channel, tag, length);

	if (!message)
		return RH_COMM_ENOMEM;
	message->from = data;
	queue_append(&channel->sends, message);
	native_channel_progress(channel);
	*ret_message = message;
	return 0;
}

/* Take a complete unexpected message. An incomplete one continues into the receiver's buffer. */
static bool channel_take_stray(struct native_channel *channel, struct native_message *message)
{
	struct native_message *stray = queue_find(&channel->strays, message->tag);

	if (!stray)
		return false;
	if (stray->length != message->length) {
		message_end(message, RH_COMM_EINVAL);
		return true;
	}
	if (stray == channel->into) {
		size_t there = channel->got - sizeof(channel->head);

		memcpy(message->to, stray->to, there);
		channel->into = message;
	} else {
		memcpy(message->to, stray->to, message->length);
		message_end(message, 0);
	}
	queue_remove(&channel->strays, stray);
	free(stray->to);
	free(stray);
	return true;
}

int32_t native_channel_recv(struct native_channel *channel, uint64_t tag, void *data, size_t length,
                            struct native_message **ret_message)
{
	struct native_message *message = message_new(channel, tag, length);

	if (!message)
		return RH_COMM_ENOMEM;
	message->to = data;
	if (!channel_take_stray(channel, message))
		queue_append(&channel->recvs, message);
	native_channel_progress(channel);
	*ret_message = message;
	return 0;
}

bool native_channel_finds(struct native_channel *channel, uint64_t tag)
{
	native_channel_progress(channel);
	while (!queue_find(&channel->strays, tag)) {
		if (channel->broken || channel->into || channel->got < sizeof(channel->head))
			return false;
		if (channel->head.tag == tag)
			return true;
		channel->into = channel_stray(channel);
		native_channel_progress(channel);
	}
	return true;
}

void native_message_free(struct native_message *message)
{
	struct native_channel *channel = message->channel;

	if (message->link)
		queue_remove(message->from ? &channel->sends : &channel->recvs, message);
	if (channel->into == message)
		channel->into = NULL;
	free(message);
}
