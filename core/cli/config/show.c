/* SPDX-License-Identifier: Apache-2.0 */
/* What holds, and who says so. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/config/parts.h"
#include "cli/config/rows.h"
#include "cli/output.h"
#include "config/keys.h"

#define SHOW_DEFAULT "default"

/* One key on its way into the list. */
struct show {
	const struct rh_cli *cli;
	const struct rh_config *config;
	struct rh_json *list;
};

static int show_add(struct show *show, const char *section, const char *key, const char *value, const char *origin)
{
	rh_auto(json) row = rh_json_new_object();

	if (!row || rh_json_set_string(row, "section", section) < 0 || rh_json_set_string(row, "key", key) < 0 ||
	    rh_json_set(row, "value", value ? rh_json_new_string(value) : rh_json_new_null()) < 0 ||
	    rh_json_set_string(row, "origin", origin) < 0)
		return RH_ENOMEM;
	return rh_json_append(show->list, rh_take(row));
}

/* Folders come from a file, the environment and a flag together. */
static int show_add_path(struct show *show, const struct rh_setting *setting)
{
	const struct rh_config *config = show->config;
	const char *origin = config->plugin_dirs_fixed ? "$ROUNDHOUSE_PLUGIN_PATH"
	                     : setting                 ? setting->origin
	                                               : SHOW_DEFAULT;
	rh_auto_str value = {0}, origins = {0};

	for (size_t i = 0; i < config->plugin_dir_count; i++)
		rh_str_appendf(&value, "%s%s", i ? ":" : "", config->plugin_dirs[i]);
	rh_str_appendf(&origins, "%s%s", rh_cli_option(show->cli, "plugins") ? "--plugins, " : "", origin);
	if (value.failed || origins.failed)
		return RH_ENOMEM;
	return show_add(show, "plugins", "path", rh_str_text(&value), rh_str_text(&origins));
}

/* Each line of the list has its own origin. */
static int show_add_allow(struct show *show)
{
	const struct rh_allow *allow = &show->config->plugin_allow;
	int r = allow->count == 0 ? show_add(show, "plugins", "allow", NULL, SHOW_DEFAULT) : 0;

	for (size_t i = 0; i < allow->count && r == 0; i++) {
		const struct rh_allowed *item = &allow->items[i];
		rh_auto_free char *value = rh_asprintf("%s%s%s", item->name, item->sha256[0] ? "@sha256:" : "", item->sha256);

		r = value ? show_add(show, "plugins", "allow", value, item->origin) : RH_ENOMEM;
	}
	return r;
}

static int show_add_state_dir(struct show *show, const struct rh_setting *setting)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *fallback = runtime && runtime[0] == '/' ? "$XDG_RUNTIME_DIR" : SHOW_DEFAULT;

	return show_add(show, "local", "state-dir", show->config->state_dir, setting ? setting->origin : fallback);
}

static bool show_is(const struct rh_row *row, const char *section, const char *key)
{
	return strcmp(row->section, section) == 0 && strcmp(row->key, key) == 0;
}

/* A variable of V1 that holds where no file says anything. */
static const char *show_variable(const struct rh_row *row)
{
	const char *value = show_is(row, "controller", "namespace") ? getenv("KUBEFLOW_NAMESPACE") : NULL;

	return value && *value ? value : NULL;
}

/* Keys with a part that the file chooses: env.NAME, IMAGE, and all of profiles. */
static bool show_is_pattern(const struct rh_row *row)
{
	return strstr(row->section, "NAME") || strstr(row->key, "NAME") || strcmp(row->section, "images") == 0;
}

static int show_row(void *arg, const struct rh_row *row)
{
	struct show *show = arg;
	const struct rh_setting *setting = rh_config_find_setting(show->config, row->section, row->key);

	if (show_is_pattern(row))
		return 0;
	if (show_is(row, "plugins", "path"))
		return show_add_path(show, setting);
	if (show_is(row, "plugins", "allow"))
		return show_add_allow(show);
	if (show_is(row, "local", "state-dir"))
		return show_add_state_dir(show, setting);
	if (setting)
		return show_add(show, row->section, row->key, setting->value, setting->origin);
	if (show_variable(row))
		return show_add(show, row->section, row->key, show_variable(row), "$KUBEFLOW_NAMESPACE");
	return show_add(show, row->section, row->key, row->value, SHOW_DEFAULT);
}

/* Whether show_row() shows it: what is in the table as it stands there. */
static bool show_has(const struct show *show, const struct rh_setting *setting)
{
	const struct rh_json *row = rh_json_first(show->list);

	while (row && (strcmp(rh_json_string_at(row, "section"), setting->section) != 0 ||
	               strcmp(rh_json_string_at(row, "key"), setting->key) != 0))
		row = rh_json_next(row);
	return row;
}

/* What only the files know: images, profiles, variables, and settings of plugins that do not describe them. */
static int show_rest(struct show *show)
{
	int r = 0;

	for (size_t i = 0; i < show->config->setting_count && r == 0; i++) {
		const struct rh_setting *first = &show->config->settings[i];
		const struct rh_setting *last = rh_config_find_setting(show->config, first->section, first->key);

		if (!show_has(show, first))
			r = show_add(show, last->section, last->key, last->value, last->origin);
	}
	return r;
}

static void show_print(const struct rh_json *list, struct rh_str *out)
{
	const char *section = "";

	for (const struct rh_json *row = rh_json_first(list); row; row = rh_json_next(row)) {
		const char *value = rh_json_string_at(row, "value");
		size_t start;

		if (strcmp(section, rh_json_string_at(row, "section")) != 0) {
			section = rh_json_string_at(row, "section");
			rh_str_appendf(out, "%s[%s]\n", out->length ? "\n" : "", section);
		}
		start = out->length;
		rh_str_appendf(out, "%s%s = %s", value ? "" : "; ", rh_json_string_at(row, "key"), value ? value : "");
		while (!out->failed && out->length - start < 48)
			rh_str_append(out, " ");
		rh_str_appendf(out, " ; %s\n", rh_json_string_at(row, "origin"));
	}
}

int rh_config_show(const struct rh_cli *cli, const struct rh_session *session, bool json, struct rh_str *out)
{
	rh_auto(json) list = rh_json_new_array();
	struct show show = {.cli = cli, .config = session->config, .list = list};
	int r = list ? rh_rows_each(session->host, show_row, &show) : RH_ENOMEM;

	if (r == 0)
		r = show_rest(&show);
	if (r < 0)
		return r;
	if (json)
		return rh_cli_put(list, true, out);
	show_print(list, out);
	return out->failed ? RH_ENOMEM : 0;
}
