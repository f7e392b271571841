/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/load.h"

#include <time.h>

#include "base/os/clock.h"
#include "local/run/parts.h"
#include "local/run/progress.h"

#define LOAD_STEP RH_SECOND
/* A sample reads all processes of the machine: the more there are, the longer the interval. */
#define LOAD_SHARE 100

static int64_t load_thread_time(void)
{
	struct timespec at = {0, 0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
	return (int64_t)at.tv_sec * RH_SECOND + at.tv_nsec / 1000;
}

static int load_look(const struct rh_runner_shim *shims, size_t count, struct rh_usage *ret_usage)
{
	rh_auto_free pid_t *pids = rh_alloc_array(count + 1, sizeof(*pids));

	*ret_usage = (struct rh_usage){0};
	for (size_t i = 0; pids && i < count; i++)
		pids[i] = shims[i].pid;
	return pids ? rh_usage_read_below(pids, count, ret_usage) : RH_ENOMEM;
}

/* A rank that starts again counts from zero: it has no rate then. */
static void load_count(struct rh_run *run, struct rh_run_load *load)
{
	uint64_t before = run->sample.operations;

	load->operations = rh_run_progress_counters(run).operations;
	if (before > 0 && load->operations > before && load->time > 0)
		load->operation_rate = (double)(load->operations - before) * RH_SECOND / (double)load->time;
	run->sample.operations = load->operations;
}

/* @return time until the next sample */
static int64_t load_report(struct rh_run *run, const struct rh_runner_shim *shims, const struct rh_usage *now,
                           int64_t time)
{
	const struct rh_run_hooks *hooks = &run->options->hooks;
	rh_auto_free struct rh_usage_rate *rates = rh_alloc_array(now->replica_count + 1, sizeof(*rates));
	rh_auto_free struct rh_run_use *uses = rh_alloc_array(now->replica_count + 1, sizeof(*uses));
	struct rh_run_load load = {.processes = now->process_count, .time = time, .uses = uses, .usage = now};

	if (!rates || !uses)
		return LOAD_STEP;
	rh_usage_rates(now, &run->sample.usage, time, rates);
	for (size_t i = 0; i < now->replica_count; i++) {
		load.memory += rates[i].memory;
		load.cpu += rates[i].cpu;
		if (rates[i].processes == 0)
			continue;
		uses[load.use_count++] = (struct rh_run_use){.job = shims[i].job,
		                                             .replica = shims[i].replica,
		                                             .processes = rates[i].processes,
		                                             .cpu = rates[i].cpu,
		                                             .read = rates[i].read,
		                                             .written = rates[i].written,
		                                             .memory = rates[i].memory};
	}
	load_count(run, &load);
	rh_copy(load.stalled, sizeof(load.stalled), rh_run_stall_text(run));
	return hooks->load(hooks->arg, &load);
}

/* @return time until the next sample */
static int64_t load_step(struct rh_run *run, int64_t clock)
{
	struct rh_run_sample *sample = &run->sample;
	size_t most = rh_runner_alive(run->runner);
	rh_auto_free struct rh_runner_shim *shims = rh_alloc_array(most + 1, sizeof(*shims));
	struct rh_usage usage = {0};
	int64_t pause;

	if (!shims || load_look(shims, rh_runner_shims(run->runner, shims, most), &usage) < 0) {
		rh_usage_deinit(&usage);
		return LOAD_STEP;
	}
	pause = load_report(run, shims, &usage, clock - (sample->at > 0 ? sample->at : run->clock_start));
	rh_usage_deinit(&sample->usage);
	sample->usage = usage;
	sample->at = clock;
	return pause;
}

void rh_run_load_step(void *arg, int64_t clock)
{
	struct rh_run *run = arg;
	int64_t before;
	int64_t pause;
	int64_t cost;

	if (rh_run_load_deadline(run) > clock)
		return;
	before = load_thread_time();
	pause = load_step(run, clock);
	cost = (load_thread_time() - before) * LOAD_SHARE;
	if (pause != RH_NEVER)
		pause = clock + (cost > pause ? cost : pause);
	run->sample.due = pause;
}

int64_t rh_run_load_deadline(void *arg)
{
	const struct rh_run *run = arg;

	if (!run->options->hooks.load || rh_runner_alive(run->runner) == 0)
		return RH_NEVER;
	return run->sample.due > 0 ? run->sample.due : run->clock_start + LOAD_STEP;
}
