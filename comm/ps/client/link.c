/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"
#include "comm/ps/client/rows.h"
#include "comm/ps/protocol/call.h"

#define PARTS_FIRST 64
#define PAUSE_FIRST 10000
#define PAUSE_MAX 250000
/* How long one call of a server that was lost may take. */
#define CALL_TIMEOUT RH_COMM_SECOND
/* How long the server may take to open its end of a backend. */
#define OPEN_TIMEOUT (10 * RH_COMM_SECOND)
#define GRACE_DURABLE (60 * RH_COMM_SECOND)

/* Between a call and its answers. */
struct link_call {
	struct rh_ps_link *link;
	struct rh_ps_call call;
	struct rh_ps_hello hello;
	char whom[RH_PS_WHOM];
};

void rh_ps_link_init(struct rh_ps_link *link, struct rh_ps *ps, int32_t index, const struct rh_ps_place *place)
{
	link->ps = ps;
	link->index = index;
	link->first = 1;
	link->sent = 1;
	link->next = 1;
	link->place = *place;
}

void rh_ps_link_deinit(struct rh_ps_link *link)
{
	rh_ps_wire_free(link->wire);
	free(link->parts);
}

static int32_t call_greet(struct link_call *call, struct rh_ps_welcome *ret_welcome)
{
	const struct rh_ps *ps = call->link->ps;
	struct rh_ps_hello *hello = &call->hello;
	int32_t r;

	memset(hello, 0, sizeof(*hello));
	hello->worker = ps->settings.worker;
	hello->workers = ps->settings.workers;
	hello->server = call->link->index;
	hello->servers = ps->link_count;
	hello->session = ps->session;
	hello->epoch = call->link->epoch;
	memcpy(hello->job, ps->job, sizeof(hello->job));
	(void)snprintf(hello->backend, sizeof(hello->backend), "%s", ps->settings.backend);
	r = rh_ps_call_greet(&call->call, hello, ps->settings.secret);
	return r < 0 ? r : rh_ps_call_receive(&call->call, RH_PS_REC_WELCOME, ret_welcome, sizeof(*ret_welcome));
}

/* Continue over a second connection, which may stall for as long as either side is stopped. */
static int32_t call_attach_far(struct link_call *call, const struct rh_ps_call_proof *proof)
{
	struct rh_ps_call bulk = call->call;
	int fd = -1;
	int32_t r = rh_comm_socket_connect(call->link->place.host, call->link->place.port, call->call.deadline, &fd,
	                                   call->call.err);

	if (r < 0)
		return r;
	rh_comm_socket_prepare_bulk(fd);
	bulk.wire = rh_ps_wire_new(fd);
	if (!bulk.wire) {
		(void)close(fd);
		return rh_comm_fail(call->call.err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	r = rh_ps_call_attach(&bulk, proof);
	if (r == 0)
		r = rh_ps_call_receive(&bulk, RH_PS_REC_ACK, NULL, 0);
	if (r < 0) {
		rh_ps_wire_free(bulk.wire);
		return r;
	}
	rh_ps_wire_watch(bulk.wire, rh_ps_wire_release(call->call.wire));
	rh_ps_wire_free(call->call.wire);
	call->call.wire = bulk.wire;
	return 0;
}

/* Open the backend, each its own end. A server that dies meanwhile is called again. */
static int32_t call_connect_backend(const struct link_call *call, bool near)
{
	const struct rh_ps *ps = call->link->ps;
	struct rh_ps_fabric_hello hello = {.near = near};
	struct rh_ps_fabric_plan plan = {.fabric = &ps->fabric, .near = near, .death_timeout = ps->settings.death_timeout};
	struct rh_comm_error why = {0};
	int32_t r = rh_ps_call_send(&call->call, RH_PS_REC_CONNECT, 0, &hello, sizeof(hello));

	if (r < 0)
		return r;
	plan.deadline = rh_comm_now() + OPEN_TIMEOUT;
	r = rh_ps_fabric_connect(call->call.wire, &plan, &why);
	if (r == RH_COMM_EPEER || r == RH_COMM_ETIME || r == RH_COMM_EIO)
		return rh_ps_call_fail(&call->call, why.text);
	if (r == 0)
		return 0;
	return rh_comm_fail(call->call.err, r, RH_COMM_NO_RANK, "%s: %s; set RH_PS_BACKEND=own to do without it",
	                    call->whom, why.text);
}

/* Go on through memory, where the server's local socket can be reached; else over TCP; or over a backend. */
static int32_t call_attach(struct link_call *call, struct rh_ps_welcome *welcome)
{
	const struct rh_ps_call_proof proof = {&call->hello, call->link->ps->settings.secret, welcome->ticket};
	int fd;

	welcome->local[sizeof(welcome->local) - 1] = '\0';
	fd = call->link->ps->settings.no_shm || !welcome->local[0] ? -1 : rh_ps_local_connect(welcome->local);
	if (rh_ps_fabric_is_on(&call->link->ps->fabric)) {
		if (fd >= 0)
			(void)close(fd);
		return call_connect_backend(call, fd >= 0);
	}
	return fd < 0 ? call_attach_far(call, &proof) : rh_ps_call_attach_near(&call->call, fd, &proof);
}

/* Begin where the server is. */
static void link_begin(struct rh_ps_link *link, const struct rh_ps_welcome *welcome)
{
	/* read without the lock by those who post, so never written again; a backup has the same */
	if (link->epoch == 0)
		link->mode = welcome->mode;
	if (link->epoch == 0 && welcome->last >= link->next) {
		/* an earlier process of this worker has come that far */
		link->first = welcome->last + 1;
		link->next = link->first;
	}
	link->epoch = welcome->epoch;
	link->durable = welcome->durable != 0;
	link->sent = link->first;
	link->readable = false;
	link->lost = 0;
	link->pause = PAUSE_FIRST;
	link->last_received = rh_comm_now();
	link->asked = 0;
	link->named = false;
}

/* A restarted server must have all that it has acknowledged: files may have been lost, or truncated. */
static int32_t link_check_memory(const struct link_call *call, const struct rh_ps_welcome *welcome)
{
	const struct rh_ps_link *link = call->link;

	if (link->epoch == 0 || welcome->last >= link->counted)
		return 0;
	return rh_comm_fail(call->call.err, RH_COMM_EPEER, RH_COMM_NO_RANK,
	                    "%s has lost what it had acknowledged: it knows worker %d's requests up to %llu, and has "
	                    "answered %llu: files of its folder are missing or cut off",
	                    call->whom, (int)link->ps->settings.worker, (unsigned long long)welcome->last,
	                    (unsigned long long)link->counted);
}

int32_t rh_ps_link_open(struct rh_ps_link *link, int64_t deadline, struct rh_comm_error *err)
{
	struct link_call call = {.link = link, .call = {.deadline = deadline, .err = err}};
	struct rh_ps_welcome welcome;
	int fd = -1;
	int32_t r = rh_comm_socket_connect(link->place.host, link->place.port, deadline, &fd, err);

	if (r < 0)
		return r;
	(void)snprintf(call.whom, sizeof(call.whom), "server %d at %.255s port %d", (int)link->index, link->place.host,
	               (int)link->place.port);
	call.call.whom = call.whom;
	rh_comm_socket_watch_peer(fd, link->ps->settings.death_timeout);
	call.call.wire = rh_ps_wire_new(fd);
	if (!call.call.wire) {
		(void)close(fd);
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	r = call_greet(&call, &welcome);
	if (r == 0)
		r = link_check_memory(&call, &welcome);
	if (r == 0)
		r = call_attach(&call, &welcome);
	if (r < 0) {
		rh_ps_wire_free(call.call.wire);
		return r;
	}
	link_begin(link, &welcome);
	link->wire = call.call.wire;
	return 0;
}

int32_t rh_ps_link_reserve(struct rh_ps_link *link, size_t count)
{
	size_t used = (size_t)(link->next - link->first);
	size_t room = link->room > 0 ? link->room : PARTS_FIRST;
	struct rh_ps_part **parts;

	while (room < used + count)
		room *= 2;
	if (room == link->room)
		return 0;
	parts = calloc(room, sizeof(struct rh_ps_part *));
	if (!parts)
		return RH_COMM_ENOMEM;
	for (uint64_t i = link->first; i < link->next; i++)
		parts[i & (room - 1)] = link->parts[i & (link->room - 1)];
	free(link->parts);
	link->parts = parts;
	link->room = room;
	return 0;
}

void rh_ps_link_post(struct rh_ps_link *link, struct rh_ps_part *part)
{
	if (link->first == link->next)
		link->last_received = rh_comm_now();
	link->parts[link->next++ & (link->room - 1)] = part;
}

static struct rh_ps_part **link_slot(const struct rh_ps_link *link, uint64_t number)
{
	return &link->parts[number & (link->room - 1)];
}

static size_t link_part_length(const struct rh_ps_part *part)
{
	if (rh_ps_kind_has_rows(part->kind))
		return rh_ps_part_rows_length(part);
	if (!part->in)
		return 0;
	return part->kind == RH_PS_REC_RATE ? sizeof(double) : part->bytes;
}

/* @return false: there is no room now */
static bool link_send_part(struct rh_ps_link *link, const struct rh_ps_part *part)
{
	struct rh_ps_head head = {
		.kind = (uint16_t)part->kind,
		.length = (uint32_t)link_part_length(part),
		.sequence = link->sent,
		.key = part->key,
		.part = part->number,
		.bytes = part->bytes,
		.type = part->type,
		.flags = (uint16_t)part->flags,
		.width = part->width,
		.rows = part->rows,
		.timeout = part->timeout,
	};
	uint8_t *at = rh_ps_wire_add(link->wire, &head);

	if (!at)
		return false;
	if (rh_ps_kind_has_rows(part->kind))
		rh_ps_part_put_rows(part, at);
	else if (head.length > 0)
		memcpy(at, part->in, head.length);
	return true;
}

/* Flushed now and then, so that the server works while we copy. @return 0 or RH_COMM_EPEER */
static int32_t link_send(struct rh_ps_link *link)
{
	size_t unseen = 0;

	for (; link->sent < link->next; link->sent++) {
		const struct rh_ps_part *part = *link_slot(link, link->sent);

		if (!part)
			continue;
		if (!link_send_part(link, part))
			break;
		unseen += RH_PS_ALIGN + link_part_length(part);
		if (unseen >= RH_PS_PART_MAX / 2 && rh_ps_wire_flush(link->wire) < 0)
			return RH_COMM_EPEER;
		unseen %= RH_PS_PART_MAX / 2;
	}
	return rh_ps_wire_flush(link->wire);
}

/* @return whether a server that has answered such a request never forgets it */
static bool link_counts(uint32_t kind)
{
	return kind == RH_PS_REC_PUSH || kind == RH_PS_REC_PUSH_PULL || kind == RH_PS_REC_PUSH_ROWS ||
	       kind == RH_PS_REC_PUSH_PULL_ROWS || kind == RH_PS_REC_RATE;
}

/* @return 0 or RH_COMM_EPEER: it is not what was asked for */
static int32_t link_take_value(const struct rh_ps_part *part, const struct rh_ps_head *head, const uint8_t *payload)
{
	bool by_rows = rh_ps_kind_has_rows(part->kind);
	size_t row = (size_t)part->width * rh_comm_type_size(part->type);

	if (!part->out || head->length != (by_rows ? part->rows * row : part->bytes))
		return RH_COMM_EPEER;
	if (by_rows)
		rh_ps_part_get_rows(part, payload);
	else if (head->length > 0)
		memcpy(part->out, payload, part->bytes);
	return 0;
}

static int32_t link_finish(struct rh_ps_link *link, const struct rh_ps_head *head, const uint8_t *payload)
{
	struct rh_ps_part *part;

	if (head->sequence == 0 && head->kind == RH_PS_REC_ACK)
		return 0;
	if (head->sequence < link->first || head->sequence >= link->sent || !*link_slot(link, head->sequence))
		return RH_COMM_EPEER;
	part = *link_slot(link, head->sequence);
	if (head->kind == RH_PS_REC_VALUE) {
		if (link_take_value(part, head, payload) < 0)
			return RH_COMM_EPEER;
	} else if (head->kind == RH_PS_REC_ERROR) {
		if (head->length == 0 || payload[head->length - 1] != '\0' || head->status >= 0)
			return RH_COMM_EPEER;
		if (part->request->err.code == 0)
			(void)rh_comm_fail(&part->request->err, head->status, head->worker, "server %d: %s", (int)link->index,
			                   payload);
	} else if (head->kind != RH_PS_REC_ACK || part->out) {
		return RH_COMM_EPEER;
	}
	if (head->kind != RH_PS_REC_ERROR && link_counts(part->kind) && head->sequence > link->counted)
		link->counted = head->sequence;
	part->request->left--;
	*link_slot(link, head->sequence) = NULL;
	while (link->first < link->next && !*link_slot(link, link->first))
		link->first++;
	return 0;
}

/* @return 0 or RH_COMM_EPEER: it sent a malformed record */
static int32_t link_receive(struct rh_ps_link *link)
{
	const uint8_t *payload;
	struct rh_ps_head head;
	int32_t r;
	bool received = false;

	while ((r = rh_ps_wire_next(link->wire, &head, &payload)) > 0) {
		received = true;
		r = link_finish(link, &head, payload);
		rh_ps_wire_drop(link->wire);
		/* the room is to be seen while we are still at it */
		if (r < 0 || (head.length >= RH_PS_PART_MAX / 4 && rh_ps_wire_flush(link->wire) < 0))
			return RH_COMM_EPEER;
	}
	if (received) {
		link->last_received = rh_comm_now();
		link->asked = 0;
		link->named = false;
	}
	return r < 0 ? RH_COMM_EPEER : 0;
}

/*
 * A silent server may only wait for other workers: it gets a PING, and is named in a warning when it does
 * not answer. One that takes nothing in cannot be asked.
 */
static void link_check_slow(struct rh_ps_link *link)
{
	struct rh_ps_head ping = {.kind = RH_PS_REC_PING};
	int64_t patience = link->ps->settings.slow / 2;
	int64_t now;

	if (link->first == link->next || link->named || link->ps->settings.slow == RH_COMM_NEVER)
		return;
	now = rh_comm_now();
	if (link->asked == 0 && now - link->last_received >= patience) {
		(void)rh_ps_wire_add(link->wire, &ping);
		link->asked = now;
	} else if (link->asked > 0 && now - link->asked >= patience) {
		link->named = true;
		(void)fprintf(stderr,
		              "rh_ps: worker %d: server %d at %s port %d is slow or stopped: it has sent nothing for %lld s\n",
		              (int)link->ps->settings.worker, (int)link->index, link->place.host, (int)link->place.port,
		              (long long)((now - link->last_received) / RH_COMM_SECOND));
	}
}

static int64_t link_grace(const struct rh_ps_link *link)
{
	if (link->ps->settings.grace > 0)
		return link->ps->settings.grace;
	return link->durable ? GRACE_DURABLE : RH_COMM_SECOND;
}

static void link_lose(struct rh_ps_link *link)
{
	rh_ps_wire_free(link->wire);
	link->wire = NULL;
	link->lost = rh_comm_now();
	link->call = link->lost;
	link->pause = PAUSE_FIRST;
}

/* A server that was started again may be elsewhere. @return 0; why the scheduler has given the job up */
int32_t rh_ps_link_follow(struct rh_ps *ps, struct rh_comm_error *err)
{
	int32_t r = ps->join ? rh_ps_join_receive(ps->join, err) : 0;
	const struct rh_ps_place *places = r > 0 ? rh_ps_join_cluster(ps->join)->places : NULL;

	if (r < 0 && r != RH_COMM_EIO)
		return r;
	if (r < 0) {
		rh_ps_join_free(ps->join);
		ps->join = NULL;
	}
	for (int32_t i = 0; places && i < ps->link_count; i++)
		ps->links[i].place = places[i];
	return 0;
}

/* Call a server that is away. @return 0, also when it is still away; else it is lost for good */
static int32_t link_call_again(struct rh_ps_link *link, struct rh_comm_error *err)
{
	struct rh_comm_error last = {0};
	int64_t now = rh_comm_now();
	int32_t r;

	if (now < link->call)
		return 0;
	r = rh_ps_link_follow(link->ps, err);
	if (r < 0)
		return r;
	r = rh_ps_link_open(link, now + CALL_TIMEOUT, &last);
	if (r == 0)
		return 0;
	if (r != RH_COMM_EIO) {
		*err = last;
		return r;
	}
	now = rh_comm_now();
	if (now - link->lost >= link_grace(link))
		return rh_comm_fail(err, RH_COMM_EPEER, link->index, "server %d at %s port %d died or was cut off: %s",
		                    (int)link->index, link->place.host, (int)link->place.port, last.text);
	link->call = now + link->pause;
	link->pause = link->pause * 2 < PAUSE_MAX ? link->pause * 2 : PAUSE_MAX;
	return 0;
}

int32_t rh_ps_link_progress(struct rh_ps_link *link, bool look, struct rh_comm_error *err)
{
	bool gone = false;
	int32_t r = link->wire ? 0 : link_call_again(link, err);

	/* what a lost server did not answer is sent again at once */
	if (!link->wire)
		return r;
	if (look || link->readable || !rh_ps_wire_is_shared(link->wire))
		gone = rh_ps_wire_fill(link->wire) < 0;
	link->readable = false;
	/* a closed connection may still have records to read */
	gone |= link_receive(link) < 0;
	link_check_slow(link);
	if (gone || link_send(link) < 0)
		link_lose(link);
	return 0;
}

void rh_ps_link_close(struct rh_ps_link *link)
{
	rh_ps_wire_free(link->wire);
	link->wire = NULL;
	link->first = link->next;
	link->sent = link->next;
}
