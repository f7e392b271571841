/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/stalls.h"

#include "base/os/clock.h"
#include "base/os/file.h"
#include "comm/core/trace/format.h"
#include "engine/missing.h"
#include "local/keep/usage.h"
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

/* @return the name of the replica that has the process, as in rh_runner_shims(), borrowed from @p shims; NULL: none */
static const char *stalls_replica_of(const struct rh_runner_shim *shims, size_t count, pid_t process)
{
	rh_auto_free pid_t *pids = rh_alloc_array(count + 1, sizeof(*pids));
	struct rh_usage usage = {0};
	const struct rh_usage_process *found = NULL;
	const char *replica = NULL;

	for (size_t i = 0; pids && i < count; i++)
		pids[i] = shims[i].pid;
	if (pids && rh_usage_read_below(pids, count, &usage) == 0)
		found = rh_usage_find(&usage, process);
	if (found && found->replica < count)
		replica = shims[found->replica].replica;
	rh_usage_deinit(&usage);
	return replica;
}

/* @return the address of the pod that has the process of who did not come; owned by the caller; NULL: not known */
static char *stalls_address(const struct rh_run *run, const struct rh_run_job *job)
{
	size_t most = rh_runner_alive(run->runner);
	rh_auto_free struct rh_runner_shim *shims = rh_alloc_array(most + 1, sizeof(*shims));
	size_t count = shims ? rh_runner_shims(run->runner, shims, most) : 0;
	const char *replica = shims ? stalls_replica_of(shims, count, job->stall.stall.process) : NULL;
	rh_auto_free char *name = replica ? rh_asprintf("%s-%s", job->job->name, replica) : NULL;
	const struct rh_json *pod =
		name ? rh_memory_store_find(run->store, &rh_resource_pods, job->job->namespace_, name) : NULL;

	return rh_strdup(rh_json_string_at(pod, "status.podIP"));
}

/* The engine does what the job asks for while ranks wait. */
static void stalls_report(const struct rh_run *run, const struct rh_run_job *job, int64_t clock)
{
	const struct rh_run_stall *stall = &job->stall;
	const struct rh_missing_report report = {
		.text = stall->stall.on ? rh_str_text(&stall->stall.text) : NULL,
		.address = stall->address ? stall->address : "",
		.rank = stall->stall.rank,
	};

	if (job->job->stalls.action != RH_STALL_IGNORE)
		rh_engine_note_missing(run->engine, job->job->kind, job->job->namespace_, job->job->name, &report,
		                       run->wall_start + clock - run->clock_start);
}

static void stalls_begin(const struct rh_run *run, struct rh_run_job *job, int64_t clock)
{
	struct rh_run_stall *stall = &job->stall;
	rh_auto_str file = {0};

	rh_free(stall->address);
	stall->address =
		stall->stall.process > 0 && job->job->stalls.action != RH_STALL_IGNORE ? stalls_address(run, job) : NULL;

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
		stalls_begin(run, job, clock);
	else if (change == RH_STALL_ENDED)
		stalls_end(run, job);
	if (stall->stall.on || change == RH_STALL_ENDED)
		stalls_report(run, job, clock);
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
	rh_free(rh_take(stall->address));
	stall->noted = false;
}
