/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/stop.h"

#include "base/os/clock.h"
#include "job/pod.h"
#include "local/run/parts.h"

/* How long, beyond the longest grace period, pods may take to end before they are killed; and then, before the run
 * gives them up. */
#define STOP_PATIENCE (10 * RH_SECOND)
/* How long replicas may continue after the success of their job before a note says that the run waits for them. */
#define STOP_NOTE_AFTER (2 * RH_SECOND)

void rh_run_stop(struct rh_run *run, int result)
{
	if (run->state == RH_RUN_GOING) {
		run->state = RH_RUN_JUDGING;
		run->result = result;
		return;
	}
	if (run->state == RH_RUN_JUDGING)
		rh_run_faults_give_up(run);
	run->state = RH_RUN_KILLING;
	rh_runner_kill(run->runner, NULL);
}

/* @return until when shims may report ends of jobs that have not finished; 0: nothing is awaited */
static int64_t stop_awaited(const struct rh_run *run)
{
	int64_t last = 0;

	for (size_t i = 0; i < run->job_count; i++) {
		const struct rh_run_job *job = &run->jobs[i];
		int64_t until = job->finished ? 0 : rh_runner_awaited(run->runner, job->log_name);

		last = until > last ? until : last;
	}
	return last;
}

void rh_run_stop_judge(void *arg, int64_t clock)
{
	struct rh_run *run = arg;

	(void)clock;
	/* what the runner has written of reports is seen in the next turn */
	if (run->state != RH_RUN_JUDGING || stop_awaited(run) > 0 || rh_memory_store_pending(run->store) > 0)
		return;
	rh_run_faults_give_up(run);
	run->state = RH_RUN_STOPPING;
}

int64_t rh_run_stop_judge_deadline(void *arg)
{
	const struct rh_run *run = arg;

	return run->state == RH_RUN_JUDGING ? stop_awaited(run) : RH_NEVER;
}

/* The longest grace period of the pods. */
static int64_t stop_longest_grace(const struct rh_run *run)
{
	int64_t longest = run->options->config->grace_period;

	for (size_t i = 0; i < run->job_count; i++) {
		for (size_t k = 0; k < run->jobs[i].job->spec_count; k++) {
			int64_t seconds;

			if (rh_pod_grace(rh_json_get(run->jobs[i].job->specs[k].template_, "spec"), &seconds) &&
			    seconds * RH_SECOND > longest)
				longest = seconds * RH_SECOND;
		}
	}
	return longest;
}

static int64_t stop_linger(const struct rh_run *run)
{
	return run->options->linger < 0 ? run->options->config->grace_period : run->options->linger;
}

/* @return when the pods of a finished job are to be stopped */
static int64_t stop_due_at(const struct rh_run *run, const struct rh_run_job *job)
{
	return job->succeeded ? job->finished_at + stop_linger(run) : job->finished_at;
}

/* @return when the note that the run waits for the rest of a job is due; RH_NEVER: it is not */
static int64_t stop_note_at(const struct rh_run *run, const struct rh_run_job *job)
{
	int64_t at = job->finished_at + STOP_NOTE_AFTER;

	if (!job->finished || job->wait_noted || at >= stop_due_at(run, job))
		return RH_NEVER;
	return rh_run_pods_left(run, job) > 0 ? at : RH_NEVER;
}

static void stop_note(struct rh_run *run, struct rh_run_job *job, int64_t clock)
{
	size_t left = rh_run_pods_left(run, job);
	char wait[RH_TIME_SIZE];
	rh_auto_free char *text = rh_asprintf(
		"%s %s has succeeded, but %zu of its replicas still %s; they are stopped in %s (--linger sets how long "
		"they may continue, Ctrl-C stops them now)",
		job->resource.kind, job->job->name, left, left == 1 ? "runs" : "run",
		rh_duration_format(stop_due_at(run, job) - clock, wait));

	job->wait_noted = true;
	if (text)
		rh_run_note(run, text);
}

static int64_t stop_limit(const struct rh_run *run, int64_t clock)
{
	return clock + stop_longest_grace(run) + STOP_PATIENCE;
}

/* Stopping takes too long: escalate. */
static void stop_escalate(struct rh_run *run, int64_t clock)
{
	if (run->state == RH_RUN_KILLING) {
		rh_run_note(run, "processes of the run do not end though they were killed; look for them with ps");
		run->faulty = true;
		run->done = true;
		return;
	}
	rh_run_stop(run, RH_RUN_FAILED);
	run->faulty = true;
	run->stop_by = stop_limit(run, clock);
}

/* Stop all pods, and limit the time of that. The runner kills pods after their grace period; this is for pods that
 * still do not end. */
static void stop_all(struct rh_run *run, int64_t clock)
{
	if (rh_run_pods_stop(run, NULL) == 0)
		run->stop_by = RH_NEVER;
	else if (run->stop_by == RH_NEVER)
		run->stop_by = stop_limit(run, clock);
	else if (run->stop_by <= clock)
		stop_escalate(run, clock);
}

/* The same for a job that has finished. Each job has a limit of its own, so that many that end one after another do
 * not look like one that does not end; others go on while its pods are killed. */
static void stop_job(struct rh_run *run, struct rh_run_job *job, int64_t clock)
{
	bool due = job->finished && (!job->succeeded || stop_due_at(run, job) <= clock);

	if (stop_note_at(run, job) <= clock)
		stop_note(run, job, clock);
	if (!due || rh_run_pods_stop(run, job) == 0) {
		job->stop_by = 0;
	} else if (job->stop_by == 0) {
		job->stop_by = stop_limit(run, clock);
	} else if (job->stop_by <= clock && !job->killed) {
		job->killed = true;
		run->faulty = true;
		job->stop_by = stop_limit(run, clock);
		rh_runner_kill(run->runner, job->log_name);
	} else if (job->stop_by <= clock) {
		stop_escalate(run, clock);
	}
}

void rh_run_stop_step(void *arg, int64_t clock)
{
	struct rh_run *run = arg;

	for (size_t i = 0; i < run->job_count && run->state <= RH_RUN_JUDGING; i++)
		stop_job(run, &run->jobs[i], clock);
	if (run->state > RH_RUN_JUDGING)
		stop_all(run, clock);
}

int64_t rh_run_stop_deadline(void *arg)
{
	const struct rh_run *run = arg;
	int64_t due = run->stop_by;

	for (size_t i = 0; i < run->job_count && run->state <= RH_RUN_JUDGING; i++) {
		const struct rh_run_job *job = &run->jobs[i];
		int64_t at = job->finished && job->succeeded ? stop_due_at(run, job) : RH_NEVER;
		int64_t note_at = stop_note_at(run, job);

		if (at > run->clock && at < due && rh_run_pods_left(run, job) > 0)
			due = at;
		if (note_at < due)
			due = note_at;
		if (job->stop_by > 0 && job->stop_by < due)
			due = job->stop_by;
	}
	return due;
}
