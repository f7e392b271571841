/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "cli/run/preflight.h"
#include "cli/session.h"
#include "local/run.h"

/* Before anything starts, so that no run is lost, whenever the sweep is killed. */
static void start_on_kept(void *arg, const char *path)
{
	const struct rh_sweep_trial *trial = arg;
	struct rh_json *row = rh_json_new_object();

	if (row &&
	    (rh_json_set_integer(row, "trial", (int64_t)trial->number) < 0 || rh_json_set_string(row, "run", path) < 0))
		rh_json_free(rh_take(row));
	(void)rh_sweep_state_add(trial->state, row, NULL);
}

static int start_run(struct rh_sweep_trial *trial, struct rh_error *err)
{
	rh_auto_session session = {0};
	struct rh_run_options options = {.manifest = trial->manifest,
	                                 .timeout = RH_NEVER,
	                                 .linger = -1,
	                                 .max_restarts = -1,
	                                 .keep = true,
	                                 .serving = trial->serving};
	const char *timeout = rh_cli_option(trial->cli, "timeout");
	int r = rh_session_load_file(trial->cli, rh_cli_option(trial->cli, "config"), trial->manifest, &session, err);

	if (r == 0)
		r = rh_run_mappings(trial->cli, &session, err);
	if (r == 0 && timeout)
		r = rh_duration_parse(timeout, &options.timeout, err);
	if (r < 0)
		return r;
	options.host = session.host;
	options.config = session.config;
	options.hooks = (struct rh_run_hooks){.kept = start_on_kept, .arg = trial};
	return rh_run(&options, err);
}

/* A group of its own: Ctrl-C is for the sweep, which stops its runs in its own way. */
static int start_leave(pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	sigset_t none;

	(void)setpgid(0, 0);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM) < 0)
		return -1;
	return getppid() == parent ? 0 : -1; /* it may have ended before */
}

int rh_sweep_start(const struct rh_sweep_trial *trial, pid_t *ret_pid, struct rh_error *err)
{
	struct rh_sweep_trial copy = *trial; /* a hook's argument is not const */
	struct rh_error own = {0};
	pid_t parent = getpid();
	int r;

	(void)fflush(NULL);
	*ret_pid = fork();
	if (*ret_pid < 0)
		return rh_fail(err, RH_EIO, "cannot start a trial: %s", strerror(errno));
	if (*ret_pid > 0)
		return 0;
	if (start_leave(parent) < 0)
		_exit(RH_EXIT_FAILED);
	r = start_run(&copy, &own);
	if (r < 0)
		fprintf(stderr, "roundhouse sweep: trial %zu: %s\n", trial->number, own.message);
	(void)fflush(NULL);
	_exit(r < 0 ? rh_cli_status(r) : r);
}
