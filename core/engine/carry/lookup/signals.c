/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/lookup/signals.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/lookup/shared.h"

struct rh_lookup_watch {
	struct rh_lookup_watch *next;
	struct rh_engine *engine;
	char *api_version; /* owned, likewise below */
	char *kind;
	uint64_t id; /* of the store's watch */
	bool synced; /* its initial list is complete */
};

static bool signals_is_watchable(const struct rh_lookup *lookup)
{
	return strcmp(lookup->api_version, "v1") != 0 ||
	       (strcmp(lookup->kind, "ConfigMap") != 0 && strcmp(lookup->kind, "Secret") != 0);
}

static struct rh_lookup_watch *signals_find(const struct rh_engine *engine, const struct rh_lookup *lookup)
{
	struct rh_lookup_watch *watch = engine->lookup_watches;

	while (watch && (strcmp(watch->kind, lookup->kind) != 0 || strcmp(watch->api_version, lookup->api_version) != 0))
		watch = watch->next;
	return watch;
}

static void signals_on_event(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_lookup_watch *watch = arg;

	if (event == RH_WATCH_SYNCED)
		watch->synced = true;
	else
		rh_shared_observe(watch->engine, watch->api_version, watch->kind, object, event == RH_WATCH_DELETED);
}

static void signals_free(struct rh_lookup_watch *watch)
{
	rh_free(watch->api_version);
	rh_free(watch->kind);
	rh_free(watch);
}

static void signals_add(struct rh_engine *engine, const struct rh_lookup *lookup)
{
	const struct rh_resource resource = {lookup->api_version, lookup->kind, lookup->plural};
	struct rh_store *store = engine->options.store;
	struct rh_lookup_watch *watch = rh_alloc(sizeof(*watch));

	if (!watch)
		return;
	watch->engine = engine;
	watch->api_version = rh_strdup(lookup->api_version);
	watch->kind = rh_strdup(lookup->kind);
	if (watch->api_version && watch->kind)
		watch->id = lookup->cluster && store->watch_cluster
		                ? store->watch_cluster(store, &resource, signals_on_event, watch)
		                : store->watch(store, &resource, NULL, signals_on_event, watch);
	if (!watch->id) {
		signals_free(watch);
		return;
	}
	watch->next = engine->lookup_watches;
	engine->lookup_watches = watch;
}

void rh_signals_start(struct rh_engine *engine, const struct rh_lookups *lookups)
{
	for (size_t i = 0; i < lookups->count; i++) {
		const struct rh_lookup *lookup = &lookups->items[i];

		if (lookup->object_name && signals_is_watchable(lookup) && !signals_find(engine, lookup))
			signals_add(engine, lookup);
	}
}

bool rh_signals_has(const struct rh_engine *engine, const struct rh_lookup *lookup)
{
	const struct rh_lookup_watch *watch = signals_find(engine, lookup);

	return watch && watch->synced;
}

void rh_signals_end(struct rh_engine *engine)
{
	struct rh_lookup_watch *watch;

	while ((watch = engine->lookup_watches)) {
		engine->lookup_watches = watch->next;
		engine->options.store->unwatch(engine->options.store, watch->id);
		signals_free(watch);
	}
}
