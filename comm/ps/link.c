/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/core/error.h"
#include "comm/core/socket.h"
#include "comm/ps/client.h"

#define PARTS_FIRST 64
#define PAUSE_FIRST 10000
#define PAUSE_MAX 250000
/* How long one call of a server that was lost may take. */
#define CALL_TIMEOUT RH_COMM_SECOND
#define ATTACH_TIMEOUT (2 * RH_COMM_SECOND)
#define GRACE_DURABLE (60 * RH_COMM_SECOND)

/* Between a call and its answers. */
struct link_call {
	struct rh_ps_link *link;
	struct rh_ps_wire *wire;
	int64_t deadline;
	struct rh_comm_error *err;
};

int32_t rh_ps_link_init(struct rh_ps_link *link, struct rh_ps *ps, int32_t index, const char *address, size_t length)
{
	const char *colon = memrchr(address, ':', length);
	bool bracketed = length > 0 && address[0] == '[';
	size_t host_length;
	char *end = NULL;
	long port;

	link->ps = ps;
	link->index = index;
	link->first = 1;
	link->sent = 1;
	link->next = 1;
	if (!colon || colon == address || (bracketed && colon[-1] != ']'))
		return RH_COMM_EINVAL;
	port = strtol(colon + 1, &end, 10);
	if (end != address + length || end == colon + 1 || port < 1 || port > UINT16_MAX)
		return RH_COMM_EINVAL;
	host_length = (size_t)(colon - address) - (bracketed ? 2 : 0);
	link->host = strndup(address + (bracketed ? 1 : 0), host_length);
	link->port = (int32_t)port;
	return link->host ? 0 : RH_COMM_ENOMEM;
}

void rh_ps_link_deinit(struct rh_ps_link *link)
{
	rh_ps_wire_free(link->wire);
	free(link->parts);
	free(link->host);
}

static int32_t call_fail(const struct link_call *call, const char *what)
{
	return rh_comm_fail(call->err, RH_COMM_EIO, RH_COMM_NO_RANK, "server %d at %s port %d: %s", (int)call->link->index,
	                    call->link->host, (int)call->link->port, what);
}

static int32_t call_send(const struct link_call *call, uint32_t kind, uint64_t key, const void *payload, size_t length)
{
	struct rh_ps_head head = {.kind = kind, .length = (uint32_t)length, .key = key};
	uint8_t *at = rh_ps_wire_add(call->wire, &head);

	if (!at)
		return rh_comm_fail(call->err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	if (length > 0)
		memcpy(at, payload, length);
	return rh_ps_wire_flush(call->wire) < 0 ? call_fail(call, "the connection closed") : 0;
}

/* Wait for a record of `kind` with `length` bytes. */
static int32_t call_receive(const struct link_call *call, uint32_t kind, void *ret_payload, size_t length)
{
	struct pollfd set = {.fd = rh_ps_wire_fd(call->wire), .events = POLLIN};
	const uint8_t *payload = NULL;
	struct rh_ps_head head;
	int32_t r;

	while ((r = rh_ps_wire_next(call->wire, &head, &payload)) == 0) {
		int64_t left = call->deadline - rh_comm_now();

		if (left <= 0 || poll(&set, 1, (int)(left / 1000) + 1) == 0)
			return call_fail(call, "it does not answer");
		if (rh_ps_wire_fill(call->wire) < 0 && rh_ps_wire_next(call->wire, &head, &payload) == 0)
			return call_fail(call, "the connection closed");
	}
	if (r > 0 && head.kind == RH_PS_REC_REFUSED && head.length > 0 && payload[head.length - 1] == '\0')
		return rh_comm_fail(call->err, head.status < 0 ? head.status : RH_COMM_EINVAL, head.worker, "%s", payload);
	if (r < 0 || head.kind != kind || head.length != length)
		return rh_comm_fail(call->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "what listens at %s port %d is no parameter server of this version", call->link->host,
		                    (int)call->link->port);
	memcpy(ret_payload, payload, length);
	rh_ps_wire_drop(call->wire);
	return 0;
}

static int32_t call_greet(const struct link_call *call, struct rh_ps_welcome *ret_welcome)
{
	const struct rh_ps *ps = call->link->ps;
	struct rh_ps_challenge challenge;
	struct rh_ps_hello hello;
	uint8_t proof[RH_COMM_DIGEST];
	int32_t r;

	memset(&hello, 0, sizeof(hello));
	hello.protocol = RH_PS_PROTOCOL;
	hello.worker = ps->settings.worker;
	hello.workers = ps->settings.workers;
	hello.server = call->link->index;
	hello.servers = ps->link_count;
	hello.session = ps->session;
	hello.epoch = call->link->epoch;
	rh_ps_random(hello.nonce, sizeof(hello.nonce));
	memcpy(hello.job, ps->job, sizeof(hello.job));
	r = call_send(call, RH_PS_REC_HELLO, 0, &hello, sizeof(hello));
	if (r == 0)
		r = call_receive(call, RH_PS_REC_CHALLENGE, &challenge, sizeof(challenge));
	if (r < 0)
		return r;
	rh_ps_prove(ps->settings.secret, "server", hello.nonce, &hello, proof);
	if (!rh_comm_digest_equal(proof, challenge.proof))
		return rh_comm_fail(call->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "server %d at %s port %d has another secret: set RH_COMM_SECRET to the same everywhere",
		                    (int)call->link->index, call->link->host, (int)call->link->port);
	rh_ps_prove(ps->settings.secret, "worker", challenge.nonce, &hello, proof);
	r = call_send(call, RH_PS_REC_PROOF, 0, proof, sizeof(proof));
	return r < 0 ? r : call_receive(call, RH_PS_REC_WELCOME, ret_welcome, sizeof(*ret_welcome));
}

/* Go on through memory, where the server's local socket can be reached; else stay with TCP. */
static int32_t call_attach(struct link_call *call, struct rh_ps_welcome *welcome)
{
	struct link_call local = *call;
	int memory;
	int fd;

	welcome->local[sizeof(welcome->local) - 1] = '\0';
	fd = call->link->ps->settings.no_shm || !welcome->local[0] ? -1 : rh_ps_local_connect(welcome->local);
	if (fd < 0)
		return 0;
	local.wire = rh_ps_wire_new(fd);
	if (!local.wire) {
		(void)close(fd);
		return 0;
	}
	/* from here on the server may have changed over: there is no way back */
	if (call_send(&local, RH_PS_REC_ATTACH, welcome->ticket, NULL, 0) == 0) {
		memory = rh_ps_wire_receive_fd(fd, ATTACH_TIMEOUT);
		if (memory >= 0 && rh_ps_wire_share(local.wire, memory, false) == 0) {
			rh_ps_wire_free(call->wire);
			call->wire = local.wire;
			(void)close(memory);
			return 0;
		}
		if (memory >= 0)
			(void)close(memory);
	}
	rh_ps_wire_free(local.wire);
	return call_fail(call, "no memory could be shared with it; RH_PS_SHM=off does without");
}

/* Begin where the server is. */
static void link_begin(struct rh_ps_link *link, const struct rh_ps_welcome *welcome)
{
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
}

int32_t rh_ps_link_open(struct rh_ps_link *link, int64_t deadline, struct rh_comm_error *err)
{
	struct link_call call = {.link = link, .deadline = deadline, .err = err};
	struct rh_ps_welcome welcome;
	int fd = -1;
	int32_t r = rh_comm_socket_connect(link->host, link->port, deadline, &fd, err);

	if (r < 0)
		return r;
	rh_comm_socket_watch_peer(fd, link->ps->settings.death_timeout);
	call.wire = rh_ps_wire_new(fd);
	if (!call.wire) {
		(void)close(fd);
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	r = call_greet(&call, &welcome);
	if (r == 0)
		r = call_attach(&call, &welcome);
	if (r < 0) {
		rh_ps_wire_free(call.wire);
		return r;
	}
	link_begin(link, &welcome);
	link->wire = call.wire;
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
	link->parts[link->next++ & (link->room - 1)] = part;
}

static struct rh_ps_part **link_slot(const struct rh_ps_link *link, uint64_t number)
{
	return &link->parts[number & (link->room - 1)];
}

/* @return false: there is no room now */
static bool link_send_part(struct rh_ps_link *link, const struct rh_ps_part *part)
{
	struct rh_ps_head head = {
		.kind = part->kind,
		.length = part->in ? part->kind == RH_PS_REC_RATE ? (uint32_t)sizeof(double) : part->bytes : 0,
		.sequence = link->sent,
		.key = part->key,
		.part = part->number,
		.bytes = part->bytes,
		.type = part->type,
		.flags = part->flags,
		.timeout = part->timeout,
	};
	uint8_t *at = rh_ps_wire_add(link->wire, &head);

	if (!at)
		return false;
	if (head.length > 0)
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
		unseen += RH_PS_ALIGN + part->bytes;
		if (unseen >= RH_PS_PART_MAX / 2 && rh_ps_wire_flush(link->wire) < 0)
			return RH_COMM_EPEER;
		unseen %= RH_PS_PART_MAX / 2;
	}
	return rh_ps_wire_flush(link->wire);
}

static int32_t link_finish(struct rh_ps_link *link, const struct rh_ps_head *head, const uint8_t *payload)
{
	struct rh_ps_part *part;

	if (head->sequence < link->first || head->sequence >= link->sent || !*link_slot(link, head->sequence))
		return RH_COMM_EPEER;
	part = *link_slot(link, head->sequence);
	if (head->kind == RH_PS_REC_VALUE) {
		if (!part->out || head->length != part->bytes)
			return RH_COMM_EPEER;
		memcpy(part->out, payload, part->bytes);
	} else if (head->kind == RH_PS_REC_ERROR) {
		if (head->length == 0 || payload[head->length - 1] != '\0' || head->status >= 0)
			return RH_COMM_EPEER;
		if (part->request->err.code == 0)
			(void)rh_comm_fail(&part->request->err, head->status, head->worker, "server %d: %s", (int)link->index,
			                   payload);
	} else if (head->kind != RH_PS_REC_ACK || part->out) {
		return RH_COMM_EPEER;
	}
	part->request->left--;
	*link_slot(link, head->sequence) = NULL;
	while (link->first < link->next && !*link_slot(link, link->first))
		link->first++;
	return 0;
}

/* @return 0 or RH_COMM_EPEER: it speaks nonsense */
static int32_t link_receive(struct rh_ps_link *link)
{
	const uint8_t *payload;
	struct rh_ps_head head;
	int32_t r;

	while ((r = rh_ps_wire_next(link->wire, &head, &payload)) > 0) {
		r = link_finish(link, &head, payload);
		rh_ps_wire_drop(link->wire);
		/* the room is to be seen while we are still at it */
		if (r < 0 || (head.length >= RH_PS_PART_MAX / 4 && rh_ps_wire_flush(link->wire) < 0))
			return RH_COMM_EPEER;
	}
	return r < 0 ? RH_COMM_EPEER : 0;
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

/* Call a server that is away. @return 0, also when it is still away; else it is lost for good */
static int32_t link_call_again(struct rh_ps_link *link, struct rh_comm_error *err)
{
	struct rh_comm_error last = {0};
	int64_t now = rh_comm_now();
	int32_t r;

	if (now < link->call)
		return 0;
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
		                    (int)link->index, link->host, (int)link->port, last.text);
	link->call = now + link->pause;
	link->pause = link->pause * 2 < PAUSE_MAX ? link->pause * 2 : PAUSE_MAX;
	return 0;
}

int32_t rh_ps_link_progress(struct rh_ps_link *link, bool look, struct rh_comm_error *err)
{
	bool gone = false;

	if (!link->wire)
		return link_call_again(link, err);
	if (look || link->readable || !rh_ps_wire_is_shared(link->wire))
		gone = rh_ps_wire_fill(link->wire) < 0;
	link->readable = false;
	/* who is gone may have said something before */
	gone |= link_receive(link) < 0;
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
