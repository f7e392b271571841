/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/progress.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/keep/place.h"
#include "local/progress/endpoint.h"
#include "local/run/parts.h"

/* By it a rank finds the folder for its trace (include/roundhouse/comm.h). */
#define PROGRESS_TRACE "RH_COMM_TRACE"

static void progress_on_report(void *arg, size_t index, const struct rh_json *status)
{
	const struct rh_run *run = arg;
	const struct rh_run_hooks *hooks = &run->options->hooks;
	const struct rh_job *job = run->jobs[index].job;

	if (hooks->progress)
		hooks->progress(hooks->arg, job->namespace_, job->name, status);
}

static int progress_open(struct rh_run *run, struct rh_error *err)
{
	rh_auto_free char *folder = rh_path_join(rh_run_dir_path(run->dir), "progress");
	const struct rh_endpoint_options options = {.serving = run->options->serving,
	                                            .loop = run->loop,
	                                            .folder = folder,
	                                            .report = progress_on_report,
	                                            .arg = run,
	                                            .now = rh_clock_monotonic};
	rh_auto(endpoint) endpoint = NULL;
	int r = folder ? rh_endpoint_new(&options, &endpoint, err) : rh_fail_oom(err);

	for (size_t i = 0; r == 0 && i < run->job_count; i++)
		r = rh_endpoint_add(endpoint, run->jobs[i].job->namespace_, run->jobs[i].job->name, err);
	if (r == 0)
		run->endpoint = rh_take(endpoint);
	return r;
}

static void progress_open_endpoint(struct rh_run *run)
{
	struct rh_error err = {0};
	rh_auto_free char *text = NULL;

	if (!run->options->serving || progress_open(run, &err) == 0)
		return;
	text = rh_asprintf("replicas cannot report their progress: %s (--no-progress turns the reports off)", err.message);
	rh_run_note(run, text ? text : err.message);
}

/* @return the folder with those of all jobs, owned by the caller; NULL: out of memory */
static char *progress_traces(const struct rh_run *run)
{
	const char *kept = rh_keep_folder(run->keep);

	return rh_path_join(kept ? kept : rh_run_dir_path(run->dir), RH_KEEP_COMM);
}

/* A trace is for whoever looks: without room for one, a run goes on. The folder of the user's own comes first. */
static void progress_open_traces(const struct rh_run *run, struct rh_run_job *job)
{
	rh_auto_free char *folder = progress_traces(run);

	if (getenv(PROGRESS_TRACE))
		return;
	job->traces = folder ? rh_path_join(folder, job->log_name) : NULL;
	if (job->traces && rh_dir_make(job->traces, 0700, NULL) == 0)
		job->trace_variable = rh_asprintf(PROGRESS_TRACE "=%s", job->traces);
}

void rh_run_progress_open(struct rh_run *run)
{
	progress_open_endpoint(run);
	for (size_t i = 0; i < run->job_count; i++) {
		struct rh_run_job *job = &run->jobs[i];
		const char *const *reports = run->endpoint ? rh_endpoint_variables(run->endpoint, i) : NULL;
		size_t count = 0;

		progress_open_traces(run, job);
		if (job->trace_variable)
			job->variables[count++] = job->trace_variable;
		for (; reports && *reports; reports++)
			job->variables[count++] = *reports;
	}
}

void rh_run_progress_close(const struct rh_run *run)
{
	rh_auto_free char *folder = run->dir ? progress_traces(run) : NULL;

	for (size_t i = 0; i < run->job_count; i++) {
		if (run->jobs[i].traces)
			(void)rmdir(run->jobs[i].traces);
	}
	if (folder)
		(void)rmdir(folder);
}

static bool progress_names_user(const struct rh_json *object)
{
	int64_t user = 0;

	return rh_json_integer(rh_json_at(object, "securityContext.runAsUser"), &user) && user != (int64_t)geteuid();
}

/* Containers that root starts as another user cannot write into the folder of the run. */
static bool progress_is_of_another_user(const struct rh_json *pod)
{
	const struct rh_json *spec = rh_json_get(pod, "spec");
	const struct rh_json *container = rh_json_first(rh_json_get(spec, "containers"));
	bool names = progress_names_user(spec);

	for (; container; container = rh_json_next(container))
		names = names || progress_names_user(container);
	return names && geteuid() == 0;
}

const char *const *rh_run_progress_variables(void *arg, const struct rh_json *pod)
{
	const struct rh_run_job *job = rh_run_job_of_pod(arg, pod);
	size_t skip = job && job->trace_variable && progress_is_of_another_user(pod) ? 1 : 0;

	return job ? &job->variables[skip] : NULL;
}

struct rh_counters rh_run_progress_counters(const struct rh_run *run)
{
	struct rh_counters all = {0};

	for (size_t i = 0; i < run->job_count; i++) {
		const struct rh_run_job *job = &run->jobs[i];
		struct rh_counters counters = {0};

		if (job->trace_variable && !job->finished)
			rh_counters_read(job->traces, rh_clock_wall(), &counters);
		if (counters.ranks > 0 && (all.ranks == 0 || counters.operations < all.operations))
			all.operations = counters.operations;
		all.ranks += counters.ranks;
	}
	return all;
}
