/* SPDX-License-Identifier: Apache-2.0 */
#include "local/runner/pod.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"

/* A child between fork and exec may still have the descriptor: closing it would leave the process in the set. */
void rh_runner_container_forget(struct rh_runner_container *container)
{
	if (container->process < 0)
		return;
	(void)epoll_ctl(container->ends, EPOLL_CTL_DEL, container->process, NULL);
	(void)close(container->process);
	container->process = -1;
}

static void pod_container_deinit(struct rh_runner_container *container)
{
	rh_runner_container_forget(container);
	rh_free(container->name);
	rh_free(container->image);
	rh_free(container->last_lines);
	rh_log_deinit(&container->log);
}

void rh_runner_pod_free(struct rh_runner_pod *pod)
{
	if (!pod)
		return;
	rh_loop_unwatch(pod->watch);
	if (pod->line >= 0)
		(void)close(pod->line);
	for (size_t i = 0; i < pod->container_count; i++)
		pod_container_deinit(&pod->containers[i]);
	rh_free(pod->containers);
	rh_str_deinit(&pod->input);
	rh_free(pod->namespace_);
	rh_free(pod->name);
	rh_free(pod->uid);
	rh_free(pod->job);
	rh_free(pod->job_name);
	rh_free(pod->replica);
	rh_free(pod->restart_policy);
	rh_free(pod->ip);
	rh_free(pod->dir);
	rh_free(pod->message);
	rh_free(pod->object);
	rh_free(pod->gpus);
	rh_free(pod);
}

struct rh_runner_container *rh_runner_pod_container(struct rh_runner_pod *pod, const char *name, bool init)
{
	for (size_t i = 0; i < pod->container_count; i++) {
		if (pod->containers[i].init == init && strcmp(pod->containers[i].name, name) == 0)
			return &pod->containers[i];
	}
	return NULL;
}

static bool pod_container_running(const struct rh_runner_container *container)
{
	return container->reported && container->report.running;
}

static bool pod_container_over(const struct rh_runner_container *container)
{
	return container->reported && !container->report.running && !container->report.again;
}

/* Whether an init container lets the next ones start: it succeeded, or is a sidecar that has run. */
static bool pod_container_passed(const struct rh_runner_container *container)
{
	return container->sidecar ? container->ran : pod_container_over(container) && container->report.exit_code == 0;
}

static bool pod_pod_initialized(const struct rh_runner_pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct rh_runner_container *container = &pod->containers[i];

		if (container->init && !pod_container_passed(container))
			return false;
	}
	return pod->started_at != 0;
}

static bool pod_pod_is_ready(const struct rh_runner_pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct rh_runner_container *container = &pod->containers[i];

		if ((!container->init || container->sidecar) && !pod_container_running(container))
			return false;
	}
	return pod->stage == RH_RUNNER_STARTED;
}

void rh_runner_pod_settle(struct rh_runner_pod *pod, int64_t now)
{
	bool ready = pod_pod_is_ready(pod);

	if (pod->initialized_at == 0 && pod_pod_initialized(pod))
		pod->initialized_at = now;
	if (pod->ready_at == 0 || ready != pod->ready)
		pod->ready_at = now;
	pod->ready = ready;
}

/* What is left of a pod whose processes are all gone: its containers' exit codes decide, whatever the restart policy
 * would have done next. Those of sidecars do not count. */
static const char *pod_pod_final_phase(const struct rh_runner_pod *pod)
{
	if (pod->broken)
		return "Failed";
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct rh_runner_container *container = &pod->containers[i];

		if (!container->sidecar && (container->ended.finished_at == 0 || container->ended.exit_code != 0))
			return "Failed";
	}
	return "Succeeded";
}

const char *rh_runner_pod_phase(const struct rh_runner_pod *pod)
{
	if (pod->stage == RH_RUNNER_ENDED)
		return pod_pod_final_phase(pod);
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct rh_runner_container *container = &pod->containers[i];

		if (container->init && !pod_container_passed(container))
			return "Pending";
		/* a container that waits for its restart has run, and its pod goes on running */
		if (!container->init && !container->reported)
			return "Pending";
	}
	return pod->stage == RH_RUNNER_STARTED ? "Running" : "Pending";
}

bool rh_runner_pod_over(const struct rh_runner_pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct rh_runner_container *container = &pod->containers[i];

		if (container->init && !container->sidecar && pod_container_over(container) && container->report.exit_code != 0)
			return true;
		if (!container->sidecar && !pod_container_over(container))
			return false;
	}
	return true;
}

static int pod_set_time(struct rh_json *object, const char *key, int64_t time, bool micro)
{
	char text[RH_TIME_SIZE];

	if (time == 0)
		return rh_json_set(object, key, rh_json_new_null());
	return rh_json_set_string(object, key, micro ? rh_time_format_micro(time, text) : rh_time_format(time, text));
}

/* state.terminated and lastState.terminated. Times have microseconds, to find the first of several faults.
 */
static struct rh_json *pod_terminated(const struct rh_runner_container *container)
{
	const struct rh_shim_report *end = &container->ended;
	rh_auto(json) terminated = rh_json_new_object();
	const char *message = end->message[0] ? end->message : container->last_lines;

	if (!terminated || rh_json_set_integer(terminated, "exitCode", end->exit_code) < 0 ||
	    (end->signal != 0 && rh_json_set_integer(terminated, "signal", end->signal) < 0) ||
	    rh_json_set_string(terminated, "reason", end->reason) < 0 ||
	    (message && message[0] && rh_json_set_string(terminated, "message", message) < 0) ||
	    pod_set_time(terminated, "startedAt", end->started_at, true) < 0 ||
	    pod_set_time(terminated, "finishedAt", end->finished_at, true) < 0)
		return NULL;
	return rh_take(terminated);
}

static struct rh_json *pod_waiting(const struct rh_runner_pod *pod, const struct rh_runner_container *container)
{
	rh_auto(json) waiting = rh_json_new_object();
	const struct rh_shim_report *end = &container->ended;
	const char *reason = "PodInitializing";
	const char *message = NULL;
	char text[sizeof(end->message) + 192];

	if (pod->stage == RH_RUNNER_REFUSED) {
		reason = pod->reason;
		message = pod->message;
	} else if (container->reported) {
		reason = "CrashLoopBackOff";
		(void)snprintf(text, sizeof(text),
		               "container %s ended with exit code %" PRId32 "%s%s%s; it waits to be restarted", end->container,
		               end->exit_code, end->signal ? " (a signal)" : "", *end->message ? ": " : "", end->message);
		message = text;
	} else if (pod->stage == RH_RUNNER_QUEUED) {
		reason = "ContainerCreating";
	}
	if (!waiting || rh_json_set_string(waiting, "reason", reason) < 0 ||
	    (message && rh_json_set_string(waiting, "message", message) < 0))
		return NULL;
	return rh_take(waiting);
}

static struct rh_json *pod_running(const struct rh_runner_container *container)
{
	rh_auto(json) running = rh_json_new_object();

	if (!running || pod_set_time(running, "startedAt", container->report.started_at, true) < 0)
		return NULL;
	return rh_take(running);
}

static int pod_set_states(struct rh_json *status, const struct rh_runner_pod *pod,
                          const struct rh_runner_container *container)
{
	bool running = pod_container_running(container);
	bool over = pod_container_over(container);
	struct rh_json *state = rh_json_ensure_object(status, "state");
	struct rh_json *last = rh_json_ensure_object(status, "lastState");

	if (!state || !last)
		return RH_ENOMEM;
	if (!over && container->ended.finished_at != 0 && rh_json_set(last, "terminated", pod_terminated(container)) < 0)
		return RH_ENOMEM;
	if (running)
		return rh_json_set(state, "running", pod_running(container));
	if (over)
		return rh_json_set(state, "terminated", pod_terminated(container));
	return rh_json_set(state, "waiting", pod_waiting(pod, container));
}

static struct rh_json *pod_container_status(const struct rh_runner_pod *pod,
                                            const struct rh_runner_container *container)
{
	rh_auto(json) status = rh_json_new_object();
	bool running = pod_container_running(container);
	bool ready = container->init && !container->sidecar ? pod_container_passed(container) : running;

	if (!status || rh_json_set_string(status, "name", container->name) < 0 ||
	    rh_json_set_string(status, "image", container->image) < 0 || rh_json_set_string(status, "imageID", "") < 0 ||
	    rh_json_set_bool(status, "ready", ready) < 0 || rh_json_set_bool(status, "started", running) < 0 ||
	    rh_json_set_integer(status, "restartCount", container->reported ? container->report.restarts : 0) < 0 ||
	    pod_set_states(status, pod, container) < 0)
		return NULL;
	return rh_take(status);
}

static int pod_set_containers(struct rh_json *status, const struct rh_runner_pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct rh_runner_container *container = &pod->containers[i];
		struct rh_json *list =
			rh_json_ensure_array(status, container->init ? "initContainerStatuses" : "containerStatuses");

		if (!list || rh_json_append(list, pod_container_status(pod, container)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* One condition of the pod. */
struct runner_condition {
	const char *type;
	bool value;
	const char *reason; /* of a False */
	int64_t at;
};

static struct rh_json *pod_condition_json(const struct runner_condition *condition)
{
	rh_auto(json) json = rh_json_new_object();

	if (!json || rh_json_set_string(json, "type", condition->type) < 0 ||
	    rh_json_set_string(json, "status", condition->value ? "True" : "False") < 0 ||
	    pod_set_time(json, "lastTransitionTime", condition->at, false) < 0 ||
	    (!condition->value && rh_json_set_string(json, "reason", condition->reason) < 0))
		return NULL;
	return rh_take(json);
}

static int pod_set_conditions(struct rh_json *status, const struct rh_runner_pod *pod)
{
	const char *unready = strcmp(rh_runner_pod_phase(pod), "Succeeded") == 0 ? "PodCompleted" : "ContainersNotReady";
	const struct runner_condition all[] = {
		{"Initialized", pod->initialized_at != 0, "ContainersNotInitialized",
	     pod->initialized_at != 0 ? pod->initialized_at : pod->created_at},
		{"Ready", pod->ready, unready, pod->ready_at},
		{"ContainersReady", pod->ready, unready, pod->ready_at},
		{"PodScheduled", true, "", pod->created_at},
	};
	struct rh_json *list = rh_json_ensure_array(status, "conditions");

	for (size_t i = 0; list && i < sizeof(all) / sizeof(all[0]); i++) {
		if (rh_json_append(list, pod_condition_json(&all[i])) < 0)
			return RH_ENOMEM;
	}
	return list ? 0 : RH_ENOMEM;
}

static int pod_append_ip(struct rh_json *status, const char *key, const char *ip)
{
	rh_auto(json) item = rh_json_new_object();
	struct rh_json *list = rh_json_ensure_array(status, key);

	if (!item || !list || rh_json_set_string(item, "ip", ip) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(item));
}

static int pod_set_addresses(struct rh_json *status, const struct rh_runner_pod *pod)
{
	if (rh_json_set_string(status, "hostIP", "127.0.0.1") < 0 || pod_append_ip(status, "hostIPs", "127.0.0.1") < 0)
		return RH_ENOMEM;
	if (!pod->ip)
		return 0;
	if (rh_json_set_string(status, "podIP", pod->ip) < 0)
		return RH_ENOMEM;
	return pod_append_ip(status, "podIPs", pod->ip);
}

static int pod_set_words(struct rh_json *status, const struct rh_runner_pod *pod)
{
	if (pod->stage != RH_RUNNER_ENDED || !pod->reason)
		return 0;
	if (rh_json_set_string(status, "reason", pod->reason) < 0)
		return RH_ENOMEM;
	return pod->message ? rh_json_set_string(status, "message", pod->message) : 0;
}

struct rh_json *rh_runner_pod_status(const struct rh_runner_pod *pod)
{
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *status = patch ? rh_json_ensure_object(patch, "status") : NULL;

	if (!status || rh_json_set_string(status, "phase", rh_runner_pod_phase(pod)) < 0 ||
	    pod_set_conditions(status, pod) < 0 || pod_set_words(status, pod) < 0 || pod_set_addresses(status, pod) < 0 ||
	    (pod->started_at != 0 && pod_set_time(status, "startTime", pod->started_at, false) < 0) ||
	    pod_set_containers(status, pod) < 0)
		return NULL;
	return rh_take(patch);
}
