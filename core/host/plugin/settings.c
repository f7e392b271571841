/* SPDX-License-Identifier: Apache-2.0 */
#include "host/plugin/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/os/file.h"
#include "base/str.h"
#include "config/setting.h"
#include "host/plugin/container_template.h"
#include "host/registry.h"

#define SETTINGS_NAMES_MAX 64
/* Largest file that a setting may name, in bytes. */
#define SETTINGS_FILE_MAX (256u * 1024)
#define SETTINGS_CONTAINERS "containers"

/* What a word of rh_plugin.settings means. */
struct settings_word {
	const char *word;
	enum rh_setting_type type;
};

static const struct settings_word settings_types[] = {
	{"string", RH_SETTING_TEXT},
	{"integer", RH_SETTING_INTEGER},
	{"boolean", RH_SETTING_TRUTH},
};

static const struct settings_word settings_formats[] = {
	{"image", RH_SETTING_IMAGE},
	{"domain", RH_SETTING_DOMAIN},
	{SETTINGS_CONTAINERS, RH_SETTING_TEXT},
};

static const struct settings_word *settings_find_word(const struct settings_word *words, size_t count, const char *word)
{
	for (size_t i = 0; word && i < count; i++) {
		if (strcmp(words[i].word, word) == 0)
			return &words[i];
	}
	return NULL;
}

static const struct settings_word *settings_type(const struct rh_json *schema)
{
	return settings_find_word(settings_types, sizeof(settings_types) / sizeof(settings_types[0]),
	                          rh_json_string(rh_json_get(schema, "type")));
}

static const struct settings_word *settings_format(const struct rh_json *schema)
{
	return settings_find_word(settings_formats, sizeof(settings_formats) / sizeof(settings_formats[0]),
	                          rh_json_string(rh_json_get(schema, "format")));
}

static bool settings_are_texts(const struct rh_json *list)
{
	if (!list)
		return true;
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		if (!rh_json_string(item))
			return false;
	}
	return rh_json_type(list) == RH_JSON_ARRAY;
}

/* Formats that came later are nobody's fault: their settings are texts. */
static int settings_check_property(const struct rh_json *schema, struct rh_error *err)
{
	static const char *const lists[] = {"enum", "variables"};

	if (rh_json_type(schema) != RH_JSON_OBJECT || !settings_type(schema))
		return rh_fail(err, RH_EPLUGIN, "struct rh_plugin: settings: \"%s\" has no type of string, integer and boolean",
		               rh_json_key(schema));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (!settings_are_texts(rh_json_get(schema, lists[i])))
			return rh_fail(err, RH_EPLUGIN, "struct rh_plugin: settings: \"%s\": %s is not a list of strings",
			               rh_json_key(schema), lists[i]);
	}
	return 0;
}

int rh_plugin_settings_check_schema(const char *settings, struct rh_error *err)
{
	rh_auto(json) json = NULL;
	int r = rh_json_parse(settings, strlen(settings), &json, err);

	if (r == RH_ENOMEM)
		return r;
	if (r < 0)
		return rh_wrap(err, RH_EPLUGIN, "struct rh_plugin: settings");
	if (rh_json_type(json) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EPLUGIN, "struct rh_plugin: settings is JSON of type %s, it must be an object",
		               rh_json_type_name(json));
	for (const struct rh_json *item = rh_json_first(json); item && r == 0; item = rh_json_next(item))
		r = settings_check_property(item, err);
	return r;
}

/* "a|b" of an enum; a type beside it is that of its words. */
static void settings_join_words(const struct rh_json *words, struct rh_str *out)
{
	for (const struct rh_json *word = rh_json_first(words); word; word = rh_json_next(word))
		rh_str_appendf(out, "%s%s", out->length ? "|" : "", rh_json_string(word));
}

static int settings_check_value(const struct rh_json *schema, const char *value, struct rh_error *err)
{
	const struct settings_word *type = settings_type(schema), *format = settings_format(schema);
	struct rh_setting_rule rule = {.key = rh_json_key(schema), .type = format ? format->type : type->type};
	int64_t min = INT32_MIN, max = INT32_MAX;
	rh_auto_str words = {0};

	(void)rh_json_integer(rh_json_get(schema, "minimum"), &min);
	(void)rh_json_integer(rh_json_get(schema, "maximum"), &max);
	rule.min = (double)min;
	rule.max = (double)max;
	settings_join_words(rh_json_get(schema, "enum"), &words);
	if (words.failed)
		return rh_fail_oom(err);
	rule.words = rh_str_text(&words);
	if (*rule.words)
		rule.type = RH_SETTING_WORD;
	return rh_setting_check(&rule, value, err);
}

/* A relative name starts at the folder of the file that says it. */
static char *settings_path(const struct rh_setting *setting)
{
	return rh_path_join(setting->folder ? setting->folder : "", setting->value);
}

static int settings_read_containers(struct rh_setting *setting, const struct rh_json *schema, struct rh_error *err)
{
	rh_auto_free char *path = settings_path(setting);
	rh_auto_free char *text = NULL;
	int r = path ? rh_file_read(path, SETTINGS_FILE_MAX, &text, NULL, err) : rh_fail_oom(err);

	if (r < 0)
		return rh_wrap(err, r, "%s", setting->key);
	r = rh_container_template_read(text, rh_json_get(schema, "variables"), &setting->content, err);
	return r < 0 ? rh_wrap(err, r, "%s: \"%s\"", setting->key, path) : 0;
}

static int settings_refuse_key(const struct rh_setting *setting, const struct rh_json *settings, struct rh_error *err)
{
	const char *names[SETTINGS_NAMES_MAX];
	size_t count = 0;
	rh_auto_str list = {0};
	const char *near;

	for (const struct rh_json *item = rh_json_first(settings); item && count < SETTINGS_NAMES_MAX;
	     item = rh_json_next(item)) {
		names[count++] = rh_json_key(item);
		rh_str_appendf(&list, "%s%s", list.length ? ", " : "; there are ", rh_json_key(item));
	}
	near = rh_nearest(setting->key, names, count);
	if (near)
		return rh_fail(err, RH_EINVAL, "unknown key \"%s\" in section [%s]; did you mean \"%s\"?", setting->key,
		               setting->section, near);
	return rh_fail(err, RH_EINVAL, "unknown key \"%s\" in section [%s]%s", setting->key, setting->section,
	               list.length ? rh_str_text(&list) : "; the plugin has no settings: remove it");
}

static int settings_check_one(struct rh_setting *setting, const struct rh_json *settings, struct rh_error *err)
{
	const struct rh_json *schema = rh_json_get(settings, setting->key);
	const struct settings_word *format = settings_format(schema);
	int r;

	if (!schema)
		return settings_refuse_key(setting, settings, err);
	r = settings_check_value(schema, setting->value, err);
	if (r == 0 && !setting->content && format && strcmp(format->word, SETTINGS_CONTAINERS) == 0)
		r = settings_read_containers(setting, schema, err);
	return r;
}

/* A plugin that failed before it reported its name is identified by its file. */
static bool settings_is_of(const struct rh_slot *slot, const char *name)
{
	const char *slash = strrchr(slot->path, '/');
	const char *file = slash ? slash + 1 : slot->path;
	size_t length = strlen(name);

	if (slot->name)
		return strcmp(slot->name, name) == 0;
	return strncmp(file, name, length) == 0 && strcmp(file + length, ".so") == 0;
}

static const struct rh_slot *settings_find_slot(const struct rh_host *host, const char *name)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		if (settings_is_of(host->slots[i], name))
			return host->slots[i];
	}
	return NULL;
}

static int settings_refuse_plugin(const struct rh_host *host, const char *name, struct rh_error *err)
{
	const char *names[SETTINGS_NAMES_MAX];
	size_t count = 0;
	const char *near;

	for (size_t i = 0; i < host->slot_count && count < SETTINGS_NAMES_MAX; i++) {
		if (host->slots[i]->name)
			names[count++] = host->slots[i]->name;
	}
	near = rh_nearest(name, names, count);
	if (near)
		return rh_fail(err, RH_EINVAL, "section [plugin %s]: there is no plugin of that name; did you mean %s?", name,
		               near);
	return rh_fail(err, RH_EINVAL,
	               "section [plugin %s]: there is no plugin of that name; remove the section, or see "
	               "`roundhouse plugins list`",
	               name);
}

/* The plugin's description is parsed for each setting: there are few. */
static int settings_check_setting(const struct rh_host *host, struct rh_setting *setting, struct rh_error *err)
{
	const char *name = setting->section + strlen(RH_PLUGIN_SECTION);
	const struct rh_slot *slot = settings_find_slot(host, name);
	rh_auto(json) settings = NULL;
	int r;

	/* flags of V1 may stand where the plugin they are for was left out */
	if (!slot && !setting->folder)
		return 0;
	if (!slot)
		return settings_refuse_plugin(host, name, err);
	if (!slot->plugin || !RH_HAS(slot->plugin, struct rh_plugin, settings))
		return 0;
	r = rh_json_parse(slot->plugin->settings, strlen(slot->plugin->settings), &settings, err);
	return r < 0 ? r : settings_check_one(setting, settings, err);
}

int rh_plugin_settings_check(struct rh_config *config, const struct rh_host *host, struct rh_error *err)
{
	for (size_t i = 0; i < config->setting_count; i++) {
		struct rh_setting *setting = &config->settings[i];
		int r = 0;

		if (rh_starts_with(setting->section, RH_PLUGIN_SECTION))
			r = settings_check_setting(host, setting, err);
		if (r < 0)
			return r == RH_ENOMEM ? r : rh_wrap(err, RH_EINVAL, "%s", setting->origin);
	}
	return 0;
}
