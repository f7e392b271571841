/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first fault: of all failures of an attempt the one that came first, so that people are told the cause and not one
 * of its consequences. Deaths of pods that we stop do not count; nor does what a failing peer caused, for it comes
 * later.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/decide/parts.h"
#include "job/names.h"

/* Most bytes of last lines in a condition's or an event's message: an event holds 1024 characters in all. */
#define FAULT_LINES_MAX 400

/* One failure that may be the first. */
struct fault_candidate {
	size_t place; /* SIZE_MAX: it is the one that the ledger holds, or none */
	int64_t at;
	int32_t rank;
	bool signal;
};

/*
 * Under restart scope replica a fault is over when its replica runs again; the ledger keeps it as the last one that
 * there was. What the ledger holds when a limit has ended the job is what ended it.
 */
static bool fault_is_current(const struct rh_decision *decision)
{
	const struct rh_ledger *ledger = &decision->plan->ledger;
	size_t place;

	if (!ledger->fault.type || ledger->fault.attempt != ledger->attempt)
		return false;
	if (decision->job->scope == RH_SCOPE_JOB || ledger->end != RH_END_NONE)
		return true;
	return rh_decision_place(decision, ledger->fault.type, ledger->fault.index, &place) &&
	       decision->slots[place] != RH_SLOT_ACTIVE && decision->slots[place] != RH_SLOT_SUCCEEDED;
}

/*
 * On a cluster times of containers have whole seconds, so what cannot be told apart by time goes by what is likelier a
 * cause. Local pods have microseconds.
 */
static bool fault_before(const struct fault_candidate *a, const struct fault_candidate *b)
{
	bool exact = a->at % RH_SECOND != 0 && b->at % RH_SECOND != 0;
	int64_t unit = exact ? 1 : RH_SECOND;

	if (a->at / unit != b->at / unit)
		return a->at < b->at;
	if (a->signal != b->signal)
		return a->signal;
	return a->rank < b->rank;
}

/* Whether the pod tells how its replica failed; else somebody took it away. */
static bool fault_is_told(const struct rh_pod *pod)
{
	return pod && (pod->phase == RH_PHASE_FAILED || (pod->failed_code > 0 && !pod->deleting));
}

static int64_t fault_time(const struct rh_decision *decision, const struct rh_pod *pod)
{
	if (fault_is_told(pod) && pod->failed_at > 0)
		return pod->failed_at;
	return fault_is_told(pod) && pod->finished_at > 0 ? pod->finished_at : decision->world->now;
}

/*
 * Whether the replica has failed on its own, or was taken away by somebody else. A pod that died while we stopped it
 * does not count, unless it was dead before the fault that made us stop it.
 */
static bool fault_is_candidate(const struct rh_decision *decision, size_t place)
{
	const struct rh_ledger *ledger = &decision->plan->ledger;
	const struct rh_pod *pod = decision->pods[place];

	if (!ledger->stopping && (decision->slots[place] == RH_SLOT_BROKEN || decision->slots[place] == RH_SLOT_FAILED))
		return true;
	if (!pod || pod->phase != RH_PHASE_FAILED || pod->attempt != ledger->attempt ||
	    decision->slots[place] == RH_SLOT_SUCCEEDED)
		return false;
	if (!pod->deleting)
		return true;
	return fault_is_current(decision) && fault_time(decision, pod) < ledger->fault.at;
}

static struct fault_candidate fault_candidate(const struct rh_decision *decision, size_t place)
{
	const struct rh_pod *pod = decision->pods[place];
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);

	return (struct fault_candidate){
		.place = place,
		.at = fault_time(decision, pod),
		.rank = rh_job_rank(decision->job, spec->type, index),
		.signal = fault_is_told(pod) && rh_exit_signal(pod->failed_code) != 0,
	};
}

/* The one that the ledger holds, or one that comes after all others. */
static struct fault_candidate fault_known(const struct rh_decision *decision)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;

	if (!fault_is_current(decision))
		return (struct fault_candidate){.place = SIZE_MAX, .at = RH_NEVER, .rank = INT32_MAX};
	return (struct fault_candidate){
		.place = SIZE_MAX,
		.at = fault->at,
		.rank = rh_job_rank(decision->job, fault->type, fault->index),
		.signal = rh_exit_signal(fault->exit_code) != 0,
	};
}

static int fault_fill_texts(struct rh_first_fault *fault, const struct rh_pod *pod, const char *name)
{
	bool failed = fault_is_told(pod);

	fault->pod = rh_strdup(pod ? pod->name : name);
	fault->node = rh_strdup(pod ? pod->node : "");
	fault->container = rh_strdup(failed ? pod->failed_container : "");
	fault->reason = rh_strdup(failed ? pod->reason : "Deleted");
	fault->last_lines = rh_strdup(failed ? pod->last_lines : "");
	return fault->pod && fault->node && fault->container && fault->reason && fault->last_lines ? 0 : RH_ENOMEM;
}

static int fault_keep(struct rh_decision *decision, const struct fault_candidate *candidate)
{
	const struct rh_pod *pod = decision->pods[candidate->place];
	struct rh_first_fault *fault = &decision->plan->ledger.fault;
	struct rh_first_fault made = {
		.exit_code = fault_is_told(pod) ? pod->failed_code : -1,
		.attempt = decision->plan->ledger.attempt,
		.at = candidate->at,
	};
	const struct rh_replica_spec *spec = rh_decision_spec(decision, candidate->place, &made.index);
	char name[RH_NAME_SIZE];

	made.type = rh_strdup(spec->type);
	if (!made.type ||
	    fault_fill_texts(&made, pod, rh_job_replica_name(decision->job, spec->type, made.index, name)) < 0) {
		rh_first_fault_deinit(&made);
		return RH_ENOMEM;
	}
	rh_first_fault_deinit(fault);
	*fault = made;
	return 0;
}

int rh_decide_fault(struct rh_decision *decision)
{
	struct fault_candidate best = fault_known(decision);
	bool changed = false;

	decision->first = SIZE_MAX;
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		struct fault_candidate candidate;

		if (!fault_is_candidate(decision, place))
			continue;
		candidate = fault_candidate(decision, place);
		if (fault_before(&candidate, &best)) {
			best = candidate;
			changed = true;
		}
	}
	decision->first = best.place;
	return changed ? fault_keep(decision, &best) : 0;
}

/* The replica that was restarted in its place most often, and whose last end is known; SIZE_MAX: there is none. */
static size_t fault_restarter(const struct rh_decision *decision)
{
	size_t found = SIZE_MAX;
	int32_t most = 0;

	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		const struct rh_pod *pod = decision->pods[place];

		if (!pod || pod->failed_code <= 0 || pod->restarts <= most || decision->slots[place] == RH_SLOT_STALE)
			continue;
		most = pod->restarts;
		found = place;
	}
	return found;
}

int rh_decide_fault_of_limit(struct rh_decision *decision, enum rh_ledger_end end)
{
	struct fault_candidate candidate;
	size_t place;

	if (fault_is_current(decision))
		return 0;
	place = end == RH_END_BACKOFF ? fault_restarter(decision) : SIZE_MAX;
	if (place == SIZE_MAX) {
		rh_first_fault_deinit(&decision->plan->ledger.fault);
		return 0;
	}
	candidate = fault_candidate(decision, place);
	return fault_keep(decision, &candidate);
}

static void fault_print_how(const struct rh_first_fault *fault, struct rh_str *out)
{
	int death = rh_exit_signal(fault->exit_code);
	bool telling = *fault->reason && strcmp(fault->reason, "Error") != 0 && strcmp(fault->reason, "Completed") != 0;

	if (fault->exit_code < 0) {
		rh_str_appendf(out, "failed (%s)", telling ? fault->reason : "no exit code is known");
		return;
	}
	rh_str_appendf(out, "exited with code %" PRId32, fault->exit_code);
	if (death)
		rh_str_appendf(out, " (SIG%s%s%s)", sigabbrev_np(death), telling ? ", " : "", telling ? fault->reason : "");
	else if (telling)
		rh_str_appendf(out, " (%s)", fault->reason);
}

/* The last lines as one line: line ends become " | ", other control characters a space. */
static void fault_print_lines(const char *lines, struct rh_str *out)
{
	size_t length = strlen(lines);
	const char *text = lines;

	while (length > 0 && (unsigned char)text[length - 1] <= ' ')
		length--;
	if (length > FAULT_LINES_MAX) {
		text += length - FAULT_LINES_MAX;
		length = FAULT_LINES_MAX;
		while (length > 0 && ((unsigned char)*text & 0xC0) == 0x80) {
			text++;
			length--;
		}
	}
	for (; length > 0; length--, text++) {
		if (*text == '\n')
			rh_str_append(out, " | ");
		else
			rh_str_append_bytes(out, (unsigned char)*text < ' ' ? " " : text, 1);
	}
}

void rh_decide_print_fault(const struct rh_decision *decision, struct rh_str *out)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	char at[RH_TIME_SIZE];

	if (!fault_is_current(decision))
		return;
	/* V1's sentences about limits have no full stop. */
	if (out->length > 0 && out->data[out->length - 1] != '.')
		rh_str_append(out, ".");
	rh_str_appendf(out, " First fault: %s-%" PRId32 " (pod %s", fault->type, fault->index, fault->pod);
	if (*fault->container)
		rh_str_appendf(out, ", container %s", fault->container);
	if (*fault->node)
		rh_str_appendf(out, ", node %s", fault->node);
	rh_str_append(out, ") ");
	if (fault->exit_code < 0 && strcmp(fault->reason, "Deleted") == 0)
		rh_str_append(out, "was deleted");
	else
		fault_print_how(fault, out);
	rh_str_appendf(out, " at %s", rh_time_format(fault->at, at));
	if (!*fault->last_lines) {
		rh_str_append(out, ".");
		return;
	}
	rh_str_append(out, "; last lines: ");
	fault_print_lines(fault->last_lines, out);
}
