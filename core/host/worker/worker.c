/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/worker.h"

#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/os/clock.h"
#include "base/os/random.h"
#include "host/allow.h"
#include "host/containment/guard.h"
#include "host/worker/answers.h"
#include "host/worker/messages/record.h"
#include "host/worker/messages/wire.h"
#include "host/worker/process.h"

/** First and longest wait before a process that failed twice in a row is started again, in microseconds. */
#define WORKER_WAIT_FIRST (RH_SECOND / 10)
#define WORKER_WAIT_MOST (30 * RH_SECOND)
/** How long a job is set aside before the plugin is asked about it once more, where somebody still asks. */
#define WORKER_SET_ASIDE (300 * RH_SECOND)
/** Jobs at which the plugin failed that are remembered; the oldest are forgotten. */
#define WORKER_FAULTS_MAX 256

/** How long a process has nothing to do before it ends. */
#define WORKER_REST (60 * RH_SECOND)

/** A job at which the plugin failed. */
struct worker_fault {
	uint64_t job; /* hash of its name and spec: a job that is changed is another one */
	int count;
	char *words;   /* what it did the last time; owned; NULL: memory was out */
	int64_t until; /* when it may be tried once more, monotonic */
};

/** What the process does. */
enum worker_state {
	WORKER_NONE,    /* there is none */
	WORKER_LOADING, /* it has not described itself yet */
	WORKER_IDLE,    /* it waits for a request */
	WORKER_BUSY,    /* its answer is to come */
	WORKER_LEAVING  /* it is dismissed */
};

/** A request in progress: what is needed once its answer comes. */
struct worker_call {
	uint64_t key;     /* of the request */
	uint64_t job_key; /* of the job that the process has once it has answered */
	uint64_t job;     /* hash of the job's name and spec */
	bool retry;       /* failures are counted, see rh_host_set_retry() */
	int events;       /* epoll descriptor that is readable when the answer comes; -1: none */
	int64_t began;    /* monotonic */
};

struct rh_worker {
	const struct rh_config *config;
	char *path; /* owned */
	enum worker_state state;
	struct rh_loadable file;      /* checked, and kept open for later processes */
	struct rh_process *process;   /* NULL: none runs */
	struct rh_hello *hello;       /* what the first process described */
	uint64_t job;                 /* key of the job that the process has; 0: none */
	struct worker_call call;      /* while it loads or is busy */
	struct rh_worker_turns turns; /* jobs whose answer is to come after their pass */
	bool slow;                    /* its last answer did: the next one is not waited for */
	struct rh_hash_key seed;      /* of keys: nobody can make two jobs with one key */
	struct worker_fault faults[WORKER_FAULTS_MAX];
	size_t fault_count;
	int failures;  /* processes that failed in a row */
	int64_t until; /* when the next one may be started, or one that leaves is to be gone; monotonic */
	int64_t used;  /* when it last answered; monotonic */
};

struct rh_worker *rh_worker_new(const struct rh_config *config, const char *path)
{
	struct rh_worker *worker = rh_alloc(sizeof(*worker));

	if (!worker)
		return NULL;
	worker->config = config;
	worker->file.fd = -1;
	worker->seed = (struct rh_hash_key){{rh_random_seed(), rh_random_seed()}};
	worker->path = rh_strdup(path);
	if (worker->path)
		return worker;
	rh_worker_free(worker);
	return NULL;
}

void rh_worker_dismiss(struct rh_worker *worker)
{
	if (!worker->process)
		return;
	rh_process_dismiss(worker->process);
	worker->state = WORKER_LEAVING;
}

static void worker_end(struct rh_worker *worker)
{
	rh_process_free(rh_take(worker->process));
	worker->state = WORKER_NONE;
	worker->job = 0;
}

void rh_worker_free(struct rh_worker *worker)
{
	if (!worker)
		return;
	worker_end(worker);
	rh_worker_turns_deinit(&worker->turns);
	for (size_t i = 0; i < worker->fault_count; i++)
		rh_free(worker->faults[i].words);
	rh_hello_free(worker->hello);
	rh_loadable_deinit(&worker->file);
	rh_free(worker->path);
	rh_free(worker);
}

void rh_worker_stop(struct rh_worker *worker)
{
	worker_end(worker);
}

int rh_worker_open(struct rh_worker *worker, struct rh_error *err)
{
	rh_auto_free char *name = NULL;
	struct rh_pin pin;

	if (worker->file.fd >= 0)
		return 0;
	name = rh_files_name(worker->path);
	if (!name)
		return rh_fail_oom(err);
	pin = rh_allow_pin(worker->config, name);
	return rh_loader_check(worker->path, &pin, &worker->file, err);
}

/** @return whether another file is at the path by now */
static bool worker_is_replaced(const struct rh_worker *worker)
{
	struct stat kept, there;

	return fstat(worker->file.fd, &kept) == 0 &&
	       (stat(worker->file.real, &there) < 0 || kept.st_ino != there.st_ino || kept.st_dev != there.st_dev);
}

/**
 * Each process gets the file that was checked, whatever is installed meanwhile: the copy of a pinned one, else the
 * descriptor of one that was replaced; else it opens the file itself, and knows by what path it was loaded.
 */
int rh_worker_start(struct rh_worker *worker, struct rh_error *err)
{
	const struct rh_loadable none = {.fd = -1};
	bool by_path;
	int r;

	if (worker->process)
		return 0;
	if (!worker->config->plugin_worker)
		return rh_fail(err, RH_EIO, "the program roundhouse-plugin-worker is not installed beside this one");
	r = rh_worker_open(worker, err);
	if (r < 0)
		return r;
	by_path = !worker->file.is_copy && !worker_is_replaced(worker);
	r = rh_process_start(worker->config->plugin_worker, worker->path, by_path ? &none : &worker->file,
	                     worker->config->plugin_time_limit, &worker->process, err);
	if (r == 0)
		worker->state = WORKER_LOADING;
	return r;
}

/** Without a limit: the worker's answer has one. The deadline of a run and an interrupt end the program as ever. */
static void worker_enter(const char *plugin, const char *operation, const char *object, struct rh_guard *guard)
{
	*guard = (struct rh_guard){.plugin = plugin, .operation = operation, .object = object, .limit = RH_NEVER};
	rh_guard_enter(guard);
}

/** Wait for the hello of a process that was started. @return as rh_process_receive() */
static int worker_load(struct rh_worker *worker, int64_t patience, struct rh_hello **ret_hello, struct rh_error *err)
{
	rh_auto_str message = {0};
	int r = rh_process_receive(worker->process, patience, &message, err);

	if (r == 0)
		r = rh_hello_read(&message, ret_hello, err);
	if (r == 0)
		worker->state = WORKER_IDLE;
	else if (r != RH_EAGAIN)
		worker_end(worker);
	return r;
}

int rh_worker_describe(struct rh_worker *worker, const struct rh_hello **ret_hello, struct rh_error *err)
{
	int r = rh_worker_start(worker, err);
	struct rh_guard guard;

	if (r < 0)
		return r;
	worker_enter(worker->path, "loading", NULL, &guard);
	r = worker_load(worker, RH_NEVER, &worker->hello, err);
	rh_guard_leave();
	worker->used = rh_clock_monotonic();
	if (r == 0)
		*ret_hello = worker->hello;
	return r;
}

/** The file may be another one by now, whose kinds the host has not seen. */
static int worker_greet(struct rh_worker *worker, int64_t patience, struct rh_error *err)
{
	rh_auto(hello) hello = NULL;
	int r = worker_load(worker, patience, &hello, err);

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
static int worker_count_fault(struct rh_worker *worker, uint64_t job, const struct rh_error *err)
{
	struct worker_fault *fault = worker_find_fault(worker, job);

	if (!fault) {
		if (worker->fault_count == WORKER_FAULTS_MAX) {
			rh_free(worker->faults[0].words);
			memmove(worker->faults, worker->faults + 1, --worker->fault_count * sizeof(*worker->faults));
		}
		fault = &worker->faults[worker->fault_count++];
		*fault = (struct worker_fault){.job = job};
	}
	rh_free(fault->words);
	fault->words = err ? rh_strdup(err->message) : NULL;
	fault->until = rh_clock_monotonic() + WORKER_SET_ASIDE;
	return ++fault->count;
}

/** The plugin failed at a job once more. The next process is started at once, later ones after a growing time. */
static int worker_fail(struct rh_worker *worker, struct rh_error *err)
{
	int count;

	worker_end(worker);
	if (worker->failures++ > 0)
		worker->until = rh_clock_monotonic() +
		                (worker->failures > 10 ? WORKER_WAIT_MOST : WORKER_WAIT_FIRST << (worker->failures - 2));
	if (!worker->call.retry)
		return RH_EPLUGIN;
	count = worker_count_fault(worker, worker->call.job, err);
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
		return rh_fail(err, RH_EIO,
		               "it failed at this job %d times, so the job is set aside until its spec changes%s%s",
		               fault->count, fault->words ? ": " : "", fault->words ? fault->words : "");
	if (worker->state == WORKER_NONE && rh_clock_monotonic() < worker->until)
		return rh_fail(err, RH_EAGAIN, "its worker process failed %d times in a row and is started again soon",
		               worker->failures);
	return 0;
}

/** @return whether all of an answer can be replayed */
static bool worker_is_well_formed(const struct rh_str *answer)
{
	struct rh_wire wire = rh_wire_read(answer->data, answer->length);
	struct rh_outcome outcome;
	uint8_t more;
	int count = 0;

	while ((more = rh_wire_byte(&wire)) == 1 && rh_record_replay(&wire, NULL, &outcome) == 0)
		count++;
	return count > 0 && more == 0 && rh_wire_is_complete(&wire);
}

/** Take the answer of a busy process. @return as rh_process_receive() */
static int worker_take(struct rh_worker *worker, int64_t patience, struct rh_str *answer, struct rh_error *err)
{
	int r = rh_process_receive(worker->process, patience, answer, err);

	if (r == 0 && !worker_is_well_formed(answer))
		r = rh_process_reject(worker->process, err);
	if (r == 0)
		worker->job = worker->call.job_key;
	return r;
}

/** The process has answered, or failed: what that means for who asked. @return see rh_worker_ask() */
static int worker_settle(struct rh_worker *worker, int r, struct rh_error *err)
{
	worker->used = rh_clock_monotonic();
	worker->slow = worker->used - worker->call.began > RH_WORKER_PATIENCE;
	if (r == 0) {
		worker->failures = 0;
		worker->state = WORKER_IDLE;
		return 0;
	}
	if (r == RH_EPLUGIN)
		return worker_fail(worker, err);
	worker_end(worker);
	return r == RH_EIO && worker->call.retry ? RH_EAGAIN : r;
}

/** Send the request. @return as rh_process_send() */
static int worker_send(struct rh_worker *worker, const struct rh_ask *ask, struct rh_worker_request *request,
                       struct rh_error *err)
{
	struct rh_piece pieces[RH_REQUEST_PIECES];

	if (rh_request_finish(request, ask, worker->job, pieces) < 0)
		return rh_fail_oom(err);
	worker->state = WORKER_BUSY;
	return rh_process_send(worker->process, ask->name, pieces, RH_REQUEST_PIECES, err);
}

/** Start the process where there is none, send it the request, and wait for its answer. @return as rh_process_receive()
 */
static int worker_exchange(struct rh_worker *worker, const struct rh_ask *ask, struct rh_worker_request *request,
                           int64_t patience, struct rh_str *answer, struct rh_error *err)
{
	int r = rh_worker_start(worker, err);

	if (r == 0 && worker->state == WORKER_LOADING)
		r = worker_greet(worker, patience, err);
	if (r == 0)
		r = worker_send(worker, ask, request, err);
	return r == 0 ? worker_take(worker, patience, answer, err) : r;
}

static void worker_begin(struct rh_worker *worker, const struct rh_ask *ask, const struct rh_worker_request *request)
{
	const struct rh_host *host = ask->snapshot->host;

	/* one that ended meanwhile did not fail at this job */
	if (worker->state == WORKER_LEAVING || (worker->state == WORKER_IDLE && !rh_process_is_ready(worker->process)))
		worker_end(worker);
	worker->call = (struct worker_call){.key = request->key,
	                                    .job_key = request->job_key,
	                                    .job = host->retries ? worker_job_hash(ask->snapshot->job) : 0,
	                                    .retry = host->retries,
	                                    .events = host->events,
	                                    .began = rh_clock_monotonic()};
}

static int worker_watch(struct rh_worker *worker, struct rh_error *err)
{
	return worker->call.events >= 0 ? rh_process_watch(worker->process, worker->call.events, err) : 0;
}

/** The answer is to come: the loop steps the worker then. @return RH_EAGAIN, or why it cannot be waited for */
static int worker_await(struct rh_worker *worker, struct rh_answers *answers, struct rh_error *err)
{
	int r = worker_watch(worker, err);

	if (r < 0)
		return worker_settle(worker, r, err);
	if (answers)
		rh_worker_turns_ask(&worker->turns, answers);
	return rh_fail(err, RH_EAGAIN, "its answer is to come");
}

/**
 * @return how long an operation waits for its answer. In a controller nobody may hold up the others: who has no place
 * for a later answer, as a webhook, goes on without one
 */
static int64_t worker_patience(const struct rh_worker *worker, const struct rh_snapshot *snapshot)
{
	if (!snapshot->answers && snapshot->host->events < 0)
		return RH_NEVER;
	if (worker->slow)
		return 0;
	if (!snapshot->answers)
		return RH_WORKER_GUEST_PATIENCE;
	/* one that has to start first, and one that failed the last time, are not worth the wait */
	return worker->process && worker->failures == 0 ? snapshot->host->patience : 0;
}

/** @return see rh_worker_ask() */
static int worker_ask_now(struct rh_worker *worker, const struct rh_ask *ask, struct rh_worker_request *request,
                          struct rh_str *answer, struct rh_error *err)
{
	struct rh_answers *answers = ask->snapshot->answers;
	struct rh_guard guard;
	int64_t patience;
	int r;

	worker_begin(worker, ask, request);
	patience = worker_patience(worker, ask->snapshot);
	worker_enter(ask->slot->name, ask->name, ask->object, &guard);
	r = worker_exchange(worker, ask, request, patience, answer, err);
	rh_guard_leave();
	return r == RH_EAGAIN ? worker_await(worker, answers, err) : worker_settle(worker, r, err);
}

/** @return whether the process does something for another job */
static bool worker_is_taken(const struct rh_worker *worker)
{
	return worker->state == WORKER_LOADING || worker->state == WORKER_BUSY;
}

int rh_worker_ask(struct rh_worker *worker, const struct rh_ask *ask, struct rh_str *answer, struct rh_error *err)
{
	__attribute__((cleanup(rh_request_deinit))) struct rh_worker_request request = {.job = NULL};
	struct rh_answers *answers = ask->snapshot->answers;
	int r;

	if (rh_request_make(&request, ask, &worker->seed) < 0)
		return rh_fail_oom(err);
	r = answers ? rh_answers_take(answers, request.key, answer, err) : 1;
	if (r != 1)
		return r;
	r = worker_check(worker, ask, err);
	if (answers && (r == RH_EAGAIN || (r == 0 && worker_is_taken(worker)))) {
		rh_worker_turns_wait(&worker->turns, answers);
		return rh_fail(err, RH_EAGAIN, "it is not the turn of this job");
	}
	if (r == 0 && !answers && worker_is_taken(worker))
		return rh_fail(err, RH_EAGAIN, "it is busy with another job");
	return r == 0 ? worker_ask_now(worker, ask, &request, answer, err) : r;
}

/** Whoever asked asks again once its process has described itself. */
static void worker_step_call(struct rh_worker *worker)
{
	bool loading = worker->state == WORKER_LOADING;
	rh_auto_str answer = {0};
	struct rh_error err = {0};
	int r = loading ? worker_greet(worker, 0, &err) : worker_take(worker, 0, &answer, &err);

	if (r == RH_EAGAIN) {
		(void)worker_watch(worker, &err); /* it may have more to send now; a process that ends is late then */
		return;
	}
	if (worker->process && worker->call.events >= 0)
		rh_process_unwatch(worker->process, worker->call.events);
	if (loading && r == 0) {
		rh_worker_turns_recall(&worker->turns);
		return;
	}
	r = worker_settle(worker, r, &err);
	rh_worker_turns_answer(&worker->turns, worker->call.key, r, &err, &answer);
}

void rh_worker_step(struct rh_worker *worker, int64_t now)
{
	if (worker_is_taken(worker))
		worker_step_call(worker);
	else if (worker->turns.first && (worker->state != WORKER_NONE || now >= worker->until))
		rh_worker_turns_call(&worker->turns);
	else if (worker->state == WORKER_LEAVING && now >= worker->until)
		worker_end(worker);
	else if (worker->state == WORKER_IDLE && now >= worker->used + WORKER_REST) {
		rh_worker_dismiss(worker);
		worker->until = now + RH_PROCESS_PARTING;
	}
}

int64_t rh_worker_deadline(const struct rh_worker *worker)
{
	if (worker_is_taken(worker))
		return rh_process_deadline(worker->process);
	if (worker->turns.first)
		return worker->state == WORKER_NONE ? worker->until : 0;
	if (worker->state == WORKER_LEAVING)
		return worker->until;
	return worker->state == WORKER_IDLE ? worker->used + WORKER_REST : RH_NEVER;
}
