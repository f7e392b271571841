/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/str.h"
#include "host/foreign.h"
#include "host/registry.h"
#include "host/view.h"

/** Most kinds that a "did you mean" looks at. */
#define HOST_KINDS_MAX 256

/** Names of the files in one folder. */
struct host_names {
	char **items;
	size_t count;
};

static void host_names_deinit(struct host_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		rh_free(names->items[i]);
	rh_free(names->items);
	*names = (struct host_names){0};
}

static void host_slot_free(struct rh_slot *slot)
{
	if (!slot)
		return;
	if (slot->state == RH_PLUGIN_READY && slot->plugin->fini)
		slot->plugin->fini(slot->self);
	if (slot->handle)
		dlclose(slot->handle);
	rh_free(slot->path);
	rh_free(slot->name);
	rh_free(slot->release);
	rh_free(slot->section);
	rh_free(slot);
}

int rh_host_new(const struct rh_config *config, struct rh_host **ret_host, struct rh_error *err)
{
	struct rh_host *host = rh_alloc(sizeof(*host));

	if (!host)
		return rh_fail_oom(err);
	host->config = config;
	*ret_host = host;
	return 0;
}

void rh_host_free(struct rh_host *host)
{
	if (!host)
		return;
	for (size_t i = host->slot_count; i > 0; i--)
		host_slot_free(host->slots[i - 1]);
	rh_free(host->slots);
	rh_free(host);
}

/** Append an empty slot. @return it, borrowed, or NULL when memory is out */
static struct rh_slot *host_slot_new(struct rh_host *host, const char *path)
{
	struct rh_slot **grown = rh_realloc_array(host->slots, host->slot_count + 1, sizeof(struct rh_slot *));
	struct rh_slot *slot;

	if (!grown)
		return NULL;
	host->slots = grown;
	slot = rh_alloc(sizeof(*slot));
	if (!slot)
		return NULL;
	slot->path = rh_strdup(path);
	if (!slot->path) {
		host_slot_free(slot);
		return NULL;
	}
	grown[host->slot_count++] = slot;
	return slot;
}

static bool host_is_allowed(const struct rh_config *config, const char *name)
{
	for (size_t i = 0; i < config->plugin_allow_count; i++) {
		if (strcmp(config->plugin_allow[i], name) == 0)
			return true;
	}
	return config->plugin_allow_count == 0;
}

/** Two plugins with one name: which one is meant by the configuration would be chance. */
static int host_check_name(const struct rh_host *host, const struct rh_slot *slot, struct rh_error *err)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *other = host->slots[i];

		if (other != slot && other->plugin && strcmp(other->name, slot->name) == 0)
			return rh_fail(err, RH_EPLUGIN, "its name \"%s\" is that of the plugin in \"%s\"; remove one of them",
			               slot->name, other->path);
	}
	return 0;
}

static bool host_is_same_kind(const struct rh_kind *a, const struct rh_kind *b)
{
	return strcmp(a->group, b->group) == 0 && (strcmp(a->kind, b->kind) == 0 || strcmp(a->plural, b->plural) == 0);
}

static int host_check_conflict(const struct rh_host *host, const struct rh_kind *kind, struct rh_error *err)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *other = host->slots[i];

		for (size_t k = 0; k < other->kind_count; k++) {
			if (host_is_same_kind(other->kinds[k], kind))
				return rh_fail(err, RH_EPLUGIN, "its kind %s.%s is served by the plugin in \"%s\"; remove one of them",
				               kind->kind, kind->group, other->path);
		}
	}
	return 0;
}

/**
 * Ask for all kinds. Those already taken stay in the slot, so a plugin that describes one kind twice conflicts with
 * itself.
 */
static int host_describe(const struct rh_host *host, struct rh_slot *slot, struct rh_error *err)
{
	const struct rh_kind *kind;
	int r;

	while ((kind = slot->plugin->describe(slot->self, (uint32_t)slot->kind_count))) {
		if (slot->kind_count == RH_PLUGIN_KINDS_MAX)
			return rh_fail(err, RH_EPLUGIN, "it describes more than %d kinds", RH_PLUGIN_KINDS_MAX);
		r = rh_abi_check_kind(kind, err);
		if (r == 0)
			r = host_check_conflict(host, kind, err);
		if (r < 0)
			return r;
		slot->kinds[slot->kind_count++] = kind;
	}
	return slot->kind_count > 0 ? 0 : rh_fail(err, RH_EPLUGIN, "it describes no kind");
}

/** Note the kinds of a plugin that does not start, so that whoever misses one can be told. */
static void host_note_idle(struct rh_slot *slot)
{
	const struct rh_kind *kind;

	while (slot->idle_count < RH_PLUGIN_KINDS_MAX &&
	       (kind = slot->plugin->describe(NULL, (uint32_t)slot->idle_count)) && rh_abi_check_kind(kind, NULL) == 0)
		slot->idle[slot->idle_count++] = kind;
}

static int host_init(struct rh_slot *slot, struct rh_error *err)
{
	struct rh_reply reply = {.operation = RH_OPERATION_INIT, .plugin = slot->name};
	int32_t r = slot->plugin->init ? slot->plugin->init(rh_services_table(), &slot->self, &reply) : 0;

	if (r == 0)
		return 0;
	if (reply.status == r)
		return rh_fail(err, RH_EPLUGIN, "its init() failed: %s", reply.error.message);
	return rh_fail(err, RH_EPLUGIN, "its init() failed with %s and no words", rh_status_name(r));
}

static int host_name_slot(struct rh_slot *slot, const struct rh_plugin *plugin, struct rh_error *err)
{
	slot->name = rh_strdup(plugin->name);
	slot->release = rh_strdup(plugin->release);
	slot->section = rh_asprintf("plugin %s", plugin->name);
	if (!slot->name || !slot->release || !slot->section)
		return rh_fail_oom(err);
	return 0;
}

static int host_start(const struct rh_host *host, struct rh_slot *slot, struct rh_error *err)
{
	int r = host_init(slot, err);

	slot->state = RH_PLUGIN_FAILED;
	if (r < 0) {
		host_note_idle(slot);
		return r;
	}
	r = host_describe(host, slot, err);
	if (r == 0) {
		slot->state = RH_PLUGIN_READY;
		return 0;
	}
	slot->state = RH_PLUGIN_REFUSED;
	slot->kind_count = 0;
	memset(slot->kinds, 0, sizeof(slot->kinds));
	if (slot->plugin->fini)
		slot->plugin->fini(slot->self);
	return r;
}

/** Check a table and start the plugin. @return 0, or RH_EPLUGIN with the state set, or RH_ENOMEM */
static int host_admit(struct rh_host *host, struct rh_slot *slot, const struct rh_plugin *plugin, struct rh_error *err)
{
	int r = rh_abi_check_plugin(plugin, err);

	if (r == 0)
		r = host_name_slot(slot, plugin, err);
	if (r == 0)
		r = host_check_name(host, slot, err);
	if (r < 0)
		return r;
	slot->plugin = plugin;
	if (!host_is_allowed(host->config, slot->name)) {
		slot->state = RH_PLUGIN_DISABLED;
		host_note_idle(slot);
		return rh_fail(err, RH_EPLUGIN, "its name \"%s\" is not among those that [plugins] allow names; add it there",
		               slot->name);
	}
	return host_start(host, slot, err);
}

/** Keep why a slot is not ready. @return @p r */
static int host_settle(struct rh_slot *slot, int r, const struct rh_error *reason, struct rh_error *err)
{
	if (r == 0)
		return 0;
	slot->reason = *reason;
	if (err)
		*err = *reason;
	return rh_wrap(err, r, "plugin \"%s\"", slot->path);
}

int rh_host_load_file(struct rh_host *host, const char *path, struct rh_error *err)
{
	struct rh_slot *slot = host_slot_new(host, path);
	const struct rh_plugin *plugin;
	struct rh_error reason = {0};
	int r;

	if (!slot)
		return rh_fail_oom(err);
	r = rh_loader_open(path, &slot->handle, &plugin, &reason);
	if (r == 0)
		r = host_admit(host, slot, plugin, &reason);
	return host_settle(slot, r, &reason, err);
}

int rh_host_add(struct rh_host *host, const char *path, const struct rh_plugin *plugin, struct rh_error *err)
{
	struct rh_slot *slot = host_slot_new(host, path);
	struct rh_error reason = {0};

	if (!slot)
		return rh_fail_oom(err);
	return host_settle(slot, host_admit(host, slot, plugin, &reason), &reason, err);
}

static int host_compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int host_keep_name(struct host_names *names, const char *name)
{
	const char *dot = strrchr(name, '.');
	char **grown;

	if (!dot || strcmp(dot, ".so") != 0)
		return 0;
	grown = rh_realloc_array(names->items, names->count + 1, sizeof(*grown));
	if (!grown)
		return RH_ENOMEM;
	names->items = grown;
	grown[names->count] = rh_strdup(name);
	return grown[names->count] ? (names->count++, 0) : RH_ENOMEM;
}

/**
 * List the plugin files of a folder, sorted.
 * @return 0, RH_ENOMEM, or RH_EIO when it cannot be read; a missing one is empty
 */
static int host_list(const char *path, struct host_names *names, struct rh_error *err)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int r = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return rh_fail(err, RH_EIO, "cannot read the folder: %s", strerror(errno));
	while (r == 0 && (entry = readdir(dir)))
		r = host_keep_name(names, entry->d_name);
	closedir(dir);
	if (r < 0)
		return rh_fail_oom(err);
	if (names->count > 1)
		qsort(names->items, names->count, sizeof(*names->items), host_compare_names);
	return 0;
}

/** Show a folder that cannot be read where its plugins would be shown. */
static int host_refuse_folder(struct rh_host *host, const char *folder, const struct rh_error *reason,
                              struct rh_error *err)
{
	struct rh_slot *slot = host_slot_new(host, folder);

	if (!slot)
		return rh_fail_oom(err);
	slot->reason = *reason;
	return 0;
}

static int host_load_folder(struct rh_host *host, const char *folder, struct rh_error *err)
{
	__attribute__((cleanup(host_names_deinit))) struct host_names names = {0};
	struct rh_error reason = {0};
	int r = host_list(folder, &names, &reason);

	if (r == RH_ENOMEM)
		return rh_fail_oom(err);
	if (r < 0)
		return host_refuse_folder(host, folder, &reason, err);
	for (size_t i = 0; i < names.count; i++) {
		rh_auto_free char *path = rh_path_join(folder, names.items[i]);

		if (!path || rh_host_load_file(host, path, NULL) == RH_ENOMEM)
			return rh_fail_oom(err);
	}
	return 0;
}

int rh_host_load_all(struct rh_host *host, struct rh_error *err)
{
	for (size_t i = 0; i < host->config->plugin_dir_count; i++) {
		int r = host_load_folder(host, host->config->plugin_dirs[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

size_t rh_host_plugin_count(const struct rh_host *host)
{
	return host->slot_count;
}

void rh_host_plugin(const struct rh_host *host, size_t index, struct rh_plugin_info *ret_info)
{
	const struct rh_slot *slot = host->slots[index];
	const char *slash = strrchr(slot->path, '/');

	*ret_info = (struct rh_plugin_info){
		.path = slot->path,
		.name = slot->name ? slot->name
	            : slash    ? slash + 1
	                       : slot->path,
		.release = slot->release ? slot->release : "",
		.state = slot->state,
		.reason = slot->reason.message,
		.kinds = slot->kinds,
	};
}

const struct rh_slot *rh_host_slot(const struct rh_host *host, const struct rh_kind *kind)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		for (size_t k = 0; k < host->slots[i]->kind_count; k++) {
			if (host->slots[i]->kinds[k] == kind)
				return host->slots[i];
		}
	}
	return NULL;
}

/** What happens to the kinds of a host while one is looked for. */
struct host_search {
	const char *api_version;
	const char *kind;
	const struct rh_kind *found;
	const struct rh_kind *other_version; /**< right but for its group or version */
	const char *names[HOST_KINDS_MAX];   /**< of all kinds */
	size_t name_count;
};

static bool host_is_version(const struct rh_kind *kind, const char *api_version)
{
	size_t length = strlen(kind->group);

	return strncmp(api_version, kind->group, length) == 0 && api_version[length] == '/' &&
	       strcmp(api_version + length + 1, kind->version) == 0;
}

static void host_look_at(struct host_search *search, const struct rh_kind *kind)
{
	bool named = strcmp(kind->kind, search->kind) == 0;

	if (named && host_is_version(kind, search->api_version))
		search->found = kind;
	else if (named)
		search->other_version = kind;
	if (search->name_count < HOST_KINDS_MAX)
		search->names[search->name_count++] = kind->kind;
}

/** @return the plugin that would serve the kind if it were started, or NULL */
static const struct rh_slot *host_find_idle(const struct rh_host *host, const struct host_search *search)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *slot = host->slots[i];

		for (size_t k = 0; k < slot->idle_count; k++) {
			if (strcmp(slot->idle[k]->kind, search->kind) == 0 && host_is_version(slot->idle[k], search->api_version))
				return slot;
		}
	}
	return NULL;
}

/** Name the plugins that are not ready: one of them may be the one that is missed. */
static void host_append_absent(const struct rh_host *host, struct rh_str *out)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *slot = host->slots[i];

		if (slot->state != RH_PLUGIN_READY)
			rh_str_appendf(out, "; plugin \"%s\" is not available: %s", slot->path, slot->reason.message);
	}
}

/** Say where a plugin would have to be. */
static void host_append_folders(const struct rh_host *host, struct rh_str *out)
{
	for (size_t i = 0; i < host->config->plugin_dir_count; i++)
		rh_str_appendf(out, "%s\"%s\"", i == 0 ? "; plugins are looked for in " : ", ", host->config->plugin_dirs[i]);
}

static void host_append_hint(const struct rh_host *host, const struct host_search *search, struct rh_str *out)
{
	const char *near = rh_nearest(search->kind, search->names, search->name_count);

	if (search->other_version) {
		rh_str_appendf(out, "; %s is there as %s/%s", search->kind, search->other_version->group,
		               search->other_version->version);
		return;
	}
	if (near) {
		rh_str_appendf(out, "; did you mean %s?", near);
		return;
	}
	if (search->name_count == 0)
		rh_str_append(out, "; no plugin is loaded");
	for (size_t i = 0; i < search->name_count; i++)
		rh_str_appendf(out, "%s%s", i == 0 ? "; there are " : ", ", search->names[i]);
	host_append_folders(host, out);
}

const struct rh_kind *rh_host_kind(const struct rh_host *host, const char *api_version, const char *kind,
                                   struct rh_error *err)
{
	struct host_search search = {.api_version = api_version, .kind = kind};
	const char *foreign = rh_foreign_api(api_version, kind);
	const struct rh_slot *idle;
	rh_auto_str hint = {0};

	for (size_t i = 0; i < host->slot_count; i++) {
		for (size_t k = 0; k < host->slots[i]->kind_count; k++)
			host_look_at(&search, host->slots[i]->kinds[k]);
	}
	if (search.found)
		return search.found;
	idle = host_find_idle(host, &search);
	if (idle) {
		rh_fail(err, RH_ENOENT, "kind \"%s\" of %s is served by plugin \"%s\" in \"%s\", which is not loaded: %s", kind,
		        api_version, idle->name, idle->path, idle->reason.message);
		return NULL;
	}
	if (foreign) {
		rh_fail(err, RH_ENOENT, "no plugin serves kind \"%s\" of %s: %s", kind, api_version, foreign);
		return NULL;
	}
	host_append_hint(host, &search, &hint);
	host_append_absent(host, &hint);
	rh_fail(err, RH_ENOENT, "no plugin serves kind \"%s\" of %s%s", kind, api_version, rh_str_text(&hint));
	return NULL;
}

bool rh_kind_is_called(const struct rh_kind *kind, const char *name)
{
	return strcasecmp(kind->kind, name) == 0 || strcasecmp(kind->plural, name) == 0 ||
	       strcasecmp(kind->singular, name) == 0;
}

int rh_host_parse(const struct rh_host *host, struct rh_json *object, struct rh_job **ret_job, struct rh_error *err)
{
	rh_auto(json) owned = object;
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *name = rh_json_string_at(object, "kind");
	const struct rh_kind *kind;

	if (!api_version || !name)
		return rh_fail(err, RH_EINVAL, "%s is missing, or no text", api_version ? "kind" : "apiVersion");
	kind = rh_host_kind(host, api_version, name, err);
	if (!kind)
		return RH_ENOENT;
	return rh_job_parse(kind, rh_take(owned), ret_job, err);
}
