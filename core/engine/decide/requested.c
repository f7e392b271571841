/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which restarts a plugin wants (rh_services.restart), and which of these begin in this pass. A token that is not new
 * is no wish, and nothing is restarted twice at a time, so that a judge() may repeat its answer.
 */
#include "base/mem.h"
#include "engine/decide/replicas.h"

/* Whom a restart is about, in the order in which one goes before another. */
enum requested_scope { REQUESTED_JOB, REQUESTED_TYPE, REQUESTED_REPLICA, REQUESTED_SCOPES };

static enum requested_scope requested_scope(const struct rh_restart *restart)
{
	if (!restart->type)
		return REQUESTED_JOB;
	return restart->index < 0 ? REQUESTED_TYPE : REQUESTED_REPLICA;
}

static bool requested_is_new(const struct rh_restart *restart, const char *last)
{
	return !restart->token || !rh_text_equal(restart->token, last);
}

/* @return whether the replica at @p place has run, or begins to: else a restart of it changes nothing */
static bool requested_exists(const struct rh_decision *decision, size_t place)
{
	enum rh_slot slot = (enum rh_slot)decision->slots[place];

	return slot != RH_SLOT_ABSENT && slot != RH_SLOT_RESTARTING && slot != RH_SLOT_STALE;
}

static bool requested_any(const struct rh_decision *decision, size_t from, size_t to)
{
	while (from < to && !requested_exists(decision, from))
		from++;
	return from < to;
}

/* Note for @p number of the judgement's restarts that it covers the places, and begins now when it is @p due. */
static void requested_mark(struct rh_decision *decision, size_t number, size_t from, size_t to, bool due)
{
	for (; from < to; from++)
		decision->requested[from] = due ? (uint32_t)number + 1 : RH_REQUESTED_LATER;
	decision->charges += due && !(decision->judgement.restarts[number].flags & RH_RESTART_FREE);
}

static int requested_job(struct rh_decision *decision, size_t number)
{
	const struct rh_restart *restart = &decision->judgement.restarts[number];
	struct rh_ledger *ledger = &decision->plan->ledger;
	size_t places = rh_decision_places(decision);

	if (decision->requests_all || !requested_is_new(restart, ledger->token))
		return 0;
	if (!requested_any(decision, 0, places))
		return rh_ledger_set_token(&ledger->token, restart->token);
	decision->requests_all = restart;
	requested_mark(decision, number, 0, places, true);
	return 0;
}

static int requested_type(struct rh_decision *decision, size_t number, size_t spec)
{
	const struct rh_restart *restart = &decision->judgement.restarts[number];
	struct rh_ledger_type *type = rh_ledger_type_of(&decision->plan->ledger, decision->job->specs[spec].type);
	size_t from = decision->offsets[spec], to = decision->offsets[spec + 1];

	if (!type)
		return RH_ENOMEM;
	if (from == to || decision->requested[from] || !requested_is_new(restart, type->token))
		return 0;
	/* what restarts now comes first: a replica that restarts belongs to one restart */
	if (!rh_index_set_is_empty(&type->again))
		requested_mark(decision, number, from, to, false);
	else if (requested_any(decision, from, to))
		requested_mark(decision, number, from, to, true);
	else
		return rh_ledger_set_token(&type->token, restart->token);
	return 0;
}

static void requested_replica(struct rh_decision *decision, size_t number, size_t place)
{
	if (!decision->requested[place] && requested_exists(decision, place))
		requested_mark(decision, number, place, place + 1, true);
}

static int requested_take(struct rh_decision *decision, size_t number, enum requested_scope scope)
{
	const struct rh_restart *restart = &decision->judgement.restarts[number];
	size_t spec = 0;

	if (scope == REQUESTED_JOB)
		return requested_job(decision, number);
	(void)rh_decision_type(decision, restart->type, &spec);
	if (scope == REQUESTED_TYPE)
		return requested_type(decision, number, spec);
	requested_replica(decision, number, decision->offsets[spec] + (size_t)restart->index);
	return 0;
}

int rh_decide_requested(struct rh_decision *decision)
{
	const struct rh_judgement *judgement = &decision->judgement;

	if (judgement->restart_count == 0)
		return 0;
	decision->requested = rh_alloc_array(rh_decision_places(decision) + 1, sizeof(*decision->requested));
	if (!decision->requested)
		return RH_ENOMEM;
	for (int scope = REQUESTED_JOB; scope < REQUESTED_SCOPES && !decision->requests_all; scope++) {
		for (size_t i = 0; i < judgement->restart_count; i++) {
			if (requested_scope(&judgement->restarts[i]) == (enum requested_scope)scope &&
			    requested_take(decision, i, (enum requested_scope)scope) < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}
