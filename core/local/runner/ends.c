/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of containers that their shims have not reported yet. The runner sees the end of a container's first process by
 * a descriptor of it (pidfd), though the shim is the one to reap it: a shim that is stopped, or gets no processor, or
 * ends what the process left, reports late, and its own time of the end may be late, too. The kernel reports several
 * ends in their order, which the times of several shims cannot show exactly.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "local/runner/parts.h"
#include "local/shim/limits.h"

static void ends_forget(struct rh_runner_container *container)
{
	rh_loop_unwatch(rh_take(container->watch));
	if (container->process >= 0)
		(void)close(container->process);
	container->process = -1;
}

static void ends_await(struct rh_runner_container *container)
{
	container->await_until = rh_clock_monotonic() + RH_RUNNER_REPORT_PATIENCE;
}

/* As a shim does it: an end that is seen after a wait for a processor counts from its start. Several that are seen then
 * come in the order in which they happened, and their times keep it. */
static int64_t ends_time(const struct rh_runner *runner)
{
	int64_t late = rh_shim_limits_waited(runner->waits) - runner->waited;

	return rh_clock_wall() - (late > 0 ? late : 0);
}

static void ends_on_end(void *arg)
{
	struct rh_runner_container *container = arg;

	container->gone_at = ends_time(container->runner);
	ends_await(container);
	ends_forget(container);
}

static bool ends_is_over(int process)
{
	struct pollfd look = {.fd = process, .events = POLLIN};

	return poll(&look, 1, 0) > 0;
}

/* Without such a descriptor (Linux before 5.3, or none left) the shim's report is all that is known. That the process
 * ID belongs to another one by now does no harm: its end comes later, and the shim's report ends the watch. */
static void ends_watch(struct rh_runner *runner, struct rh_runner_container *container, pid_t pid)
{
	container->runner = runner;
	container->process = (int)syscall(SYS_pidfd_open, pid, 0U);
	if (container->process < 0 && errno != ESRCH)
		return;
	/* of an end before the watch the shim knows the time better */
	if (container->process < 0 || ends_is_over(container->process))
		ends_await(container);
	if (container->await_until != 0 ||
	    rh_loop_watch(runner->options.loop, container->process, ends_on_end, container, &container->watch, NULL) < 0)
		ends_forget(container);
}

void rh_runner_end_rest(struct rh_runner *runner)
{
	runner->waited = rh_shim_limits_waited(runner->waits);
}

void rh_runner_end_report(const struct rh_runner_pod *pod, struct rh_runner_container *container,
                          struct rh_shim_report *report)
{
	ends_forget(container);
	if (report->running) {
		container->gone_at = 0;
		container->await_until = 0;
		if (!container->sidecar)
			ends_watch(pod->runner, container, (pid_t)report->pid);
		return;
	}
	if (container->gone_at >= report->started_at && container->gone_at != 0)
		report->finished_at = container->gone_at;
	/* the report may come before the loop looks at the descriptor */
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
