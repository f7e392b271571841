/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "local/shim/isolation/mounts.h"

#define SPAWN_NOT_FOUND 127
#define SPAWN_NOT_RUNNABLE 126
#define SPAWN_MACHINE 128
/* Where programs are looked for when the environment has no PATH: what exec*p() does. */
#define SPAWN_DEFAULT_PATH "/bin:/usr/bin"

static void spawn_refuse(struct rh_shim_refusal *refusal, int exit_code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void spawn_refuse(struct rh_shim_refusal *refusal, int exit_code, const char *fmt, ...)
{
	va_list args;

	refusal->exit_code = exit_code;
	va_start(args, fmt);
	(void)vsnprintf(refusal->message, sizeof(refusal->message), fmt, args);
	va_end(args);
}

static void spawn_reset_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* An old kernel cannot close a range: then each descriptor that could be open is closed. */
static void spawn_close_others(void)
{
	long most;

	if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return;
	most = sysconf(_SC_OPEN_MAX);
	for (int fd = STDERR_FILENO + 1; fd < (most > 0 && most < 65536 ? (int)most : 65536); fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int spawn_set_streams(const int *streams)
{
	rh_auto_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(streams[0] < 0 ? null : streams[0], STDIN_FILENO) < 0 || dup2(streams[1], STDOUT_FILENO) < 0 ||
	    dup2(streams[2], STDERR_FILENO) < 0)
		return -1;
	return 0;
}

static int spawn_set_user(const struct rh_shim_spec *spec)
{
	if (spec->uid < 0 && spec->gid < 0)
		return 0;
	if (setgroups(0, NULL) < 0 || (spec->gid >= 0 && setgid((gid_t)spec->gid) < 0) ||
	    (spec->uid >= 0 && setuid((uid_t)spec->uid) < 0))
		return -1;
	return 0;
}

static const char *spawn_path(const struct rh_shim_spec *spec)
{
	for (size_t i = 0; spec->env[i]; i++) {
		if (rh_starts_with(spec->env[i], "PATH="))
			return spec->env[i] + strlen("PATH=");
	}
	return SPAWN_DEFAULT_PATH;
}

static void spawn_exec_file(const struct rh_shim_spec *spec, const char *file)
{
	execve(file, (char *const *)(uintptr_t)spec->argv, (char *const *)(uintptr_t)spec->env);
}

/* What was found and could not be run counts more than what was not found; a folder that may not be searched has
 * nothing. */
static int spawn_worse(int before, int error, const char *file)
{
	if (error == ENOENT || error == ENOTDIR || (error == EACCES && access(file, F_OK) < 0))
		return before;
	return error;
}

/* Try each folder of PATH, as execvp() does. */
static int spawn_exec_search(const struct rh_shim_spec *spec)
{
	int error = ENOENT;

	for (const char *at = spawn_path(spec);; at++) {
		size_t length = strcspn(at, ":");
		char file[PATH_MAX];
		int n = snprintf(file, sizeof(file), "%.*s/%s", (int)(length > 0 ? length : 1), length > 0 ? at : ".",
		                 spec->argv[0]);

		if (n > 0 && (size_t)n < sizeof(file)) {
			spawn_exec_file(spec, file);
			error = spawn_worse(error, errno, file);
		}
		at += length;
		if (*at == '\0')
			break;
	}
	return error;
}

/* @return errno of the attempt; does not return when the program runs */
static int spawn_exec(const struct rh_shim_spec *spec)
{
	if (!strchr(spec->argv[0], '/'))
		return spawn_exec_search(spec);
	spawn_exec_file(spec, spec->argv[0]);
	return errno;
}

static void spawn_explain_missing(const struct rh_shim_spec *spec, struct rh_shim_refusal *refusal)
{
	const char *program = spec->argv[0];

	if (!strchr(program, '/'))
		spawn_refuse(refusal, SPAWN_NOT_FOUND, "cannot start \"%s\": no such program in PATH=%.300s", program,
		             spawn_path(spec));
	else if (access(program, F_OK) == 0)
		spawn_refuse(refusal, SPAWN_NOT_FOUND,
		             "cannot start \"%s\": the interpreter that its first line names is missing", program);
	else
		spawn_refuse(refusal, SPAWN_NOT_FOUND, "cannot start \"%s\": no such file (working directory \"%s\")", program,
		             spec->cwd);
}

static void spawn_explain(const struct rh_shim_spec *spec, int error, struct rh_shim_refusal *refusal)
{
	if (error == ENOENT || error == ENOTDIR)
		spawn_explain_missing(spec, refusal);
	else if (error == ENOMEM || error == EAGAIN || error == ENFILE)
		spawn_refuse(refusal, SPAWN_MACHINE, "cannot start \"%s\": %s", spec->argv[0], strerror(error));
	else
		spawn_refuse(refusal, SPAWN_NOT_RUNNABLE, "cannot start \"%s\": %s", spec->argv[0], strerror(error));
}

/* What a fresh child works with. */
struct spawn_job {
	const struct rh_shim_spawn *spawn;
	pid_t parent;
	int answer;
};

/* A change of user clears the parent-death signal, so this comes after it; exec keeps it. */
static void spawn_tie_to_parent(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(SPAWN_MACHINE);
}

static int spawn_set_mounts(const struct rh_shim_spawn *spawn, struct rh_error *err)
{
	const struct rh_shim_spec *spec = spawn->spec;

	if (spawn->beside > 0 && spec->mount_count > 0)
		return rh_shim_mounts_join(spawn->beside, err);
	return rh_shim_mounts_apply(spec->mounts, spec->mount_count, err);
}

/* Make this process, a fresh child, into the container. Returns only when it cannot be. */
static void spawn_become(const struct spawn_job *job, struct rh_shim_refusal *refusal)
{
	const struct rh_shim_spec *spec = job->spawn->spec;
	struct rh_error err = {0};

	if (rh_shim_limits_enter(job->spawn->limits) < 0) {
		spawn_refuse(refusal, SPAWN_MACHINE, "cannot put container \"%s\" under its limits: %s", spec->name,
		             strerror(errno));
	} else if (spawn_set_streams(job->spawn->streams) < 0) { /* before a volume takes the place of /dev/null */
		spawn_refuse(refusal, SPAWN_MACHINE, "container \"%s\": no standard streams: %s", spec->name, strerror(errno));
	} else if (job->spawn->terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0) {
		spawn_refuse(refusal, SPAWN_MACHINE, "container \"%s\": no terminal: %s", spec->name, strerror(errno));
	} else if (spawn_set_mounts(job->spawn, &err) < 0) {
		spawn_refuse(refusal, SPAWN_MACHINE, "container \"%s\": %.400s", spec->name, err.message);
	} else if (spawn_set_user(spec) < 0) {
		spawn_refuse(refusal, SPAWN_NOT_RUNNABLE, "container \"%s\": cannot become user %lld: %s", spec->name,
		             (long long)spec->uid, strerror(errno));
	} else if (chdir(spec->cwd) < 0) {
		spawn_refuse(refusal, SPAWN_NOT_RUNNABLE, "container \"%s\": working directory \"%.300s\": %s", spec->name,
		             spec->cwd, strerror(errno));
	} else {
		spawn_tie_to_parent(job->parent);
		spawn_explain(spec, spawn_exec(spec), refusal);
	}
}

static void spawn_child(const struct spawn_job *job)
{
	struct rh_shim_refusal refusal = {0};

	(void)setsid();
	(void)umask(022);
	spawn_close_others();
	spawn_reset_signals();
	spawn_become(job, &refusal);
	(void)!write(job->answer, &refusal, sizeof(refusal));
	_exit(SPAWN_NOT_FOUND);
}

/* @return whether the child refused, which it reports before it ends; a program that runs has closed the pipe without a
 * word */
static bool spawn_receive(int answer, struct rh_shim_refusal *ret_refusal)
{
	ssize_t n;

	do
		n = read(answer, ret_refusal, sizeof(*ret_refusal));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*ret_refusal);
}

int rh_shim_spawn(const struct rh_shim_spawn *spawn, pid_t *ret_pid, struct rh_shim_refusal *ret_refusal)
{
	const struct rh_shim_spec *spec = spawn->spec;
	struct spawn_job job = {.spawn = spawn, .parent = getpid()};
	int answers[2];
	rh_auto_close int answer = -1;
	pid_t pid;

	if (pipe2(answers, O_CLOEXEC) < 0) {
		spawn_refuse(ret_refusal, SPAWN_MACHINE, "container \"%s\": no pipe: %s", spec->name, strerror(errno));
		return RH_EINVAL;
	}
	answer = answers[0];
	job.answer = answers[1];
	pid = fork();
	if (pid == 0)
		spawn_child(&job);
	(void)close(answers[1]);
	if (pid < 0) {
		spawn_refuse(ret_refusal, SPAWN_MACHINE, "container \"%s\": no process: %s", spec->name, strerror(errno));
		return RH_EINVAL;
	}
	if (spawn_receive(answer, ret_refusal)) {
		(void)waitpid(pid, NULL, 0);
		return RH_EINVAL;
	}
	*ret_pid = pid;
	return 0;
}
