/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* @return 0 or an errno value */
static int spawn_fill_actions(const struct rh_spawn *how, posix_spawn_file_actions_t *actions)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < how->fd_count; i++) {
		const struct rh_spawn_fd *fd = &how->fds[i];

		if (fd->from == RH_SPAWN_NULL)
			r = posix_spawn_file_actions_addopen(actions, fd->to, "/dev/null", O_RDWR, 0);
		else
			r = posix_spawn_file_actions_adddup2(actions, fd->from, fd->to);
	}
	return r;
}

/* @return 0 or an errno value */
static int spawn_fill_attributes(enum rh_spawn_place place, posix_spawnattr_t *attributes)
{
	static const int places[] = {0, POSIX_SPAWN_SETPGROUP, POSIX_SPAWN_SETSID};
	sigset_t all;
	sigset_t none;
	int r;

	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	r = posix_spawnattr_setsigdefault(attributes, &all);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setpgroup(attributes, 0);
	if (r == 0)
		r = posix_spawnattr_setflags(attributes,
		                             (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | places[place]));
	return r;
}

/* @return 0 or an errno value */
static int spawn_with_attributes(const struct rh_spawn *how, const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
	posix_spawnattr_t attributes;
	int r = posix_spawnattr_init(&attributes);

	if (r != 0)
		return r;
	r = spawn_fill_attributes(how->place, &attributes);
	if (r == 0)
		r = posix_spawnp(ret_pid, how->program, actions, &attributes, how->argv, how->envp);
	(void)posix_spawnattr_destroy(&attributes);
	return r;
}

/* @return whether the process has the descriptor */
static bool spawn_give(const struct rh_spawn_fd *fd)
{
	int from = fd->from == RH_SPAWN_NULL ? open("/dev/null", O_RDWR) : fd->from;

	if (from < 0 || (from != fd->to && dup2(from, fd->to) < 0))
		return false;
	if (fd->from == RH_SPAWN_NULL && from != fd->to)
		(void)close(from);
	return fd->from != fd->to || fcntl(fd->to, F_SETFD, 0) == 0;
}

/* The new process, all of whose signals are blocked. Does not return. */
static void spawn_become(const struct rh_spawn *how)
{
	bool good = true;
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	if (how->place == RH_SPAWN_OWN_GROUP)
		(void)setpgid(0, 0);
	if (how->place == RH_SPAWN_OWN_SESSION)
		(void)setsid();
	for (size_t i = 0; i < how->fd_count && good; i++)
		good = spawn_give(&how->fds[i]);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (good)
		(void)execvpe(how->program, how->argv, how->envp);
	(void)dprintf(STDERR_FILENO, "cannot start \"%s\": %s\n", how->argv[0], strerror(errno));
	_exit(RH_SPAWN_FAILED);
}

/* Signals are blocked until the process has no handler of ours any more. @return 0 or an errno value */
static int spawn_fork(const struct rh_spawn *how, pid_t *ret_pid)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	*ret_pid = fork();
	r = *ret_pid < 0 ? errno : 0;
	if (*ret_pid == 0)
		spawn_become(how);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* @return 0 or an errno value */
static int spawn_wait(const struct rh_spawn *how, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return r;
	r = spawn_fill_actions(how, &actions);
	if (r == 0)
		r = spawn_with_attributes(how, &actions, ret_pid);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

int rh_spawn(const struct rh_spawn *how, pid_t *ret_pid, struct rh_error *err)
{
	pid_t pid = 0;
	int r = how->at_once ? spawn_fork(how, &pid) : spawn_wait(how, &pid);

	if (r == 0) {
		*ret_pid = pid;
		return 0;
	}
	return rh_fail(err,
	               r == ENOENT                  ? RH_ENOENT
	               : r == ENOMEM || r == EAGAIN ? RH_EAGAIN
	                                            : RH_EIO,
	               "cannot start \"%s\": %s", how->argv[0], strerror(r));
}
