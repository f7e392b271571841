/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/lookup/lookup.h"

#include "base/os/clock.h"
#include "engine/carry/entry.h"
#include "engine/carry/lookup/signals.h"
#include "job/status/conditions.h"

/* What is not watched is this old at most when something is decided. */
#define LOOKUP_AGE (30 * RH_SECOND)
/* While something is missing that is not watched, or may not be read, it is looked for so often. */
#define LOOKUP_PAUSE (10 * RH_SECOND)

/* The builder borrows them. */
static void lookup_set_now(struct rh_entry *entry, struct rh_lookups *now)
{
	rh_bodies_free_builder(entry);
	rh_lookups_free(entry->lookups.now);
	entry->lookups.now = now;
	entry->bodies.expanded = false;
}

static void lookup_forget_names(struct rh_entry_lookups *lookups)
{
	for (size_t i = 0; lookups->uses && i < lookups->names->count; i++)
		rh_shared_leave(&lookups->uses[i]);
	rh_free(rh_take(lookups->uses));
	rh_lookups_free(rh_take(lookups->names));
}

void rh_lookup_forget(struct rh_entry *entry)
{
	lookup_set_now(entry, NULL);
	lookup_forget_names(&entry->lookups);
	rh_free(rh_take(entry->lookups.waiting));
	entry->lookups.reading = false;
	entry->lookups.stale = false;
	entry->lookups.again_at = 0;
}

void rh_lookup_spare(struct rh_entry *entry)
{
	struct rh_entry_lookups *lookups = &entry->lookups;

	if (!lookups->now || entry->engine->looked_up_bytes <= RH_SHARED_BYTES)
		return;
	lookup_set_now(entry, NULL);
	lookups->again_at = 0;
	for (size_t i = 0; i < lookups->names->count; i++) {
		if (lookups->uses[i].of)
			rh_shared_spare(lookups->uses[i].of);
	}
}

/* The job has to wait. @param signalled a watch shows when it need not any more @param message taken; NULL: memory is
 * out. @return 0 or RH_ENOMEM */
static int lookup_wait(struct rh_entry *entry, bool signalled, char *message)
{
	if (!message)
		return RH_ENOMEM;
	rh_free(entry->lookups.waiting);
	entry->lookups.waiting = message;
	entry->lookups.again_at = signalled ? RH_NEVER : entry->engine->now + LOOKUP_PAUSE;
	lookup_set_now(entry, NULL);
	return 0;
}

/* @return whether the job goes on with what it saw before: it has pods already, which are not replaced */
static bool lookup_goes_on(const struct rh_entry *entry)
{
	return entry->lookups.now && rh_map_size(entry->children.pods) > 0;
}

static bool lookup_is_same(const struct rh_lookups *a, const struct rh_lookups *b)
{
	bool same = rh_lookups_name_same(a, b);

	for (size_t i = 0; i < a->count && same; i++)
		same = a->items[i].state == b->items[i].state &&
		       (a->items[i].found == b->items[i].found || rh_json_equal(a->items[i].object, b->items[i].object));
	return same;
}

/* Take what was read. Objects and pods that follow from it are built again when it has changed. */
static void lookup_take(struct rh_entry *entry, struct rh_lookups *next)
{
	bool same = entry->lookups.now && !entry->lookups.now->flaw && lookup_is_same(entry->lookups.now, next);

	rh_free(rh_take(entry->lookups.waiting));
	if (same) {
		rh_lookups_free(next);
		return;
	}
	lookup_set_now(entry, next);
	rh_objects_invalidate(entry);
	/* what was looked up may be an object of the job, and gone */
	entry->objects.stale = true;
}

/* What becomes of a job that began, and now names something that does not fit, or is not there. */
static int lookup_lack(struct rh_entry *entry, const struct rh_lookups *next)
{
	const struct rh_lookup *missing = next->flaw ? NULL : rh_lookups_missing(next);
	rh_auto_str place = {0};

	if (lookup_goes_on(entry))
		return 0;
	if (missing)
		return lookup_wait(entry, rh_signals_has(entry->engine, missing),
		                   rh_asprintf("waits for %s \"%s\" of %s, which does not exist", missing->kind,
		                               missing->object_name, missing->api_version));
	rh_lookups_print_path(next, next->flaw_path, &place);
	return lookup_wait(entry, false, place.failed ? NULL : rh_asprintf("%s: %s", rh_str_text(&place), next->flaw));
}

/* A job that is new fails because of a flaw, as one that is not valid; of a kind whose jobs wait then, it waits. */
static bool lookup_is_refused(const struct rh_entry *entry, const struct rh_lookups *next)
{
	return next->flaw && rh_conditions_invalid_fails(entry->kind->kind) && rh_map_size(entry->children.pods) == 0 &&
	       entry->job->status.started_at == 0;
}

static void lookup_end(struct rh_entry *entry)
{
	entry->lookups.reading = false;
	entry->lookups.stale = false;
	entry->lookups.read_at = entry->engine->now;
}

/* Everything was looked up. @param next taken. @return 0 or RH_ENOMEM */
static int lookup_finish(struct rh_entry *entry, struct rh_lookups *next)
{
	rh_auto(lookups) owned = next;

	lookup_end(entry);
	if (lookup_is_refused(entry, next) || rh_lookups_are_complete(entry->kind->kind, next))
		lookup_take(entry, rh_take(owned));
	else
		return lookup_lack(entry, next);
	return 0;
}

/* @return 0 or RH_ENOMEM */
static int lookup_deny(struct rh_entry *entry, const struct rh_shared *shared)
{
	const struct rh_lookup *lookup = &shared->lookup;

	lookup_end(entry);
	if (lookup_goes_on(entry))
		return 0;
	return lookup_wait(entry, false,
	                   rh_asprintf("waits for %s \"%s\", which cannot be read: %s", lookup->kind, lookup->object_name,
	                               shared->message));
}

/* A new job may come from somebody who has just written the object, and its own objects come from the job. */
static int64_t lookup_since(const struct rh_entry *entry, const struct rh_lookup *lookup)
{
	const struct rh_entry_lookups *lookups = &entry->lookups;

	return lookups->begun_at - (lookups->now && !lookup->own ? LOOKUP_AGE : 0);
}

/* @return whether what is known of the object is what is there, as far as the job needs that */
static bool lookup_is_fresh(const struct rh_entry *entry, const struct rh_lookup *lookup,
                            const struct rh_shared *shared)
{
	if (shared->state == RH_SHARED_UNKNOWN || shared->request)
		return false;
	return (shared->state == RH_SHARED_READ && rh_signals_has(entry->engine, lookup)) ||
	       shared->asked_at >= lookup_since(entry, lookup);
}

/* Ask for an object. @return 1: the job is due when it is answered; 0: after a failure, and goes on as it is, if it
 * can; or RH_ENOMEM */
static int lookup_ask(struct rh_entry *entry, struct rh_shared *shared)
{
	struct rh_entry_lookups *lookups = &entry->lookups;

	if (shared->request || shared->again_at <= entry->engine->now)
		return rh_shared_ask(shared) < 0 ? RH_ENOMEM : 1;
	lookups->again_at = shared->again_at;
	rh_queue_add(&entry->engine->queue, &entry->item, shared->again_at);
	return lookups->now || lookups->waiting ? 0 : 1;
}

/* Look up what is due. @return 1: the job is due when more is known; 0 or RH_ENOMEM */
static int lookup_advance(struct rh_entry *entry)
{
	rh_auto(lookups) next = NULL;
	struct rh_lookup *due;

	if (rh_lookups_new(entry->job, &next) < 0)
		return RH_ENOMEM;
	while ((due = rh_lookups_due(next))) {
		struct rh_lookup_use *use = &entry->lookups.uses[due - next->items];

		use->looked = true;
		if (!lookup_is_fresh(entry, due, use->of))
			return lookup_ask(entry, use->of);
		if (use->of->state == RH_SHARED_DENIED)
			return lookup_deny(entry, use->of);
		if (rh_lookups_share(next, due, use->of->found) < 0)
			return RH_ENOMEM;
	}
	return lookup_finish(entry, rh_take(next));
}

/* @return whether a change of each object is signalled */
static bool lookup_is_signalled(const struct rh_entry *entry)
{
	const struct rh_lookups *names = entry->lookups.names;
	bool all = true;

	for (size_t i = 0; i < names->count && all; i++)
		all = !names->items[i].object_name || rh_signals_has(entry->engine, &names->items[i]);
	return all;
}

/* @return whether to look again */
static bool lookup_is_due(const struct rh_entry *entry)
{
	const struct rh_entry_lookups *lookups = &entry->lookups;
	int64_t now = entry->engine->now;

	if (lookups->stale)
		return true;
	if (lookups->now)
		return now - lookups->read_at >= LOOKUP_AGE && !lookup_is_signalled(entry);
	return now >= lookups->again_at;
}

/* Join what the job names. @param names taken; on error nothing is left of it. @return 0 or RH_ENOMEM */
static int lookup_join(struct rh_entry *entry, struct rh_lookups *names)
{
	struct rh_entry_lookups *lookups = &entry->lookups;
	int r;

	lookups->names = names;
	lookups->uses = rh_alloc_array(names->count + 1, sizeof(*lookups->uses));
	r = lookups->uses ? 0 : RH_ENOMEM;
	for (size_t i = 0; i < names->count && r == 0; i++) {
		if (names->items[i].state == 0)
			r = rh_shared_join(entry, &names->items[i], &lookups->uses[i]);
	}
	if (r < 0)
		lookup_forget_names(lookups);
	return r;
}

/* Note which objects the job names. What belongs to other names is forgotten: the job was edited. */
static int lookup_note_names(struct rh_entry *entry)
{
	rh_auto(lookups) names = NULL;

	if (rh_lookups_new(entry->job, &names) < 0)
		return RH_ENOMEM;
	if (entry->lookups.names && rh_lookups_name_same(entry->lookups.names, names))
		return 0;
	rh_lookup_forget(entry);
	if (lookup_join(entry, rh_take(names)) < 0)
		return RH_ENOMEM;
	rh_signals_start(entry->engine, entry->lookups.names);
	return 0;
}

static void lookup_begin(struct rh_entry *entry)
{
	struct rh_entry_lookups *lookups = &entry->lookups;

	lookups->reading = true;
	lookups->begun_at = entry->engine->now;
	for (size_t i = 0; i < lookups->names->count; i++)
		lookups->uses[i].looked = false;
}

int rh_lookup_gather(struct rh_entry *entry)
{
	struct rh_entry_lookups *lookups = &entry->lookups;
	int r;

	if (!rh_lookups_text(entry->kind->kind) || entry->job->deleting || !rh_job_is_ours(entry->job))
		return 0;
	r = lookup_note_names(entry);
	if (r == 0 && !lookups->reading && lookup_is_due(entry))
		lookup_begin(entry);
	return r == 0 && lookups->reading ? lookup_advance(entry) : r;
}
