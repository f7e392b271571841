/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/child/index.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "engine/carry/child/children.h"

/* Chains of an empty index. */
#define INDEX_FIRST 16

/* The API server chooses UIDs, so users cannot make them collide. */
static struct rh_cached **index_chain(struct rh_cached **chains, size_t count, const char *uid)
{
	return &chains[rh_hash(uid, strlen(uid)) & (count - 1)];
}

int rh_index_init(struct rh_index *index)
{
	index->chains = rh_alloc_array(INDEX_FIRST, sizeof(struct rh_cached *));
	index->chain_count = INDEX_FIRST;
	return index->chains ? 0 : RH_ENOMEM;
}

void rh_index_deinit(struct rh_index *index)
{
	rh_free(rh_take(index->chains));
}

struct rh_cached *rh_index_find(const struct rh_index *index, const char *uid)
{
	struct rh_cached *cached = *index_chain(index->chains, index->chain_count, uid);

	while (cached && strcmp(rh_cached_uid(cached), uid) != 0)
		cached = cached->chain;
	return cached;
}

static void index_push(struct rh_cached **chain, struct rh_cached *cached)
{
	cached->chain = *chain;
	*chain = cached;
}

static void index_grow(struct rh_index *index)
{
	size_t count = 2 * index->chain_count;
	struct rh_cached **chains = rh_alloc_array(count, sizeof(struct rh_cached *));

	if (!chains)
		return;
	for (size_t i = 0; i < index->chain_count; i++) {
		struct rh_cached *cached;

		while ((cached = index->chains[i])) {
			index->chains[i] = cached->chain;
			index_push(index_chain(chains, count, rh_cached_uid(cached)), cached);
		}
	}
	rh_free(index->chains);
	index->chains = chains;
	index->chain_count = count;
}

void rh_index_add(struct rh_index *index, struct rh_cached *cached)
{
	if (index->size++ >= index->chain_count)
		index_grow(index);
	index_push(index_chain(index->chains, index->chain_count, rh_cached_uid(cached)), cached);
}

void rh_index_remove(struct rh_index *index, struct rh_cached *cached)
{
	struct rh_cached **at = index_chain(index->chains, index->chain_count, rh_cached_uid(cached));

	while (*at != cached)
		at = &(*at)->chain;
	*at = cached->chain;
	index->size--;
}
