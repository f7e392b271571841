/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large jobs. One that is too large to be run is known by a part of its object; of others so few are in memory at a
 * time as have room there.
 */
#include "engine/carry/parts.h"
#include "engine/carry/unfit.h"

/* Members of a job that is too large are kept up to so many bytes each. */
#define LARGE_MEMBER ((size_t)32 << 10)

/* Copy the members of @p from that are small, and of those that are not, their small members. */
static int large_copy_small(struct rh_json *to, const struct rh_json *from, bool deeper)
{
	int r = 0;

	for (const struct rh_json *member = rh_json_first(from); member && r == 0; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		if (rh_json_weight(member) <= LARGE_MEMBER)
			r = rh_json_add(to, key, rh_json_copy(member));
		else if (deeper && rh_json_type(member) == RH_JSON_OBJECT)
			r = large_copy_small(rh_json_ensure_object(to, key), member, false);
	}
	return r;
}

struct rh_json *rh_engine_copy_job(const struct rh_json *object, size_t weight)
{
	rh_auto(json) part = NULL;

	if (weight <= RH_JOB_WEIGHT_MAX)
		return rh_json_copy(object);
	part = rh_json_new_object();
	if (!part || large_copy_small(part, object, true) < 0)
		return NULL;
	return rh_take(part);
}

bool rh_engine_must_put_off(struct rh_engine_entry *entry, const struct rh_json *object)
{
	size_t weight;

	if (entry->job || entry->refresh)
		return false;
	weight = rh_json_weight(object);
	if (weight <= RH_ENGINE_TEXT_WEIGHT || weight > RH_JOB_WEIGHT_MAX || rh_engine_has_room(entry->engine, weight))
		return false;
	entry->weight = weight;
	return true;
}

void rh_engine_put_off(struct rh_engine_entry *entry)
{
	if (!entry->unread)
		entry->spec_hash = 0;
	rh_engine_forget_text(entry);
	entry->unread = true;
	rh_engine_set_unfit(entry, NULL);
}
