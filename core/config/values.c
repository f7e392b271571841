/* SPDX-License-Identifier: Apache-2.0 */
#include "config/values.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crypto/minisign.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"

/** Ports below this one are the system's. */
#define VALUES_PORT_MIN 1024

void rh_config_free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rh_free(texts[i]);
	rh_free(texts);
}

int rh_config_append(char ***texts, size_t *count, char *text)
{
	char **grown = text ? rh_realloc_array(*texts, *count + 1, sizeof(*grown)) : NULL;

	if (!grown) {
		rh_free(text);
		return RH_ENOMEM;
	}
	grown[(*count)++] = text;
	*texts = grown;
	return 0;
}

int rh_config_split(const char *text, const char *folder, char ***ret_texts, size_t *ret_count)
{
	char **texts = NULL;
	size_t count = 0;

	while (*(text += strspn(text, ":"))) {
		size_t length = strcspn(text, ":");
		rh_auto_free char *piece = rh_strndup(text, length);
		int r = RH_ENOMEM;

		if (piece)
			r = rh_config_append(&texts, &count, folder ? rh_path_join(folder, piece) : rh_take(piece));
		if (r < 0) {
			rh_config_free_texts(texts, count);
			return r;
		}
		text += length;
	}
	*ret_texts = texts;
	*ret_count = count;
	return 0;
}

static char *values_image_folder(const char *piece, const char *folder)
{
	const char *home = getenv("HOME");
	rh_auto_free char *path = NULL;
	char here[PATH_MAX];

	if (rh_starts_with(piece, "~/") && home && *home)
		return rh_path_join(home, piece + 2);
	while (rh_starts_with(piece, "./"))
		piece += 2;
	path = rh_path_join(folder, piece);
	return path && path[0] != '/' && getcwd(here, sizeof(here)) ? rh_path_join(here, path) : rh_take(path);
}

int rh_config_image_folders(const char *value, const char *folder, char **ret_value)
{
	rh_auto_str text = {0};
	char **pieces;
	size_t count;

	if (rh_config_split(value, NULL, &pieces, &count) < 0)
		return RH_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		rh_auto_free char *path = values_image_folder(pieces[i], folder);

		rh_str_appendf(&text, "%s%s", i > 0 ? ":" : "", path ? path : "");
		text.failed = text.failed || !path;
	}
	rh_config_free_texts(pieces, count);
	*ret_value = text.failed ? NULL : rh_strdup(rh_str_text(&text));
	return *ret_value ? 0 : RH_ENOMEM;
}

static int values_take_folders(struct rh_config *config, const struct rh_config_place *place,
                               const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	char **dirs;
	size_t count;

	(void)row;
	if (config->plugin_dirs_fixed)
		return 0;
	if (rh_config_split(value, place->folder, &dirs, &count) < 0)
		return rh_fail_oom(err);
	rh_config_free_texts(config->plugin_dirs, config->plugin_dir_count);
	config->plugin_dirs = dirs;
	config->plugin_dir_count = count;
	return 0;
}

/* Who installs a plugin may pin it; whether others may be loaded, the main file decides. */
static int values_take_allow(struct rh_config *config, const struct rh_config_place *place,
                             const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	int r = rh_allow_add(&config->plugin_allow, value, place->origin, place->additional, err);

	(void)row;
	if (r == 0 && !place->additional && config->plugin_allow.count > 0)
		config->plugin_allow.closed = true;
	return r;
}

static int values_take_public_key(struct rh_config *config, const struct rh_config_place *place,
                                  const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	struct rh_minisign_key key;
	char *copy;

	(void)place;
	if (rh_minisign_key_parse(value, &key) < 0)
		return rh_fail(
			err, RH_EINVAL,
			"%s: \"%s\" is not a public key of minisign; write the second line of minisign.pub, which starts "
			"with RW",
			row->rule.key, value);
	copy = rh_strdup(value);
	if (!copy)
		return rh_fail_oom(err);
	rh_free(config->plugin_public_key);
	config->plugin_public_key = copy;
	return 0;
}

/* The one duration with a range is that of time-limit. */
static int values_take_duration(struct rh_config *config, const struct rh_config_place *place,
                                const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	const struct rh_setting_rule *rule = &row->rule;
	bool bounded = rule->min < rule->max;
	int64_t duration;
	bool good = rh_duration_parse(value, &duration, NULL) == 0 && duration >= 0;

	(void)place;
	if (bounded && (!good || duration < (int64_t)rule->min * RH_SECOND || duration > (int64_t)rule->max * RH_SECOND))
		return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a duration between %ds and %dh; write for example 30s",
		               rule->key, value, (int)rule->min, (int)rule->max / 3600);
	if (!good)
		return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a duration; write for example 500ms, 30s or 5m", rule->key,
		               value);
	memcpy((char *)config + row->field, &duration, sizeof(duration));
	return 0;
}

int rh_config_count(const char *text, int64_t *ret_count, struct rh_error *err)
{
	char *end;
	long count = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || count > INT32_MAX)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not a count; write a whole number from 0 to %d", text, INT32_MAX);
	*ret_count = count;
	return 0;
}

static int values_take_count(struct rh_config *config, const struct rh_config_place *place,
                             const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	int64_t count;
	int r = rh_config_count(value, &count, err);

	(void)place;
	if (r < 0)
		return rh_wrap(err, r, "%s", row->rule.key);
	memcpy((char *)config + row->field, &count, sizeof(count));
	return 0;
}

/* Keys of the controller are only checked here: its flags take the values. */
static int values_take_truth(struct rh_config *config, const struct rh_config_place *place,
                             const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	bool truth = strcmp(value, "true") == 0;
	int r = rh_setting_check(&row->rule, value, err);

	(void)place;
	if (r == 0 && row->field > 0)
		memcpy((char *)config + row->field, &truth, sizeof(truth));
	return r;
}

static int values_take_folder(struct rh_config *config, const struct rh_config_place *place,
                              const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	char *path;

	if (!*value)
		return rh_fail(err, RH_EINVAL, "%s is empty; name a folder, or leave the key out", row->rule.key);
	path = rh_path_join(place->folder, value);
	if (!path)
		return rh_fail_oom(err);
	rh_free(config->state_dir);
	config->state_dir = path;
	config->state_dir_named = true;
	return 0;
}

static int values_take_ports(struct rh_config *config, const struct rh_config_place *place,
                             const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	char *end;
	long first = strtol(value, &end, 10);
	long last = *end == '-' ? strtol(end + 1, &end, 10) : -1;

	(void)place;
	if (*end || first < VALUES_PORT_MIN || last > UINT16_MAX || first > last)
		return rh_fail(err, RH_EINVAL,
		               "%s: \"%s\" is not a range of ports; write FIRST-LAST between %d and %d, as 20000-29999",
		               row->rule.key, value, VALUES_PORT_MIN, UINT16_MAX);
	config->port_first = (int32_t)first;
	config->port_last = (int32_t)last;
	return 0;
}

static int values_take_gang(struct rh_config *config, const struct rh_config_place *place,
                            const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	int r = rh_gang_parse(value, &config->gang, err);

	(void)place;
	return r < 0 ? rh_wrap(err, r, "%s", row->rule.key) : 0;
}

static int values_take_isolation(struct rh_config *config, const struct rh_config_place *place,
                                 const struct rh_config_key *row, const char *value, struct rh_error *err)
{
	int r = rh_isolation_parse(value, &config->plugin_isolation, err);

	(void)place;
	return r < 0 ? rh_wrap(err, r, "%s", row->rule.key) : 0;
}

int rh_config_take(struct rh_config *config, const struct rh_config_place *place, const struct rh_config_key *row,
                   const char *value, struct rh_error *err)
{
	static int (*const takes[])(struct rh_config * config, const struct rh_config_place *place,
	                            const struct rh_config_key *row, const char *value, struct rh_error *err) = {
		[RH_SETTING_FOLDERS] = values_take_folders,
		[RH_SETTING_ALLOW] = values_take_allow,
		[RH_SETTING_PUBLIC_KEY] = values_take_public_key,
		[RH_SETTING_DURATION] = values_take_duration,
		[RH_SETTING_COUNT] = values_take_count,
		[RH_SETTING_FOLDER] = values_take_folder,
		[RH_SETTING_PORTS] = values_take_ports,
		[RH_SETTING_GANG] = values_take_gang,
		[RH_SETTING_ISOLATION] = values_take_isolation,
		[RH_SETTING_TRUTH] = values_take_truth,
		[RH_SETTING_PAIRS] = NULL,
	};

	if (takes[row->rule.type])
		return takes[row->rule.type](config, place, row, value, err);
	return rh_setting_check(&row->rule, value, err);
}
