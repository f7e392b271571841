/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When as many creates are in flight as all jobs together may have, a namespace that has only a few may still send
 * some: no namespace waits for the burst of another.
 */
#include "engine/carry/fair/share.h"

#include <string.h>

#include "engine/carry/engine_state.h"

/* Creates that each namespace may have in flight beyond the limit of all. */
#define SHARE_RESERVE 8
/* The limit may be exceeded for that by one in so many. */
#define SHARE_SPARE 4

static struct rh_share *share_new(struct rh_engine *engine, const char *namespace_)
{
	size_t size = strlen(namespace_) + 1;
	struct rh_share *share = rh_alloc(sizeof(*share) + size);

	if (!share)
		return NULL;
	memcpy(share->namespace_, namespace_, size);
	if (rh_map_set(engine->shares, namespace_, share, NULL) == 0)
		return share;
	rh_free(share);
	return NULL;
}

struct rh_share *rh_share_acquire(struct rh_engine *engine, const char *namespace_)
{
	struct rh_share *share = rh_map_get(engine->shares, namespace_);

	if (!share)
		share = share_new(engine, namespace_);
	if (share)
		share->entries++;
	return share;
}

void rh_share_release(struct rh_engine *engine, struct rh_share *share)
{
	if (!share || --share->entries > 0)
		return;
	(void)rh_map_remove(engine->shares, share->namespace_);
	rh_free(share);
}

bool rh_share_may_create(const struct rh_engine *engine, const struct rh_share *share)
{
	size_t places = engine->options.creates;

	if (engine->creates.bytes >= RH_SHARE_CREATE_BYTES)
		return engine->creates.count == 0;
	if (engine->creates.count < places)
		return true;
	return share->creating < SHARE_RESERVE && engine->creates.count < places + places / SHARE_SPARE;
}

void rh_share_begin_create(struct rh_engine *engine, struct rh_share *share, size_t bytes)
{
	engine->creates.count++;
	engine->creates.bytes += bytes;
	share->creating++;
}

void rh_share_end_create(struct rh_engine *engine, struct rh_share *share, size_t bytes)
{
	engine->creates.count--;
	engine->creates.bytes -= bytes;
	share->creating--;
}
