/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first fault is the failure of an attempt that caused the others. The output of each replica at its end shows
 * whether it may be the cause (job/evidence/evidence.h); among equals the earliest is chosen. Ends of pods that are
 * being stopped do not count.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "engine/decide.h"
#include "engine/decide/replicas.h"
#include "job/values/names.h"

/* How long to wait for peers that are about to end. */
#define FAULT_PATIENCE (5 * RH_SECOND)
/* An unexplained end counts as a cause when it is this much earlier than every known cause. */
#define FAULT_MARGIN RH_SECOND
/* One failure that may be the first. */
struct fault_candidate {
	size_t place; /* SIZE_MAX: it is the one that the ledger holds, or none */
	int64_t at;
	int32_t rank;
	enum rh_blame blame; /* RH_BLAME_NONE: there is none */
	bool signal;
};

/* Once a limit has ended the job, the ledger's fault is the one that ended it. */
bool rh_decide_fault_is_current(const struct rh_decision *decision)
{
	const struct rh_ledger *ledger = &decision->plan->ledger;
	size_t place;

	if (!ledger->fault.type || ledger->fault.attempt != ledger->attempt)
		return false;
	if (decision->job->scope == RH_SCOPE_JOB || ledger->end != RH_END_NONE || ledger->fault.blame == RH_BLAME_HUNG)
		return true;
	return rh_decision_place(decision, ledger->fault.type, ledger->fault.index, &place) &&
	       decision->slots[place] != RH_SLOT_ACTIVE && decision->slots[place] != RH_SLOT_SUCCEEDED;
}

/*
 * On a cluster, times of containers have whole seconds, so that equal times are ordered by which end is likelier a
 * cause. Local pods have microseconds.
 */
static bool fault_earlier(const struct fault_candidate *a, const struct fault_candidate *b)
{
	bool exact = a->at % RH_SECOND != 0 && b->at % RH_SECOND != 0;
	int64_t unit = exact ? 1 : RH_SECOND;

	if (b->blame == RH_BLAME_NONE)
		return true;
	if (a->at / unit != b->at / unit)
		return a->at < b->at;
	if (a->signal != b->signal)
		return a->signal;
	return a->rank < b->rank;
}

/* Ends without an explanation, and ends by an outside signal, rank the same. */
static size_t fault_tier(enum rh_blame blame)
{
	return blame == RH_BLAME_KILLED ? RH_BLAME_UNKNOWN : blame;
}

/* The earliest candidate of each tier, independent of the order of candidates. */
struct fault_best {
	struct fault_candidate tiers[RH_BLAMES];
};

static void fault_enter(struct fault_best *best, const struct fault_candidate *candidate)
{
	struct fault_candidate *known = &best->tiers[fault_tier(candidate->blame)];

	if (candidate->blame != RH_BLAME_NONE && fault_earlier(candidate, known))
		*known = *candidate;
}

/* An unexplained end well before every known cause counts as the cause. */
static const struct fault_candidate *fault_choose(const struct fault_best *best)
{
	const struct fault_candidate *cause = &best->tiers[RH_BLAME_CAUSE];
	const struct fault_candidate *unknown = &best->tiers[RH_BLAME_UNKNOWN];

	if (cause->blame != RH_BLAME_NONE && unknown->blame != RH_BLAME_NONE && unknown->at + FAULT_MARGIN < cause->at)
		return unknown;
	for (size_t tier = RH_BLAME_CAUSE; tier < RH_BLAMES; tier++) {
		if (best->tiers[tier].blame != RH_BLAME_NONE)
			return &best->tiers[tier];
	}
	return NULL;
}

bool rh_decide_shows_failure(const struct rh_pod *pod)
{
	return pod && (pod->phase == RH_PHASE_FAILED || (pod->failed_code > 0 && !pod->deleting));
}

static int64_t fault_time(const struct rh_decision *decision, const struct rh_pod *pod)
{
	if (rh_decide_shows_failure(pod) && pod->failed_at > 0)
		return pod->failed_at;
	return rh_decide_shows_failure(pod) && pod->finished_at > 0 ? pod->finished_at : decision->world->now;
}

/*
 * @return whether the replica failed on its own, or was deleted by another client. A pod that ended while the attempt
 * is being stopped counts only if it ended before the fault that stops the attempt, or shows its cause.
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
	if (!rh_decide_fault_is_current(decision))
		return false;
	return fault_time(decision, pod) < ledger->fault.at ||
	       (pod->blame == RH_BLAME_CAUSE && rh_blame_is_consequence((enum rh_blame)ledger->fault.blame));
}

/* A deleted or lost pod shows no more than a killed one. */
static enum rh_blame fault_blame(const struct rh_pod *pod)
{
	if (!rh_decide_shows_failure(pod))
		return RH_BLAME_KILLED;
	return pod->blame == RH_BLAME_NONE ? RH_BLAME_UNKNOWN : (enum rh_blame)pod->blame;
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
		.blame = fault_blame(pod),
		.signal = rh_decide_shows_failure(pod) && rh_exit_signal(pod->failed_code) != 0,
	};
}

/* The fault of the ledger, or none. */
static struct fault_candidate fault_known(const struct rh_decision *decision)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;

	if (!rh_decide_fault_is_current(decision))
		return (struct fault_candidate){.place = SIZE_MAX, .blame = RH_BLAME_NONE};
	return (struct fault_candidate){
		.place = SIZE_MAX,
		.at = fault->at,
		.blame = fault->blame == RH_BLAME_NONE ? RH_BLAME_UNKNOWN : (enum rh_blame)fault->blame,
		.rank = rh_job_rank(decision->job, fault->type, fault->index),
		.signal = rh_exit_signal(fault->exit_code) != 0,
	};
}

/* Replace the ledger's fault; the texts are taken. @return 0, or RH_ENOMEM when a text is NULL */
static int fault_replace(struct rh_decision *decision, struct rh_first_fault *made)
{
	if (!made->type || !made->pod || !made->node || !made->container || !made->reason || !made->last_lines ||
	    !made->reported_by) {
		rh_first_fault_deinit(made);
		return RH_ENOMEM;
	}
	rh_first_fault_deinit(&decision->plan->ledger.fault);
	decision->plan->ledger.fault = *made;
	return 0;
}

static void fault_fill_texts(struct rh_first_fault *fault, const struct rh_pod *pod, const char *name)
{
	bool failed = rh_decide_shows_failure(pod);

	fault->pod = rh_strdup(pod ? pod->name : name);
	fault->node = rh_strdup(pod ? pod->node : "");
	fault->container = rh_strdup(failed ? pod->failed_container : "");
	fault->reason = rh_strdup(failed ? pod->reason : "Deleted");
	fault->last_lines = rh_strdup(failed ? pod->last_lines : "");
	fault->reported_by = rh_strdup("");
}

/* @return how long an end of that class waits for peers that run: they may show the cause, or fail alike */
static int64_t fault_patience(const struct rh_decision *decision, enum rh_blame blame)
{
	if (blame == RH_BLAME_CAUSE)
		return decision->world->peer_patience;
	return rh_blame_is_consequence(blame) ? FAULT_PATIENCE : 0;
}

/* @return whether the container at @p place was restarted in its place */
static bool fault_is_restarter(const struct rh_decision *decision, size_t place)
{
	const struct rh_pod *pod = decision->pods[place];

	return pod && pod->failed_code > 0 && pod->restarts > 0 && decision->slots[place] != RH_SLOT_STALE;
}

/*
 * @return whether the ledger's fault is current, or one that waits for its cause at backoffLimit: of a container that
 * was restarted in its place, and goes on
 */
static bool fault_waits(const struct rh_decision *decision)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	size_t place;

	if (rh_decide_fault_is_current(decision))
		return true;
	return fault->type && fault->until > 0 && fault->attempt == decision->plan->ledger.attempt &&
	       rh_decision_place(decision, fault->type, fault->index, &place) && fault_is_restarter(decision, place);
}

/* The wait starts at the first observed failure of the same patience, by the local clock; later ones do not extend it.
 */
static int64_t fault_until(const struct rh_decision *decision, const struct fault_candidate *candidate)
{
	const struct rh_first_fault *known = &decision->plan->ledger.fault;
	int64_t patience = fault_patience(decision, candidate->blame);

	if (patience == 0)
		return 0;
	if (fault_waits(decision) && known->until > 0 && fault_patience(decision, (enum rh_blame)known->blame) == patience)
		return known->until;
	return decision->world->now + patience;
}

static int fault_keep(struct rh_decision *decision, const struct fault_candidate *candidate)
{
	const struct rh_pod *pod = decision->pods[candidate->place];
	struct rh_first_fault made = {
		.exit_code = rh_decide_shows_failure(pod) ? pod->failed_code : -1,
		.blame = (int32_t)candidate->blame,
		.rank = rh_decide_shows_failure(pod) ? pod->rank : -1,
		.attempt = decision->plan->ledger.attempt,
		.at = candidate->at,
		.until = fault_until(decision, candidate),
	};
	const struct rh_replica_spec *spec = rh_decision_spec(decision, candidate->place, &made.index);
	char name[RH_NAME_SIZE];

	made.type = rh_strdup(spec->type);
	fault_fill_texts(&made, pod, rh_job_replica_name(decision->job, spec->type, made.index, name));
	return fault_replace(decision, &made);
}

/* @return the place of the replica of the ledger's fault until it is replaced; else SIZE_MAX */
static size_t fault_known_place(const struct rh_decision *decision)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	size_t place;

	if (!rh_decision_place(decision, fault->type, fault->index, &place))
		return SIZE_MAX;
	return decision->slots[place] == RH_SLOT_BROKEN || decision->slots[place] == RH_SLOT_FAILED ? place : SIZE_MAX;
}

/* @return whether its pod, of which a log was asked for, shows the ledger's fault: then that may be out of date */
static bool fault_is_read(const struct rh_decision *decision)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	const struct rh_pod *pod;
	size_t place;

	if (!fault->type || !rh_decision_place(decision, fault->type, fault->index, &place))
		return false;
	pod = decision->pods[place];
	return pod && pod->log_until != 0 && strcmp(pod->name, fault->pod) == 0 && pod->attempt == fault->attempt &&
	       fault_is_candidate(decision, place);
}

int rh_decide_fault(struct rh_decision *decision)
{
	struct fault_candidate known = fault_known(decision);
	struct fault_best best = {0};
	const struct fault_candidate *chosen;

	/* a judged fault does not change */
	decision->first = SIZE_MAX;
	if (known.blame == RH_BLAME_HUNG)
		return 0;
	if (!fault_is_read(decision))
		fault_enter(&best, &known);
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		struct fault_candidate candidate;

		if (!fault_is_candidate(decision, place))
			continue;
		candidate = fault_candidate(decision, place);
		fault_enter(&best, &candidate);
	}
	chosen = fault_choose(&best);
	if (!chosen)
		return 0;
	decision->first = chosen->place == SIZE_MAX ? fault_known_place(decision) : chosen->place;
	return chosen->place == SIZE_MAX ? 0 : fault_keep(decision, chosen);
}

/*
 * @return whether a peer may still show the cause: it runs and is not being deleted. At backoffLimit, where replicas
 * that failed run again, it has not failed.
 */
static bool fault_peers_run(const struct rh_decision *decision)
{
	bool current = rh_decide_fault_is_current(decision);

	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		if (decision->slots[place] == RH_SLOT_ACTIVE && (current || !fault_is_restarter(decision, place)))
			return true;
	}
	return false;
}

/* @return until when peers that run may still show the cause, or fail alike; 0: there are none */
static int64_t fault_peers_until(const struct rh_decision *decision)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	int64_t patience = fault_patience(decision, (enum rh_blame)fault->blame);

	/* a clock that was set back does not extend the wait */
	return fault->until <= decision->world->now + patience && fault_peers_run(decision) ? fault->until : 0;
}

bool rh_decide_fault_waits(struct rh_decision *decision, bool limit)
{
	int64_t until;

	if (!limit && !rh_decide_fault_is_current(decision))
		return false;
	until = decision->plan->ledger.fault.type ? fault_peers_until(decision) : 0;
	if (until < decision->world->awaited)
		until = decision->world->awaited;
	if (until <= decision->world->now)
		return false;
	rh_decision_wake(decision, until);
	return true;
}

/* @return the only replica in that slot; SIZE_MAX: none, or several */
static size_t fault_only(const struct rh_decision *decision, enum rh_slot slot)
{
	size_t found = SIZE_MAX;

	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		if (decision->slots[place] != slot)
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = place;
	}
	return found;
}

/*
 * The replica that its peers lost. A timeout is caused by a running replica; a closed connection by one that has
 * ended, or is about to end.
 */
static size_t fault_missed(const struct rh_decision *decision)
{
	bool late = decision->plan->ledger.fault.blame == RH_BLAME_LATE;
	size_t running = fault_only(decision, RH_SLOT_ACTIVE);
	size_t done = fault_only(decision, RH_SLOT_SUCCEEDED);

	if (late || done == SIZE_MAX)
		return running != SIZE_MAX || fault_peers_run(decision) ? running : done;
	return done;
}

/* With one process for each replica, the rank is the place in the order of types. */
static size_t fault_accused(const struct rh_decision *decision)
{
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		const struct rh_pod *pod = decision->pods[place];
		size_t accused = pod && fault_is_candidate(decision, place) ? (size_t)(pod->accused + 1) : 0;

		if (accused == 0 || accused > rh_decision_places(decision))
			continue;
		for (size_t other = 0; other < rh_decision_places(decision); other++) {
			int32_t index;
			const struct rh_replica_spec *spec = rh_decision_spec(decision, other, &index);

			if ((size_t)rh_job_rank(decision->job, spec->type, index) == accused - 1 &&
			    (decision->slots[other] == RH_SLOT_ACTIVE || decision->slots[other] == RH_SLOT_SUCCEEDED))
				return other;
		}
	}
	return SIZE_MAX;
}

/* The failed replica's own line: "Worker-0: RuntimeError: …". */
static char *fault_reporter(const struct rh_first_fault *fault)
{
	const struct rh_end end = {.exit_code = fault->exit_code, .reason = fault->reason, .output = fault->last_lines};
	struct rh_evidence evidence = rh_evidence_read(&end);
	size_t length = evidence.headline_length < RH_FAULT_LINE_MAX ? evidence.headline_length : RH_FAULT_LINE_MAX;

	return rh_asprintf("%s-%" PRId32 ": %.*s", fault->type, fault->index, (int)length, evidence.headline);
}

static int fault_miss(struct rh_decision *decision, size_t place)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	const struct rh_pod *pod = decision->pods[place];
	struct rh_first_fault made = {
		.exit_code = decision->slots[place] == RH_SLOT_SUCCEEDED ? 0 : -1,
		.blame = RH_BLAME_HUNG,
		.rank = -1,
		.attempt = fault->attempt,
		.at = fault->at,
	};
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &made.index);
	char name[RH_NAME_SIZE];

	made.type = rh_strdup(spec->type);
	made.pod = rh_strdup(pod ? pod->name : rh_job_replica_name(decision->job, spec->type, made.index, name));
	made.node = rh_strdup(pod ? pod->node : "");
	made.container = rh_strdup("");
	made.reason = rh_strdup("");
	made.last_lines = rh_strdup("");
	made.reported_by = fault_reporter(fault);
	return fault_replace(decision, &made);
}

int rh_decide_fault_judge(struct rh_decision *decision)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	size_t place;

	if (!rh_decide_fault_is_current(decision) || !rh_blame_is_consequence((enum rh_blame)fault->blame) ||
	    fault->blame == RH_BLAME_SUMMARY || fault->blame == RH_BLAME_STUCK)
		return 0;
	place = fault_accused(decision);
	if (place == SIZE_MAX)
		place = fault_missed(decision);
	return place == SIZE_MAX ? 0 : fault_miss(decision, place);
}

/* Of two replicas that restart repeatedly, the one whose last end shows a cause; then the one that ended more often.
 */
static bool fault_rather(const struct rh_decision *decision, const struct fault_candidate *a,
                         const struct fault_candidate *b)
{
	const struct rh_pod *one = decision->pods[a->place];
	const struct rh_pod *other = b->blame == RH_BLAME_NONE ? NULL : decision->pods[b->place];

	if (!other)
		return true;
	if (fault_tier(a->blame) != fault_tier(b->blame))
		return fault_tier(a->blame) < fault_tier(b->blame);
	return one->restarts != other->restarts ? one->restarts > other->restarts : fault_earlier(a, b);
}

bool rh_decide_may_be_fault(const struct rh_decision *decision, size_t place)
{
	if (rh_decide_fault_is_current(decision))
		return rh_decide_shows_failure(decision->pods[place]) && fault_is_candidate(decision, place);
	return fault_is_restarter(decision, place);
}

int rh_decide_fault_at_backoff(struct rh_decision *decision)
{
	struct fault_candidate best = {.blame = RH_BLAME_NONE};

	if (rh_decide_fault_is_current(decision))
		return 0;
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		struct fault_candidate candidate;

		if (!fault_is_restarter(decision, place))
			continue;
		candidate = fault_candidate(decision, place);
		if (fault_rather(decision, &candidate, &best))
			best = candidate;
	}
	if (best.blame != RH_BLAME_NONE)
		return fault_keep(decision, &best);
	rh_first_fault_deinit(&decision->plan->ledger.fault);
	return 0;
}

int rh_decide_fault_of_limit(struct rh_decision *decision, enum rh_ledger_end end)
{
	if (end == RH_END_BACKOFF)
		return rh_decide_fault_at_backoff(decision);
	if (!rh_decide_fault_is_current(decision))
		rh_first_fault_deinit(&decision->plan->ledger.fault);
	return 0;
}
