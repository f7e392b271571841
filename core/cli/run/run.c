/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run.h"

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
#include "cli/run/detach.h"
#include "cli/run/preflight.h"
#include "cli/run/setup.h"
#include "cli/run/view.h"
#include "cli/session.h"
#include "local/keep/kept.h"
#include "local/keep/place.h"
#include "local/keep/rows.h"

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
	options->stalls = rh_cli_option(cli, "stalls");
	options->strict = rh_cli_option(cli, "strict") != NULL;
	options->keep = rh_cli_option(cli, "no-keep") == NULL;
	options->log_dir = rh_cli_option(cli, "log-dir");
	if (r == 0 && rh_cli_option(cli, "wait") && !rh_cli_option(cli, "detach"))
		r = rh_fail(err, RH_EINVAL, "option --wait is for --detach; without it `run` waits for the end");
	if (r == 0 && rh_cli_option(cli, "detach") && !options->keep)
		r = rh_fail(err, RH_EINVAL, "option --detach needs a run that is kept; leave out --no-keep");
	if (r == 0 && rh_cli_option(cli, "detach") && rh_cli_option(cli, "dry-run"))
		r = rh_fail(err, RH_EINVAL, "option --dry-run starts nothing; leave out --detach");
	if (r == 0 && options->log_dir && !*options->log_dir)
		r = rh_fail(err, RH_EINVAL, "option --log-dir needs a folder");
	return r;
}

/* @return whether several jobs have one name: then lines have their namespaces, too */
static bool run_qualifies(const struct rh_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(jobs->items[i]->name, jobs->items[k]->name) == 0)
				return true;
		}
	}
	return false;
}

/* What the names in front of lines are made from. @return owned by the caller; NULL: out of memory */
static struct rh_json *run_describe(const struct rh_jobs *jobs)
{
	rh_auto(json) list = rh_json_new_array();
	bool qualify = run_qualifies(jobs);

	for (size_t i = 0; i < jobs->count && list; i++) {
		const struct rh_job *job = jobs->items[i];
		rh_auto_free char *name = qualify ? rh_asprintf("%s.%s", job->namespace_, job->name) : rh_strdup(job->name);
		struct rh_json *row = rh_json_new_object();

		if (rh_json_append(list, row) < 0 || !name || rh_json_set_string(row, "logs", name) < 0 ||
		    rh_json_set(row, "containers", rh_rows_containers(job)) < 0)
			return NULL;
	}
	return rh_take(list);
}

/* A replica gets the terminal: that has to be one, and nothing else may be written there. */
static int run_terminal(const struct rh_cli *cli, const struct rh_jobs *jobs, struct rh_run_options *options,
                        struct rh_run_terminal *terminal, struct rh_error *err)
{
	const char *word = rh_cli_option(cli, "attach");

	if (!word)
		return 0;
	if (rh_cli_option(cli, "detach") || rh_cli_option(cli, "output"))
		return rh_fail(err, RH_EINVAL, "option --attach shows a replica here; leave out --detach and --output");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return rh_fail(err, RH_EINVAL, "option --attach needs a terminal at standard input and standard output");
	terminal->in = STDIN_FILENO;
	terminal->out = STDOUT_FILENO;
	options->terminal = terminal;
	return rh_only_find(jobs, word, terminal, err);
}

static int run_as_text(const struct rh_cli *cli, struct rh_run_options *options, const struct rh_jobs *jobs,
                       const struct rh_only *only, struct rh_error *err)
{
	rh_auto(json) described = run_describe(jobs);
	const struct rh_view_options shown = {.quiet = rh_cli_option(cli, "quiet") != NULL,
	                                      .attached = options->terminal != NULL,
	                                      .times = rh_cli_option(cli, "timestamps") != NULL,
	                                      .multiple = jobs->count > 1,
	                                      .only = only,
	                                      .jobs = described};
	rh_auto(text_view) view = described ? rh_text_view_new(&shown) : NULL;
	int r;

	if (!view)
		return rh_fail_oom(err);
	options->hooks = rh_text_view_hooks(view);
	r = rh_run(options, err);
	if (r >= 0)
		rh_text_view_finish(view, r);
	return r;
}

static int run_as_json(struct rh_run_options *options, const struct rh_only *only, struct rh_error *err)
{
	struct rh_json_view view = {.only = only};
	int r;

	options->hooks = rh_json_view_hooks(&view);
	r = rh_run(options, err);
	if (r >= 0)
		rh_json_view_finish(&view, r);
	rh_json_view_deinit(&view);
	return r;
}

static int run_detached(struct rh_detach *detach, struct rh_run_options *options, size_t jobs, struct rh_error *err)
{
	options->hooks = rh_detach_hooks(detach, jobs);
	return rh_run(options, err);
}

static bool run_wants_json(const struct rh_cli *cli)
{
	const char *format = rh_cli_option(cli, "output");

	return format && strcmp(format, "json") == 0;
}

/* @param detach NULL: the run shows itself */
static int run_jobs(const struct rh_cli *cli, const struct rh_session *session, const struct rh_jobs *jobs,
                    struct rh_detach *detach, struct rh_error *err)
{
	struct rh_run_options options = {.host = session->host,
	                                 .config = session->config,
	                                 .manifest = &jobs->manifest,
	                                 .timeout = RH_NEVER,
	                                 .linger = -1,
	                                 .max_restarts = -1};
	struct rh_run_terminal terminal = {.job = NULL};
	struct rh_only only;
	int r = run_options(cli, &options, err);

	if (r == 0)
		r = rh_only_read(cli, jobs, &only, err);
	if (r == 0)
		r = run_terminal(cli, jobs, &options, &terminal, err);
	if (r < 0)
		return r;
	r = rh_run_preflight(session, jobs, options.log_dir, err);
	if (r < 0)
		return r;
	if (rh_cli_option(cli, "dry-run"))
		return rh_run_print_plan(session, jobs, run_wants_json(cli), err);
	if (!rh_cli_option(cli, "quiet"))
		rh_run_note_environment(session, jobs);
	options.serving = rh_progress_is_useful(jobs) ? rh_progress_load(cli, session) : NULL;
	if (detach)
		return run_detached(detach, &options, jobs->count, err);
	return run_wants_json(cli) ? run_as_json(&options, &only, err) : run_as_text(cli, &options, jobs, &only, err);
}

/* Read what `run` is given, or what an earlier run ran. @param[out] ret_from names it in messages; owned */
typedef int run_read_fn(const struct rh_cli *cli, struct rh_manifest *manifest, char **ret_from, struct rh_error *err);

static int run_here(const struct rh_cli *cli, run_read_fn *read, struct rh_detach *detach, struct rh_error *err)
{
	rh_auto_session session = {0};
	rh_auto_jobs jobs = {.manifest.suffix = (uint32_t)rh_random_seed()};
	rh_auto_free char *from = NULL;
	int r = read(cli, &jobs.manifest, &from, err);

	if (r == 0)
		r = rh_session_open_for(cli, &jobs.manifest, &session, err);
	if (r == 0)
		r = rh_run_mappings(cli, &session, err);
	if (r == 0)
		r = rh_jobs_open(cli, &session, from, &jobs, err);
	if (r == 0 && rh_cli_option(cli, "setup"))
		r = rh_run_setup(&session, &jobs, err);
	return r < 0 ? r : run_jobs(cli, &session, &jobs, detach, err);
}

/* First of all it detaches: what is opened then belongs to the process that runs the jobs. */
static int run_detach(const struct rh_cli *cli, run_read_fn *read, struct rh_error *err)
{
	struct rh_detach detach;
	int status = RH_EXIT_FAILED;
	int r = rh_detach(&detach, rh_cli_option(cli, "wait") != NULL, &status, err);

	if (r == 1)
		return status;
	if (r == 0)
		r = run_here(cli, read, &detach, err);
	if (r < 0) /* printed before the first process may end */
		r = rh_cli_fail(cli, rh_cli_status(r), err->message);
	rh_detach_deinit(&detach);
	return r;
}

static int run_from(const struct rh_cli *cli, run_read_fn *read)
{
	struct rh_error err = {0};
	struct rh_run_options checked = {0};
	int r = run_options(cli, &checked, &err);

	if (r == 0)
		r = rh_cli_option(cli, "detach") ? run_detach(cli, read, &err) : run_here(cli, read, NULL, &err);
	return r < 0 ? rh_cli_fail(cli, rh_cli_status(r), err.message) : r;
}

static int run_read(const struct rh_cli *cli, struct rh_manifest *manifest, char **ret_from, struct rh_error *err)
{
	int r = rh_jobs_read(cli, manifest, err);

	if (r == 0)
		*ret_from = rh_strdup(cli->operands[0]);
	return r < 0 || *ret_from ? r : rh_fail_oom(err);
}

static int run_run(const struct rh_cli *cli)
{
	return run_from(cli, run_read);
}

/* Relative paths of a job start at the folder of its file, so the objects get the files that they came from. */
static int rerun_set_sources(const struct rh_kept *kept, struct rh_manifest *manifest, struct rh_error *err)
{
	const struct rh_json *list = rh_json_get(kept->state, "sources");
	const struct rh_json *source = rh_json_first(list);

	for (size_t i = 0; rh_json_size(list) == manifest->count && i < manifest->count; i++) {
		char *copy = rh_strdup(rh_json_string(source));

		if (!copy)
			return rh_fail_oom(err);
		rh_free(manifest->items[i].source);
		manifest->items[i].source = copy;
		source = rh_json_next(source);
	}
	return 0;
}

static int rerun_read(const struct rh_cli *cli, struct rh_manifest *manifest, char **ret_from, struct rh_error *err)
{
	rh_auto_kept kept = {0};
	rh_auto_free char *path = NULL;
	int r = rh_kept_find(cli->operands[0], false, &kept, err);

	if (r < 0)
		return r;
	path = rh_path_join(kept.path, RH_KEEP_JOBS);
	*ret_from = rh_strdup(kept.name);
	r = path && *ret_from ? rh_manifest_read(manifest, path, err) : rh_fail_oom(err);
	return r < 0 ? r : rerun_set_sources(&kept, manifest, err);
}

static int rerun_run(const struct rh_cli *cli)
{
	return run_from(cli, rerun_read);
}

static const struct rh_option run_option_rows[] = {
	{"detach", 'd', NULL, NULL, "go on without this terminal; print the name of the run when its jobs are created"},
	{"wait", 0, NULL, NULL, "with --detach: print it when every job runs or has ended"},
	{"dry-run", 0, NULL, NULL,
     "look for what would fail here, show the jobs with their commands and what images are mapped to, and start "
     "nothing"},
	RH_OVERRIDE_OPTIONS,
	{"image", 0, "IMAGE=FOLDER", NULL,
     "let a virtual environment or a folder of programs stand for an image, which may have * and ?; comes before "
     "[images] of the configuration; may be repeated"},
	{"setup", 0, NULL, NULL,
     "make an environment for each image that is not mapped and has the name of a framework, with examples/setup, and "
     "use it; one that is there is used again"},
	{"volume", 0, "CLAIM=FOLDER", NULL,
     "let a folder stand for a PersistentVolumeClaim, also for one of the files; may be repeated"},
	{"log-dir", 0, "DIR", NULL,
     "keep every container's output in DIR/JOB/REPLICA/CONTAINER.log; that of an earlier run is moved to DIR/JOB.1, "
     "..."},
	{"no-keep", 0, NULL, NULL, "do not keep the run: `roundhouse ls` and others will not find it"},
	{"no-progress", 0, NULL, NULL,
     "do not let replicas report their progress by the protocol of Kubeflow Trainer (default: progress of the "
     "configuration)"},
	{"output", 'o', "FORMAT", "text|json", "show text, or write a stream of JSON objects, one a line"},
	{"quiet", 'q', NULL, NULL, "show the output of the replicas and what went wrong, nothing else"},
	{"timestamps", 0, NULL, NULL, "put the time in front of each line of output"},
	{"only", 0, "REPLICA", NULL,
     "show the output of this replica alone, as worker-1, or of a type, as worker; may be repeated"},
	{"attach", 0, "REPLICA", NULL,
     "give this replica the terminal, for a debugger or a shell: it gets what is typed, Ctrl-C too, and its output "
     "alone "
     "is shown"},
	{"timeout", 't', "TIME", NULL, "give up after TIME (90, 90s, 1h30m)"},
	{"linger", 0, "TIME", NULL,
     "how long replicas may go on after their job succeeded (default: grace-period of the configuration)"},
	{"max-restarts", 0, "N", NULL,
     "how often in a row a replica is restarted after the same quick failure where the job sets no backoffLimit "
     "(default: "
     "max-restarts of the configuration, 6; 0: for ever)"},
	{"stalls", 0, "ACTION", "report|restart|evict",
     "when a rank of rh_comm does not come: say it in the job's status, restart all replicas, or that one (default: "
     "what roundhouse.dev/stalls of the job says)"},
	{"strict", 0, NULL, NULL, "fail when a replica failed, also where the job succeeded by the rules of its kind"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_run = {
	.name = "run",
	.synopsis = "FILE...",
	.summary = "run jobs to their end on this machine, each replica as processes",
	.details =
		"Every replica becomes processes with the environment that it would have on a cluster, and with an "
		"address of its\n"
		"own in 127.0.0.0/8. Restart policies, back-off, deadlines and clean-up are those of the cluster. "
		"ConfigMaps,\n"
		"Secrets and PersistentVolumeClaims may stand in the files beside the jobs; such a claim is a new folder of\n"
		"the run. FILE may be - for standard input.\n\n"
		"Before anything starts, all jobs are checked against this machine: programs, files, volumes, ConfigMaps,\n"
		"Secrets, ports, GPUs. All problems are reported together, each with its fix.\n\n"
		"Ctrl-C once stops the replicas gracefully, twice at once. Nothing is left behind.\n\n"
		"Exit status: 0 every job succeeded, 1 a job failed, 2 bad input and nothing was started, 3 timed out, "
		"130 interrupted. With --strict, 1\n"
		"also says that a replica failed though its job succeeded.",
	.options = run_option_rows,
	.operands_min = 1,
	.operands_max = 1000,
	.run = run_run,
};

const struct rh_command rh_command_rerun = {
	.name = "rerun",
	.synopsis = "JOB",
	.summary = "run the jobs of an earlier run once more",
	.details =
		"JOB is the name of a job or a run, see `roundhouse ls`. The jobs are those of that run, also when their "
		"files have\n"
		"changed since; programs and data are those of today. Options are those of `run`; none is taken over.\n\n"
		"Exit status: as `roundhouse run`.",
	.options = run_option_rows,
	.operands_min = 1,
	.operands_max = 1,
	.run = rerun_run,
	.names = "ls -o name",
};
