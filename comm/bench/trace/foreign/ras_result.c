/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "comm/bench/trace/foreign/ras_json.h"

struct rh_ras_finding *rh_ras_add(struct rh_ras *result, enum rh_ras_kind kind, const char *group)
{
	struct rh_ras_finding *items = realloc(result->items, (result->count + 1) * sizeof(*items));

	if (!items)
		return NULL;
	result->items = items;
	items += result->count++;
	memset(items, 0, sizeof(*items));
	items->kind = kind;
	(void)snprintf(items->group, sizeof(items->group), "%s", group);
	return items;
}

void rh_ras_add_rank(struct rh_ras_finding *finding, int64_t rank)
{
	if (finding->count < RH_RAS_RANKS && rank >= 0 && rank <= INT32_MAX)
		finding->ranks[finding->count++] = (int32_t)rank;
}

/* Those that have launched most are not missing; nor is there a usual status but the most frequent one, the first. */
void rh_ras_settle(struct rh_ras *result, size_t first)
{
	size_t kept = first;
	uint64_t most = 0;

	for (size_t i = first; i < result->count; i++)
		most = result->items[i].number > most ? result->items[i].number : most;
	for (size_t i = first; i < result->count; i++) {
		struct rh_ras_finding *item = &result->items[i];
		bool keep = item->kind == RH_RAS_MISSING ? item->number < most : i > first;

		item->most = most;
		if (keep)
			result->items[kept++] = *item;
	}
	result->count = kept;
}

void rh_ras_deinit(struct rh_ras *ras)
{
	free(ras->items);
	*ras = (struct rh_ras){.count = 0};
}
