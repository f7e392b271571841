/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/pod.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "local/shim/exec.h"
#include "local/shim/spawn.h"
#include "local/shim/tree.h"

/* What a container's first process leaves gets so long between SIGTERM and SIGKILL: time to give back shared memory,
 * which here is the machine's. */
#define POD_LEFTOVER_GRACE RH_SECOND
/* Interval of repeated SIGKILL, for processes that started meanwhile. */
#define POD_KILL_PAUSE (RH_SECOND / 50)
/* A process that SIGKILL does not end in this time hangs in the kernel; the shim stops waiting for it. */
#define POD_KILL_PATIENCE (10 * RH_SECOND)
/* A container that ran so long starts its back-off anew (a kubelet's rule). */
#define POD_BACKOFF_RESET (600 * RH_SECOND)
/* Bytes of one container's output that are moved before others have their turn. */
#define POD_OUTPUT_TURN (1024 * 1024)

int rh_shim_pod_init(struct rh_shim_pod *pod, const struct rh_shim_plan *plan, struct rh_shim_channel *line)
{
	*pod = (struct rh_shim_pod){
		.root = "", .plan = plan, .line = line, .kill_at = RH_NEVER, .killed_at = RH_NEVER, .waits = -1};
	pod->childless = true;
	pod->containers = rh_alloc_array(plan->spec_count, sizeof(*pod->containers));
	if (!pod->containers)
		return RH_ENOMEM;
	for (size_t i = 0; i < plan->spec_count; i++) {
		struct rh_shim_container *container = &pod->containers[i];

		container->spec = &plan->specs[i];
		container->due = RH_NEVER;
		container->output = (struct rh_shim_output){.container = container->spec->name,
		                                            .path = container->spec->log,
		                                            .pipe = -1,
		                                            .log = -1,
		                                            .terminal = container->spec->terminal};
		rh_copy(container->report.container, sizeof(container->report.container), container->spec->name);
		container->report.init = container->spec->init;
	}
	return 0;
}

void rh_shim_pod_deinit(struct rh_shim_pod *pod)
{
	for (size_t i = 0; pod->containers && i < pod->plan->spec_count; i++) {
		(void)rh_shim_output_close(&pod->containers[i].output, NULL);
		rh_shim_limits_free(pod->containers[i].limits);
	}
	rh_free(pod->containers);
	pod->containers = NULL;
	if (pod->waits >= 0)
		(void)close(pod->waits);
	pod->waits = -1;
}

void rh_shim_pod_output(struct rh_shim_pod *pod, size_t index)
{
	struct rh_error note = {0};

	if (rh_shim_output_move(&pod->containers[index].output, POD_OUTPUT_TURN, &note) > 0)
		rh_shim_channel_nudge(pod->line);
	rh_shim_channel_note(pod->line, note.message);
}

static bool pod_is_active(const struct rh_shim_container *container)
{
	return container->state == RH_SHIM_RUNNING || container->state == RH_SHIM_LEAVING;
}

static size_t pod_active_count(const struct rh_shim_pod *pod)
{
	size_t count = 0;

	for (size_t i = 0; i < pod->plan->spec_count; i++)
		count += pod_is_active(&pod->containers[i]) ? 1 : 0;
	return count;
}

/* Whether the policy starts the container again after an end like its last one. */
static bool pod_wants_again(const struct rh_shim_pod *pod, const struct rh_shim_container *container)
{
	bool failed = container->report.exit_code != 0;

	if (pod->stopping)
		return false;
	if (container->spec->sidecar)
		return true;
	if (pod->plan->policy == RH_SHIM_NEVER)
		return false;
	return failed || (pod->plan->policy == RH_SHIM_ALWAYS && !container->spec->init);
}

static int64_t pod_next_pause(const struct rh_shim_pod *pod, const struct rh_shim_container *container, int64_t now)
{
	int64_t pause = container->pause * 2;

	if (container->pause == 0 || now - container->began >= POD_BACKOFF_RESET)
		pause = pod->plan->backoff;
	return pause < pod->plan->backoff_max ? pause : pod->plan->backoff_max;
}

/* The kernel's information about a SIGKILL that was not ours. A shell reports the end of its child as 137. */
static void pod_blame_memory(const struct rh_shim_pod *pod, struct rh_shim_container *container)
{
	struct rh_shim_report *report = &container->report;
	int64_t kills;

	if (report->exit_code != 128 + SIGKILL || pod->killed_at != RH_NEVER)
		return;
	if (rh_shim_limits_kills(container->limits) > container->kills)
		rh_copy(report->reason, sizeof(report->reason), "OOMKilled");
	else if (report->signal == SIGKILL && container->machine_kills_known &&
	         rh_shim_limits_machine_kills(pod->root, &kills) && kills > container->machine_kills)
		rh_copy(report->message, sizeof(report->message),
		        "killed by signal 9; the kernel's out-of-memory killer was active on this machine meanwhile");
}

/* The report says which part of the log is that of this run: a reader comes later, and the next run may have written.
 */
static void pod_close_output(struct rh_shim_pod *pod, struct rh_shim_container *container)
{
	bool logged = container->output.log >= 0;
	struct rh_error note = {0};

	(void)rh_shim_output_close(&container->output, &note);
	rh_shim_channel_note(pod->line, note.message);
	container->report.log_begin = logged ? container->output.begin : 0;
	container->report.log_end = logged ? container->output.end : 0;
}

/* The end of one run of a container: all of its processes are gone, and report has the result. */
static void pod_conclude(struct rh_shim_pod *pod, struct rh_shim_container *container, int64_t now)
{
	pod_close_output(pod, container);
	container->report.running = false;
	container->report.again = pod_wants_again(pod, container);
	container->state = container->report.again ? RH_SHIM_RESTING : RH_SHIM_ENDED;
	container->due = RH_NEVER;
	if (container->report.again) {
		container->pause = pod_next_pause(pod, container, now);
		container->due = now + container->pause;
	}
	rh_shim_channel_report(pod->line, &container->report);
}

static void pod_refuse(struct rh_shim_pod *pod, struct rh_shim_container *container, int exit_code, const char *message)
{
	struct rh_shim_report *report = &container->report;

	report->exit_code = exit_code;
	rh_copy(report->reason, sizeof(report->reason), "StartError");
	rh_copy(report->message, sizeof(report->message), message);
	report->finished_at = rh_clock_wall();
	pod_conclude(pod, container, rh_clock_monotonic());
}

static int pod_limit(const struct rh_shim_pod *pod, struct rh_shim_container *container, struct rh_error *err)
{
	char name[128];
	struct rh_shim_limits_options options = {
		.root = pod->root, .name = name, .memory = container->spec->memory, .cpu = container->spec->cpu};
	int r = 0;

	(void)snprintf(name, sizeof(name), RH_SHIM_LIMITS_PREFIX "%d-%s", (int)getpid(), container->spec->name);
	if (!container->limits && (options.memory > 0 || options.cpu > 0))
		r = rh_shim_limits_new(&options, &container->limits, err);
	container->kills = rh_shim_limits_kills(container->limits);
	container->machine_kills_known = rh_shim_limits_machine_kills(pod->root, &container->machine_kills);
	return r;
}

static void pod_run(struct rh_shim_pod *pod, struct rh_shim_container *container)
{
	struct rh_shim_refusal refusal = {.exit_code = 128};
	struct rh_shim_spawn spawn;
	struct rh_error err = {0};
	struct rh_error note = {0};
	rh_auto_close int end = -1;
	bool ready = pod->refusal[0] == '\0' && pod_limit(pod, container, &err) == 0 &&
	             rh_shim_output_open(&container->output, &end, &note, &err) == 0;

	rh_shim_channel_note(pod->line, note.message);
	if (!ready) {
		pod_refuse(pod, container, refusal.exit_code, pod->refusal[0] ? pod->refusal : err.message);
		return;
	}
	spawn = (struct rh_shim_spawn){.spec = container->spec,
	                               .limits = container->limits,
	                               .streams = {container->spec->terminal ? end : -1, end, end},
	                               .terminal = container->spec->terminal};
	if (rh_shim_spawn(&spawn, &container->pid, &refusal) < 0) {
		pod_refuse(pod, container, refusal.exit_code, refusal.message);
		return;
	}
	pod->childless = false;
	container->state = RH_SHIM_RUNNING;
	container->report.running = true;
	container->report.pid = container->pid;
	rh_shim_channel_report(pod->line, &container->report);
}

static void pod_start(struct rh_shim_pod *pod, struct rh_shim_container *container, int64_t now)
{
	struct rh_shim_report *report = &container->report;
	int32_t restarts = report->restarts + (container->state == RH_SHIM_RESTING ? 1 : 0);
	struct rh_shim_report fresh = {.init = report->init, .restarts = restarts, .started_at = rh_clock_wall()};

	rh_copy(fresh.container, sizeof(fresh.container), report->container);
	*report = fresh;
	container->began = now;
	container->due = RH_NEVER;
	container->reported_at = RH_NEVER;
	pod_run(pod, container);
}

void rh_shim_pod_rest(struct rh_shim_pod *pod)
{
	if (pod->waits < 0)
		pod->waits = rh_shim_limits_open_waits(pod->root);
	pod->waited = rh_shim_limits_waited(pod->waits);
}

/* When a process ended that is reaped now: the kernel has no record of it, but of how late this process is. What woke
 * it may have been output that came shortly before. */
static int64_t pod_end_time(const struct rh_shim_pod *pod, const struct rh_shim_container *container)
{
	int64_t late = rh_shim_limits_waited(pod->waits) - pod->waited;
	int64_t at = rh_clock_wall() - (late > 0 ? late : 0);

	return at > container->report.started_at ? at : container->report.started_at;
}

static void pod_take_end(const struct rh_shim_pod *pod, struct rh_shim_container *container, int status, int64_t now)
{
	struct rh_shim_report *report = &container->report;

	report->asked = pod->stopping;
	report->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	report->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	rh_copy(report->reason, sizeof(report->reason), report->exit_code == 0 ? "Completed" : "Error");
	report->finished_at = pod_end_time(pod, container);
	container->state = RH_SHIM_LEAVING;
	container->due = now;
}

void rh_shim_pod_reap(struct rh_shim_pod *pod, int64_t now)
{
	int status = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		rh_shim_exec_reap(pod->exec, pid, status);
		for (size_t i = 0; i < pod->plan->spec_count; i++) {
			struct rh_shim_container *container = &pod->containers[i];

			if (container->state == RH_SHIM_RUNNING && container->pid == pid)
				pod_take_end(pod, container, status, now);
			else if (container->state == RH_SHIM_LEAVING)
				container->due = now;
		}
	}
	pod->childless = pid < 0 && errno == ECHILD;
}

/* The container of a child process: by its session, else by the mark in its environment; -1: unknown. */
static int pod_owner_of_child(const struct rh_shim_pod *pod, const struct rh_shim_process *process)
{
	size_t count = pod->plan->spec_count;
	int owner;

	for (size_t i = 0; i < count; i++) {
		if (pod_is_active(&pod->containers[i]) && pod->containers[i].pid == process->session)
			return (int)i;
	}
	owner = rh_shim_exec_container(pod->exec, process->session);
	if (owner >= 0)
		return owner;
	for (size_t i = 0; i < count; i++) {
		const char *mark = rh_shim_spec_mark(&pod->plan->specs[i]);

		if (pod_is_active(&pod->containers[i]) && mark && rh_shim_tree_has_entry(process->pid, mark))
			return (int)i;
	}
	return -1;
}

/* Find what belongs to container number `index`; the last one that is active owns all there is. */
static void pod_scan(const struct rh_shim_pod *pod, size_t index, struct rh_shim_tree *tree)
{
	bool alone = pod_active_count(pod) == 1;

	(void)rh_shim_tree_scan(tree);
	for (size_t i = 0; i < tree->count; i++) {
		struct rh_shim_process *process = &tree->items[i];

		if (alone)
			process->owner = (int)index;
		else if (process->above != SIZE_MAX)
			process->owner = tree->items[process->above].owner;
		else
			process->owner = pod_owner_of_child(pod, process);
	}
}

/* Send `number` to what belongs to container number `index`. @return how many there are */
static size_t pod_signal_owned(const struct rh_shim_pod *pod, size_t index, int number)
{
	rh_auto_shim_tree tree = {0};
	size_t count = 0;

	pod_scan(pod, index, &tree);
	for (size_t i = 0; i < tree.count; i++) {
		if (tree.items[i].owner != (int)index)
			continue;
		count++;
		if (number != 0)
			rh_shim_tree_signal(&tree.items[i], number);
	}
	return count;
}

/* Which signal what a container left is to get now. When all is being stopped, it has its SIGTERM and the rest of the
 * pod's grace. */
static int pod_leave_signal(const struct rh_shim_pod *pod, const struct rh_shim_container *container, int64_t now)
{
	if (container->reported_at == RH_NEVER)
		return pod->stopping ? 0 : SIGTERM;
	return now - container->reported_at >= POD_LEFTOVER_GRACE ? SIGKILL : 0;
}

/* End what a container's first process left. */
static void pod_leave(struct rh_shim_pod *pod, size_t index, int64_t now)
{
	struct rh_shim_container *container = &pod->containers[index];
	int number = pod_leave_signal(pod, container, now);
	bool hopeless = container->reported_at != RH_NEVER && now - container->reported_at > POD_KILL_PATIENCE;

	if (pod->childless || hopeless || pod_signal_owned(pod, index, number) == 0) {
		pod_blame_memory(pod, container);
		pod_conclude(pod, container, now);
		return;
	}
	if (number == SIGTERM)
		container->reported_at = now;
	container->due = now + (number == SIGKILL ? POD_KILL_PAUSE : POD_LEFTOVER_GRACE);
}

/* Whether the init containers before number `index` are done, and the sidecars among them have run; a regular container
 * comes after all of them. */
static bool pod_may_start(const struct rh_shim_pod *pod, size_t index)
{
	for (size_t i = 0; i < index && pod->plan->specs[i].init; i++) {
		const struct rh_shim_container *before = &pod->containers[i];

		if (before->spec->sidecar ? before->pid == 0 : before->state != RH_SHIM_ENDED || before->report.exit_code != 0)
			return false;
	}
	return true;
}

/* Whether container number `index` will never start: an init container before it failed for good. */
static bool pod_is_blocked(const struct rh_shim_pod *pod, size_t index)
{
	for (size_t i = 0; i < index && pod->plan->specs[i].init; i++) {
		const struct rh_shim_container *before = &pod->containers[i];

		if (!before->spec->sidecar && before->state == RH_SHIM_ENDED && before->report.exit_code != 0)
			return true;
	}
	return false;
}

static void pod_step_container(struct rh_shim_pod *pod, size_t index, int64_t now)
{
	struct rh_shim_container *container = &pod->containers[index];

	if (container->state == RH_SHIM_LEAVING && now >= container->due)
		pod_leave(pod, index, now);
	else if (container->state == RH_SHIM_LEAVING || pod->stopping)
		return;
	else if (container->state == RH_SHIM_QUEUED && pod_may_start(pod, index))
		pod_start(pod, container, now);
	else if (container->state == RH_SHIM_RESTING && now >= container->due)
		pod_start(pod, container, now);
}

/* Container number `index` does not run, and will not. */
static bool pod_is_past(const struct rh_shim_pod *pod, size_t index)
{
	const struct rh_shim_container *container = &pod->containers[index];

	if (container->state == RH_SHIM_QUEUED)
		return pod->stopping || pod_is_blocked(pod, index);
	return container->state == RH_SHIM_ENDED;
}

/* Nothing runs, and nothing will: an init container failed for good, or all regular ones ended. @param sidecars whether
 * they count */
static bool pod_is_over(const struct rh_shim_pod *pod, bool sidecars)
{
	for (size_t i = 0; i < pod->plan->spec_count; i++) {
		if ((sidecars || !pod->plan->specs[i].sidecar) && !pod_is_past(pod, i))
			return false;
	}
	return true;
}

/* Cancel pending restarts. */
static void pod_end_resting(struct rh_shim_pod *pod)
{
	for (size_t i = 0; i < pod->plan->spec_count; i++) {
		struct rh_shim_container *container = &pod->containers[i];

		if (container->state != RH_SHIM_RESTING)
			continue;
		container->state = RH_SHIM_ENDED;
		container->due = RH_NEVER;
		container->report.again = false;
		rh_shim_channel_report(pod->line, &container->report);
	}
}

/* All but sidecars have ended: stop these one by one, the last first, within the pod's grace period. */
static void pod_wind(struct rh_shim_pod *pod, int64_t now)
{
	if (!pod->winding && pod->kill_at == RH_NEVER)
		pod->kill_at = now + pod->plan->grace;
	pod->winding = true;
	pod->stopping = true;
	pod_end_resting(pod);
	for (size_t i = pod->plan->spec_count; i > 0; i--) {
		struct rh_shim_container *container = &pod->containers[i - 1];

		if (!pod_is_active(container))
			continue;
		if (!container->asked)
			(void)pod_signal_owned(pod, i - 1, SIGTERM);
		container->asked = true;
		return;
	}
}

/* Send `number` to all but the sidecars. */
static void pod_signal_mains(const struct rh_shim_pod *pod, int number)
{
	rh_auto_shim_tree tree = {0};
	size_t sidecar = SIZE_MAX;

	for (size_t i = 0; i < pod->plan->spec_count; i++)
		sidecar = pod->plan->specs[i].sidecar && pod_is_active(&pod->containers[i]) ? i : sidecar;
	if (sidecar == SIZE_MAX) {
		(void)rh_shim_tree_signal_all(number);
		return;
	}
	pod_scan(pod, sidecar, &tree);
	for (size_t i = 0; i < tree.count; i++) {
		if (tree.items[i].owner < 0 || !pod->plan->specs[tree.items[i].owner].sidecar)
			rh_shim_tree_signal(&tree.items[i], number);
	}
}

void rh_shim_pod_stop(struct rh_shim_pod *pod, int64_t grace, int64_t now)
{
	int64_t end = grace > 0 ? now + grace : now;

	rh_shim_pod_reap(pod, now); /* containers that ended before ended by themselves */
	if (end < pod->kill_at)
		pod->kill_at = end;
	if (pod->stopping)
		return;
	pod->stopping = true;
	pod_end_resting(pod);
	if (grace > 0)
		pod_signal_mains(pod, SIGTERM);
}

/* SIGKILL did not help: report the known state, and stop waiting. */
static void pod_give_up(struct rh_shim_pod *pod, int64_t now)
{
	for (size_t i = 0; i < pod->plan->spec_count; i++) {
		struct rh_shim_container *container = &pod->containers[i];

		if (!pod_is_active(container))
			continue;
		if (container->state == RH_SHIM_RUNNING)
			pod_take_end(pod, container, SIGKILL, now);
		rh_copy(container->report.message, sizeof(container->report.message), "a process of it did not end on SIGKILL");
		pod_conclude(pod, container, now);
	}
	pod->childless = true;
}

static void pod_kill(struct rh_shim_pod *pod, int64_t now)
{
	pod->stopping = true;
	if (pod->killed_at == RH_NEVER)
		pod->killed_at = now;
	if (!pod->childless)
		(void)rh_shim_tree_signal_all(SIGKILL);
	if (now - pod->killed_at > POD_KILL_PATIENCE)
		pod_give_up(pod, now);
	pod->kill_at = now + POD_KILL_PAUSE;
}

int64_t rh_shim_pod_step(struct rh_shim_pod *pod, int64_t now)
{
	int64_t next;

	if (now >= pod->kill_at)
		pod_kill(pod, now);
	for (size_t i = 0; i < pod->plan->spec_count; i++)
		pod_step_container(pod, i, now);
	if (pod_is_over(pod, false) && !pod_is_over(pod, true))
		pod_wind(pod, now);
	if (pod_is_over(pod, true) && !pod->childless && pod->killed_at == RH_NEVER)
		pod_kill(pod, now);
	next = pod->kill_at;
	for (size_t i = 0; i < pod->plan->spec_count; i++)
		next = pod->containers[i].due < next ? pod->containers[i].due : next;
	return next;
}

bool rh_shim_pod_done(const struct rh_shim_pod *pod)
{
	return pod->childless && pod_is_over(pod, true);
}
