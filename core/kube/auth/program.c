/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/spawn.h"

/* Limit of the output. */
#define PROGRAM_OUTPUT_MAX (1u << 20)
/* Poll interval between the end of a program's output and its exit. */
#define PROGRAM_LOOK (RH_SECOND / 50)

struct rh_auth_program {
	struct rh_loop_watch *watch;
	int fd;
	pid_t pid; /* 0: it has exited and was reaped */
	bool own_group;
	bool closed; /* its output is at its end */
	int status;  /* of waitpid() */
	int failure; /* errno of a read that failed, or EFBIG */
	int64_t end; /* when it is killed */
	struct rh_str output;
};

static int program_spawn(struct rh_auth_program *program, const struct rh_auth_program_options *options, int out,
                         struct rh_error *err)
{
	const struct rh_spawn_fd fds[] = {{out, STDOUT_FILENO}, {RH_SPAWN_NULL, STDIN_FILENO}};
	const struct rh_spawn how = {
		.program = options->argv[0],
		.argv = options->argv,
		.envp = options->envp,
		.place = program->own_group ? RH_SPAWN_OWN_GROUP : RH_SPAWN_WITH_US,
		.fds = fds,
		.fd_count = options->terminal ? 1 : 2,
	};

	return rh_spawn(&how, &program->pid, err);
}

static void program_read(struct rh_auth_program *program)
{
	char buffer[4096];
	ssize_t n = read(program->fd, buffer, sizeof(buffer));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		program->failure = errno;
	if (n > 0 && program->output.length + (size_t)n > PROGRAM_OUTPUT_MAX)
		program->failure = EFBIG;
	if (n <= 0 || program->failure) {
		rh_loop_unwatch(rh_take(program->watch));
		program->closed = true;
		return;
	}
	rh_str_append_bytes(&program->output, buffer, (size_t)n);
	explicit_bzero(buffer, sizeof(buffer));
}

static void program_on_output(void *arg)
{
	program_read(arg);
}

int rh_auth_program_new(const struct rh_auth_program_options *options, struct rh_auth_program **ret_program,
                        struct rh_error *err)
{
	rh_auto(auth_program) program = rh_alloc(sizeof(*program));
	rh_auto_close int out = -1;
	int fds[2];
	int r;

	if (!program)
		return rh_fail_oom(err);
	program->fd = -1;
	program->end = rh_clock_monotonic() + options->timeout;
	/* a program on the terminal must stay in the terminal's foreground process group */
	program->own_group = !options->terminal;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return rh_fail(err, RH_EIO, "cannot make a pipe: %s", strerror(errno));
	program->fd = fds[0];
	out = fds[1];
	(void)fcntl(program->fd, F_SETFL, O_NONBLOCK);
	r = program_spawn(program, options, out, err);
	if (r == 0)
		r = rh_loop_watch(options->loop, program->fd, program_on_output, program, &program->watch, err);
	if (r == 0)
		*ret_program = rh_take(program);
	return r;
}

static void program_kill(const struct rh_auth_program *program)
{
	(void)kill(program->own_group ? -program->pid : program->pid, SIGKILL);
}

void rh_auth_program_free(struct rh_auth_program *program)
{
	if (!program)
		return;
	rh_loop_unwatch(program->watch);
	if (program->fd >= 0)
		(void)close(program->fd);
	if (program->pid > 0) {
		program_kill(program);
		while (waitpid(program->pid, &program->status, 0) < 0 && errno == EINTR)
			continue;
	}
	if (program->output.data)
		explicit_bzero(program->output.data, program->output.length);
	rh_str_deinit(&program->output);
	rh_free(program);
}

static int program_judge(const struct rh_auth_program *program, struct rh_error *err)
{
	if (program->output.failed)
		return rh_fail_oom(err);
	if (program->failure)
		return rh_fail(err, RH_EIO, "its output cannot be read: %s", strerror(program->failure));
	if (WIFSIGNALED(program->status))
		return rh_fail(err, RH_EAGAIN, "it was killed by signal %d", WTERMSIG(program->status));
	if (WEXITSTATUS(program->status) != 0)
		return rh_fail(err, RH_EAGAIN, "it ended with status %d", WEXITSTATUS(program->status));
	return 0;
}

int rh_auth_program_check(struct rh_auth_program *program, int64_t now, struct rh_error *err)
{
	pid_t pid = program->pid;
	char time[RH_TIME_SIZE];

	if (program->failure || program->output.failed)
		return program_judge(program, err);
	if (program->closed && program->pid > 0)
		pid = waitpid(program->pid, &program->status, WNOHANG);
	/* other code may have reaped it: then its output decides */
	if (program->closed && (pid == program->pid || (pid < 0 && errno == ECHILD)))
		program->pid = 0;
	if (program->pid == 0)
		return program_judge(program, err);
	if (now < program->end)
		return RH_AUTH_PROGRAM_RUNS;
	return rh_fail(err, RH_EAGAIN, "it did not end within %s", rh_duration_format(60 * RH_SECOND, time));
}

const struct rh_str *rh_auth_program_output(const struct rh_auth_program *program)
{
	return &program->output;
}

int64_t rh_auth_program_deadline(const struct rh_auth_program *program)
{
	int64_t look = rh_clock_monotonic() + PROGRAM_LOOK;

	return program->closed && look < program->end ? look : program->end;
}
