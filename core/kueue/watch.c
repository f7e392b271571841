/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads, by the job that controls them, and the flavors and priority classes that they name. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kueue/state.h"

static const struct rh_resource watch_resources[RH_KUEUE_WATCHES] = {
	[RH_KUEUE_FLAVORS] = {"kueue.x-k8s.io/v1beta2", "ResourceFlavor", "resourceflavors"},
	[RH_KUEUE_CLASSES] = {"kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses"},
	[RH_KUEUE_POD_CLASSES] = {"scheduling.k8s.io/v1", "PriorityClass", "priorityclasses"},
};

static const struct rh_json *watch_controller(const struct rh_json *object)
{
	const struct rh_json *owner = rh_json_first(rh_json_at(object, "metadata.ownerReferences"));

	while (owner && !rh_json_bool(rh_json_get(owner, "controller"), false))
		owner = rh_json_next(owner);
	return owner;
}

static bool watch_is_kind(const struct rh_kind *kind, const struct rh_json *owner)
{
	const char *api_version = rh_json_string_at(owner, "apiVersion");
	size_t length = strlen(kind->group);

	return api_version && strncmp(api_version, kind->group, length) == 0 && api_version[length] == '/' &&
	       strcmp(api_version + length + 1, kind->version) == 0 &&
	       rh_text_equal(rh_json_string_at(owner, "kind"), kind->kind) && rh_kueue_serves(kind);
}

/* @return the kind that an owner is of; NULL: none that can be queued */
static const struct rh_kind *watch_kind(const struct rh_host *host, const struct rh_json *owner)
{
	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(host, i, &info);
		for (size_t k = 0; info.state == RH_PLUGIN_READY && info.kinds[k]; k++) {
			if (watch_is_kind(info.kinds[k], owner))
				return info.kinds[k];
		}
	}
	return NULL;
}

/* All that is asked of a Workload but its pod sets, which are the larger part. @return NULL when memory is out */
static struct rh_json *watch_slim(const struct rh_json *object)
{
	static const char *const keys[] = {"metadata", "status", NULL};
	static const char *const spec_keys[] = {"queueName", "priorityClassRef", NULL};
	rh_auto(json) slim = rh_json_new_object();
	struct rh_json *spec = slim ? rh_json_ensure_object(slim, "spec") : NULL;

	for (size_t i = 0; spec && keys[i]; i++) {
		const struct rh_json *value = rh_json_get(object, keys[i]);

		if (value && rh_json_set(slim, keys[i], rh_json_copy(value)) < 0)
			return NULL;
	}
	for (size_t i = 0; spec && spec_keys[i]; i++) {
		const struct rh_json *value = rh_json_get(rh_json_get(object, "spec"), spec_keys[i]);

		if (value && rh_json_set(spec, spec_keys[i], rh_json_copy(value)) < 0)
			return NULL;
	}
	rh_json_remove(rh_json_get(slim, "metadata"), "managedFields");
	return spec ? rh_take(slim) : NULL;
}

static char *watch_key(const struct rh_json *object)
{
	return rh_asprintf("%s/%s", rh_json_string_at(object, "metadata.namespace"),
	                   rh_json_string_at(object, "metadata.name"));
}

/* The engine learns at once when a job may not run any more: its own suspend follows. */
static void watch_settle(struct rh_kueue_entry *entry)
{
	struct rh_kueue_facts facts = rh_kueue_facts_of(entry);

	if (entry->open && !rh_kueue_may_run(&facts))
		rh_kueue_stir(entry);
	entry->again_at = 0;
	rh_kueue_mark(entry);
}

static void watch_store(struct rh_kueue_entry *entry, const struct rh_json *object)
{
	rh_auto(json) slim = watch_slim(object);
	rh_auto_free char *key = watch_key(object);
	char id[RH_KUEUE_ID_SIZE];

	if (!slim || !key || rh_kueue_admission_id(slim, id) < 0 ||
	    rh_map_set(entry->kueue->workloads, key, entry, NULL) < 0) {
		entry->kueue->lost = true;
		return;
	}
	rh_json_free(entry->workload);
	entry->workload = rh_take(slim);
	entry->workload_revision = rh_kueue_revision(object);
	rh_copy(entry->admission, sizeof(entry->admission), id);
	watch_settle(entry);
}

static void watch_drop(struct rh_kueue_entry *entry)
{
	rh_auto_free char *key = entry->workload ? watch_key(entry->workload) : NULL;

	if (key)
		(void)rh_map_remove(entry->kueue->workloads, key);
	rh_json_free(rh_take(entry->workload));
	entry->admission[0] = 0;
	watch_settle(entry);
}

/* Two programs that both queue the jobs of a kind would start and stop them in turns. */
static void watch_stand_down(struct rh_kueue *kueue, const struct rh_kueue_owner *owner, const char *workload)
{
	char key[RH_KUEUE_OTHER_SIZE];
	size_t cursor = 0;
	void *value;

	rh_kueue_other_key(owner->kind, owner->namespace_, key);
	if (rh_map_get(kueue->others, key))
		return;
	if (rh_map_set(kueue->others, key, (void *)(uintptr_t)owner->kind, NULL) < 0) {
		kueue->lost = true;
		return;
	}
	rh_log(RH_LOG_ERROR, owner->kind->kind,
	       "KUEUE'S OWN INTEGRATION OF THIS KIND IS ON: Workload %s/%s is not ours. Jobs of this kind in that "
	       "namespace are left to it until this program is restarted; take the kind out of integrations.frameworks of "
	       "Kueue's configuration, or remove \"kueue = true\" here",
	       owner->namespace_, workload ? workload : "");
	while (rh_map_next(kueue->entries, &cursor, NULL, &value)) {
		struct rh_kueue_entry *entry = value;

		if (entry->kind == owner->kind && strcmp(entry->namespace_, owner->namespace_) == 0)
			rh_kueue_stir(entry);
	}
}

void rh_kueue_observe(struct rh_kueue *kueue, const struct rh_json *object)
{
	const struct rh_json *reference = watch_controller(object);
	struct rh_kueue_owner owner = {.kind = watch_kind(kueue->host, reference),
	                               .namespace_ = rh_json_string_at(object, "metadata.namespace"),
	                               .name = rh_json_string_at(reference, "name"),
	                               .uid = rh_json_string_at(reference, "uid")};
	struct rh_kueue_entry *entry;

	if (!owner.kind || !owner.namespace_ || !owner.name || !owner.uid)
		return;
	if (!rh_kueue_workload_is_ours(object)) {
		watch_stand_down(kueue, &owner, rh_json_string_at(object, "metadata.name"));
		return;
	}
	entry = rh_kueue_entry_of(kueue, &owner);
	if (!entry)
		kueue->lost = true;
	else if (rh_kueue_revision(object) > entry->workload_revision)
		watch_store(entry, object);
}

/* After a gap, a DELETED event may have identity alone. */
static void watch_removed(struct rh_kueue *kueue, const struct rh_json *object)
{
	rh_auto_free char *key = watch_key(object);
	struct rh_kueue_entry *entry = key ? rh_map_get(kueue->workloads, key) : NULL;

	if (!key)
		kueue->lost = true;
	if (entry && entry->workload &&
	    rh_text_equal(rh_json_string_at(entry->workload, "metadata.uid"), rh_json_string_at(object, "metadata.uid")))
		watch_drop(entry);
}

static void watch_mark_all(struct rh_kueue *kueue, bool stir)
{
	size_t cursor = 0;
	void *value;

	while (rh_map_next(kueue->entries, &cursor, NULL, &value)) {
		struct rh_kueue_entry *entry = value;

		entry->again_at = 0;
		if (stir)
			rh_kueue_stir(entry);
		else
			rh_kueue_mark(entry);
	}
}

static void watch_named(struct rh_kueue_watch *watch, enum rh_watch_event event, const struct rh_json *object)
{
	const char *name = rh_json_string_at(object, "metadata.name");
	rh_auto(json) copy = event == RH_WATCH_DELETED ? NULL : rh_json_copy(object);
	void *old = NULL;

	if (!name)
		return;
	if (event == RH_WATCH_DELETED)
		old = rh_map_remove(watch->objects, name);
	else if (!copy || rh_map_set(watch->objects, name, copy, &old) < 0)
		watch->kueue->lost = true;
	else
		(void)rh_take(copy);
	rh_json_free(old);
	if (watch->synced)
		watch_mark_all(watch->kueue, false);
}

static void watch_on_event(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_kueue_watch *watch = arg;

	if (event == RH_WATCH_SYNCED) {
		watch->synced = true;
		if (rh_kueue_is_synced(watch->kueue))
			watch_mark_all(watch->kueue, true);
	} else if (watch->objects) {
		watch_named(watch, event, object);
	} else if (event == RH_WATCH_DELETED) {
		watch_removed(watch->kueue, object);
	} else {
		rh_kueue_observe(watch->kueue, object);
	}
}

static uint64_t watch_begin(struct rh_store *store, struct rh_kueue_watch *watch)
{
	if (watch->what == RH_KUEUE_WORKLOADS)
		return store->watch(store, &rh_kueue_workloads, NULL, watch_on_event, watch);
	if (store->watch_cluster)
		return store->watch_cluster(store, &watch_resources[watch->what], watch_on_event, watch);
	return store->watch(store, &watch_resources[watch->what], NULL, watch_on_event, watch);
}

int rh_kueue_watch_all(struct rh_kueue *kueue)
{
	for (int what = 0; what < RH_KUEUE_WATCHES; what++) {
		struct rh_kueue_watch *watch = &kueue->watches[what];

		watch->kueue = kueue;
		watch->what = (enum rh_kueue_watched)what;
		if (what != RH_KUEUE_WORKLOADS && !(watch->objects = rh_map_new()))
			return RH_ENOMEM;
		watch->id = watch_begin(kueue->store, watch);
		if (!watch->id)
			return RH_ENOMEM;
	}
	return 0;
}

void rh_kueue_unwatch_all(struct rh_kueue *kueue)
{
	for (int what = 0; what < RH_KUEUE_WATCHES; what++) {
		struct rh_kueue_watch *watch = &kueue->watches[what];
		size_t cursor = 0;
		void *object;

		kueue->store->unwatch(kueue->store, watch->id);
		while (watch->objects && rh_map_next(watch->objects, &cursor, NULL, &object))
			rh_json_free(object);
		rh_map_free(watch->objects);
		rh_free(watch->problem);
	}
}

void rh_kueue_problem(struct rh_kueue *kueue, const char *resource, const char *message)
{
	for (int what = 0; what < RH_KUEUE_WATCHES; what++) {
		const struct rh_resource *ours = what == RH_KUEUE_WORKLOADS ? &rh_kueue_workloads : &watch_resources[what];
		rh_auto_free char *name =
			rh_asprintf("%s.%.*s", ours->plural, (int)strcspn(ours->api_version, "/"), ours->api_version);

		if (!rh_text_equal(name, resource))
			continue;
		rh_free(rh_take(kueue->watches[what].problem));
		if (message)
			kueue->watches[what].problem =
				rh_asprintf("it is in a queue of Kueue, and %s cannot be read: %s", name, message);
		watch_mark_all(kueue, true);
	}
}
