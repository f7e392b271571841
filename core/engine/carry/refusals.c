/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store refuses, for decide() to see: of pods and Services one refusal stands for all of the kind.
 */
#include <string.h>

#include "engine/carry/parts.h"

/* Words that are kept of a refusal, bytes: they become a condition's message. */
#define REFUSALS_WORDS_MAX 1024

static void refusals_free(struct rh_refusal *refusal)
{
	rh_free(refusal->kind);
	rh_free(refusal->name);
	rh_free(refusal->words);
}

static struct rh_refusal *refusals_find(const struct rh_engine_entry *entry, const char *kind, const char *name,
                                        bool alone)
{
	for (size_t i = 0; i < entry->refusal_count; i++) {
		struct rh_refusal *refusal = &entry->refusals[i];

		if (refusal->alone == alone && strcmp(refusal->kind, kind) == 0 && (!alone || strcmp(refusal->name, name) == 0))
			return refusal;
	}
	return NULL;
}

static struct rh_refusal *refusals_add(struct rh_engine_entry *entry, const struct rh_refusal *made)
{
	struct rh_refusal *grown = rh_realloc_array(entry->refusals, entry->refusal_count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	entry->refusals = grown;
	grown[entry->refusal_count] = *made;
	return &grown[entry->refusal_count++];
}

static struct rh_refusal *refusals_new(const struct rh_inflight *inflight, bool alone, const char *words)
{
	struct rh_refusal made = {
		.what = rh_inflight_refused(inflight), .since = inflight->entry->engine->now, .alone = alone};
	struct rh_refusal *added = NULL;

	made.kind = rh_strdup(inflight->resource->kind);
	made.name = rh_strdup(inflight->name);
	made.words = rh_strndup(words, strnlen(words, REFUSALS_WORDS_MAX));
	if (made.kind && made.name && made.words)
		added = refusals_add(inflight->entry, &made);
	if (!added)
		refusals_free(&made);
	return added;
}

/* The refusal of the one that was tried again takes the place of what was said before. */
static void refusals_renew(struct rh_refusal *refusal, const struct rh_inflight *inflight, const char *words)
{
	rh_auto_free char *name = rh_strdup(inflight->name);
	rh_auto_free char *text = rh_strndup(words, strnlen(words, REFUSALS_WORDS_MAX));

	if (!name || !text)
		return;
	rh_free(refusal->name);
	rh_free(refusal->words);
	refusal->what = rh_inflight_refused(inflight);
	refusal->name = rh_take(name);
	refusal->words = rh_take(text);
}

void rh_engine_refuse(const struct rh_inflight *inflight, bool alone, const char *words)
{
	const struct rh_engine *engine = inflight->entry->engine;
	struct rh_refusal *refusal = refusals_find(inflight->entry, inflight->resource->kind, inflight->name, alone);

	if (!refusal)
		refusal = refusals_new(inflight, alone, words);
	else if (engine->now >= refusal->until || refusal->what != rh_inflight_refused(inflight))
		refusals_renew(refusal, inflight, words);
	/* Those that were sent together with the first are refused together, and wait together. */
	if (refusal && engine->now >= refusal->until)
		refusal->until = engine->now + rh_queue_wait(&engine->queue, refusal->rounds++);
}

bool rh_engine_is_refused(const struct rh_engine_entry *entry, const char *kind)
{
	return refusals_find(entry, kind, NULL, false) != NULL;
}

void rh_engine_forget_refusal(struct rh_engine_entry *entry, const char *kind, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < entry->refusal_count; i++) {
		struct rh_refusal *refusal = &entry->refusals[i];

		if (strcmp(refusal->kind, kind) == 0 && (name ? strcmp(refusal->name, name) == 0 : !refusal->alone))
			refusals_free(refusal);
		else
			entry->refusals[kept++] = *refusal;
	}
	entry->refusal_count = kept;
}

void rh_engine_forget_refusals(struct rh_engine_entry *entry)
{
	for (size_t i = 0; i < entry->refusal_count; i++)
		refusals_free(&entry->refusals[i]);
	rh_free(rh_take(entry->refusals));
	entry->refusal_count = 0;
	rh_free(rh_take(entry->breach));
}
