/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/bootstrap/server_pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"

/* A little less than the time between two heartbeats, so that each is looked at. */
#define PACE_PAUSE (RH_COMM_SECOND * 9 / 10)
/* A rank that is near the limit is not named and dropped in turns: so many judgements in a row have to clear it. */
#define PACE_STEADY 10

void rh_comm_server_on_pace(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length)
{
	struct rh_comm_pace_mark mark;

	if (length % sizeof(mark) != 0 || length > RH_COMM_PACE_MARKS * sizeof(mark))
		return;
	/* without memory nothing is known of this rank, and nobody is named */
	if (!peer->pace)
		peer->pace = calloc(1, sizeof(*peer->pace));
	for (size_t at = 0; peer->pace && at < length; at += sizeof(mark)) {
		memcpy(&mark, payload + at, sizeof(mark));
		rh_comm_pace_add(peer->pace, &mark);
	}
	server->pace.fresh = true;
}

/* @param histories room for all ranks. @return false: not all have reported */
static bool pace_collect(const struct rh_comm_server *server, const struct rh_comm_pace_history **histories)
{
	int32_t count = 0;

	for (size_t i = 0; i < server->peer_count; i++) {
		const struct server_peer *peer = server->peers[i];

		if (!rh_comm_server_is_rank(peer) || !peer->pace)
			continue;
		histories[peer->hello.rank] = peer->pace;
		count++;
	}
	return count == server->world;
}

static void pace_say(const struct rh_comm_server *server, int32_t before)
{
	const struct rh_comm_pace *pace = &server->pace.found;
	const struct server_peer *peer = rh_comm_server_find(server, pace->late);

	if (!server->log || server->over || pace->late == before)
		return;
	if (pace->late == RH_COMM_NO_RANK)
		(void)fprintf(stderr, "rh_comm: rank %d no longer comes last\n", (int)before);
	else
		(void)fprintf(stderr, "rh_comm: rank %d at %s comes last: the others wait for it in %.0f %% of the time\n",
		              (int)pace->late, peer ? peer->address : "?", 100 * pace->share);
}

static void pace_take(struct server_pace *known, const struct rh_comm_pace *pace)
{
	bool same = pace->late == known->found.late;

	known->quiet = same ? 0 : known->quiet + 1;
	if (same || known->found.late == RH_COMM_NO_RANK || known->quiet >= PACE_STEADY) {
		known->found = *pace;
		known->quiet = 0;
	}
}

void rh_comm_server_judge_pace(struct rh_comm_server *server, int64_t now)
{
	const struct rh_comm_pace_history **histories;
	int32_t before = server->pace.found.late;
	struct rh_comm_pace pace;

	if (!server->pace.fresh || now - server->pace.judged < PACE_PAUSE)
		return;
	server->pace.fresh = false;
	server->pace.judged = now;
	histories = calloc((size_t)server->world, sizeof(*histories));
	if (histories && pace_collect(server, histories) &&
	    rh_comm_pace_judge_histories(histories, server->world, &pace) == 0 && pace.rounds > 0) {
		pace_take(&server->pace, &pace);
		pace_say(server, before);
	}
	free(histories);
}
