/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/lookup/lookup.h"

#include "base/os/clock.h"
#include "engine/carry/entry.h"
#include "engine/carry/lookup/signals.h"

/* What is not watched is this old at most when something is decided. */
#define LOOKUP_AGE (30 * RH_SECOND)
/* While something is missing that is not watched, or may not be read, it is looked for so often. */
#define LOOKUP_PAUSE (10 * RH_SECOND)

static void lookup_on_read(void *arg, const struct rh_outcome *outcome);

static void lookup_cancel(struct rh_entry_lookups *lookups, struct rh_engine *engine)
{
	if (lookups->request)
		rh_engine_cancel(engine, lookups->request);
	lookups->request = 0;
	lookups->reading = NULL;
	rh_lookups_free(rh_take(lookups->next));
}

/* The builder borrows them. */
static void lookup_set_now(struct rh_entry *entry, struct rh_lookups *now)
{
	rh_bodies_free_builder(entry);
	rh_lookups_free(entry->lookups.now);
	entry->lookups.now = now;
	entry->bodies.expanded = false;
}

void rh_lookup_forget(struct rh_entry *entry)
{
	lookup_cancel(&entry->lookups, entry->engine);
	lookup_set_now(entry, NULL);
	rh_lookups_free(rh_take(entry->lookups.names));
	rh_free(rh_take(entry->lookups.waiting));
	entry->lookups.stale = false;
	entry->lookups.again_at = 0;
	entry->lookups.failures = 0;
}

static int lookup_send(struct rh_entry *entry, struct rh_lookup *lookup)
{
	const struct rh_resource resource = {lookup->api_version, lookup->kind, lookup->plural};
	struct rh_request request = {
		.verb = RH_VERB_FIND,
		.resource = &resource,
		.namespace_ = lookup->cluster ? NULL : entry->namespace_,
		.name = lookup->object_name,
		.metadata = lookup->metadata,
	};
	int r = rh_engine_submit(entry->engine, &request, lookup_on_read, entry, &entry->lookups.request);

	entry->lookups.reading = r == 0 ? lookup : NULL;
	return r;
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
		same = a->items[i].state == b->items[i].state && rh_json_equal(a->items[i].object, b->items[i].object);
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
	const struct rh_lookup *missing = rh_lookups_missing(next);
	rh_auto_str place = {0};

	if (lookup_goes_on(entry))
		return 0;
	if (missing)
		return lookup_wait(
			entry, rh_signals_has(entry->engine, missing),
			rh_asprintf("waits for %s \"%s\", which does not exist", missing->kind, missing->object_name));
	rh_lookups_print_path(next, next->flaw_path, &place);
	return lookup_wait(entry, false, place.failed ? NULL : rh_asprintf("%s: %s", rh_str_text(&place), next->flaw));
}

/* A job that is new fails because of a flaw, as one that is not valid. */
static bool lookup_is_refused(const struct rh_entry *entry, const struct rh_lookups *next)
{
	return next->flaw && rh_map_size(entry->children.pods) == 0 && entry->job->status.started_at == 0;
}

/* Everything was looked up. @return 0 or RH_ENOMEM */
static int lookup_finish(struct rh_entry *entry)
{
	rh_auto(lookups) next = rh_take(entry->lookups.next);

	entry->lookups.read_at = entry->engine->now;
	entry->lookups.failures = 0;
	if (lookup_is_refused(entry, next) || rh_lookups_are_complete(entry->kind->kind, next))
		lookup_take(entry, rh_take(next));
	else
		return lookup_lack(entry, next);
	return 0;
}

/* Read what is due. @return 1 when a request is in flight, 0 when all is known, or RH_ENOMEM */
static int lookup_advance(struct rh_entry *entry)
{
	struct rh_lookup *due = rh_lookups_due(entry->lookups.next);
	int r = due ? lookup_send(entry, due) : lookup_finish(entry);

	if (r == 0)
		return due ? 1 : 0;
	lookup_cancel(&entry->lookups, entry->engine);
	return r;
}

/* The reading did not end: it is repeated, later each time. */
static void lookup_fail(struct rh_entry *entry)
{
	struct rh_queue *queue = &entry->engine->queue;

	lookup_cancel(&entry->lookups, entry->engine);
	entry->lookups.again_at = entry->engine->now + rh_queue_wait(queue, entry->lookups.failures++);
	rh_queue_add(queue, &entry->item, entry->lookups.again_at);
}

static void lookup_deny(struct rh_entry *entry, const char *message)
{
	const struct rh_lookup *lookup = entry->lookups.reading;
	int r = 0;

	if (!lookup_goes_on(entry))
		r = lookup_wait(
			entry, false,
			rh_asprintf("waits for %s \"%s\", which cannot be read: %s", lookup->kind, lookup->object_name, message));
	entry->lookups.read_at = entry->engine->now;
	lookup_cancel(&entry->lookups, entry->engine);
	if (r < 0)
		lookup_fail(entry);
	else
		rh_entry_touch(entry);
}

static void lookup_on_read(void *arg, const struct rh_outcome *outcome)
{
	struct rh_entry *entry = arg;
	struct rh_lookup *lookup = entry->lookups.reading;
	bool found = outcome->code == RH_OUTCOME_OK && outcome->object;
	int r;

	entry->engine->requests--;
	entry->lookups.request = 0;
	if (outcome->code == RH_OUTCOME_DENIED) {
		lookup_deny(entry, outcome->message);
		return;
	}
	if (!found && outcome->code != RH_OUTCOME_GONE) {
		lookup_fail(entry);
		return;
	}
	r = rh_lookups_keep(entry->lookups.next, lookup, found ? outcome->object : NULL);
	if (r == 0)
		r = lookup_advance(entry);
	if (r < 0)
		lookup_fail(entry);
	else if (r == 0)
		rh_entry_touch(entry);
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

/* @return whether to read now */
static bool lookup_is_due(const struct rh_entry *entry)
{
	const struct rh_entry_lookups *lookups = &entry->lookups;
	int64_t now = entry->engine->now;

	if (lookups->next || (lookups->failures > 0 && now < lookups->again_at))
		return false;
	if (lookups->stale || lookups->failures > 0)
		return true;
	if (lookups->now)
		return now - lookups->read_at >= LOOKUP_AGE && !lookup_is_signalled(entry);
	return now >= lookups->again_at;
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
	entry->lookups.names = rh_take(names);
	rh_signals_start(entry->engine, entry->lookups.names);
	return 0;
}

/* @return as lookup_advance() */
static int lookup_begin(struct rh_entry *entry)
{
	if (rh_lookups_new(entry->job, &entry->lookups.next) < 0)
		return RH_ENOMEM;
	entry->lookups.stale = false;
	return lookup_advance(entry);
}

int rh_lookup_gather(struct rh_entry *entry)
{
	struct rh_entry_lookups *lookups = &entry->lookups;
	int r;

	if (!rh_lookups_text(entry->kind->kind) || entry->job->deleting || !rh_job_is_ours(entry->job))
		return 0;
	r = lookup_note_names(entry);
	if (r == 0 && lookup_is_due(entry))
		r = lookup_begin(entry);
	if (r < 0)
		return r;
	/* a reading that failed leaves what was read before */
	return lookups->next || !(lookups->now || lookups->waiting) ? 1 : 0;
}
