/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/label.h"
#include "comm/core/bootstrap/server_diagnosis.h"
#include "comm/core/bootstrap/server_liveness.h"
#include "comm/core/error.h"

/* How long to wait for messages of a rank that has left. */
#define SERVER_LEFT_PATIENCE (3 * RH_COMM_SECOND)

static void server_take_beat(struct server_peer *peer, const uint8_t *payload, size_t length)
{
	if (length != sizeof(peer->beat))
		return;
	memcpy(&peer->beat, payload, sizeof(peer->beat));
	peer->since = rh_comm_now();
}

/* Who waited, as was reported, goes on; once nobody is left in a report, that is printed. */
static void server_note_progress(const struct rh_comm_server *server, struct server_peer *peer)
{
	const struct rh_comm_beat *reported = &peer->stalled;
	bool waits = peer->stage != SERVER_LEFT && peer->beat.group == reported->group &&
	             peer->beat.number == reported->number && peer->beat.waiting >= reported->waiting;

	if (reported->number == 0 || waits)
		return;
	peer->stalled = (struct rh_comm_beat){.number = 0};
	for (size_t i = 0; i < server->peer_count; i++) {
		if (server->peers[i]->stalled.number != 0)
			return;
	}
	if (server->log && !server->over)
		(void)fprintf(stderr, "rh_comm: ranks go on\n");
}

void rh_comm_server_on_beat(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length)
{
	server_take_beat(peer, payload, length);
	server_note_progress(server, peer);
	rh_comm_server_send(peer, RH_COMM_FRAME_PULSE, NULL, 0, NULL, 0);
	rh_comm_server_watch(server, peer, peer->since);
}

void rh_comm_server_on_leave(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                             size_t length)
{
	server_take_beat(peer, payload, length);
	peer->stage = SERVER_LEFT;
	server_note_progress(server, peer);
	if (++server->left == server->world)
		rh_comm_server_broadcast(server, RH_COMM_FRAME_ALL_LEFT, NULL, 0);
}

/* When the last rank leaves a group, no rank waits in it. */
static void server_forget_gone(struct rh_comm_server *server, const struct rh_comm_gone *last)
{
	size_t count = 0;
	size_t kept = 0;

	for (size_t i = 0; i < server->gone_count; i++)
		count += server->gone[i].what.group == last->group;
	if (count < (size_t)last->size)
		return;
	for (size_t i = 0; i < server->gone_count; i++) {
		if (server->gone[i].what.group != last->group)
			server->gone[kept++] = server->gone[i];
	}
	server->gone_count = kept;
}

void rh_comm_server_on_gone(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length)
{
	struct server_gone one = {.rank = peer->hello.rank, .since = rh_comm_now()};
	struct server_gone *gone;

	if (length != sizeof(one.what))
		return;
	memcpy(&one.what, payload, sizeof(one.what));
	one.what.text[sizeof(one.what.text) - 1] = '\0';
	gone = rh_comm_server_grow(server->gone, server->gone_count, sizeof(*gone));
	if (!gone) {
		(void)shutdown(peer->fd, SHUT_RDWR);
		return;
	}
	server->gone = gone;
	server->gone[server->gone_count++] = one;
	server_forget_gone(server, &one.what);
}

void rh_comm_server_lose(struct rh_comm_server *server, struct server_peer *peer, int number)
{
	struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = peer->hello.rank};
	char words[100];

	(void)close(peer->fd);
	peer->fd = -1;
	if (peer->stage != SERVER_MEMBER)
		return;
	if (number == 0 || number == ECONNRESET)
		(void)snprintf(end.text, sizeof(end.text), "rank %d at %s died: its connection closed", (int)end.rank,
		               peer->address);
	else
		(void)snprintf(end.text, sizeof(end.text), "rank %d at %s is cut off: %s", (int)end.rank, peer->address,
		               strerror_r(number, words, sizeof(words)));
	rh_comm_server_end(server, &end);
}

/* @return whether `waiting`, which waits, waits for `peer` */
static bool server_waits_for(const struct server_peer *waiting, const struct server_peer *peer, int64_t now)
{
	if (waiting == peer || !rh_comm_server_is_rank(peer))
		return false;
	if (waiting->beat.peer != RH_COMM_NO_RANK)
		return waiting->beat.peer == peer->hello.rank;
	return peer->beat.posted < waiting->beat.done + 1 ||
	       (peer->stage == SERVER_MEMBER && rh_comm_server_is_silent(peer, now));
}

/*
 * What a rank sent before it left still arrives; who waits on for long waits in vain, if a heartbeat from long after
 * the leaving says so.
 */
static bool server_waited_in_vain(const struct server_peer *waiting, int64_t left)
{
	return waiting->beat.waiting >= SERVER_LEFT_PATIENCE && waiting->since - left >= SERVER_LEFT_PATIENCE;
}

static void server_end_for_departed(struct rh_comm_server *server, const struct server_peer *waiting,
                                    const struct server_peer *peer)
{
	struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = peer->hello.rank};

	/* its last heartbeat was that with which it left */
	if (waiting->beat.peer != RH_COMM_NO_RANK && !server_waited_in_vain(waiting, peer->since))
		return;
	(void)snprintf(end.text, sizeof(end.text), "rank %d has left while rank %d waits for it", (int)end.rank,
	               (int)waiting->hello.rank);
	rh_comm_server_end(server, &end);
}

/* @return whether the operation of a group for which a rank waits needs the one that has left */
static bool server_needs_gone(const struct server_peer *waiting, const struct server_gone *gone)
{
	if (gone->what.group != waiting->beat.group)
		return false;
	if (waiting->beat.peer == RH_COMM_NO_RANK)
		return gone->what.done < waiting->beat.number;
	return gone->rank == waiting->beat.peer && server_waited_in_vain(waiting, gone->since);
}

static void server_check_group(struct rh_comm_server *server, const struct server_peer *waiting)
{
	for (size_t i = 0; i < server->gone_count; i++) {
		struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = server->gone[i].rank};

		if (!server_needs_gone(waiting, &server->gone[i]))
			continue;
		(void)snprintf(end.text, sizeof(end.text), "rank %d%s has left it while rank %d waits for it in %s there",
		               (int)end.rank, server->gone[i].what.text, (int)waiting->hello.rank,
		               rh_comm_what_name(waiting->beat.what));
		rh_comm_server_end(server, &end);
	}
}

/* The rank that left last of those that could still send to `waiting`, and when; NO_RANK: one of them has not left. */
static struct server_gone server_last_gone(const struct rh_comm_server *server, const struct server_peer *waiting)
{
	struct server_gone last = {.rank = RH_COMM_NO_RANK, .what = {.size = server->world}};
	int32_t count = 0;

	for (size_t i = 0; i < server->gone_count && waiting->beat.group != 0; i++) {
		if (server->gone[i].what.group != waiting->beat.group)
			continue;
		count++;
		if (server->gone[i].since >= last.since)
			last = server->gone[i];
	}
	for (size_t i = 0; i < server->peer_count && waiting->beat.group == 0; i++) {
		const struct server_peer *peer = server->peers[i];

		if (peer->stage != SERVER_LEFT)
			continue;
		count++;
		if (peer->since >= last.since) {
			last.rank = peer->hello.rank;
			last.since = peer->since;
		}
	}
	if (count < last.what.size - 1)
		last.rank = RH_COMM_NO_RANK;
	return last;
}

/* Who waits for a message from any rank waits for nobody in particular: while one is left it is no fault. */
static void server_check_sourceless(struct rh_comm_server *server, const struct server_peer *waiting)
{
	struct server_gone last = server_last_gone(server, waiting);
	struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = last.rank};

	if (last.rank == RH_COMM_NO_RANK || !server_waited_in_vain(waiting, last.since))
		return;
	(void)snprintf(end.text, sizeof(end.text),
	               "rank %d%s has left as the last of all while rank %d waits for a message from any rank",
	               (int)end.rank, last.what.text, (int)waiting->hello.rank);
	rh_comm_server_end(server, &end);
}

static void server_warn(const struct rh_comm_server *server, const struct server_peer *waiting,
                        struct server_peer *peer, int64_t now)
{
	const struct server_warned warning = {now, waiting->beat.waiting, rh_comm_server_is_silent(peer, now)};

	/* who is waited for in a collective an inquiry finds */
	if (waiting->beat.peer == RH_COMM_NO_RANK || waiting->beat.waiting < server->slow || !server->log ||
	    !rh_comm_server_warns(peer, &warning))
		return;
	(void)fprintf(stderr, "rh_comm: rank %d at %s is %s: rank %d has waited %lld s for it in %s\n",
	              (int)peer->hello.rank, peer->address, warning.silent ? "stopped or throttled" : "slow",
	              (int)waiting->hello.rank, (long long)(waiting->beat.waiting / RH_COMM_SECOND),
	              rh_comm_what_name(waiting->beat.what));
}

static void server_check_waiting(struct rh_comm_server *server, const struct server_peer *waiting, int64_t now)
{
	for (size_t i = 0; i < server->peer_count; i++) {
		struct server_peer *peer = server->peers[i];

		if (!server_waits_for(waiting, peer, now))
			continue;
		if (peer->stage == SERVER_LEFT)
			server_end_for_departed(server, waiting, peer);
		else
			server_warn(server, waiting, peer, now);
	}
}

void rh_comm_server_check_liveness(struct rh_comm_server *server, int64_t now)
{
	rh_comm_server_diagnose(server, now);
	for (size_t i = 0; i < server->peer_count && !server->over; i++) {
		const struct server_peer *peer = server->peers[i];

		if (peer->stage != SERVER_MEMBER || peer->beat.waiting == 0 || rh_comm_server_is_silent(peer, now))
			continue;
		if (peer->beat.peer == RH_COMM_ANY_RANK)
			server_check_sourceless(server, peer);
		else if (peer->beat.group != 0)
			server_check_group(server, peer);
		else
			server_check_waiting(server, peer, now);
	}
}
