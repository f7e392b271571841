/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/str.h"
#include "config/values.h"

int rh_config_add(struct rh_config *config, const struct rh_config_place *place, const char *section, const char *key,
                  const char *value)
{
	struct rh_setting *grown = rh_realloc_array(config->settings, config->setting_count + 1, sizeof(*grown));
	rh_auto_free char *section_copy = rh_strdup(section);
	rh_auto_free char *key_copy = rh_strdup(key);
	rh_auto_free char *value_copy = rh_strdup(value);
	rh_auto_free char *origin = rh_strdup(place->origin);
	rh_auto_free char *folder = rh_strdup(place->folder);

	if (grown)
		config->settings = grown;
	if (!grown || !section_copy || !key_copy || !value_copy || !origin || (place->folder && !folder))
		return RH_ENOMEM;
	grown[config->setting_count++] = (struct rh_setting){
		.layer = place->layer,
		.section = rh_take(section_copy),
		.key = rh_take(key_copy),
		.value = rh_take(value_copy),
		.origin = rh_take(origin),
		.folder = rh_take(folder),
	};
	return 0;
}

int rh_config_set(struct rh_config *config, const char *section, const char *key, const char *value, const char *origin)
{
	const struct rh_config_place place = {.origin = origin, .layer = RH_LAYER_CALL};

	return rh_config_add(config, &place, section, key, value);
}

/** Append the folders of plugins that lie beside the program, in a build tree or an installation. */
static int config_add_dirs(struct rh_config *config)
{
	rh_auto_free char *program = NULL;
	int r = rh_program_folder(&program);

	if (r < 0 || !program)
		return r;
	r = rh_config_append(&config->plugin_dirs, &config->plugin_dir_count,
	                     rh_asprintf("%s/../lib/roundhouse/plugins", program));
	if (r < 0 || strcmp(RH_LIBDIR, "lib") == 0)
		return r;
	return rh_config_append(&config->plugin_dirs, &config->plugin_dir_count,
	                        rh_asprintf("%s/../" RH_LIBDIR "/roundhouse/plugins", program));
}

static int config_init_dirs(struct rh_config *config)
{
	const char *path = getenv("ROUNDHOUSE_PLUGIN_PATH");

	if (!path || !*path)
		return config_add_dirs(config);
	config->plugin_dirs_fixed = true;
	return rh_config_split(path, NULL, &config->plugin_dirs, &config->plugin_dir_count);
}

static char *config_state_dir(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (runtime && runtime[0] == '/')
		return rh_asprintf("%s/roundhouse", runtime);
	return rh_asprintf("/tmp/roundhouse-%" PRIuMAX, (uintmax_t)geteuid());
}

/* What a file without that key would say. */
static int config_take_default(struct rh_config *config, const struct rh_config_key *row)
{
	static const struct rh_config_place place = {.folder = "", .origin = ""};
	enum rh_setting_type type = row->rule.type;

	if (!row->value || (type != RH_SETTING_DURATION && type != RH_SETTING_COUNT && type != RH_SETTING_PORTS &&
	                    type != RH_SETTING_TRUTH))
		return 0;
	return rh_config_take(config, &place, row, row->value, NULL);
}

struct rh_config *rh_config_new(void)
{
	rh_auto(config) config = rh_alloc(sizeof(*config));

	if (!config)
		return NULL;
	for (const struct rh_config_key *row = rh_config_keys(); row->section; row++) {
		if (config_take_default(config, row) < 0)
			return NULL;
	}
	config->plugin_isolation = RH_ISOLATION_FOREIGN;
	config->plugin_worker = rh_isolation_worker();
	config->state_dir = config_state_dir();
	if (!config->state_dir || config_init_dirs(config) < 0)
		return NULL;
	return rh_take(config);
}

void rh_config_free(struct rh_config *config)
{
	if (!config)
		return;
	rh_config_free_texts(config->plugin_dirs, config->plugin_dir_count);
	rh_allow_deinit(&config->plugin_allow);
	rh_free(config->plugin_public_key);
	rh_free(config->file);
	for (size_t i = 0; i < config->setting_count; i++) {
		rh_free(config->settings[i].section);
		rh_free(config->settings[i].key);
		rh_free(config->settings[i].value);
		rh_free(config->settings[i].origin);
		rh_free(config->settings[i].folder);
		rh_free(config->settings[i].content);
	}
	rh_free(config->settings);
	rh_free(config->plugin_worker);
	rh_free(config->state_dir);
	rh_free(config);
}

const struct rh_setting *rh_config_find_setting(const struct rh_config *config, const char *section, const char *key)
{
	for (size_t i = config->setting_count; i > 0; i--) {
		const struct rh_setting *setting = &config->settings[i - 1];

		if (strcmp(setting->section, section) == 0 && strcmp(setting->key, key) == 0)
			return setting;
	}
	return NULL;
}

const char *rh_config_setting(const struct rh_config *config, const char *section, const char *key)
{
	const struct rh_setting *setting = rh_config_find_setting(config, section, key);

	return setting ? setting->value : NULL;
}
