/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "local/control.h"
#include "local/keep/kept.h"
#include "local/keep/place.h"

/* The process of the run by a descriptor, so that no other process that gets its number is hit. @return -1: it has
 * ended */
static int stop_open(const struct rh_kept *kept)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)kept->pid, 0U);
	int64_t start = -1;

	(void)rh_json_integer(rh_json_get(kept->state, "pidStart"), &start);
	if (fd >= 0 && !rh_keep_is_process(kept->pid, start)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static int stop_signal(const struct rh_kept *kept, int process, int number, struct rh_error *err)
{
	if (syscall(SYS_pidfd_send_signal, process, number, NULL, 0U) < 0 && errno != ESRCH)
		return rh_fail(err, RH_EIO, "cannot signal run \"%s\" (process %lld): %s", kept->name, (long long)kept->pid,
		               strerror(errno));
	return 0;
}

/* The run stops gracefully at the first signal, and at once at the second, which is another one: two of one number may
 * arrive as one. */
static int stop_end(const struct rh_cli *cli, const struct rh_kept *kept, int process, int64_t patience,
                    struct rh_error *err)
{
	int r = stop_signal(kept, process, SIGTERM, err);

	if (r < 0 || rh_cli_option(cli, "no-wait"))
		return r;
	if (!rh_control_wait(process, patience)) {
		r = stop_signal(kept, process, SIGINT, err);
		(void)rh_control_wait(process, RH_NEVER);
	}
	return r;
}

static void stop_report(const struct rh_cli *cli, const struct rh_kept *kept)
{
	rh_auto_kept now = {0};

	if (!rh_cli_option(cli, "no-wait") && rh_kept_read(kept->path, &now) == 0)
		printf("%s: %s\n", now.name, rh_kept_state(&now));
}

static int stop_check(const struct rh_kept *kept, struct rh_error *err)
{
	if (kept->life != RH_KEPT_RUNNING)
		return rh_fail(err, RH_ENOENT, "run \"%s\" does not go on; it is %s", kept->name, rh_kept_state(kept));
	return 0;
}

/* A row of the job that `word` means: its name, also with its namespace. @return 0, RH_ENOENT or RH_EINVAL */
static int stop_find_job(const struct rh_kept *kept, const char *word, const struct rh_json **ret_job,
                         struct rh_error *err)
{
	const struct rh_json *job = rh_json_first(rh_json_get(kept->state, "jobs"));

	for (*ret_job = NULL; job; job = rh_json_next(job)) {
		bool whole = rh_text_equal(rh_json_string(rh_json_get(job, "logs")), word);

		if (!whole && !rh_text_equal(rh_json_string(rh_json_get(job, "name")), word))
			continue;
		if (*ret_job)
			return rh_fail(err, RH_EINVAL, "run \"%s\" has several jobs \"%s\"; name it NAMESPACE.%s", kept->name, word,
			               word);
		*ret_job = job;
		if (whole)
			return 0;
	}
	return *ret_job ? 0 : rh_fail(err, RH_ENOENT, "run \"%s\" has no job \"%s\"", kept->name, word);
}

/* The job that is to end alone: the second word, or the first where that is a job among several.
 * @param[out] ret_job NULL: the run ends as a whole */
static int stop_choose(const struct rh_cli *cli, const struct rh_kept *kept, const struct rh_json **ret_job,
                       struct rh_error *err)
{
	const char *word = cli->operands[cli->operand_count - 1];
	bool several = rh_json_size(rh_json_get(kept->state, "jobs")) > 1;
	int r = 0;

	*ret_job = NULL;
	if (cli->operand_count == 2 || (several && strcmp(kept->name, word) != 0))
		r = stop_find_job(kept, word, ret_job, err);
	if (!several)
		*ret_job = NULL;
	return r;
}

static int stop_one(const struct rh_cli *cli, const struct rh_kept *kept, const struct rh_json *job, int64_t patience,
                    struct rh_error *err)
{
	const char *name = rh_json_string(rh_json_get(job, "logs"));
	const char *state = rh_json_string(rh_json_get(job, "state"));
	const struct rh_control_stop stop = {.run_dir = rh_json_string(rh_json_get(kept->state, "runDir")),
	                                     .namespace_ = rh_json_string(rh_json_get(job, "namespace")),
	                                     .job = rh_json_string(rh_json_get(job, "name")),
	                                     .patience = patience,
	                                     .wait = !rh_cli_option(cli, "no-wait")};
	int r;

	if (!stop.run_dir || !stop.namespace_ || !stop.job || !name || !state)
		return rh_fail(err, RH_EINVAL, "the state of run \"%s\" is damaged", kept->name);
	if (strcmp(state, "Succeeded") == 0 || strcmp(state, "Failed") == 0)
		return rh_fail(err, RH_ENOENT, "job \"%s\" of run \"%s\" has ended; it is %s", name, kept->name, state);
	r = rh_control_stop(&stop, err);
	if (r < 0)
		return rh_wrap(err, r, "run \"%s\"", kept->name);
	if (stop.wait)
		printf("%s: job %s is stopped\n", kept->name, name);
	return 0;
}

static int stop_patience(const struct rh_cli *cli, int64_t *ret_patience, struct rh_error *err)
{
	const char *text = rh_cli_option(cli, "time");
	int r = 0;

	*ret_patience = rh_cli_option(cli, "now") ? 0 : RH_NEVER;
	if (text)
		r = rh_duration_parse(text, ret_patience, err);
	return r < 0 ? rh_wrap(err, r, "option --time") : 0;
}

static int stop_run(const struct rh_cli *cli)
{
	struct rh_error err = {0};
	rh_auto_kept kept = {0};
	rh_auto_close int process = -1;
	const struct rh_json *job = NULL;
	int64_t patience;
	int r = stop_patience(cli, &patience, &err);

	if (r == 0)
		r = rh_kept_find(cli->operands[0], true, &kept, &err);
	if (r == 0)
		r = stop_check(&kept, &err);
	if (r == 0)
		r = stop_choose(cli, &kept, &job, &err);
	if (r == 0 && job)
		return rh_cli_end(cli, stop_one(cli, &kept, job, patience, &err), &err);
	if (r == 0) {
		process = stop_open(&kept);
		r = process < 0 ? 0 : stop_end(cli, &kept, process, patience, &err);
	}
	if (r < 0)
		return rh_cli_end(cli, r, &err);
	stop_report(cli, &kept);
	return RH_EXIT_OK;
}

static const struct rh_option stop_options[] = {
	{"time", 't', "TIME", NULL,
     "how long replicas may take to end before they are killed (default: the grace period of each)"},
	{"now", 0, NULL, NULL, "kill the replicas at once"},
	{"no-wait", 0, NULL, NULL, "do not wait for the end of the run"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_stop = {
	.name = "stop",
	.synopsis = "JOB | RUN JOB",
	.summary = "stop a run that goes on, or one job of it",
	.details =
		"JOB is the name of a job or a run, see `roundhouse ls`. The replicas get SIGTERM, and SIGKILL after their "
		"grace\n"
		"period, as with Ctrl-C where the run shows. The run keeps its output and says Interrupted.\n\n"
		"Where a run has several jobs, the name of a job stops that job alone, and the others go on; RUN JOB names "
		"it where\n"
		"several runs have such a job. The job is Failed then, because it was stopped. The name of the run stops all.",
	.options = stop_options,
	.operands_min = 1,
	.operands_max = 2,
	.run = stop_run,
	.names = "ls --running -o name",
};
