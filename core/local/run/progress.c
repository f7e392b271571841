/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/progress.h"

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/progress/endpoint.h"
#include "local/run/parts.h"

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

void rh_run_progress_open(struct rh_run *run)
{
	struct rh_error err = {0};
	rh_auto_free char *text = NULL;

	if (!run->options->serving || progress_open(run, &err) == 0)
		return;
	text = rh_asprintf("replicas cannot report their progress: %s (--no-progress turns the reports off)", err.message);
	rh_run_note(run, text ? text : err.message);
}

const char *const *rh_run_progress_variables(void *arg, const struct rh_json *pod)
{
	const struct rh_run *run = arg;
	const struct rh_run_job *job = rh_run_job_of_pod(run, pod);

	return run->endpoint && job ? rh_endpoint_variables(run->endpoint, (size_t)(job - run->jobs)) : NULL;
}
