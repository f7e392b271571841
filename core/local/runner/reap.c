/* SPDX-License-Identifier: Apache-2.0 */
/* Ended shims, and orphans of killed ones. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "local/runner/parts.h"

/* How long the descendants of a dead shim are looked for. */
#define RUNNER_ORPHANS_MAX (5 * RH_SECOND)
#define RUNNER_KILLED 137 /* 128 + SIGKILL */

static struct rh_runner_pod *reap_pod_of_pid(const struct rh_runner *runner, pid_t pid)
{
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	while (rh_map_next(runner->pods, &cursor, &key, &value)) {
		struct rh_runner_pod *pod = value;

		if (pod->pid == pid)
			return pod;
	}
	return NULL;
}

/* The shim could not report how this container ended, because it was killed with it. */
static void reap_lose_container(struct rh_runner_container *container)
{
	struct rh_shim_report *end = &container->report;

	if (!container->reported || !(end->running || end->again))
		return;
	if (end->running) {
		end->exit_code = RUNNER_KILLED;
		end->signal = SIGKILL;
		end->finished_at = rh_clock_wall();
		rh_copy(end->reason, sizeof(end->reason), "ContainerStatusUnknown");
		rh_copy(end->message, sizeof(end->message),
		        "the process that watches over the pod was killed, and the container with it");
	}
	end->running = false;
	end->again = false;
	container->ended = *end;
}

static void reap_lose_pod(struct rh_runner_pod *pod, int status)
{
	rh_free(pod->message);
	pod->message = WIFSIGNALED(status)
	                   ? rh_asprintf("the process that watches over the pod was killed by signal %d", WTERMSIG(status))
	                   : rh_asprintf("the process that watches over the pod ended with status %d", WEXITSTATUS(status));
	pod->reason = "ContainerStatusUnknown";
	pod->broken = true;
	for (size_t i = 0; i < pod->container_count; i++)
		reap_lose_container(&pod->containers[i]);
	pod->runner->orphans_until = rh_clock_monotonic() + RUNNER_ORPHANS_MAX;
}

static void reap_reaped(struct rh_runner_pod *pod, int status)
{
	pod->pid = 0;
	rh_runner_receive(pod); /* its last messages; a descendant that kept the socket open does not count */
	if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0)
		reap_lose_pod(pod, status);
	for (size_t i = 0; i < pod->container_count; i++) {
		pod->containers[i].report.again = false; /* no process is left to restart it */
		pod->containers[i].grown = true;
	}
	pod->changed = true;
}

void rh_runner_reap(struct rh_runner *runner)
{
	int status = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct rh_runner_pod *pod = reap_pod_of_pid(runner, pid);

		if (pod)
			reap_reaped(pod, status);
	}
}

/* The parent of process `pid`, or -1: the fourth field of its stat, after a name in parentheses that can hold
 * anything. */
static pid_t reap_parent_of(pid_t pid)
{
	char path[64];
	char text[512];
	rh_auto_close int fd = -1;
	const char *after;
	ssize_t n;
	int parent = -1;
	char state;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n <= 0)
		return -1;
	text[n] = '\0';
	after = strrchr(text, ')');
	return after && sscanf(after + 1, " %c %d", &state, &parent) == 2 ? (pid_t)parent : -1;
}

bool rh_runner_kill_orphans(struct rh_runner *runner)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (folder && (entry = readdir(folder))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;

		if (pid <= 0 || reap_parent_of(pid) != getpid() || reap_pod_of_pid(runner, pid))
			continue;
		found = true;
		(void)kill(pid, SIGKILL);
	}
	if (folder)
		(void)closedir(folder);
	return found;
}
