/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/values.h
 * @brief Values of keys of the table, read into the configuration. Private to config/.
 */
#ifndef RH_CONFIG_VALUES_H
#define RH_CONFIG_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "config/config.h"
#include "config/keys.h"

/** Where a value stands. All borrowed. */
struct rh_config_place {
	const char *folder; /**< of the file, from which relative paths start; NULL: a flag or a variable */
	const char *origin; /**< FILE:LINE, "--flag" or "$VARIABLE" */
	bool additional;    /**< the file is one of plugins.d */
	enum rh_config_layer layer;
};

/** Append a setting, of a file where @p place has a folder. @return 0 or RH_ENOMEM */
int rh_config_add(struct rh_config *config, const struct rh_config_place *place, const char *section, const char *key,
                  const char *value);
/**
 * Make the folders of a line of [images] absolute. "~/" is the user's home.
 * @param value folders between colons @param folder where relative ones start @param[out] ret_value owned by the caller
 * @return 0 or RH_ENOMEM
 */
int rh_config_image_folders(const char *value, const char *folder, char **ret_value);
/** Check the value of a key, and set the field of @p config that it stands for, if there is one.
 * @return 0, RH_ENOMEM, or RH_EINVAL with key, value and what to write */
int rh_config_take(struct rh_config *config, const struct rh_config_place *place, const struct rh_config_key *row,
                   const char *value, struct rh_error *err);
/** Append a text to a list. @param text owned from now on; NULL: memory is out. @return 0 or RH_ENOMEM */
int rh_config_append(char ***texts, size_t *count, char *text);
/** Append each piece of @p text between colons, from @p folder on unless it is NULL. @return 0 or RH_ENOMEM */
int rh_config_split(const char *text, const char *folder, char ***ret_texts, size_t *ret_count);
/** Free a list. */
void rh_config_free_texts(char **texts, size_t count);

#endif
