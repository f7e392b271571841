/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/worker.h"

#include <string.h>

#include "base/hash.h"
#include "base/os/clock.h"
#include "base/os/random.h"
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
	uint64_t job;               /* key of the job that the process has; 0: none */
	struct rh_hash_key seed;    /* of such keys: nobody can make two jobs with one key */
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
	worker->seed = (struct rh_hash_key){{rh_random_seed(), rh_random_seed()}};
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
	worker->job = 0;
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

/** A request that is being put together. */
struct worker_request {
	struct rh_str head;  /* up to the text of the job */
	char *job;           /* NULL: the process has it; owned */
	struct rh_str state; /* up to the text of the pod */
	char *pod;           /* NULL: none is asked for; owned */
	struct rh_str tail;
	uint64_t key; /* of the job that the process has after this request */
};

static void worker_request_deinit(struct worker_request *request)
{
	rh_str_deinit(&request->head);
	rh_str_deinit(&request->state);
	rh_str_deinit(&request->tail);
	rh_free(request->job);
	rh_free(request->pod);
}

static int worker_put_pods(const struct rh_ask *ask, struct worker_request *request)
{
	request->pod = rh_json_text(ask->pod);
	if (!request->pod)
		return RH_ENOMEM;
	rh_wire_put_text_head(&request->state, strlen(request->pod));
	rh_wire_put_text(&request->tail, ask->type);
	rh_wire_put_int(&request->tail, ask->index);
	rh_wire_put_int(&request->tail, ask->count);
	return 0;
}

/** Identify the job with its addresses and settings, without its text where its version identifies it. */
static int worker_put_job(const struct rh_worker *worker, const struct rh_ask *ask, struct worker_request *request)
{
	const struct rh_job *job = ask->snapshot->job;
	bool versioned = ask->snapshot->stored && *job->uid && *job->resource_version;
	rh_auto_str context = {0};
	uint64_t keys[2];
	size_t length;

	if (!versioned && !(request->job = rh_json_text(job->object)))
		return RH_ENOMEM;
	rh_snapshot_put_context(&context, ask->slot, ask->snapshot);
	length = context.length;
	if (versioned)
		rh_str_appendf(&context, "%s/%s", job->uid, job->resource_version);
	keys[0] = context.failed ? 0 : rh_hash_keyed(&worker->seed, context.data, context.length);
	keys[1] = versioned ? 0 : rh_hash_keyed(&worker->seed, request->job, strlen(request->job));
	request->key = rh_hash_keyed(&worker->seed, keys, sizeof(keys));
	rh_wire_put_byte(&request->head, request->key != worker->job);
	if (request->key == worker->job) {
		rh_free(rh_take(request->job));
		return 0;
	}
	if (!request->job && !(request->job = rh_json_text(job->object)))
		return RH_ENOMEM;
	rh_str_append_bytes(&request->head, context.data, length);
	rh_wire_put_text_head(&request->head, strlen(request->job));
	return context.failed ? RH_ENOMEM : 0;
}

/* The random bytes follow as the last piece of the message, from where the caller wipes them. */
static void worker_put_made(const struct rh_made *made, struct rh_str *tail)
{
	rh_wire_put_text(tail, made->api_version);
	rh_wire_put_text(tail, made->kind);
	rh_wire_put_text(tail, made->name);
	rh_wire_put_size(tail, made->random_bytes);
}

static int worker_put_request(const struct rh_worker *worker, const struct rh_ask *ask, struct worker_request *request)
{
	int r;

	rh_wire_put_byte(&request->head, (uint8_t)ask->operation);
	r = worker_put_job(worker, ask, request);
	rh_snapshot_put_state(&request->state, ask->snapshot);
	if (r == 0 && ask->operation == RH_OPERATION_POD)
		r = worker_put_pods(ask, request);
	if (ask->made)
		worker_put_made(ask->made, &request->tail);
	return r < 0 || request->head.failed || request->state.failed || request->tail.failed ? RH_ENOMEM : 0;
}

static int worker_send(struct rh_worker *worker, const struct worker_request *request, const struct rh_made *made,
                       struct rh_error *err)
{
	const struct rh_piece pieces[] = {
		{request->head.data, request->head.length},
		{request->job, request->job ? strlen(request->job) + 1 : 0},
		{request->state.data, request->state.length},
		{request->pod, request->pod ? strlen(request->pod) + 1 : 0},
		{request->tail.data, request->tail.length},
		{made ? (const char *)made->random : NULL, made ? made->random_bytes : 0},
	};

	return rh_process_send(worker->process, pieces, sizeof(pieces) / sizeof(pieces[0]),
	                       worker->config->plugin_time_limit, err);
}

static int worker_exchange(struct rh_worker *worker, const struct rh_ask *ask, struct rh_str *answer,
                           struct rh_error *err)
{
	__attribute__((cleanup(worker_request_deinit))) struct worker_request request = {.job = NULL};
	int r;

	if (worker_put_request(worker, ask, &request) < 0)
		return rh_fail_oom(err);
	r = worker_send(worker, &request, ask->made, err);
	rh_free(rh_take(request.job));
	rh_free(rh_take(request.pod));
	if (r == 0)
		r = rh_process_receive(worker->process, ask->name, worker->config->plugin_time_limit, answer, err);
	worker->job = r == 0 ? request.key : 0;
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
