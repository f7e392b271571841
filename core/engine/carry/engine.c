/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/entry.h"
#include "engine/carry/lookup/signals.h"
#include "engine/carry/request/act.h"
#include "engine/carry/watch.h"
#include "engine/carry/work.h"
#include "engine/missing.h"
#include "job/values/names.h"

#define ENGINE_WINDOW 64
/* Enough creates to fill the widest window to a server (core/kube/store/window.h). */
#define ENGINE_CREATES 256
#define ENGINE_EVENTS 64
/* Decisions of one step, so that a new event of another namespace does not wait for thousands. */
#define ENGINE_TURNS 128
#define ENGINE_BACKOFF_FIRST (5 * RH_SECOND / 1000)
#define ENGINE_BACKOFF_MAX (1000 * RH_SECOND)
/* How long to wait when memory is out for listing everything again. */
#define ENGINE_PAUSE (RH_SECOND / 10)

static int engine_add_kind(struct rh_engine *engine, const struct rh_kind *kind)
{
	struct rh_engine_kind *kinds = rh_realloc_array(engine->kinds, engine->kind_count + 1, sizeof(*kinds));
	char *api_version = rh_asprintf("%s/%s", kind->group, kind->version);
	struct rh_versions versions;

	if (kinds)
		engine->kinds = kinds;
	if (!kinds || !api_version) {
		rh_free(api_version);
		return RH_ENOMEM;
	}
	rh_host_versions(engine->options.host, kind, &versions);
	kinds[engine->kind_count++] = (struct rh_engine_kind){
		.kind = kind,
		.resource = {api_version, kind->kind, kind->plural},
		.api_version = api_version,
		.shared = versions.count > 1,
	};
	return 0;
}

static bool engine_serves(const struct rh_engine *engine, const struct rh_kind *kind)
{
	return !engine->options.serves || engine->options.serves(engine->options.arg, kind);
}

static int engine_find_kinds(struct rh_engine *engine)
{
	const struct rh_host *host = engine->options.host;

	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(host, i, &info);
		for (size_t k = 0; info.state == RH_PLUGIN_READY && info.kinds[k]; k++) {
			if (engine_serves(engine, info.kinds[k]) && engine_add_kind(engine, info.kinds[k]) < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}

static int engine_watch(struct rh_engine *engine, enum rh_engine_watched what, struct rh_engine_kind *kind,
                        const struct rh_resource *resource, struct rh_error *err)
{
	struct rh_store *store = engine->options.store;
	struct rh_engine_watch *watch = rh_alloc(sizeof(*watch));

	if (!watch)
		return rh_fail_oom(err);
	*watch = (struct rh_engine_watch){.next = engine->watches, .engine = engine, .kind = kind, .what = what};
	watch->id = kind && kind->shared && store->watch_writers
	                ? store->watch_writers(store, resource, rh_watch_on_event, watch)
	                : store->watch(store, resource, kind ? NULL : RH_LABEL_JOB, rh_watch_on_event, watch);
	if (!watch->id) {
		rh_free(watch);
		return rh_fail_oom(err);
	}
	if (kind)
		rh_host_versions(engine->options.host, kind->kind, &watch->versions);
	engine->watches = watch;
	engine->unsynced++;
	if (!kind)
		engine->shared_unsynced++;
	return 0;
}

/* One watch for all versions of a resource, in the storage version: an API server shows every job in each of them. */
static int engine_watch_jobs(struct rh_engine *engine, struct rh_engine_kind *kind, struct rh_error *err)
{
	rh_auto_free char *api_version = NULL;
	struct rh_resource resource = kind->resource;
	struct rh_versions versions;

	kind->synced = false;
	if (!kind->shared)
		return engine_watch(engine, RH_WATCHED_JOBS, kind, &kind->resource, err);
	for (struct rh_engine_kind *other = engine->kinds; other < kind; other++) {
		if (rh_kind_is_version_of(other->kind, kind->kind))
			return 0;
	}
	rh_host_versions(engine->options.host, kind->kind, &versions);
	api_version = rh_asprintf("%s/%s", kind->kind->group, versions.items[0]->version);
	if (!api_version)
		return rh_fail_oom(err);
	resource.api_version = api_version;
	return engine_watch(engine, RH_WATCHED_JOBS, kind, &resource, err);
}

static void engine_unwatch_all(struct rh_engine *engine)
{
	struct rh_store *store = engine->options.store;
	struct rh_engine_watch *watch;

	while ((watch = engine->watches)) {
		engine->watches = watch->next;
		store->unwatch(store, watch->id);
		rh_free(watch);
	}
	engine->unsynced = engine->shared_unsynced = 0;
}

static int engine_watch_all(struct rh_engine *engine, struct rh_error *err)
{
	const struct rh_gang *gang = engine->options.gang;
	const struct rh_resource groups = {rh_gang_api_version(gang), RH_GANG_OBJECT, "podgroups"};
	int r = 0;

	for (size_t i = 0; i < engine->kind_count && r == 0; i++)
		r = engine_watch_jobs(engine, &engine->kinds[i], err);
	if (r == 0)
		r = engine_watch(engine, RH_WATCHED_PODS, NULL, &rh_resource_pods, err);
	if (r == 0)
		r = engine_watch(engine, RH_WATCHED_SERVICES, NULL, &rh_resource_services, err);
	if (r == 0 && rh_gang_is_on(gang))
		r = engine_watch(engine, RH_WATCHED_GROUPS, NULL, &groups, err);
	return r;
}

int rh_engine_new(const struct rh_engine_options *options, struct rh_engine **ret_engine, struct rh_error *err)
{
	rh_auto(engine) engine = rh_alloc(sizeof(*engine));
	int r;

	if (!engine)
		return rh_fail_oom(err);
	engine->options = *options;
	if (!engine->options.window)
		engine->options.window = ENGINE_WINDOW;
	if (!engine->options.creates)
		engine->options.creates = ENGINE_CREATES;
	if (!engine->options.events)
		engine->options.events = ENGINE_EVENTS;
	engine->queue.backoff_first = options->backoff_first ? options->backoff_first : ENGINE_BACKOFF_FIRST;
	engine->queue.backoff_max = options->backoff_max ? options->backoff_max : ENGINE_BACKOFF_MAX;
	engine->entries = rh_map_new();
	engine->resources = rh_map_new();
	engine->shares = rh_map_new();
	engine->looked_up = rh_map_new();
	if (!engine->entries || !engine->resources || !engine->shares || !engine->looked_up ||
	    rh_index_init(&engine->index) < 0 || engine_find_kinds(engine) < 0)
		return rh_fail_oom(err);
	r = engine_watch_all(engine, err);
	if (r < 0)
		return r;
	*ret_engine = rh_take(engine);
	return 0;
}

void rh_engine_free(struct rh_engine *engine)
{
	size_t cursor = 0;
	void *entry;

	if (!engine)
		return;
	engine_unwatch_all(engine);
	rh_signals_end(engine);
	rh_logs_deinit(engine);
	while (engine->entries && rh_map_next(engine->entries, &cursor, NULL, &entry))
		rh_entry_free(entry);
	for (size_t i = 0; i < engine->kind_count; i++)
		rh_free(engine->kinds[i].api_version);
	rh_free(engine->kinds);
	rh_map_free(engine->entries);
	rh_index_deinit(&engine->index);
	rh_map_free(engine->shares);
	rh_map_free(engine->looked_up);
	rh_objects_free_resources(engine);
	rh_queue_deinit(&engine->queue);
	rh_queue_deinit(&engine->creates.throttled);
	rh_queue_deinit(&engine->trees.waiting);
	rh_queue_deinit(&engine->events.pending);
	rh_free(engine);
}

/* Forget what was observed, and list everything again with new watches. */
static int engine_list_again(struct rh_engine *engine)
{
	engine_unwatch_all(engine);
	rh_watch_forget_all(engine);
	if (engine_watch_all(engine, NULL) < 0)
		return RH_ENOMEM;
	engine->lost = false;
	return 0;
}

static void engine_work(struct rh_engine *engine, struct rh_entry *entry)
{
	const struct rh_engine_options *options = &engine->options;
	const struct rh_kind *kind = entry->kind->kind;
	int64_t due = entry->item.at;

	if (!entry->kind->synced)
		return;
	if (options->pass)
		options->pass(options->arg, kind, due > RH_QUEUE_NOW && due < engine->now ? engine->now - due : 0);
	rh_work_run(entry);
	if (options->pass)
		options->pass(options->arg, kind, -1);
}

void rh_engine_step(struct rh_engine *engine, int64_t now)
{
	size_t turns = ENGINE_TURNS; /* the rest waits for the next step */
	struct rh_queue_item *item;

	engine->now = now;
	rh_entry_reap(engine);
	rh_logs_step(engine);
	if (engine->lost && engine_list_again(engine) < 0)
		return;
	rh_events_send_pending(engine);
	rh_act_admit(engine);
	rh_trees_admit(engine);
	while (engine->shared_unsynced == 0 && turns-- > 0 && (item = rh_queue_take(&engine->queue, now)))
		engine_work(engine, (struct rh_entry *)item);
	rh_trees_evict(engine, RH_TREES_MAX);
}

void rh_engine_rest(struct rh_engine *engine)
{
	rh_trees_evict(engine, 0);
}

/* @return whether completed requests have made room for queued work, or entries are to be freed */
static bool engine_has_work(const struct rh_engine *engine)
{
	return engine->unused || rh_act_may_admit(engine) || rh_trees_may_admit(engine) || rh_events_may_send(engine);
}

void rh_engine_load(const struct rh_engine *engine, struct rh_engine_load *ret_load)
{
	struct rh_engine_load load = {.requests = engine->requests, .unsynced = engine->unsynced};
	size_t cursor = 0;
	void *value;

	while (rh_map_next(engine->entries, &cursor, NULL, &value)) {
		const struct rh_entry *entry = value;

		load.jobs += entry->uid != NULL;
		load.slowed += rh_stalls_show_slow(entry);
	}
	for (size_t i = 0; i < engine->queue.count; i++)
		load.due += engine->queue.heap[i]->at <= engine->now;
	*ret_load = load;
}

int64_t rh_engine_deadline(const struct rh_engine *engine)
{
	int64_t next = rh_queue_next(&engine->queue), logs = rh_logs_deadline(engine);

	if (engine->lost)
		return engine->now + ENGINE_PAUSE;
	if (engine_has_work(engine))
		return engine->now;
	if (engine->shared_unsynced > 0)
		return logs;
	return next < logs ? next : logs;
}

bool rh_engine_busy(const struct rh_engine *engine)
{
	return engine->lost || engine->unsynced > 0 || engine->requests > 0 || engine_has_work(engine) ||
	       rh_queue_next(&engine->queue) <= engine->now;
}

static struct rh_entry *engine_find(const struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_,
                                    const char *name)
{
	for (size_t i = 0; i < engine->kind_count; i++) {
		if (engine->kinds[i].kind == kind)
			return rh_entry_of((struct rh_engine *)(uintptr_t)engine, &engine->kinds[i], namespace_, name, false);
	}
	return NULL;
}

void rh_engine_touch(struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_, const char *name)
{
	struct rh_entry *entry = engine_find(engine, kind, namespace_, name);

	if (entry)
		rh_entry_touch(entry);
}

void rh_engine_note_missing(struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_,
                            const char *name, const struct rh_missing_report *report, int64_t now)
{
	struct rh_entry *entry = engine_find(engine, kind, namespace_, name);

	if (entry && entry->uid)
		rh_stalls_note(entry, report, NULL, now);
}

bool rh_engine_has_job(const struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_,
                       const char *name, const char *uid)
{
	const struct rh_entry *entry = engine_find(engine, kind, namespace_, name);

	return entry && entry->uid && strcmp(entry->uid, uid) == 0;
}

bool rh_engine_has_pods(const struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_,
                        const char *name, const char *uid)
{
	const struct rh_entry *entry = engine_find(engine, kind, namespace_, name);
	size_t cursor = 0;
	void *cached;

	for (const struct rh_inflight *one = entry ? entry->inflight.list : NULL; one; one = one->next) {
		if (one->verb == RH_CREATE_POD && strcmp(one->job_uid, uid) == 0)
			return true;
	}
	while (entry && rh_map_next(entry->children.pods, &cursor, NULL, &cached)) {
		const struct rh_pod *pod = ((const struct rh_cached *)cached)->pod;

		if (pod && strcmp(pod->owner_uid, uid) == 0)
			return true;
	}
	return false;
}

bool rh_engine_is_synced(const struct rh_engine *engine)
{
	return !engine->lost && engine->unsynced == 0;
}
