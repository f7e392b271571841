/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an MPIJob needs beside its pods (v1-behaviour C.11): the ConfigMap with hostfile and scripts, and the launcher's
 * right to run something in the workers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mpirun/mpirun.h"
#include "mpi.h"

/** Metadata of all of them; the arguments are the object's and the job's name as JSON strings. */
#define OBJECTS_METADATA "\"metadata\":{\"name\":%s,\"labels\":{\"app\":%s}}"
#define OBJECTS_RBAC "rbac.authorization.k8s.io"

/** One call of objects(). The first error stays, and ends what follows. */
struct objects_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	const char *app; /**< the job's name as a JSON string; NULL when memory is out */
	int64_t slots;
	int32_t workers;
	int32_t status;
};

/** Writes one text. */
typedef void objects_writer(const struct objects_call *call, FILE *out);

/** @return what @p write writes as a JSON string, borrowed; NULL when memory is out */
static const char *objects_quote(const struct objects_call *call, objects_writer *write)
{
	const char *quoted = NULL;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out)
		write(call, out);
	if (out && fclose(out) == 0)
		quoted = call->host->quote(call->view, text);
	free(text);
	return quoted;
}

/** Name an object, which asprintf() made of @p length bytes and which is freed; -1 is out of memory. */
static void objects_add(struct objects_call *call, int length, char *json)
{
	if (call->status == 0)
		call->status = length < 0 ? call->host->fail(call->reply, RH_ENOMEM, "out of memory")
		                          : call->host->object(call->reply, json);
	if (length >= 0)
		free(json);
}

static const char *objects_worker(const struct objects_call *call, int32_t index)
{
	const char *name = call->host->pod_name(call->view, "Worker", index);

	return name ? name : "";
}

static void objects_write_hostfile(const struct objects_call *call, FILE *out)
{
	const char *launcher = call->host->pod_name(call->view, "Launcher", 0);

	if (launcher && mpi_launcher_works(call->host, call->view))
		fprintf(out, "%s slots=%" PRId64 "\n", launcher, call->slots);
	for (int32_t i = 0; i < call->workers; i++)
		fprintf(out, "%s slots=%" PRId64 "\n", objects_worker(call, i), call->slots);
}

static void objects_write_agent(const struct objects_call *call, FILE *out)
{
	const char *container = call->host->text(call->view, MPI_MAIN_CONTAINER);

	fprintf(out, "#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n%s exec ${POD_NAME}",
	        mpi_is_local(call->host, call->view) ? "\"${" MPIRUN_KUBECTL "}\"" : "/opt/kube/kubectl");
	if (container && *container)
		fprintf(out, " --container %s", container);
	fputs(" -- /bin/sh -c \"$*\"", out);
}

/** The order of the pods' names: worker-10 stands before worker-2. */
static int objects_compare(const void *a, const void *b)
{
	char first[16], second[16];

	snprintf(first, sizeof(first), "%" PRId32, *(const int32_t *)a);
	snprintf(second, sizeof(second), "%" PRId32, *(const int32_t *)b);
	return strcmp(first, second);
}

/** Elastic Horovod asks this script who is there: the workers that run. */
static void objects_write_discovery(const struct objects_call *call, FILE *out)
{
	const char *launcher = call->host->pod_name(call->view, "Launcher", 0);
	int32_t *running = calloc((size_t)call->workers + 1, sizeof(*running));
	size_t count = 0;

	fputs("#!/bin/sh", out);
	if (launcher && mpi_launcher_works(call->host, call->view))
		fprintf(out, "\necho %s:%" PRId64 "\n", launcher, call->slots);
	for (int32_t i = 0; running && i < call->workers; i++) {
		struct rh_replica_state state = {.head = RH_HEAD(struct rh_replica_state)};

		if (call->host->replica(call->view, "Worker", i, &state) && state.phase == RH_PHASE_RUNNING)
			running[count++] = i;
	}
	if (count > 0)
		qsort(running, count, sizeof(*running), objects_compare);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "\necho %s:%" PRId64, objects_worker(call, running[i]), call->slots);
	free(running);
}

static void objects_add_config(struct objects_call *call)
{
	const char *name = mpi_quote_name(call->host, call->view, "-config");
	const char *hostfile = objects_quote(call, objects_write_hostfile);
	const char *agent = objects_quote(call, objects_write_agent);
	const char *discovery = objects_quote(call, objects_write_discovery);
	char *json = NULL;
	int length = -1;

	if (name && call->app && hostfile && agent && discovery)
		length = asprintf(&json,
		                  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," OBJECTS_METADATA ",\"data\":{"
		                  "\"hostfile\":%s,\"kubexec.sh\":%s,\"discover_hosts.sh\":%s}}",
		                  name, call->app, hostfile, agent, discovery);
	objects_add(call, length, json);
}

/** An account that the user names is the user's to make: it may serve other jobs, too. */
static void objects_add_account(struct objects_call *call)
{
	const char *name = mpi_quote_account(call->host, call->view);
	char *json = NULL;
	int length = -1;

	if (mpi_has_account(call->host, call->view))
		return;
	if (name && call->app)
		length = asprintf(&json, "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\"," OBJECTS_METADATA "}", name,
		                  call->app);
	objects_add(call, length, json);
}

static void objects_write_rules(const struct objects_call *call, FILE *out)
{
	fputs("[{\"verbs\":[\"get\",\"list\",\"watch\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}", out);
	if (call->workers > 0)
		fputs(",{\"verbs\":[\"create\"],\"apiGroups\":[\"\"],\"resources\":[\"pods/exec\"],\"resourceNames\":", out);
	for (int32_t i = 0; i < call->workers; i++)
		fprintf(out, "%c\"%s\"", i ? ',' : '[', objects_worker(call, i));
	fputs(call->workers > 0 ? "]}]" : "]", out);
}

/** A rule without resourceNames would open every pod, so without workers there is none (V1 has it). */
static void objects_add_role(struct objects_call *call)
{
	const char *name = mpi_quote_name(call->host, call->view, "-launcher");
	char *rules = NULL, *json = NULL;
	size_t size;
	int length = -1;
	FILE *out = open_memstream(&rules, &size);

	if (out)
		objects_write_rules(call, out);
	if (out && fclose(out) == 0 && name && call->app)
		length = asprintf(
			&json, "{\"apiVersion\":\"" OBJECTS_RBAC "/v1\",\"kind\":\"Role\"," OBJECTS_METADATA ",\"rules\":%s}", name,
			call->app, rules);
	free(rules);
	objects_add(call, length, json);
}

static void objects_add_binding(struct objects_call *call)
{
	const char *name = mpi_quote_name(call->host, call->view, "-launcher");
	const char *account = mpi_quote_account(call->host, call->view);
	const char *namespace_ = mpi_quote_namespace(call->host, call->view);
	char *json = NULL;
	int length = -1;

	if (name && account && namespace_ && call->app)
		length = asprintf(&json,
		                  "{\"apiVersion\":\"" OBJECTS_RBAC "/v1\",\"kind\":\"RoleBinding\"," OBJECTS_METADATA ","
		                  "\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":%s,\"namespace\":%s}],"
		                  "\"roleRef\":{\"apiGroup\":\"" OBJECTS_RBAC "\",\"kind\":\"Role\",\"name\":%s}}",
		                  name, call->app, account, namespace_, name);
	objects_add(call, length, json);
}

/** Like V1, what is there stays when the job has finished, and goes with it. A suspended job needs none of it. */
int32_t mpi_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = self;
	struct objects_call call = {
		.host = host,
		.view = view,
		.reply = reply,
		.app = host->json(view, "metadata.name"),
		.slots = 1,
		.workers = host->replicas(view, "Worker"),
	};

	if (host->state(view) & RH_STATE_SUSPENDED)
		return RH_OK;
	if (call.workers < 0)
		call.workers = 0;
	host->integer(view, MPI_SLOTS, &call.slots);
	objects_add_account(&call);
	objects_add_config(&call);
	objects_add_role(&call);
	objects_add_binding(&call);
	return call.status;
}
