/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/stalls.h"

#include "base/os/clock.h"
#include "base/os/file.h"
#include "comm/core/trace/format.h"
#include "local/run/parts.h"

/* While py-spy runs. */
#define STALLS_PAUSE (RH_SECOND / 10)

static void stalls_note(struct rh_run *run, const struct rh_run_job *job, const char *text)
{
	rh_auto_str line = {0};

	rh_str_appendf(&line, "job %s: %s", job->log_name, text);
	rh_run_note(run, rh_str_text(&line));
}

/* @return whether it is now known what the rank does */
static bool stalls_look_at_process(struct rh_run_stall *stall, int64_t clock)
{
	struct rh_str *text = &stall->stall.text;
	size_t before = text->length;
	rh_auto_str does = {0};

	if (stall->stack.process == 0)
		return true;
	if (!rh_stack_poll(&stall->stack, clock, &does))
		return false;
	rh_str_appendf(text, "; rank %d (process %d) %s", (int)stall->stall.rank, (int)stall->stall.process,
	               rh_str_text(&does));
	return text->length > before;
}

static void stalls_begin(struct rh_run_job *job, int64_t clock)
{
	struct rh_run_stall *stall = &job->stall;
	rh_auto_str file = {0};

	rh_str_appendf(&file, "%s/" RH_COMM_TRACE_NAME, job->traces, (int)stall->stall.rank);
	stall->noted = false;
	if (stall->stall.process == 0)
		rh_str_appendf(&stall->stall.text, "; rank %d has left", (int)stall->stall.rank);
	else
		(void)rh_stack_start(&stall->stack, stall->stall.process, rh_str_text(&file), clock);
}

static void stalls_end(struct rh_run *run, struct rh_run_job *job)
{
	rh_auto_str text = {0};

	rh_stack_deinit(&job->stall.stack);
	if (job->stall.noted) {
		rh_str_appendf(&text, "goes on: rank %d has come, or others have", (int)job->stall.stall.rank);
		stalls_note(run, job, rh_str_text(&text));
	}
	job->stall.noted = false;
}

static void stalls_look(struct rh_run *run, struct rh_run_job *job, int64_t clock)
{
	struct rh_run_stall *stall = &job->stall;
	enum rh_stall_change change = rh_stall_look(&stall->stall, job->traces, clock, rh_clock_wall());

	if (change == RH_STALL_BEGUN)
		stalls_begin(job, clock);
	else if (change == RH_STALL_ENDED)
		stalls_end(run, job);
	if (!stall->stall.on || stall->noted || !stalls_look_at_process(stall, clock))
		return;
	stall->noted = true;
	stalls_note(run, job, rh_str_text(&stall->stall.text));
}

static bool stalls_has_traces(const struct rh_run_job *job)
{
	return job->trace_variable && !job->finished;
}

void rh_run_stall_step(void *arg, int64_t clock)
{
	struct rh_run *run = arg;
	bool busy = false;

	if (rh_run_stall_deadline(run) > clock)
		return;
	for (size_t i = 0; i < run->job_count; i++) {
		struct rh_run_job *job = &run->jobs[i];

		if (stalls_has_traces(job))
			stalls_look(run, job, clock);
		else
			rh_run_stall_deinit(&job->stall);
		busy = busy || job->stall.stack.process > 0;
	}
	run->stalls_due = clock + (busy ? STALLS_PAUSE : RH_SECOND);
}

int64_t rh_run_stall_deadline(void *arg)
{
	const struct rh_run *run = arg;
	bool any = false;

	for (size_t i = 0; i < run->job_count; i++)
		any = any || stalls_has_traces(&run->jobs[i]);
	if (!any || rh_runner_alive(run->runner) == 0)
		return RH_NEVER;
	return run->stalls_due > 0 ? run->stalls_due : run->clock_start + RH_SECOND;
}

const char *rh_run_stall_text(const struct rh_run *run)
{
	for (size_t i = 0; i < run->job_count; i++) {
		if (run->jobs[i].stall.noted)
			return rh_str_text(&run->jobs[i].stall.stall.text);
	}
	return "";
}

void rh_run_stall_deinit(struct rh_run_stall *stall)
{
	rh_stack_deinit(&stall->stack);
	rh_stall_deinit(&stall->stall);
	stall->noted = false;
}
