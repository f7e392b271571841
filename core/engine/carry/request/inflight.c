/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to children. Requests in flight are part of the world of the next decision, so that none is sent twice.
 */
#include "engine/carry/request/inflight.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/request/backoff.h"
#include "engine/carry/request/verbs.h"

void rh_inflight_free(struct rh_inflight *inflight)
{
	if (!inflight)
		return;
	if (inflight->link) {
		*inflight->link = inflight->next;
		if (inflight->next)
			inflight->next->link = inflight->link;
		inflight->entry->inflight.count--;
		if (rh_verb_creates(inflight->verb))
			rh_share_end_create(inflight->entry->engine, inflight->entry->share, inflight->weight);
	}
	if (inflight->id)
		rh_engine_cancel(inflight->entry->engine, inflight->id);
	rh_free(inflight->name);
	rh_free(inflight->uid);
	rh_free(inflight->job_uid);
	rh_free(inflight->node);
	rh_pod_free(inflight->pod);
	rh_child_free(inflight->child);
	rh_json_free(inflight->body);
	for (size_t i = 0; i < inflight->tombstone_count; i++)
		rh_free(inflight->tombstones[i]);
	rh_free(inflight->tombstones);
	rh_free(inflight);
}

struct rh_inflight *rh_inflight_new(struct rh_entry *entry, enum rh_action_verb verb,
                                    const struct rh_resource *resource, const char *name, const char *uid)
{
	struct rh_inflight *inflight = rh_alloc(sizeof(*inflight));

	if (!inflight)
		return NULL;
	inflight->entry = entry;
	inflight->verb = verb;
	inflight->resource = resource;
	inflight->index = -1;
	inflight->name = rh_strdup(name);
	inflight->uid = rh_strdup(uid ? uid : "");
	inflight->job_uid = rh_strdup(entry->uid);
	if (inflight->name && inflight->uid && inflight->job_uid && resource)
		return inflight;
	rh_inflight_free(inflight);
	return NULL;
}

int rh_inflight_send(struct rh_inflight *inflight, struct rh_request *request)
{
	struct rh_entry *entry = inflight->entry;

	request->resource = inflight->resource;
	request->namespace_ = entry->namespace_;
	request->name = inflight->name;
	request->metadata = inflight->once;
	request->answer_size = rh_entry_tree_answer_size(&entry->tree);
	return rh_engine_submit(entry->engine, request, inflight->done, inflight, &inflight->id);
}

int rh_inflight_start(struct rh_inflight *inflight, struct rh_request *request)
{
	struct rh_entry *entry = inflight->entry;

	if (rh_inflight_send(inflight, request) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	inflight->next = entry->inflight.list;
	if (inflight->next)
		inflight->next->link = &inflight->next;
	inflight->link = &entry->inflight.list;
	entry->inflight.list = inflight;
	entry->inflight.count++;
	if (rh_verb_creates(inflight->verb))
		rh_share_begin_create(entry->engine, entry->share, inflight->weight);
	return 0;
}

/* Further objects are listed: V1's role grants to list them, and not to get them. */
static enum rh_verb inflight_read_verb(const struct rh_inflight *inflight)
{
	return rh_verb_of_object(inflight->verb) ? RH_VERB_FIND : RH_VERB_GET;
}

int rh_inflight_read(struct rh_inflight *inflight, enum rh_inflight_state state)
{
	struct rh_request request = {.verb = inflight_read_verb(inflight)};

	inflight->state = state;
	return rh_inflight_send(inflight, &request);
}

void rh_inflight_abandon_all(struct rh_entry *entry)
{
	for (struct rh_inflight *inflight = entry->inflight.list; inflight; inflight = inflight->next)
		inflight->abandoned = true;
}

struct rh_cached *rh_inflight_target(const struct rh_inflight *inflight)
{
	const struct rh_entry *entry = inflight->entry;
	rh_auto_free char *key = NULL;
	struct rh_cached *cached;

	if (rh_verb_of_pod(inflight->verb)) {
		cached = rh_map_get(entry->children.pods, inflight->name);
	} else if (rh_verb_of_service(inflight->verb)) {
		cached = rh_map_get(entry->children.services, inflight->name);
	} else {
		key = rh_child_key(inflight->resource->api_version, inflight->resource->kind, inflight->name);
		cached = key ? rh_map_get(entry->objects.known, key) : NULL;
	}
	return cached && strcmp(rh_cached_uid(cached), inflight->uid) == 0 ? cached : NULL;
}

bool rh_inflight_has_tombstone(const struct rh_inflight *inflight, const char *uid)
{
	for (size_t i = 0; i < inflight->tombstone_count; i++) {
		if (strcmp(inflight->tombstones[i], uid) == 0)
			return true;
	}
	return false;
}

/* @return 0 or RH_ENOMEM */
static int inflight_add_tombstone(struct rh_inflight *inflight, const char *uid)
{
	char **grown = rh_realloc_array(inflight->tombstones, inflight->tombstone_count + 1, sizeof(char *));

	if (!grown)
		return RH_ENOMEM;
	inflight->tombstones = grown;
	grown[inflight->tombstone_count] = rh_strdup(uid);
	if (!grown[inflight->tombstone_count])
		return RH_ENOMEM;
	inflight->tombstone_count++;
	return 0;
}

static bool inflight_is_about(const struct rh_inflight *inflight, enum rh_action_verb verb, const char *name)
{
	return rh_verb_of_pod(inflight->verb) == rh_verb_of_pod(verb) &&
	       rh_verb_of_service(inflight->verb) == rh_verb_of_service(verb) && strcmp(inflight->name, name) == 0;
}

void rh_inflight_add_tombstones(struct rh_entry *entry, enum rh_action_verb verb, const char *name, const char *uid)
{
	for (struct rh_inflight *inflight = entry->inflight.list; inflight && *uid; inflight = inflight->next) {
		if (inflight_is_about(inflight, verb, name) && !rh_inflight_has_tombstone(inflight, uid) &&
		    inflight_add_tombstone(inflight, uid) < 0)
			entry->engine->lost = true;
	}
	rh_backoff_clear_child(entry, verb, name);
}
