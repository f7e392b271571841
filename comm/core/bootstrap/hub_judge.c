/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/hub_parts.h"
#include "comm/core/bootstrap/label.h"
#include "comm/core/error.h"

/* Without a heartbeat for so long, a rank whose host answers is stopped, or starved. */
#define HUB_SILENT (3 * RH_COMM_SECOND)
/* A message from a rank that has left is waited for so long. */
#define HUB_LEFT_PATIENCE (3 * RH_COMM_SECOND)

void rh_comm_hub_end(struct rh_comm_hub *hub, const struct rh_comm_end *end)
{
	if (hub->over)
		return;
	hub->over = true;
	rh_comm_hub_broadcast(hub, RH_COMM_FRAME_END, end, sizeof(*end));
}

static bool hub_is_silent(const struct hub_peer *peer, int64_t now)
{
	return now - peer->since > HUB_SILENT;
}

static void hub_take_beat(struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	if (length != sizeof(peer->beat))
		return;
	memcpy(&peer->beat, payload, sizeof(peer->beat));
	peer->since = rh_comm_now();
}

void rh_comm_hub_on_beat(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	hub_take_beat(peer, payload, length);
	rh_comm_hub_send(peer, RH_COMM_FRAME_PULSE, NULL, 0, NULL, 0);
	rh_comm_hub_watch(hub, peer, peer->since);
}

void rh_comm_hub_on_leave(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	hub_take_beat(peer, payload, length);
	peer->stage = HUB_LEFT;
	if (++hub->left == hub->world)
		rh_comm_hub_broadcast(hub, RH_COMM_FRAME_ALL_LEFT, NULL, 0);
}

/* When the last one leaves a group nobody is left to wait in it. */
static void hub_forget_gone(struct rh_comm_hub *hub, const struct rh_comm_gone *last)
{
	size_t count = 0;
	size_t kept = 0;

	for (size_t i = 0; i < hub->gone_count; i++)
		count += hub->gone[i].what.group == last->group;
	if (count < (size_t)last->size)
		return;
	for (size_t i = 0; i < hub->gone_count; i++) {
		if (hub->gone[i].what.group != last->group)
			hub->gone[kept++] = hub->gone[i];
	}
	hub->gone_count = kept;
}

void rh_comm_hub_on_gone(struct rh_comm_hub *hub, struct hub_peer *peer, const uint8_t *payload, size_t length)
{
	struct hub_gone one = {.rank = peer->hello.rank, .since = rh_comm_now()};
	struct hub_gone *gone;

	if (length != sizeof(one.what))
		return;
	memcpy(&one.what, payload, sizeof(one.what));
	gone = rh_comm_hub_grow(hub->gone, hub->gone_count, sizeof(*gone));
	if (!gone) {
		(void)shutdown(peer->fd, SHUT_RDWR);
		return;
	}
	hub->gone = gone;
	hub->gone[hub->gone_count++] = one;
	hub_forget_gone(hub, &one.what);
}

void rh_comm_hub_lose(struct rh_comm_hub *hub, struct hub_peer *peer, int number)
{
	struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = peer->hello.rank};
	char words[100];

	(void)close(peer->fd);
	peer->fd = -1;
	if (peer->stage != HUB_MEMBER)
		return;
	if (number == 0 || number == ECONNRESET)
		(void)snprintf(end.text, sizeof(end.text), "rank %d at %s died: its connection closed", (int)end.rank,
		               peer->address);
	else
		(void)snprintf(end.text, sizeof(end.text), "rank %d at %s is cut off: %s", (int)end.rank, peer->address,
		               strerror_r(number, words, sizeof(words)));
	rh_comm_hub_end(hub, &end);
}

/* @return whether `waiting`, which waits, waits for `peer` */
static bool hub_waits_for(const struct hub_peer *waiting, const struct hub_peer *peer, int64_t now)
{
	if (waiting == peer || !rh_comm_hub_is_rank(peer))
		return false;
	if (waiting->beat.peer != RH_COMM_NO_RANK)
		return waiting->beat.peer == peer->hello.rank;
	return peer->beat.posted < waiting->beat.done + 1 || (peer->stage == HUB_MEMBER && hub_is_silent(peer, now));
}

/*
 * What a rank sent before it left still arrives; who waits on for long waits in vain, if a heartbeat from long after
 * the leaving says so.
 */
static bool hub_waited_in_vain(const struct hub_peer *waiting, int64_t left)
{
	return waiting->beat.waiting >= HUB_LEFT_PATIENCE && waiting->since - left >= HUB_LEFT_PATIENCE;
}

static void hub_judge_left(struct rh_comm_hub *hub, const struct hub_peer *waiting, const struct hub_peer *peer)
{
	struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = peer->hello.rank};

	/* its last heartbeat was that with which it left */
	if (waiting->beat.peer != RH_COMM_NO_RANK && !hub_waited_in_vain(waiting, peer->since))
		return;
	(void)snprintf(end.text, sizeof(end.text), "rank %d has left while rank %d waits for it", (int)end.rank,
	               (int)waiting->hello.rank);
	rh_comm_hub_end(hub, &end);
}

/* @return whether the operation of a group for which a rank waits needs the one that has left */
static bool hub_needs_gone(const struct hub_peer *waiting, const struct hub_gone *gone)
{
	if (gone->what.group != waiting->beat.group)
		return false;
	if (waiting->beat.peer == RH_COMM_NO_RANK)
		return gone->what.done < waiting->beat.number;
	return gone->rank == waiting->beat.peer && hub_waited_in_vain(waiting, gone->since);
}

static void hub_judge_group(struct rh_comm_hub *hub, const struct hub_peer *waiting)
{
	for (size_t i = 0; i < hub->gone_count; i++) {
		struct rh_comm_end end = {.code = RH_COMM_EPEER, .rank = hub->gone[i].rank};

		if (!hub_needs_gone(waiting, &hub->gone[i]))
			continue;
		(void)snprintf(end.text, sizeof(end.text), "rank %d has left a group while rank %d waits for it in %s there",
		               (int)end.rank, (int)waiting->hello.rank, rh_comm_what_name(waiting->beat.what));
		rh_comm_hub_end(hub, &end);
	}
}

/* Once for each operation, and once more when a slow one turns out to be stopped. */
static void hub_warn(const struct rh_comm_hub *hub, const struct hub_peer *waiting, struct hub_peer *peer, int64_t now)
{
	uint64_t number = waiting->beat.done + 1;
	bool silent = hub_is_silent(peer, now);

	if (waiting->beat.waiting < hub->slow || !hub->log || (peer->warned == number && peer->called_silent >= silent))
		return;
	peer->warned = number;
	peer->called_silent = silent;
	(void)fprintf(stderr, "rh_comm: rank %d at %s is %s: rank %d has waited %lld s for it in %s number %llu\n",
	              (int)peer->hello.rank, peer->address, silent ? "stopped or starved" : "slow",
	              (int)waiting->hello.rank, (long long)(waiting->beat.waiting / RH_COMM_SECOND),
	              rh_comm_what_name(waiting->beat.what), (unsigned long long)number);
}

static void hub_judge_waiting(struct rh_comm_hub *hub, const struct hub_peer *waiting, int64_t now)
{
	for (size_t i = 0; i < hub->peer_count; i++) {
		struct hub_peer *peer = hub->peers[i];

		if (!hub_waits_for(waiting, peer, now))
			continue;
		if (peer->stage == HUB_LEFT)
			hub_judge_left(hub, waiting, peer);
		else
			hub_warn(hub, waiting, peer, now);
	}
}

void rh_comm_hub_judge(struct rh_comm_hub *hub, int64_t now)
{
	rh_comm_hub_judge_case(hub, now);
	for (size_t i = 0; i < hub->peer_count && !hub->over; i++) {
		const struct hub_peer *peer = hub->peers[i];

		if (peer->stage != HUB_MEMBER || peer->beat.waiting == 0 || hub_is_silent(peer, now))
			continue;
		if (peer->beat.group != 0)
			hub_judge_group(hub, peer);
		else
			hub_judge_waiting(hub, peer, now);
	}
}
