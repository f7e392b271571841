/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous server and clients in one process: admission, notifications, and malformed input that it survives. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/bootstrap/members.h"
#include "comm/core/bootstrap/protocol/label.h"
#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "random.h"

#define FUZZ_ROUNDS 300

static void test_server__who_is_let_in(void **state)
{
	static const struct {
		const char *name;
		int32_t rank;
		int32_t world;
		const char *job;
		const char *secret;
		const char *error; /* NULL: it is let in */
	} rows[] = {
		{"a rank of the job", 1, 3, "job-1", "hush", NULL},
		{"another attempt", 1, 3, "job-2", "hush", "another job or attempt"},
		{"no secret", 1, 3, "job-1", "", "secret"},
		{"a wrong secret", 1, 3, "job-1", "husk", "secret"},
		{"a rank that is there", 0, 3, "job-1", "hush", "a rank 0 already, at 127.0.0.1"},
		{"another world", 1, 4, "job-1", "hush", "a world of 3, and this is rank 1 of 4"},
		{"a rank beyond the world", 3, 3, "job-1", "hush", "this is rank 3 of 3"},
		{"a rank below all", -1, 3, "job-1", "hush", "this is rank -1 of 3"},
	};
	struct member first;
	int32_t port;
	struct rh_comm_server *server = members_server(3, &port);

	(void)state;
	member_join(&first, 0, 3, port);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_env env = member_env(rows[i].rank, rows[i].world);
		struct rh_comm_error err = {.text = ""};
		struct rh_comm_client *client = NULL;
		int32_t r;

		env.port = port;
		env.job = rows[i].job;
		env.secret = rows[i].secret;
		r = rh_comm_client_new(&env, rh_comm_now() + MEMBER_PATIENCE, &client, &err);
		if (rows[i].error ? r != RH_COMM_EINVAL || !strstr(err.text, rows[i].error) : r != 0)
			fail_msg("%s: %d %s", rows[i].name, (int)r, err.text);
		rh_comm_client_free(client);
		if (i > 0)
			continue;
		/* that rank left without LEAVE, which ended this world: start a new one */
		member_part(&first);
		rh_comm_server_free(server);
		server = members_server(3, &port);
		member_join(&first, 0, 3, port);
	}
	assert_int_equal(rh_comm_client_check(first.client, NULL), 0);
	member_part(&first);
	rh_comm_server_free(server);
}

static void test_server__values(void **state)
{
	struct rh_comm_error err = {.text = ""};
	struct member ranks[2];
	char value[64];
	int32_t port;
	struct rh_comm_server *server = members_server(2, &port);
	char *large = calloc(1, RH_COMM_FRAME_MAX);

	(void)state;
	assert_non_null(large);
	member_join(&ranks[0], 0, 2, port);
	member_join(&ranks[1], 1, 2, port);
	assert_int_equal(rh_comm_client_put(ranks[0].client, "a", "first", 5), 0);
	assert_int_equal(rh_comm_client_put(ranks[0].client, "a", "second", 6), 0);
	assert_int_equal(rh_comm_client_put(ranks[0].client, "nothing", "", 0), 0);
	assert_int_equal(
		rh_comm_client_get(ranks[1].client, "a", value, sizeof(value), rh_comm_now() + MEMBER_PATIENCE, &err), 5);
	assert_memory_equal(value, "first", 5);
	assert_int_equal(rh_comm_client_get(ranks[1].client, "nothing", value, 1, rh_comm_now() + MEMBER_PATIENCE, &err),
	                 0);
	assert_int_equal(rh_comm_client_get(ranks[1].client, "a", value, 4, rh_comm_now() + MEMBER_PATIENCE, &err),
	                 RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "\"a\" has 5 bytes, more than 4"));
	assert_int_equal(rh_comm_client_get(ranks[1].client, "b", value, 4, rh_comm_now() + 1000, &err), RH_COMM_ETIME);
	assert_non_null(strstr(err.text, "no rank published \"b\" in time"));
	assert_int_equal(rh_comm_client_put(ranks[0].client, "c", large, RH_COMM_PUT_MAX - 1), RH_COMM_EINVAL);
	assert_int_equal(rh_comm_client_put(ranks[0].client, "c", large, RH_COMM_PUT_MAX - 2), 0);
	assert_int_equal(
		rh_comm_client_get(ranks[1].client, "c", large, RH_COMM_FRAME_MAX, rh_comm_now() + MEMBER_PATIENCE, &err),
		RH_COMM_PUT_MAX - 2);
	free(large);
	member_part(&ranks[0]);
	member_part(&ranks[1]);
	rh_comm_server_free(server);
}

struct wish {
	struct member *member;
	int64_t length;
	char value[16];
};

static void *wish_run(void *arg)
{
	struct wish *wish = arg;

	wish->length = rh_comm_client_get(wish->member->client, "late", wish->value, sizeof(wish->value),
	                                  rh_comm_now() + MEMBER_PATIENCE, NULL);
	return NULL;
}

static void test_server__a_value_that_comes_later(void **state)
{
	struct member ranks[2];
	struct wish wish = {.member = &ranks[1]};
	pthread_t thread;
	int32_t port;
	struct rh_comm_server *server = members_server(2, &port);

	(void)state;
	member_join(&ranks[0], 0, 2, port);
	member_join(&ranks[1], 1, 2, port);
	assert_int_equal(pthread_create(&thread, NULL, wish_run, &wish), 0);
	/* nothing shows that the other thread waits by now; if it does not yet, the test is weaker, and still right */
	(void)usleep(50000);
	assert_int_equal(rh_comm_client_put(ranks[0].client, "late", "now", 3), 0);
	(void)pthread_join(thread, NULL);
	assert_int_equal(wish.length, 3);
	assert_memory_equal(wish.value, "now", 3);
	member_part(&ranks[0]);
	member_part(&ranks[1]);
	rh_comm_server_free(server);
}

static void test_server__the_first_reason_stays(void **state)
{
	static const struct rh_comm_error reasons[] = {{RH_COMM_EABORTED, 1, "the first"}, {RH_COMM_EIO, 0, "the second"}};
	struct rh_comm_error err = {.text = ""};
	struct member ranks[2];
	int32_t port;
	struct rh_comm_server *server = members_server(2, &port);

	(void)state;
	member_join(&ranks[0], 0, 2, port);
	member_join(&ranks[1], 1, 2, port);
	rh_comm_client_end(ranks[1].client, &reasons[0], NULL);
	assert_int_equal(member_await_end(&ranks[0], &err), RH_COMM_EABORTED);
	rh_comm_client_end(ranks[0].client, &reasons[1], NULL);
	assert_int_equal(member_await_end(&ranks[1], &err), RH_COMM_EABORTED);
	assert_int_equal(err.rank, 1);
	assert_string_equal(err.text, "the first");
	member_part(&ranks[0]);
	member_part(&ranks[1]);
	rh_comm_server_free(server);
}

/* Wait for the server's query, and answer: the rank has posted `posted` collectives, of which the last is `label`. */
static void answer(struct member *member, uint64_t posted, uint64_t label)
{
	struct rh_comm_answer answer = {.reached = RH_COMM_REACHED_OPEN + posted};
	uint64_t place;
	int i = 0;

	for (; i < 6000 && !rh_comm_client_has_query(member->client, &answer.query); i++)
		(void)usleep(10000);
	assert_int_not_equal(i, 6000);
	place = RH_COMM_REMEMBERED - 1 + answer.reached - answer.query.needed;
	if (place < RH_COMM_REMEMBERED)
		answer.labels[place] = label;
	rh_comm_client_answer(member->client, &answer);
}

/* Rank 1 answers that it is behind, rank 2 does not answer, and rank 3 never came: all are named, the worst first. */
static void test_server__a_time_limit_names_the_ranks(void **state)
{
	static const struct rh_comm_error reason = {RH_COMM_ETIME, RH_COMM_NO_RANK, "barrier number 7 took too long"};
	static const struct rh_comm_case about = {.query = {0, RH_COMM_REACHED_OPEN + 7}};
	struct rh_comm_error err = {.text = ""};
	struct member ranks[3];
	int32_t port;
	struct rh_comm_server *server = members_server(4, &port);

	(void)state;
	for (int32_t rank = 0; rank < 3; rank++)
		member_join(&ranks[rank], rank, 4, port);
	rh_comm_client_end(ranks[0].client, &reason, &about);
	answer(&ranks[0], 7, 5);
	answer(&ranks[1], 6, 5);
	assert_int_equal(member_await_end(&ranks[0], &err), RH_COMM_ETIME);
	assert_int_equal(err.rank, 3);
	assert_string_equal(err.text,
	                    "barrier number 7 took too long; it waited for rank 3 (has not come), "
	                    "rank 2 at 127.0.0.1 (stopped or throttled), rank 1 at 127.0.0.1 (has not posted it)");
	for (int32_t rank = 0; rank < 3; rank++)
		member_part(&ranks[rank]);
	rh_comm_server_free(server);
}

/* Of a group of ranks 1 and 2, which rank 2 has not begun to make: ranks that are not in it are not blamed. */
static void test_server__a_time_limit_in_a_group_names_its_members(void **state)
{
	static const struct rh_comm_error reason = {RH_COMM_ETIME, RH_COMM_NO_RANK, "rh_comm_group() took too long"};
	static const int32_t members[] = {2, 1};
	static const struct rh_comm_case about = {.query = {77, RH_COMM_REACHED_OPENING}, .ranks = members, .count = 2};
	struct rh_comm_answer nothing = {.reached = 0};
	struct rh_comm_error err = {.text = ""};
	struct member ranks[3];
	int32_t port;
	struct rh_comm_server *server = members_server(4, &port);

	(void)state;
	for (int32_t rank = 0; rank < 3; rank++)
		member_join(&ranks[rank], rank, 4, port);
	rh_comm_client_end(ranks[1].client, &reason, &about);
	answer(&ranks[1], 0, 0);
	for (int i = 0; i < 6000 && !rh_comm_client_has_query(ranks[2].client, &nothing.query); i++)
		(void)usleep(10000);
	assert_int_equal(nothing.query.group, 77);
	rh_comm_client_answer(ranks[2].client, &nothing);
	assert_int_equal(member_await_end(&ranks[0], &err), RH_COMM_ETIME);
	assert_int_equal(err.rank, 2);
	assert_string_equal(err.text,
	                    "rh_comm_group() took too long; it waited for rank 2 at 127.0.0.1 (has not called it)");
	for (int32_t rank = 0; rank < 3; rank++)
		member_part(&ranks[rank]);
	rh_comm_server_free(server);
}

/* One has waited for long: all are asked, and what one of them has posted is none of what the others have. */
static void test_server__divergent_ranks_are_distinguished(void **state)
{
	static const struct rh_comm_op ops[] = {
		{.what = RH_COMM_ALL_REDUCE, .count = 4, .type = RH_COMM_F32, .reduce = RH_COMM_SUM},
		{.what = RH_COMM_BROADCAST, .count = 3, .type = RH_COMM_I8, .peer = 2}};
	struct rh_comm_beat beat = {.waiting = 2 * RH_COMM_SECOND, .what = RH_COMM_ALL_REDUCE, .number = 9};
	struct rh_comm_error err = {.text = ""};
	struct member ranks[3];
	int32_t port;
	struct rh_comm_server *server = members_server(3, &port);

	(void)state;
	for (int32_t rank = 0; rank < 3; rank++)
		member_join(&ranks[rank], rank, 3, port);
	beat.peer = RH_COMM_NO_RANK;
	rh_comm_client_beat(ranks[2].client, &beat);
	for (int32_t rank = 0; rank < 3; rank++)
		answer(&ranks[rank], 9, rh_comm_label(&ops[rank == 0], ops[rank == 0].peer));
	for (int32_t rank = 0; rank < 3; rank++) {
		assert_int_equal(member_await_end(&ranks[rank], &err), RH_COMM_EINVAL);
		assert_int_equal(err.rank, 0);
		assert_string_equal(err.text,
		                    "ranks post different collectives as number 9: rank 0 broadcast of 3 i8 from "
		                    "rank 2, rank 1 all-reduce of 4 f32, sum; all must post the same ones in the same "
		                    "order");
	}
	for (int32_t rank = 0; rank < 3; rank++)
		member_part(&ranks[rank]);
	rh_comm_server_free(server);
}

/* What the server prints, which has the standard error of this program. */
struct printed {
	int error;
	int ends[2];
	char text[4096];
	size_t length;
};

static void printed_begin(struct printed *printed)
{
	*printed = (struct printed){.error = dup(STDERR_FILENO)};
	assert_int_equal(pipe(printed->ends), 0);
	assert_true(dup2(printed->ends[1], STDERR_FILENO) >= 0);
	(void)close(printed->ends[1]);
}

/* @return whether it has been printed within so many milliseconds */
static bool printed_has(struct printed *printed, const char *text, int patience)
{
	struct pollfd set = {.fd = printed->ends[0], .events = POLLIN};

	while (!strstr(printed->text, text) && poll(&set, 1, patience) > 0) {
		ssize_t got = read(set.fd, printed->text + printed->length, sizeof(printed->text) - printed->length - 1);

		assert_true(got > 0);
		printed->length += (size_t)got;
	}
	return strstr(printed->text, text) != NULL;
}

static void printed_end(struct printed *printed)
{
	assert_true(dup2(printed->error, STDERR_FILENO) >= 0);
	(void)close(printed->error);
	(void)close(printed->ends[0]);
}

/* A member of the group of itself and rank 3 has waited so long in its second operation there. */
static void stall(struct member *members, int32_t rank, int seconds)
{
	const int32_t ranks[] = {rank, 3};
	struct rh_comm_beat beat = {.waiting = seconds * RH_COMM_SECOND,
	                            .what = RH_COMM_BARRIER,
	                            .peer = RH_COMM_NO_RANK,
	                            .group = (uint64_t)rank,
	                            .number = 2};
	const struct rh_comm_case about = {
		.query = {beat.group, RH_COMM_REACHED_OPEN + beat.number}, .ranks = ranks, .count = 2};
	char text[100];

	(void)snprintf(text, sizeof(text), "rank %d has waited %d s", (int)rank, seconds);
	rh_comm_client_beat(members[rank].client, &beat);
	rh_comm_client_report_stall(members[rank].client, text, &about);
}

/* Rank 0 waits for a message of rank 3, which is stopped, and ranks 1 and 2 in groups: one warning says it, and the
 * next one when a wait has doubled. A busy machine may keep other ranks from answering, which are named then, too. */
static void test_server__one_culprit_is_one_warning(void **state)
{
	const struct rh_comm_beat beat = {.waiting = 10 * RH_COMM_SECOND, .what = RH_COMM_RECV, .peer = 3};
	struct rh_comm_env env = member_env(0, 4);
	struct printed printed;
	struct member ranks[4];
	struct rh_comm_server *server;

	(void)state;
	env.log = true;
	env.slow = RH_COMM_SECOND;
	assert_int_equal(rh_comm_server_new(&env, &server, NULL), 0);
	for (int32_t rank = 0; rank < 4; rank++) {
		member_join(&ranks[rank], rank, 4, rh_comm_server_port(server));
		/* all others have posted the second operation */
		atomic_store(&ranks[rank].reached, (uint64_t)(rank == 3 ? 0 : RH_COMM_REACHED_OPEN + 2));
	}
	printed_begin(&printed);
	rh_comm_client_beat(ranks[0].client, &beat);
	for (int i = 0; i < 600 && !printed_has(&printed, "is stopped or throttled: rank 0 has waited 10 s", 100); i++)
		rh_comm_client_beat(ranks[0].client, &beat);
	stall(ranks, 1, 11);
	/* a report is dropped while the server still asks about another one */
	for (int i = 0; i < 600 && !printed_has(&printed, "rank 2 has waited 40 s", 100); i++)
		stall(ranks, 2, 40);
	for (int32_t rank = 1; rank < 3; rank++)
		rh_comm_client_beat(ranks[rank].client, &beat);
	assert_true(printed_has(&printed, "rh_comm: ranks go on\n", 60000));
	printed_end(&printed);
	for (int32_t rank = 0; rank < 4; rank++)
		member_part(&ranks[rank]);
	rh_comm_server_free(server);
	if (!strstr(printed.text, "is stopped or throttled: rank 0 has waited 10 s for it in receive") ||
	    !strstr(printed.text, "rank 2 has waited 40 s; it waited for") ||
	    strstr(printed.text, "waited 11 s; it waited for rank 3 at 127.0.0.1 (stopped or throttled)\n"))
		fail_msg("%s", printed.text);
}

static int connect_raw(int32_t port)
{
	struct rh_comm_error err;
	int fd = -1;

	assert_int_equal(rh_comm_socket_connect("127.0.0.1", port, rh_comm_now() + MEMBER_PATIENCE, &fd, &err), 0);
	return fd;
}

static void send_raw(int fd, const void *data, size_t length)
{
	/* the server may have closed it already */
	(void)!send(fd, data, length, MSG_NOSIGNAL);
}

static void send_frame(int fd, uint32_t kind, const void *data, size_t length)
{
	struct rh_comm_buffer out = {0};

	assert_int_equal(rh_comm_frame_add(&out, kind, data, length, NULL, 0), 0);
	send_raw(fd, out.data, out.length);
	rh_comm_buffer_deinit(&out);
}

/* @return kind of the next frame, with its text; 0: the connection is closed */
static uint32_t next_frame(int fd, struct rh_comm_buffer *in, char *text, size_t room)
{
	const uint8_t *payload;
	uint32_t kind = 0;
	size_t length;

	for (int i = 0; i < 6000; i++) {
		int32_t r = rh_comm_frame_look(in, &kind, &payload, &length);

		if (r > 0) {
			(void)snprintf(text, room, "%.*s", (int)length, (const char *)payload);
			return kind;
		}
		if (r < 0 || rh_comm_buffer_read(in, fd) < 0)
			return 0;
		(void)usleep(10000);
	}
	return 0;
}

static void test_server__strangers_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *name;
		uint32_t kind;
		uint32_t protocol;
		size_t length;
		const char *error; /* NULL: closed without a word */
	} rows[] = {
		{"another version", RH_COMM_FRAME_HELLO, 99, sizeof(struct rh_comm_hello), "this rank 99: use one version"},
		{"half a hello", RH_COMM_FRAME_HELLO, RH_COMM_PROTOCOL, 10, "too short"},
		{"a value before the hello", RH_COMM_FRAME_PUT, RH_COMM_PROTOCOL, 10, "not a rank of rh_comm"},
		{"an unknown kind", 77, RH_COMM_PROTOCOL, 10, NULL},
	};
	int32_t port;
	struct rh_comm_server *server = members_server(2, &port);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_hello hello = {.protocol = rows[i].protocol, .rank = 1, .world = 2};
		struct rh_comm_buffer in = {0};
		char text[300] = "";
		int fd = connect_raw(port);
		uint32_t kind;

		send_frame(fd, rows[i].kind, &hello, rows[i].length);
		kind = next_frame(fd, &in, text, sizeof(text));
		if (rows[i].error ? kind != RH_COMM_FRAME_REFUSED || !strstr(text, rows[i].error) : kind != 0)
			fail_msg("%s: %u %s", rows[i].name, kind, text);
		rh_comm_buffer_deinit(&in);
		(void)close(fd);
	}
	rh_comm_server_free(server);
}

/* Become rank 1, by hand. @return the connection */
static int join_raw(int32_t port, struct rh_comm_buffer *in)
{
	struct rh_comm_env env = member_env(1, 2);
	struct rh_comm_hello hello = {.protocol = RH_COMM_PROTOCOL, .rank = 1, .world = 2};
	struct rh_comm_challenge challenge;
	struct rh_comm_sha256 hash;
	uint8_t proof[RH_COMM_DIGEST];
	char text[300];
	int fd = connect_raw(port);

	rh_comm_sha256_init(&hash);
	rh_comm_sha256_add(&hash, env.job, strlen(env.job));
	rh_comm_sha256_end(&hash, hello.job);
	send_frame(fd, RH_COMM_FRAME_HELLO, &hello, sizeof(hello));
	assert_int_equal(next_frame(fd, in, text, sizeof(text)), RH_COMM_FRAME_CHALLENGE);
	memcpy(&challenge, in->data + RH_COMM_FRAME_HEAD, sizeof(challenge));
	rh_comm_frame_drop(in);
	rh_comm_prove(env.secret, "rank", challenge.nonce, &hello, proof);
	send_frame(fd, RH_COMM_FRAME_PROOF, proof, sizeof(proof));
	assert_int_equal(next_frame(fd, in, text, sizeof(text)), RH_COMM_FRAME_WELCOME);
	return fd;
}

static void fuzz_frames(int fd, uint64_t seed)
{
	uint8_t data[200];
	size_t length = test_random(&seed) % sizeof(data);

	for (size_t i = 0; i < length; i++)
		data[i] = (uint8_t)test_random(&seed);
	if (seed % 3 == 0)
		send_raw(fd, data, length);
	else
		send_frame(fd, 1 + test_random(&seed) % RH_COMM_FRAME_PACE, data, length);
}

/* It must live, and let a rank in afterwards. */
static void test_server__nonsense_does_not_end_it(void **state)
{
	struct member rank;
	char value[8];
	int32_t port;
	struct rh_comm_server *server = members_server(2, &port);

	(void)state;
	for (uint32_t round = 0; round < FUZZ_ROUNDS; round++) {
		struct rh_comm_buffer in = {0};
		/* a rank can be there once only: its place is not free again before its death is noticed */
		int fd = round % 50 == 0 ? join_raw(port, &in) : connect_raw(port);

		for (uint32_t i = 0; i < 1 + round % 4; i++)
			fuzz_frames(fd, round * 31 + i);
		(void)close(fd);
		rh_comm_buffer_deinit(&in);
		if (round % 50 == 0) {
			rh_comm_server_free(server);
			server = members_server(2, &port);
		}
	}
	member_join(&rank, 0, 2, port);
	assert_int_equal(rh_comm_client_put(rank.client, "k", "v", 1), 0);
	assert_int_equal(rh_comm_client_get(rank.client, "k", value, sizeof(value), rh_comm_now() + MEMBER_PATIENCE, NULL),
	                 1);
	member_part(&rank);
	rh_comm_server_free(server);
}

static int64_t processor_time(void)
{
	struct timespec time;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
	return (int64_t)time.tv_sec * RH_COMM_SECOND + time.tv_nsec / 1000;
}

/* A connection stays in the listener's queue, which poll() reports again and again. */
static void test_server__rests_while_no_descriptor_is_free(void **state)
{
	struct rlimit limit, few;
	struct member member = {0};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int32_t port;
	struct rh_comm_server *server = members_server(1, &port);
	int caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int64_t begin;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){.rlim_cur = (rlim_t)caller + 1, .rlim_max = limit.rlim_max};
	to.sin_port = htons((uint16_t)port);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(connect(caller, (struct sockaddr *)&to, sizeof(to)), 0);
	begin = processor_time();
	/* the time whose share of the processor is measured */
	(void)usleep(RH_COMM_SECOND);
	begin = processor_time() - begin;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(begin < RH_COMM_SECOND / 10);
	(void)close(caller);
	member_join(&member, 0, 1, port);
	member_part(&member);
	rh_comm_server_free(server);
}

static void test_server__a_port_that_is_taken(void **state)
{
	struct rh_comm_error err = {.text = ""};
	struct rh_comm_env env = member_env(0, 2);
	struct rh_comm_server *other = NULL;
	int32_t port;
	struct rh_comm_server *server = members_server(2, &port);

	(void)state;
	env.port = port;
	assert_int_equal(rh_comm_server_new(&env, &other, &err), RH_COMM_EIO);
	assert_null(other);
	assert_non_null(strstr(err.text, "listen on 127.0.0.1 port"));
	rh_comm_server_free(server);
	rh_comm_server_free(NULL);
}

static void test_server__nobody_listens(void **state)
{
	struct rh_comm_error err = {.text = ""};
	struct rh_comm_env env = member_env(1, 2);
	struct rh_comm_client *client = NULL;

	(void)state;
	env.port = 1;
	assert_int_equal(rh_comm_client_new(&env, rh_comm_now() + 50000, &client, &err), RH_COMM_ETIME);
	assert_null(client);
	assert_non_null(strstr(err.text, "rank 0 at 127.0.0.1 port 1 was not reached in time"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server__who_is_let_in),
		cmocka_unit_test(test_server__values),
		cmocka_unit_test(test_server__a_value_that_comes_later),
		cmocka_unit_test(test_server__the_first_reason_stays),
		cmocka_unit_test(test_server__a_time_limit_names_the_ranks),
		cmocka_unit_test(test_server__a_time_limit_in_a_group_names_its_members),
		cmocka_unit_test(test_server__divergent_ranks_are_distinguished),
		cmocka_unit_test(test_server__one_culprit_is_one_warning),
		cmocka_unit_test(test_server__strangers_are_refused_with_a_reason),
		cmocka_unit_test(test_server__nonsense_does_not_end_it),
		cmocka_unit_test(test_server__rests_while_no_descriptor_is_free),
		cmocka_unit_test(test_server__a_port_that_is_taken),
		cmocka_unit_test(test_server__nobody_listens),
	};

	return cmocka_run_group_tests_name("comm/core/bootstrap/server", tests, NULL, NULL);
}
