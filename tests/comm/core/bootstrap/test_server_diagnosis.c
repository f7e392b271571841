/* SPDX-License-Identifier: Apache-2.0 */
/* Who is named, and how long answers are waited for: of ranks without connections, and with times that are made up. */
#include "comm/core/bootstrap/server_diagnosis.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/core/bootstrap/protocol/label.h"
#include "comm/core/error.h"

enum { WORLD = 3 };
#define GROUP 9
#define NUMBER 7
#define NEEDED (RH_COMM_REACHED_OPEN + NUMBER)
#define MEMBERS " of the group of ranks 2, 1"

/* A server and its ranks, from which something came just now. */
struct world {
	struct rh_comm_server server;
	struct server_peer peers[WORLD];
	struct server_peer *list[WORLD];
};

static void world_open(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->server.world = WORLD;
	world->server.peers = world->list;
	world->server.peer_count = WORLD;
	for (int32_t rank = 0; rank < WORLD; rank++) {
		world->peers[rank] =
			(struct server_peer){.stage = SERVER_MEMBER, .hello.rank = rank, .since = rh_comm_now(), .address = "node"};
		world->list[rank] = &world->peers[rank];
	}
}

static void world_close(struct world *world)
{
	for (int32_t rank = 0; rank < WORLD; rank++)
		rh_comm_buffer_deinit(&world->peers[rank].out);
	rh_comm_server_diagnosis_deinit(&world->server);
}

/* Rank 0 waits too long for the operation, which all of the world are to post. */
static void time_out(struct world *world)
{
	struct {
		struct rh_comm_end end;
		int32_t ranks[WORLD];
	} frame = {{.code = RH_COMM_ETIME, .rank = RH_COMM_NO_RANK, .query = {GROUP, NEEDED}, .text = "too late"},
	           {0, 1, 2}};

	rh_comm_server_on_end(&world->server, &world->peers[0], (const uint8_t *)&frame,
	                      sizeof(frame.end) + sizeof(frame.ranks));
}

/* A rank has posted so many operations, of which the last one reduces with `reduce`. */
static struct rh_comm_answer answer_of(uint64_t posted, int32_t reduce)
{
	const struct rh_comm_op op = {.what = RH_COMM_ALL_REDUCE, .count = 4, .type = RH_COMM_F32, .reduce = reduce};
	struct rh_comm_answer answer = {
		.query = {GROUP, NEEDED}, .reached = RH_COMM_REACHED_OPEN + posted, .text = MEMBERS};

	if (posted >= NUMBER)
		answer.labels[RH_COMM_REMEMBERED - 1] = rh_comm_label(&op, 0);
	return answer;
}

static void answer(struct world *world, int32_t rank, uint64_t posted, int32_t reduce)
{
	struct rh_comm_answer one = answer_of(posted, reduce);

	rh_comm_server_on_answer(&world->server, &world->peers[rank], (const uint8_t *)&one, sizeof(one));
}

/* So much later than the open inquiry began. */
static void let_pass(struct world *world, int64_t time)
{
	rh_comm_server_diagnose(&world->server, world->server.inquiry.since + time);
}

/* The end of the world, as a rank gets it. */
static struct rh_comm_end take_end(struct world *world)
{
	struct rh_comm_buffer *out = &world->peers[0].out;
	struct rh_comm_end end = {0};
	const uint8_t *payload;
	uint32_t kind;
	size_t length;

	while (rh_comm_frame_look(out, &kind, &payload, &length) > 0) {
		if (kind == RH_COMM_FRAME_END && length == sizeof(end))
			memcpy(&end, payload, sizeof(end));
		rh_comm_frame_drop(out);
	}
	assert_int_not_equal(end.code, 0);
	return end;
}

/* Rank 2 has posted something else, and is asked on a machine that gives it no processor for two seconds. */
static void test_server_diagnosis__a_late_answer_counts(void **state)
{
	struct world world;
	struct rh_comm_end end;

	(void)state;
	world_open(&world);
	time_out(&world);
	answer(&world, 0, NUMBER, RH_COMM_SUM);
	answer(&world, 1, NUMBER, RH_COMM_SUM);
	let_pass(&world, 2 * RH_COMM_SECOND);
	assert_false(world.server.over);
	answer(&world, 2, NUMBER, RH_COMM_MAX);
	end = take_end(&world);
	assert_int_equal(end.code, RH_COMM_EINVAL);
	assert_int_equal(end.rank, 2);
	assert_string_equal(end.text, "ranks post different collectives as number 7" MEMBERS
	                              ": rank 2 all-reduce of 4 f32, max, rank 0 all-reduce of 4 f32, sum; all must post "
	                              "the same ones in the same order");
	world_close(&world);
}

struct patience_row {
	const char *name;
	int64_t quiet; /* of rank 2: before the inquiry began; below 0: after that */
	int64_t waits; /* the inquiry is open then */
	int64_t over;
};

/* Rank 2 does not answer. */
static void check_patience(const struct patience_row *row)
{
	struct world world;
	struct rh_comm_end end;

	world_open(&world);
	time_out(&world);
	answer(&world, 0, NUMBER, RH_COMM_SUM);
	answer(&world, 1, NUMBER, RH_COMM_SUM);
	world.peers[2].since = world.server.inquiry.since - row->quiet;
	let_pass(&world, row->waits);
	if (world.server.over)
		fail_msg("%s: too early", row->name);
	let_pass(&world, row->over);
	if (!world.server.over)
		fail_msg("%s: too late", row->name);
	end = take_end(&world);
	assert_int_equal(end.code, RH_COMM_ETIME);
	assert_string_equal(end.text, "too late; it waited for rank 2 at node (stopped or throttled)");
	world_close(&world);
}

static void test_server_diagnosis__how_long_an_answer_is_waited_for(void **state)
{
	static const struct patience_row rows[] = {
		{"one that was silent", 4 * RH_COMM_SECOND, RH_COMM_SECOND / 4, RH_COMM_SECOND},
		{"one that sent something a second ago", RH_COMM_SECOND, 2 * RH_COMM_SECOND, 2 * RH_COMM_SECOND + 1},
		{"one that sends something all the time", -3 * RH_COMM_SECOND, 4 * RH_COMM_SECOND, 4 * RH_COMM_SECOND + 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_patience(&rows[i]);
}

/* The server runs in rank 0's process, which is not stopped then: its other thread only lacks a processor. */
static void test_server_diagnosis__rank_0_is_not_stopped(void **state)
{
	static const struct {
		const char *name;
		int64_t quiet;   /* of rank 0 */
		int64_t victim;  /* quiet of rank 2, which does not answer; 0: it answers */
		uint64_t posted; /* by rank 2, which answers */
		int32_t rank;
		const char *text;
	} rows[] = {
		{"one is stopped", 5 * RH_COMM_SECOND, 4 * RH_COMM_SECOND, 0, 2,
	     "too late; it waited for rank 2 at node (stopped or throttled), rank 0 at node (does not answer)"},
		{"one is behind", 5 * RH_COMM_SECOND, 0, NUMBER - 1, 2,
	     "too late; it waited for rank 2 at node (has not posted it; it has posted nothing yet), rank 0 at node (does "
	     "not answer)"},
		{"no other is late", 5 * RH_COMM_SECOND, 0, NUMBER, 0,
	     "too late; it waited for rank 0 at node (does not answer)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world world;
		struct rh_comm_end end;

		print_message("row: %s\n", rows[i].name);
		world_open(&world);
		time_out(&world);
		answer(&world, 1, NUMBER, RH_COMM_SUM);
		if (rows[i].victim == 0)
			answer(&world, 2, rows[i].posted, RH_COMM_SUM);
		else
			world.peers[2].since -= rows[i].victim;
		world.peers[0].since -= rows[i].quiet;
		let_pass(&world, RH_COMM_SECOND);
		end = take_end(&world);
		assert_int_equal(end.code, RH_COMM_ETIME);
		assert_string_equal(end.text, rows[i].text);
		assert_int_equal(end.rank, rows[i].rank);
		world_close(&world);
	}
}

/* Ranks 1 and 2 are a group and disagree there; the server asks by itself, and rank 0 has been stopped. */
static void test_server_diagnosis__members_name_their_group(void **state)
{
	struct world world;
	struct rh_comm_end end;

	(void)state;
	world_open(&world);
	world.peers[1].beat = (struct rh_comm_beat){.waiting = 2 * RH_COMM_SECOND,
	                                            .what = RH_COMM_ALL_REDUCE,
	                                            .peer = RH_COMM_NO_RANK,
	                                            .group = GROUP,
	                                            .number = NUMBER};
	rh_comm_server_watch(&world.server, &world.peers[1], rh_comm_now());
	world.peers[0].since -= 4 * RH_COMM_SECOND;
	/* once to find out, and once for all to come as far */
	for (int i = 0; i < 2; i++) {
		answer(&world, 1, NUMBER, RH_COMM_SUM);
		answer(&world, 2, NUMBER, RH_COMM_MAX);
		let_pass(&world, 3 * RH_COMM_SECOND);
	}
	end = take_end(&world);
	assert_int_equal(end.code, RH_COMM_EINVAL);
	assert_int_equal(end.rank, 2);
	assert_non_null(strstr(end.text, " as number 7" MEMBERS ": rank 2 all-reduce of 4 f32, max, rank 1 "));
	world_close(&world);
}

/* What the one who is waited for does instead. */
static const struct {
	struct rh_comm_latest latest;
	const char *text;
} latest_rows[] = {
	{{.what = RH_COMM_BARRIER,
      .number = 3,
      .open = 1,
      .ago = 9100000,
      .group = 5,
      .text = " of the group of ranks 0, 1"},
     "it waits in barrier number 3 of the group of ranks 0, 1 since 9.1 s"},
	{{.what = RH_COMM_BARRIER, .number = 3, .ago = 9100000, .group = 5},
     "its last operation, barrier number 3 of a group that it has left, ended 9.1 s ago"},
	{{.what = RH_COMM_RECV, .open = 1, .ago = 200000}, "it waits in receive since 0.2 s"},
	{{.what = 0}, "it has posted nothing yet"},
};

static void test_server_diagnosis__what_the_culprit_does_instead(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(latest_rows) / sizeof(*latest_rows); i++) {
		struct rh_comm_answer late = answer_of(NUMBER - 1, RH_COMM_SUM);
		struct world world;
		struct rh_comm_end end;

		world_open(&world);
		time_out(&world);
		answer(&world, 0, NUMBER, RH_COMM_SUM);
		answer(&world, 1, NUMBER, RH_COMM_SUM);
		late.latest = latest_rows[i].latest;
		rh_comm_server_on_answer(&world.server, &world.peers[2], (const uint8_t *)&late, sizeof(late));
		end = take_end(&world);
		assert_int_equal(end.rank, 2);
		if (!strstr(end.text, latest_rows[i].text))
			fail_msg("%s", end.text);
		world_close(&world);
	}
}

/* Rank 0, which reports it, waits alone, and the others wait for it elsewhere; or rank 1 waits with it. */
static void test_server_diagnosis__where_ranks_wait_for_each_other(void **state)
{
	(void)state;
	for (int32_t here = 1; here <= 2; here++) {
		struct rh_comm_answer late = answer_of(NUMBER - 1, RH_COMM_SUM);
		struct world world;
		struct rh_comm_end end;

		late.latest = (struct rh_comm_latest){.what = RH_COMM_BARRIER, .number = 3, .open = 1, .ago = 9100000};
		world_open(&world);
		time_out(&world);
		for (int32_t rank = 0; rank < WORLD; rank++) {
			if (rank < here)
				answer(&world, rank, NUMBER, RH_COMM_SUM);
			else
				rh_comm_server_on_answer(&world.server, &world.peers[rank], (const uint8_t *)&late, sizeof(late));
		}
		end = take_end(&world);
		assert_int_equal(end.rank, here == 1 ? 0 : 2);
		assert_int_equal(strstr(end.text, "; more wait there, for rank 0, which has left that out") != NULL, here == 1);
		world_close(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server_diagnosis__a_late_answer_counts),
		cmocka_unit_test(test_server_diagnosis__how_long_an_answer_is_waited_for),
		cmocka_unit_test(test_server_diagnosis__rank_0_is_not_stopped),
		cmocka_unit_test(test_server_diagnosis__members_name_their_group),
		cmocka_unit_test(test_server_diagnosis__what_the_culprit_does_instead),
		cmocka_unit_test(test_server_diagnosis__where_ranks_wait_for_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
