/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/worker.h"

#include <string.h>

#include "base/hash.h"
#include "base/os/clock.h"
#include "host/allow.h"
#include "host/containment/guard.h"
#include "host/worker/process.h"
#include "host/worker/snapshot.h"
#include "host/worker/wire.h"

/** First and longest wait before a process that failed twice in a row is started again, in microseconds. */
#define WORKER_WAIT_FIRST (RH_SECOND / 10)
#define WORKER_WAIT_MOST (30 * RH_SECOND)
/** How long a job is set aside before the plugin is asked about it once more, where somebody still asks. */
#define WORKER_SET_ASIDE (300 * RH_SECOND)
/** Jobs at which the plugin failed that are remembered; the oldest are forgotten. */
#define WORKER_FAULTS_MAX 256
/** Largest job that is kept to compare the next one with, in bytes. */
#define WORKER_JOB_MAX ((size_t)1 << 20)

/** A job at which the plugin failed. */
struct worker_fault {
	uint64_t job; /* hash of its name and spec: a job that is changed is another one */
	int count;
	int64_t until; /* when it may be tried once more, monotonic */
};

struct rh_worker {
	const struct rh_config *config;
	char *path;                 /* owned */
	struct rh_process *process; /* NULL: none runs */
	struct rh_hello *hello;     /* what the first process described */
	struct rh_str job;          /* that the process has */
	struct worker_fault faults[WORKER_FAULTS_MAX];
	size_t fault_count;
	int failures;  /* processes that failed in a row */
	int64_t until; /* when the next one may be started; monotonic */
};

struct rh_worker *rh_worker_new(const struct rh_config *config, const char *path)
{
	struct rh_worker *worker = rh_alloc(sizeof(*worker));

	if (!worker)
		return NULL;
	worker->config = config;
	worker->path = rh_strdup(path);
	if (worker->path)
		return worker;
	rh_worker_free(worker);
	return NULL;
}

void rh_worker_dismiss(struct rh_worker *worker)
{
	if (worker->process)
		rh_process_dismiss(worker->process);
}

static void worker_end(struct rh_worker *worker)
{
	rh_process_free(rh_take(worker->process));
	rh_str_deinit(&worker->job);
}

void rh_worker_free(struct rh_worker *worker)
{
	if (!worker)
		return;
	worker_end(worker);
	rh_hello_free(worker->hello);
	rh_free(worker->path);
	rh_free(worker);
}

void rh_worker_stop(struct rh_worker *worker)
{
	worker_end(worker);
}

/** A pinned file is checked here each time, and the process gets the copy that was checked. */
int rh_worker_start(struct rh_worker *worker, struct rh_error *err)
{
	__attribute__((cleanup(rh_loadable_deinit))) struct rh_loadable copy = {.fd = -1};
	rh_auto_free char *name = NULL;
	struct rh_pin pin;
	int r;

	if (worker->process)
		return 0;
	if (!worker->config->plugin_worker)
		return rh_fail(err, RH_EIO, "the program roundhouse-plugin-worker is not installed beside this one");
	name = rh_files_name(worker->path);
	if (!name)
		return rh_fail_oom(err);
	pin = rh_allow_pin(worker->config, name);
	r = pin.sha256 || pin.public_key ? rh_loader_check(worker->path, &pin, &copy, err) : 0;
	return r < 0 ? r : rh_process_start(worker->config->plugin_worker, worker->path, &copy, &worker->process, err);
}

/** Without a limit: the worker's answer has one. The deadline of a run and an interrupt end the program as ever. */
static void worker_enter(const char *plugin, const char *operation, const char *object, struct rh_guard *guard)
{
	*guard = (struct rh_guard){.plugin = plugin, .operation = operation, .object = object, .limit = RH_NEVER};
	rh_guard_enter(guard);
}

/** Wait for the hello of a process that was started. */
static int worker_load(struct rh_worker *worker, struct rh_hello **ret_hello, struct rh_error *err)
{
	rh_auto_str message = {0};
	struct rh_guard guard;
	int r;

	worker_enter(worker->path, "loading", NULL, &guard);
	r = rh_process_receive(worker->process, NULL, worker->config->plugin_time_limit, &message, err);
	rh_guard_leave();
	if (r == 0)
		r = rh_hello_read(&message, ret_hello, err);
	if (r < 0)
		worker_end(worker);
	return r;
}

int rh_worker_describe(struct rh_worker *worker, const struct rh_hello **ret_hello, struct rh_error *err)
{
	int r = rh_worker_start(worker, err);

	if (r == 0)
		r = worker_load(worker, &worker->hello, err);
	if (r == 0)
		*ret_hello = worker->hello;
	return r;
}

/** The file may be another one by now, whose kinds the host has not seen. */
static int worker_restart(struct rh_worker *worker, struct rh_error *err)
{
	rh_auto(hello) hello = NULL;
	int r = rh_worker_start(worker, err);

	if (r == 0)
		r = worker_load(worker, &hello, err);
	if (r < 0 || rh_hello_equal(hello, worker->hello))
		return r;
	worker_end(worker);
	return rh_fail(err, RH_EPLUGIN, "its file describes itself in another way than when it was loaded; start anew");
}

static uint64_t worker_job_hash(const struct rh_job *job)
{
	rh_auto_free char *spec = rh_json_text(rh_json_get(job->object, "spec"));
	rh_auto_free char *text = rh_asprintf("%s/%s/%s/%s", job->kind->kind, job->namespace_, job->name, spec ? spec : "");

	return text ? rh_hash(text, strlen(text)) : 0;
}

static struct worker_fault *worker_find_fault(struct rh_worker *worker, uint64_t job)
{
	for (size_t i = 0; i < worker->fault_count; i++) {
		if (worker->faults[i].job == job)
			return &worker->faults[i];
	}
	return NULL;
}

/** @return how often the plugin failed at the job, this time included */
static int worker_count_fault(struct rh_worker *worker, uint64_t job)
{
	struct worker_fault *fault = worker_find_fault(worker, job);

	if (!fault) {
		if (worker->fault_count == WORKER_FAULTS_MAX)
			memmove(worker->faults, worker->faults + 1, --worker->fault_count * sizeof(*worker->faults));
		fault = &worker->faults[worker->fault_count++];
		*fault = (struct worker_fault){.job = job};
	}
	fault->until = rh_clock_monotonic() + WORKER_SET_ASIDE;
	return ++fault->count;
}

/** The plugin failed at a job once more. The next process is started at once, later ones after a growing time. */
static int worker_fail(struct rh_worker *worker, const struct rh_ask *ask, struct rh_error *err)
{
	bool retry = ask->snapshot->host->retries;
	int count;

	worker_end(worker);
	if (worker->failures++ > 0)
		worker->until = rh_clock_monotonic() +
		                (worker->failures > 10 ? WORKER_WAIT_MOST : WORKER_WAIT_FIRST << (worker->failures - 2));
	if (!retry)
		return RH_EPLUGIN;
	count = worker_count_fault(worker, worker_job_hash(ask->snapshot->job));
	if (count < RH_WORKER_TRIES)
		return RH_EAGAIN;
	return rh_wrap(err, RH_EIO, "it failed at this job %d times, so the job is set aside until its spec changes",
	               count);
}

/** Refuse to ask where that is useless, or too early. */
static int worker_check(struct rh_worker *worker, const struct rh_ask *ask, struct rh_error *err)
{
	const struct worker_fault *fault;

	if (!ask->snapshot->host->retries)
		return 0;
	fault = worker->fault_count > 0 ? worker_find_fault(worker, worker_job_hash(ask->snapshot->job)) : NULL;
	if (fault && fault->count >= RH_WORKER_TRIES && rh_clock_monotonic() < fault->until)
		return rh_fail(err, RH_EIO, "it failed at this job %d times, so the job is set aside until its spec changes",
		               fault->count);
	if (!worker->process && rh_clock_monotonic() < worker->until)
		return rh_fail(err, RH_EAGAIN, "its worker process failed %d times in a row and is started again soon",
		               worker->failures);
	return 0;
}

static void worker_put_pods(struct rh_str *out, const struct rh_ask *ask)
{
	rh_auto_free char *pod = rh_json_text(ask->pod);

	out->failed = out->failed || !pod;
	rh_wire_put_text(out, pod);
	rh_wire_put_text(out, ask->type);
	rh_wire_put_int(out, ask->index);
	rh_wire_put_int(out, ask->count);
}

/** @param[out] ret_job the job that the process has after this request */
static int worker_put_request(const struct rh_worker *worker, const struct rh_ask *ask, struct rh_str *ret_job,
                              struct rh_str *out)
{
	bool known;

	if (rh_snapshot_put_job(ret_job, ask->slot, ask->snapshot) < 0)
		return RH_ENOMEM;
	known = worker->job.length == ret_job->length && memcmp(worker->job.data, ret_job->data, ret_job->length) == 0;
	rh_wire_put_byte(out, (uint8_t)ask->operation);
	rh_wire_put_byte(out, !known);
	if (!known)
		rh_str_append_bytes(out, ret_job->data, ret_job->length);
	rh_snapshot_put_state(out, ask->snapshot);
	if (ask->operation == RH_OPERATION_POD)
		worker_put_pods(out, ask);
	return out->failed ? RH_ENOMEM : 0;
}

static int worker_exchange(struct rh_worker *worker, const struct rh_ask *ask, struct rh_str *answer,
                           struct rh_error *err)
{
	int64_t limit = worker->config->plugin_time_limit;
	rh_auto_str request = {0};
	rh_auto_str job = {0};
	int r = worker_put_request(worker, ask, &job, &request);

	if (r < 0)
		return rh_fail_oom(err);
	r = rh_process_send(worker->process, &request, limit, err);
	if (r == 0)
		r = rh_process_receive(worker->process, ask->name, limit, answer, err);
	rh_str_deinit(&worker->job);
	if (r == 0 && job.length <= WORKER_JOB_MAX) {
		worker->job = job;
		job = (struct rh_str){0};
	}
	return r;
}

int rh_worker_reject(struct rh_worker *worker, const struct rh_ask *ask, struct rh_error *err)
{
	(void)rh_fail(err, RH_EPLUGIN, "its worker process sent a malformed answer in %s", ask->name);
	return worker_fail(worker, ask, err);
}

int rh_worker_ask(struct rh_worker *worker, const struct rh_ask *ask, struct rh_str *answer, struct rh_error *err)
{
	struct rh_guard guard;
	int r = worker_check(worker, ask, err);

	if (r < 0)
		return r;
	/* one that ended meanwhile did not fail at this job */
	if (worker->process && !rh_process_is_ready(worker->process))
		worker_end(worker);
	r = worker->process ? 0 : worker_restart(worker, err);
	if (r == RH_EIO && ask->snapshot->host->retries)
		return RH_EAGAIN;
	if (r == 0) {
		worker_enter(ask->slot->name, ask->name, ask->object, &guard);
		r = worker_exchange(worker, ask, answer, err);
		rh_guard_leave();
	}
	if (r == 0)
		worker->failures = 0;
	return r == RH_EPLUGIN ? worker_fail(worker, ask, err) : r;
}
