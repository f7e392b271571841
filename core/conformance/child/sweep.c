/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/child/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "conformance/check/contract.h"
#include "conformance/check/kind.h"
#include "conformance/check/objects.h"
#include "conformance/check/pod.h"
#include "conformance/check/status.h"
#include "conformance/check/verdicts.h"
#include "conformance/child/call.h"
#include "conformance/child/leak.h"
#include "conformance/child/state.h"
#include "conformance/child/traps.h"
#include "conformance/jobs/cases.h"
#include "conformance/jobs/replicas.h"
#include "host/host.h"
#include "host/operations.h"
#include "job/expansion.h"
#include "job/kind.h"
#include "job/rules/schema/schema.h"

/** Most kinds of a plugin. */
#define SWEEP_KINDS_MAX 32
/** A job with no more replicas must fit all limits, and is shown in every state. */
#define SWEEP_SMALL 100
/** Of a job with more replicas fewer pods and states are looked at: each call takes long. */
#define SWEEP_LARGE 500
/** Answers of one case that are kept: one for each operation. */
#define SWEEP_ANSWERS 5

/** What is known of one kind. */
struct sweep_kind {
	const struct rh_kind *kind;
	struct rh_json *schema; /**< as the API server checks a job; owned */
	struct rh_json *rules;  /**< rbac_rules; owned; NULL: none */
	struct rh_contract contract;
};

/** What a process has. */
struct sweep {
	const struct rh_sweep *how;
	struct rh_board *board;
	struct rh_host *host;
	struct rh_state *state;
	struct rh_json *pod_schema;
	struct rh_cases cases;
	struct sweep_kind kinds[SWEEP_KINDS_MAX];
	size_t kind_count;
};

/** One job. */
struct sweep_job {
	struct sweep *sweep;
	struct sweep_kind *kind;
	const char *label;
	struct rh_job *job;
	struct rh_addresses addresses;
	struct rh_snapshot snapshot;
	uint64_t answers[SWEEP_ANSWERS]; /**< sums of hashes: their order does not count */
	bool valid;
	bool small;
};

/** Keep what an answer was, whatever the order of the calls is. */
static void sweep_keep(struct sweep_job *at, enum rh_stage stage, const char *state, const char *type, int32_t index,
                       const struct rh_answer *answer)
{
	char key[160];
	size_t length;

	if (!answer->text)
		return;
	length = (size_t)snprintf(key, sizeof(key), "%s/%.60s/%d", state, type ? type : "", (int)index);
	at->answers[stage - RH_STAGE_VALIDATE] +=
		rh_hash(answer->text, strlen(answer->text)) ^ (rh_hash(key, length) << 1) ^ 1;
}

static struct rh_call sweep_call(struct sweep_job *at, enum rh_stage stage, const char *state)
{
	return (struct rh_call){.board = at->sweep->board,
	                        .snapshot = &at->snapshot,
	                        .stage = stage,
	                        .label = at->label,
	                        .state = state,
	                        .valid = at->valid,
	                        .small = at->small};
}

/** Let the plugin give the replica types, where it does. Whatever the job says, it refuses it or gives what fits. */
static void sweep_expand(struct sweep_job *at)
{
	struct rh_call call = sweep_call(at, RH_STAGE_EXPAND, "");
	struct rh_answer answer;

	if (!rh_kind_expands(at->job->kind) || !rh_lookups_are_complete(at->job->kind, at->snapshot.lookups))
		return;
	call.job = at->job;
	call.valid = true;
	call.small = true;
	rh_call(&call, &answer);
	sweep_keep(at, RH_STAGE_EXPAND, "", NULL, 0, &answer);
	rh_answer_deinit(&answer);
	rh_state_check(at->sweep->state, at->sweep->board);
	at->small = rh_job_total_replicas(at->job) <= SWEEP_SMALL;
}

/** Ask validate(), and find out whether the job is valid: for the API server, the core and the plugin. */
static int sweep_validate(struct sweep_job *at)
{
	struct rh_call call = sweep_call(at, RH_STAGE_VALIDATE, "");
	rh_auto_findings findings = {0};
	struct rh_answer answer;

	if (rh_schema_check(at->kind->schema, at->job->object, RH_SCHEMA_FIELDS | RH_SCHEMA_LIMITS | RH_SCHEMA_RULES,
	                    &findings) < 0)
		return RH_ENOMEM;
	call.valid = rh_findings_errors(&findings) == 0 && rh_lookups_are_complete(at->job->kind, at->snapshot.lookups) &&
	             rh_job_is_expanded(at->job);
	rh_call(&call, &answer);
	at->valid = call.valid && answer.text && answer.result == 0 && rh_findings_errors(&answer.findings) == 0;
	sweep_keep(at, RH_STAGE_VALIDATE, "", NULL, 0, &answer);
	rh_answer_deinit(&answer);
	rh_state_check(at->sweep->state, at->sweep->board);
	return 0;
}

static int sweep_pod(struct sweep_job *at, const struct rh_replica_spec *spec, int32_t index, const char *state)
{
	rh_auto(json) before = rh_replicas_pod(at->job, spec, index);
	struct rh_call call = sweep_call(at, RH_STAGE_POD, state);
	struct rh_answer answer;
	int r = 0;

	if (!before)
		return RH_ENOMEM;
	call.type = spec->type;
	call.index = index;
	call.before = before;
	rh_call(&call, &answer);
	sweep_keep(at, RH_STAGE_POD, state, spec->type, index, &answer);
	if (answer.text && answer.result == 0 && at->valid)
		r = rh_check_pod(call.board, &at->kind->contract, before, answer.json, spec->type);
	rh_answer_deinit(&answer);
	return r;
}

/** Pods of every type: the first ones, one in the middle and the last. */
static int sweep_pods(struct sweep_job *at, const char *state)
{
	int r = 0;

	for (size_t i = 0; i < at->job->spec_count && r == 0; i++) {
		size_t place = at->sweep->how->second ? at->job->spec_count - 1 - i : i;
		const struct rh_replica_spec *spec = &at->job->specs[place];
		int32_t indices[] = {0, 1, spec->replicas / 2, spec->replicas - 1};
		size_t count = sizeof(indices) / sizeof(indices[0]);

		for (size_t k = 0; k < count && r == 0; k++) {
			size_t which = at->sweep->how->second ? count - 1 - k : k;
			bool again = spec->replicas > SWEEP_LARGE && (which == 1 || which == 2);

			for (size_t j = 0; j < which; j++)
				again = again || indices[j] == indices[which];
			if (!again && indices[which] >= 0 && indices[which] < spec->replicas)
				r = sweep_pod(at, spec, indices[which], state);
		}
	}
	rh_state_check(at->sweep->state, at->sweep->board);
	return r;
}

static void sweep_objects(struct sweep_job *at, const char *state)
{
	struct rh_call call = sweep_call(at, RH_STAGE_OBJECTS, state);
	struct rh_answer answer;

	rh_call(&call, &answer);
	sweep_keep(at, RH_STAGE_OBJECTS, state, NULL, 0, &answer);
	if (answer.text && answer.result == 0 && at->valid)
		rh_check_objects(call.board, &at->kind->contract, at->kind->rules, at->job, answer.json);
	rh_answer_deinit(&answer);
	rh_state_check(at->sweep->state, at->sweep->board);
}

static int sweep_judge(struct sweep_job *at, int pattern)
{
	static const char *const states[RH_REPLICAS_PATTERNS] = {
		", nothing started",    ", all replicas run",     ", all replicas succeeded",   ", the first type failed",
		", one replica failed", ", one replica restarts", ", the first type succeeded", ", replicas in every state"};
	struct rh_call call = sweep_call(at, RH_STAGE_JUDGE, states[pattern]);
	struct rh_replicas replicas;
	struct rh_answer answer;
	int r = rh_replicas_make(&replicas, at->job, pattern);

	if (r < 0)
		return r;
	at->snapshot.counts = replicas.counts;
	at->snapshot.pods = replicas.pods;
	at->snapshot.offsets = replicas.offsets;
	rh_call(&call, &answer);
	sweep_keep(at, RH_STAGE_JUDGE, states[pattern], NULL, 0, &answer);
	if (answer.text && answer.result == 0 && at->valid)
		rh_check_verdicts(call.board, at->job, &answer.judgement,
		                  pattern == RH_REPLICAS_SUCCEEDED && rh_job_total_replicas(at->job) > 0);
	if (answer.text && answer.result == 0 && at->valid)
		rh_check_status(call.board, at->job->kind, &answer.judgement);
	rh_answer_deinit(&answer);
	rh_replicas_free(&replicas);
	at->snapshot.counts = NULL;
	at->snapshot.pods = NULL;
	at->snapshot.offsets = NULL;
	rh_state_check(at->sweep->state, at->sweep->board);
	return 0;
}

/** The states in which a small job is shown beside the usual one. */
static int sweep_states(struct sweep_job *at)
{
	int r;

	at->snapshot.suspended = true;
	sweep_objects(at, ", suspended");
	at->snapshot.suspended = false;
	at->snapshot.finished = true;
	sweep_objects(at, ", finished");
	at->snapshot.finished = false;
	at->snapshot.attempt = 3;
	r = sweep_pods(at, ", attempt 3");
	at->snapshot.attempt = 0;
	if (r == 0)
		r = rh_replicas_addresses(at->job, &at->addresses);
	if (r < 0)
		return r;
	at->snapshot.addresses = &at->addresses;
	r = sweep_pods(at, ", on one machine");
	sweep_objects(at, ", on one machine");
	at->snapshot.addresses = NULL;
	rh_addresses_deinit(&at->addresses);
	return r;
}

static int sweep_operations(struct sweep_job *at)
{
	int r = sweep_validate(at);

	if (r == 0)
		r = sweep_pods(at, "");
	if (r < 0)
		return r;
	sweep_objects(at, "");
	for (int i = 0; i < RH_REPLICAS_PATTERNS && r == 0; i += rh_job_total_replicas(at->job) > SWEEP_LARGE ? 3 : 1)
		r = sweep_judge(at, i);
	return r == 0 && at->small ? sweep_states(at) : r;
}

/** An object of the author's files that the job could name; NULL: there is none. */
static const struct rh_json *sweep_find_other(const struct rh_manifest *files, const struct rh_lookup *lookup)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct rh_json *object = files->items[i].object;

		if (rh_text_equal(rh_json_string_at(object, "kind"), lookup->kind) &&
		    rh_text_equal(rh_json_string_at(object, "apiVersion"), lookup->api_version))
			return object;
	}
	return NULL;
}

/** Of each entry the first object that fits, whatever name the made job has for it. A job without one is not valid. */
static int sweep_look_up(const struct sweep *sweep, const struct rh_job *job, struct rh_lookups **ret_lookups)
{
	struct rh_lookup *due;
	int r = rh_lookups_new(job, ret_lookups);

	while (r == 0 && *ret_lookups && (due = rh_lookups_due(*ret_lookups)))
		r = rh_lookups_keep(*ret_lookups, due, sweep_find_other(sweep->how->jobs, due));
	return r;
}

/** Call all operations with a job. An object that the core does not take for a job is left out. */
static int sweep_job(struct sweep *sweep, struct sweep_kind *kind, const char *label, const struct rh_json *object,
                     uint64_t answers[SWEEP_ANSWERS])
{
	struct sweep_job at = {.sweep = sweep, .kind = kind, .label = label};
	rh_auto(lookups) lookups = NULL;
	struct rh_json *copy = rh_json_copy(object);
	int r = copy ? rh_host_parse(sweep->host, copy, &at.job, NULL) : RH_ENOMEM;

	if (r < 0)
		return r == RH_ENOMEM ? r : 0;
	if (sweep_look_up(sweep, at.job, &lookups) < 0) {
		rh_job_free(at.job);
		return RH_ENOMEM;
	}
	at.small = rh_job_total_replicas(at.job) <= SWEEP_SMALL;
	at.snapshot = (struct rh_snapshot){.host = sweep->host, .job = at.job, .lookups = lookups};
	sweep_expand(&at);
	/* of a job that has no replica types nothing more is asked */
	r = rh_job_is_expanded(at.job) ? sweep_operations(&at) : 0;
	memcpy(answers, at.answers, sizeof(at.answers));
	rh_job_free(at.job);
	return r;
}

static struct sweep_kind *sweep_kind_of(struct sweep *sweep, const struct rh_kind *kind)
{
	for (size_t i = 0; i < sweep->kind_count; i++) {
		if (sweep->kinds[i].kind == kind)
			return &sweep->kinds[i];
	}
	return NULL;
}

/** The types stand in the opposite order: nothing but validate()'s findings may differ. */
static int sweep_twin(struct sweep *sweep, struct sweep_kind *kind, const struct rh_case *item,
                      const uint64_t answers[SWEEP_ANSWERS])
{
	uint64_t other[SWEEP_ANSWERS] = {0};
	int r = item->twin ? sweep_job(sweep, kind, item->label, item->twin, other) : 0;

	for (int i = 1; r == 0 && item->twin && i < SWEEP_ANSWERS; i++) {
		static const char *const names[SWEEP_ANSWERS] = {"validate()", "pod()", "objects()", "judge()", "expand()"};

		if (answers[i] == other[i])
			continue;
		snprintf(sweep->board->where, sizeof(sweep->board->where), "%s: %.150s", names[i], item->label);
		rh_board_add(sweep->board, RH_CHECK_PURITY,
		             "the answer depends on the order in which the job file lists the replica types");
	}
	return r;
}

static void sweep_compare(struct sweep *sweep, size_t number, const char *label, const uint64_t answers[SWEEP_ANSWERS])
{
	static const char *const names[SWEEP_ANSWERS] = {"validate()", "pod()", "objects()", "judge()", "expand()"};
	struct rh_board *board = sweep->board;

	for (size_t i = 0; i < SWEEP_ANSWERS; i++) {
		size_t slot = number * SWEEP_ANSWERS + i;

		if (slot >= RH_BOARD_ANSWERS)
			return;
		if (!sweep->how->second) {
			board->answers[slot] = answers[i];
			continue;
		}
		if (board->answers[slot] == 0 || answers[i] == 0 || board->answers[slot] == answers[i])
			continue;
		snprintf(board->where, sizeof(board->where), "%s: %.150s", names[i], label);
		rh_board_add(board, RH_CHECK_PURITY,
		             "the answer differs in another process, a second later, in another order of calls, with another "
		             "environment and working folder");
	}
}

static int sweep_all(struct sweep *sweep)
{
	struct rh_board *board = sweep->board;
	int r = 0;

	board->total = (uint32_t)sweep->cases.count;
	for (uint32_t i = board->from; i < sweep->cases.count && r == 0; i++) {
		size_t number = sweep->how->second ? sweep->cases.count - 1 - i : i;
		const struct rh_case *item = &sweep->cases.items[number];
		struct sweep_kind *kind = sweep_kind_of(sweep, item->kind);
		uint64_t answers[SWEEP_ANSWERS] = {0};

		board->at = i;
		r = kind ? sweep_job(sweep, kind, item->label, item->object, answers) : 0;
		sweep_compare(sweep, number, item->label, answers);
		if (r == 0 && kind && !sweep->how->second)
			r = sweep_twin(sweep, kind, item, answers);
	}
	return r;
}

/** A kind: its description, and jobs of it. */
static int sweep_add_kind(struct sweep *sweep, const struct rh_kind *kind, struct rh_error *err)
{
	struct sweep_kind *at = &sweep->kinds[sweep->kind_count];
	int r;

	if (sweep->kind_count == SWEEP_KINDS_MAX)
		return 0;
	at->kind = kind;
	snprintf(sweep->board->where, sizeof(sweep->board->where), "describe(): %.100s", kind->kind);
	r = rh_check_kind(sweep->board, kind);
	if (r == 0)
		r = rh_contract_open(&at->contract, sweep->board, kind);
	sweep->kind_count++;
	if (r < 0)
		return rh_fail_oom(err);
	r = rh_schema_of_kind(kind, sweep->pod_schema, &at->schema, err);
	if (r == 0)
		r = rh_schema_add_rules(kind, at->schema, err);
	if (r == 0 && kind->rbac_rules)
		r = rh_json_parse(kind->rbac_rules, strlen(kind->rbac_rules), &at->rules, err);
	return r == 0 ? rh_cases_generate(&sweep->cases, kind, sweep->pod_schema, err) : r;
}

static int sweep_add_jobs(struct sweep *sweep, struct rh_error *err)
{
	const struct rh_manifest *jobs = sweep->how->jobs;

	for (size_t i = 0; i < jobs->count; i++) {
		const struct rh_json *object = jobs->items[i].object;
		const struct rh_kind *kind =
			rh_host_kind(sweep->host, rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"), NULL);

		if (kind && rh_cases_add(&sweep->cases, kind, jobs->items[i].source, rh_json_copy(object)) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}

/** @return 1 when the plugin is loaded, 0 when it was refused: that is a finding */
static int sweep_load(struct sweep *sweep, struct rh_error *err)
{
	struct rh_board *board = sweep->board;
	struct rh_plugin_info info = {0};
	struct rh_error why = {0};
	int r = rh_host_new(sweep->how->config, &sweep->host, err);

	if (r < 0)
		return r;
	atomic_store(&board->began, rh_clock_monotonic());
	r = rh_host_load_file(sweep->host, sweep->how->file, &why);
	atomic_store(&board->began, 0);
	rh_copy(board->where, sizeof(board->where), "loading: constructors, init(), describe()");
	rh_state_check(sweep->state, board);
	if (r == RH_ENOMEM)
		return rh_fail_oom(err);
	if (r == 0) {
		rh_host_plugin(sweep->host, 0, &info);
		rh_copy(board->plugin, sizeof(board->plugin), info.name);
		rh_copy(board->release, sizeof(board->release), info.release);
		return 1;
	}
	rh_board_add(board, why.topic == RH_ERROR_DEFINITION ? RH_CHECK_DEFINITION : RH_CHECK_LOAD, "%s", why.message);
	return 0;
}

static int sweep_prepare(struct sweep *sweep, struct rh_error *err)
{
	struct rh_plugin_info info = {0};
	int r = 0;

	rh_host_plugin(sweep->host, 0, &info);
	for (size_t i = 0; info.kinds[i] && r == 0; i++)
		r = sweep_add_kind(sweep, info.kinds[i], err);
	return r == 0 ? sweep_add_jobs(sweep, err) : r;
}

/** Look for memory that is kept, and for entries of contracts that nothing has. */
static int sweep_finish(struct sweep *sweep)
{
	int r = 0;

	if (sweep->how->second)
		return 0;
	for (size_t i = 0; i < sweep->kind_count && r == 0; i++) {
		snprintf(sweep->board->where, sizeof(sweep->board->where), "describe(): %.100s", sweep->kinds[i].kind->kind);
		if (sweep->board->skip == 0)
			rh_contract_finish(&sweep->kinds[i].contract, sweep->board);
		r = rh_leak_check(sweep->board, sweep->host, sweep->kinds[i].kind, &sweep->cases);
	}
	return r;
}

/** Unload the plugin. What it took in init() it may give back. */
static void sweep_unload(struct sweep *sweep)
{
	struct rh_board *board = sweep->board;

	board->stage = RH_STAGE_FINI;
	snprintf(board->where, sizeof(board->where), "fini() and unloading");
	atomic_store(&board->began, rh_clock_monotonic());
	rh_host_free(sweep->host);
	sweep->host = NULL;
	atomic_store(&board->began, 0);
	rh_state_check(sweep->state, board);
}

static int sweep_run(struct sweep *sweep, struct rh_error *err)
{
	size_t length;
	const char *text = rh_schema_pod_text(&length);
	int r = rh_json_parse(text, length, &sweep->pod_schema, err);

	if (r == 0)
		r = sweep_load(sweep, err);
	if (r <= 0)
		return r;
	r = sweep_prepare(sweep, err);
	if (r == 0 && !rh_traps_set(false))
		sweep->board->traps = 0;
	if (r == 0 && (sweep_all(sweep) < 0 || sweep_finish(sweep) < 0))
		r = rh_fail_oom(err);
	if (r == 0)
		sweep_unload(sweep);
	return r;
}

int rh_sweep(const struct rh_sweep *how, struct rh_error *err)
{
	struct sweep sweep = {.how = how, .board = how->board};
	int r;

	how->board->traps = rh_traps_set(true);
	sweep.state = rh_state_new();
	if (!sweep.state)
		return rh_fail_oom(err);
	r = sweep_run(&sweep, err);
	for (size_t i = 0; i < sweep.kind_count; i++) {
		rh_contract_close(&sweep.kinds[i].contract);
		rh_json_free(sweep.kinds[i].schema);
		rh_json_free(sweep.kinds[i].rules);
	}
	rh_cases_deinit(&sweep.cases);
	rh_json_free(sweep.pod_schema);
	rh_host_free(sweep.host);
	rh_state_free(sweep.state);
	return r;
}
