/* SPDX-License-Identifier: Apache-2.0 */
/* The first fault of each job: what the engine holds, what every replica wrote, and what people are told of it. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "engine/ledger.h"
#include "job/names.h"
#include "local/logs.h"
#include "local/run/parts.h"
#include "local/run/verdict.h"

/* Longest part of a sentence that repeats what a replica wrote. */
#define FAULTS_LINE_MAX 300

/* One judgement under way. All owned. */
struct faults_court {
	const struct rh_run *run;
	const struct rh_run_job *job;
	struct rh_witness *witnesses; /* one for each record */
	char **names;
	char **tails;
	int64_t *silent; /* for how long each has written nothing; RH_NEVER: unknown */
	struct rh_ledger ledger;
};

static void faults_close(struct faults_court *court)
{
	for (size_t i = 0; i < court->job->record_count; i++) {
		if (court->names)
			rh_free(court->names[i]);
		if (court->tails)
			rh_free(court->tails[i]);
	}
	rh_free(court->names);
	rh_free(court->tails);
	rh_free(court->silent);
	rh_free(court->witnesses);
	rh_ledger_deinit(&court->ledger);
}

static int64_t faults_silence(const char *path)
{
	struct stat st;
	int64_t at;

	if (stat(path, &st) < 0 || st.st_size == 0)
		return RH_NEVER;
	at = (int64_t)st.st_mtim.tv_sec * RH_SECOND + st.st_mtim.tv_nsec / 1000;
	return rh_clock_wall() > at ? rh_clock_wall() - at : 0;
}

static int faults_hear(struct faults_court *court, size_t who)
{
	const struct rh_run_record *record = &court->job->records[who];
	rh_auto_free char *log = rh_run_log_path(court->run, court->job, record);
	struct rh_witness *witness = &court->witnesses[who];
	rh_auto_str tail = {0};

	if (!log)
		return RH_ENOMEM;
	rh_log_tail(log, 0, RH_VERDICT_TAIL_MAX, &tail);
	court->silent[who] = faults_silence(log);
	court->tails[who] = rh_str_take(&tail);
	court->names[who] = rh_asprintf("%s-%" PRId32, record->type, record->index);
	if (!court->tails[who] || !court->names[who])
		return RH_ENOMEM;
	*witness = (struct rh_witness){
		.name = court->names[who],
		.rank = rh_job_rank(court->job->job, record->type, record->index),
		.running = record->started_at != 0 && record->phase != RH_PHASE_SUCCEEDED && record->phase != RH_PHASE_FAILED,
		.succeeded = record->phase == RH_PHASE_SUCCEEDED,
		.blame = (enum rh_blame)record->blame,
		.accused = record->accused,
		.silent = court->silent[who],
		.at = record->failed_at,
		.lines = record->lines ? record->lines : "",
		.tail = court->tails[who],
	};
	/* an end in the past that was followed by a new start does not keep it from being the one that hangs now */
	if (witness->running && record->blame != RH_BLAME_NONE)
		witness->running = false;
	return 0;
}

static int faults_open(struct faults_court *court, const struct rh_json *object)
{
	size_t count = court->job->record_count;

	court->witnesses = rh_alloc_array(count + 1, sizeof(*court->witnesses));
	court->names = rh_alloc_array(count + 1, sizeof(*court->names));
	court->tails = rh_alloc_array(count + 1, sizeof(*court->tails));
	court->silent = rh_alloc_array(count + 1, sizeof(*court->silent));
	if (!court->witnesses || !court->names || !court->tails || !court->silent)
		return RH_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (faults_hear(court, i) < 0)
			return RH_ENOMEM;
	}
	if (object) {
		struct rh_job seen = *court->job->job;

		seen.object = (struct rh_json *)object;
		seen.uid = court->job->uid;
		return rh_ledger_read(&seen, &court->ledger);
	}
	return 0;
}

/* The replica that the ledger names; SIZE_MAX: none. */
static size_t faults_known(const struct faults_court *court)
{
	const struct rh_first_fault *fault = &court->ledger.fault;

	if (fault->attempt != court->ledger.attempt)
		return SIZE_MAX;
	for (size_t i = 0; fault->type && i < court->job->record_count; i++) {
		if (court->job->records[i].index == fault->index && strcasecmp(court->job->records[i].type, fault->type) == 0)
			return i;
	}
	return SIZE_MAX;
}

static void faults_say_silence(const struct faults_court *court, size_t who, struct rh_str *out)
{
	char buffer[RH_TIME_SIZE];

	if (court->silent[who] == RH_NEVER)
		rh_str_append(out, "it has written nothing");
	else
		rh_str_appendf(out, "it wrote last %s ago", rh_duration_format(court->silent[who], buffer));
}

static void faults_say_headline(const struct rh_witness *witness, struct rh_str *out)
{
	const struct rh_end end = {
		.exit_code = 1, .reason = "", .output = *witness->lines ? witness->lines : witness->tail};
	struct rh_evidence evidence = rh_evidence_read(&end);
	size_t length = evidence.headline_length < FAULTS_LINE_MAX ? evidence.headline_length : FAULTS_LINE_MAX;

	if (length > 0)
		rh_str_appendf(out, " (%.*s)", (int)length, evidence.headline);
}

/* Nobody failed first: who hangs, as far as it is known. */
static void faults_say_hung(const struct faults_court *court, const struct rh_blamed *blamed, struct rh_str *out)
{
	size_t who = blamed->who;

	if (!blamed->named) {
		rh_str_append(out, "none failed, and none can be told from the others; ");
		rh_str_appendf(out, "of %s ", court->witnesses[who].name);
		faults_say_silence(court, who, out);
		return;
	}
	rh_str_appendf(out, "%s ", court->witnesses[who].name);
	if (blamed->by != SIZE_MAX && blamed->by != who) {
		rh_str_appendf(out, "%s when %s %s", court->witnesses[who].succeeded ? "had ended well" : "had not ended",
		               court->witnesses[blamed->by].name,
		               court->witnesses[blamed->by].running ? "waited for it" : "failed");
		faults_say_headline(&court->witnesses[blamed->by], out);
	} else {
		rh_str_append(out, court->job->record_count > 1 ? "had not ended, and is elsewhere than its peers"
		                                                : "had not ended");
	}
	if (court->witnesses[who].succeeded)
		return;
	rh_str_append(out, "; ");
	faults_say_silence(court, who, out);
}

static void faults_say_end(const struct faults_court *court, const struct rh_run_fault *fault, struct rh_str *out)
{
	const char *container = fault->container;

	(void)court;
	if (*container)
		rh_str_appendf(out, " (container %s)", container);
	if (fault->rank >= 0)
		rh_str_appendf(out, ", rank %" PRId32 ",", fault->rank);
	if (fault->exit_code < 0)
		rh_str_append(out, fault->at ? " was taken away" : " had not ended when it was stopped");
	else
		rh_str_appendf(out, " exited with code %" PRId32, fault->exit_code);
	if (fault->signal)
		rh_str_appendf(out, " (SIG%s%s%s)", sigabbrev_np(fault->signal), strcmp(fault->reason, "OOMKilled") ? "" : ", ",
		               strcmp(fault->reason, "OOMKilled") ? "" : fault->reason);
}

static void faults_say(const struct faults_court *court, const struct rh_blamed *blamed,
                       const struct rh_run_fault *fault, struct rh_str *out)
{
	const struct rh_witness *witness = &court->witnesses[blamed->who];

	if (blamed->blame == RH_BLAME_HUNG) {
		faults_say_hung(court, blamed, out);
		return;
	}
	if (blamed->alike) {
		rh_str_appendf(out, "all %zu replicas failed alike, as %s", court->job->record_count, witness->name);
	} else if (blamed->named) {
		rh_str_append(out, witness->name);
	} else {
		rh_str_appendf(out, "unknown: %s failed because of another replica, and it cannot be told which; it",
		               witness->name);
	}
	faults_say_end(court, fault, out);
}

static int faults_write(const struct faults_court *court, const struct rh_blamed *blamed, struct rh_run_judged *judged)
{
	const struct rh_run_record *record = &court->job->records[blamed->who];
	const struct rh_witness *witness = &court->witnesses[blamed->who];
	bool ended = blamed->blame != RH_BLAME_HUNG && !witness->running && !witness->succeeded;
	struct rh_run_fault *fault = &judged->fault;
	rh_auto_str lines = {0};
	rh_auto_str text = {0};

	judged->job = rh_strdup(court->job->job->name);
	judged->replica = blamed->named ? rh_strdup(witness->name) : NULL;
	judged->container = rh_strdup(ended && record->container ? record->container : "");
	judged->reason = rh_strdup(ended && record->reason ? record->reason : "");
	*fault = (struct rh_run_fault){
		.rank = ended ? record->rank : blamed->evidence.rank,
		.exit_code = witness->succeeded ? 0 : -1,
		.blame = rh_blame_name(blamed->blame),
	};
	if (ended) {
		fault->exit_code = record->failed_code;
		fault->signal = rh_exit_signal(record->failed_code);
		fault->at = record->failed_at;
	}
	fault->job = judged->job;
	fault->replica = judged->replica;
	fault->container = judged->container;
	fault->reason = judged->reason;
	if (!judged->job || !judged->container || !judged->reason || (blamed->named && !judged->replica))
		return RH_ENOMEM;
	faults_say(court, blamed, fault, &text);
	rh_verdict_lines(witness, blamed, &lines);
	judged->text = rh_str_take(&text);
	judged->lines = rh_str_take(&lines);
	fault->text = judged->text;
	fault->lines = judged->lines;
	return judged->text && judged->lines ? 0 : RH_ENOMEM;
}

void rh_run_faults_judge(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object)
{
	struct faults_court court = {.run = run, .job = job};
	struct rh_run_judged *judged = job->judged ? NULL : rh_alloc(sizeof(*judged));
	struct rh_blamed blamed = {.who = SIZE_MAX};

	if (judged && faults_open(&court, object) == 0)
		blamed = rh_verdict(court.witnesses, job->record_count, faults_known(&court));
	if (blamed.who != SIZE_MAX && faults_write(&court, &blamed, judged) == 0)
		job->judged = rh_take(judged);
	rh_run_judged_free(judged);
	faults_close(&court);
}

void rh_run_faults_give_up(struct rh_run *run)
{
	for (size_t i = 0; i < run->job_count; i++) {
		struct rh_run_job *job = &run->jobs[i];

		if (job->uid && !job->finished)
			rh_run_faults_judge(run, job,
			                    rh_memory_store_find(run->store, &job->resource, job->job->namespace_, job->job->name));
	}
}

void rh_run_faults_tell(const struct rh_run *run)
{
	const struct rh_run_hooks *hooks = &run->options->hooks;

	for (size_t i = 0; hooks->first_fault && i < run->job_count; i++) {
		if (run->jobs[i].judged)
			hooks->first_fault(hooks->arg, &run->jobs[i].judged->fault);
	}
}

void rh_run_judged_free(struct rh_run_judged *judged)
{
	if (!judged)
		return;
	rh_free(judged->job);
	rh_free(judged->replica);
	rh_free(judged->container);
	rh_free(judged->reason);
	rh_free(judged->text);
	rh_free(judged->lines);
	rh_free(judged);
}
