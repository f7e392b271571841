/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"
#include "comm/ps/server/answers.h"
#include "comm/ps/server/requests.h"
#include "comm/ps/server/rows.h"
#include "comm/ps/server/waiters.h"

int32_t rh_ps_server_take(struct rh_ps_server *server, const struct rh_ps_head *head, const uint8_t *payload,
                          struct rh_ps_entry **ret_entry)
{
	struct rh_comm_error err = {0};
	int32_t r = server->journal ? rh_ps_journal_add(server->journal, head, payload, &err) : 0;

	if (r == 0)
		rh_ps_copy_add(server->copy, server->store, head, payload);
	if (r == 0)
		r = rh_ps_store_take(server->store, head, payload, ret_entry, &err);
	return r < 0 ? rh_ps_server_fail(server, &err) : 0;
}

static void requests_answer(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                            struct rh_ps_entry *entry, const uint8_t *index)
{
	rh_ps_conn_answer(server, conn, head, head->flags & RH_PS_WANT_VALUE ? entry : NULL, index);
}

static void requests_answer_waiters(struct rh_ps_server *server, struct rh_ps_entry *entry)
{
	struct rh_ps_waiter *waiter = LIST_FIRST(&entry->waiters);

	while (waiter) {
		struct rh_ps_waiter *next = LIST_NEXT(waiter, of_entry);

		if (rh_ps_store_ready(server->store, entry, waiter->pushed)) {
			requests_answer(server, waiter->conn, &waiter->head, entry, waiter->index);
			rh_ps_waiter_free(waiter);
		}
		waiter = next;
	}
}

void rh_ps_server_settle(struct rh_ps_server *server, struct rh_ps_entry *entry)
{
	/* one round at a time: each is answered before the next changes the value */
	do
		requests_answer_waiters(server, entry);
	while (rh_ps_store_settle(server->store, entry));
}

static void requests_wait(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                          struct rh_ps_entry *entry, const uint8_t *payload)
{
	struct rh_ps_waiter *waiter = calloc(1, sizeof(*waiter));
	bool by_rows = rh_ps_kind_has_rows(head->kind);
	struct rh_comm_error err;

	if (waiter && by_rows)
		waiter->index = rh_ps_answers_copy_index(head, payload);
	if (!waiter || (by_rows && !waiter->index)) {
		free(waiter);
		(void)rh_comm_fail(&err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "the server is out of memory");
		rh_ps_conn_refuse(conn, head, &err);
		return;
	}
	waiter->conn = conn;
	waiter->entry = entry;
	waiter->head = *head;
	/* the first value is there before any push */
	waiter->pushed = head->kind == RH_PS_REC_INIT ? 0 : entry->pushed[head->worker];
	waiter->since = rh_comm_now();
	waiter->deadline =
		head->timeout < 0 || head->timeout > RH_COMM_NEVER / 2 ? RH_COMM_NEVER : waiter->since + head->timeout;
	LIST_INSERT_HEAD(&entry->waiters, waiter, of_entry);
	LIST_INSERT_HEAD(&server->waiters, waiter, of_server);
}

/* What gets a value, or waits for one. Rows of a push that has counted before were not checked. */
static void requests_pull(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                          const uint8_t *payload)
{
	struct rh_ps_entry *entry = NULL;
	struct rh_comm_error err = {0};
	int32_t r = rh_ps_store_open(server->store, head, &entry, &err);
	uint64_t pushed;

	if (r == 0 && rh_ps_kind_has_rows(head->kind))
		r = rh_ps_rows_check(head, payload, &err);
	if (r < 0) {
		rh_ps_conn_refuse(conn, head, &err);
		return;
	}
	pushed = head->kind == RH_PS_REC_INIT ? 0 : entry->pushed[head->worker];
	if (rh_ps_store_ready(server->store, entry, pushed))
		requests_answer(server, conn, head, entry, payload);
	else
		requests_wait(server, conn, head, entry, payload);
}

/* Check a request, and do what it changes. @return whether it is to be answered: it is not refused, and the server goes
 * on */
static bool requests_apply(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                           const uint8_t *payload, struct rh_ps_entry **ret_entry)
{
	struct rh_comm_error err = {0};
	int32_t r = rh_ps_store_check(server->store, head, payload, &err);

	if (r < 0)
		rh_ps_conn_refuse(conn, head, &err);
	return r == 0 || (r > 0 && rh_ps_server_take(server, head, payload, ret_entry) == 0);
}

/* Only a worker with another version of the library sends it: it must fail, and not send it again for ever. */
static void requests_refuse_kind(const struct rh_ps_server *server, struct rh_ps_conn *conn,
                                 const struct rh_ps_head *head)
{
	struct rh_comm_error err;

	(void)rh_comm_fail(&err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
	                   "server %d knows no request of kind %u: use one version of the library everywhere",
	                   (int)server->store->config.index, (unsigned int)head->kind);
	rh_ps_conn_refuse(conn, head, &err);
}

void rh_ps_server_request(struct rh_ps_server *server, struct rh_ps_conn *conn, struct rh_ps_head *head,
                          const uint8_t *payload)
{
	struct rh_ps_entry *entry = NULL;

	head->worker = conn->worker;
	switch (head->kind) {
	case RH_PS_REC_PING:
		rh_ps_conn_answer(server, conn, head, NULL, NULL);
		break;
	case RH_PS_REC_PULL:
	case RH_PS_REC_PULL_ROWS:
		requests_pull(server, conn, head, payload);
		break;
	case RH_PS_REC_INIT:
	case RH_PS_REC_PUSH_PULL:
	case RH_PS_REC_PUSH_PULL_ROWS:
		if (requests_apply(server, conn, head, payload, &entry))
			requests_pull(server, conn, head, payload);
		break;
	case RH_PS_REC_LEAVE:
	case RH_PS_REC_PUSH:
	case RH_PS_REC_PUSH_ROWS:
	case RH_PS_REC_RATE:
		if (requests_apply(server, conn, head, payload, &entry))
			rh_ps_conn_answer(server, conn, head, NULL, NULL);
		break;
	default:
		requests_refuse_kind(server, conn, head);
	}
	if (entry)
		rh_ps_server_settle(server, entry);
}

void rh_ps_server_forget(struct rh_ps_server *server, const struct rh_ps_conn *conn)
{
	struct rh_ps_waiter *waiter = LIST_FIRST(&server->waiters);

	while (waiter) {
		struct rh_ps_waiter *next = LIST_NEXT(waiter, of_server);

		if (waiter->conn == conn)
			rh_ps_waiter_free(waiter);
		waiter = next;
	}
}
