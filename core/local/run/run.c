/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "host/containment/guard.h"
#include "job/pod.h"
#include "job/values/names.h"
#include "job/values/patterns.h"
#include "local/run/folders/folders.h"
#include "local/run/folders/hosts.h"
#include "local/run/parts.h"
#include "local/run/progress.h"
#include "local/run/stop.h"

/* How long the engine may take to write the last status once everything has ended. */
#define RUN_SETTLE (2 * RH_SECOND)
/* How long a replica that failed waits for its peers, which are stopped then: where all fail alike, none is to blame.
 */
#define RUN_PEER_PATIENCE (RH_SECOND / 2)
/* Pause before another try where memory is short. */
#define RUN_PAUSE (RH_SECOND / 100)
/* Descriptors that a run needs beside one for each pod. */
#define RUN_DESCRIPTORS 64
/* Largest /etc/hosts of this machine that is taken over, in bytes. */
#define RUN_HOSTS_MAX (1024 * 1024)

/* Wall-clock time that does not jump: deadlines and back-off are not to be cut short or stretched by whoever sets the
 * clock. */
static int64_t run_now(const struct rh_run *run)
{
	return run->wall_start + (rh_clock_monotonic() - run->clock_start);
}

static int run_addresses(void *arg, const struct rh_job *job, int32_t attempt, struct rh_addresses *ret_addresses,
                         struct rh_error *err)
{
	struct rh_run *run = arg;
	struct rh_error local = {0};
	struct rh_run_job *mine = rh_run_job_of(run, job->uid);
	int r = rh_address_pool_plan(run->pool, job, attempt, ret_addresses, &local);

	if (r < 0 && r != RH_ENOMEM && mine)
		rh_run_job_refuse(run, mine, local.message);
	return r < 0 ? rh_fail(err, r, "%s", local.message) : 0;
}

static int64_t run_awaited(void *arg, const struct rh_job *job)
{
	const struct rh_run *run = arg;
	const struct rh_run_job *mine = rh_run_job_of(run, job->uid);
	int64_t until = mine ? rh_runner_awaited(run->runner, mine->log_name) : 0;

	return until > 0 ? until - run->clock_start + run->wall_start : 0;
}

static const struct rh_json *run_find(void *arg, const char *kind, const char *namespace_, const char *name)
{
	const struct rh_run *run = arg;
	const struct rh_resource *resource = rh_run_core_resource("v1", kind);

	return resource ? rh_memory_store_find(run->store, resource, namespace_, name) : NULL;
}

static const char *run_address(void *arg, const struct rh_json *pod)
{
	const struct rh_run *run = arg;
	const struct rh_run_job *job = rh_run_job_of_pod(run, pod);
	const struct rh_json *labels = rh_json_at(pod, "metadata.labels");
	const char *type =
		job ? rh_json_string(rh_json_get(labels, rh_patterns_label(job->job->kind, RH_LABEL_TYPE))) : NULL;
	const struct rh_address *place = NULL;

	if (type)
		place = rh_address_pool_find(run->pool, job->uid, type, rh_pod_index(job->job->kind, labels));
	return place ? place->host : NULL;
}

static const char *run_replica(void *arg, const struct rh_json *pod, char buffer[RH_NAME_SIZE])
{
	return rh_run_replica_name(arg, pod, buffer);
}

static const char *run_folder(void *arg, const struct rh_json *pod)
{
	const struct rh_run_job *job = rh_run_job_of_pod(arg, pod);

	return job ? job->folder : "/";
}

static void run_machine_hosts(struct rh_str *out)
{
	char name[HOST_NAME_MAX + 1] = "";
	rh_auto_free char *text = NULL;

	(void)rh_file_read("/etc/hosts", RUN_HOSTS_MAX, &text, NULL, NULL);
	if (gethostname(name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	rh_run_hosts_machine(out, text, name);
}

static void run_hosts(void *arg, const char *namespace_, struct rh_str *out)
{
	const struct rh_run *run = arg;

	run_machine_hosts(out);
	rh_address_pool_hosts(run->pool, namespace_, out);
}

static void run_on_note(void *arg, const char *text)
{
	rh_run_note(arg, text);
}

static void run_on_fault(void *arg, const char *text)
{
	struct rh_run *run = arg;

	/* logs that are kept unasked do not decide how a training ended */
	if (run->options->log_dir || !rh_keep_logs(run->keep))
		run->faulty = true;
	rh_run_note(run, text);
}

static void run_on_lost(void *arg)
{
	((struct rh_run *)arg)->lost = true;
}

static void run_on_refused_pod(void *arg, const struct rh_json *pod, const char *reason, const char *message)
{
	struct rh_run *run = arg;
	struct rh_run_job *job = rh_run_job_of_pod(run, pod);
	char replica[RH_NAME_SIZE];
	rh_auto_free char *text =
		rh_asprintf("replica %s: %s: %s", rh_run_replica_name(run, pod, replica), reason, message);

	if (job)
		rh_run_job_refuse(run, job, text ? text : message);
}

static void run_on_failed(void *arg, const char *uid, const struct rh_shim_report *report)
{
	rh_run_pods_failed(arg, uid, report);
}

static void run_on_line(void *arg, const char *job, const char *replica, const char *container, const char *text,
                        size_t length)
{
	const struct rh_run_hooks *hooks = &((const struct rh_run *)arg)->options->hooks;

	hooks->line(hooks->arg, job, replica, container, text, length);
}

static void run_on_partial(void *arg, const char *job, const char *replica, const char *container, const char *text,
                           size_t length)
{
	const struct rh_run_hooks *hooks = &((const struct rh_run *)arg)->options->hooks;

	hooks->partial(hooks->arg, job, replica, container, text, length);
}

static void run_on_grown(void *arg, const char *job, const char *replica, const char *container, int64_t from)
{
	struct rh_run *run = arg;

	rh_run_terminal_grown(run, job, replica, container, from);
	if (run->options->hooks.grown)
		run->options->hooks.grown(run->options->hooks.arg, job, replica, container, from);
}

static void run_on_signal(void *arg, int number)
{
	struct rh_run *run = arg;

	(void)number;
	rh_run_note(run, run->state == RH_RUN_GOING
	                     ? "stopping the replicas; press Ctrl-C or send the signal again to kill them at once"
	                     : "killing the replicas");
	rh_run_stop(run, RH_RUN_INTERRUPTED);
}

static bool run_all_finished(const struct rh_run *run)
{
	for (size_t i = 0; i < run->job_count; i++) {
		if (!run->jobs[i].finished)
			return false;
	}
	return true;
}

/* The run is over when no process remains and all status is written; the wait for the engine's last writes is limited.
 */
static void run_step_end(void *arg, int64_t clock)
{
	struct rh_run *run = arg;
	bool over = run->state > RH_RUN_JUDGING || run_all_finished(run);
	bool settles =
		rh_memory_store_pending(run->store) > 0 || (run->state == RH_RUN_GOING && rh_engine_busy(run->engine));

	if (!over || rh_run_pods_left(run, NULL) > 0 || rh_runner_alive(run->runner) > 0) {
		run->quiet_since = 0;
	} else {
		if (run->quiet_since == 0)
			run->quiet_since = clock;
		run->done = run->done || !settles || clock - run->quiet_since >= RUN_SETTLE;
	}
	if (run->done)
		rh_loop_stop(run->loop);
}

static int64_t run_end_deadline(void *arg)
{
	const struct rh_run *run = arg;

	return run->quiet_since == 0 ? RH_NEVER : run->quiet_since + RUN_SETTLE;
}

/* @return when the run has to be stopped */
static int64_t run_limit_deadline(void *arg)
{
	const struct rh_run *run = arg;
	int64_t timeout = run->options->timeout;

	if (timeout == RH_NEVER || run->state != RH_RUN_GOING || run_all_finished(run))
		return RH_NEVER;
	return run->clock_start + timeout;
}

static void run_step_limit(void *arg, int64_t clock)
{
	struct rh_run *run = arg;

	if (clock < run_limit_deadline(run))
		return;
	rh_run_note(run, "the time limit of the run is over; stopping the replicas");
	rh_run_stop(run, RH_RUN_TIMED_OUT);
}

static void run_step_engine(void *arg, int64_t clock)
{
	struct rh_run *run = arg;

	(void)clock;
	if (run->state == RH_RUN_GOING) /* later it would only replace stopping pods */
		rh_engine_step(run->engine, run_now(run));
}

static int64_t run_engine_deadline(void *arg)
{
	const struct rh_run *run = arg;
	int64_t deadline = run->state == RH_RUN_GOING ? rh_engine_deadline(run->engine) : RH_NEVER;

	return deadline == RH_NEVER ? RH_NEVER : deadline - run->wall_start + run->clock_start;
}

static void run_step_starts(void *arg, int64_t clock)
{
	const struct rh_run *run = arg;

	(void)clock;
	rh_runner_start_queued(run->runner, run_now(run));
}

static int64_t run_starts_deadline(void *arg)
{
	return rh_runner_start_deadline(((const struct rh_run *)arg)->runner);
}

static void run_step_runner(void *arg, int64_t clock)
{
	const struct rh_run *run = arg;

	(void)clock;
	rh_runner_step(run->runner, run_now(run));
}

static int64_t run_runner_deadline(void *arg)
{
	return rh_runner_deadline(((const struct rh_run *)arg)->runner);
}

/* Read again the objects whose events were lost while memory was short. */
static void run_recover(struct rh_run *run)
{
	if (!run->lost)
		return;
	run->lost = false;
	rh_run_jobs_see(run);
	rh_run_pods_see(run);
}

static void run_step_store(void *arg, int64_t clock)
{
	struct rh_run *run = arg;

	run->clock = clock;
	rh_memory_store_set_time(run->store, run_now(run));
	rh_memory_store_drain(run->store);
	run_recover(run);
	rh_run_jobs_write(run, run_now(run));
}

static int64_t run_store_deadline(void *arg)
{
	const struct rh_run *run = arg;

	if (rh_memory_store_pending(run->store) > 0)
		return run->clock;
	return run->lost ? run->clock + RUN_PAUSE : RH_NEVER;
}

/*
 * What a run does in each turn of the loop, in this order. Events come first. Pods are started before the engine and
 * the stop may delete them. The end follows all that ends pods.
 */
enum run_order {
	RUN_STORE,
	RUN_STARTS,
	RUN_LIMIT,
	RUN_ENGINE,
	RUN_RUNNER,
	RUN_STOP,
	RUN_END,
	RUN_SAMPLES,
	RUN_CONTROL
};

static int run_add_sources(struct rh_run *run, struct rh_error *err)
{
	const struct rh_loop_source sources[] = {
		{run_step_store, run_store_deadline, run, RUN_STORE},
		{run_step_starts, run_starts_deadline, run, RUN_STARTS},
		{run_step_limit, run_limit_deadline, run, RUN_LIMIT},
		{run_step_engine, run_engine_deadline, run, RUN_ENGINE},
		{run_step_runner, run_runner_deadline, run, RUN_RUNNER},
		{rh_run_stop_judge, rh_run_stop_judge_deadline, run, RUN_STOP},
		{rh_run_stop_step, rh_run_stop_deadline, run, RUN_STOP},
		{rh_run_terminal_step, rh_run_terminal_deadline, run, RUN_STOP},
		{run_step_end, run_end_deadline, run, RUN_END},
		{rh_run_stall_step, rh_run_stall_deadline, run, RUN_SAMPLES},
		{rh_run_load_step, rh_run_load_deadline, run, RUN_SAMPLES},
		{rh_run_control_step, rh_run_control_deadline, run, RUN_CONTROL},
	};

	return rh_loop_add_all(run->loop, sources, sizeof(sources) / sizeof(sources[0]), err);
}

/* Each pod needs a descriptor for its shim, and one for each container. */
static rlim_t run_job_descriptors(const struct rh_job *job)
{
	rlim_t need = 0;

	for (size_t i = 0; i < job->spec_count; i++) {
		size_t containers = rh_json_size(rh_json_at(job->specs[i].template_, "spec.containers"));

		need += (rlim_t)job->specs[i].replicas * (1 + containers);
	}
	return need;
}

/* The limit is raised only where it is needed, since pods inherit it. */
static void run_raise_limit(const struct rh_run *run)
{
	rlim_t need = RUN_DESCRIPTORS;
	struct rlimit limit;

	for (size_t i = 0; i < run->job_count; i++)
		need += run_job_descriptors(run->jobs[i].job);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = limit.rlim_max < need ? limit.rlim_max : need;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int run_open_signals(struct rh_run *run, struct rh_error *err)
{
	struct sigaction hangup;
	int r = rh_loop_signal(run->loop, SIGINT, run_on_signal, run, err);

	if (r == 0)
		r = rh_loop_signal(run->loop, SIGTERM, run_on_signal, run, err);
	/* under nohup SIGHUP stays ignored */
	if (r == 0 && sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		r = rh_loop_signal(run->loop, SIGHUP, run_on_signal, run, err);
	return r;
}

static int run_open_engine(struct rh_run *run, struct rh_error *err)
{
	const struct rh_engine_options options = {.host = run->options->host,
	                                          .store = rh_memory_store_face(run->store),
	                                          .addresses = run_addresses,
	                                          .arg = run,
	                                          .peer_patience = RUN_PEER_PATIENCE,
	                                          .awaited = run_awaited};

	return rh_engine_new(&options, &run->engine, err);
}

static int run_open_runner(struct rh_run *run, struct rh_error *err)
{
	struct rh_runner_options options = {
		.store = rh_memory_store_face(run->store),
		.loop = run->loop,
		.config = run->options->config,
		.locks = run->locks,
		.dir = run->pods_dir,
		.log_dir = run->log_dir,
		.claims_dir = run->claims_dir,
		.qualify = run->qualify,
		.terminal = {run->tty.master, run->tty.job, run->tty.replica, run->tty.container}};

	options.hooks =
		(struct rh_runner_hooks){.find = run_find,
	                             .address = run_address,
	                             .folder = run_folder,
	                             .replica = run_replica,
	                             .hosts = run_hosts,
	                             .variables = rh_run_progress_variables,
	                             .line = run->options->hooks.line ? run_on_line : NULL,
	                             .partial = run->options->hooks.partial ? run_on_partial : NULL,
	                             .grown = run->options->hooks.grown || run->options->terminal ? run_on_grown : NULL,
	                             .note = run_on_note,
	                             .fault = run_on_fault,
	                             .refused = run_on_refused_pod,
	                             .failed = run_on_failed,
	                             .lost = run_on_lost,
	                             .arg = run};
	return rh_runner_new(&options, &run->runner, err);
}

static int run_open_pool(struct rh_run *run, struct rh_error *err)
{
	struct rh_address_options options = {.config = run->options->config, .note = run_on_note, .arg = run};
	int r = rh_locks_open(run->options->config->state_dir, &run->locks, err);

	options.locks = run->locks;
	return r < 0 ? rh_wrap(err, r, "[local] state-dir") : rh_address_pool_new(&options, &run->pool, err);
}

static int run_open(struct rh_run *run, struct rh_error *err)
{
	int r = rh_run_jobs_load(run, err);

	if (r == 0)
		r = run_open_pool(run, err);
	if (r == 0)
		r = rh_run_folders_open(run, err);
	if (r == 0)
		r = rh_loop_new(&run->loop, err);
	if (r == 0)
		r = run_open_signals(run, err);
	if (r == 0 && rh_memory_store_new(true, NULL, NULL, &run->store) < 0)
		r = rh_fail_oom(err);
	if (r < 0)
		return r;
	rh_run_control_open(run);
	rh_run_progress_open(run);
	rh_memory_store_set_time(run->store, run_now(run));
	r = run_open_engine(run, err);
	if (r == 0)
		r = rh_run_terminal_open(run, err);
	if (r == 0)
		r = run_open_runner(run, err);
	if (r == 0)
		r = rh_run_pods_watch(run, err);
	if (r == 0)
		r = run_add_sources(run, err);
	return r < 0 ? r : rh_run_jobs_store(run, err);
}

static void run_close(struct rh_run *run)
{
	rh_run_terminal_close(run);
	rh_run_control_close(run);
	rh_runner_free(run->runner);
	rh_engine_free(run->engine);
	rh_run_pods_deinit(run);
	rh_usage_deinit(&run->sample.usage);
	rh_memory_store_free(run->store);
	rh_endpoint_free(run->endpoint);
	rh_loop_free(run->loop);
	rh_address_pool_free(run->pool);
	rh_locks_free(run->locks);
	rh_run_progress_close(run);
	rh_run_dir_free(run->dir);
	if (!run->options->config->state_dir_named)
		(void)rmdir(run->options->config->state_dir); /* unless another run uses it */
	rh_free(run->pods_dir);
	rh_free(run->log_dir);
	rh_free(run->claims_dir);
	rh_run_jobs_deinit(run);
}

static int run_result(const struct rh_run *run)
{
	bool failed = run->faulty || (run->options->strict && run->replica_failed);

	for (size_t i = 0; i < run->job_count; i++)
		failed = failed || !run->jobs[i].succeeded;
	if (run->state != RH_RUN_GOING && !run_all_finished(run))
		return run->result;
	return failed ? RH_RUN_FAILED : RH_RUN_SUCCEEDED;
}

static int run_all(const struct rh_run_options *options, struct rh_keep *keep, struct rh_error *err)
{
	struct rh_run run = {.options = options, .keep = keep, .stop_by = RH_NEVER, .result = RH_RUN_FAILED};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before;
	int r;

	rh_run_control_init(&run);
	rh_run_terminal_init(&run);
	run.clock_start = rh_clock_monotonic();
	run.wall_start = rh_clock_wall();
	(void)sigaction(SIGPIPE, &ignore,
	                &before); /* the reader of the output may close the pipe; replicas must be stopped anyway */
	r = run_open(&run, err);
	if (r == 0) {
		run_raise_limit(&run);
		if (options->timeout != RH_NEVER)
			rh_guard_deadline(run.clock_start + options->timeout, RH_RUN_TIMED_OUT);
		rh_loop_run(run.loop);
		rh_guard_deadline(RH_NEVER, RH_RUN_TIMED_OUT);
		rh_run_faults_report(&run);
		run.replica_failed = rh_run_pods_report(&run) > 0;
		r = run_result(&run);
		if (keep)
			rh_keep_finish(keep, r);
	}
	run_close(&run);
	(void)sigaction(SIGPIPE, &before, NULL);
	return r;
}

int rh_run(const struct rh_run_options *options, struct rh_error *err)
{
	struct rh_run_options recorded = *options;
	rh_auto(keep) keep = NULL;
	int r;

	if (!options->keep || options->config->keep_runs == 0)
		return run_all(options, NULL, err);
	keep = rh_keep_new(&options->hooks);
	if (!keep)
		return rh_fail_oom(err);
	recorded.hooks = rh_keep_hooks(keep);
	r = run_all(&recorded, keep, err);
	if (rh_keep_logs(keep))
		rh_run_folders_rotate(options->config);
	return r;
}
