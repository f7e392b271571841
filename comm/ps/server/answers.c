/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to workers: sent at once, or queued until the wire has room. */
#include "comm/ps/server/answers.h"

#include <stdlib.h>
#include <string.h>

static void answers_drop(struct rh_ps_conn *conn)
{
	struct rh_ps_answer *answer = STAILQ_FIRST(&conn->answers);

	STAILQ_REMOVE_HEAD(&conn->answers, link);
	free(answer);
}

/* @return the entry that is held no more; NULL: none */
static struct rh_ps_entry *answers_release(const struct rh_ps_answer *answer)
{
	struct rh_ps_entry *entry = answer->held;

	return entry && --entry->hold == 0 ? entry : NULL;
}

bool rh_ps_answers_put(struct rh_ps_conn *conn, const struct rh_ps_head *head, const void *payload)
{
	uint8_t *at = rh_ps_wire_add(conn->wire, head);

	if (!at)
		return false;
	if (payload)
		memcpy(at, payload, head->length);
	return true;
}

void rh_ps_answers_put_record(struct rh_ps_conn *conn, uint32_t kind, const void *payload, size_t length)
{
	struct rh_ps_head head = {.kind = kind, .length = (uint32_t)length};

	/* before a worker is welcome nothing else is in its way, but that memory may be short */
	if (!rh_ps_answers_put(conn, &head, payload))
		conn->broken = true;
}

void rh_ps_conn_answer(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *request,
                       struct rh_ps_entry *entry)
{
	struct rh_ps_head head = *request;
	struct rh_ps_answer *answer;

	head.kind = entry ? RH_PS_REC_VALUE : RH_PS_REC_ACK;
	head.length = entry ? entry->bytes : 0;
	if (conn->phase == RH_PS_GONE)
		return;
	if (STAILQ_EMPTY(&conn->answers) && rh_ps_answers_put(conn, &head, entry ? entry->value : NULL))
		return;
	answer = calloc(1, sizeof(*answer));
	if (!answer) {
		conn->broken = true;
		return;
	}
	answer->head = head;
	answer->entry = entry;
	if (entry && rh_ps_store_is_sync(server->store, entry)) {
		answer->held = entry;
		entry->hold++;
	}
	STAILQ_INSERT_TAIL(&conn->answers, answer, link);
}

void rh_ps_conn_refuse(struct rh_ps_conn *conn, const struct rh_ps_head *request, const struct rh_comm_error *reason)
{
	struct rh_ps_head head = *request;

	head.kind = RH_PS_REC_ERROR;
	head.status = reason->code;
	head.worker = reason->rank;
	head.length = (uint32_t)strlen(reason->text) + 1;
	/* an answer that cannot be kept is as good as a lost connection: the worker asks again */
	if (!rh_ps_answers_put(conn, &head, reason->text))
		conn->broken = true;
}

struct rh_ps_entry *rh_ps_answers_drop_first(struct rh_ps_conn *conn)
{
	struct rh_ps_entry *entry = answers_release(STAILQ_FIRST(&conn->answers));

	answers_drop(conn);
	return entry;
}

bool rh_ps_answers_send_first(struct rh_ps_conn *conn, struct rh_ps_entry **ret_released)
{
	struct rh_ps_answer *answer = STAILQ_FIRST(&conn->answers);

	*ret_released = NULL;
	if (!answer || !rh_ps_answers_put(conn, &answer->head, answer->entry ? answer->entry->value : NULL))
		return false;
	*ret_released = rh_ps_answers_drop_first(conn);
	return true;
}
