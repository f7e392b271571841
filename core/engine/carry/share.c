/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each namespace has of what all share: its turns in the queues, and its creates in flight. Where the creates of
 * all have no place left, a namespace that has only a few in flight still begins some: nobody waits for the flood of
 * another.
 */
#include <string.h>

#include "engine/carry/parts.h"

/* Creates that each namespace may have in flight though all places are taken. */
#define SHARE_RESERVE 8
/* Of the places for creates, one in so many more is there for that. */
#define SHARE_SPARE 4

static struct rh_engine_share *share_new(struct rh_engine *engine, const char *namespace_)
{
	size_t size = strlen(namespace_) + 1;
	struct rh_engine_share *share = rh_alloc(sizeof(*share) + size);

	if (!share)
		return NULL;
	memcpy(share->namespace_, namespace_, size);
	if (rh_map_set(engine->shares, namespace_, share, NULL) == 0)
		return share;
	rh_free(share);
	return NULL;
}

struct rh_engine_share *rh_engine_share_of(struct rh_engine *engine, const char *namespace_)
{
	struct rh_engine_share *share = rh_map_get(engine->shares, namespace_);

	if (!share)
		share = share_new(engine, namespace_);
	if (share)
		share->entries++;
	return share;
}

void rh_engine_share_release(struct rh_engine *engine, struct rh_engine_share *share)
{
	if (!share || --share->entries > 0)
		return;
	(void)rh_map_remove(engine->shares, share->namespace_);
	rh_free(share);
}

bool rh_engine_may_create(const struct rh_engine *engine, const struct rh_engine_share *share)
{
	size_t places = engine->options.creates;

	if (engine->creating_bytes >= RH_ENGINE_CREATE_BYTES)
		return engine->creating == 0;
	if (engine->creating < places)
		return true;
	return share->creating < SHARE_RESERVE && engine->creating < places + places / SHARE_SPARE;
}
