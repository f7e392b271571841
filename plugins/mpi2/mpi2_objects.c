/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an MPIJob of v2beta1 needs beside its workers: on a cluster a Service for the names of all pods, keys, the files
 * with the hosts, and the launcher's Job; on one machine the files alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi2.h"

/** Metadata of all of them; the arguments are the object's and the job's name as JSON strings. */
#define OBJECTS_METADATA "\"metadata\":{\"name\":%s,\"labels\":{\"app\":%s}}"
#define OBJECTS_SECRET \
	"{\"apiVersion\":\"v1\",\"kind\":\"Secret\"," OBJECTS_METADATA ",\"type\":\"kubernetes.io/ssh-auth\"}"

/** Writes one text. */
typedef void objects_writer(struct mpi2_call *call, FILE *out);

static void objects_fail(struct mpi2_call *call)
{
	if (call->status == 0)
		call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
}

/** @return what @p write writes, owned by the caller; NULL with the status set when memory is out */
static char *objects_print(struct mpi2_call *call, objects_writer *write)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out)
		write(call, out);
	if (out && fclose(out) == 0)
		return text;
	free(text);
	objects_fail(call);
	return NULL;
}

/** @return likewise as a JSON string, borrowed from the host */
static const char *objects_quote(struct mpi2_call *call, objects_writer *write)
{
	char *text = objects_print(call, write);
	const char *quoted = text ? mpi2_quote(call, "%s", text) : NULL;

	free(text);
	return quoted;
}

/** How mpirun names a replica: on a cluster by its host, on one machine by its pod, which the agent asks for. */
static const char *objects_host(const struct mpi2_call *call, const char *type, int32_t index)
{
	const char *name =
		mpi2_is_local(call) ? call->host->pod_name(call->view, type, index) : call->host->host(call->view, type, index);

	return name ? name : "";
}

static void objects_write_host(struct mpi2_call *call, FILE *out, const char *type, int32_t index)
{
	const char *sign = mpi2_implementation(call) == MPI2_OPEN_MPI ? " slots=" : ":";

	fprintf(out, "%s%s%" PRId64 "\n", objects_host(call, type, index), sign, mpi2_slots(call));
}

/** All hosts, whether they run or not. */
static void objects_write_hostfile(struct mpi2_call *call, FILE *out)
{
	int32_t workers = mpi2_workers(call);

	if (mpi2_launcher_works(call))
		objects_write_host(call, out, MPI2_LAUNCHER, 0);
	for (int32_t i = 0; i < workers; i++)
		objects_write_host(call, out, MPI2_WORKER, i);
}

/** The order of the names: 10 before 2. */
static int objects_compare(const void *a, const void *b)
{
	char first[16], second[16];

	snprintf(first, sizeof(first), "%" PRId32, *(const int32_t *)a);
	snprintf(second, sizeof(second), "%" PRId32, *(const int32_t *)b);
	return strcmp(first, second);
}

static bool objects_runs(const struct mpi2_call *call, int32_t worker)
{
	struct rh_replica_state state = {.head = RH_HEAD(struct rh_replica_state)};

	return call->host->replica(call->view, MPI2_WORKER, worker, &state) && state.phase == RH_PHASE_RUNNING;
}

/** Elastic Horovod asks this script who is there: the launcher where it works, and the workers that run. */
static void objects_write_discovery(struct mpi2_call *call, FILE *out)
{
	int32_t workers = mpi2_workers(call);
	int32_t *running = calloc((size_t)workers + 1, sizeof(*running));
	size_t count = 0;

	fputs("#!/bin/sh\n", out);
	if (!running) {
		objects_fail(call);
		return;
	}
	if (mpi2_launcher_works(call))
		fprintf(out, "echo %s\n", objects_host(call, MPI2_LAUNCHER, 0));
	for (int32_t i = 0; i < workers; i++) {
		if (objects_runs(call, i))
			running[count++] = i;
	}
	if (count > 0)
		qsort(running, count, sizeof(*running), objects_compare);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "echo %s\n", objects_host(call, MPI2_WORKER, running[i]));
	free(running);
}

static void objects_write_config(struct mpi2_call *call, FILE *out)
{
	const char *name = mpi2_quote(call, "%s-config", mpi2_name(call));
	const char *app = mpi2_quote(call, "%s", mpi2_name(call));
	const char *hostfile = objects_quote(call, objects_write_hostfile);
	const char *discovery = objects_quote(call, objects_write_discovery);
	const char *agent = mpi2_is_local(call) ? mpi2_quote(call, "%s", MPIRUN_AGENT_SCRIPT) : NULL;

	if (call->status < 0)
		return;
	fprintf(out,
	        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," OBJECTS_METADATA
	        ",\"data\":{\"hostfile\":%s,\"discover_hosts.sh\":%s",
	        name, app, hostfile, discovery);
	if (agent)
		fprintf(out, ",\"" MPIRUN_AGENT "\":%s", agent);
	fputs("}}", out);
}

static void objects_write_service(struct mpi2_call *call, FILE *out)
{
	const char *name = mpi2_quote(call, "%s", mpi2_name(call));

	if (!name)
		return;
	fprintf(out,
	        "{\"apiVersion\":\"v1\",\"kind\":\"Service\"," OBJECTS_METADATA
	        ",\"spec\":{\"clusterIP\":\"None\",\"selector\":{"
	        "\"" MPI2_LABEL "operator-name\":\"" MPI2_OPERATOR "\",\"" MPI2_LABEL "job-name\":%s}%s}}",
	        name, name, name, mpi2_launcher_works(call) ? ",\"publishNotReadyAddresses\":true" : "");
}

static void objects_write_secret(struct mpi2_call *call, FILE *out)
{
	const char *name = mpi2_quote(call, "%s-ssh", mpi2_name(call));
	const char *app = mpi2_quote(call, "%s", mpi2_name(call));

	if (name && app)
		fprintf(out, OBJECTS_SECRET, name, app);
}

/** Name what @p write writes. */
static void objects_add(struct mpi2_call *call, objects_writer *write, const struct rh_object_options *options)
{
	char *json = call->status == 0 ? objects_print(call, write) : NULL;

	if (call->status == 0)
		call->status = call->host->object_with(call->reply, json, options);
	free(json);
}

static bool objects_are_ready(const struct mpi2_call *call)
{
	int32_t workers = mpi2_workers(call);
	bool ready = true;

	for (int32_t i = 0; i < workers && ready; i++) {
		struct rh_replica_state state = {.head = RH_HEAD(struct rh_replica_state), .ready = -1};

		ready = call->host->replica(call->view, MPI2_WORKER, i, &state) && state.ready == 1;
	}
	return ready;
}

/**
 * A suspended Job that has run is made again before it runs again: an API server lets nobody change its template any
 * more, and the template may name other nodes then.
 */
static bool objects_renew_job(const struct mpi2_call *call)
{
	return call->host->boolean(call->view, "@launcher.spec.suspend") &&
	       call->host->text(call->view, "@launcher.status.startTime");
}

/**
 * A launcher that waits for the workers has no Job until they are ready, and after a suspension a suspended one. Once
 * it runs, it goes on without a worker.
 */
static void objects_add_job(struct mpi2_call *call)
{
	bool suspended = (call->host->state(call->view) & RH_STATE_SUSPENDED) != 0;
	bool found = call->host->lookup(call->view, MPI2_JOB) == RH_LOOKUP_FOUND;
	bool runs = found && !call->host->boolean(call->view, "@launcher.spec.suspend");
	bool waits = mpi2_launcher_waits(call) && (suspended || !objects_are_ready(call)) && !runs;

	if (suspended && found && objects_renew_job(call))
		return;
	if (call->status == 0 && (found || !waits))
		mpi2_name_job(call, suspended || waits);
}

int32_t mpi2_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_object_options once = {.head = RH_HEAD(struct rh_object_options),
	                                       .flags = RH_OBJECT_ONCE | RH_OBJECT_PAIR,
	                                       .random_bytes = RH_PAIR_BYTES};
	struct mpi2_call call = {self, view, reply, 0};

	objects_add(&call, objects_write_config, NULL);
	if (mpi2_is_local(&call))
		return call.status;
	objects_add(&call, objects_write_service, NULL);
	objects_add(&call, objects_write_secret, &once);
	objects_add_job(&call);
	return call.status;
}
