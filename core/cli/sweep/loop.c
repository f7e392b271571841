/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "cli/progress/written.h"
#include "cli/run/screen/live.h"
#include "cli/sweep/start.h"
#include "local/keep/kept.h"
#include "local/run.h"

/* A trial that runs. */
struct loop_child {
	pid_t pid; /* 0: none */
	size_t number;
};

/* The unit of what a result says of its time. */
#define LOOP_MILLISECOND (RH_SECOND / 1000)
/* Time after which the row of the trials that run is written again. */
#define LOOP_STEP (2 * RH_SECOND)

/* The work on a loop. */
struct loop_work {
	const struct rh_sweep_loop *loop;
	struct loop_child children[RH_SWEEP_PARALLEL_MAX];
	sigset_t signals;
	size_t count; /* of trials */
	size_t next;  /* trial that is looked at next, from 1 */
	size_t running;
	size_t ended; /* that have a result */
	int stops;    /* signals that were passed on */
	bool failed;  /* a trial did not succeed */
	struct rh_live live;
};

static bool loop_succeeded(const struct rh_sweep_state *state, size_t number)
{
	return rh_text_equal(rh_sweep_state_text(state, number, "state"), rh_run_result_name(RH_RUN_SUCCEEDED));
}

static int loop_fill_values(const struct loop_work *work, size_t number, struct rh_str *out)
{
	const struct rh_json *plan = work->loop->state->plan;
	rh_auto(json) values = rh_sweep_trial_values(plan, number);
	const struct rh_json *param = rh_json_first(rh_json_get(plan, "params"));

	for (const struct rh_json *value = rh_json_first(values); value && param; value = rh_json_next(value)) {
		rh_str_appendf(out, " %s=%s", rh_json_string(rh_json_get(param, "name")), rh_json_string(value));
		param = rh_json_next(param);
	}
	return values && !out->failed ? 0 : RH_ENOMEM;
}

static int loop_report(struct loop_work *work, size_t number, const char *state, const struct rh_json *metric)
{
	rh_auto_str values = {0};
	char buffer[RH_JSON_NUMBER_SIZE];
	const char *text = rh_json_number_text(metric, buffer);

	if (loop_fill_values(work, number, &values) < 0)
		return RH_ENOMEM;
	rh_live_wipe(&work->live);
	fprintf(stderr, "%s-%04zu%s: %s%s%s (%zu of %zu)\n", rh_json_string(rh_json_get(work->loop->state->plan, "job")),
	        number, rh_str_text(&values), state, text ? ", " : "", text ? text : "", work->ended, work->count);
	return 0;
}

/* Milliseconds are enough for people, and the same in every report. */
static double loop_seconds(const struct rh_kept *kept)
{
	int64_t span = kept->ended_at > kept->started_at ? kept->ended_at - kept->started_at : 0;
	int64_t milliseconds = (span + LOOP_MILLISECOND / 2) / LOOP_MILLISECOND;

	return (double)milliseconds / 1000;
}

/* Record how a trial ended. @param kept its run; without a state: it was not kept */
static int loop_end(struct loop_work *work, size_t number, const char *state, const struct rh_kept *kept,
                    struct rh_error *err)
{
	const struct rh_sweep_loop *loop = work->loop;
	struct rh_json *metric =
		loop->metric && kept->state ? rh_sweep_metric_find(loop->metric, kept->path) : rh_json_new_null();
	struct rh_json *row = rh_json_new_object();
	int r = 0;

	work->ended++;
	work->failed = work->failed || strcmp(state, rh_run_result_name(RH_RUN_SUCCEEDED)) != 0;
	if (!row || !metric)
		r = RH_ENOMEM;
	else
		r = loop_report(work, number, state, metric);
	if (r < 0 || rh_json_set_integer(row, "trial", (int64_t)number) < 0 ||
	    rh_json_set_string(row, "state", state) < 0 ||
	    rh_json_set(row, "seconds", rh_json_new_number(loop_seconds(kept))) < 0 ||
	    rh_json_set(row, "metric", rh_take(metric)) < 0) {
		rh_json_free(metric);
		rh_json_free(row);
		return rh_fail_oom(err);
	}
	return rh_sweep_state_add(loop->state, row, err);
}

/* Its process has written where it is kept. */
static int loop_read_run(const struct loop_work *work, size_t number, struct rh_kept *ret_kept, struct rh_error *err)
{
	const char *path;
	int r = rh_sweep_state_read(work->loop->state, err);

	if (r < 0)
		return r;
	path = rh_sweep_state_text(work->loop->state, number, "run");
	return path && rh_kept_read(path, ret_kept) < 0 ? rh_fail_oom(err) : 0;
}

static int loop_take_end(struct loop_work *work, size_t number, int status, struct rh_error *err)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : RH_RUN_FAILED;
	rh_auto_kept kept = {0};
	int r = loop_read_run(work, number, &kept, err);

	return r < 0 ? r : loop_end(work, number, rh_run_result_name(code), &kept, err);
}

static int loop_reap(struct loop_work *work, struct rh_error *err)
{
	int status;
	int r = 0;

	for (size_t i = 0; i < work->loop->parallel && r == 0; i++) {
		struct loop_child *child = &work->children[i];

		if (child->pid == 0 || waitpid(child->pid, &status, WNOHANG) != child->pid)
			continue;
		child->pid = 0;
		work->running--;
		r = loop_take_end(work, child->number, status, err);
	}
	return r;
}

/* The first signal stops a run, another one kills its replicas; two of one number could arrive as one. */
static void loop_stop(struct loop_work *work)
{
	int number = work->stops++ == 0 ? SIGTERM : SIGINT;

	rh_live_wipe(&work->live);
	if (work->stops == 1)
		fprintf(stderr, "stopping the trials that run; press Ctrl-C again to kill them\n");
	for (size_t i = 0; i < work->loop->parallel; i++) {
		if (work->children[i].pid > 0)
			(void)kill(work->children[i].pid, number);
	}
}

static int loop_start(struct loop_work *work, size_t number, struct rh_error *err)
{
	const struct rh_sweep_loop *loop = work->loop;
	rh_auto_manifest manifest = {0};
	const struct rh_sweep_trial trial = {loop->cli, loop->state, loop->serving, &manifest, number};
	size_t place = 0;
	int r = rh_sweep_trial_make(loop->base, number, &manifest, err);

	while (work->children[place].pid > 0)
		place++;
	if (r == 0)
		r = rh_sweep_start(&trial, &work->children[place].pid, err);
	if (r < 0) {
		work->children[place].pid = 0;
		return r;
	}
	work->children[place].number = number;
	work->running++;
	return 0;
}

/* A trial that was running when the sweep was killed may have succeeded. @return 1: it had */
static int loop_recover(struct loop_work *work, size_t number, struct rh_error *err)
{
	const char *path = rh_sweep_state_text(work->loop->state, number, "run");
	rh_auto_kept kept = {0};
	int r;

	if (loop_succeeded(work->loop->state, number)) {
		work->ended++;
		return 1;
	}
	if (!path || rh_sweep_state_text(work->loop->state, number, "state"))
		return 0;
	if (rh_kept_read(path, &kept) < 0)
		return rh_fail_oom(err);
	if (strcmp(rh_kept_state(&kept), rh_run_result_name(RH_RUN_SUCCEEDED)) != 0)
		return 0;
	r = loop_end(work, number, rh_kept_state(&kept), &kept, err);
	return r < 0 ? r : 1;
}

/* Start what has room. */
static int loop_fill(struct loop_work *work, struct rh_error *err)
{
	int r = 0;

	while (r >= 0 && work->stops == 0 && work->running < work->loop->parallel && work->next <= work->count) {
		size_t number = work->next++;

		r = loop_recover(work, number, err);
		if (r == 0)
			r = loop_start(work, number, err);
	}
	return r < 0 ? r : 0;
}

/* "train-0004 step 35/100  2s left". A trial that has written no progress is named alone. */
static void loop_append_trial(const struct loop_work *work, const struct loop_child *child, struct rh_str *out)
{
	const char *path = rh_sweep_state_text(work->loop->state, child->number, "run");
	rh_auto_kept kept = {0};
	rh_auto_str far = {0};

	if (path && rh_kept_read(path, &kept) == 0 && kept.state)
		rh_written_append_run(&kept, &far);
	rh_str_appendf(out, " | %s-%04zu%s%s", rh_json_string(rh_json_get(work->loop->state->plan, "job")), child->number,
	               far.length > 0 ? " " : "", rh_str_text(&far));
}

/* What runs, and how far it is, in the last row of the terminal. */
static void loop_show(struct loop_work *work)
{
	struct rh_str *row = &work->live.status;

	if (!work->live.on || rh_sweep_state_read(work->loop->state, NULL) < 0)
		return;
	rh_str_clear(row);
	rh_str_appendf(row, "%zu of %zu", work->ended, work->count);
	for (size_t i = 0; i < work->loop->parallel; i++) {
		if (work->children[i].pid > 0)
			loop_append_trial(work, &work->children[i], row);
	}
	rh_live_show(&work->live);
}

static int loop_wait(struct loop_work *work, struct rh_error *err)
{
	const struct timespec step = {LOOP_STEP / RH_SECOND, 0};
	int number = work->live.on ? sigtimedwait(&work->signals, NULL, &step) : sigwaitinfo(&work->signals, NULL);

	if (number == SIGCHLD)
		return loop_reap(work, err);
	if (number > 0)
		loop_stop(work);
	else
		loop_show(work);
	return 0;
}

/* After a failure, too, nothing is left running. */
static int loop_run(struct loop_work *work, struct rh_error *err)
{
	int r = loop_fill(work, err);

	while (work->running > 0) {
		int waited;

		if (r < 0 && work->stops == 0)
			loop_stop(work);
		waited = loop_wait(work, r < 0 ? NULL : err);
		r = r < 0 ? r : waited;
		if (r == 0)
			r = loop_fill(work, err);
	}
	return r;
}

int rh_sweep_loop(const struct rh_sweep_loop *loop, struct rh_error *err)
{
	struct loop_work work = {.loop = loop,
	                         .next = 1,
	                         .live = {.on = rh_cli_colour(STDERR_FILENO) && rh_cli_colour(STDOUT_FILENO)},
	                         .count = rh_json_size(rh_json_get(loop->state->plan, "combinations"))};
	sigset_t before;
	int r;

	(void)sigemptyset(&work.signals);
	(void)sigaddset(&work.signals, SIGCHLD);
	(void)sigaddset(&work.signals, SIGINT);
	(void)sigaddset(&work.signals, SIGTERM);
	(void)sigaddset(&work.signals, SIGHUP);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_BLOCK, &work.signals, &before);
	r = loop_run(&work, err);
	rh_live_wipe(&work.live);
	rh_live_deinit(&work.live);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return r;
	r = rh_sweep_state_read(loop->state, err);
	if (r < 0)
		return r;
	if (work.stops > 0)
		return RH_RUN_INTERRUPTED;
	return work.failed ? RH_EXIT_FAILED : RH_EXIT_OK;
}
