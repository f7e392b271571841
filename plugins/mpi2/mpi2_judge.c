/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a job on a cluster: what its launcher's batch/v1 Job says. The Job alone has pods of the launcher, so
 * the core makes none. On one machine the core runs the launcher, and its rules hold.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mpi2.h"

/** Room for a path or a count. */
#define JUDGE_TEXT_SIZE 256
/** Words of a Job that failed without any. */
#define JUDGE_REASON "MPIJobFailed"
#define JUDGE_MESSAGE "the launcher's Job has failed"

/** The launcher, as its Job says. */
struct judge_launcher {
	bool found;
	bool succeeded;
	bool failed;
	const char *reason;  /**< of its failure; NULL: it has none */
	const char *message; /**< likewise */
	int64_t ready;       /**< its pods that are ready */
	int64_t ending;      /**< its pods that are being deleted */
	int64_t failures;    /**< its pods that failed */
};

/** A worker count, or what the core did not count. */
static struct rh_counts judge_count(const struct mpi2_call *call, const char *type)
{
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};

	(void)call->host->counts(call->view, type, &counts);
	return counts;
}

/** @return text @p member of condition @p index of the Job, borrowed; NULL: there is none */
static const char *judge_text(const struct mpi2_call *call, int32_t index, const char *member)
{
	char path[JUDGE_TEXT_SIZE];

	snprintf(path, sizeof(path), MPI2_JOB_CONDITIONS "[%" PRId32 "].%s", index, member);
	return call->host->text(call->view, path);
}

static void judge_read_condition(const struct mpi2_call *call, int32_t index, struct judge_launcher *launcher)
{
	const char *type = judge_text(call, index, "type");
	const char *status = judge_text(call, index, "status");

	if (!type || !status || strcmp(status, "True") != 0)
		return;
	launcher->succeeded = launcher->succeeded || strcmp(type, "Complete") == 0;
	if (strcmp(type, "Failed") != 0)
		return;
	launcher->failed = true;
	launcher->reason = judge_text(call, index, "reason");
	launcher->message = judge_text(call, index, "message");
}

static struct judge_launcher judge_read(const struct mpi2_call *call)
{
	struct judge_launcher launcher = {.found = call->host->lookup(call->view, MPI2_JOB) == RH_LOOKUP_FOUND};
	int32_t conditions = call->host->size(call->view, MPI2_JOB_CONDITIONS);

	for (int32_t i = 0; i < conditions; i++)
		judge_read_condition(call, i, &launcher);
	(void)call->host->integer(call->view, "@launcher.status.ready", &launcher.ready);
	(void)call->host->integer(call->view, "@launcher.status.terminating", &launcher.ending);
	(void)call->host->integer(call->view, "@launcher.status.failed", &launcher.failures);
	return launcher;
}

/** Add a count to an object, unless it is 0. */
static void judge_print_count(FILE *out, const char *name, int64_t count, bool *first)
{
	if (count <= 0)
		return;
	fprintf(out, "%s\"%s\":%" PRId64, *first ? "" : ",", name, count);
	*first = false;
}

static void judge_print_counts(FILE *out, const char *type, const struct rh_counts *counts)
{
	bool first = true;

	fprintf(out, "\"%s\":{", type);
	judge_print_count(out, "active", counts->active, &first);
	judge_print_count(out, "succeeded", counts->succeeded, &first);
	judge_print_count(out, "failed", counts->failed, &first);
	fputs("}", out);
}

/**
 * Write status.replicaStatuses, as the MPI Operator has it: a launcher that is done leaves no counts of workers.
 * @param launcher NULL: there is none yet
 */
static void judge_report(struct mpi2_call *call, const struct rh_counts *launcher, bool done)
{
	const struct rh_counts none = {.active = 0};
	const struct rh_counts workers = judge_count(call, MPI2_WORKER);
	const char *comma = launcher ? "," : "";
	char json[JUDGE_TEXT_SIZE];
	FILE *out = fmemopen(json, sizeof(json), "w");

	if (!out) {
		call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
		return;
	}
	fputs("{", out);
	if (launcher)
		judge_print_counts(out, MPI2_LAUNCHER, launcher);
	if (mpi2_workers(call) > 0) {
		fputs(comma, out);
		judge_print_counts(out, MPI2_WORKER, done ? &none : &workers);
	}
	fputs("}", out);
	fclose(out);
	call->status = call->host->status(call->reply, "replicaStatuses", json);
}

static void judge_fail(struct mpi2_call *call, const struct judge_launcher *launcher)
{
	const char *reason = launcher->reason && *launcher->reason ? launcher->reason : JUDGE_REASON;
	const char *message = launcher->message && *launcher->message ? launcher->message : JUDGE_MESSAGE;

	call->status = call->host->conclude(call->reply, RH_VERDICT_FAILED, MPI2_LAUNCHER, reason, message);
}

/** The job runs when the launcher does, and every worker. */
static void judge_verdict(struct mpi2_call *call, const struct judge_launcher *launcher)
{
	const struct rh_counts workers = judge_count(call, MPI2_WORKER);

	if (launcher->succeeded)
		call->status = call->host->verdict(call->reply, RH_VERDICT_SUCCEEDED, NULL, NULL);
	else if (launcher->failed)
		judge_fail(call, launcher);
	else if (launcher->ready > 0 && workers.active >= workers.desired)
		call->status = call->host->verdict(call->reply, RH_VERDICT_RUNNING, NULL, NULL);
}

static int32_t judge_on_cluster(struct mpi2_call *call)
{
	const struct judge_launcher launcher = judge_read(call);
	const bool done = launcher.succeeded || launcher.failed;
	struct rh_counts counts = {.active = done ? 0 : (int32_t)(launcher.ready + launcher.ending),
	                           .succeeded = launcher.succeeded};

	counts.failed = (int32_t)launcher.failures;
	judge_verdict(call, &launcher);
	if (call->status == 0)
		judge_report(call, launcher.found ? &counts : NULL, done);
	return call->status;
}

int32_t mpi2_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct mpi2_call call = {self, view, reply, 0};
	struct rh_counts launcher = judge_count(&call, MPI2_LAUNCHER);

	if (call.host->replicas(view, MPI2_LAUNCHER) < 1)
		return RH_DEFAULT;
	if (!mpi2_is_local(&call))
		return judge_on_cluster(&call);
	judge_report(&call, &launcher, false);
	return call.status < 0 ? call.status : RH_DEFAULT;
}
