/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/message_stream.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "comm/core/error.h"
#include "comm/ps/protocol/wire.h"

/* Bytes of a block. */
#define BLOCK 262144
/* Messages of one direction that are under way at a time. */
#define POSTS 2
/* Blocks that may be announced and not yet read. */
#define WINDOW 16
/* A word with this bit gives back so many stream; without it, it announces one of so many bytes. */
#define CREDIT UINT32_C(0x80000000)
/* Words that may wait to be written: announcements and credits of a whole window. */
#define WORDS (WINDOW + WINDOW)
#define LINGER RH_COMM_SECOND
/* How long what was announced may still take once the connection has ended. */
#define LAST (RH_COMM_SECOND / 10)

/* One block, and the message that carries it. */
struct block {
	uint8_t *data;
	size_t length;
	size_t used; /* bytes that were read of it */
	void *work;  /* NULL: it has arrived, or gone */
};

/* The blocks of one direction: a ring, the first in use is the oldest. */
struct row {
	struct block blocks[POSTS];
	unsigned first;
	unsigned count;
};

struct rh_ps_message_stream {
	struct rh_ps_message_stream_plan plan;
	struct row out;
	struct row in;
	uint32_t expected[WINDOW]; /* lengths that were announced, and have no receive yet: a ring */
	unsigned expected_first;
	unsigned expected_count;
	unsigned unread;   /* blocks of ours for which the other end has not returned a credit */
	unsigned consumed; /* blocks of its that we have not given back */
	uint32_t words[WORDS];
	size_t word_bytes; /* of them to be written */
	uint8_t part[RH_PS_ALIGN + sizeof(uint32_t)];
	size_t part_bytes; /* read of the connection, and not looked at */
	bool gone;
	int64_t gone_since;
};

static void row_free(const struct rh_ps_streams *streams, struct row *row)
{
	for (unsigned i = 0; i < POSTS; i++)
		rh_ps_streams_free(streams, row->blocks[i].data);
}

static bool row_make(const struct rh_ps_streams *streams, struct row *row)
{
	for (unsigned i = 0; i < POSTS; i++) {
		row->blocks[i].data = rh_ps_streams_alloc(streams, BLOCK);
		if (!row->blocks[i].data)
			return false;
	}
	return true;
}

static struct block *row_first(struct row *row)
{
	return row->count > 0 ? &row->blocks[row->first] : NULL;
}

static struct block *row_next(struct row *row)
{
	return row->count < POSTS ? &row->blocks[(row->first + row->count) % POSTS] : NULL;
}

static void row_drop(struct row *row)
{
	row->first = (row->first + 1) % POSTS;
	row->count--;
}

struct rh_ps_message_stream *rh_ps_message_stream_new(const struct rh_ps_message_stream_plan *plan)
{
	struct rh_ps_message_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	if (!row_make(&plan->streams, &stream->out) || !row_make(&plan->streams, &stream->in)) {
		row_free(&plan->streams, &stream->out);
		row_free(&plan->streams, &stream->in);
		free(stream);
		return NULL;
	}
	stream->plan = *plan;
	return stream;
}

void rh_ps_message_stream_adopt(void *self, const void *data, size_t length)
{
	struct rh_ps_message_stream *stream = self;

	memcpy(stream->part, data, length);
	stream->part_bytes = length;
}

/* @return 0 or RH_COMM_EPEER */
static int32_t message_stream_write_words(struct rh_ps_message_stream *stream)
{
	ssize_t n = 1;

	while (stream->word_bytes > 0 && n > 0) {
		n = send(stream->plan.control, stream->words, stream->word_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : RH_COMM_EPEER;
		stream->word_bytes -= (size_t)n;
		memmove(stream->words, (const uint8_t *)stream->words + n, stream->word_bytes);
	}
	return 0;
}

/* There is room: neither end has more than a window to announce, nor to give back. */
static int32_t message_stream_send_word(struct rh_ps_message_stream *stream, uint32_t word)
{
	if (stream->word_bytes + sizeof(word) > sizeof(stream->words))
		return RH_COMM_EPEER;
	memcpy((uint8_t *)stream->words + stream->word_bytes, &word, sizeof(word));
	stream->word_bytes += sizeof(word);
	return message_stream_write_words(stream);
}

static int32_t message_stream_receive_word(struct rh_ps_message_stream *stream, uint32_t word)
{
	if (word & CREDIT) {
		if ((word & ~CREDIT) > stream->unread)
			return RH_COMM_EPEER;
		stream->unread -= word & ~CREDIT;
		return 0;
	}
	if (word == 0 || word > BLOCK || stream->expected_count == WINDOW)
		return RH_COMM_EPEER;
	stream->expected[(stream->expected_first + stream->expected_count++) % WINDOW] = word;
	return 0;
}

static int32_t message_stream_receive_all(struct rh_ps_message_stream *stream)
{
	size_t at = 0;
	int32_t r = 0;

	for (; r == 0 && at + sizeof(uint32_t) <= stream->part_bytes; at += sizeof(uint32_t)) {
		uint32_t word;

		memcpy(&word, stream->part + at, sizeof(word));
		r = message_stream_receive_word(stream, word);
	}
	stream->part_bytes -= at;
	memmove(stream->part, stream->part + at, stream->part_bytes);
	return r;
}

/* @return 0 or RH_COMM_EPEER: the connection is closed, or the peer sent a malformed record */
static int32_t message_stream_read_words(struct rh_ps_message_stream *stream)
{
	int32_t r = message_stream_receive_all(stream);

	while (r == 0) {
		ssize_t n = recv(stream->plan.control, stream->part + stream->part_bytes,
		                 sizeof(stream->part) - stream->part_bytes, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return RH_COMM_EPEER;
		stream->part_bytes += (size_t)n;
		r = message_stream_receive_all(stream);
	}
	return r;
}

/* @return 0 or RH_COMM_E* */
static int32_t message_stream_post(const struct rh_ps_message_stream *stream, bool sends, struct block *block)
{
	const struct rh_ps_message_stream_plan *plan = &stream->plan;
	const struct rh_comm_op op = {.size = sizeof(op),
	                              .what = sends ? RH_COMM_SEND : RH_COMM_RECV,
	                              .in = block->data,
	                              .out = block->data,
	                              .count = block->length,
	                              .type = RH_COMM_U8,
	                              .peer = plan->peer,
	                              .memory = RH_COMM_CUDA,
	                              .stream = sends ? plan->streams.out : plan->streams.in};

	block->work = NULL;
	if (plan->streams.device)
		return plan->backend->collective(sends ? plan->out : plan->in, &op, 0, &block->work);
	if (sends)
		return plan->backend->send(plan->out, plan->peer, 0, block->data, block->length, &block->work);
	return plan->backend->recv(plan->in, plan->peer, 0, block->data, block->length, &block->work);
}

/* @return 0: it is done; RH_COMM_BUSY; RH_COMM_EPEER */
static int32_t message_stream_test(const struct rh_ps_message_stream *stream, void *self, struct block *block)
{
	int32_t r = block->work ? stream->plan.backend->test(self, block->work) : 0;

	if (r == RH_COMM_BUSY)
		return r;
	block->work = NULL;
	return r < 0 ? RH_COMM_EPEER : 0;
}

/* Blocks that have gone make room. */
static int32_t message_stream_move_out(struct rh_ps_message_stream *stream)
{
	int32_t r = 0;

	while (r == 0 && stream->out.count > 0) {
		r = message_stream_test(stream, stream->plan.out, row_first(&stream->out));
		if (r == 0)
			row_drop(&stream->out);
	}
	return r < 0 ? r : 0;
}

/* What was announced is received. */
static int32_t message_stream_move_in(struct rh_ps_message_stream *stream)
{
	while (stream->expected_count > 0 && row_next(&stream->in)) {
		struct block *block = row_next(&stream->in);

		block->length = stream->expected[stream->expected_first];
		block->used = 0;
		if (message_stream_post(stream, false, block) < 0)
			return RH_COMM_EPEER;
		stream->in.count++;
		stream->expected_first = (stream->expected_first + 1) % WINDOW;
		stream->expected_count--;
	}
	for (unsigned i = 0; i < stream->in.count; i++)
		if (message_stream_test(stream, stream->plan.in, &stream->in.blocks[(stream->in.first + i) % POSTS]) < 0)
			return RH_COMM_EPEER;
	return 0;
}

/* A backend moves when its test() is called. @return 0 or RH_COMM_EPEER */
static int32_t message_stream_move(struct rh_ps_message_stream *stream)
{
	int32_t r = stream->gone ? RH_COMM_EPEER : message_stream_write_words(stream);

	if (r == 0)
		r = message_stream_read_words(stream);
	/* what was announced before the end is still received */
	if (message_stream_move_in(stream) < 0)
		r = RH_COMM_EPEER;
	if (r == 0)
		r = message_stream_move_out(stream);
	if (r < 0 && !stream->gone) {
		stream->gone = true;
		stream->gone_since = rh_comm_now();
	}
	return r;
}

static int64_t message_stream_send(void *self, const void *data, size_t length)
{
	struct rh_ps_message_stream *stream = self;
	struct block *block;
	int32_t r = message_stream_move(stream);

	if (r < 0)
		return r;
	block = row_next(&stream->out);
	if (length == 0 || !block || stream->unread == WINDOW)
		return 0;
	block->length = length < BLOCK ? length : BLOCK;
	memcpy(block->data, data, block->length);
	if (message_stream_post(stream, true, block) < 0) {
		stream->gone = true;
		return RH_COMM_EPEER;
	}
	stream->out.count++;
	stream->unread++;
	r = message_stream_send_word(stream, (uint32_t)block->length);
	return r < 0 ? r : (int64_t)block->length;
}

/* Credits are returned for half a window at a time, so that the other end never stalls. */
static int32_t message_stream_give_back(struct rh_ps_message_stream *stream)
{
	uint32_t word = CREDIT | ++stream->consumed;

	row_drop(&stream->in);
	if (stream->consumed < WINDOW / 2)
		return 0;
	stream->consumed = 0;
	return message_stream_send_word(stream, word);
}

static int64_t message_stream_recv(void *self, void *data, size_t room)
{
	struct rh_ps_message_stream *stream = self;
	int32_t r = message_stream_move(stream);
	struct block *block = row_first(&stream->in);
	size_t length;

	if (block && block->work && r < 0 && rh_comm_now() - stream->gone_since < LAST)
		return 0;
	if (!block || block->work)
		return r;
	length = block->length - block->used < room ? block->length - block->used : room;
	memcpy(data, block->data + block->used, length);
	block->used += length;
	if (block->used == block->length && message_stream_give_back(stream) < 0)
		stream->gone = true;
	return (int64_t)length;
}

static bool message_stream_blocked(const void *self, bool unsent)
{
	const struct rh_ps_message_stream *stream = self;

	(void)unsent;
	return stream->word_bytes > 0;
}

static bool message_stream_moving(const void *self)
{
	const struct rh_ps_message_stream *stream = self;

	return stream->out.count > 0 || stream->in.count > 0 || stream->expected_count > 0;
}

/* Complete the transfers in flight, the last answer too, while the other end can receive them. */
static void message_stream_linger(struct rh_ps_message_stream *stream)
{
	int64_t until = rh_comm_now() + LINGER;

	while (!stream->gone && (stream->out.count > 0 || stream->word_bytes > 0) && rh_comm_now() < until)
		if (message_stream_move(stream) == 0)
			(void)sched_yield();
}

static bool message_stream_are_moving(struct rh_ps_message_stream *stream)
{
	bool moving = false;

	for (unsigned i = 0; i < POSTS; i++) {
		if (stream->out.blocks[i].work)
			moving |= message_stream_test(stream, stream->plan.out, &stream->out.blocks[i]) == RH_COMM_BUSY;
		if (stream->in.blocks[i].work)
			moving |= message_stream_test(stream, stream->plan.in, &stream->in.blocks[i]) == RH_COMM_BUSY;
	}
	return moving;
}

static void message_stream_abort(struct rh_ps_message_stream *stream)
{
	const struct rh_ps_message_stream_plan *plan = &stream->plan;
	int64_t until = rh_comm_now() + LINGER;

	plan->backend->abort(plan->out);
	if (plan->in != plan->out)
		plan->backend->abort(plan->in);
	while (message_stream_are_moving(stream) && rh_comm_now() < until)
		(void)sched_yield();
}

static void message_stream_close(void *self)
{
	struct rh_ps_message_stream *stream = self;
	struct rh_ps_message_stream_plan *plan = &stream->plan;

	message_stream_linger(stream);
	/* finalizing a communicator of NCCL waits for the peer, which may be stopped; it has no transfer of ours any more
	 */
	if (message_stream_are_moving(stream) || plan->streams.device)
		message_stream_abort(stream);
	plan->backend->close(plan->out);
	if (plan->in != plan->out)
		plan->backend->close(plan->in);
	plan->free_team(plan->team);
	row_free(&plan->streams, &stream->out);
	row_free(&plan->streams, &stream->in);
	rh_ps_streams_close(&plan->streams);
	free(stream);
}

const struct rh_ps_stream rh_ps_message_stream_operations = {
	message_stream_send, message_stream_recv, message_stream_blocked, message_stream_moving, message_stream_close};
