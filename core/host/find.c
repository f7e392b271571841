/* SPDX-License-Identifier: Apache-2.0 */
/* Which plugin serves a kind; and where none does, what may be meant. */
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "host/foreign.h"
#include "host/registry.h"

/** Most kinds that a "did you mean" looks at. */
#define FIND_KINDS_MAX 256

/** What happens to the kinds of a host while one is looked for. */
struct find_search {
	const char *api_version;
	const char *kind;
	const struct rh_kind *found;
	const struct rh_kind *other_version; /**< right but for its group or version */
	const char *names[FIND_KINDS_MAX];   /**< of all kinds */
	size_t name_count;
};

static bool find_is_version(const struct rh_kind *kind, const char *api_version)
{
	size_t length = strlen(kind->group);

	return strncmp(api_version, kind->group, length) == 0 && api_version[length] == '/' &&
	       strcmp(api_version + length + 1, kind->version) == 0;
}

static void find_look_at(struct find_search *search, const struct rh_kind *kind)
{
	bool named = strcmp(kind->kind, search->kind) == 0;

	if (named && find_is_version(kind, search->api_version))
		search->found = kind;
	else if (named)
		search->other_version = kind;
	if (search->name_count < FIND_KINDS_MAX)
		search->names[search->name_count++] = kind->kind;
}

/** @return the plugin that would serve the kind if it were started, or NULL */
static const struct rh_slot *find_idle(const struct rh_host *host, const struct find_search *search)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *slot = host->slots[i];

		for (size_t k = 0; k < slot->idle_count; k++) {
			if (strcmp(slot->idle[k]->kind, search->kind) == 0 && find_is_version(slot->idle[k], search->api_version))
				return slot;
		}
	}
	return NULL;
}

/** Name the plugins that are not ready: one of them may be the one that is missed. */
static void find_append_absent(const struct rh_host *host, struct rh_str *out)
{
	const char *before = "; [plugins] allow leaves out ";

	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *slot = host->slots[i];

		if (slot->state != RH_PLUGIN_DISABLED)
			continue;
		rh_str_appendf(out, "%s\"%s\"", before, slot->path);
		before = ", ";
	}
	for (size_t i = 0; i < host->slot_count; i++) {
		const struct rh_slot *slot = host->slots[i];

		if (slot->state != RH_PLUGIN_READY && slot->state != RH_PLUGIN_DISABLED && slot->state != RH_PLUGIN_UNNEEDED)
			rh_str_appendf(out, "; plugin \"%s\" is not available: %s", slot->path, slot->reason.message);
	}
}

/** Say where a plugin would have to be. */
static void find_append_folders(const struct rh_host *host, struct rh_str *out)
{
	for (size_t i = 0; i < host->config->plugin_dir_count; i++)
		rh_str_appendf(out, "%s\"%s\"", i == 0 ? "; plugins are looked for in " : ", ", host->config->plugin_dirs[i]);
}

static void find_append_hint(const struct rh_host *host, const struct find_search *search, struct rh_str *out)
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
	find_append_folders(host, out);
}

const struct rh_kind *rh_host_kind(const struct rh_host *host, const char *api_version, const char *kind,
                                   struct rh_error *err)
{
	struct find_search search = {.api_version = api_version, .kind = kind};
	const struct rh_slot *idle;
	const char *foreign;
	rh_auto_str hint = {0};

	for (size_t i = 0; i < host->slot_count; i++) {
		for (size_t k = 0; k < host->slots[i]->kind_count; k++)
			find_look_at(&search, host->slots[i]->kinds[k]);
	}
	if (search.found)
		return search.found;
	idle = find_idle(host, &search);
	if (idle) {
		rh_fail(err, RH_ENOENT, "kind \"%s\" of %s is served by plugin \"%s\" in \"%s\", which is not loaded: %s", kind,
		        api_version, idle->name, idle->path, idle->reason.message);
		return NULL;
	}
	foreign = rh_foreign_api(api_version, kind);
	if (foreign) {
		rh_fail(err, RH_ENOENT, "no plugin serves kind \"%s\" of %s: %s", kind, api_version, foreign);
		return NULL;
	}
	find_append_hint(host, &search, &hint);
	find_append_absent(host, &hint);
	rh_fail(err, RH_ENOENT, "no plugin serves kind \"%s\" of %s%s", kind, api_version, rh_str_text(&hint));
	return NULL;
}

bool rh_kind_is_called(const struct rh_kind *kind, const char *name)
{
	return strcasecmp(kind->kind, name) == 0 || strcasecmp(kind->plural, name) == 0 ||
	       strcasecmp(kind->singular, name) == 0;
}

void rh_host_versions(const struct rh_host *host, const struct rh_kind *kind, struct rh_versions *ret_versions)
{
	*ret_versions = (struct rh_versions){.count = 0};
	for (size_t i = 0; i < host->slot_count; i++) {
		for (size_t k = 0; k < host->slots[i]->kind_count; k++) {
			/* a plugin that would be one too many was refused */
			if (rh_kind_is_version_of(host->slots[i]->kinds[k], kind))
				(void)rh_versions_add(ret_versions, host->slots[i]->kinds[k]);
		}
	}
}

/** Skip @p word and what ends it at the start of @p at. @return what follows, or NULL when it is not there */
static const char *find_skip(const char *at, const char *word)
{
	size_t length = strlen(word);

	return strncasecmp(at, word, length) == 0 && (!at[length] || strchr(".[", at[length])) ? at + length : NULL;
}

/** Skip the group, or version and group, at the start of @p rest. @return what follows; @p rest when they differ */
static const char *find_skip_group(const char *rest, const char *group_name, const char *version_name, bool *ret_exact)
{
	const char *group, *version;

	*ret_exact = false;
	if (*rest != '.')
		return rest;
	group = find_skip(rest + 1, group_name);
	version = find_skip(rest + 1, version_name);
	if (!group && version && *version == '.') {
		group = find_skip(version + 1, group_name);
		*ret_exact = group != NULL;
	}
	return group ? group : rest;
}

/** @return what follows the kind's name, with its group and perhaps version, or NULL. @param[out] ret_exact version */
static const char *find_rest(const struct rh_kind *kind, const char *name, bool *ret_exact)
{
	const char *const words[] = {kind->kind, kind->plural, kind->singular};
	const char *rest = NULL;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !rest; i++)
		rest = find_skip(name, words[i]);
	*ret_exact = false;
	return rest ? find_skip_group(rest, kind->group, kind->version, ret_exact) : NULL;
}

const char *rh_resource_skip_name(const struct rh_json *resource, const char *name)
{
	static const char *const words[] = {"kind", "plural", "singular"};
	const char *rest = NULL;
	bool exact;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !rest; i++)
		rest = find_skip(name, rh_json_string_at(resource, words[i]));
	return rest ? find_skip_group(rest, rh_json_string_at(resource, "group"), rh_json_string_at(resource, "version"),
	                              &exact)
	            : NULL;
}

const struct rh_json *rh_host_resource(const struct rh_host *host, size_t place)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		size_t count = rh_json_size(host->slots[i]->resources);

		if (place < count)
			return rh_json_item(host->slots[i]->resources, place);
		place -= count;
	}
	return NULL;
}

const struct rh_json *rh_host_find_resource(const struct rh_host *host, const char *api_version, const char *kind)
{
	const struct rh_json *resource;

	for (size_t i = 0; (resource = rh_host_resource(host, i)); i++) {
		const char *group = rh_json_string_at(resource, "group");
		size_t length = strlen(group);

		if (strncmp(api_version, group, length) == 0 && api_version[length] == '/' &&
		    strcmp(api_version + length + 1, rh_json_string_at(resource, "version")) == 0 &&
		    strcmp(kind, rh_json_string_at(resource, "kind")) == 0)
			return resource;
	}
	return NULL;
}

const struct rh_kind *rh_host_find_called(const struct rh_host *host, const char *name, const char **ret_rest)
{
	const struct rh_kind *found = NULL;
	struct rh_versions versions;

	for (size_t i = 0; i < host->slot_count; i++) {
		for (size_t k = 0; k < host->slots[i]->kind_count; k++) {
			const struct rh_kind *kind = host->slots[i]->kinds[k];
			bool exact;
			const char *rest = find_rest(kind, name, &exact);

			if (!rest || (!ret_rest && *rest) || (found && !exact))
				continue;
			rh_host_versions(host, kind, &versions);
			found = exact ? kind : versions.items[0];
			if (ret_rest)
				*ret_rest = rest;
			if (exact)
				return found;
		}
	}
	return found;
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
