/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/run/parts.h"

/* A program that reads nothing takes no more input: how long until the next attempt. */
#define TERMINAL_PAUSE (RH_SECOND / 50)
#define TERMINAL_CHUNK 4096

static const struct rh_run_terminal *terminal_user(const struct rh_run *run)
{
	return run->options->terminal;
}

static void terminal_copy_size(const struct rh_run *run)
{
	struct winsize size;

	if (ioctl(terminal_user(run)->in, TIOCGWINSZ, &size) == 0)
		(void)ioctl(run->tty.master, TIOCSWINSZ, &size); /* the kernel signals the replica */
}

static void terminal_on_size(void *arg, int number)
{
	(void)number;
	terminal_copy_size(arg);
}

static void terminal_pass_typed(struct rh_run_tty *tty)
{
	ssize_t n = tty->typed.length > 0 ? write(tty->master, tty->typed.data, tty->typed.length) : 0;

	if (n > 0) {
		memmove(tty->typed.data, tty->typed.data + n, tty->typed.length - (size_t)n);
		rh_str_cut(&tty->typed, tty->typed.length - (size_t)n);
	}
}

static void terminal_on_input(void *arg)
{
	struct rh_run *run = arg;
	struct rh_run_tty *tty = &run->tty;
	char chunk[TERMINAL_CHUNK];
	ssize_t n = read(terminal_user(run)->in, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		rh_str_append_bytes(&tty->typed, chunk, (size_t)n);
	terminal_pass_typed(tty);
	if (n <= 0 || tty->typed.length > 0) /* it is read again when there is room, and not after its end */
		rh_loop_unwatch(rh_take(tty->input));
}

static void terminal_watch(struct rh_run *run)
{
	struct rh_run_tty *tty = &run->tty;

	if (!tty->input)
		(void)rh_loop_watch(run->loop, terminal_user(run)->in, terminal_on_input, run, &tty->input, NULL);
}

/* Output is left as it is, so that what `run` itself prints has whole lines. */
static void terminal_take(struct rh_run *run)
{
	struct rh_run_tty *tty = &run->tty;
	struct termios raw;

	if (tcgetattr(terminal_user(run)->in, &tty->before) < 0)
		return;
	raw = tty->before;
	cfmakeraw(&raw);
	raw.c_oflag = tty->before.c_oflag;
	if (tcsetattr(terminal_user(run)->in, TCSADRAIN, &raw) < 0)
		return;
	tty->raw = true;
	terminal_copy_size(run);
	terminal_watch(run);
}

static void terminal_give_back(struct rh_run *run)
{
	struct rh_run_tty *tty = &run->tty;

	if (!tty->raw)
		return;
	rh_loop_unwatch(rh_take(tty->input));
	rh_str_clear(&tty->typed);
	(void)tcsetattr(terminal_user(run)->in, TCSADRAIN, &tty->before);
	tty->raw = false;
}

void rh_run_terminal_init(struct rh_run *run)
{
	run->tty = (struct rh_run_tty){.master = -1};
}

static int terminal_name(struct rh_run *run, struct rh_error *err)
{
	const struct rh_run_terminal *user = terminal_user(run);
	char name[RH_NAME_SIZE];

	for (size_t i = 0; i < run->job_count; i++) {
		const struct rh_job *job = run->jobs[i].job;
		const struct rh_replica_spec *spec = rh_job_spec(job, user->type);

		if (!spec || strcmp(job->name, user->job->name) != 0 || strcmp(job->namespace_, user->job->namespace_) != 0)
			continue;
		run->tty.job = run->jobs[i].log_name;
		run->tty.replica = rh_strdup(rh_job_replica_own_name(job, user->type, user->index, name));
		run->tty.container =
			rh_json_string(rh_json_get(rh_job_main_container(job->kind, rh_json_get(spec->template_, "spec")), "name"));
	}
	return run->tty.replica && run->tty.container ? 0 : rh_fail_oom(err);
}

int rh_run_terminal_open(struct rh_run *run, struct rh_error *err)
{
	struct rh_run_tty *tty = &run->tty;
	int r;

	if (!terminal_user(run))
		return 0;
	r = terminal_name(run, err);
	if (r < 0)
		return r;
	tty->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (tty->master < 0 || grantpt(tty->master) < 0 || unlockpt(tty->master) < 0)
		return rh_fail(err, RH_EIO, "cannot make a terminal for replica %s: %s", tty->replica, strerror(errno));
	terminal_copy_size(run);
	return rh_loop_signal(run->loop, SIGWINCH, terminal_on_size, run, err);
}

void rh_run_terminal_grown(struct rh_run *run, const char *job, const char *replica, const char *container,
                           int64_t from)
{
	struct rh_run_tty *tty = &run->tty;
	rh_auto_free char *path = NULL;
	rh_auto_close int fd = -1;
	char chunk[TERMINAL_CHUNK];
	ssize_t n;

	if (tty->master < 0 || strcmp(job, tty->job) != 0 || strcmp(replica, tty->replica) != 0 ||
	    strcmp(container, tty->container) != 0)
		return;
	path = rh_runner_log_path(run->log_dir, job, replica, container);
	fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	tty->shown = from > tty->shown ? from : tty->shown;
	while (fd >= 0 && (n = pread(fd, chunk, sizeof(chunk), tty->shown)) > 0) {
		if (rh_fd_write_all(terminal_user(run)->out, chunk, (size_t)n, NULL) < 0)
			return;
		tty->shown += n;
	}
}

void rh_run_terminal_step(void *arg, int64_t clock)
{
	struct rh_run *run = arg;
	struct rh_run_tty *tty = &run->tty;
	bool runs = tty->master >= 0 && rh_runner_runs(run->runner, tty->job, tty->replica, tty->container);

	(void)clock;
	if (runs && !tty->raw)
		terminal_take(run);
	if (!runs)
		terminal_give_back(run);
	if (tty->raw && tty->typed.length > 0) {
		terminal_pass_typed(tty);
		if (tty->typed.length == 0)
			terminal_watch(run);
	}
}

int64_t rh_run_terminal_deadline(void *arg)
{
	const struct rh_run *run = arg;

	return run->tty.raw && run->tty.typed.length > 0 ? rh_clock_monotonic() + TERMINAL_PAUSE : RH_NEVER;
}

void rh_run_terminal_close(struct rh_run *run)
{
	terminal_give_back(run);
	if (run->tty.master >= 0)
		(void)close(run->tty.master);
	rh_free(run->tty.replica);
	rh_str_deinit(&run->tty.typed);
	rh_run_terminal_init(run);
}
