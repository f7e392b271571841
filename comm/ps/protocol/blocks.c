/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/blocks.h"

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
/* A word with this bit gives back so many blocks; without it, it announces one of so many bytes. */
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

struct rh_ps_blocks {
	struct rh_ps_blocks_plan plan;
	struct row out;
	struct row in;
	uint32_t expected[WINDOW]; /* lengths that were announced, and have no receive yet: a ring */
	unsigned expected_first;
	unsigned expected_count;
	unsigned unread;   /* blocks of ours that the other end has not given back */
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

struct rh_ps_blocks *rh_ps_blocks_new(const struct rh_ps_blocks_plan *plan)
{
	struct rh_ps_blocks *blocks = calloc(1, sizeof(*blocks));

	if (!blocks)
		return NULL;
	if (!row_make(&plan->streams, &blocks->out) || !row_make(&plan->streams, &blocks->in)) {
		row_free(&plan->streams, &blocks->out);
		row_free(&plan->streams, &blocks->in);
		free(blocks);
		return NULL;
	}
	blocks->plan = *plan;
	return blocks;
}

void rh_ps_blocks_adopt(void *self, const void *data, size_t length)
{
	struct rh_ps_blocks *blocks = self;

	memcpy(blocks->part, data, length);
	blocks->part_bytes = length;
}

/* @return 0 or RH_COMM_EPEER */
static int32_t blocks_write_words(struct rh_ps_blocks *blocks)
{
	ssize_t n = 1;

	while (blocks->word_bytes > 0 && n > 0) {
		n = send(blocks->plan.control, blocks->words, blocks->word_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : RH_COMM_EPEER;
		blocks->word_bytes -= (size_t)n;
		memmove(blocks->words, (const uint8_t *)blocks->words + n, blocks->word_bytes);
	}
	return 0;
}

/* There is room: neither end has more than a window to announce, nor to give back. */
static int32_t blocks_send_word(struct rh_ps_blocks *blocks, uint32_t word)
{
	if (blocks->word_bytes + sizeof(word) > sizeof(blocks->words))
		return RH_COMM_EPEER;
	memcpy((uint8_t *)blocks->words + blocks->word_bytes, &word, sizeof(word));
	blocks->word_bytes += sizeof(word);
	return blocks_write_words(blocks);
}

static int32_t blocks_receive_word(struct rh_ps_blocks *blocks, uint32_t word)
{
	if (word & CREDIT) {
		if ((word & ~CREDIT) > blocks->unread)
			return RH_COMM_EPEER;
		blocks->unread -= word & ~CREDIT;
		return 0;
	}
	if (word == 0 || word > BLOCK || blocks->expected_count == WINDOW)
		return RH_COMM_EPEER;
	blocks->expected[(blocks->expected_first + blocks->expected_count++) % WINDOW] = word;
	return 0;
}

static int32_t blocks_receive_all(struct rh_ps_blocks *blocks)
{
	size_t at = 0;
	int32_t r = 0;

	for (; r == 0 && at + sizeof(uint32_t) <= blocks->part_bytes; at += sizeof(uint32_t)) {
		uint32_t word;

		memcpy(&word, blocks->part + at, sizeof(word));
		r = blocks_receive_word(blocks, word);
	}
	blocks->part_bytes -= at;
	memmove(blocks->part, blocks->part + at, blocks->part_bytes);
	return r;
}

/* @return 0 or RH_COMM_EPEER: the connection is closed, or speaks nonsense */
static int32_t blocks_read_words(struct rh_ps_blocks *blocks)
{
	int32_t r = blocks_receive_all(blocks);

	while (r == 0) {
		ssize_t n = recv(blocks->plan.control, blocks->part + blocks->part_bytes,
		                 sizeof(blocks->part) - blocks->part_bytes, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return RH_COMM_EPEER;
		blocks->part_bytes += (size_t)n;
		r = blocks_receive_all(blocks);
	}
	return r;
}

/* @return 0 or RH_COMM_E* */
static int32_t blocks_post(const struct rh_ps_blocks *blocks, bool sends, struct block *block)
{
	const struct rh_ps_blocks_plan *plan = &blocks->plan;
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
static int32_t blocks_test(const struct rh_ps_blocks *blocks, void *self, struct block *block)
{
	int32_t r = block->work ? blocks->plan.backend->test(self, block->work) : 0;

	if (r == RH_COMM_BUSY)
		return r;
	block->work = NULL;
	return r < 0 ? RH_COMM_EPEER : 0;
}

/* Blocks that have gone make room. */
static int32_t blocks_move_out(struct rh_ps_blocks *blocks)
{
	int32_t r = 0;

	while (r == 0 && blocks->out.count > 0) {
		r = blocks_test(blocks, blocks->plan.out, row_first(&blocks->out));
		if (r == 0)
			row_drop(&blocks->out);
	}
	return r < 0 ? r : 0;
}

/* What was announced is received. */
static int32_t blocks_move_in(struct rh_ps_blocks *blocks)
{
	while (blocks->expected_count > 0 && row_next(&blocks->in)) {
		struct block *block = row_next(&blocks->in);

		block->length = blocks->expected[blocks->expected_first];
		block->used = 0;
		if (blocks_post(blocks, false, block) < 0)
			return RH_COMM_EPEER;
		blocks->in.count++;
		blocks->expected_first = (blocks->expected_first + 1) % WINDOW;
		blocks->expected_count--;
	}
	for (unsigned i = 0; i < blocks->in.count; i++)
		if (blocks_test(blocks, blocks->plan.in, &blocks->in.blocks[(blocks->in.first + i) % POSTS]) < 0)
			return RH_COMM_EPEER;
	return 0;
}

/* A backend moves when its test() is called. @return 0 or RH_COMM_EPEER */
static int32_t blocks_move(struct rh_ps_blocks *blocks)
{
	int32_t r = blocks->gone ? RH_COMM_EPEER : blocks_write_words(blocks);

	if (r == 0)
		r = blocks_read_words(blocks);
	/* what was said before the end is still heard */
	if (blocks_move_in(blocks) < 0)
		r = RH_COMM_EPEER;
	if (r == 0)
		r = blocks_move_out(blocks);
	if (r < 0 && !blocks->gone) {
		blocks->gone = true;
		blocks->gone_since = rh_comm_now();
	}
	return r;
}

static int64_t blocks_send(void *self, const void *data, size_t length)
{
	struct rh_ps_blocks *blocks = self;
	struct block *block;
	int32_t r = blocks_move(blocks);

	if (r < 0)
		return r;
	block = row_next(&blocks->out);
	if (length == 0 || !block || blocks->unread == WINDOW)
		return 0;
	block->length = length < BLOCK ? length : BLOCK;
	memcpy(block->data, data, block->length);
	if (blocks_post(blocks, true, block) < 0) {
		blocks->gone = true;
		return RH_COMM_EPEER;
	}
	blocks->out.count++;
	blocks->unread++;
	r = blocks_send_word(blocks, (uint32_t)block->length);
	return r < 0 ? r : (int64_t)block->length;
}

/* Half a window is given back at a time, so that the other end never stands still. */
static int32_t blocks_give_back(struct rh_ps_blocks *blocks)
{
	uint32_t word = CREDIT | ++blocks->consumed;

	row_drop(&blocks->in);
	if (blocks->consumed < WINDOW / 2)
		return 0;
	blocks->consumed = 0;
	return blocks_send_word(blocks, word);
}

static int64_t blocks_recv(void *self, void *data, size_t room)
{
	struct rh_ps_blocks *blocks = self;
	int32_t r = blocks_move(blocks);
	struct block *block = row_first(&blocks->in);
	size_t length;

	if (block && block->work && r < 0 && rh_comm_now() - blocks->gone_since < LAST)
		return 0;
	if (!block || block->work)
		return r;
	length = block->length - block->used < room ? block->length - block->used : room;
	memcpy(data, block->data + block->used, length);
	block->used += length;
	if (block->used == block->length && blocks_give_back(blocks) < 0)
		blocks->gone = true;
	return (int64_t)length;
}

static bool blocks_blocked(const void *self, bool unsent)
{
	const struct rh_ps_blocks *blocks = self;

	(void)unsent;
	return blocks->word_bytes > 0;
}

static bool blocks_moving(const void *self)
{
	const struct rh_ps_blocks *blocks = self;

	return blocks->out.count > 0 || blocks->in.count > 0 || blocks->expected_count > 0;
}

/* Let go what is under way, the last answer too, while somebody is there to receive it. */
static void blocks_linger(struct rh_ps_blocks *blocks)
{
	int64_t until = rh_comm_now() + LINGER;

	while (!blocks->gone && (blocks->out.count > 0 || blocks->word_bytes > 0) && rh_comm_now() < until)
		if (blocks_move(blocks) == 0)
			(void)sched_yield();
}

static bool blocks_are_moving(struct rh_ps_blocks *blocks)
{
	bool moving = false;

	for (unsigned i = 0; i < POSTS; i++) {
		if (blocks->out.blocks[i].work)
			moving |= blocks_test(blocks, blocks->plan.out, &blocks->out.blocks[i]) == RH_COMM_BUSY;
		if (blocks->in.blocks[i].work)
			moving |= blocks_test(blocks, blocks->plan.in, &blocks->in.blocks[i]) == RH_COMM_BUSY;
	}
	return moving;
}

static void blocks_abort(struct rh_ps_blocks *blocks)
{
	const struct rh_ps_blocks_plan *plan = &blocks->plan;
	int64_t until = rh_comm_now() + LINGER;

	plan->backend->abort(plan->out);
	if (plan->in != plan->out)
		plan->backend->abort(plan->in);
	while (blocks_are_moving(blocks) && rh_comm_now() < until)
		(void)sched_yield();
}

static void blocks_close(void *self)
{
	struct rh_ps_blocks *blocks = self;
	struct rh_ps_blocks_plan *plan = &blocks->plan;

	blocks_linger(blocks);
	/* who finalizes a communicator of NCCL waits for its peer, which may be stopped; nothing of ours is in it any more
	 */
	if (blocks_are_moving(blocks) || plan->streams.device)
		blocks_abort(blocks);
	plan->backend->close(plan->out);
	if (plan->in != plan->out)
		plan->backend->close(plan->in);
	plan->free_team(plan->team);
	row_free(&plan->streams, &blocks->out);
	row_free(&plan->streams, &blocks->in);
	rh_ps_streams_close(&plan->streams);
	free(blocks);
}

const struct rh_ps_stream rh_ps_blocks_stream = {blocks_send, blocks_recv, blocks_blocked, blocks_moving, blocks_close};
