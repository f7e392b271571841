/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run.h"

#include <string.h>

#include "base/os/clock.h"
#include "base/os/random.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/jobs.h"
#include "cli/run/view.h"
#include "cli/session.h"

static int run_duration(const struct rh_cli *cli, const char *name, int64_t *ret_value, struct rh_error *err)
{
	const char *text = rh_cli_option(cli, name);
	int r = text ? rh_duration_parse(text, ret_value, err) : 0;

	return r < 0 ? rh_wrap(err, r, "option --%s", name) : r;
}

static int run_count(const struct rh_cli *cli, const char *name, int64_t *ret_value, struct rh_error *err)
{
	const char *text = rh_cli_option(cli, name);
	int r = text ? rh_config_count(text, ret_value, err) : 0;

	return r < 0 ? rh_wrap(err, r, "option --%s", name) : r;
}

static int run_options(const struct rh_cli *cli, struct rh_run_options *options, struct rh_error *err)
{
	int r = run_duration(cli, "timeout", &options->timeout, err);

	if (r == 0)
		r = run_duration(cli, "linger", &options->linger, err);
	if (r == 0)
		r = run_count(cli, "max-restarts", &options->max_restarts, err);
	options->strict = rh_cli_option(cli, "strict") != NULL;
	options->log_dir = rh_cli_option(cli, "log-dir");
	if (r == 0 && options->log_dir && !*options->log_dir)
		r = rh_fail(err, RH_EINVAL, "option --log-dir needs a folder");
	return r;
}

static int run_as_text(const struct rh_cli *cli, struct rh_run_options *options, bool multiple, struct rh_error *err)
{
	rh_auto(text_view) view = rh_text_view_new(rh_cli_option(cli, "quiet") != NULL, multiple);
	int r;

	if (!view)
		return rh_fail_oom(err);
	options->hooks = rh_text_view_hooks(view);
	r = rh_run(options, err);
	if (r >= 0)
		rh_text_view_finish(view, r);
	return r;
}

static int run_as_json(struct rh_run_options *options, struct rh_error *err)
{
	struct rh_json_view view = {0};
	int r;

	options->hooks = rh_json_view_hooks(&view);
	r = rh_run(options, err);
	if (r >= 0)
		rh_json_view_finish(&view, r);
	rh_json_view_deinit(&view);
	return r;
}

static int run_run(const struct rh_cli *cli)
{
	rh_auto_session session = {0};
	rh_auto_jobs jobs = {0};
	struct rh_error err = {0};
	const char *format = rh_cli_option(cli, "output");
	struct rh_run_options options = {.timeout = RH_NEVER, .linger = -1, .max_restarts = -1};
	int r = run_options(cli, &options, &err);

	if (r == 0)
		r = rh_session_open(cli, &session, &err);
	jobs.manifest.suffix = (uint32_t)rh_random_seed();
	if (r == 0)
		r = rh_jobs_open(cli, &session, &jobs, &err);
	if (r == 0) {
		options.host = session.host;
		options.config = session.config;
		options.manifest = &jobs.manifest;
		r = format && strcmp(format, "json") == 0 ? run_as_json(&options, &err)
		                                          : run_as_text(cli, &options, jobs.count > 1, &err);
	}
	return r < 0 ? rh_cli_fail(cli, rh_cli_status(r), err.message) : r;
}

static const struct rh_option run_option_rows[] = {
	{"log-dir", 0, "DIR", NULL, "keep every container's output in DIR/JOB/REPLICA/CONTAINER.log"},
	{"output", 'o', "FORMAT", "text|json", "show text, or write a stream of JSON objects, one a line"},
	{"quiet", 'q', NULL, NULL, "show the output of the replicas and what went wrong, nothing else"},
	{"timeout", 't', "TIME", NULL, "give up after TIME (90, 90s, 1h30m)"},
	{"linger", 0, "TIME", NULL,
     "how long replicas may go on after their job succeeded (default: grace-period of the configuration)"},
	{"max-restarts", 0, "N", NULL,
     "how often in a row a replica is restarted after the same quick failure where the job sets no backoffLimit "
     "(default: "
     "max-restarts of the configuration, 6; 0: for ever)"},
	{"strict", 0, NULL, NULL, "fail when a replica failed, also where the job succeeded by the rules of its kind"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_run = {
	.name = "run",
	.synopsis = "FILE...",
	.summary = "run jobs to their end on this machine, each replica as processes",
	.details = "Every replica becomes processes with the environment that it would have on a cluster, and with an "
			   "address of its\n"
			   "own in 127.0.0.0/8. Restart policies, back-off, deadlines and clean-up are those of the cluster. "
			   "ConfigMaps and\n"
			   "Secrets may stand in the files beside the jobs. FILE may be - for standard input.\n\n"
			   "Ctrl-C once stops the replicas gracefully, twice at once. Nothing is left behind.\n\n"
			   "Exit status: 0 every job succeeded, 1 a job failed, 2 bad input and nothing was started, 3 timed out, "
			   "130 interrupted. With --strict, 1\n"
			   "also says that a replica failed though its job succeeded.",
	.options = run_option_rows,
	.operands_min = 1,
	.operands_max = 1000,
	.run = run_run,
};
