/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica's pod needs to find the others: V1's variables in V1's order (v1-behaviour C.5). */
#include <stdarg.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pytorch.h"

/** Room for a number, a range of numbers, or a host and a port. */
#define ENV_TEXT_SIZE 320

/** One call of pod(). The first error stays, and ends what follows. */
struct env_call {
	const struct rh_services *host;
	const struct rh_view *view;
	const struct rh_replica *me;
	struct rh_reply *reply;
	int32_t status;
};

static void env_set(struct env_call *call, const char *name, const char *value)
{
	if (call->status == 0)
		call->status = call->host->env(call->reply, NULL, name, value);
}

__attribute__((format(printf, 3, 4))) static void env_setf(struct env_call *call, const char *name, const char *fmt,
                                                           ...)
{
	char text[ENV_TEXT_SIZE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	env_set(call, name, text);
}

/** All replicas, or 0 for a type that the job does not have. */
static int64_t env_replicas(const struct env_call *call, const char *type)
{
	int32_t replicas = call->host->replicas(call->view, type);

	return replicas > 0 ? replicas : 0;
}

static int env_has(const struct env_call *call, const char *type)
{
	return call->host->replicas(call->view, type) >= 0;
}

/** Processes of one replica as V1 counts them: a whole number as it is, auto, cpu, gpu and all else as one. */
static int64_t env_processes(const struct env_call *call)
{
	const char *text = call->host->text(call->view, PYTORCH_NPROC);
	char *end = NULL;
	long processes = text ? strtol(text, &end, 10) : 1;

	/* a larger one, times all replicas, has no end */
	return processes > 0 && processes <= INT32_MAX && (!end || !*end) ? processes : 1;
}

static void env_set_master(struct env_call *call)
{
	const char *address = call->host->host(call->view, "Master", 0);
	int32_t port = call->host->port(call->view, "Master", 0);
	int64_t world = env_replicas(call, "Master") + env_replicas(call, "Worker");
	int32_t rank = call->me->index + (strcmp(call->me->type, "Master") != 0);

	env_setf(call, "MASTER_PORT", "%" PRId32, port);
	env_setf(call, "PET_MASTER_PORT", "%" PRId32, port);
	env_set(call, "MASTER_ADDR", address);
	env_set(call, "PET_MASTER_ADDR", address);
	env_setf(call, "WORLD_SIZE", "%" PRId64, world * env_processes(call));
	env_setf(call, "RANK", "%" PRId32, rank);
	env_setf(call, "PET_NODE_RANK", "%" PRId32, rank);
}

/** V1 defaults nprocPerNode to auto, unless the elastic policy has the old field (v1-behaviour A.3-8). */
static void env_set_nproc(struct env_call *call)
{
	const char *text = call->host->text(call->view, PYTORCH_NPROC);

	if (!text && !call->host->json(call->view, PYTORCH_ELASTIC_NPROC))
		text = "auto";
	if (text)
		env_set(call, "PET_NPROC_PER_NODE", text);
}

static void env_set_endpoint(struct env_call *call)
{
	const char *host = call->host->text(call->view, PYTORCH_ELASTIC ".rdzvHost");
	int64_t port = call->host->port(call->view, "Worker", 0);

	if (!host)
		host = call->host->host(call->view, "Worker", 0);
	call->host->integer(call->view, PYTORCH_ELASTIC ".rdzvPort", &port);
	if (host)
		env_setf(call, "PET_RDZV_ENDPOINT", "%s:%" PRId64, host, port);
	else
		env_set(call, "PET_RDZV_ENDPOINT", NULL);
}

/** Set @p name to what stands at @p path, when something does. */
static void env_set_given(struct env_call *call, const char *name, const char *path)
{
	const char *text = call->host->text(call->view, path);

	if (text)
		env_set(call, name, text);
}

/**
 * Whether this replica needs is_host, which says whether it serves torchrun's c10d rendezvous. torchrun compares the
 * endpoint with the machine's addresses, and on one machine each replica takes it for its own: the first one would
 * serve, whose death then ends the rendezvous of all.
 */
static int env_has_host(const struct env_call *call)
{
	const char *backend = call->host->text(call->view, PYTORCH_ELASTIC ".rdzvBackend");

	return (call->host->state(call->view) & RH_STATE_LOCAL) && (!backend || strcmp(backend, "c10d") == 0) &&
	       !call->host->text(call->view, PYTORCH_ELASTIC ".rdzvHost") &&
	       !call->host->boolean(call->view, PYTORCH_ELASTIC ".standalone");
}

/** Write "k=v,k=v" into @p out; what has no key or value is left out. */
static void env_write_conf(const struct env_call *call, int32_t size, FILE *out)
{
	int has_host = env_has_host(call);
	const char *comma = "";

	for (int32_t i = 0; i < size; i++) {
		char path[ENV_TEXT_SIZE];
		const char *key, *value;

		snprintf(path, sizeof(path), PYTORCH_ELASTIC ".rdzvConf[%" PRId32 "].key", i);
		key = call->host->text(call->view, path);
		snprintf(path, sizeof(path), PYTORCH_ELASTIC ".rdzvConf[%" PRId32 "].value", i);
		value = call->host->text(call->view, path);
		if (!key || !value)
			continue;
		fprintf(out, "%s%s=%s", comma, key, value);
		comma = ",";
		has_host = has_host && strcmp(key, "is_host") != 0;
	}
	if (has_host)
		fprintf(out, "%sis_host=%d", comma, strcmp(call->me->type, "Worker") == 0 && call->me->index == 0);
}

static void env_set_conf(struct env_call *call)
{
	int32_t size = call->host->size(call->view, PYTORCH_ELASTIC ".rdzvConf");
	char *text = NULL;
	size_t length;
	FILE *out;

	if ((size <= 0 && !env_has_host(call)) || call->status < 0)
		return;
	out = open_memstream(&text, &length);
	if (out)
		env_write_conf(call, size, out);
	if (!out || fclose(out) != 0)
		call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
	env_set(call, "PET_RDZV_CONF", text);
	free(text);
}

static void env_set_elastic(struct env_call *call)
{
	const char *backend = call->host->text(call->view, PYTORCH_ELASTIC ".rdzvBackend");
	struct pytorch_bounds bounds;

	pytorch_read_bounds(call->host, call->view, &bounds);
	env_set_endpoint(call);
	env_set(call, "PET_RDZV_BACKEND", backend ? backend : "c10d");
	env_setf(call, "PET_NNODES", "%" PRId64 ":%" PRId64, bounds.min, bounds.max);
	env_set_given(call, "PET_MAX_RESTARTS", PYTORCH_ELASTIC ".maxRestarts");
	env_set_given(call, "PET_NPROC_PER_NODE", PYTORCH_ELASTIC_NPROC);
	env_set_given(call, "PET_RDZV_ID", PYTORCH_ELASTIC ".rdzvId");
	env_set_conf(call);
	if (call->host->boolean(call->view, PYTORCH_ELASTIC ".standalone"))
		env_set(call, "PET_STANDALONE", "");
}

static void env_set_all(struct env_call *call)
{
	env_set(call, "PYTHONUNBUFFERED", "1");
	if (env_has(call, "Master"))
		env_set_master(call);
	env_set_nproc(call);
	if (pytorch_is_elastic(call->host, call->view))
		env_set_elastic(call);
	else
		env_setf(call, "PET_NNODES", "%" PRId64, env_replicas(call, "Master") + env_replicas(call, "Worker"));
}

int32_t pytorch_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	struct env_call call = {self, view, me, reply, 0};

	env_set_all(&call);
	if (call.status == 0 && strcmp(me->type, "Worker") == 0 && env_has(&call, "Master"))
		call.status = pytorch_add_init(call.host, view, reply);
	return call.status;
}
