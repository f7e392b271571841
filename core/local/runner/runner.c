/* SPDX-License-Identifier: Apache-2.0 */
#include "local/runner.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "job/pod.h"
#include "job/values/names.h"
#include "local/run.h"
#include "local/runner/parts.h"
#include "local/shim/isolation/limits.h"

/* Bytes of one log that are read in one step. */
#define RUNNER_LOG_BUDGET (256U * 1024)
/* Kubernetes' grace period of a pod that sets none, in seconds. */
#define RUNNER_GRACE_DEFAULT 30
/* Most turns of rh_runner_free() that wait for the end of processes. */
#define RUNNER_FREE_TURNS 500

char *rh_runner_log_path(const char *log_dir, const char *job, const char *replica, const char *container)
{
	return rh_asprintf("%s/%s/%s/%s.log", log_dir, job, replica, container);
}

static int runner_add_containers(struct rh_runner_pod *pod, const struct rh_json *list, bool init)
{
	const char *log_dir = pod->runner->options.log_dir;

	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		struct rh_runner_container *container = &pod->containers[pod->container_count++];
		const char *name = rh_json_string(rh_json_get(item, "name"));
		const char *image = rh_json_string(rh_json_get(item, "image"));

		container->process = -1;
		container->init = init;
		container->sidecar = init && rh_text_equal(rh_json_string(rh_json_get(item, "restartPolicy")), "Always");
		container->name = rh_strdup(name ? name : "");
		container->image = rh_strdup(image ? image : "");
		container->log.path = rh_runner_log_path(log_dir, pod->job, pod->replica, name ? name : "");
		if (!container->name || !container->image || !container->log.path)
			return RH_ENOMEM;
	}
	return 0;
}

static int runner_fill(struct rh_runner_pod *pod, const struct rh_json *object)
{
	const struct rh_json *metadata = rh_json_get(object, "metadata");
	const struct rh_json *spec = rh_json_get(object, "spec");
	const struct rh_json *init = rh_json_get(spec, "initContainers");
	const struct rh_json *regular = rh_json_get(spec, "containers");
	const char *job = rh_json_string(rh_json_get(rh_json_get(metadata, "labels"), RH_LABEL_JOB));
	const char *policy = rh_json_string(rh_json_get(spec, "restartPolicy"));
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;
	char replica[RH_NAME_SIZE];

	pod->namespace_ = rh_strdup(rh_json_string(rh_json_get(metadata, "namespace")));
	pod->name = rh_strdup(rh_json_string(rh_json_get(metadata, "name")));
	pod->uid = rh_strdup(rh_json_string(rh_json_get(metadata, "uid")));
	pod->replica = rh_strdup(hooks->replica(hooks->arg, object, replica));
	pod->job_name = rh_strdup(job ? job : "");
	pod->restart_policy = rh_strdup(policy ? policy : "Always");
	if (!job)
		job = "pods";
	pod->job =
		pod->runner->options.qualify && pod->namespace_ ? rh_asprintf("%s.%s", pod->namespace_, job) : rh_strdup(job);
	pod->containers = rh_alloc_array(rh_json_size(init) + rh_json_size(regular) + 1, sizeof(*pod->containers));
	if (!pod->namespace_ || !pod->name || !pod->uid || !pod->replica || !pod->restart_policy || !pod->job ||
	    !pod->job_name || !pod->containers)
		return RH_ENOMEM;
	if (runner_add_containers(pod, init, true) < 0)
		return RH_ENOMEM;
	return runner_add_containers(pod, regular, false);
}

static struct rh_runner_pod *runner_add(struct rh_runner *runner, const struct rh_json *object)
{
	rh_auto(runner_pod) pod = rh_alloc(sizeof(*pod));
	int64_t created = 0;

	if (!pod)
		return NULL;
	pod->runner = runner;
	pod->line = -1;
	pod->grace = -1;
	pod->limit = RH_NEVER;
	if (runner_fill(pod, object) < 0)
		return NULL;
	(void)rh_time_parse(rh_json_string_at(object, "metadata.creationTimestamp"), &created, NULL);
	pod->created_at = created;
	if (rh_map_set(runner->pods, pod->uid, pod, NULL) < 0)
		return NULL;
	return rh_take(pod);
}

/* Where neither the pod nor its delete gives a grace period, the configuration does. */
static int64_t runner_grace(const struct rh_runner_pod *pod, const struct rh_json *object)
{
	int64_t seconds = 0;
	int64_t own;

	if (!rh_json_integer(rh_json_at(object, "metadata.deletionGracePeriodSeconds"), &seconds) || seconds < 0)
		return pod->runner->options.config->grace_period;
	if (seconds == RUNNER_GRACE_DEFAULT && !rh_pod_grace(rh_json_get(object, "spec"), &own))
		return pod->runner->options.config->grace_period;
	return (seconds > INT32_MAX ? INT32_MAX : seconds) * RH_SECOND;
}

/* deletionTimestamp is set, or its grace period was made shorter. */
static void runner_see_deletion(struct rh_runner_pod *pod, const struct rh_json *object)
{
	int64_t grace;

	if (!rh_json_at(object, "metadata.deletionTimestamp"))
		return;
	grace = runner_grace(pod, object);
	if (pod->deleting && pod->grace <= grace)
		return;
	pod->deleting = true;
	pod->grace = grace;
	pod->stopping = false;
}

void rh_runner_see(struct rh_runner *runner, const struct rh_json *object)
{
	const char *uid = rh_json_string_at(object, "metadata.uid");
	struct rh_runner_pod *pod = uid ? rh_map_get(runner->pods, uid) : NULL;

	if (uid && !pod)
		pod = runner_add(runner, object);
	if (pod)
		runner_see_deletion(pod, object);
	if (uid && !(pod && rh_runner_keep(pod, object)) && runner->options.hooks.lost)
		runner->options.hooks.lost(runner->options.hooks.arg);
}

static void runner_on_pod(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_runner *runner = arg;
	const char *uid = rh_json_string_at(object, "metadata.uid");
	struct rh_runner_pod *pod = uid ? rh_map_get(runner->pods, uid) : NULL;

	if (event == RH_WATCH_DELETED && pod)
		pod->gone = true;
	if (event == RH_WATCH_ADDED || event == RH_WATCH_MODIFIED)
		rh_runner_see(runner, object);
}

static void runner_on_done(void *arg, const struct rh_outcome *outcome)
{
	(void)arg; /* the watch reports a pod that is gone; requests to the runner's own store cannot fail otherwise */
	(void)outcome;
}

static int runner_submit(struct rh_runner_pod *pod, enum rh_verb verb, struct rh_json *body, rh_done_fn *done)
{
	struct rh_store *store = pod->runner->options.store;
	struct rh_request request = {.verb = verb,
	                             .resource = &rh_resource_pods,
	                             .namespace_ = pod->namespace_,
	                             .name = pod->name,
	                             .uid = pod->uid,
	                             .body = body};

	return store->submit(store, &request, done, pod, NULL, NULL);
}

static void runner_write_status(struct rh_runner_pod *pod, int64_t now)
{
	rh_auto(json) body = NULL;

	rh_runner_pod_settle(pod, now);
	body = rh_runner_pod_status(pod);
	if (body && runner_submit(pod, RH_VERB_PATCH_STATUS, rh_take(body), runner_on_done) == 0)
		pod->changed = false;
}

struct runner_line {
	const struct rh_runner_pod *pod;
	struct rh_runner_container *container;
};

static void runner_on_line(void *arg, const char *text, size_t length)
{
	const struct runner_line *line = arg;
	const struct rh_runner_pod *pod = line->pod;
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;

	line->container->partial_due = 0;
	hooks->line(hooks->arg, pod->job, pod->replica, line->container->name, text, length);
}

/* @return whether more may be readable now */
static bool runner_read_log(const struct rh_runner_pod *pod, struct rh_runner_container *container)
{
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;
	struct runner_line line = {pod, container};
	int64_t before = container->log.offset;
	bool more = rh_log_read(&container->log, RUNNER_LOG_BUDGET, runner_on_line, &line);

	if (container->log.offset > before && hooks->grown)
		hooks->grown(hooks->arg, pod->job, pod->replica, container->name, before);
	if (hooks->partial && container->log.offset > before && container->log.partial.length > 0 &&
	    container->partial_due == 0)
		container->partial_due = rh_clock_monotonic() + RH_RUN_PARTIAL;
	return more;
}

static bool runner_read_logs(struct rh_runner_pod *pod)
{
	bool more = false;

	for (size_t i = 0; i < pod->container_count; i++) {
		struct rh_runner_container *container = &pod->containers[i];
		struct runner_line line = {pod, container};

		if (!container->grown)
			continue;
		container->grown = pod->runner->options.hooks.line && runner_read_log(pod, container);
		if (container->grown)
			more = true;
		else if (pod->pid == 0 && pod->runner->options.hooks.line)
			rh_log_flush(&container->log, runner_on_line, &line);
	}
	return more;
}

/* One step. */
struct runner_round {
	int64_t now;
	int64_t clock; /* monotonic */
	int64_t due;   /* of the next step, monotonic */
};

static void runner_hurry(struct runner_round *round, int64_t due)
{
	if (due < round->due)
		round->due = due;
}

/* Starts of lines that have waited long enough. */
static void runner_partial_turn(struct rh_runner_pod *pod, struct runner_round *round)
{
	const struct rh_runner_hooks *hooks = &pod->runner->options.hooks;

	for (size_t i = 0; i < pod->container_count; i++) {
		struct rh_runner_container *container = &pod->containers[i];

		if (container->partial_due == 0)
			continue;
		if (container->partial_due > round->clock) {
			runner_hurry(round, container->partial_due);
			continue;
		}
		container->partial_due = 0;
		hooks->partial(hooks->arg, pod->job, pod->replica, container->name, rh_str_text(&container->log.partial),
		               container->log.partial.length);
	}
}

static void runner_started_turn(struct rh_runner_pod *pod, struct runner_round *round, bool logs)
{
	struct rh_runner *runner = pod->runner;

	if (pod->gone && pod->pid > 0 && !pod->stopping)
		rh_runner_kill_pod(pod);
	if (pod->deleting && pod->pid > 0 && !pod->stopping)
		rh_runner_stop(pod);
	if (pod->pid > 0 && pod->limit <= round->clock)
		rh_runner_escalate(pod);
	if (pod->pid > 0 && pod->limit != RH_NEVER)
		runner_hurry(round, pod->limit);
	if (pod->pid > 0 || logs || (pod->broken && runner->orphans_until > 0))
		return;
	rh_runner_drop_gpus(pod);
	pod->stage = RH_RUNNER_ENDED;
	pod->changed = true;
	if (pod->gone)
		runner->start_due = 0; /* a pod of its name may wait for this */
}

static void runner_pod_turn(struct rh_runner_pod *pod, struct runner_round *round)
{
	bool logs = runner_read_logs(pod);

	if (logs)
		runner_hurry(round, round->clock);
	runner_partial_turn(pod, round);
	if (pod->stage == RH_RUNNER_STARTED)
		runner_started_turn(pod, round, logs);
	if (pod->changed && !pod->gone)
		runner_write_status(pod, round->now);
	if (pod->deleting && !pod->gone && !pod->delete_sent && !pod->changed && pod->stage != RH_RUNNER_STARTED)
		pod->delete_sent = runner_submit(pod, RH_VERB_DELETE, NULL, runner_on_done) == 0;
	if (pod->changed || (pod->deleting && !pod->delete_sent && pod->stage != RH_RUNNER_STARTED))
		runner_hurry(round, round->clock + RH_RUNNER_PAUSE);
}

static void runner_forget(struct rh_runner_pod *pod)
{
	rh_runner_unlink(pod);
	if (pod->dir)
		(void)rh_dir_remove(pod->dir, NULL); /* the run's end removes what is left of it */
	rh_runner_drop_gpus(pod);
	(void)rh_map_remove(pod->runner->pods, pod->uid);
	rh_runner_pod_free(pod);
}

static void runner_reap_turn(struct rh_runner *runner, struct runner_round *round)
{
	if (!runner->child_ended && runner->orphans_until == 0)
		return;
	runner->child_ended = false;
	rh_runner_reap(runner);
	if (runner->orphans_until == 0)
		return;
	if (rh_runner_kill_orphans(runner) && round->clock < runner->orphans_until)
		runner_hurry(round, round->clock + RH_RUNNER_PAUSE);
	else
		runner->orphans_until = 0;
}

void rh_runner_step(struct rh_runner *runner, int64_t now)
{
	struct runner_round round = {now, rh_clock_monotonic(), RH_NEVER};
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	runner_reap_turn(runner, &round);
	while (rh_map_next(runner->pods, &cursor, &key, &value)) {
		struct rh_runner_pod *pod = value;

		runner_pod_turn(pod, &round);
		if (pod->gone && pod->stage != RH_RUNNER_STARTED)
			runner_forget(pod);
	}
	runner->due = round.due;
	rh_runner_end_rest(runner);
}

int64_t rh_runner_deadline(const struct rh_runner *runner)
{
	return runner->due;
}

static void runner_on_child(void *arg, int number)
{
	struct rh_runner *runner = arg;

	(void)number;
	runner->child_ended = true;
}

/* A program whose file has been replaced since it was started has no path any more. */
static char *runner_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	return access(path, X_OK) == 0 ? rh_strdup(path) : NULL;
}

static int runner_open(struct rh_runner *runner, struct rh_error *err)
{
	const struct rh_runner_options *options = &runner->options;
	int before = 0;
	int r = rh_runner_open_shim(runner, err);

	if (r < 0)
		return r;
	runner->waits = rh_shim_limits_open_waits("");
	runner->pods = rh_map_new();
	runner->noted = rh_map_new();
	if (!runner->pods || !runner->noted)
		return rh_fail_oom(err);
	rh_devices_find("", getenv("CUDA_VISIBLE_DEVICES"), &runner->devices);
	runner->program = runner_program();
	(void)prctl(PR_GET_CHILD_SUBREAPER, &before);
	runner->was_subreaper = before != 0;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1L) < 0)
		return rh_fail(err, RH_EIO, "cannot adopt processes: %s", strerror(errno));
	r = rh_loop_signal(options->loop, SIGCHLD, runner_on_child, runner, err);
	if (r == 0)
		r = rh_runner_ends_open(runner, err);
	if (r < 0)
		return r;
	return options->store->watch(options->store, &rh_resource_pods, NULL, runner_on_pod, runner) ? 0 : rh_fail_oom(err);
}

int rh_runner_new(const struct rh_runner_options *options, struct rh_runner **ret_runner, struct rh_error *err)
{
	rh_auto(runner) runner = rh_alloc(sizeof(*runner));
	int r;

	if (!runner)
		return rh_fail_oom(err);
	runner->options = *options;
	runner->shim = -1;
	runner->waits = -1;
	runner->ends = -1;
	r = runner_open(runner, err);
	if (r < 0)
		return r;
	*ret_runner = rh_take(runner);
	return 0;
}

size_t rh_runner_alive(const struct rh_runner *runner)
{
	size_t cursor = 0;
	size_t count = 0;
	void *value = NULL;
	const char *key;

	while (rh_map_next(runner->pods, &cursor, &key, &value)) {
		const struct rh_runner_pod *pod = value;

		if (pod->stage == RH_RUNNER_STARTED || pod->changed)
			count++;
	}
	return count;
}

size_t rh_runner_shims(const struct rh_runner *runner, struct rh_runner_shim *shims, size_t most)
{
	size_t cursor = 0;
	size_t count = 0;
	void *value = NULL;
	const char *key;

	while (count < most && rh_map_next(runner->pods, &cursor, &key, &value)) {
		const struct rh_runner_pod *pod = value;

		if (pod->pid > 0)
			shims[count++] = (struct rh_runner_shim){pod->pid, pod->job, pod->replica};
	}
	return count;
}

void rh_runner_kill(struct rh_runner *runner, const char *job)
{
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	while (rh_map_next(runner->pods, &cursor, &key, &value)) {
		struct rh_runner_pod *pod = value;

		if (pod->pid > 0 && (!job || strcmp(pod->job, job) == 0))
			rh_runner_kill_pod(pod);
	}
}

/* Kill all processes and wait for their end; for the exit after a fault, when no loop runs any more. */
static void runner_end_all(struct rh_runner *runner)
{
	static const struct timespec pause = {0, RH_RUNNER_PAUSE * 1000};

	rh_runner_kill(runner, NULL);
	for (int i = 0; i < RUNNER_FREE_TURNS; i++) {
		size_t cursor = 0;
		void *value = NULL;
		const char *key;
		bool lives = false;

		rh_runner_reap(runner);
		while (rh_map_next(runner->pods, &cursor, &key, &value)) {
			struct rh_runner_pod *pod = value;

			lives = lives || pod->pid > 0;
			if (pod->pid > 0 && pod->limit <= rh_clock_monotonic())
				rh_runner_escalate(pod);
		}
		if (!lives && !(runner->orphans_until > 0 && rh_runner_kill_orphans(runner)))
			return;
		(void)nanosleep(&pause, NULL);
	}
}

void rh_runner_free(struct rh_runner *runner)
{
	size_t cursor = 0;
	void *value = NULL;
	const char *key;

	if (!runner)
		return;
	if (runner->pods)
		runner_end_all(runner);
	while (runner->pods && rh_map_next(runner->pods, &cursor, &key, &value)) {
		struct rh_runner_pod *pod = value;

		runner_forget(pod);
	}
	if (!runner->was_subreaper)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 0L);
	rh_map_free(runner->pods);
	rh_map_free(runner->noted);
	rh_runner_ends_close(runner);
	rh_free(runner->program);
	if (runner->waits >= 0)
		(void)close(runner->waits);
	if (runner->shim >= 0)
		(void)close(runner->shim);
	rh_free(runner);
}
