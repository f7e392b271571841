/* SPDX-License-Identifier: Apache-2.0 */
#include "host/admit.h"

#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "host/allow.h"
#include "host/call/reply.h"
#include "host/plugin/resources.h"
#include "host/worker/messages/hello.h"
#include "job/kind.h"

void rh_slot_enter(const struct rh_config *config, const struct rh_slot *slot, const char *operation,
                   struct rh_guard *guard)
{
	*guard = (struct rh_guard){
		.plugin = slot->path, .operation = operation, .limit = config ? config->plugin_time_limit : RH_NEVER};
	rh_guard_enter(guard);
}

void rh_slot_finish(const struct rh_config *config, const struct rh_slot *slot)
{
	struct rh_guard guard;

	if (!slot->plugin->fini)
		return;
	rh_slot_enter(config, slot, "fini()", &guard);
	slot->plugin->fini(slot->self);
	rh_guard_leave();
}

int rh_slot_check_allowed(const struct rh_host *host, struct rh_slot *slot, const char *name, struct rh_error *err)
{
	int r = rh_allow_check(host->config, name, err);

	if (r < 0)
		slot->state = RH_PLUGIN_DISABLED;
	return r;
}

/** Two plugins with one name: which one is meant by the configuration would be chance. */
static int admit_check_name(const struct rh_host *host, const struct rh_slot *slot, struct rh_error *err)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *other = host->slots[i];

		if (other != slot && other->plugin && strcmp(other->name, slot->name) == 0)
			return rh_fail(err, RH_EPLUGIN, "its name \"%s\" is that of the plugin in \"%s\"; remove one of them",
			               slot->name, other->path);
	}
	return 0;
}

static bool admit_is_same_kind(const struct rh_kind *a, const struct rh_kind *b)
{
	return strcmp(a->group, b->group) == 0 && (strcmp(a->kind, b->kind) == 0 || strcmp(a->plural, b->plural) == 0);
}

/** Two kinds of one group with one name are versions of one resource, or one of them has to go. */
static int admit_check_pair(const struct rh_kind *kind, const struct rh_kind *other, const char *path,
                            struct rh_error *err)
{
	if (strcmp(other->version, kind->version) == 0)
		return rh_fail(err, RH_EPLUGIN, "its kind %s.%s is served by the plugin in \"%s\"; remove one of them",
		               kind->kind, kind->group, path);
	if (strcmp(other->kind, kind->kind) != 0 || strcmp(other->plural, kind->plural) != 0 ||
	    strcmp(other->singular, kind->singular) != 0)
		return rh_fail(err, RH_EPLUGIN,
		               "its kind %s of %s/%s has the names %s and %s, and the plugin in \"%s\" serves %s of %s/%s with "
		               "%s and %s; versions of one kind must have the same names",
		               kind->kind, kind->group, kind->version, kind->plural, kind->singular, path, other->kind,
		               other->group, other->version, other->plural, other->singular);
	if ((kind->flags & RH_KIND_STORAGE) && (other->flags & RH_KIND_STORAGE))
		return rh_fail(err, RH_EPLUGIN,
		               "its kind %s of %s/%s is to be the storage version, and so is %s of the plugin in \"%s\"; "
		               "RH_KIND_STORAGE is for one of them",
		               kind->kind, kind->group, kind->version, other->version, path);
	return 0;
}

static int admit_check_conflict(const struct rh_host *host, const struct rh_kind *kind, struct rh_error *err)
{
	struct rh_versions versions;
	int r = 0;

	for (size_t i = 0; i < host->slot_count && r == 0; i++) {
		const struct rh_slot *other = host->slots[i];

		for (size_t k = 0; k < other->kind_count && r == 0; k++) {
			if (admit_is_same_kind(other->kinds[k], kind))
				r = admit_check_pair(kind, other->kinds[k], other->path, err);
		}
	}
	if (r < 0)
		return r;
	rh_host_versions(host, kind, &versions);
	if (versions.count == RH_VERSIONS_MAX)
		return rh_fail(err, RH_EPLUGIN, "its kind %s of %s/%s is one version more than %d of that kind; remove one",
		               kind->kind, kind->group, kind->version, RH_VERSIONS_MAX);
	return 0;
}

/** Definitions have a group and plural of their own. */
static int admit_check_resource(const struct rh_host *host, const struct rh_json *row, struct rh_error *err)
{
	const char *group = rh_json_string_at(row, "group"), *plural = rh_json_string_at(row, "plural");
	const char *path = NULL;

	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *other = host->slots[i];

		for (size_t k = 0; k < other->kind_count; k++) {
			if (strcmp(other->kinds[k]->group, group) == 0 && strcmp(other->kinds[k]->plural, plural) == 0)
				path = other->path;
		}
		for (const struct rh_json *one = rh_json_first(other->resources); one; one = rh_json_next(one)) {
			if (one != row && rh_text_equal(rh_json_string_at(one, "group"), group) &&
			    rh_text_equal(rh_json_string_at(one, "plural"), plural))
				path = other->path;
		}
	}
	return path ? rh_fail(err, RH_EPLUGIN, "its resource %s.%s is that of the plugin in \"%s\"; remove one of them",
	                      plural, group, path)
	            : 0;
}

/** Parse rh_plugin.resources into the slot. */
static int admit_take_resources(const struct rh_host *host, struct rh_slot *slot, struct rh_error *err)
{
	int r = RH_HAS(slot->plugin, struct rh_plugin, resources)
	            ? rh_resources_parse(slot->plugin->resources, &slot->resources, err)
	            : 0;

	for (const struct rh_json *row = rh_json_first(slot->resources); row && r == 0; row = rh_json_next(row))
		r = admit_check_resource(host, row, err);
	return r;
}

static const struct rh_kind *admit_ask_kind(const struct rh_host *host, const struct rh_slot *slot, size_t index)
{
	const struct rh_kind *kind;
	struct rh_guard guard;

	rh_slot_enter(host->config, slot, "describe()", &guard);
	kind = slot->plugin->describe(slot->self, (uint32_t)index);
	rh_guard_leave();
	return kind;
}

static bool admit_can_expand(const struct rh_slot *slot)
{
	return slot->hello ? rh_hello_has(slot->hello, RH_OPERATION_EXPAND)
	                   : RH_HAS(slot->plugin, struct rh_plugin, expand);
}

/**
 * Ask for all kinds. Those already taken stay in the slot, so a plugin that describes one kind twice conflicts with
 * itself.
 */
static int admit_describe(const struct rh_host *host, struct rh_slot *slot, struct rh_error *err)
{
	const struct rh_kind *kind;
	int r;

	while ((kind = slot->hello ? rh_hello_kind(slot->hello, false, slot->kind_count)
	                           : admit_ask_kind(host, slot, slot->kind_count))) {
		if (slot->kind_count == RH_PLUGIN_KINDS_MAX)
			return rh_fail(err, RH_EPLUGIN, "it describes more than %d kinds", RH_PLUGIN_KINDS_MAX);
		r = slot->own ? rh_abi_check_kind_form(kind, err) : rh_abi_check_kind(kind, err);
		if (r == 0 && rh_kind_expands(kind) && !admit_can_expand(slot))
			r = rh_fail(err, RH_EPLUGIN, "kind %s has RH_KIND_EXPANDED, and the plugin has no expand()", kind->kind);
		if (r == 0)
			r = admit_check_conflict(host, kind, err);
		if (r < 0)
			return r;
		slot->kinds[slot->kind_count++] = kind;
	}
	if (slot->kind_count == 0)
		return rh_fail(err, RH_EPLUGIN, "it describes no kind");
	return admit_take_resources(host, slot, err);
}

/** Record the kinds of a plugin that does not start, so that errors about a missing kind can name the plugin. */
static void admit_note_idle(const struct rh_host *host, struct rh_slot *slot)
{
	const struct rh_kind *kind;

	slot->self = NULL;
	while (slot->idle_count < RH_PLUGIN_KINDS_MAX && (kind = admit_ask_kind(host, slot, slot->idle_count)) &&
	       rh_abi_check_kind(kind, NULL) == 0)
		slot->idle[slot->idle_count++] = kind;
}

static int admit_init(const struct rh_host *host, struct rh_slot *slot, struct rh_error *err)
{
	struct rh_reply reply = {.operation = RH_OPERATION_INIT, .plugin = slot->name, .notes = host->notes};
	struct rh_guard guard;
	int32_t r;

	if (!slot->plugin->init)
		return 0;
	rh_slot_enter(host->config, slot, "init()", &guard);
	r = slot->plugin->init(host->services, &slot->self, &reply);
	rh_guard_leave();
	if (r == 0)
		return 0;
	if (reply.status == r)
		return rh_fail(err, RH_EPLUGIN, "its init() failed: %s", reply.error.message);
	return rh_fail(err, RH_EPLUGIN, "its init() failed with %s and no words", rh_status_name(r));
}

static int admit_name_slot(struct rh_slot *slot, const struct rh_plugin *plugin, struct rh_error *err)
{
	slot->name = rh_strdup(plugin->name);
	slot->release = rh_strdup(plugin->release);
	slot->section = rh_asprintf(RH_PLUGIN_SECTION "%s", plugin->name);
	if (!slot->name || !slot->release || !slot->section)
		return rh_fail_oom(err);
	return 0;
}

static int admit_start(const struct rh_host *host, struct rh_slot *slot, struct rh_error *err)
{
	int r = admit_init(host, slot, err);

	slot->state = RH_PLUGIN_FAILED;
	if (r < 0) {
		admit_note_idle(host, slot);
		return r;
	}
	r = admit_describe(host, slot, err);
	if (r == 0) {
		slot->state = RH_PLUGIN_READY;
		return 0;
	}
	slot->state = RH_PLUGIN_REFUSED;
	slot->kind_count = 0;
	memset(slot->kinds, 0, sizeof(slot->kinds));
	rh_json_free(rh_take(slot->resources));
	if (!slot->hello)
		rh_slot_finish(host->config, slot);
	return r;
}

/** admit_start() of a plugin whose process has started it. */
static int admit_start_remote(const struct rh_host *host, struct rh_slot *slot, struct rh_error *err)
{
	const struct rh_kind *kind;
	int r;

	slot->state = rh_hello_state(slot->hello);
	if (slot->state == RH_PLUGIN_READY) {
		r = admit_describe(host, slot, err);
		slot->state = r == 0 ? RH_PLUGIN_READY : RH_PLUGIN_REFUSED;
		if (r < 0) {
			slot->kind_count = 0;
			memset(slot->kinds, 0, sizeof(slot->kinds));
			rh_json_free(rh_take(slot->resources));
		}
		return r;
	}
	while ((kind = rh_hello_kind(slot->hello, true, slot->idle_count)) && rh_abi_check_kind(kind, NULL) == 0)
		slot->idle[slot->idle_count++] = kind;
	return rh_fail(err, RH_EPLUGIN, "%s", rh_hello_reason(slot->hello));
}

/** @return the first kind that is served on a cluster only where the allow-list names the plugin, and it does not */
static const struct rh_kind *admit_withheld(const struct rh_host *host, const struct rh_slot *slot)
{
	size_t i = 0;

	if (!host->on_cluster || rh_allow_find(&host->config->plugin_allow, slot->name))
		return NULL;
	while (i < slot->kind_count && !(slot->kinds[i]->flags & RH_KIND_OPT_IN))
		i++;
	return i < slot->kind_count ? slot->kinds[i] : NULL;
}

/** Disable a plugin that was started. Its kinds are noted, so that errors about a missing one can name the plugin. */
static int admit_withhold(const struct rh_host *host, struct rh_slot *slot, const struct rh_kind *kind,
                          struct rh_error *err)
{
	int r = rh_fail(err, RH_EPLUGIN,
	                "another operator may serve its kind %s of %s/%s on this cluster; to serve it here, name \"%s\" in "
	                "[plugins] allow",
	                kind->kind, kind->group, kind->version, slot->name);

	memcpy(slot->idle, slot->kinds, sizeof(slot->idle));
	slot->idle_count = slot->kind_count;
	memset(slot->kinds, 0, sizeof(slot->kinds));
	slot->kind_count = 0;
	rh_json_free(rh_take(slot->resources));
	if (!slot->hello)
		rh_slot_finish(host->config, slot);
	slot->state = RH_PLUGIN_DISABLED;
	return r;
}

int rh_host_admit(struct rh_host *host, struct rh_slot *slot, const struct rh_plugin *plugin, struct rh_error *err)
{
	const struct rh_kind *withheld;
	int r = rh_abi_check_plugin(plugin, err);

	if (r == 0)
		r = admit_name_slot(slot, plugin, err);
	if (r == 0)
		r = admit_check_name(host, slot, err);
	if (r < 0)
		return r;
	r = rh_slot_check_allowed(host, slot, slot->name, err);
	if (r < 0)
		return r;
	slot->plugin = plugin;
	r = slot->hello ? admit_start_remote(host, slot, err) : admit_start(host, slot, err);
	withheld = r == 0 ? admit_withheld(host, slot) : NULL;
	return withheld ? admit_withhold(host, slot, withheld, err) : r;
}
