/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which restarts a plugin wants (rh_services.restart), and which of these begin in this pass. A token that is not new
 * is no wish, and nothing is restarted twice at a time, so that a judge() may repeat its answer.
 */
#include "base/mem.h"
#include "engine/decide/replicas.h"

/* Whom a restart is about, in the order in which one goes before another. */
enum wanted_scope { WANTED_JOB, WANTED_TYPE, WANTED_REPLICA, WANTED_SCOPES };

static enum wanted_scope wanted_scope(const struct rh_restart *restart)
{
	if (!restart->type)
		return WANTED_JOB;
	return restart->index < 0 ? WANTED_TYPE : WANTED_REPLICA;
}

static bool wanted_is_new(const struct rh_restart *restart, const char *last)
{
	return !restart->token || !rh_text_equal(restart->token, last);
}

/* @return whether the replica at @p place has run, or begins to: else a restart of it changes nothing */
static bool wanted_exists(const struct rh_decision *decision, size_t place)
{
	enum rh_slot slot = (enum rh_slot)decision->slots[place];

	return slot != RH_SLOT_ABSENT && slot != RH_SLOT_RESTARTING && slot != RH_SLOT_STALE;
}

static bool wanted_any(const struct rh_decision *decision, size_t from, size_t to)
{
	while (from < to && !wanted_exists(decision, from))
		from++;
	return from < to;
}

/* Note for @p number of the judgement's restarts that it covers the places, and begins now when it is @p due. */
static void wanted_mark(struct rh_decision *decision, size_t number, size_t from, size_t to, bool due)
{
	for (; from < to; from++)
		decision->wanted[from] = due ? (uint32_t)number + 1 : RH_WANTED_LATER;
	decision->charges += due && !(decision->judgement.restarts[number].flags & RH_RESTART_FREE);
}

static int wanted_job(struct rh_decision *decision, size_t number)
{
	const struct rh_restart *restart = &decision->judgement.restarts[number];
	struct rh_ledger *ledger = &decision->plan->ledger;
	size_t places = rh_decision_places(decision);

	if (decision->wants_all || !wanted_is_new(restart, ledger->token))
		return 0;
	if (!wanted_any(decision, 0, places))
		return rh_ledger_set_token(&ledger->token, restart->token);
	decision->wants_all = restart;
	wanted_mark(decision, number, 0, places, true);
	return 0;
}

static int wanted_type(struct rh_decision *decision, size_t number, size_t spec)
{
	const struct rh_restart *restart = &decision->judgement.restarts[number];
	struct rh_ledger_type *type = rh_ledger_type_of(&decision->plan->ledger, decision->job->specs[spec].type);
	size_t from = decision->offsets[spec], to = decision->offsets[spec + 1];

	if (!type)
		return RH_ENOMEM;
	if (from == to || decision->wanted[from] || !wanted_is_new(restart, type->token))
		return 0;
	/* what restarts now comes first: a replica that restarts belongs to one restart */
	if (!rh_index_set_is_empty(&type->again))
		wanted_mark(decision, number, from, to, false);
	else if (wanted_any(decision, from, to))
		wanted_mark(decision, number, from, to, true);
	else
		return rh_ledger_set_token(&type->token, restart->token);
	return 0;
}

static void wanted_replica(struct rh_decision *decision, size_t number, size_t place)
{
	if (!decision->wanted[place] && wanted_exists(decision, place))
		wanted_mark(decision, number, place, place + 1, true);
}

static int wanted_take(struct rh_decision *decision, size_t number, enum wanted_scope scope)
{
	const struct rh_restart *restart = &decision->judgement.restarts[number];
	size_t spec = 0;

	if (scope == WANTED_JOB)
		return wanted_job(decision, number);
	(void)rh_decision_type(decision, restart->type, &spec);
	if (scope == WANTED_TYPE)
		return wanted_type(decision, number, spec);
	wanted_replica(decision, number, decision->offsets[spec] + (size_t)restart->index);
	return 0;
}

int rh_decide_wanted(struct rh_decision *decision)
{
	const struct rh_judgement *judgement = &decision->judgement;

	if (judgement->restart_count == 0)
		return 0;
	decision->wanted = rh_alloc_array(rh_decision_places(decision) + 1, sizeof(*decision->wanted));
	if (!decision->wanted)
		return RH_ENOMEM;
	for (int scope = WANTED_JOB; scope < WANTED_SCOPES && !decision->wants_all; scope++) {
		for (size_t i = 0; i < judgement->restart_count; i++) {
			if (wanted_scope(&judgement->restarts[i]) == (enum wanted_scope)scope &&
			    wanted_take(decision, i, (enum wanted_scope)scope) < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}
