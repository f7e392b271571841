/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/decision.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"

void rh_decision_deinit(struct rh_decision *decision)
{
	rh_free(decision->pods);
	rh_free(decision->services);
	rh_free(decision->slots);
	rh_free(decision->orphan_pods);
	rh_free(decision->orphan_services);
	rh_free(decision->owned);
	rh_free(decision->held);
	rh_free(decision->requested);
	rh_judgement_deinit(&decision->judgement);
}

size_t rh_decision_places(const struct rh_decision *decision)
{
	return decision->offsets[decision->job->spec_count];
}

const struct rh_replica_spec *rh_decision_spec(const struct rh_decision *decision, size_t place, int32_t *ret_index)
{
	size_t spec = 0;

	while (place >= decision->offsets[spec + 1])
		spec++;
	*ret_index = (int32_t)(place - decision->offsets[spec]);
	return &decision->job->specs[spec];
}

bool rh_decision_type(const struct rh_decision *decision, const char *type, size_t *ret_spec)
{
	const struct rh_replica_spec *spec = rh_job_spec_of_label(decision->job, type);

	if (spec)
		*ret_spec = (size_t)(spec - decision->job->specs);
	return spec != NULL;
}

bool rh_decision_place(const struct rh_decision *decision, const char *type, int32_t index, size_t *ret_place)
{
	size_t spec;

	if (index < 0 || !rh_decision_type(decision, type, &spec) ||
	    (size_t)index >= decision->offsets[spec + 1] - decision->offsets[spec])
		return false;
	*ret_place = decision->offsets[spec] + (size_t)index;
	return true;
}

/* @return whether the plugin's objects() names @p child, or it was written as one that it named */
static bool decision_is_named(const struct rh_decision *decision, const struct rh_child *child)
{
	bool named = child->hash != 0;

	for (const struct rh_json *at = rh_json_first(decision->world->objects); at && !named; at = rh_json_next(at))
		named = rh_text_equal(rh_json_string_at(at, "kind"), child->kind) &&
		        rh_text_equal(rh_json_string_at(at, "apiVersion"), child->api_version) &&
		        rh_text_equal(rh_json_string_at(at, "metadata.name"), child->name);
	return named;
}

bool rh_decide_is_service(const struct rh_decision *decision, const struct rh_child *child)
{
	/* one without a type is a further object where the plugin names it, else a replica's whose labels were changed */
	return strcmp(child->kind, "Service") == 0 && strcmp(child->api_version, "v1") == 0 &&
	       strcmp(child->owner_uid, decision->job->uid) == 0 && (*child->type || !decision_is_named(decision, child));
}

bool rh_decide_is_requested(const struct rh_decision *decision, size_t place)
{
	return decision->requested && decision->requested[place] != 0;
}

bool rh_decide_leads(const struct rh_replica_spec *spec)
{
	return spec->known && (spec->known->flags & RH_REPLICA_LEADER);
}

int64_t rh_decide_time(const struct rh_decision *decision, int64_t time)
{
	int64_t moved;

	return __builtin_add_overflow(time, rh_clock_steps_since(decision->world->steps, time), &moved) ? RH_NEVER : moved;
}

bool rh_decision_has_own_limits(const struct rh_decision *decision)
{
	const struct rh_addresses *addresses = decision->world->addresses;

	return (decision->job->kind->flags & RH_KIND_OWN_LIMITS) && (!addresses || addresses->count == 0);
}

void rh_decision_wake(struct rh_decision *decision, int64_t time)
{
	if (time < decision->plan->wake_at)
		decision->plan->wake_at = time;
}

struct rh_snapshot rh_decision_snapshot(const struct rh_decision *decision)
{
	return (struct rh_snapshot){
		.host = decision->world->host,
		.answers = decision->world->answers,
		.job = decision->job,
		.addresses = decision->world->addresses,
		.gang = decision->world->gang,
		.lookups = decision->world->lookups,
		.stored = true,
		.attempt = decision->plan->ledger.attempt,
		.suspended = rh_run_policy_is_suspended(&decision->job->policy),
	};
}

const char *rh_decision_eviction(const struct rh_decision *decision, size_t place, char buffer[RH_NAME_SIZE])
{
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);

	(void)snprintf(buffer, RH_NAME_SIZE, RH_DECISION_EVICTION "%.200s-%" PRId32, spec->type, index);
	return buffer;
}

bool rh_decision_evicts(const struct rh_decision *decision, size_t place)
{
	char note[RH_NAME_SIZE];

	return rh_ledger_counted(&decision->plan->ledger, rh_decision_eviction(decision, place, note));
}
