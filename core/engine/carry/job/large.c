/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that is too large to be run is kept as a part of its object. Other large jobs are in memory only while the
 * tree cache has room for them.
 */
#include "engine/carry/job/large.h"

#include "engine/carry/entry.h"
#include "engine/carry/job/invalid.h"

/* Bytes up to which a member of a job that is too large is kept. */
#define LARGE_MEMBER ((size_t)32 << 10)

/* Copy the small members of @p from, and the small members of its large ones. */
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

struct rh_json *rh_large_copy(const struct rh_json *object, size_t weight)
{
	rh_auto(json) part = NULL;

	if (weight <= RH_JOB_WEIGHT_MAX)
		return rh_json_copy(object);
	part = rh_json_new_object();
	if (!part || large_copy_small(part, object, true) < 0)
		return NULL;
	return rh_take(part);
}

bool rh_large_must_defer(struct rh_entry *entry, const struct rh_json *object)
{
	size_t weight;

	if (entry->job || entry->refresh)
		return false;
	weight = rh_json_weight(object);
	if (weight <= RH_TREES_TEXT_WEIGHT || weight > RH_JOB_WEIGHT_MAX || rh_trees_has_room(entry, weight))
		return false;
	entry->tree.weight = weight;
	return true;
}

void rh_large_defer(struct rh_entry *entry)
{
	if (!entry->tree.unread)
		entry->tree.spec_hash = 0;
	rh_trees_forget_text(entry);
	entry->tree.unread = true;
	rh_invalid_set(entry, NULL);
}
