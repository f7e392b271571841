/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to workers: sent at once, or queued until the wire has room. */
#include "comm/ps/server/answers.h"

#include <stdlib.h>
#include <string.h>

#include "comm/ps/server/rows.h"

static void answers_drop(struct rh_ps_conn *conn)
{
	struct rh_ps_answer *answer = STAILQ_FIRST(&conn->answers);

	STAILQ_REMOVE_HEAD(&conn->answers, link);
	free(answer->index);
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

uint8_t *rh_ps_answers_copy_index(const struct rh_ps_head *request, const uint8_t *index)
{
	size_t length = (size_t)request->rows * sizeof(uint32_t);
	uint8_t *copy = malloc(length + 1);

	if (copy && length > 0)
		memcpy(copy, index, length);
	return copy;
}

/* @return false: the wire has no room */
static bool answers_put_value(struct rh_ps_conn *conn, const struct rh_ps_answer *answer)
{
	const struct rh_ps_entry *entry = answer->entry;
	uint8_t *at;

	if (!entry || !answer->index)
		return rh_ps_answers_put(conn, &answer->head, entry ? entry->value : NULL);
	at = rh_ps_wire_add(conn->wire, &answer->head);
	if (at)
		rh_ps_rows_get(entry, answer->index, answer->row_count, at);
	return at != NULL;
}

/* Keep an answer until the wire has room. @param now what is to be sent; its index is borrowed */
static bool answers_keep(struct rh_ps_conn *conn, const struct rh_ps_answer *now, bool held,
                         const struct rh_ps_head *request)
{
	struct rh_ps_answer *answer = calloc(1, sizeof(*answer));
	uint8_t *index = now->index ? rh_ps_answers_copy_index(request, now->index) : NULL;

	if (!answer || (now->index && !index)) {
		free(index);
		free(answer);
		return false;
	}
	*answer = *now;
	answer->index = index;
	if (held) {
		answer->held = answer->entry;
		answer->entry->hold++;
	}
	STAILQ_INSERT_TAIL(&conn->answers, answer, link);
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
                       struct rh_ps_entry *entry, const uint8_t *index)
{
	union {
		const uint8_t *from;
		uint8_t *index;
	} rows = {.from = rh_ps_kind_has_rows(request->kind) ? index : NULL};
	struct rh_ps_answer answer = {.head = *request, .entry = entry, .index = entry ? rows.index : NULL};

	answer.head.kind = entry ? RH_PS_REC_VALUE : RH_PS_REC_ACK;
	answer.head.status = 0;
	answer.head.length = entry ? entry->bytes : 0;
	if (answer.index) {
		answer.row_count = request->rows;
		answer.head.length = (uint32_t)(request->rows * rh_ps_rows_size(entry));
	}
	if (conn->phase == RH_PS_GONE)
		return;
	if (STAILQ_EMPTY(&conn->answers) && answers_put_value(conn, &answer))
		return;
	if (!answers_keep(conn, &answer, entry && rh_ps_store_is_sync(server->store, entry), request))
		conn->broken = true;
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
	if (!answer || !answers_put_value(conn, answer))
		return false;
	*ret_released = rh_ps_answers_drop_first(conn);
	return true;
}
