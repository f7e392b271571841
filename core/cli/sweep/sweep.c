/* SPDX-License-Identifier: Apache-2.0 */
/* `roundhouse sweep`: one job with many values, each combination a run of its own. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/random.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/jobs.h"
#include "cli/override/override.h"
#include "cli/progress/load.h"
#include "cli/run/preflight.h"
#include "cli/session.h"
#include "cli/sweep/loop.h"
#include "cli/sweep/metric.h"
#include "cli/sweep/params.h"
#include "cli/sweep/report.h"
#include "cli/sweep/state.h"
#include "cli/sweep/trial.h"
#include "local/keep/place.h"

/* Largest number that --seed takes. */
#define SWEEP_SEED_MAX INT64_C(1000000000)

/* One call of the command. */
struct sweep {
	const struct rh_cli *cli;
	struct rh_session session;
	struct rh_manifest manifest; /* of the files, with all overrides */
	struct rh_sweep_base base;
	struct rh_sweep_state state;
	struct rh_sweep_metric *metric; /* NULL: none is asked for */
	int64_t parallel;
	bool reports; /* a trial may report its progress */
};

static int sweep_count(const struct rh_cli *cli, const char *name, int64_t most, int64_t *ret_count,
                       struct rh_error *err)
{
	const char *text = rh_cli_option(cli, name);
	int r = text ? rh_config_count(text, ret_count, err) : 0;

	if (r < 0)
		return rh_wrap(err, r, "option --%s", name);
	if (text && (*ret_count < 1 || *ret_count > most))
		return rh_fail(err, RH_EINVAL, "option --%s: \"%s\" is not between 1 and %lld", name, text, (long long)most);
	return 0;
}

/* What can be wrong with the words alone. */
static int sweep_check_options(const struct sweep *sweep, struct rh_error *err)
{
	static const char *const chosen[] = {"random", "seed"};
	const struct rh_cli *cli = sweep->cli;
	const char *timeout = rh_cli_option(cli, "timeout");
	int64_t ignored;
	bool resume = rh_cli_option(cli, "resume") != NULL;

	for (size_t i = 0; i < 2; i++) {
		if (resume && rh_cli_option(cli, chosen[i]))
			return rh_fail(err, RH_EINVAL, "option --%s: a sweep that goes on has its trials; leave it out", chosen[i]);
	}
	if (rh_cli_option(cli, "seed") && !rh_cli_option(cli, "random"))
		return rh_fail(err, RH_EINVAL, "option --seed is for --random");
	if (!resume && !rh_cli_option(cli, "metric") && (rh_cli_option(cli, "goal") || rh_cli_option(cli, "svg")))
		return rh_fail(err, RH_EINVAL, "options --goal and --svg need --metric");
	if (timeout && rh_duration_parse(timeout, &ignored, err) < 0)
		return rh_wrap(err, RH_EINVAL, "option --timeout");
	return 0;
}

/* The one job of the files. */
static int sweep_find_job(struct sweep *sweep, struct rh_error *err)
{
	const struct rh_json *job;
	size_t count = 0;

	for (size_t i = 0; i < sweep->manifest.count; i++) {
		if (!rh_jobs_is_job(&sweep->session, sweep->manifest.items[i].object))
			continue;
		sweep->base.at = i;
		count++;
	}
	if (count != 1)
		return rh_fail(err, RH_EINVAL, "the files have %zu jobs; a sweep is of one job", count);
	job = sweep->manifest.items[sweep->base.at].object;
	sweep->base.kind =
		rh_host_kind(sweep->session.host, rh_json_string_at(job, "apiVersion"), rh_json_string_at(job, "kind"), err);
	return sweep->base.kind ? 0 : RH_ENOENT;
}

static int sweep_read(struct sweep *sweep, struct rh_error *err)
{
	int r = 0;

	if (sweep->session.config->keep_runs == 0)
		return rh_fail(err, RH_EINVAL, "a sweep needs runs that are kept; set keep-runs of the configuration above 0");
	for (size_t i = 0; i < sweep->cli->operand_count && r == 0; i++)
		r = rh_manifest_read(&sweep->manifest, sweep->cli->operands[i], err);
	if (r == 0)
		r = rh_override(sweep->cli, sweep->session.host, &sweep->manifest, err);
	sweep->base.manifest = &sweep->manifest;
	return r < 0 ? r : sweep_find_job(sweep, err);
}

static const struct rh_json *sweep_job(const struct sweep *sweep)
{
	return sweep->manifest.items[sweep->base.at].object;
}

/* Which of the combinations are tried. @return owned by the caller; NULL: out of memory */
static struct rh_json *sweep_choose(const struct sweep *sweep, const struct rh_json *params, int64_t requested,
                                    int64_t seed)
{
	size_t size = rh_sweep_params_size(params);

	if (requested == 0 || (size_t)requested >= size)
		return rh_sweep_params_choose(size, size, 0);
	if (!rh_cli_option(sweep->cli, "seed"))
		fprintf(stderr, "`--seed %lld` chooses the same %lld of %zu combinations again\n", (long long)seed,
		        (long long)requested, size);
	return rh_sweep_params_choose(size, (size_t)requested, (uint64_t)seed);
}

static int sweep_fill_plan(const struct sweep *sweep, struct rh_json *plan, struct rh_json *params,
                           struct rh_json *combinations)
{
	static const char *const options[] = {"metric", "goal"};
	const struct rh_json *job = sweep_job(sweep);
	int r = rh_json_set(plan, "params", params);

	if (rh_json_set(plan, "combinations", combinations) < 0 || r < 0 ||
	    rh_json_set_string(plan, "job", rh_json_string_at(job, "metadata.name")) < 0 ||
	    rh_json_set(plan, "object", rh_json_copy(job)) < 0 || rh_json_set_integer(plan, "pid", getpid()) < 0 ||
	    rh_json_set_integer(plan, "pidStart", rh_keep_process_start(getpid())) < 0)
		return RH_ENOMEM;
	for (size_t i = 0; i < 2 && r == 0; i++) {
		const char *value = rh_cli_option(sweep->cli, options[i]);

		r = value ? rh_json_set_string(plan, options[i], value) : 0;
	}
	return r;
}

/* @param[out] ret_plan owned by the caller */
static int sweep_plan(const struct sweep *sweep, struct rh_json **ret_plan, struct rh_error *err)
{
	rh_auto(json) plan = rh_json_new_object();
	struct rh_json *params = NULL;
	struct rh_json *combinations;
	int64_t requested = 0;
	int64_t seed = (int64_t)(rh_random_seed() % SWEEP_SEED_MAX) + 1;
	int r = sweep_count(sweep->cli, "random", RH_SWEEP_TRIALS_MAX, &requested, err);

	if (r == 0)
		r = sweep_count(sweep->cli, "seed", SWEEP_SEED_MAX, &seed, err);
	if (r == 0)
		r = rh_sweep_params_read(sweep->cli, &params, err);
	if (r < 0)
		return r;
	combinations = sweep_choose(sweep, params, requested, seed);
	if (!plan) {
		rh_json_free(params);
		rh_json_free(combinations);
		return rh_fail_oom(err);
	}
	if (sweep_fill_plan(sweep, plan, params, combinations) < 0)
		return rh_fail_oom(err);
	*ret_plan = rh_take(plan);
	return 0;
}

/* A trial of another job, or of other values, would not be comparable. */
static int sweep_compare(const struct sweep *sweep, struct rh_error *err)
{
	rh_auto(json) params = NULL;
	int r = rh_cli_option(sweep->cli, "param") ? rh_sweep_params_read(sweep->cli, &params, err) : 0;

	if (r < 0)
		return r;
	if (params && !rh_json_equal(params, rh_json_get(sweep->state.plan, "params")))
		return rh_fail(err, RH_EINVAL, "the sweep in \"%s\" has other parameters; leave out --param, or --resume",
		               sweep->state.path);
	if (!rh_json_equal(sweep_job(sweep), rh_json_get(sweep->state.plan, "object")))
		return rh_fail(err, RH_EINVAL, "the job is not the one that the sweep in \"%s\" began with; leave out --resume",
		               sweep->state.path);
	return 0;
}

/* What the call says, or what the sweep began with. */
static const char *sweep_option(const struct sweep *sweep, const char *name)
{
	const char *text = rh_cli_option(sweep->cli, name);

	return text ? text : rh_json_string(rh_json_get(sweep->state.plan, name));
}

static int sweep_check_trial(struct sweep *sweep, size_t number, struct rh_error *err)
{
	rh_auto_jobs jobs = {0};
	int r = rh_sweep_trial_make(&sweep->base, number, &jobs.manifest, err);

	if (r == 0)
		r = rh_jobs_check(&sweep->session, &jobs, sweep->cli->operands[0], err);
	sweep->reports = sweep->reports || (r == 0 && rh_progress_is_useful(&jobs));
	return r < 0 ? r : rh_run_preflight(&sweep->session, &jobs, NULL, err);
}

/* All trials are checked before the first one starts, and before anything is written. */
static int sweep_check(struct sweep *sweep, const struct rh_json *plan, struct rh_error *err)
{
	size_t count = rh_json_size(rh_json_get(plan, "combinations"));
	int r = 0;

	sweep->base.plan = plan;
	for (size_t number = 1; number <= count && r == 0; number++)
		r = sweep_check_trial(sweep, number, err);
	return r;
}

static int sweep_begin(struct sweep *sweep, struct rh_error *err)
{
	rh_auto(json) plan = NULL;
	int r = sweep_plan(sweep, &plan, err);

	if (r == 0)
		r = sweep_check(sweep, plan, err);
	return r < 0 ? r : rh_sweep_state_new(rh_take(plan), &sweep->state, err);
}

static int sweep_go_on(struct sweep *sweep, struct rh_error *err)
{
	int r = rh_sweep_state_resume(rh_json_string_at(sweep_job(sweep), "metadata.name"), &sweep->state, err);

	if (r == 0)
		r = sweep_compare(sweep, err);
	return r < 0 ? r : sweep_check(sweep, sweep->state.plan, err);
}

static int sweep_open(struct sweep *sweep, struct rh_error *err)
{
	const char *metric;
	int r = sweep_count(sweep->cli, "parallel", RH_SWEEP_PARALLEL_MAX, &sweep->parallel, err);

	if (r == 0)
		r = sweep_check_options(sweep, err);
	if (r == 0)
		r = rh_session_open(sweep->cli, &sweep->session, err);
	if (r == 0)
		r = rh_run_mappings(sweep->cli, &sweep->session, err);
	if (r == 0 && rh_cli_option(sweep->cli, "metric"))
		r = rh_sweep_metric_new(rh_cli_option(sweep->cli, "metric"), &sweep->metric, err);
	if (r == 0)
		r = sweep_read(sweep, err);
	if (r == 0)
		r = rh_cli_option(sweep->cli, "resume") ? sweep_go_on(sweep, err) : sweep_begin(sweep, err);
	if (r < 0)
		return r;
	metric = sweep_option(sweep, "metric");
	sweep->base.plan = sweep->state.plan;
	return sweep->metric || !metric ? 0 : rh_sweep_metric_new(metric, &sweep->metric, err);
}

static int sweep_draw(const struct sweep *sweep, const struct rh_json *rows, struct rh_error *err)
{
	const char *path = rh_cli_option(sweep->cli, "svg");
	rh_auto_str plot = {0};

	if (!path)
		return 0;
	rh_sweep_plot(rows, sweep_option(sweep, "metric"), &plot);
	if (plot.failed)
		return rh_fail_oom(err);
	return rh_file_write_atomic(path, plot.data, plot.length, 0666, err);
}

static int sweep_report(const struct sweep *sweep, struct rh_error *err)
{
	const char *format = rh_cli_option(sweep->cli, "output");
	rh_auto(json) rows = rh_sweep_report_rows(&sweep->state, rh_text_equal(sweep_option(sweep, "goal"), "min"));
	int r = rows ? rh_sweep_report_print(rows, format ? format : "table", err) : rh_fail_oom(err);

	return r < 0 ? r : sweep_draw(sweep, rows, err);
}

static int sweep_all(struct sweep *sweep, struct rh_error *err)
{
	struct rh_sweep_loop loop = {.cli = sweep->cli, .base = &sweep->base, .state = &sweep->state};
	int result = sweep_open(sweep, err);
	int r;

	if (result < 0)
		return result;
	/* loaded here, once for all trials */
	loop.serving = sweep->reports ? rh_progress_load(sweep->cli, &sweep->session) : NULL;
	loop.metric = sweep->metric;
	loop.parallel = (size_t)sweep->parallel;
	result = rh_sweep_loop(&loop, err);
	if (result < 0)
		return result;
	r = sweep_report(sweep, err);
	(void)fflush(stdout);
	fprintf(stderr, "Kept in %s\n", sweep->state.path);
	return r < 0 ? r : result;
}

static int sweep_run(const struct rh_cli *cli)
{
	struct sweep sweep = {.cli = cli, .parallel = 1};
	struct rh_error err = {0};
	int r = sweep_all(&sweep, &err);

	rh_sweep_metric_free(sweep.metric);
	rh_sweep_state_close(&sweep.state);
	rh_manifest_deinit(&sweep.manifest);
	rh_session_close(&sweep.session);
	return r < 0 ? rh_cli_fail(cli, rh_cli_status(r), err.message) : r;
}

static const struct rh_option sweep_option_rows[] = {
	{"param", 0, "NAME=VALUE,...", NULL,
     "try these values of a parameter: a path of fields, as of --set, or a name, which is a variable of all containers "
     "and takes the place of {{NAME}} and ${trialParameters.NAME} in the job; may be repeated"},
	{"random", 0, "N", NULL, "try N of the combinations, chosen at random (default: all)"},
	{"seed", 0, "S", NULL, "with --random: choose as that seed did before"},
	{"parallel", 0, "K", NULL, "run K trials at a time (default: 1)"},
	{"metric", 0, "REGEX", NULL,
     "compare trials by a number of their output: group 1 of the last match of this extended regular expression"},
	{"goal", 0, "GOAL", "max|min", "which metric is the best (default: max)"},
	{"output", 'o', "FORMAT", "table|json|csv", "how to print the trials (default: table)"},
	{"svg", 0, "FILE", NULL, "draw the metric over the values of each parameter"},
	{"resume", 0, NULL, NULL, "go on with the newest sweep of this job; trials that have succeeded are not run again"},
	RH_OVERRIDE_OPTIONS,
	{"image", 0, "IMAGE=FOLDER", NULL, "as of `run`"},
	{"volume", 0, "CLAIM=FOLDER", NULL, "as of `run`"},
	{"no-progress", 0, NULL, NULL, "as of `run`"},
	{"timeout", 't', "TIME", NULL, "give up a trial after TIME (90, 90s, 1h30m)"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_sweep = {
	.name = "sweep",
	.synopsis = "FILE...",
	.summary = "run a job with many values, and compare the results",
	.details =
		"The files have one job. Each combination of the values is a trial: the job under the name JOB-0001, "
		"JOB-0002,\n"
		"..., which runs and is kept as by `run`, so `roundhouse logs JOB-0001` shows its output. All trials are "
		"checked\n"
		"before the first one starts.\n\n"
		"The sweep writes what it does to $XDG_STATE_HOME/roundhouse/sweeps. After Ctrl-C, kill -9 or a crash of the\n"
		"machine, --resume goes on from there.\n\n"
		"Exit status: 0 every trial succeeded, 1 one did not, 2 bad input and nothing was started, 130 interrupted.",
	.options = sweep_option_rows,
	.operands_min = 1,
	.operands_max = 1000,
	.run = sweep_run,
};
