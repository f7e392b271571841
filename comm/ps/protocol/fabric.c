/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/fabric.h"

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
#include "comm/ps/protocol/message_stream.h"

#define ADDRESS_ROOM 128
#define NAME_ROOM 96
/* Longest value that a backend may publish, and room for its key. */
#define VALUE_MAX 65536
#define KEY_ROOM 256

/* Something that the other end has published. */
struct fabric_value {
	STAILQ_ENTRY(fabric_value) link;
	size_t length; /* of the value */
	char *value;   /* after the key and its zero byte */
	char key[];
};

/* What a backend's context is given, for as long as it lives. */
struct fabric_oob {
	struct rh_comm_team team;
	const struct rh_comm_backend *backend;
	const struct rh_ps_device *device; /* NULL: the backend moves memory of the host */
	int opening;                       /* which of two contexts */
	struct rh_ps_wire *wire;           /* NULL: it is over */
	int32_t hosts[2];
	char address[ADDRESS_ROOM];
	struct rh_comm_error reason; /* why it failed */
	bool connected;              /* the other end has opened it */
	STAILQ_HEAD(, fabric_value) values;
};

static int32_t fabric_fail(struct fabric_oob *oob, int32_t code, const char *what)
{
	if (oob->reason.code == 0)
		(void)rh_comm_fail(&oob->reason, code, RH_COMM_NO_RANK, "%s", what);
	return code;
}

/* @return 0; RH_COMM_ETIME */
static int32_t fabric_poll(struct fabric_oob *oob, short events)
{
	struct pollfd set = {.fd = rh_ps_wire_fd(oob->wire), .events = events};
	int64_t left = oob->team.deadline - rh_comm_now();

	if (left <= 0 || poll(&set, 1, (int)(left / 1000) + 1) == 0)
		return fabric_fail(oob, RH_COMM_ETIME, "the other end did not open it in time");
	return 0;
}

static int32_t fabric_send(struct fabric_oob *oob, const struct rh_ps_head *head, const void *payload)
{
	uint8_t *at = rh_ps_wire_add(oob->wire, head);
	int32_t r = 0;

	if (!at)
		return fabric_fail(oob, RH_COMM_ENOMEM, "out of memory");
	if (head->length > 0)
		memcpy(at, payload, head->length);
	do {
		if (rh_ps_wire_flush(oob->wire) < 0)
			return fabric_fail(oob, RH_COMM_EPEER, "the connection closed");
		if (rh_ps_wire_unsent(oob->wire))
			r = fabric_poll(oob, POLLOUT);
	} while (r == 0 && rh_ps_wire_unsent(oob->wire));
	return r;
}

static int32_t fabric_keep(struct fabric_oob *oob, const uint8_t *payload, size_t length)
{
	size_t key = strnlen((const char *)payload, length);
	struct fabric_value *value;

	if (key == length)
		return fabric_fail(oob, RH_COMM_EPEER, "the other end sent a malformed record");
	value = malloc(sizeof(*value) + length);
	if (!value)
		return fabric_fail(oob, RH_COMM_ENOMEM, "out of memory");
	memcpy(value->key, payload, length);
	value->value = value->key + key + 1;
	value->length = length - key - 1;
	STAILQ_INSERT_TAIL(&oob->values, value, link);
	return 0;
}

static int32_t fabric_take(struct fabric_oob *oob, const struct rh_ps_head *head, const uint8_t *payload)
{
	if (head->kind == RH_PS_REC_KEY)
		return fabric_keep(oob, payload, head->length);
	if (head->kind == RH_PS_REC_REFUSED && head->length > 0 && payload[head->length - 1] == '\0')
		return fabric_fail(oob, head->status < 0 ? head->status : RH_COMM_EINVAL, (const char *)payload);
	oob->connected = head->kind == RH_PS_REC_CONNECTED;
	return oob->connected ? 0 : fabric_fail(oob, RH_COMM_EPEER, "the other end sent a malformed record");
}

/* Wait for one record, and take it. */
static int32_t fabric_receive(struct fabric_oob *oob)
{
	const uint8_t *payload;
	struct rh_ps_head head;
	int32_t r = 0;

	while (r == 0 && (r = rh_ps_wire_next(oob->wire, &head, &payload)) == 0) {
		r = fabric_poll(oob, POLLIN);
		if (r == 0 && rh_ps_wire_fill(oob->wire) < 0 && rh_ps_wire_next(oob->wire, &head, &payload) <= 0)
			r = fabric_fail(oob, RH_COMM_EPEER, "the connection closed");
	}
	if (r < 0)
		return oob->reason.code < 0 ? r : fabric_fail(oob, RH_COMM_EPEER, "the other end sent a malformed record");
	r = fabric_take(oob, &head, payload);
	rh_ps_wire_drop(oob->wire);
	return r;
}

/* Contexts have keys of their own. */
static int32_t fabric_name(const struct fabric_oob *oob, const char *key, char *name)
{
	return snprintf(name, KEY_ROOM, "%d/%s", oob->opening, key) < KEY_ROOM ? 0 : RH_COMM_EINVAL;
}

static int32_t fabric_put(void *core, const char *key, const void *value, size_t length)
{
	struct fabric_oob *oob = core;
	struct rh_ps_head head = {.kind = RH_PS_REC_KEY};
	char name[KEY_ROOM];
	size_t key_length;
	char *payload;
	int32_t r;

	if (!oob->wire || length > VALUE_MAX || fabric_name(oob, key, name) < 0)
		return RH_COMM_EINVAL;
	key_length = strlen(name) + 1;
	payload = malloc(key_length + length);
	if (!payload)
		return RH_COMM_ENOMEM;
	memcpy(payload, name, key_length);
	if (length > 0)
		memcpy(payload + key_length, value, length);
	/* it may ask for its own, too */
	r = fabric_keep(oob, (const uint8_t *)payload, key_length + length);
	head.length = (uint32_t)(key_length + length);
	if (r == 0)
		r = fabric_send(oob, &head, payload);
	free(payload);
	return r;
}

static int64_t fabric_get(void *core, const char *key, void *value, size_t room)
{
	struct fabric_oob *oob = core;
	char name[KEY_ROOM];

	if (!oob->wire || fabric_name(oob, key, name) < 0)
		return RH_COMM_EINVAL;
	for (;;) {
		struct fabric_value *at;
		int32_t r;

		STAILQ_FOREACH(at, &oob->values, link)
		{
			if (strcmp(at->key, name) != 0)
				continue;
			if (at->length > room)
				return RH_COMM_EINVAL;
			memcpy(value, at->value, at->length);
			return (int64_t)at->length;
		}
		r = fabric_receive(oob);
		if (r < 0)
			return r;
	}
}

/* RH_COMM_<NAME>_<KEY> */
static const char *fabric_setting(void *core, const char *key)
{
	const struct fabric_oob *oob = core;
	char name[NAME_ROOM];

	(void)snprintf(name, sizeof(name), "RH_COMM_%s_%s", oob->backend->name, key);
	for (char *at = name; *at; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	return getenv(name);
}

static int32_t fabric_on_failure(void *core, int32_t code, int32_t rank, const char *text)
{
	(void)rank;
	return fabric_fail(core, code, text);
}

static void fabric_tune(void *core, int32_t what, size_t bytes, const char **ret_algorithm, size_t *ret_chunk)
{
	(void)core;
	(void)what;
	(void)bytes;
	*ret_algorithm = NULL;
	*ret_chunk = 0;
}

/* Records of the other end are read meanwhile: one may be the reason why it gives up. */
static int32_t fabric_check(void *core)
{
	struct fabric_oob *oob = core;
	bool gone = !oob->wire || rh_ps_wire_fill(oob->wire) < 0;
	const uint8_t *payload;
	struct rh_ps_head head;

	while (oob->wire && oob->reason.code == 0 && rh_ps_wire_next(oob->wire, &head, &payload) > 0) {
		(void)fabric_take(oob, &head, payload);
		rh_ps_wire_drop(oob->wire);
	}
	if (oob->reason.code < 0)
		return oob->reason.code;
	return gone ? fabric_fail(oob, RH_COMM_EPEER, "the connection closed") : 0;
}

static void fabric_oob_free(void *self)
{
	struct fabric_oob *oob = self;

	while (!STAILQ_EMPTY(&oob->values)) {
		struct fabric_value *value = STAILQ_FIRST(&oob->values);

		STAILQ_REMOVE_HEAD(&oob->values, link);
		free(value);
	}
	free(oob);
}

/* Where the other end reaches this one: at the address of the connection. */
static void fabric_oob_find_address(struct fabric_oob *oob)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (getsockname(rh_ps_wire_fd(oob->wire), (struct sockaddr *)&address, &length) < 0 ||
	    getnameinfo((struct sockaddr *)&address, length, oob->address, ADDRESS_ROOM, NULL, 0, NI_NUMERICHOST) != 0)
		(void)snprintf(oob->address, ADDRESS_ROOM, "127.0.0.1");
}

static struct fabric_oob *fabric_oob_new(struct rh_ps_wire *wire, const struct rh_ps_fabric_plan *plan)
{
	struct fabric_oob *oob = calloc(1, sizeof(*oob));

	if (!oob)
		return NULL;
	STAILQ_INIT(&oob->values);
	oob->backend = plan->fabric->module.backend;
	oob->device = plan->fabric->device.stager ? &plan->fabric->device : NULL;
	oob->wire = wire;
	oob->hosts[1] = plan->near ? 0 : 1;
	fabric_oob_find_address(oob);
	oob->team = (struct rh_comm_team){.head = RH_COMM_HEAD(struct rh_comm_team),
	                                  .rank = plan->server ? 0 : 1,
	                                  .world = 2,
	                                  .local_rank = plan->near && !plan->server ? 1 : 0,
	                                  .local_world = plan->near ? 2 : 1,
	                                  .hosts = oob->hosts,
	                                  .deadline = plan->deadline,
	                                  .death_timeout = plan->death_timeout,
	                                  .address = oob->address,
	                                  .core = oob,
	                                  .put = fabric_put,
	                                  .get = fabric_get,
	                                  .setting = fabric_setting,
	                                  .fail = fabric_on_failure,
	                                  .reduce = rh_comm_reduce,
	                                  .divide = rh_comm_divide,
	                                  .tuned = fabric_tune,
	                                  .check = fabric_check,
	                                  .crowded = rh_comm_processors() < 4};
	return oob;
}

/* Announce that it is open here, and wait until it is open there. */
static int32_t fabric_finish(struct fabric_oob *oob)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_CONNECTED};
	int32_t r = fabric_send(oob, &head, NULL);

	while (r == 0 && !oob->connected)
		r = fabric_receive(oob);
	return r;
}

/* Send the reason to the other end, if that is possible without blocking. */
static void fabric_refuse(const struct fabric_oob *oob)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_REFUSED, .status = oob->reason.code, .worker = RH_COMM_NO_RANK};
	uint8_t *at;

	head.length = (uint32_t)strlen(oob->reason.text) + 1;
	at = rh_ps_wire_add(oob->wire, &head);
	if (!at)
		return;
	memcpy(at, oob->reason.text, head.length);
	(void)rh_ps_wire_flush(oob->wire);
}

static void fabric_drop(const struct rh_comm_backend *backend, void *self)
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
static int32_t fabric_open_contexts(struct fabric_oob *oob, struct rh_ps_message_stream_plan *plan)
{
	bool server = oob->team.rank == 0;
	void *contexts[2] = {NULL, NULL};
	int32_t r = oob->backend->open(&oob->team, &contexts[0]);

	if (r == 0 && oob->device) {
		oob->opening = 1;
		r = oob->backend->open(&oob->team, &contexts[1]);
	}
	if (r == 0 && oob->device)
		r = rh_ps_streams_open(oob->device, &plan->streams);
	if (r < 0) {
		fabric_drop(oob->backend, contexts[0]);
		fabric_drop(oob->backend, contexts[1]);
		return fabric_fail(oob, r, rh_comm_status_text(r));
	}
	plan->out = contexts[oob->device && !server ? 1 : 0];
	plan->in = contexts[oob->device && server ? 1 : 0];
	return 0;
}

static int32_t fabric_open(struct fabric_oob *oob, struct rh_ps_message_stream **ret_stream)
{
	struct rh_ps_message_stream_plan plan = {.backend = oob->backend,
	                                         .peer = 1 - oob->team.rank,
	                                         .control = rh_ps_wire_fd(oob->wire),
	                                         .team = oob,
	                                         .free_team = fabric_oob_free};
	struct rh_ps_message_stream *stream = NULL;
	int32_t r = fabric_open_contexts(oob, &plan);

	if (r < 0)
		return r;
	r = fabric_finish(oob);
	if (r == 0)
		stream = rh_ps_message_stream_new(&plan);
	if (stream) {
		*ret_stream = stream;
		return 0;
	}
	fabric_drop(oob->backend, plan.out);
	if (plan.in != plan.out)
		fabric_drop(oob->backend, plan.in);
	rh_ps_streams_close(&plan.streams);
	return r < 0 ? r : fabric_fail(oob, RH_COMM_ENOMEM, "out of memory");
}

int32_t rh_ps_fabric_connect(struct rh_ps_wire *wire, const struct rh_ps_fabric_plan *plan, struct rh_comm_error *err)
{
	struct fabric_oob *oob = fabric_oob_new(wire, plan);
	struct rh_ps_message_stream *stream = NULL;
	int32_t r;

	if (!oob)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	r = fabric_open(oob, &stream);
	if (r < 0) {
		fabric_refuse(oob);
		r = rh_comm_fail(err, r, RH_COMM_NO_RANK, "backend %s: %s", oob->backend->name, oob->reason.text);
		fabric_oob_free(oob);
		return r;
	}
	/* the exchange over the wire is complete */
	oob->wire = NULL;
	r = rh_ps_wire_over(wire, &rh_ps_message_stream_operations, stream, rh_ps_message_stream_adopt);
	if (r < 0) {
		rh_ps_message_stream_operations.close(stream);
		return rh_comm_fail(err, RH_COMM_EPEER, RH_COMM_NO_RANK, "the other end sent a malformed record");
	}
	return 0;
}

int32_t rh_ps_fabric_open(struct rh_ps_fabric *ret_fabric, const char *name, struct rh_comm_error *err)
{
	struct rh_ps_fabric fabric = {0};
	char why[RH_COMM_WHY_ROOM] = "";

	*ret_fabric = fabric;
	if (strcmp(name, RH_PS_BACKEND_OWN) == 0)
		return 0;
	if (rh_comm_module_open(name, &fabric.module, why) == 0 &&
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
	                    "the parameter server cannot use the backend %s: %s; set RH_PS_BACKEND=own to do without it",
	                    name, why);
}

void rh_ps_fabric_close(struct rh_ps_fabric *fabric)
{
	/* MPI is once in a process: it stays until that ends */
	if (fabric->module.backend && strcmp(fabric->module.backend->name, "mpi") == 0)
		return;
	rh_ps_device_close(&fabric->device);
	rh_comm_module_close(&fabric->module);
}

bool rh_ps_fabric_is_on(const struct rh_ps_fabric *fabric)
{
	return fabric->module.backend != NULL;
}
