/* SPDX-License-Identifier: Apache-2.0 */
#include "host/allow.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "host/registry.h"

/** Most files that a "did you mean" looks at. */
#define ALLOW_NAMES_MAX 256

int rh_allow_check(const struct rh_config *config, const char *name, struct rh_error *err)
{
	if (!config->plugin_allow.closed || rh_allow_find(&config->plugin_allow, name))
		return 0;
	return rh_fail(err, RH_EPLUGIN, "its name \"%s\" is not among those that [plugins] allow names; add it there",
	               name);
}

struct rh_pin rh_allow_pin(const struct rh_config *config, const char *name)
{
	const struct rh_allowed *allowed = rh_allow_find(&config->plugin_allow, name);

	return (struct rh_pin){
		.sha256 = allowed && allowed->sha256[0] ? allowed->sha256 : NULL,
		.origin = allowed ? allowed->origin : NULL,
		.public_key = config->plugin_public_key,
	};
}

void rh_allow_prepare(const struct rh_config *config)
{
	bool needed = config->plugin_public_key;

	for (size_t i = 0; i < config->plugin_allow.count && !needed; i++)
		needed = config->plugin_allow.items[i].sha256[0];
	if (needed)
		rh_crypto_prepare();
}

/** Names of the files that were found. */
struct allow_found {
	char *names[ALLOW_NAMES_MAX];
	size_t count;
};

static void allow_found_deinit(struct allow_found *found)
{
	for (size_t i = 0; i < found->count; i++)
		rh_free(found->names[i]);
}

static int allow_find_files(const struct rh_host *host, struct allow_found *found)
{
	for (size_t i = 0; i < host->slot_count && found->count < ALLOW_NAMES_MAX; i++) {
		found->names[found->count] = rh_files_name(host->slots[i]->path);
		if (!found->names[found->count++])
			return RH_ENOMEM;
	}
	return 0;
}

static bool allow_has(const struct allow_found *found, const char *name)
{
	for (size_t i = 0; i < found->count; i++) {
		if (strcmp(found->names[i], name) == 0)
			return true;
	}
	/* there are more than were kept */
	return found->count == ALLOW_NAMES_MAX;
}

static int allow_refuse(const struct rh_host *host, const struct allow_found *found, const struct rh_allowed *allowed,
                        struct rh_error *err)
{
	const char *near = rh_nearest(allowed->name, (const char *const *)found->names, found->count);
	rh_auto_str folders = {0};

	if (near)
		return rh_fail(err, RH_EINVAL,
		               "%s: allow: there is no file \"%s" RH_PLUGIN_ENDING "\" in a folder of plugins; did you mean "
		               "\"%s\"?",
		               allowed->origin, allowed->name, near);
	for (size_t i = 0; i < host->config->plugin_dir_count; i++)
		rh_str_appendf(&folders, "%s\"%s\"", i == 0 ? "" : ", ", host->config->plugin_dirs[i]);
	return rh_fail(err, RH_EINVAL,
	               "%s: allow: there is no file \"%s" RH_PLUGIN_ENDING "\" in %s; install it, or remove the name",
	               allowed->origin, allowed->name, rh_str_text(&folders));
}

int rh_host_check_allow(const struct rh_host *host, struct rh_error *err)
{
	const struct rh_allow *allow = &host->config->plugin_allow;
	__attribute__((cleanup(allow_found_deinit))) struct allow_found found = {.count = 0};

	if (allow->count > 0 && allow_find_files(host, &found) < 0)
		return rh_fail_oom(err);
	for (size_t i = 0; i < allow->count; i++) {
		if (!allow_has(&found, allow->items[i].name))
			return allow_refuse(host, &found, &allow->items[i], err);
	}
	return 0;
}
