/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/config/rows.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

static int rows_give(const struct rh_config_key *key, rh_row_fn *fn, void *arg)
{
	rh_auto_str type = {0};
	struct rh_row row = {
		.section = key->section,
		.key = key->rule.key,
		.value = key->value,
		.example = key->example ? key->example : key->value,
		.help = key->help,
		.page = key->page,
	};

	rh_setting_describe(&key->rule, &type);
	if (type.failed)
		return RH_ENOMEM;
	row.type = rh_str_text(&type);
	return fn(arg, &row);
}

/* What a schema of plugin.h (rh_plugin.settings) says of a value. */
static void rows_describe(const struct rh_json *schema, struct rh_str *out)
{
	static const struct {
		const char *word, *text;
	} types[] = {
		{"image", "an image"},         {"domain", "a domain name, or empty"}, {"containers", "a file with containers"},
		{"integer", "a whole number"}, {"boolean", "true or false"},
	};
	const char *format = rh_json_string_at(schema, "format");
	const char *type = format ? format : rh_json_string_at(schema, "type");
	int64_t bound;

	for (const struct rh_json *word = rh_json_first(rh_json_get(schema, "enum")); word; word = rh_json_next(word))
		rh_str_appendf(out, "%s%s", out->length ? ", " : "one of ", rh_json_string(word));
	if (out->length)
		return;
	for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(types[i].word, type) == 0)
			rh_str_append(out, types[i].text);
	}
	if (!out->length)
		rh_str_append(out, "text that is not empty");
	if (rh_json_integer(rh_json_get(schema, "minimum"), &bound))
		rh_str_appendf(out, " from %lld", (long long)bound);
	if (rh_json_integer(rh_json_get(schema, "maximum"), &bound))
		rh_str_appendf(out, " to %lld", (long long)bound);
}

static const char *rows_example(const struct rh_json *schema)
{
	const char *format = rh_json_string_at(schema, "format");

	if (format && strcmp(format, "domain") == 0)
		return "cluster.local";
	return format && strcmp(format, "containers") == 0 ? "initContainer.yaml" : "VALUE";
}

static int rows_give_setting(const char *section, const struct rh_json *schema, rh_row_fn *fn, void *arg)
{
	const struct rh_json *fallback = rh_json_get(schema, "default");
	rh_auto_str type = {0}, value = {0};
	struct rh_row row = {
		.section = section,
		.key = rh_json_key(schema),
		.help = rh_json_string_at(schema, "description"),
		.example = rows_example(schema),
	};

	rows_describe(schema, &type);
	if (rh_json_string(fallback))
		rh_str_append(&value, rh_json_string(fallback));
	else if (fallback)
		rh_json_print(fallback, false, &value);
	if (type.failed || value.failed)
		return RH_ENOMEM;
	row.type = rh_str_text(&type);
	if (fallback)
		row.example = row.value = rh_str_text(&value);
	if (!row.help)
		row.help = "The plugin does not describe it.";
	return fn(arg, &row);
}

static int rows_give_plugin(const struct rh_plugin_info *info, rh_row_fn *fn, void *arg)
{
	rh_auto_free char *section = rh_asprintf("plugin %s", info->name);
	rh_auto(json) settings = NULL;
	int r = section ? rh_json_parse(info->settings, strlen(info->settings), &settings, NULL) : RH_ENOMEM;

	for (const struct rh_json *at = rh_json_first(settings); at && r == 0; at = rh_json_next(at))
		r = rows_give_setting(section, at, fn, arg);
	return r;
}

static int rows_give_plugins(const struct rh_host *host, rh_row_fn *fn, void *arg)
{
	int r = 0;

	for (size_t i = 0; host && i < rh_host_plugin_count(host) && r == 0; i++) {
		struct rh_plugin_info info = {0};

		rh_host_plugin(host, i, &info);
		if (info.settings)
			r = rows_give_plugin(&info, fn, arg);
	}
	return r;
}

static int rows_give_section(const char *section, rh_row_fn *fn, void *arg)
{
	int r = 0;

	for (const struct rh_config_key *key = rh_config_keys(); key->section && r == 0; key++) {
		if (strcmp(key->section, section) == 0)
			r = rows_give(key, fn, arg);
	}
	return r;
}

int rh_rows_each(const struct rh_host *host, rh_row_fn *fn, void *arg)
{
	int r = 0;

	for (const struct rh_config_section *at = rh_config_sections(); at->name && r == 0; at++) {
		if (strcmp(at->name, "plugin NAME") == 0)
			r = rows_give_plugins(host, fn, arg);
		else
			r = rows_give_section(at->name, fn, arg);
	}
	return r;
}
