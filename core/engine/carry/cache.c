/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known, by job. Own writes are seen at once: what a write returned is as good as what a watch tells, and
 * whichever is older gives way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/carry/parts.h"
#include "engine/carry/unfit.h"
#include "job/names.h"

const char *rh_object_text(const struct rh_json *object, const char *member, const char *key)
{
	const char *text = rh_json_string(rh_json_get(rh_json_get(object, member), key));

	return text ? text : "";
}

const char *rh_object_label(const struct rh_json *object, const char *label)
{
	const char *text = rh_json_string(rh_json_get(rh_json_get(rh_json_get(object, "metadata"), "labels"), label));

	return text ? text : "";
}

uint64_t rh_engine_revision(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	return end != text && !*end && errno == 0 ? value : 0;
}

static void cache_free_map(struct rh_map **map)
{
	size_t cursor = 0;
	void *value;

	while (*map && rh_map_next(*map, &cursor, NULL, &value))
		rh_cached_free(value);
	rh_map_free(*map);
	*map = NULL;
}

static void cache_free_kept(struct rh_engine_entry *entry)
{
	rh_engine_stop_carrying(entry);
	rh_engine_set_unfit(entry, NULL);
	rh_engine_forget_held(entry);
	rh_job_free(rh_take(entry->job));
	rh_engine_forget_text(entry);
	rh_engine_forget_tree(entry);
	rh_engine_reserve(entry, 0);
	entry->unread = false;
	rh_builder_free(rh_take(entry->builder));
	rh_json_free(rh_take(entry->desired));
	rh_addresses_deinit(&entry->addresses);
	entry->addresses_attempt = -1;
	rh_engine_set_ledger(entry, NULL);
	rh_engine_clear_backoffs(entry);
	rh_engine_forget_refusals(entry);
}

/* What is watched stays known until the watch tells that it is gone. */
static void cache_clear_objects(struct rh_engine_entry *entry)
{
	const char *key;
	size_t cursor = 0;
	void *value;

	while (rh_map_next(entry->objects, &cursor, &key, &value)) {
		const struct rh_child *child = ((const struct rh_cached *)value)->child;

		if (rh_engine_watches_object(entry->engine, child->api_version, child->kind))
			continue;
		(void)rh_map_remove(entry->objects, key);
		rh_cached_free(value);
	}
}

void rh_engine_forget_job(struct rh_engine_entry *entry)
{
	cache_free_kept(entry);
	cache_clear_objects(entry);
	rh_engine_forget_events(entry);
	for (struct rh_inflight *inflight = entry->inflight_list; inflight; inflight = inflight->next)
		inflight->old = true;
	rh_free(rh_take(entry->uid));
	entry->revision = 0;
	entry->refresh = entry->checked = entry->barred = false;
	entry->checks = 0;
	entry->check_at = 0;
	entry->check_failures = 0;
	entry->said = 0;
	rh_queue_forgive(&entry->item);
}

void rh_engine_forget_finished(struct rh_engine_entry *entry)
{
	cache_free_kept(entry);
	rh_engine_trim_events(entry);
}

void rh_engine_entry_free(struct rh_engine_entry *entry)
{
	struct rh_engine *engine = entry->engine;

	if (entry->pods && entry->services && entry->objects && entry->backoffs)
		rh_engine_forget_job(entry);
	while (entry->inflight_list)
		rh_inflight_free(entry->inflight_list);
	cache_free_map(&entry->pods);
	cache_free_map(&entry->services);
	cache_free_map(&entry->objects);
	rh_map_free(entry->backoffs);
	rh_queue_leave(&engine->queue, &entry->item);
	rh_queue_leave(&engine->throttled, &entry->throttled);
	rh_queue_leave(&engine->tree_queue, &entry->tree_queue);
	rh_engine_share_release(engine, entry->share);
	if (entry->key)
		(void)rh_map_remove(engine->entries, entry->key);
	rh_free(entry->key);
	rh_free(entry->namespace_);
	rh_free(entry->name);
	rh_free(entry);
}

void rh_engine_reap(struct rh_engine_entry *entry)
{
	if (!entry->uid && !entry->inflight_list && entry->events_in_flight == 0 && rh_map_size(entry->pods) == 0 &&
	    rh_map_size(entry->services) == 0 && rh_map_size(entry->objects) == 0)
		rh_engine_entry_free(entry);
}

static int cache_join(struct rh_engine *engine, struct rh_engine_entry *entry)
{
	if (rh_queue_join(&engine->queue) < 0)
		return RH_ENOMEM;
	if (rh_queue_join(&engine->throttled) < 0) {
		rh_queue_leave(&engine->queue, &entry->item);
		return RH_ENOMEM;
	}
	if (rh_queue_join(&engine->tree_queue) < 0) {
		rh_queue_leave(&engine->throttled, &entry->throttled);
		rh_queue_leave(&engine->queue, &entry->item);
		return RH_ENOMEM;
	}
	return 0;
}

/* @return an entry that has joined the queues, or NULL when memory is out */
static struct rh_engine_entry *cache_new_entry(struct rh_engine *engine)
{
	struct rh_engine_entry *entry = rh_alloc(sizeof(*entry));

	if (!entry)
		return NULL;
	if (cache_join(engine, entry) < 0) {
		rh_free(entry);
		return NULL;
	}
	entry->engine = engine;
	return entry;
}

static struct rh_engine_entry *cache_add_entry(struct rh_engine *engine, const struct rh_engine_kind *kind,
                                               const char *key, const char *namespace_, const char *name)
{
	struct rh_engine_entry *entry = cache_new_entry(engine);

	if (!entry)
		return NULL;
	entry->kind = kind;
	entry->addresses_attempt = -1;
	entry->namespace_ = rh_strdup(namespace_);
	entry->name = rh_strdup(name);
	entry->share = rh_engine_share_of(engine, namespace_);
	entry->pods = rh_map_new();
	entry->services = rh_map_new();
	entry->objects = rh_map_new();
	entry->backoffs = rh_map_new();
	if (entry->share) {
		entry->item.flow = &entry->share->due;
		entry->throttled.flow = &entry->share->throttled;
		entry->tree_queue.flow = &entry->share->tree_queue;
	}
	if (entry->namespace_ && entry->name && entry->share && entry->pods && entry->services && entry->objects &&
	    entry->backoffs && rh_map_set(engine->entries, key, entry, NULL) == 0) {
		entry->key = rh_strdup(key);
		if (entry->key)
			return entry;
		(void)rh_map_remove(engine->entries, key);
	}
	rh_engine_entry_free(entry);
	return NULL;
}

/*
 * @return the entry, made when it is missing and @p add is set; NULL when it is missing, or memory is out: then the
 * engine is lost
 */
struct rh_engine_entry *rh_engine_entry_of(struct rh_engine *engine, const struct rh_engine_kind *kind,
                                           const char *namespace_, const char *name, bool add)
{
	rh_auto_free char *key = rh_asprintf("%s/%s/%s", kind->kind->controller, namespace_, name);
	struct rh_engine_entry *entry = key ? rh_map_get(engine->entries, key) : NULL;

	if (!entry && key && add)
		entry = cache_add_entry(engine, kind, key, namespace_, name);
	if (!key || (!entry && add))
		engine->lost = true;
	return entry;
}

void rh_engine_touch(struct rh_engine_entry *entry)
{
	if (entry->uid)
		rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
}

static bool cache_is_old(const struct rh_engine_entry *entry, const char *uid, uint64_t revision)
{
	if (!entry->uid || revision == 0)
		return false;
	return revision < entry->revision ||
	       (revision == entry->revision && !entry->refresh && strcmp(entry->uid, uid) == 0);
}

static bool cache_is_same_spec(const struct rh_engine_entry *entry, const struct rh_json *spec)
{
	uint64_t hash;

	if (entry->job)
		return rh_json_equal(rh_json_get(entry->job->object, "spec"), spec);
	return entry->unread && rh_object_hash(spec, &hash) == 0 && hash == entry->spec_hash;
}

/* What follows from the spec is worked out again when that changed. */
static void cache_set_job(struct rh_engine_entry *entry, struct rh_job *job, struct rh_ledger *ledger)
{
	bool same = job && cache_is_same_spec(entry, rh_json_get(job->object, "spec"));

	if (!same) {
		rh_engine_clear_backoffs(entry);
		rh_engine_forget_refusals(entry);
		rh_json_free(rh_take(entry->desired));
		entry->checked = false;
	}
	rh_builder_free(rh_take(entry->builder));
	rh_job_free(entry->job);
	rh_engine_forget_text(entry);
	entry->job = job;
	rh_engine_set_ledger(entry, ledger);
	if (job)
		rh_engine_mark_used(entry);
	else
		rh_engine_forget_tree(entry);
}

/* What is made of a job's object: a job and its ledger, or what it lacks to be one. */
struct cache_read {
	struct rh_job *job;
	struct rh_ledger *ledger;
	struct rh_engine_unfit *unfit;
};

static void cache_free_read(struct cache_read *read)
{
	rh_job_free(read->job);
	if (read->ledger)
		rh_ledger_deinit(read->ledger);
	rh_free(read->ledger);
}

/* @return 0, RH_EINVAL or RH_ENOMEM */
static int cache_parse_job(const struct rh_engine_entry *entry, const struct rh_json *object, struct cache_read *read,
                           struct rh_error *err)
{
	size_t weight = rh_json_weight(object);
	rh_auto(json) copy = rh_engine_copy_job(object, weight);
	int r;

	if (!copy)
		return RH_ENOMEM;
	rh_json_remove(rh_json_get(copy, "metadata"), "managedFields");
	r = rh_engine_parse_job(entry->kind->kind, rh_take(copy), &read->job, read->ledger, err);
	if (r == 0 && weight > RH_JOB_WEIGHT_MAX)
		read->job->weight = weight;
	return r;
}

/* @return 0 or RH_ENOMEM, then @p read is to be freed */
static int cache_read_job(struct rh_engine_entry *entry, const struct rh_json *object, struct cache_read *read)
{
	struct rh_error err = {0};
	int r;

	read->ledger = rh_engine_hydrate(entry) == 0 ? rh_alloc(sizeof(*read->ledger)) : NULL;
	r = read->ledger ? cache_parse_job(entry, object, read, &err) : RH_ENOMEM;
	if (r == 0 || r == RH_ENOMEM)
		return r;
	entry->weight = rh_json_weight(object);
	read->unfit = rh_engine_new_unfit(entry, object, err.message);
	return read->unfit ? 0 : RH_ENOMEM;
}

static void cache_report_change(struct rh_engine_entry *entry, bool first, const struct rh_job *after,
                                const struct rh_ledger *ledger)
{
	const struct rh_engine_options *options = &entry->engine->options;
	static const struct rh_ledger none;
	const struct rh_engine_change change = {
		entry->kind->kind, first, entry->job, entry->ledger ? entry->ledger : &none, after, ledger, &entry->flags};

	if (options->changed)
		options->changed(options->arg, &change);
}

/* It is another job than before, or the first of its name. @p uid is taken. */
static void cache_begin_job(struct rh_engine_entry *entry, char *uid)
{
	rh_engine_forget_job(entry);
	entry->uid = uid;
	entry->flags = 0;
}

int rh_engine_take_job(struct rh_engine_entry *entry, const struct rh_json *object)
{
	const char *uid = rh_object_text(object, "metadata", "uid");
	uint64_t revision = rh_engine_revision(rh_object_text(object, "metadata", "resourceVersion"));
	rh_auto_free char *copy = NULL;
	struct cache_read read = {0};
	bool first;

	if (cache_is_old(entry, uid, revision))
		return 0;
	copy = rh_strdup(uid);
	first = !entry->uid || strcmp(entry->uid, uid) != 0;
	if (copy && rh_engine_must_put_off(entry, object)) {
		if (first)
			cache_begin_job(entry, rh_take(copy));
		entry->revision = revision;
		rh_engine_put_off(entry);
		return 1;
	}
	if (!copy || cache_read_job(entry, object, &read) < 0) {
		cache_free_read(&read);
		return RH_ENOMEM;
	}
	if (first)
		cache_begin_job(entry, rh_take(copy));
	cache_report_change(entry, first, read.job, read.ledger);
	cache_set_job(entry, read.job, read.ledger);
	rh_engine_set_unfit(entry, read.unfit);
	entry->revision = revision;
	entry->refresh = false;
	return 1;
}
