/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits, for whom, and for how long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"
#include "comm/ps/server/answers.h"
#include "comm/ps/server/waiters.h"

void rh_ps_waiter_free(struct rh_ps_waiter *waiter)
{
	LIST_REMOVE(waiter, of_entry);
	LIST_REMOVE(waiter, of_server);
	free(waiter->index);
	free(waiter);
}

/* @return the next worker from `from` on that it waits for; -1: none */
static int32_t waiters_blocker(const struct rh_ps_server *server, const struct rh_ps_waiter *waiter, int32_t from)
{
	if (!waiter->entry->known)
		return from == 0 ? 0 : -1;
	return rh_ps_store_blocker(server->store, waiter->entry, waiter->pushed, from);
}

static void waiters_end(struct rh_ps_waiter *waiter, const struct rh_comm_error *reason)
{
	rh_ps_conn_refuse(waiter->conn, &waiter->head, reason);
	rh_ps_waiter_free(waiter);
}

/* Text for what it waits for. */
static void waiters_describe(const struct rh_ps_waiter *waiter, char *text, size_t room)
{
	unsigned long long key = waiter->entry->key;

	if (waiter->entry->key == RH_PS_BARRIER_KEY)
		(void)snprintf(text, room, "barrier %llu", (unsigned long long)waiter->pushed);
	else if (!waiter->entry->known)
		(void)snprintf(text, room, "the first value of key %llu", key);
	else
		(void)snprintf(text, room, "push %llu of key %llu", (unsigned long long)waiter->pushed, key);
}

/* @return whether a worker that it waits for is lost; then it is ended */
static bool waiters_check_gone(struct rh_ps_server *server, struct rh_ps_waiter *waiter, int64_t now)
{
	struct rh_comm_error err;
	char what[100];

	for (int32_t i = waiters_blocker(server, waiter, 0); i >= 0; i = waiters_blocker(server, waiter, i + 1)) {
		bool left = server->store->workers[i].left;
		int64_t lost = server->peers[i].lost;

		if (!left && (lost == 0 || now - lost < server->grace))
			continue;
		waiters_describe(waiter, what, sizeof(what));
		(void)rh_comm_fail(&err, RH_COMM_EPEER, i, "worker %d %s before %s, which others wait for", (int)i,
		                   left ? "left" : "died or was cut off", what);
		waiters_end(waiter, &err);
		return true;
	}
	return false;
}

static void waiters_end_late(struct rh_ps_server *server, struct rh_ps_waiter *waiter)
{
	struct rh_comm_error err;
	int32_t first = waiters_blocker(server, waiter, 0);
	char what[100];
	char who[120] = "";
	size_t length = 0;

	for (int32_t i = first; i >= 0 && length < sizeof(who) - 16; i = waiters_blocker(server, waiter, i + 1))
		length += (size_t)snprintf(who + length, sizeof(who) - length, "%s%d", length > 0 ? ", " : "", (int)i);
	waiters_describe(waiter, what, sizeof(what));
	(void)rh_comm_fail(&err, RH_COMM_ETIME, first, "%s did not come in time: worker %s is waited for", what, who);
	waiters_end(waiter, &err);
}

/* A worker that others wait for is named in a warning, once until it sends something. */
static void waiters_name_slow(struct rh_ps_server *server, const struct rh_ps_waiter *waiter, int64_t now)
{
	char what[100];

	if (now - waiter->since < server->slow)
		return;
	for (int32_t i = waiters_blocker(server, waiter, 0); i >= 0; i = waiters_blocker(server, waiter, i + 1)) {
		struct rh_ps_peer *peer = &server->peers[i];

		if (!peer->conn || peer->named || now - peer->last_received < server->slow)
			continue;
		peer->named = true;
		waiters_describe(waiter, what, sizeof(what));
		(void)fprintf(stderr,
		              "rh_ps: server %d: worker %d is slow or stopped: it has sent nothing for %lld s, and worker %d "
		              "waits for it: %s\n",
		              (int)server->store->config.index, (int)i,
		              (long long)((now - peer->last_received) / RH_COMM_SECOND), (int)waiter->head.worker, what);
	}
}

/* @return the worker that has not left and was here last, if none is here now and all have come; else -1 */
static int32_t waiters_find_last_lost(const struct rh_ps_server *server, int64_t *ret_since)
{
	int32_t last = -1;

	*ret_since = server->since;
	for (int32_t i = 0; i < server->store->config.workers; i++) {
		const struct rh_ps_peer *peer = &server->peers[i];

		if (server->store->workers[i].left)
			continue;
		if (server->store->workers[i].session == 0 || peer->conn)
			return -1;
		if (last < 0 || peer->lost > *ret_since)
			last = i;
		*ret_since = peer->lost > *ret_since ? peer->lost : *ret_since;
	}
	return last;
}

/* A worker that was lost without LEAVE may come back; when all are lost, the server ends after return_timeout. */
static void waiters_check_all_lost(struct rh_ps_server *server, int64_t now)
{
	int64_t since;
	int32_t last = waiters_find_last_lost(server, &since);
	struct rh_comm_error err;

	if (last < 0 || now - since < server->return_timeout)
		return;
	(void)rh_comm_fail(
		&err, RH_COMM_EPEER, last,
		"worker %d died, or ended without rh_ps_free() (close() in Python), and did not come back within "
		"%lld s (RH_PS_RETURN_TIMEOUT); no other worker is there",
		(int)last, (long long)(server->return_timeout / RH_COMM_SECOND));
	(void)rh_ps_server_fail(server, &err);
}

void rh_ps_server_tick(struct rh_ps_server *server, int64_t now)
{
	struct rh_ps_waiter *waiter = LIST_FIRST(&server->waiters);

	waiters_check_all_lost(server, now);

	while (waiter) {
		struct rh_ps_waiter *next = LIST_NEXT(waiter, of_server);

		if (waiters_check_gone(server, waiter, now)) {
			waiter = next;
			continue;
		}
		waiters_name_slow(server, waiter, now);
		if (now >= waiter->deadline)
			waiters_end_late(server, waiter);
		waiter = next;
	}
}
