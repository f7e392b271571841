/* SPDX-License-Identifier: Apache-2.0 */
#include "host/needed.h"

#include <string.h>

#include "base/str.h"
#include "host/registry.h"

static bool needed_serves(const char *kinds, const struct rh_json *object)
{
	const char *kind = rh_json_string_at(object, "kind");

	return rh_words_have(kinds, '|', kind, strlen(kind));
}

/** @return whether the configuration has a section for the plugin */
static bool needed_is_configured(const struct rh_config *config, const char *name)
{
	for (size_t i = 0; i < config->setting_count; i++) {
		const char *section = config->settings[i].section;

		if (rh_starts_with(section, RH_PLUGIN_SECTION) && strcmp(section + strlen(RH_PLUGIN_SECTION), name) == 0)
			return true;
	}
	return false;
}

/** Look at a file. @return whether it is allowed and what it serves is known. @param[out] ret_unneeded so far */
static bool needed_look_at(const struct rh_config *config, const char *path, const char **ret_kinds, bool *ret_unneeded)
{
	rh_auto_free char *name = rh_files_name(path);

	*ret_kinds = rh_files_own_kinds(path);
	*ret_unneeded = name && !needed_is_configured(config, name);
	return name && *ret_kinds && rh_allow_check(config, name, NULL) == 0;
}

/** @return whether a file serves the kind of an object. Marks those that do as needed. */
static bool needed_mark(const char *const *kinds, const struct rh_json *object, size_t count, bool *unneeded)
{
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		if (!needed_serves(kinds[i], object))
			continue;
		unneeded[i] = false;
		found = true;
	}
	return found;
}

/** @return whether the kinds of all objects are known, and one of them is that of a job */
static bool needed_find_jobs(const char *const *kinds, const struct rh_manifest *manifest, size_t count, bool *unneeded)
{
	bool is_job = false;

	for (size_t i = 0; i < manifest->count; i++) {
		const struct rh_json *object = manifest->items[i].object;

		if (needed_mark(kinds, object, count, unneeded))
			is_job = true;
		else if (strcmp(rh_json_string_at(object, "apiVersion"), "v1") != 0)
			return false;
	}
	return is_job;
}

void rh_needed_find(const struct rh_config *config, const struct rh_files *files, const struct rh_manifest *manifest,
                    bool *ret_unneeded)
{
	rh_auto_free const char **kinds = rh_alloc_array(files->count + 1, sizeof(*kinds));
	bool sure = kinds != NULL;

	for (size_t i = 0; sure && i < files->count; i++)
		sure = needed_look_at(config, files->items[i], &kinds[i], &ret_unneeded[i]);
	if (!sure || !needed_find_jobs(kinds, manifest, files->count, ret_unneeded))
		memset(ret_unneeded, 0, files->count * sizeof(*ret_unneeded));
}
