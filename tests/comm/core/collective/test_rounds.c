/* SPDX-License-Identifier: Apache-2.0 */
/* A world in one process: each rank's rounds are played against the others', and the result against a plain sum. */
#include "comm/core/collective/rounds.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "roundhouse/comm.h"

#define WORLD_MAX 9
#define COUNT_MAX 70

/* One rank: its buffers, and how far it is in the block that is played. */
struct player {
	struct rh_comm_plan plan;
	int64_t in[COUNT_MAX * WORLD_MAX];
	int64_t out[COUNT_MAX * WORLD_MAX];
	int64_t spare[2][COUNT_MAX];
	int32_t number;
	struct rh_comm_round round;
	bool done;
	bool sent;
	bool received;
	int64_t mail[WORLD_MAX][COUNT_MAX * 2]; /* what is under way to this rank, by sender */
	size_t mail_length[WORLD_MAX];
};

struct game {
	struct player players[WORLD_MAX];
	int32_t world;
};

static char *at(struct player *player, const struct rh_comm_place *place)
{
	int64_t *areas[] = {player->in, player->out, player->spare[0], player->spare[1]};

	return (char *)areas[place->area] + place->offset;
}

static void post_send(struct game *game, struct player *player)
{
	const struct rh_comm_move *send = &player->round.send;
	struct player *peer = &game->players[send->peer];
	size_t *length = &peer->mail_length[player->plan.rank];

	assert_true(*length + send->length <= sizeof(peer->mail[0]));
	memcpy((char *)peer->mail[player->plan.rank] + *length, at(player, &send->place), send->length);
	*length += send->length;
}

static bool try_receive(struct player *player)
{
	const struct rh_comm_move *recv = &player->round.recv;
	size_t *length = &player->mail_length[recv->peer];
	char *mail = (char *)player->mail[recv->peer];

	if (*length < recv->length)
		return false;
	memcpy(at(player, &recv->place), mail, recv->length);
	*length -= recv->length;
	memmove(mail, mail + recv->length, *length);
	return true;
}

static void act(struct player *player)
{
	const struct rh_comm_round *round = &player->round;
	int64_t *out = (int64_t *)(void *)at(player, &round->out);
	const int64_t *a = (const int64_t *)(void *)at(player, &round->a);
	const int64_t *b = (const int64_t *)(void *)at(player, &round->b);

	for (size_t i = 0; i < round->count; i++) {
		if (round->act == RH_COMM_ACT_REDUCE)
			out[i] = a[i] + b[i];
		else if (round->act == RH_COMM_ACT_COPY)
			out[i] = a[i];
	}
}

static void begin(struct player *player, size_t block)
{
	player->done = !rh_comm_plan_round(&player->plan, block, player->number, &player->round);
	player->sent = player->round.send.length == 0;
	player->received = player->round.recv.length == 0;
}

/* @return whether the player could move */
static bool step(struct game *game, struct player *player, size_t block)
{
	bool moved = !player->sent;

	if (player->done)
		return false;
	if (!player->sent)
		post_send(game, player);
	player->sent = true;
	if (!player->received && try_receive(player))
		player->received = moved = true;
	if (!player->received)
		return moved;
	act(player);
	player->number++;
	begin(player, block);
	return true;
}

static void play_block(struct game *game, size_t block)
{
	bool moved = true;

	for (int32_t r = 0; r < game->world; r++) {
		game->players[r].number = 0;
		begin(&game->players[r], block);
	}
	while (moved) {
		moved = false;
		for (int32_t r = 0; r < game->world; r++)
			moved |= step(game, &game->players[r], block);
	}
	for (int32_t r = 0; r < game->world; r++) {
		assert_true(game->players[r].done);
		for (int32_t s = 0; s < game->world; s++)
			assert_int_equal(game->players[r].mail_length[s], 0);
	}
}

static int64_t value(int32_t rank, size_t i)
{
	return (int64_t)(i + 1) * 1000 + rank;
}

static int64_t wanted(const struct rh_comm_plan *plan, size_t i)
{
	int64_t ranks = plan->world;

	switch (plan->what) {
	case RH_COMM_ALL_REDUCE:
		return (int64_t)(i + 1) * 1000 * ranks + ranks * (ranks - 1) / 2;
	case RH_COMM_REDUCE_SCATTER:
		i += (size_t)plan->rank * plan->count;
		return (int64_t)(i + 1) * 1000 * ranks + ranks * (ranks - 1) / 2;
	case RH_COMM_ALL_GATHER:
		return value((int32_t)(i / plan->count), i % plan->count);
	case RH_COMM_REDUCE:
		return plan->rank == plan->root ? (int64_t)(i + 1) * 1000 * ranks + ranks * (ranks - 1) / 2 : 0;
	case RH_COMM_ALL_TO_ALL:
		return value((int32_t)(i / plan->count), (size_t)plan->rank * plan->count + i % plan->count);
	default:
		return value(plan->root, i);
	}
}

static void play(const struct rh_comm_plan *like)
{
	struct game *game = calloc(1, sizeof(*game));
	bool wide = like->what == RH_COMM_ALL_GATHER || like->what == RH_COMM_ALL_TO_ALL;
	size_t outs = wide ? like->count * (size_t)like->world : like->count;

	assert_non_null(game);
	game->world = like->world;
	for (int32_t r = 0; r < game->world; r++) {
		struct player *player = &game->players[r];

		player->plan = *like;
		player->plan.rank = r;
		for (size_t i = 0; i < COUNT_MAX * WORLD_MAX; i++)
			player->in[i] = value(r, i);
	}
	for (size_t block = 0; block < rh_comm_plan_blocks(like); block++)
		play_block(game, block);
	for (int32_t r = 0; r < game->world; r++) {
		for (size_t i = 0; i < outs && like->what != RH_COMM_BARRIER; i++)
			assert_true(game->players[r].out[i] == wanted(&game->players[r].plan, i));
		/* nothing beyond is touched */
		assert_true(like->what == RH_COMM_BARRIER || outs == COUNT_MAX * WORLD_MAX || game->players[r].out[outs] == 0);
	}
	free(game);
}

static void play_sizes(int32_t what, bool doubling)
{
	static const size_t counts[] = {0, 1, 2, 3, 7, 8, 9, 31, 64, COUNT_MAX - 1};
	static const size_t segments[] = {1, 2, 5, 16, 100};

	for (int32_t world = 1; world <= WORLD_MAX; world++) {
		for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
			for (size_t s = 0; s < sizeof(segments) / sizeof(*segments); s++) {
				struct rh_comm_plan plan = {.what = what,
				                            .world = world,
				                            .root = (int32_t)(c % (size_t)world),
				                            .count = counts[c],
				                            .size = sizeof(int64_t),
				                            .segment = segments[s],
				                            .doubling = doubling};

				assert_true(rh_comm_plan_spare(&plan) <= COUNT_MAX * sizeof(int64_t));
				play(&plan);
			}
		}
	}
}

static void test_rounds__ring_all_reduce(void **state)
{
	(void)state;
	play_sizes(RH_COMM_ALL_REDUCE, false);
}

static void test_rounds__doubling_all_reduce(void **state)
{
	(void)state;
	play_sizes(RH_COMM_ALL_REDUCE, true);
}

static void test_rounds__reduce_scatter(void **state)
{
	(void)state;
	play_sizes(RH_COMM_REDUCE_SCATTER, false);
}

static void test_rounds__all_gather(void **state)
{
	(void)state;
	play_sizes(RH_COMM_ALL_GATHER, false);
}

static void test_rounds__broadcast(void **state)
{
	(void)state;
	play_sizes(RH_COMM_BROADCAST, false);
}

static void test_rounds__reduce(void **state)
{
	(void)state;
	play_sizes(RH_COMM_REDUCE, false);
}

static void test_rounds__all_to_all(void **state)
{
	(void)state;
	play_sizes(RH_COMM_ALL_TO_ALL, false);
}

static void test_rounds__barrier(void **state)
{
	(void)state;
	play_sizes(RH_COMM_BARRIER, false);
}

/* A ring moves 2 (p - 1) / p of the vector over each link, no matter how it is cut. */
static void test_rounds__ring_moves_no_byte_too_many(void **state)
{
	struct rh_comm_plan plan = {
		.what = RH_COMM_ALL_REDUCE, .rank = 2, .world = 4, .count = 4096, .size = 4, .segment = 128};
	size_t sent = 0;

	(void)state;
	for (size_t block = 0; block < rh_comm_plan_blocks(&plan); block++) {
		struct rh_comm_round round;

		for (int32_t number = 0; rh_comm_plan_round(&plan, block, number, &round); number++) {
			assert_true(round.send.length <= plan.segment * plan.size);
			sent += round.send.length;
		}
	}
	assert_int_equal(sent, plan.count * plan.size * 2 * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds__ring_all_reduce),
		cmocka_unit_test(test_rounds__doubling_all_reduce),
		cmocka_unit_test(test_rounds__reduce_scatter),
		cmocka_unit_test(test_rounds__all_gather),
		cmocka_unit_test(test_rounds__broadcast),
		cmocka_unit_test(test_rounds__reduce),
		cmocka_unit_test(test_rounds__all_to_all),
		cmocka_unit_test(test_rounds__barrier),
		cmocka_unit_test(test_rounds__ring_moves_no_byte_too_many),
	};

	return cmocka_run_group_tests_name("comm/core/collective/rounds", tests, NULL, NULL);
}
