/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/keys.h
 * @brief The table of all keys of the configuration: what parsing, `roundhouse config`, the manual page,
 * conf/roundhouse.ini and docs/configuration.md know of them.
 */
#ifndef RH_CONFIG_KEYS_H
#define RH_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "config/setting.h"

/** The section of what one plugin alone understands, with a space and the plugin's name behind it. */
#define RH_CONFIG_PLUGIN_SECTION "plugin"
/** Which environment stands for an image on one machine. Its keys are images. */
#define RH_CONFIG_IMAGES_SECTION "images"

/** One key. All static. */
struct rh_config_key {
	const char *section; /**< as the table writes it: "comm NAME" stands for every profile */
	struct rh_setting_rule rule;
	const char *value;   /**< its default as a file would have it; NULL: there is none, or it is not constant */
	const char *example; /**< what the shipped file shows; NULL: value */
	const char *help;    /**< sentences; where value is NULL, one says what holds without the key */
	const char *page;    /**< of docs/, with an anchor; NULL: none says more */
	size_t field;        /**< of durations and counts: offset of the int64_t in struct rh_config */
};

/** A section. All static. */
struct rh_config_section {
	const char *name; /**< as in rh_config_key */
	const char *help;
};

/** @return the table, ended by a row without section; keys of one section follow each other */
const struct rh_config_key *rh_config_keys(void);
/** @return the sections in the order of the shipped file, ended by a row without name */
const struct rh_config_section *rh_config_sections(void);
/** @return the section of the table that @p section of a file is in ("comm rdma" in "comm NAME"), or NULL */
const char *rh_config_section_of(const char *section);
/** @return whether the keys of @p section are not in the table: those of plugins and images */
bool rh_config_is_free(const char *section);
/** @return the row of a key, or NULL. @param section as a file has it */
const struct rh_config_key *rh_config_key(const char *section, const char *key);
/** @return the rule of a flag of `roundhouse controller`, static storage; NULL: there is none */
const struct rh_setting_rule *rh_config_flag(const char *flag);
/** Fail because there is no such section, and name the nearest. @return RH_EINVAL */
int rh_config_refuse_section(const char *section, const char *key, struct rh_error *err);
/** Fail because the section has no such key, and name the nearest. @return RH_EINVAL */
int rh_config_refuse_key(const char *section, const char *key, struct rh_error *err);

#endif
