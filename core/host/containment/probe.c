/* SPDX-License-Identifier: Apache-2.0 */
#include "host/containment/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/limit.h"
#include "host/containment/guard.h"

/** Descriptor of the child that closes with it. */
#define PROBE_LINE_FD 3

/** A child that tries plugins. */
struct probe {
	struct rh_probe_files files;
	struct rh_guard_trace *trace; /**< shared with it */
	int status;                   /**< of waitpid() */
	bool late;                    /**< it had to be killed */
};

/** In the child: what a plugin does there reaches nobody, takes no more than it may, and ends with its parent. */
static void probe_confine(const struct probe *probe, pid_t parent, int line)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	(void)dup2(line, PROBE_LINE_FD);
	(void)close_range(PROBE_LINE_FD + 1, ~0U, 0);
	/* a signal to the whole group is for the parent, and no fault of a plugin */
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	rh_limit_lower(RLIMIT_CORE, 0);
	/* for a parent that is stopped: else it counts the time */
	rh_limit_lower(RLIMIT_CPU, (rlim_t)(probe->files.config->plugin_time_limit / RH_SECOND + 2));
#ifndef RH_INSTRUMENTED /* sanitizers map terabytes */
	rh_limit_lower(RLIMIT_AS, RH_PROBE_MEMORY_MAX);
#endif
	rh_guard_trace(probe->trace);
}

/** In the child: call all operations that the host calls. */
__attribute__((noreturn)) static void probe_try(const struct probe *probe)
{
	probe->files.load(probe->files.config, probe->files.paths, probe->files.count);
	probe->trace->done = true;
	_exit(0);
}

/** Wait until the child's end of the line is closed, at most as long as a plugin may take. */
static void probe_wait(struct probe *probe, pid_t pid, int line)
{
	int64_t until = rh_clock_monotonic() + probe->files.config->plugin_time_limit;
	struct pollfd poll_line = {.fd = line, .events = POLLIN};
	int r;

	do {
		int64_t left = until - rh_clock_monotonic();

		r = poll(&poll_line, 1, left > 0 ? (int)((left + 999) / 1000) : 0);
	} while (r < 0 && errno == EINTR);
	probe->late = r == 0;
	if (probe->late)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &probe->status, 0) < 0 && errno == EINTR)
		continue;
}

static int probe_run(struct probe *probe, struct rh_error *err)
{
	pid_t parent = getpid();
	int line[2];
	pid_t pid;

	memset(probe->trace, 0, sizeof(*probe->trace));
	if (pipe2(line, O_CLOEXEC) < 0)
		return rh_fail(err, RH_EIO, "cannot try the plugins: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		probe_confine(probe, parent, line[1]);
		probe_try(probe);
	}
	(void)close(line[1]);
	if (pid > 0)
		probe_wait(probe, pid, line[0]);
	(void)close(line[0]);
	return pid > 0 ? 0 : rh_fail(err, RH_EIO, "cannot try the plugins: fork: %s", strerror(errno));
}

/** Say what became of a child that did not come to its end. */
static void probe_blame(const struct probe *probe, struct rh_error *ret_reason)
{
	char operation[RH_GUARD_OPERATION_SIZE];
	int death = WIFSIGNALED(probe->status) ? WTERMSIG(probe->status) : 0;

	memcpy(operation, probe->trace->operation, sizeof(operation));
	operation[sizeof(operation) - 1] = '\0'; /* the plugin can write there, too */
	if (probe->late || death == SIGXCPU)
		rh_fail(ret_reason, RH_EPLUGIN, "it did not come back from %s within %.3g s ([plugins] time-limit)", operation,
		        (double)probe->files.config->plugin_time_limit / RH_SECOND);
	else if (death)
		rh_fail(ret_reason, RH_EPLUGIN, "it crashed in %s when it was tried in a process of its own: %s", operation,
		        strsignal(death));
	else
		rh_fail(ret_reason, RH_EPLUGIN,
		        "it ended the process in %s, with status %d, when it was tried in one of its own", operation,
		        WEXITSTATUS(probe->status));
}

static bool probe_is_good(const struct probe *probe)
{
	return probe->trace->done && WIFEXITED(probe->status) && WEXITSTATUS(probe->status) == 0;
}

static int probe_each(const struct probe *all, struct rh_error *ret_reasons, struct rh_error *err)
{
	for (size_t i = 0; i < all->files.count; i++) {
		struct probe probe = {.files = all->files, .trace = all->trace};
		int r;

		probe.files.paths += i;
		probe.files.count = 1;
		r = probe_run(&probe, err);
		if (r < 0)
			return r;
		if (!probe_is_good(&probe))
			probe_blame(&probe, &ret_reasons[i]);
	}
	return 0;
}

int rh_probe(const struct rh_probe_files *files, struct rh_error *ret_reasons, struct rh_error *err)
{
	struct probe probe = {.files = *files};
	int r;

	memset(ret_reasons, 0, files->count * sizeof(*ret_reasons));
	if (files->count == 0)
		return 0;
	probe.trace = mmap(NULL, sizeof(*probe.trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (probe.trace == MAP_FAILED)
		return rh_fail_oom(err);
	r = probe_run(&probe, err);
	if (r == 0 && !probe_is_good(&probe) && files->count == 1)
		probe_blame(&probe, ret_reasons);
	else if (r == 0 && !probe_is_good(&probe))
		r = probe_each(&probe, ret_reasons, err);
	(void)munmap(probe.trace, sizeof(*probe.trace));
	return r;
}
