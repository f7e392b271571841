/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/lookup/shared.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/job/metadata.h"

/* @return owned by the caller; NULL: memory is out */
static char *shared_key(const char *api_version, const char *kind, const char *namespace_, const char *name)
{
	return rh_asprintf("%s/%s/%s/%s", api_version, kind, namespace_, name);
}

static void shared_free(struct rh_shared *shared)
{
	struct rh_lookup *lookup = &shared->lookup;

	rh_free(shared->key);
	rh_free(shared->namespace_);
	rh_free((char *)lookup->api_version);
	rh_free((char *)lookup->kind);
	rh_free((char *)lookup->plural);
	rh_free(lookup->object_name);
	rh_json_free((struct rh_json *)lookup->parse);
	rh_found_drop(shared->found);
	rh_free(shared->message);
	rh_free(shared);
}

/* @return without a key; NULL: memory is out */
static struct rh_shared *shared_new(struct rh_engine *engine, const struct rh_lookup *lookup, const char *namespace_)
{
	struct rh_shared *shared = rh_alloc(sizeof(*shared));
	struct rh_lookup *own = shared ? &shared->lookup : NULL;

	if (!shared)
		return NULL;
	shared->engine = engine;
	shared->namespace_ = lookup->cluster ? NULL : rh_strdup(namespace_);
	own->api_version = rh_strdup(lookup->api_version);
	own->kind = rh_strdup(lookup->kind);
	own->plural = rh_strdup(lookup->plural);
	own->object_name = rh_strdup(lookup->object_name);
	own->parse = lookup->parse ? rh_json_copy(lookup->parse) : NULL;
	own->metadata = lookup->metadata;
	if ((lookup->cluster || shared->namespace_) && own->api_version && own->kind && own->plural && own->object_name &&
	    !own->parse == !lookup->parse)
		return shared;
	shared_free(shared);
	return NULL;
}

/* @param key taken. @return the object as @p lookup reads it; NULL: memory is out */
static struct rh_shared *shared_add(struct rh_engine *engine, char *key, const struct rh_lookup *lookup,
                                    const char *namespace_)
{
	struct rh_shared *shared = shared_new(engine, lookup, namespace_);

	if (!shared) {
		rh_free(key);
		return NULL;
	}
	shared->key = key;
	shared->variant = rh_map_get(engine->looked_up, key);
	if (rh_map_set(engine->looked_up, key, shared, NULL) == 0)
		return shared;
	shared_free(shared);
	return NULL;
}

static bool shared_is_read_as(const struct rh_shared *shared, const struct rh_lookup *lookup)
{
	const struct rh_lookup *own = &shared->lookup;

	return own->metadata == lookup->metadata && !own->parse == !lookup->parse &&
	       (!own->parse || rh_json_equal(own->parse, lookup->parse));
}

int rh_shared_join(struct rh_entry *entry, const struct rh_lookup *lookup, struct rh_lookup_use *use)
{
	struct rh_engine *engine = entry->engine;
	rh_auto_free char *key =
		shared_key(lookup->api_version, lookup->kind, lookup->cluster ? "" : entry->namespace_, lookup->object_name);
	struct rh_shared *shared = key ? rh_map_get(engine->looked_up, key) : NULL;

	while (shared && !shared_is_read_as(shared, lookup))
		shared = shared->variant;
	if (!shared && key)
		shared = shared_add(engine, rh_take(key), lookup, entry->namespace_);
	if (!shared)
		return RH_ENOMEM;
	*use = (struct rh_lookup_use){.of = shared, .entry = entry, .next = shared->uses, .link = &shared->uses};
	if (use->next)
		use->next->link = &use->next;
	shared->uses = use;
	return 0;
}

/* Take it out of the map. A first variant cannot fail to be replaced: its key is there. */
static void shared_unlink(struct rh_shared *shared)
{
	struct rh_map *map = shared->engine->looked_up;
	struct rh_shared *before = rh_map_get(map, shared->key);

	if (before == shared && !shared->variant) {
		(void)rh_map_remove(map, shared->key);
		return;
	}
	if (before == shared) {
		(void)rh_map_set(map, shared->key, shared->variant, NULL);
		return;
	}
	while (before->variant != shared)
		before = before->variant;
	before->variant = shared->variant;
}

void rh_shared_leave(struct rh_lookup_use *use)
{
	struct rh_shared *shared = use->of;

	if (!shared)
		return;
	*use->link = use->next;
	if (use->next)
		use->next->link = use->link;
	*use = (struct rh_lookup_use){0};
	if (shared->uses)
		return;
	if (shared->request)
		rh_engine_cancel(shared->engine, shared->request);
	shared_unlink(shared);
	shared_free(shared);
}

/* Jobs that wait for an answer are due; they look what it was. */
static void shared_answer(struct rh_shared *shared, int64_t at)
{
	for (struct rh_lookup_use *use = shared->uses; use; use = use->next) {
		struct rh_entry *entry = use->entry;

		if (entry->lookups.reading && entry->uid)
			rh_queue_add(&entry->engine->queue, &entry->item, at);
	}
}

/* The content has changed: jobs that looked at it are due. */
static void shared_notify(struct rh_shared *shared)
{
	for (struct rh_lookup_use *use = shared->uses; use; use = use->next) {
		if (!use->looked)
			continue;
		use->entry->lookups.stale = true;
		rh_entry_touch(use->entry);
	}
}

static void shared_set(struct rh_shared *shared, enum rh_shared_state state, struct rh_found *found)
{
	rh_found_drop(shared->found);
	rh_free(rh_take(shared->message));
	shared->found = found;
	shared->state = state;
}

static uint64_t shared_revision(const struct rh_json *object)
{
	return rh_object_revision(rh_object_text(object, "metadata", "resourceVersion"));
}

/* @return whether @p object, which may be NULL, is the version that is known */
static bool shared_is_known(const struct rh_shared *shared, const struct rh_json *object)
{
	const struct rh_json *known = shared->found ? shared->found->object : NULL;
	const char *version = rh_object_text(object, "metadata", "resourceVersion");

	if (shared->state != RH_SHARED_READ || !known || !object)
		return shared->state == RH_SHARED_READ && !known && !object;
	return *version && strcmp(version, rh_object_text(known, "metadata", "resourceVersion")) == 0 &&
	       strcmp(rh_object_text(object, "metadata", "uid"), rh_object_text(known, "metadata", "uid")) == 0;
}

/* Take what a request or a watch has shown. @param object NULL: there is none. @return 0 or RH_ENOMEM */
static int shared_take(struct rh_shared *shared, const struct rh_json *object)
{
	bool first = shared->state != RH_SHARED_READ;
	struct rh_found *found = NULL;

	if (shared_is_known(shared, object))
		return 0;
	if (object && rh_found_new(object, shared->lookup.metadata, shared->lookup.parse, &shared->engine->looked_up_bytes,
	                           &found) < 0)
		return RH_ENOMEM;
	shared_set(shared, RH_SHARED_READ, found);
	if (!first)
		shared_notify(shared);
	return 0;
}

static void shared_fail(struct rh_shared *shared)
{
	struct rh_engine *engine = shared->engine;

	shared->again_at = engine->now + rh_queue_wait(&engine->queue, shared->failures++);
	shared_answer(shared, shared->again_at);
}

/* @return 0, or RH_ENOMEM when the answer is lost */
static int shared_settle(struct rh_shared *shared, const struct rh_outcome *outcome)
{
	char *message;

	if (outcome->code != RH_OUTCOME_DENIED)
		return shared_take(shared, outcome->code == RH_OUTCOME_OK ? outcome->object : NULL);
	message = rh_strdup(outcome->message ? outcome->message : "");
	if (!message)
		return RH_ENOMEM;
	shared_set(shared, RH_SHARED_DENIED, NULL);
	shared->message = message;
	return 0;
}

/* @return whether the answer may be older than what a watch has shown meanwhile */
static bool shared_is_old(const struct rh_shared *shared, const struct rh_outcome *outcome)
{
	return shared->shown > 0 && (outcome->code != RH_OUTCOME_OK || shared_revision(outcome->object) < shared->shown);
}

static void shared_on_read(void *arg, const struct rh_outcome *outcome)
{
	struct rh_shared *shared = arg;
	bool answered = outcome->code == RH_OUTCOME_DENIED || outcome->code == RH_OUTCOME_GONE ||
	                (outcome->code == RH_OUTCOME_OK && outcome->object);

	shared->engine->requests--;
	shared->request = 0;
	if (answered && shared_is_old(shared, outcome) && rh_shared_ask(shared) == 0)
		return;
	if (!answered || shared_settle(shared, outcome) < 0) {
		shared_fail(shared);
		return;
	}
	shared->failures = 0;
	shared->again_at = 0;
	shared_answer(shared, RH_QUEUE_NOW);
}

int rh_shared_ask(struct rh_shared *shared)
{
	const struct rh_lookup *lookup = &shared->lookup;
	const struct rh_resource resource = {lookup->api_version, lookup->kind, lookup->plural};
	struct rh_request request = {
		.verb = RH_VERB_FIND,
		.resource = &resource,
		.namespace_ = shared->namespace_,
		.name = lookup->object_name,
		.metadata = lookup->metadata,
	};

	if (shared->request)
		return 0;
	if (rh_engine_submit(shared->engine, &request, shared_on_read, shared, &shared->request) < 0)
		return RH_ENOMEM;
	shared->asked_at = shared->engine->now;
	shared->shown = 0;
	return 0;
}

void rh_shared_spare(struct rh_shared *shared)
{
	if (shared->found && shared->found->users == 1)
		shared_set(shared, RH_SHARED_UNKNOWN, NULL);
}

/* What is known may not be what is there: whoever needs it asks. */
static void shared_doubt(struct rh_shared *shared)
{
	shared->shown = shared->request ? UINT64_MAX : 0;
	shared_set(shared, RH_SHARED_UNKNOWN, NULL);
	shared_notify(shared);
}

/* The answer to a request in flight counts if it is as new as the event. */
static void shared_expect(struct rh_shared *shared, uint64_t shown, bool gone)
{
	if (gone || !shown)
		shared->shown = UINT64_MAX;
	else if (shown > shared->shown)
		shared->shown = shown;
}

/* Events of a watch may be older than what was read. One about a deletion may not say how old it is. */
static void shared_see(struct rh_shared *shared, const struct rh_json *object, bool gone)
{
	uint64_t shown = shared_revision(object);
	uint64_t known = shared->found ? shared_revision(shared->found->object) : 0;

	if (shared->request)
		shared_expect(shared, shown, gone);
	else if (shared->state == RH_SHARED_DENIED || (gone && shared->found && shown < known))
		shared_doubt(shared);
	else if (shared->state == RH_SHARED_READ && (gone || !known || !shown || shown > known) &&
	         shared_take(shared, gone ? NULL : object) < 0)
		shared_doubt(shared);
}

/* Memory is out, so that it is not known which object has changed. */
static void shared_doubt_all(struct rh_engine *engine)
{
	size_t cursor = 0;
	void *value;

	while (rh_map_next(engine->looked_up, &cursor, NULL, &value)) {
		for (struct rh_shared *shared = value; shared; shared = shared->variant)
			shared_doubt(shared);
	}
}

void rh_shared_observe(struct rh_engine *engine, const char *api_version, const char *kind,
                       const struct rh_json *object, bool gone)
{
	rh_auto_free char *key = shared_key(api_version, kind, rh_object_text(object, "metadata", "namespace"),
	                                    rh_object_text(object, "metadata", "name"));
	struct rh_shared *shared = key ? rh_map_get(engine->looked_up, key) : NULL;

	if (!key)
		shared_doubt_all(engine);
	for (; shared; shared = shared->variant)
		shared_see(shared, object, gone);
}
