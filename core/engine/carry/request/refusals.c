/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/request/refusals.h"

#include <string.h>

#include "engine/carry/entry.h"

/* Bytes that are kept of the message of a refusal, which becomes the message of a condition. */
#define REFUSALS_MESSAGE_MAX 1024

static void refusals_free(struct rh_refusal *refusal)
{
	rh_free(refusal->kind);
	rh_free(refusal->name);
	rh_free(refusal->message);
}

static struct rh_refusal *refusals_find(const struct rh_entry *entry, const char *kind, const char *name, bool single)
{
	for (size_t i = 0; i < entry->refusals.count; i++) {
		struct rh_refusal *refusal = &entry->refusals.list[i];

		if (refusal->single == single && strcmp(refusal->kind, kind) == 0 &&
		    (!single || strcmp(refusal->name, name) == 0))
			return refusal;
	}
	return NULL;
}

static struct rh_refusal *refusals_add(struct rh_entry *entry, const struct rh_refusal *made)
{
	struct rh_refusal *grown = rh_realloc_array(entry->refusals.list, entry->refusals.count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	entry->refusals.list = grown;
	grown[entry->refusals.count] = *made;
	return &grown[entry->refusals.count++];
}

static struct rh_refusal *refusals_new(const struct rh_inflight *inflight, enum rh_refused what, bool single,
                                       const char *message)
{
	struct rh_refusal made = {.what = what, .since = inflight->entry->engine->now, .single = single};
	struct rh_refusal *added = NULL;

	made.kind = rh_strdup(inflight->resource->kind);
	made.name = rh_strdup(inflight->name);
	made.message = rh_strndup(message, strnlen(message, REFUSALS_MESSAGE_MAX));
	if (made.kind && made.name && made.message)
		added = refusals_add(inflight->entry, &made);
	if (!added)
		refusals_free(&made);
	return added;
}

/* The refusal of a retry replaces the earlier message. */
static void refusals_renew(struct rh_refusal *refusal, const struct rh_inflight *inflight, enum rh_refused what,
                           const char *message)
{
	rh_auto_free char *name = rh_strdup(inflight->name);
	rh_auto_free char *text = rh_strndup(message, strnlen(message, REFUSALS_MESSAGE_MAX));

	if (!name || !text)
		return;
	rh_free(refusal->name);
	rh_free(refusal->message);
	refusal->what = what;
	refusal->name = rh_take(name);
	refusal->message = rh_take(text);
}

void rh_refusals_add(const struct rh_inflight *inflight, enum rh_refused what, bool single, const char *message)
{
	const struct rh_engine *engine = inflight->entry->engine;
	struct rh_refusal *refusal = refusals_find(inflight->entry, inflight->resource->kind, inflight->name, single);

	if (!refusal)
		refusal = refusals_new(inflight, what, single, message);
	else if (engine->now >= refusal->until || refusal->what != what)
		refusals_renew(refusal, inflight, what, message);
	/* Creates that were sent together are refused together: they count as one attempt. */
	if (refusal && engine->now >= refusal->until)
		refusal->until = engine->now + rh_queue_wait(&engine->queue, refusal->rounds++);
}

bool rh_refusals_set_breach(struct rh_entry *entry, const char *message)
{
	entry->refusals.breach = rh_strdup(message);
	return entry->refusals.breach != NULL;
}

bool rh_refusals_has_kind(const struct rh_entry *entry, const char *kind)
{
	return refusals_find(entry, kind, NULL, false) != NULL;
}

void rh_refusals_forget(struct rh_entry *entry, const char *kind, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < entry->refusals.count; i++) {
		struct rh_refusal *refusal = &entry->refusals.list[i];

		if (strcmp(refusal->kind, kind) == 0 && (name ? strcmp(refusal->name, name) == 0 : !refusal->single))
			refusals_free(refusal);
		else
			entry->refusals.list[kept++] = *refusal;
	}
	entry->refusals.count = kept;
}

void rh_refusals_forget_all(struct rh_entry *entry)
{
	for (size_t i = 0; i < entry->refusals.count; i++)
		refusals_free(&entry->refusals.list[i]);
	rh_free(rh_take(entry->refusals.list));
	entry->refusals.count = 0;
	rh_free(rh_take(entry->refusals.breach));
	entry->refusals.set_aside = false;
}
