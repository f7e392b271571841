/* SPDX-License-Identifier: Apache-2.0 */
/* The stream over a backend, with a backend of ours that moves when the test says so. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/protocol/message_stream.h"
#include "comm/ps/protocol/wire.h"

#define POSTS_MAX 64
#define BYTES 3000000

/* A message that was posted at one of the two ends. */
struct post {
	bool receives;
	bool done;
	bool freed;
	const void *from;
	void *to;
	size_t length;
};

/* Both contexts of the fake backend: they meet here. */
struct channel {
	struct end *ends[2];
	bool broken; /* every test() fails from now on */
};

/* One context. */
struct end {
	struct channel *channel;
	int rank;
	struct post posts[POSTS_MAX];
	int posted;
	int under_way;
	bool aborted;
	bool closed;
	int sends;
};

static struct post *end_post(struct end *end, bool receives, size_t length)
{
	for (int i = 0; i < POSTS_MAX; i++) {
		struct post *post = &end->posts[(end->posted + i) % POSTS_MAX];

		if (post->length > 0 && !post->freed)
			continue;
		*post = (struct post){.receives = receives, .length = length};
		end->posted = (end->posted + i + 1) % POSTS_MAX;
		end->under_way++;
		return post;
	}
	return NULL;
}

static int32_t fake_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work)
{
	struct end *end = self;
	struct post *post = end_post(end, false, length);

	assert_int_equal(peer, 1 - end->rank);
	assert_int_equal(tag, 0);
	assert_non_null(post);
	post->from = data;
	end->sends++;
	*ret_work = post;
	return 0;
}

static int32_t fake_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work)
{
	struct end *end = self;
	struct post *post = end_post(end, true, length);

	assert_int_equal(peer, 1 - end->rank);
	assert_int_equal(tag, 0);
	assert_non_null(post);
	post->to = data;
	*ret_work = post;
	return 0;
}

/* The oldest of one direction that is not done. */
static struct post *end_oldest(struct end *end, bool receives)
{
	for (int i = 0; i < POSTS_MAX; i++) {
		struct post *post = &end->posts[(end->posted + i) % POSTS_MAX];

		if (post->length > 0 && !post->freed && !post->done && post->receives == receives)
			return post;
	}
	return NULL;
}

/* Messages meet in the order of posting, and what is announced is what comes. */
static void channel_move(struct channel *channel, int from)
{
	struct post *out = end_oldest(channel->ends[from], false);
	struct post *in = end_oldest(channel->ends[1 - from], true);

	if (!out || !in)
		return;
	assert_int_equal(out->length, in->length);
	memcpy(in->to, out->from, in->length);
	out->done = true;
	in->done = true;
}

static int32_t fake_test(void *self, void *work)
{
	struct end *end = self;
	struct post *post = work;

	assert_false(post->freed);
	if (!end->aborted && !end->channel->broken) {
		channel_move(end->channel, 0);
		channel_move(end->channel, 1);
		if (!post->done)
			return RH_COMM_BUSY;
	}
	post->freed = true;
	end->under_way--;
	return end->aborted || end->channel->broken ? RH_COMM_EABORTED : 0;
}

static void fake_abort(void *self)
{
	struct end *end = self;

	end->aborted = true;
}

static void fake_close(void *self)
{
	struct end *end = self;

	assert_int_equal(end->under_way, 0);
	assert_false(end->closed);
	end->closed = true;
}

static const struct rh_comm_backend fake = {.head = RH_COMM_HEAD(struct rh_comm_backend),
                                            .name = "fake",
                                            .memories = RH_COMM_MEMORY_HOST,
                                            .send = fake_send,
                                            .recv = fake_recv,
                                            .test = fake_test,
                                            .abort = fake_abort,
                                            .close = fake_close};

struct pair {
	struct channel channel;
	struct end ends[2];
	int fds[2];
	struct rh_ps_message_stream *blocks[2];
	int teams; /* that are not freed yet */
};

static void free_team(void *team)
{
	struct pair *pair = team;

	pair->teams--;
}

static void pair_open(struct pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair->fds), 0);
	for (int i = 0; i < 2; i++) {
		struct rh_ps_message_stream_plan plan = {.backend = &fake,
		                                         .out = &pair->ends[i],
		                                         .in = &pair->ends[i],
		                                         .peer = 1 - i,
		                                         .control = pair->fds[i],
		                                         .team = pair,
		                                         .free_team = free_team};

		pair->ends[i] = (struct end){.channel = &pair->channel, .rank = i};
		pair->channel.ends[i] = &pair->ends[i];
		pair->teams++;
		pair->blocks[i] = rh_ps_message_stream_new(&plan);
		assert_non_null(pair->blocks[i]);
	}
}

static void pair_close(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		rh_ps_message_stream_operations.close(pair->blocks[i]);
		(void)close(pair->fds[i]);
		assert_true(pair->ends[i].closed);
	}
	assert_int_equal(pair->teams, 0);
}

/* Bytes in both directions at once, in pieces of any size. */
static void test_message_stream__bytes_arrive_whole_and_in_order(void **state)
{
	static uint8_t in[BYTES];
	static uint8_t out[2][BYTES];
	size_t sent[2] = {0};
	size_t got[2] = {0};
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		in[i] = (uint8_t)(i * 31 + i / 977);
	pair_open(&pair);
	for (int turn = 0; got[0] < BYTES || got[1] < BYTES; turn++) {
		assert_true(turn < 1000000);
		for (int i = 0; i < 2; i++) {
			size_t piece = (size_t)(turn % 7 == 0 ? 1 : turn % 5 == 0 ? 700000 : 5000);
			size_t most = BYTES - sent[i] < piece ? BYTES - sent[i] : piece;
			int64_t n = rh_ps_message_stream_operations.send(pair.blocks[i], in + sent[i], most);

			assert_true(n >= 0 && (size_t)n <= most);
			sent[i] += (size_t)n;
			n = rh_ps_message_stream_operations.recv(pair.blocks[1 - i], out[i] + got[i], BYTES - got[i]);
			assert_true(n >= 0);
			got[i] += (size_t)n;
		}
	}
	assert_memory_equal(in, out[0], BYTES);
	assert_memory_equal(in, out[1], BYTES);
	pair_close(&pair);
}

/* A receiver that is stopped has few blocks on their way to it, and then all go on. */
static void test_message_stream__a_receiver_that_stands_still_holds_the_sender(void **state)
{
	static uint8_t data[1000];
	struct pair pair;
	size_t sent = 0;
	size_t got = 0;
	int before;

	(void)state;
	pair_open(&pair);
	for (int i = 0; i < 1000; i++) {
		int64_t n = rh_ps_message_stream_operations.send(pair.blocks[0], data, sizeof(data));

		assert_true(n >= 0);
		sent += (size_t)n;
	}
	before = pair.ends[0].sends;
	assert_true(before < 100);
	assert_true(rh_ps_message_stream_operations.moving(pair.blocks[0]));
	for (int i = 0; i < 1000 && got < sent; i++) {
		int64_t n = rh_ps_message_stream_operations.recv(pair.blocks[1], data, sizeof(data));

		assert_true(n >= 0);
		got += (size_t)n;
		n = rh_ps_message_stream_operations.send(pair.blocks[0], data, 1);
		assert_true(n >= 0);
		sent += (size_t)n;
	}
	assert_true(pair.ends[0].sends > before);
	pair_close(&pair);
}

static void test_message_stream__an_end_that_dies_is_noticed(void **state)
{
	uint8_t data[100] = {0};
	struct pair pair;

	(void)state;
	pair_open(&pair);
	assert_int_equal(rh_ps_message_stream_operations.send(pair.blocks[0], data, sizeof(data)), sizeof(data));
	(void)shutdown(pair.fds[1], SHUT_RDWR);
	/* with a message under way */
	assert_int_equal(rh_ps_message_stream_operations.send(pair.blocks[0], data, sizeof(data)), RH_COMM_EPEER);
	assert_int_equal(rh_ps_message_stream_operations.recv(pair.blocks[0], data, sizeof(data)), RH_COMM_EPEER);
	pair_close(&pair);
	assert_true(pair.ends[0].aborted);
}

static void test_message_stream__a_backend_that_fails_is_the_end(void **state)
{
	uint8_t data[100] = {0};
	struct pair pair;

	(void)state;
	pair_open(&pair);
	assert_int_equal(rh_ps_message_stream_operations.send(pair.blocks[0], data, sizeof(data)), sizeof(data));
	pair.channel.broken = true;
	assert_int_equal(rh_ps_message_stream_operations.send(pair.blocks[0], data, sizeof(data)), RH_COMM_EPEER);
	pair_close(&pair);
}

/* What is read of the connection is not trusted. */
static void test_message_stream__nonsense_is_the_end(void **state)
{
	static const uint32_t words[] = {0, 262145, 0x7fffffff, 0x80000001, 0xffffffff};
	uint8_t data[100] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct pair pair;

		pair_open(&pair);
		assert_int_equal(write(pair.fds[1], &words[i], sizeof(words[i])), sizeof(words[i]));
		assert_int_equal(rh_ps_message_stream_operations.recv(pair.blocks[0], data, sizeof(data)), RH_COMM_EPEER);
		pair_close(&pair);
	}
}

/* Words may come in pieces, and some may have been read before. */
static void test_message_stream__takes_what_was_read_before(void **state)
{
	uint8_t data[300] = {7};
	uint8_t got[300] = {0};
	uint8_t word[4];
	struct pair pair;

	(void)state;
	pair_open(&pair);
	assert_int_equal(rh_ps_message_stream_operations.send(pair.blocks[0], data, sizeof(data)), sizeof(data));
	assert_int_equal(read(pair.fds[1], word, 4), 4);
	rh_ps_message_stream_adopt(pair.blocks[1], word, 3);
	assert_int_equal(rh_ps_message_stream_operations.recv(pair.blocks[1], got, sizeof(got)), 0);
	assert_int_equal(write(pair.fds[0], word + 3, 1), 1);
	assert_int_equal(rh_ps_message_stream_operations.recv(pair.blocks[1], got, sizeof(got)), sizeof(got));
	assert_memory_equal(data, got, sizeof(got));
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message_stream__bytes_arrive_whole_and_in_order),
		cmocka_unit_test(test_message_stream__a_receiver_that_stands_still_holds_the_sender),
		cmocka_unit_test(test_message_stream__an_end_that_dies_is_noticed),
		cmocka_unit_test(test_message_stream__a_backend_that_fails_is_the_end),
		cmocka_unit_test(test_message_stream__nonsense_is_the_end),
		cmocka_unit_test(test_message_stream__takes_what_was_read_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
