/* SPDX-License-Identifier: Apache-2.0 */
/* The first fault of each job, from the engine's data and the replicas' logs, and its report for the user. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/os/clock.h"
#include "engine/ledger.h"
#include "job/values/names.h"
#include "local/logs.h"
#include "local/run/parts.h"
#include "local/run/verdict/verdict.h"

/* Longest part of a sentence that repeats what a replica wrote. */
#define FAULTS_LINE_MAX 300
/* Who stops a run sooner after its last output does not ask what hangs. */
#define FAULTS_SILENCE (2 * RH_SECOND)

/* One evaluation in progress. All members are owned. */
struct faults_judging {
	const struct rh_run *run;
	const struct rh_run_job *job;
	struct rh_verdict_replica *replicas; /* one for each record */
	char **names;
	char **tails;
	struct rh_ledger ledger;
};

static void faults_deinit(struct faults_judging *judging)
{
	for (size_t i = 0; i < judging->job->record_count; i++) {
		if (judging->names)
			rh_free(judging->names[i]);
		if (judging->tails)
			rh_free(judging->tails[i]);
	}
	rh_free(judging->names);
	rh_free(judging->tails);
	rh_free(judging->replicas);
	rh_ledger_deinit(&judging->ledger);
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

/* The job was parsed before the store gave it a UID, on which a kind's own names may depend. */
const char *rh_run_job_replica(const struct rh_run_job *job, const char *type, int32_t index, char buffer[RH_NAME_SIZE])
{
	struct rh_pattern_replica replica = rh_job_pattern_replica(job->job, type, index);

	if (job->uid)
		replica.uid = job->uid;
	return rh_patterns_replica(job->job->kind, &replica, buffer);
}

char *rh_run_log_path(const struct rh_run *run, const struct rh_run_job *job, const struct rh_run_record *record)
{
	char name[RH_NAME_SIZE];
	const char *replica = rh_run_job_replica(job, record->type, record->index, name);

	return rh_runner_log_path(run->log_dir, job->log_name, replica, record->main ? record->main : "");
}

static int faults_read(struct faults_judging *judging, size_t who)
{
	const struct rh_run_record *record = &judging->job->records[who];
	rh_auto_free char *log = rh_run_log_path(judging->run, judging->job, record);
	struct rh_verdict_replica *replica = &judging->replicas[who];
	rh_auto_str tail = {0};

	if (!log)
		return RH_ENOMEM;
	rh_log_tail(log, 0, RH_NEVER, RH_VERDICT_TAIL_MAX, &tail);
	judging->tails[who] = rh_str_take(&tail);
	judging->names[who] = rh_asprintf("%s-%" PRId32, record->type, record->index);
	if (!judging->tails[who] || !judging->names[who])
		return RH_ENOMEM;
	*replica = (struct rh_verdict_replica){
		.name = judging->names[who],
		.rank = rh_job_rank(judging->job->job, record->type, record->index),
		.running = record->started_at != 0 && record->phase != RH_PHASE_SUCCEEDED && record->phase != RH_PHASE_FAILED,
		.succeeded = record->phase == RH_PHASE_SUCCEEDED,
		.blame = (enum rh_blame)record->blame,
		.accused = record->accused,
		.silent = faults_silence(log),
		.at = record->failing_since,
		.lines = record->lines ? record->lines : "",
		.tail = judging->tails[who],
	};
	/* a replica that restarted after an earlier end may be the one that hangs now */
	if (replica->running && record->blame != RH_BLAME_NONE)
		replica->running = false;
	return 0;
}

static int faults_begin(struct faults_judging *judging, const struct rh_json *object)
{
	size_t count = judging->job->record_count;

	judging->replicas = rh_alloc_array(count + 1, sizeof(*judging->replicas));
	judging->names = rh_alloc_array(count + 1, sizeof(*judging->names));
	judging->tails = rh_alloc_array(count + 1, sizeof(*judging->tails));
	if (!judging->replicas || !judging->names || !judging->tails)
		return RH_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (faults_read(judging, i) < 0)
			return RH_ENOMEM;
	}
	if (object) {
		struct rh_job seen = *judging->job->job;

		seen.object = (struct rh_json *)object;
		seen.uid = judging->job->uid;
		return rh_ledger_read(&seen, &judging->ledger);
	}
	return 0;
}

/* The replica of the engine's record; SIZE_MAX: none. */
static size_t faults_known(const struct faults_judging *judging)
{
	const struct rh_first_fault *fault = &judging->ledger.fault;

	if (fault->attempt != judging->ledger.attempt)
		return SIZE_MAX;
	for (size_t i = 0; fault->type && i < judging->job->record_count; i++) {
		if (judging->job->records[i].index == fault->index &&
		    strcasecmp(judging->job->records[i].type, fault->type) == 0)
			return i;
	}
	return SIZE_MAX;
}

static void faults_print_silence(const struct rh_verdict_replica *replica, struct rh_str *out)
{
	char buffer[RH_TIME_SIZE];

	if (replica->silent == RH_NEVER)
		rh_str_append(out, "it has written nothing");
	else
		rh_str_appendf(out, "it wrote last %s ago", rh_duration_format(replica->silent, buffer));
}

static void faults_print_headline(const struct rh_verdict_replica *replica, struct rh_str *out)
{
	const struct rh_end end = {
		.exit_code = 1, .reason = "", .output = *replica->lines ? replica->lines : replica->tail};
	struct rh_evidence evidence = rh_evidence_read(&end);

	if (evidence.headline_length == 0)
		return;
	rh_str_append(out, " (");
	rh_str_append_line(out, evidence.headline, evidence.headline_length, FAULTS_LINE_MAX);
	rh_str_append(out, ")");
}

/* No replica failed first: report which one hangs, if known. */
static void faults_print_hung(const struct faults_judging *judging, const struct rh_blamed *blamed, struct rh_str *out)
{
	char buffer[RH_TIME_SIZE];
	size_t who = blamed->who;

	if (!blamed->named) {
		rh_str_append(out, "no replica failed, and the logs do not show which one hangs; ");
		if (judging->replicas[who].silent == RH_NEVER)
			rh_str_append(out, "none has written anything");
		else
			rh_str_appendf(out, "the last to write was %s, %s ago", judging->replicas[who].name,
			               rh_duration_format(judging->replicas[who].silent, buffer));
		return;
	}
	rh_str_appendf(out, "%s ", judging->replicas[who].name);
	if (blamed->by != SIZE_MAX && blamed->by != who) {
		rh_str_appendf(out, "%s when %s %s", judging->replicas[who].succeeded ? "had ended well" : "had not ended",
		               judging->replicas[blamed->by].name,
		               judging->replicas[blamed->by].running ? "waited for it" : "failed");
		faults_print_headline(&judging->replicas[blamed->by], out);
	} else {
		rh_str_append(out, judging->job->record_count > 1 ? "had not ended, and is elsewhere than its peers"
		                                                  : "had not ended");
	}
	if (judging->replicas[who].succeeded)
		return;
	rh_str_append(out, "; ");
	faults_print_silence(&judging->replicas[who], out);
}

static void faults_print_end(const struct rh_run_fault *fault, struct rh_str *out)
{
	if (*fault->container)
		rh_str_appendf(out, " (container %s)", fault->container);
	if (fault->rank >= 0)
		rh_str_appendf(out, ", rank %" PRId32 ",", fault->rank);
	rh_str_append(out, " ");
	if (fault->exit_code < 0)
		rh_str_append(out, fault->at ? "was taken away" : "had not ended when it was stopped");
	else
		rh_exit_print(fault->exit_code, fault->reason, out);
}

/* Those that were about to fail alike: in the table they are stopped. */
static void faults_print_rest(const struct rh_run_job *job, struct rh_str *out)
{
	const char *between = "; ";

	for (size_t i = 0; i < job->record_count; i++) {
		const struct rh_run_record *record = &job->records[i];

		if (!rh_run_record_is_stopped(record, job->succeeded))
			continue;
		rh_str_appendf(out, "%s%s-%" PRId32, between, record->type, record->index);
		between = ", ";
	}
	if (between[0] == ',')
		rh_str_append(out, " had not ended yet");
}

/* An end that was reported after the verdict is in the table: the sentence says the same. */
static void faults_print_rest_again(const struct rh_run_job *job)
{
	struct rh_run_judged *judged = job->judged;
	rh_auto_str text = {0};
	char *changed;

	if (judged->rest == 0)
		return;
	rh_str_append_bytes(&text, judged->text, judged->rest);
	faults_print_rest(job, &text);
	changed = rh_str_take(&text);
	if (!changed)
		return;
	rh_free(judged->text);
	judged->text = changed;
	judged->fault.text = changed;
}

static void faults_print(const struct faults_judging *judging, const struct rh_blamed *blamed,
                         const struct rh_run_fault *fault, struct rh_str *out)
{
	const struct rh_verdict_replica *replica = &judging->replicas[blamed->who];

	if (blamed->blame == RH_BLAME_HUNG) {
		faults_print_hung(judging, blamed, out);
		return;
	}
	if (blamed->alike) {
		rh_str_appendf(out, "all %zu replicas failed alike, as %s", judging->job->record_count, replica->name);
	} else if (blamed->named) {
		rh_str_append(out, replica->name);
	} else {
		rh_str_appendf(out, "unknown: %s failed because of another replica, which cannot be identified; it",
		               replica->name);
	}
	faults_print_end(fault, out);
}

static int faults_write(const struct faults_judging *judging, const struct rh_blamed *blamed,
                        struct rh_run_judged *judged)
{
	const struct rh_run_record *record = &judging->job->records[blamed->who];
	const struct rh_verdict_replica *replica = &judging->replicas[blamed->who];
	bool ended = blamed->blame != RH_BLAME_HUNG && !replica->running && !replica->succeeded;
	struct rh_run_fault *fault = &judged->fault;
	rh_auto_str lines = {0};
	rh_auto_str text = {0};

	judged->job = rh_strdup(judging->job->job->name);
	judged->replica = blamed->named ? rh_strdup(replica->name) : NULL;
	judged->container = rh_strdup(ended && record->container ? record->container : "");
	judged->reason = rh_strdup(ended && record->reason ? record->reason : "");
	*fault = (struct rh_run_fault){
		.rank = ended ? record->rank : blamed->evidence.rank,
		.exit_code = replica->succeeded ? 0 : -1,
		.blame = rh_blame_name(blamed->blame),
		.message_offset = (size_t)judging->ledger.fault.message_offset,
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
	faults_print(judging, blamed, fault, &text);
	if (blamed->alike && blamed->blame != RH_BLAME_HUNG) {
		judged->rest = text.length;
		faults_print_rest(judging->job, &text);
	}
	rh_verdict_lines(replica, blamed, &lines);
	judged->text = rh_str_take(&text);
	judged->lines = rh_str_take(&lines);
	fault->text = judged->text;
	fault->lines = judged->lines;
	return judged->text && judged->lines ? 0 : RH_ENOMEM;
}

/* A run that is stopped while its replicas work: none failed, and none is late. */
static bool faults_is_none(const struct faults_judging *judging, const struct rh_blamed *blamed)
{
	int64_t silent = judging->replicas[blamed->who].silent;
	int64_t age = rh_clock_monotonic() - judging->run->clock_start;

	return judging->run->result == RH_RUN_INTERRUPTED && blamed->blame == RH_BLAME_HUNG && blamed->by == SIZE_MAX &&
	       (!blamed->named || judging->job->record_count == 1) && (silent < age ? silent : age) < FAULTS_SILENCE;
}

void rh_run_faults_judge(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object)
{
	struct faults_judging judging = {.run = run, .job = job};
	struct rh_run_judged *judged = job->judged ? NULL : rh_alloc(sizeof(*judged));
	struct rh_blamed blamed = {.who = SIZE_MAX};

	if (judged && faults_begin(&judging, object) == 0)
		blamed = rh_verdict(judging.replicas, job->record_count, faults_known(&judging));
	if (blamed.who != SIZE_MAX && !faults_is_none(&judging, &blamed) && faults_write(&judging, &blamed, judged) == 0)
		job->judged = rh_take(judged);
	rh_run_judged_free(judged);
	faults_deinit(&judging);
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

void rh_run_faults_report(const struct rh_run *run)
{
	const struct rh_run_hooks *hooks = &run->options->hooks;

	for (size_t i = 0; hooks->first_fault && i < run->job_count; i++) {
		if (!run->jobs[i].judged)
			continue;
		faults_print_rest_again(&run->jobs[i]);
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
