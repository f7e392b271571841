/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/meet.h"

#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"
#include "comm/core/thread.h"
#include "comm/ps/protocol/blocks.h"

#define ADDRESS_ROOM 128
#define NAME_ROOM 96
#define WHY_ROOM 200
/* Longest value that a backend may publish, and room for its key. */
#define VALUE_MAX 65536
#define KEY_ROOM 256

/* Something that the other end has published. */
struct meet_value {
	STAILQ_ENTRY(meet_value) link;
	size_t length; /* of the value */
	char *value;   /* behind the key and its zero byte */
	char key[];
};

/* What a backend's context is given, for as long as it lives. */
struct meeting {
	struct rh_comm_team team;
	const struct rh_comm_backend *backend;
	const struct rh_ps_device *device; /* NULL: the backend moves memory of the host */
	int opening;                       /* which of two contexts */
	struct rh_ps_wire *wire;           /* NULL: it is over */
	int32_t hosts[2];
	char address[ADDRESS_ROOM];
	struct rh_comm_error said; /* why it failed */
	bool met;                  /* the other end has opened it */
	STAILQ_HEAD(, meet_value) values;
};

static int32_t meet_fail(struct meeting *meeting, int32_t code, const char *what)
{
	if (meeting->said.code == 0)
		(void)rh_comm_fail(&meeting->said, code, RH_COMM_NO_RANK, "%s", what);
	return code;
}

/* @return 0; RH_COMM_ETIME */
static int32_t meet_poll(struct meeting *meeting, short events)
{
	struct pollfd set = {.fd = rh_ps_wire_fd(meeting->wire), .events = events};
	int64_t left = meeting->team.deadline - rh_comm_now();

	if (left <= 0 || poll(&set, 1, (int)(left / 1000) + 1) == 0)
		return meet_fail(meeting, RH_COMM_ETIME, "the other end did not open it in time");
	return 0;
}

static int32_t meet_send(struct meeting *meeting, const struct rh_ps_head *head, const void *payload)
{
	uint8_t *at = rh_ps_wire_add(meeting->wire, head);
	int32_t r = 0;

	if (!at)
		return meet_fail(meeting, RH_COMM_ENOMEM, "out of memory");
	if (head->length > 0)
		memcpy(at, payload, head->length);
	do {
		if (rh_ps_wire_flush(meeting->wire) < 0)
			return meet_fail(meeting, RH_COMM_EPEER, "the connection closed");
		if (rh_ps_wire_unsent(meeting->wire))
			r = meet_poll(meeting, POLLOUT);
	} while (r == 0 && rh_ps_wire_unsent(meeting->wire));
	return r;
}

static int32_t meet_keep(struct meeting *meeting, const uint8_t *payload, size_t length)
{
	size_t key = strnlen((const char *)payload, length);
	struct meet_value *value;

	if (key == length)
		return meet_fail(meeting, RH_COMM_EPEER, "the other end speaks nonsense");
	value = malloc(sizeof(*value) + length);
	if (!value)
		return meet_fail(meeting, RH_COMM_ENOMEM, "out of memory");
	memcpy(value->key, payload, length);
	value->value = value->key + key + 1;
	value->length = length - key - 1;
	STAILQ_INSERT_TAIL(&meeting->values, value, link);
	return 0;
}

static int32_t meet_take(struct meeting *meeting, const struct rh_ps_head *head, const uint8_t *payload)
{
	if (head->kind == RH_PS_REC_KEY)
		return meet_keep(meeting, payload, head->length);
	if (head->kind == RH_PS_REC_REFUSED && head->length > 0 && payload[head->length - 1] == '\0')
		return meet_fail(meeting, head->status < 0 ? head->status : RH_COMM_EINVAL, (const char *)payload);
	meeting->met = head->kind == RH_PS_REC_MET;
	return meeting->met ? 0 : meet_fail(meeting, RH_COMM_EPEER, "the other end speaks nonsense");
}

/* Wait for one record, and take it. */
static int32_t meet_receive(struct meeting *meeting)
{
	const uint8_t *payload;
	struct rh_ps_head head;
	int32_t r = 0;

	while (r == 0 && (r = rh_ps_wire_next(meeting->wire, &head, &payload)) == 0) {
		r = meet_poll(meeting, POLLIN);
		if (r == 0 && rh_ps_wire_fill(meeting->wire) < 0 && rh_ps_wire_next(meeting->wire, &head, &payload) <= 0)
			r = meet_fail(meeting, RH_COMM_EPEER, "the connection closed");
	}
	if (r < 0)
		return meeting->said.code < 0 ? r : meet_fail(meeting, RH_COMM_EPEER, "the other end speaks nonsense");
	r = meet_take(meeting, &head, payload);
	rh_ps_wire_drop(meeting->wire);
	return r;
}

/* Contexts have keys of their own. */
static int32_t meet_name(const struct meeting *meeting, const char *key, char *name)
{
	return snprintf(name, KEY_ROOM, "%d/%s", meeting->opening, key) < KEY_ROOM ? 0 : RH_COMM_EINVAL;
}

static int32_t meet_put(void *core, const char *key, const void *value, size_t length)
{
	struct meeting *meeting = core;
	struct rh_ps_head head = {.kind = RH_PS_REC_KEY};
	char name[KEY_ROOM];
	size_t key_length;
	char *payload;
	int32_t r;

	if (!meeting->wire || length > VALUE_MAX || meet_name(meeting, key, name) < 0)
		return RH_COMM_EINVAL;
	key_length = strlen(name) + 1;
	payload = malloc(key_length + length);
	if (!payload)
		return RH_COMM_ENOMEM;
	memcpy(payload, name, key_length);
	if (length > 0)
		memcpy(payload + key_length, value, length);
	/* it may ask for its own, too */
	r = meet_keep(meeting, (const uint8_t *)payload, key_length + length);
	head.length = (uint32_t)(key_length + length);
	if (r == 0)
		r = meet_send(meeting, &head, payload);
	free(payload);
	return r;
}

static int64_t meet_get(void *core, const char *key, void *value, size_t room)
{
	struct meeting *meeting = core;
	char name[KEY_ROOM];

	if (!meeting->wire || meet_name(meeting, key, name) < 0)
		return RH_COMM_EINVAL;
	for (;;) {
		struct meet_value *at;
		int32_t r;

		STAILQ_FOREACH(at, &meeting->values, link)
		{
			if (strcmp(at->key, name) != 0)
				continue;
			if (at->length > room)
				return RH_COMM_EINVAL;
			memcpy(value, at->value, at->length);
			return (int64_t)at->length;
		}
		r = meet_receive(meeting);
		if (r < 0)
			return r;
	}
}

/* RH_COMM_<NAME>_<KEY> */
static const char *meet_setting(void *core, const char *key)
{
	const struct meeting *meeting = core;
	char name[NAME_ROOM];

	(void)snprintf(name, sizeof(name), "RH_COMM_%s_%s", meeting->backend->name, key);
	for (char *at = name; *at; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	return getenv(name);
}

static int32_t meet_on_failure(void *core, int32_t code, int32_t rank, const char *text)
{
	(void)rank;
	return meet_fail(core, code, text);
}

static void meet_tune(void *core, int32_t what, size_t bytes, const char **ret_algorithm, size_t *ret_chunk)
{
	(void)core;
	(void)what;
	(void)bytes;
	*ret_algorithm = NULL;
	*ret_chunk = 0;
}

/* What the other end says meanwhile is taken: it may be why it gives up. */
static int32_t meet_check(void *core)
{
	struct meeting *meeting = core;
	bool gone = !meeting->wire || rh_ps_wire_fill(meeting->wire) < 0;
	const uint8_t *payload;
	struct rh_ps_head head;

	while (meeting->wire && meeting->said.code == 0 && rh_ps_wire_next(meeting->wire, &head, &payload) > 0) {
		(void)meet_take(meeting, &head, payload);
		rh_ps_wire_drop(meeting->wire);
	}
	if (meeting->said.code < 0)
		return meeting->said.code;
	return gone ? meet_fail(meeting, RH_COMM_EPEER, "the connection closed") : 0;
}

static void meeting_free(void *self)
{
	struct meeting *meeting = self;

	while (!STAILQ_EMPTY(&meeting->values)) {
		struct meet_value *value = STAILQ_FIRST(&meeting->values);

		STAILQ_REMOVE_HEAD(&meeting->values, link);
		free(value);
	}
	free(meeting);
}

/* Where the other end reaches this one: at the address of the connection. */
static void meeting_find_address(struct meeting *meeting)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (getsockname(rh_ps_wire_fd(meeting->wire), (struct sockaddr *)&address, &length) < 0 ||
	    getnameinfo((struct sockaddr *)&address, length, meeting->address, ADDRESS_ROOM, NULL, 0, NI_NUMERICHOST) != 0)
		(void)snprintf(meeting->address, ADDRESS_ROOM, "127.0.0.1");
}

static struct meeting *meeting_new(struct rh_ps_wire *wire, const struct rh_ps_meet_plan *plan)
{
	struct meeting *meeting = calloc(1, sizeof(*meeting));

	if (!meeting)
		return NULL;
	STAILQ_INIT(&meeting->values);
	meeting->backend = plan->fabric->module.backend;
	meeting->device = plan->fabric->device.stager ? &plan->fabric->device : NULL;
	meeting->wire = wire;
	meeting->hosts[1] = plan->near ? 0 : 1;
	meeting_find_address(meeting);
	meeting->team = (struct rh_comm_team){.head = RH_COMM_HEAD(struct rh_comm_team),
	                                      .rank = plan->server ? 0 : 1,
	                                      .world = 2,
	                                      .local_rank = plan->near && !plan->server ? 1 : 0,
	                                      .local_world = plan->near ? 2 : 1,
	                                      .hosts = meeting->hosts,
	                                      .deadline = plan->deadline,
	                                      .death_timeout = plan->death_timeout,
	                                      .address = meeting->address,
	                                      .core = meeting,
	                                      .put = meet_put,
	                                      .get = meet_get,
	                                      .setting = meet_setting,
	                                      .fail = meet_on_failure,
	                                      .reduce = rh_comm_reduce,
	                                      .divide = rh_comm_divide,
	                                      .tuned = meet_tune,
	                                      .check = meet_check,
	                                      .crowded = rh_comm_processors() < 4};
	return meeting;
}

/* Say that it is open here, and hear that it is there. */
static int32_t meet_finish(struct meeting *meeting)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_MET};
	int32_t r = meet_send(meeting, &head, NULL);

	while (r == 0 && !meeting->met)
		r = meet_receive(meeting);
	return r;
}

/* The other end is to hear why; what cannot be sent now is not. */
static void meet_refuse(const struct meeting *meeting)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_REFUSED, .status = meeting->said.code, .worker = RH_COMM_NO_RANK};
	uint8_t *at;

	head.length = (uint32_t)strlen(meeting->said.text) + 1;
	at = rh_ps_wire_add(meeting->wire, &head);
	if (!at)
		return;
	memcpy(at, meeting->said.text, head.length);
	(void)rh_ps_wire_flush(meeting->wire);
}

static void meet_drop(const struct rh_comm_backend *backend, void *self)
{
	if (!self)
		return;
	backend->abort(self);
	backend->close(self);
}

/*
 * One context; two, and streams, where messages of both directions would wait for each other: number 0 is for what the
 * server sends.
 */
static int32_t meet_open_contexts(struct meeting *meeting, struct rh_ps_blocks_plan *plan)
{
	bool server = meeting->team.rank == 0;
	void *contexts[2] = {NULL, NULL};
	int32_t r = meeting->backend->open(&meeting->team, &contexts[0]);

	if (r == 0 && meeting->device) {
		meeting->opening = 1;
		r = meeting->backend->open(&meeting->team, &contexts[1]);
	}
	if (r == 0 && meeting->device)
		r = rh_ps_streams_open(meeting->device, &plan->streams);
	if (r < 0) {
		meet_drop(meeting->backend, contexts[0]);
		meet_drop(meeting->backend, contexts[1]);
		return meet_fail(meeting, r, rh_comm_status_text(r));
	}
	plan->out = contexts[meeting->device && !server ? 1 : 0];
	plan->in = contexts[meeting->device && server ? 1 : 0];
	return 0;
}

static int32_t meet_open(struct meeting *meeting, struct rh_ps_blocks **ret_blocks)
{
	struct rh_ps_blocks_plan plan = {.backend = meeting->backend,
	                                 .peer = 1 - meeting->team.rank,
	                                 .control = rh_ps_wire_fd(meeting->wire),
	                                 .team = meeting,
	                                 .free_team = meeting_free};
	struct rh_ps_blocks *blocks = NULL;
	int32_t r = meet_open_contexts(meeting, &plan);

	if (r < 0)
		return r;
	r = meet_finish(meeting);
	if (r == 0)
		blocks = rh_ps_blocks_new(&plan);
	if (blocks) {
		*ret_blocks = blocks;
		return 0;
	}
	meet_drop(meeting->backend, plan.out);
	if (plan.in != plan.out)
		meet_drop(meeting->backend, plan.in);
	rh_ps_streams_close(&plan.streams);
	return r < 0 ? r : meet_fail(meeting, RH_COMM_ENOMEM, "out of memory");
}

int32_t rh_ps_meet(struct rh_ps_wire *wire, const struct rh_ps_meet_plan *plan, struct rh_comm_error *err)
{
	struct meeting *meeting = meeting_new(wire, plan);
	struct rh_ps_blocks *blocks = NULL;
	int32_t r;

	if (!meeting)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	r = meet_open(meeting, &blocks);
	if (r < 0) {
		meet_refuse(meeting);
		r = rh_comm_fail(err, r, RH_COMM_NO_RANK, "backend %s: %s", meeting->backend->name, meeting->said.text);
		meeting_free(meeting);
		return r;
	}
	/* what the two had to say is said */
	meeting->wire = NULL;
	r = rh_ps_wire_over(wire, &rh_ps_blocks_stream, blocks, rh_ps_blocks_adopt);
	if (r < 0) {
		rh_ps_blocks_stream.close(blocks);
		return rh_comm_fail(err, RH_COMM_EPEER, RH_COMM_NO_RANK, "the other end speaks nonsense");
	}
	return 0;
}

int32_t rh_ps_fabric_open(struct rh_ps_fabric *ret_fabric, const char *name, struct rh_comm_error *err)
{
	struct rh_ps_fabric fabric = {0};
	char why[WHY_ROOM] = "";

	*ret_fabric = fabric;
	if (strcmp(name, RH_PS_BACKEND_OWN) == 0)
		return 0;
	if (rh_comm_module_open(name, &fabric.module, why, sizeof(why)) == 0 &&
	    (fabric.module.backend->memories & RH_COMM_MEMORY_HOST) == 0)
		(void)rh_ps_device_open(&fabric.device, why, sizeof(why));
	/* MPI starts in all processes at once: launch.c */
	if (!why[0] && strcmp(name, "mpi") != 0)
		(void)fabric.module.backend->probe(0, 2, why, sizeof(why));
	if (!why[0]) {
		*ret_fabric = fabric;
		return 0;
	}
	rh_ps_fabric_close(&fabric);
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
	                    "the parameter server cannot use the backend %s: %s; RH_PS_BACKEND=own does without", name,
	                    why);
}

void rh_ps_fabric_close(struct rh_ps_fabric *fabric)
{
	/* MPI is once in a process: it stays until that ends */
	if (fabric->module.backend && strcmp(fabric->module.backend->name, "mpi") == 0)
		return;
	rh_ps_device_close(&fabric->device);
	rh_comm_unload(&fabric->module);
}

bool rh_ps_fabric_is_on(const struct rh_ps_fabric *fabric)
{
	return fabric->module.backend != NULL;
}
