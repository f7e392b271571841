/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of containers, in their order. The runner sees the end of a container's first process by a descriptor of it
 * (pidfd), though the shim is the one to reap it: a shim that is stopped, or gets no processor, or ends what the
 * process left, reports late, and its own time of the end may be late, too. All descriptors are in one epoll set, which
 * has those that ended in the order in which they did. It is emptied before each report is taken. The kernel puts an
 * end there before it lets the shim reap, so an end that is reported is known by then.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "local/runner/parts.h"
#include "local/shim/isolation/limits.h"

/* Ends that are taken at once. */
#define ENDS_BATCH 32

static void ends_await(struct rh_runner_container *container)
{
	container->await_until = rh_clock_monotonic() + RH_RUNNER_REPORT_PATIENCE;
}

/* As a shim does it: an end that is seen after a wait for a processor counts from its start. A later end has a later
 * time. */
static int64_t ends_time(struct rh_runner *runner)
{
	int64_t late = rh_shim_limits_waited(runner->waits) - runner->waited;
	int64_t at = rh_clock_wall() - (late > 0 ? late : 0);

	runner->last_end = at > runner->last_end ? at : runner->last_end + 1;
	return runner->last_end;
}

static void ends_take(void *arg)
{
	struct rh_runner *runner = arg;
	struct epoll_event events[ENDS_BATCH];
	int count;

	do {
		count = epoll_wait(runner->ends, events, ENDS_BATCH, 0);
		for (int i = 0; i < count; i++) {
			struct rh_runner_container *container = events[i].data.ptr;

			container->gone_at = ends_time(runner);
			ends_await(container);
			rh_runner_container_forget(container);
		}
	} while (count == ENDS_BATCH);
}

int rh_runner_ends_open(struct rh_runner *runner, struct rh_error *err)
{
	runner->ends = epoll_create1(EPOLL_CLOEXEC);
	if (runner->ends < 0)
		return rh_fail(err, RH_EIO, "cannot watch processes: %s", strerror(errno));
	return rh_loop_watch(runner->options.loop, runner->ends, ends_take, runner, &runner->ends_watch, err);
}

void rh_runner_ends_close(struct rh_runner *runner)
{
	rh_loop_unwatch(runner->ends_watch);
	if (runner->ends >= 0)
		(void)close(runner->ends);
}

static bool ends_is_over(int process)
{
	struct pollfd look = {.fd = process, .events = POLLIN};

	return poll(&look, 1, 0) > 0;
}

/* Without such a descriptor (Linux before 5.3, or none left) the shim's report is all that is known. That the process
 * ID belongs to another one by now does no harm: its end comes later, and the shim's report ends the watch. */
static void ends_watch(const struct rh_runner *runner, struct rh_runner_container *container, pid_t pid)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = container};

	container->ends = runner->ends;
	container->process = (int)syscall(SYS_pidfd_open, pid, 0U);
	if (container->process < 0 && errno != ESRCH)
		return;
	/* of an end before the watch the shim knows the time better */
	if (container->process < 0 || ends_is_over(container->process))
		ends_await(container);
	if (container->await_until != 0 || epoll_ctl(runner->ends, EPOLL_CTL_ADD, container->process, &event) < 0)
		rh_runner_container_forget(container);
}

void rh_runner_end_rest(struct rh_runner *runner)
{
	runner->waited = rh_shim_limits_waited(runner->waits);
}

void rh_runner_end_report(const struct rh_runner_pod *pod, struct rh_runner_container *container,
                          struct rh_shim_report *report)
{
	ends_take(pod->runner);
	rh_runner_container_forget(container);
	if (report->running) {
		container->gone_at = 0;
		container->await_until = 0;
		if (!container->sidecar)
			ends_watch(pod->runner, container, (pid_t)report->pid);
		return;
	}
	if (container->gone_at >= report->started_at && container->gone_at != 0)
		report->finished_at = container->gone_at;
	/* the end of a container that was not watched, as a sidecar */
	if (container->await_until == 0)
		ends_await(container);
}

/* @return until when the pod's status may still lack what is known to have happened; 0: it lacks nothing. An end counts
 * in it when it is reported, or, if the pod ends by it, when the shim has ended, too. */
static int64_t ends_pod_awaited(const struct rh_runner_pod *pod)
{
	bool over = rh_runner_pod_over(pod);
	bool reported = false;
	int64_t until = 0;

	if (pod->stage != RH_RUNNER_STARTED || pod->deleting || pod->gone)
		return 0;
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct rh_runner_container *container = &pod->containers[i];

		reported = reported || container->reported;
		if ((container->report.running || over) && container->await_until > until)
			until = container->await_until;
	}
	return reported ? until : pod->await_until;
}

int64_t rh_runner_awaited(const struct rh_runner *runner, const char *job)
{
	int64_t last = 0;
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	while (rh_map_next(runner->pods, &cursor, &key, &value)) {
		const struct rh_runner_pod *pod = value;
		int64_t until = strcmp(pod->job, job) == 0 ? ends_pod_awaited(pod) : 0;

		last = until > last ? until : last;
	}
	return last > rh_clock_monotonic() ? last : 0;
}
