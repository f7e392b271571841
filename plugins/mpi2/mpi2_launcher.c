/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher on a cluster: a batch/v1 Job, which runs it and repeats it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi2.h"

/** Room for a path. */
#define LAUNCHER_PATH_SIZE 512
/** Where a Job has its pod. */
#define LAUNCHER_TEMPLATE "spec.template."

static void launcher_fail(struct mpi2_call *call)
{
	if (call->status == 0)
		call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
}

/** A number of the run policy that the Job has, too. */
static void launcher_copy(const struct mpi2_call *call, FILE *out, const char *name)
{
	char path[LAUNCHER_PATH_SIZE];
	int64_t value;

	snprintf(path, sizeof(path), "spec.runPolicy.%s", name);
	if (call->host->integer(call->view, path, &value))
		fprintf(out, ",\"%s\":%" PRId64, name, value);
}

/** The template is the job's, as it is written there. */
static void launcher_write(struct mpi2_call *call, FILE *out, bool suspend)
{
	const char *name = mpi2_quote(call, "%s-launcher", mpi2_name(call));
	const char *app = mpi2_quote(call, "%s", mpi2_name(call));
	const char *template_ = call->host->json(call->view, MPI2_LAUNCHER_SPEC ".template");

	if (!name || !app)
		return;
	fprintf(
		out,
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":%s,\"labels\":{\"app\":%s}},\"spec\":{"
		"\"suspend\":%s,\"podReplacementPolicy\":\"Failed\"",
		name, app, suspend ? "true" : "false");
	launcher_copy(call, out, "ttlSecondsAfterFinished");
	launcher_copy(call, out, "activeDeadlineSeconds");
	launcher_copy(call, out, "backoffLimit");
	fprintf(out, ",\"template\":%s}}", template_ ? template_ : "{}");
}

static void launcher_add(struct mpi2_call *call, bool suspend)
{
	char *json = NULL;
	size_t size;
	FILE *out = open_memstream(&json, &size);

	if (out)
		launcher_write(call, out, suspend);
	if (out && fclose(out) == 0 && call->status == 0)
		call->status = call->host->object(call->reply, json);
	else
		launcher_fail(call);
	free(json);
}

void mpi2_name_job(struct mpi2_call *call, bool suspend)
{
	const char *policy = call->host->restart_policy(call->view, MPI2_LAUNCHER);
	const struct mpi2_pod pod = mpi2_begin_pod(call, MPI2_LAUNCHER, LAUNCHER_TEMPLATE);

	launcher_add(call, suspend);
	mpi2_edit_launcher(&pod);
	mpirun_edit(&pod.mpirun, "spec.restartPolicy", policy && *policy == 'N' ? "\"Never\"" : "\"OnFailure\"");
}
