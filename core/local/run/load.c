/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/load.h"

#include <time.h>

#include "base/os/clock.h"
#include "local/run/parts.h"

#define LOAD_STEP RH_SECOND
/* The look goes through all processes of the machine, so it is the rarer the more there are. */
#define LOAD_SHARE 100

static int64_t load_thread_time(void)
{
	struct timespec at = {0, 0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
	return (int64_t)at.tv_sec * RH_SECOND + at.tv_nsec / 1000;
}

static int load_look(const struct rh_run *run, struct rh_usage *ret_usage)
{
	size_t most = rh_runner_alive(run->runner);
	rh_auto_free pid_t *shims = rh_alloc_array(most + 1, sizeof(*shims));

	*ret_usage = (struct rh_usage){0};
	return shims ? rh_usage_read_below(shims, rh_runner_shims(run->runner, shims, most), ret_usage) : RH_ENOMEM;
}

static void load_report(const struct rh_run *run, const struct rh_usage *now, int64_t time)
{
	const struct rh_run_hooks *hooks = &run->options->hooks;
	struct rh_run_load load = {.processes = now->process_count};

	for (size_t i = 0; i < now->process_count; i++)
		load.memory += now->processes[i].memory;
	if (time > 0)
		load.cpu = (double)rh_usage_cpu_since(now, &run->look.usage) / (double)time;
	hooks->load(hooks->arg, &load);
}

void rh_run_load_step(void *arg, int64_t clock)
{
	struct rh_run *run = arg;
	struct rh_run_look *look = &run->look;
	int64_t before = load_thread_time();
	struct rh_usage usage;
	int64_t cost;

	if (rh_run_load_deadline(run) > clock)
		return;
	if (load_look(run, &usage) == 0) {
		load_report(run, &usage, clock - (look->at > 0 ? look->at : run->clock_start));
		rh_usage_deinit(&look->usage);
		look->usage = usage;
		look->at = clock;
	} else {
		rh_usage_deinit(&usage);
	}
	cost = load_thread_time() - before;
	look->due = clock + (cost * LOAD_SHARE > LOAD_STEP ? cost * LOAD_SHARE : LOAD_STEP);
}

int64_t rh_run_load_deadline(void *arg)
{
	const struct rh_run *run = arg;

	if (!run->options->hooks.load || rh_runner_alive(run->runner) == 0)
		return RH_NEVER;
	return run->look.due > 0 ? run->look.due : run->clock_start + LOAD_STEP;
}
