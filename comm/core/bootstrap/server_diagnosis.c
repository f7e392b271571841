/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the ranks at fault: when a rank reports a timeout, or that another one posted something else, all ranks are
 * queried for their progress and their latest collectives. They are also queried when one has waited for a while, so
 * that ranks which wait for different things do not wait until a timeout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/bootstrap/protocol/label.h"
#include "comm/core/bootstrap/server_diagnosis.h"
#include "comm/core/error.h"

/* How long a silent rank may take to answer, for it may have gone on. */
#define INQUIRY_PATIENCE (RH_COMM_SECOND / 2)
/* After a divergence, ranks that are behind are queried again for this long, so that the majority is known. */
#define INQUIRY_PATIENCE_ODD (2 * RH_COMM_SECOND)
/* A rank from which something came lately may only lack a processor: its answer is waited for until it is silent, but
 * no longer than this. */
#define INQUIRY_LIMIT (4 * RH_COMM_SECOND)
#define INQUIRY_AGAIN (RH_COMM_SECOND / 10)
/* A rank may wait in vain: the first inquiry opens after this time, later ones after twice as long, up to the maximum.
 */
#define WATCH_FIRST RH_COMM_SECOND
#define WATCH_MOST (8 * RH_COMM_SECOND)
/* Maximum of ranks in one message. */
#define BLAMED_MOST 8
#define LABEL_ROOM 120

/* Faults of a rank, the worst first: who waits for others itself is less to blame, and least a rank 0 that does not
 * answer. */
enum fault { FAULT_ABSENT, FAULT_SILENT, FAULT_LEFT, FAULT_BEHIND, FAULT_BUSY, FAULT_MUTE, FAULTS };
/* The server runs in its process: that is not stopped while the server looks. */
#define SERVER_RANK 0

static int32_t diagnosis_count(const struct rh_comm_server *server)
{
	return server->inquiry.count > 0 ? server->inquiry.count : server->world;
}

static int32_t diagnosis_rank(const struct rh_comm_server *server, int32_t i)
{
	return server->inquiry.count > 0 ? server->inquiry.ranks[i] : i;
}

/* @return a rank's answer to this inquiry, or NULL */
static const struct rh_comm_answer *diagnosis_answer(const struct rh_comm_server *server, int32_t rank)
{
	const struct server_peer *peer = server->inquiry.peers[rank];

	return peer && peer->answered >= server->inquiry.since ? &peer->answer : NULL;
}

static enum fault diagnosis_fault(const struct rh_comm_server *server, int32_t rank)
{
	const struct server_peer *peer = server->inquiry.peers[rank];

	if (!peer)
		return FAULT_ABSENT;
	if (peer->stage == SERVER_LEFT)
		return FAULT_LEFT;
	if (peer->answered < server->inquiry.since)
		return rank == SERVER_RANK ? FAULT_MUTE : FAULT_SILENT;
	if (peer->answer.reached >= server->inquiry.end.query.needed)
		return FAULTS;
	return peer->answer.latest.open ? FAULT_BUSY : FAULT_BEHIND;
}

static void diagnosis_append(struct rh_comm_end *end, const char *text)
{
	size_t length = strlen(end->text);

	(void)snprintf(end->text + length, sizeof(end->text) - length, "%s", text);
}

static const char *diagnosis_latest_group(const struct rh_comm_latest *latest)
{
	if (latest->group == 0)
		return "";
	return latest->text[0] ? latest->text : " of a group that it has left";
}

/* What a rank does instead: "; it waits in barrier number 3 of the group of ranks 1, 3 since 9.1 s". */
static void diagnosis_latest(const struct rh_comm_latest *latest, char *text, size_t room)
{
	double seconds = (double)latest->ago / (double)RH_COMM_SECOND;
	const char *group = diagnosis_latest_group(latest);
	char number[40] = "";

	text[0] = '\0';
	if (latest->number > 0)
		(void)snprintf(number, sizeof(number), " number %llu", (unsigned long long)latest->number);
	if (latest->what == 0)
		(void)snprintf(text, room, "; it has posted nothing yet");
	else if (latest->open)
		(void)snprintf(text, room, "; it waits in %s%s%s since %.1f s", rh_comm_what_name(latest->what), number, group,
		               seconds);
	else
		(void)snprintf(text, room, "; its last operation, %s%s%s, ended %.1f s ago", rh_comm_what_name(latest->what),
		               number, group, seconds);
}

static void diagnosis_blame(struct rh_comm_server *server, int32_t rank, enum fault fault, bool first)
{
	static const char *const words[] = {[FAULT_ABSENT] = "has not come",    [FAULT_SILENT] = "stopped or throttled",
	                                    [FAULT_LEFT] = "has left",          [FAULT_BEHIND] = "has not posted it",
	                                    [FAULT_BUSY] = "has not posted it", [FAULT_MUTE] = "does not answer"};
	const struct rh_comm_end *end = &server->inquiry.end;
	const struct server_peer *peer = server->inquiry.peers[rank];
	bool behind = fault == FAULT_BEHIND || fault == FAULT_BUSY;
	bool opening = behind && end->query.needed == RH_COMM_REACHED_OPENING;
	char latest[120 + RH_COMM_GROUP_ROOM] = "";
	char text[160 + sizeof(latest)];

	if (first)
		server->inquiry.end.rank = rank;
	if (first && behind && !opening)
		diagnosis_latest(&peer->answer.latest, latest, sizeof(latest));
	(void)snprintf(text, sizeof(text), "%s rank %d%s%s (%s%s)", first ? "; it waited for" : ",", (int)rank,
	               peer ? " at " : "", peer ? peer->address : "", opening ? "has not called it" : words[fault], latest);
	diagnosis_append(&server->inquiry.end, text);
}

/* The next rank with this fault; of the silent ones, the longest. */
static int32_t diagnosis_worst(const struct rh_comm_server *server, const bool *named, enum fault fault)
{
	int32_t worst = RH_COMM_NO_RANK;
	int64_t oldest = RH_COMM_NEVER;

	for (int32_t i = 0; i < diagnosis_count(server); i++) {
		int32_t rank = diagnosis_rank(server, i);
		const struct server_peer *peer = server->inquiry.peers[rank];
		int64_t since = fault == FAULT_SILENT && peer ? peer->since : 0;

		if (!named[rank] && since < oldest && diagnosis_fault(server, rank) == fault) {
			worst = rank;
			oldest = since;
		}
	}
	return worst;
}

/* @return whether a warning names the rank for the first time in this wait */
static bool diagnosis_is_new(struct rh_comm_server *server, int32_t rank, enum fault fault)
{
	struct server_warned warning = {rh_comm_now(), server->inquiry.waiting, fault == FAULT_SILENT};
	struct server_peer *peer = server->inquiry.peers[rank];

	return !peer || rh_comm_server_warns(peer, &warning);
}

/* @return how many ranks were named; in @p ret_new, how many of them no other warning has named */
static int diagnosis_name_late(struct rh_comm_server *server, int *ret_new)
{
	bool *named = calloc((size_t)server->world, sizeof(*named));
	int blamed = 0;

	*ret_new = 0;
	for (enum fault fault = FAULT_ABSENT; named && fault < FAULTS && blamed < BLAMED_MOST;) {
		int32_t rank = diagnosis_worst(server, named, fault);

		if (rank == RH_COMM_NO_RANK) {
			fault++;
			continue;
		}
		named[rank] = true;
		*ret_new += diagnosis_is_new(server, rank, fault);
		diagnosis_blame(server, rank, fault, blamed++ == 0);
	}
	free(named);
	return blamed;
}

/* @return how many of the ranks wait in that operation */
static int32_t diagnosis_count_in(const struct rh_comm_server *server, const struct rh_comm_latest *latest)
{
	int32_t count = 0;

	for (int32_t i = 0; i < diagnosis_count(server); i++) {
		const struct rh_comm_answer *answer = diagnosis_answer(server, diagnosis_rank(server, i));

		count += answer && answer->latest.open && answer->latest.group == latest->group &&
		         answer->latest.number == latest->number;
	}
	return count;
}

/*
 * Ranks may wait for each other in two operations, because one of them has left one out; who reports it first is
 * chance. @return the first rank here if all that are late wait in another operation, and more than wait here; or
 * RH_COMM_NO_RANK
 */
static int32_t diagnosis_fewer(const struct rh_comm_server *server)
{
	int32_t first = RH_COMM_NO_RANK;
	int32_t here = 0;
	int32_t most = 0;

	for (int32_t i = 0; i < diagnosis_count(server); i++) {
		int32_t rank = diagnosis_rank(server, i);
		enum fault fault = diagnosis_fault(server, rank);
		int32_t there;

		if (fault == FAULTS) {
			first = here++ == 0 ? rank : first;
			continue;
		}
		if (fault != FAULT_BUSY)
			return RH_COMM_NO_RANK;
		there = diagnosis_count_in(server, &server->inquiry.peers[rank]->answer.latest);
		most = there > most ? there : most;
	}
	return most > here ? first : RH_COMM_NO_RANK;
}

static void diagnosis_end_late(struct rh_comm_server *server)
{
	int32_t fewer = diagnosis_fewer(server);
	char text[80];
	int fresh;

	if (diagnosis_name_late(server, &fresh) == 0) {
		diagnosis_append(&server->inquiry.end, "; all ranks have posted it: it is slow, or the limit is short");
	} else if (fewer != RH_COMM_NO_RANK) {
		(void)snprintf(text, sizeof(text), "; more wait there, for rank %d, which has left that out", (int)fewer);
		diagnosis_append(&server->inquiry.end, text);
		server->inquiry.end.rank = fewer;
	}
	rh_comm_server_end(server, &server->inquiry.end);
}

/* Nothing ends. */
static void diagnosis_report(struct rh_comm_server *server)
{
	int fresh;
	int blamed = diagnosis_name_late(server, &fresh);

	if (blamed > 0 && fresh == 0)
		return;
	if (blamed == 0)
		diagnosis_append(&server->inquiry.end, "; all ranks have posted it: data move slowly, or not at all");
	(void)fprintf(stderr, "rh_comm: %s\n", server->inquiry.end.text);
}

/* The label of a rank's collective, by place among those that were asked for; 0: not known. */
static uint64_t diagnosis_label(const struct rh_comm_server *server, int32_t rank, size_t place)
{
	const struct rh_comm_answer *answer = diagnosis_answer(server, rank);

	return answer ? answer->labels[place] : 0;
}

/* @return what more than half of them posted there, if anything is that; else what one of them did; 0: nothing is known
 */
static uint64_t diagnosis_majority(const struct rh_comm_server *server, size_t place)
{
	uint64_t label = 0;
	int32_t lead = 0;

	for (int32_t i = 0; i < diagnosis_count(server); i++) {
		uint64_t own = diagnosis_label(server, diagnosis_rank(server, i), place);

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
static int32_t diagnosis_first(const struct rh_comm_server *server, size_t place, uint64_t label, bool same)
{
	for (int32_t i = 0; i < diagnosis_count(server); i++) {
		uint64_t own = diagnosis_label(server, diagnosis_rank(server, i), place);

		if (own != 0 && (own == label) == same)
			return diagnosis_rank(server, i);
	}
	return RH_COMM_NO_RANK;
}

/* Two ranks that posted different collectives, and where among those that were asked for. */
struct divergence {
	int32_t odd;
	int32_t other;
	size_t place;
};

/* " of the group of ranks 1, 3"; of the world "". Members say it. */
static const char *diagnosis_group(const struct rh_comm_server *server)
{
	for (int32_t i = 0; i < diagnosis_count(server); i++) {
		const struct rh_comm_answer *answer = diagnosis_answer(server, diagnosis_rank(server, i));

		if (answer && answer->text[0])
			return answer->text;
	}
	return "";
}

static void diagnosis_end_odd(struct rh_comm_server *server, const struct divergence *divergence)
{
	const struct rh_comm_query *query = &server->inquiry.end.query;
	unsigned long long number = query->needed - RH_COMM_REACHED_OPEN + divergence->place + 1 - RH_COMM_REMEMBERED;
	struct rh_comm_end end = {.code = RH_COMM_EINVAL, .rank = divergence->odd};
	char texts[2][LABEL_ROOM];
	char text[2 * LABEL_ROOM + 40];

	rh_comm_label_text(diagnosis_label(server, divergence->odd, divergence->place), texts[0], LABEL_ROOM);
	rh_comm_label_text(diagnosis_label(server, divergence->other, divergence->place), texts[1], LABEL_ROOM);
	(void)snprintf(end.text, sizeof(end.text), "ranks post different collectives as number %llu%s: ", number,
	               diagnosis_group(server));
	(void)snprintf(text, sizeof(text), "rank %d %s, rank %d %s", (int)divergence->odd, texts[0], (int)divergence->other,
	               texts[1]);
	diagnosis_append(&end, text);
	diagnosis_append(&end, "; all must post the same ones in the same order");
	rh_comm_server_end(server, &end);
}

/* The first collective, of those that are remembered, that some did and others did not. */
static void diagnosis_find_divergence(const struct rh_comm_server *server, struct divergence *ret_divergence)
{
	if (server->inquiry.end.query.needed <= RH_COMM_REACHED_OPEN)
		return;
	for (size_t place = 0; place < RH_COMM_REMEMBERED; place++) {
		uint64_t label = diagnosis_majority(server, place);
		int32_t odd = diagnosis_first(server, place, label, false);

		if (odd != RH_COMM_NO_RANK) {
			*ret_divergence = (struct divergence){odd, diagnosis_first(server, place, label, true), place};
			return;
		}
	}
}

static void diagnosis_drop(struct rh_comm_server *server)
{
	free(server->inquiry.ranks);
	free(server->inquiry.peers);
	server->inquiry = (struct server_inquiry){.since = 0};
}

/* Progress of each rank now. @return false: out of memory */
static bool diagnosis_find_peers(struct rh_comm_server *server)
{
	if (!server->inquiry.peers)
		server->inquiry.peers = calloc((size_t)server->world, sizeof(struct server_peer *));
	for (size_t i = 0; server->inquiry.peers && i < server->peer_count; i++) {
		if (rh_comm_server_is_rank(server->peers[i]))
			server->inquiry.peers[server->peers[i]->hello.rank] = server->peers[i];
	}
	return server->inquiry.peers != NULL;
}

static void diagnosis_query(struct rh_comm_server *server)
{
	const struct rh_comm_query *query = &server->inquiry.end.query;

	server->inquiry.asked = rh_comm_now();
	rh_comm_server_broadcast(server, RH_COMM_FRAME_QUERY, query, sizeof(*query));
}

static void diagnosis_open(struct rh_comm_server *server, const struct rh_comm_end *end)
{
	server->inquiry.end = *end;
	server->inquiry.since = rh_comm_now();
	diagnosis_query(server);
}

/* @return whether all have answered, and, when that counts, have come as far as they are to */
static bool diagnosis_is_complete(const struct rh_comm_server *server, bool all_the_way)
{
	for (int32_t i = 0; i < diagnosis_count(server); i++) {
		const struct rh_comm_answer *answer = diagnosis_answer(server, diagnosis_rank(server, i));

		if (!answer || (all_the_way && answer->reached < server->inquiry.end.query.needed))
			return false;
	}
	return true;
}

/* @return whether a rank from which something came lately has not answered yet */
static bool diagnosis_may_answer(const struct rh_comm_server *server, int64_t now)
{
	for (int32_t i = 0; i < diagnosis_count(server); i++) {
		int32_t rank = diagnosis_rank(server, i);
		const struct server_peer *peer = server->inquiry.peers[rank];

		if (peer && peer->stage == SERVER_MEMBER && !diagnosis_answer(server, rank) &&
		    !rh_comm_server_is_silent(peer, now))
			return true;
	}
	return false;
}

/* @param odd whether ranks have diverged. @return whether no more answers are waited for */
static bool diagnosis_is_over(const struct rh_comm_server *server, bool odd, int64_t now)
{
	int64_t waited = now - server->inquiry.since;

	if (diagnosis_is_complete(server, odd) || waited > INQUIRY_LIMIT)
		return true;
	return waited > (odd ? INQUIRY_PATIENCE_ODD : INQUIRY_PATIENCE) && !diagnosis_may_answer(server, now);
}

static void diagnosis_close(struct rh_comm_server *server)
{
	struct rh_comm_end *end = &server->inquiry.end;
	struct divergence divergence = {.odd = RH_COMM_NO_RANK};

	if (server->inquiry.peers)
		diagnosis_find_divergence(server, &divergence);
	if (divergence.odd != RH_COMM_NO_RANK && end->code == 0 && !diagnosis_is_complete(server, true)) {
		/* no rank has requested an end yet, so there is time for all answers */
		end->code = RH_COMM_EINVAL;
		server->inquiry.since = rh_comm_now();
		diagnosis_query(server);
		return;
	}
	if (divergence.odd != RH_COMM_NO_RANK)
		diagnosis_end_odd(server, &divergence);
	else if (server->inquiry.report && end->code == 0 && server->inquiry.peers)
		diagnosis_report(server);
	else if (end->code == RH_COMM_ETIME && server->inquiry.peers)
		diagnosis_end_late(server);
	else if (end->code < 0)
		rh_comm_server_end(server, end);
	diagnosis_drop(server);
}

void rh_comm_server_diagnose(struct rh_comm_server *server, int64_t now)
{
	bool odd;

	if (server->inquiry.since == 0)
		return;
	if (!diagnosis_find_peers(server)) {
		diagnosis_close(server);
		return;
	}
	odd = server->inquiry.end.code == RH_COMM_EINVAL;
	if (diagnosis_is_over(server, odd, now))
		diagnosis_close(server);
	else if (odd && now - server->inquiry.asked >= INQUIRY_AGAIN)
		diagnosis_query(server);
}

void rh_comm_server_on_answer(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                              size_t length)
{
	struct rh_comm_answer answer;

	if (length != sizeof(answer))
		return;
	memcpy(&answer, payload, sizeof(answer));
	answer.text[sizeof(answer.text) - 1] = '\0';
	answer.latest.text[sizeof(answer.latest.text) - 1] = '\0';
	peer->since = rh_comm_now();
	/* it may belong to an earlier inquiry */
	if (answer.query.group == server->inquiry.end.query.group &&
	    answer.query.needed == server->inquiry.end.query.needed) {
		peer->answer = answer;
		peer->answered = peer->since;
	}
	rh_comm_server_diagnose(server, peer->since);
}

/* The ranks to query, which follow the struct rh_comm_end. @return false: malformed, or out of memory */
static bool diagnosis_take_ranks(struct rh_comm_server *server, const uint8_t *payload, size_t length)
{
	size_t count = length / sizeof(int32_t);
	int32_t *ranks;

	if (length % sizeof(int32_t) != 0 || count > (size_t)server->world)
		return false;
	if (count == 0)
		return true;
	ranks = malloc(length);
	if (!ranks)
		return false;
	memcpy(ranks, payload, length);
	for (size_t i = 0; i < count; i++) {
		if (ranks[i] < 0 || ranks[i] >= server->world) {
			free(ranks);
			return false;
		}
	}
	server->inquiry.ranks = ranks;
	server->inquiry.count = (int32_t)count;
	return true;
}

void rh_comm_server_on_end(struct rh_comm_server *server, const struct server_peer *peer, const uint8_t *payload,
                           size_t length)
{
	struct rh_comm_end end;

	if (length < sizeof(end))
		return;
	memcpy(&end, payload, sizeof(end));
	end.text[sizeof(end.text) - 1] = '\0';
	if (end.code >= 0)
		end.code = RH_COMM_EABORTED;
	if (end.rank < 0 || end.rank >= server->world)
		end.rank = end.query.needed == 0 ? peer->hello.rank : RH_COMM_NO_RANK;
	if (end.query.needed == 0) {
		rh_comm_server_end(server, &end);
		return;
	}
	/* the first request wins */
	if (server->over || (server->inquiry.since != 0 && server->inquiry.end.code != 0))
		return;
	diagnosis_drop(server);
	if (diagnosis_take_ranks(server, payload + sizeof(end), length - sizeof(end)))
		diagnosis_open(server, &end);
	else
		rh_comm_server_end(server, &end);
}

/* One report for all ranks that wait in an operation; another one when they have waited twice as long. */
static bool diagnosis_is_reported(const struct rh_comm_server *server, const struct rh_comm_beat *beat)
{
	for (size_t i = 0; i < server->peer_count; i++) {
		const struct rh_comm_beat *other = &server->peers[i]->stalled;

		if (other->group == beat->group && other->number == beat->number && beat->waiting < 2 * other->waiting)
			return true;
	}
	return false;
}

void rh_comm_server_on_stalled(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                               size_t length)
{
	bool open = server->inquiry.since != 0 && (server->inquiry.end.code != 0 || server->inquiry.report);
	struct rh_comm_end end;

	if (length < sizeof(end) || server->over || !server->log || open || diagnosis_is_reported(server, &peer->beat))
		return;
	memcpy(&end, payload, sizeof(end));
	end.text[sizeof(end.text) - 1] = '\0';
	end.code = 0;
	diagnosis_drop(server);
	if (end.query.needed <= RH_COMM_REACHED_OPEN ||
	    !diagnosis_take_ranks(server, payload + sizeof(end), length - sizeof(end)))
		return;
	peer->stalled = peer->beat;
	server->inquiry.report = true;
	server->inquiry.waiting = peer->beat.waiting;
	diagnosis_open(server, &end);
}

void rh_comm_server_watch(struct rh_comm_server *server, const struct server_peer *peer, int64_t now)
{
	const struct rh_comm_beat *beat = &peer->beat;
	struct rh_comm_end end = {.query = {beat->group, RH_COMM_REACHED_OPEN + beat->number}};
	bool same = server->watch.group == beat->group && server->watch.number == beat->number;

	if (beat->number == 0 || beat->waiting < WATCH_FIRST || server->inquiry.since != 0 || server->over ||
	    now < server->watch.next)
		return;
	if (same && beat->waiting < server->watch.waiting)
		return;
	server->watch =
		(struct server_watch){.group = beat->group,
	                          .number = beat->number,
	                          .waiting = beat->waiting + (beat->waiting < WATCH_MOST ? beat->waiting : WATCH_MOST),
	                          .next = now + WATCH_FIRST};
	diagnosis_open(server, &end);
}

void rh_comm_server_diagnosis_deinit(struct rh_comm_server *server)
{
	diagnosis_drop(server);
}
