/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame: when a rank says that a time limit is over, or that another one does something else, all are asked
 * how far they are and with what. They are also asked when one has waited for a while, so that ranks which wait for
 * different things do not wait until a time limit is over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/bootstrap/hub_parts.h"
#include "comm/core/bootstrap/label.h"
#include "comm/core/error.h"

/* Who does not answer for so long is stopped. */
#define CASE_PATIENCE (RH_COMM_SECOND / 2)
/* When ranks are at odds, those that have not come so far are asked again for so long: most votes count. */
#define CASE_PATIENCE_ODD (2 * RH_COMM_SECOND)
#define CASE_AGAIN (RH_COMM_SECOND / 10)
/* Somebody waits in vain, perhaps: asked after so long, then after twice as long, but at least so often. */
#define WATCH_FIRST RH_COMM_SECOND
#define WATCH_MOST (8 * RH_COMM_SECOND)
/* Most ranks that one message names. */
#define BLAMED_MOST 8
#define LABEL_ROOM 120

/* What is wrong with a rank, the worst first. */
enum fault { FAULT_ABSENT, FAULT_SILENT, FAULT_LEFT, FAULT_BEHIND, FAULTS };

static int32_t case_count(const struct rh_comm_hub *hub)
{
	return hub->about.count > 0 ? hub->about.count : hub->world;
}

static int32_t case_rank(const struct rh_comm_hub *hub, int32_t i)
{
	return hub->about.count > 0 ? hub->about.ranks[i] : i;
}

/* @return what a rank has answered this time, or NULL */
static const struct rh_comm_answer *case_answer(const struct rh_comm_hub *hub, int32_t rank)
{
	const struct hub_peer *peer = hub->about.peers[rank];

	return peer && peer->answered >= hub->about.since ? &peer->answer : NULL;
}

static enum fault case_fault(const struct rh_comm_hub *hub, int32_t rank)
{
	const struct hub_peer *peer = hub->about.peers[rank];

	if (!peer)
		return FAULT_ABSENT;
	if (peer->stage == HUB_LEFT)
		return FAULT_LEFT;
	if (peer->answered < hub->about.since)
		return FAULT_SILENT;
	return peer->answer.reached < hub->about.end.ask.needed ? FAULT_BEHIND : FAULTS;
}

static void case_append(struct rh_comm_end *end, const char *text)
{
	size_t length = strlen(end->text);

	(void)snprintf(end->text + length, sizeof(end->text) - length, "%s", text);
}

static void case_blame(struct rh_comm_hub *hub, int32_t rank, enum fault fault, bool first)
{
	static const char *const words[] = {[FAULT_ABSENT] = "has not come",
	                                    [FAULT_SILENT] = "stopped or starved",
	                                    [FAULT_LEFT] = "has left",
	                                    [FAULT_BEHIND] = "has not posted it"};
	const struct rh_comm_end *end = &hub->about.end;
	const struct hub_peer *peer = hub->about.peers[rank];
	bool opening = fault == FAULT_BEHIND && end->ask.needed == RH_COMM_REACHED_OPENING;
	char text[160];

	if (first)
		hub->about.end.rank = rank;
	(void)snprintf(text, sizeof(text), "%s rank %d%s%s (%s)", first ? "; it waited for" : ",", (int)rank,
	               peer ? " at " : "", peer ? peer->address : "", opening ? "has not called it" : words[fault]);
	case_append(&hub->about.end, text);
}

/* The worst first; of those that are silent, the one that has been for longest. */
static int32_t case_worst(const struct rh_comm_hub *hub, const bool *named, enum fault fault)
{
	int32_t worst = RH_COMM_NO_RANK;
	int64_t oldest = RH_COMM_NEVER;

	for (int32_t i = 0; i < case_count(hub); i++) {
		int32_t rank = case_rank(hub, i);
		const struct hub_peer *peer = hub->about.peers[rank];
		int64_t since = fault == FAULT_SILENT && peer ? peer->since : 0;

		if (!named[rank] && since < oldest && case_fault(hub, rank) == fault) {
			worst = rank;
			oldest = since;
		}
	}
	return worst;
}

static void case_end_late(struct rh_comm_hub *hub)
{
	bool *named = calloc((size_t)hub->world, sizeof(*named));
	int blamed = 0;

	for (enum fault fault = FAULT_ABSENT; named && fault < FAULTS && blamed < BLAMED_MOST;) {
		int32_t rank = case_worst(hub, named, fault);

		if (rank == RH_COMM_NO_RANK) {
			fault++;
			continue;
		}
		named[rank] = true;
		case_blame(hub, rank, fault, blamed++ == 0);
	}
	free(named);
	if (blamed == 0)
		case_append(&hub->about.end, "; all ranks have posted it: it is slow, or the limit is short");
	rh_comm_hub_end(hub, &hub->about.end);
}

/* The label of a rank's collective, by place among those that were asked for; 0: not known. */
static uint64_t case_label(const struct rh_comm_hub *hub, int32_t rank, size_t place)
{
	const struct rh_comm_answer *answer = case_answer(hub, rank);

	return answer ? answer->labels[place] : 0;
}

/* @return what more than half of them posted there, if anything is that; else what one of them did; 0: nothing is known
 */
static uint64_t case_majority(const struct rh_comm_hub *hub, size_t place)
{
	uint64_t label = 0;
	int32_t lead = 0;

	for (int32_t i = 0; i < case_count(hub); i++) {
		uint64_t own = case_label(hub, case_rank(hub, i), place);

		if (own == 0)
			continue;
		if (lead == 0 && own != label) {
			label = own;
			lead = 1;
		} else {
			lead += own == label ? 1 : -1;
		}
	}
	return label;
}

/* @return the first rank that posted `label` there, or else the first that posted something else; or RH_COMM_NO_RANK */
static int32_t case_first(const struct rh_comm_hub *hub, size_t place, uint64_t label, bool same)
{
	for (int32_t i = 0; i < case_count(hub); i++) {
		uint64_t own = case_label(hub, case_rank(hub, i), place);

		if (own != 0 && (own == label) == same)
			return case_rank(hub, i);
	}
	return RH_COMM_NO_RANK;
}

/* Two ranks that posted different collectives, and where among those that were asked for. */
struct odds {
	int32_t odd;
	int32_t other;
	size_t place;
};

static void case_end_odd(struct rh_comm_hub *hub, const struct odds *odds)
{
	const struct rh_comm_ask *ask = &hub->about.end.ask;
	unsigned long long number = ask->needed - RH_COMM_REACHED_OPEN + odds->place + 1 - RH_COMM_REMEMBERED;
	struct rh_comm_end end = {.code = RH_COMM_EINVAL, .rank = odds->odd};
	char texts[2][LABEL_ROOM];

	rh_comm_label_text(case_label(hub, odds->odd, odds->place), texts[0], LABEL_ROOM);
	rh_comm_label_text(case_label(hub, odds->other, odds->place), texts[1], LABEL_ROOM);
	(void)snprintf(end.text, sizeof(end.text),
	               "ranks post different collectives as number %llu%s: rank %d %s, rank %d %s; all must post the same "
	               "ones in the same order",
	               number, ask->group != 0 ? " of a group" : "", (int)odds->odd, texts[0], (int)odds->other, texts[1]);
	rh_comm_hub_end(hub, &end);
}

/* The first collective, of those that are remembered, that some did and others did not. */
static void case_find_odds(const struct rh_comm_hub *hub, struct odds *ret_odds)
{
	if (hub->about.end.ask.needed <= RH_COMM_REACHED_OPEN)
		return;
	for (size_t place = 0; place < RH_COMM_REMEMBERED; place++) {
		uint64_t label = case_majority(hub, place);
		int32_t odd = case_first(hub, place, label, false);

		if (odd != RH_COMM_NO_RANK) {
			*ret_odds = (struct odds){odd, case_first(hub, place, label, true), place};
			return;
		}
	}
}

static void case_drop(struct rh_comm_hub *hub)
{
	free(hub->about.ranks);
	free(hub->about.peers);
	hub->about = (struct hub_about){.since = 0};
}

/* Where each rank is now. @return false: there is no memory for that */
static bool case_find_peers(struct rh_comm_hub *hub)
{
	if (!hub->about.peers)
		hub->about.peers = calloc((size_t)hub->world, sizeof(struct hub_peer *));
	for (size_t i = 0; hub->about.peers && i < hub->peer_count; i++) {
		if (rh_comm_hub_is_rank(hub->peers[i]))
			hub->about.peers[hub->peers[i]->hello.rank] = hub->peers[i];
	}
	return hub->about.peers != NULL;
}

static void case_ask(struct rh_comm_hub *hub)
{
	const struct rh_comm_ask *ask = &hub->about.end.ask;

	hub->about.asked = rh_comm_now();
	rh_comm_hub_broadcast(hub, RH_COMM_FRAME_ASK, ask, sizeof(*ask));
}

static void case_open(struct rh_comm_hub *hub, const struct rh_comm_end *end)
{
	hub->about.end = *end;
	hub->about.since = rh_comm_now();
	case_ask(hub);
}

/* @return whether all have answered, and, when that counts, have come as far as they are to */
static bool case_is_complete(const struct rh_comm_hub *hub, bool all_the_way)
{
	for (int32_t i = 0; i < case_count(hub); i++) {
		const struct rh_comm_answer *answer = case_answer(hub, case_rank(hub, i));

		if (!answer || (all_the_way && answer->reached < hub->about.end.ask.needed))
			return false;
	}
	return true;
}

static void case_close(struct rh_comm_hub *hub)
{
	struct rh_comm_end *end = &hub->about.end;
	struct odds odds = {.odd = RH_COMM_NO_RANK};

	if (hub->about.peers)
		case_find_odds(hub, &odds);
	if (odds.odd != RH_COMM_NO_RANK && end->code == 0 && !case_is_complete(hub, true)) {
		/* nobody has asked for an end yet, so there is time to hear all */
		end->code = RH_COMM_EINVAL;
		hub->about.since = rh_comm_now();
		case_ask(hub);
		return;
	}
	if (odds.odd != RH_COMM_NO_RANK)
		case_end_odd(hub, &odds);
	else if (end->code == RH_COMM_ETIME && hub->about.peers)
		case_end_late(hub);
	else if (end->code < 0)
		rh_comm_hub_end(hub, end);
	case_drop(hub);
}

void rh_comm_hub_judge_case(struct rh_comm_hub *hub, int64_t now)
{
	bool odd;

	if (hub->about.since == 0)
		return;
	if (!case_find_peers(hub)) {
		case_close(hub);
		return;
	}
	odd = hub->about.end.code == RH_COMM_EINVAL;
	if (case_is_complete(hub, odd) || now - hub->about.since > (odd ? CASE_PATIENCE_ODD : CASE_PATIENCE))
		case_close(hub);
	else if (odd && now - hub->about.asked >= CASE_AGAIN)
		case_ask(hub);
}

void rh_comm_hub_on_answer(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	struct rh_comm_answer answer;

	if (length != sizeof(answer))
		return;
	memcpy(&answer, payload, sizeof(answer));
	peer->since = rh_comm_now();
	/* that may be to what was asked before */
	if (answer.ask.group == hub->about.end.ask.group && answer.ask.needed == hub->about.end.ask.needed) {
		peer->answer = answer;
		peer->answered = peer->since;
	}
	rh_comm_hub_judge_case(hub, peer->since);
}

/* Who is concerned, which stands behind the end. @return false: it is nonsense, or there is no memory */
static bool case_take_ranks(struct rh_comm_hub *hub, const uint8_t *payload, size_t length)
{
	size_t count = length / sizeof(int32_t);
	int32_t *ranks;

	if (length % sizeof(int32_t) != 0 || count > (size_t)hub->world)
		return false;
	if (count == 0)
		return true;
	ranks = malloc(length);
	if (!ranks)
		return false;
	memcpy(ranks, payload, length);
	for (size_t i = 0; i < count; i++) {
		if (ranks[i] < 0 || ranks[i] >= hub->world) {
			free(ranks);
			return false;
		}
	}
	hub->about.ranks = ranks;
	hub->about.count = (int32_t)count;
	return true;
}

void rh_comm_hub_on_end(struct rh_comm_hub *hub, const struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	struct rh_comm_end end;

	if (length < sizeof(end))
		return;
	memcpy(&end, payload, sizeof(end));
	end.text[sizeof(end.text) - 1] = '\0';
	if (end.code >= 0)
		end.code = RH_COMM_EABORTED;
	if (end.rank < 0 || end.rank >= hub->world)
		end.rank = end.ask.needed == 0 ? peer->hello.rank : RH_COMM_NO_RANK;
	if (end.ask.needed == 0) {
		rh_comm_hub_end(hub, &end);
		return;
	}
	/* the first who asks for an end has it */
	if (hub->over || (hub->about.since != 0 && hub->about.end.code != 0))
		return;
	case_drop(hub);
	if (case_take_ranks(hub, payload + sizeof(end), length - sizeof(end)))
		case_open(hub, &end);
	else
		rh_comm_hub_end(hub, &end);
}

void rh_comm_hub_watch(struct rh_comm_hub *hub, const struct hub_peer *peer, int64_t now)
{
	const struct rh_comm_beat *beat = &peer->beat;
	struct rh_comm_end end = {.ask = {beat->group, RH_COMM_REACHED_OPEN + beat->number}};
	bool same = hub->watch.group == beat->group && hub->watch.number == beat->number;

	if (beat->number == 0 || beat->waiting < WATCH_FIRST || hub->about.since != 0 || hub->over || now < hub->watch.next)
		return;
	if (same && beat->waiting < hub->watch.waiting)
		return;
	hub->watch =
		(struct hub_watch){.group = beat->group,
	                       .number = beat->number,
	                       .waiting = beat->waiting + (beat->waiting < WATCH_MOST ? beat->waiting : WATCH_MOST),
	                       .next = now + WATCH_FIRST};
	case_open(hub, &end);
}

void rh_comm_hub_case_deinit(struct rh_comm_hub *hub)
{
	case_drop(hub);
}
