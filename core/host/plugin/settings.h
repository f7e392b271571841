/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/plugin/settings.h
 * @brief Sections [plugin NAME] of the configuration, held against what the plugins say of themselves.
 */
#ifndef RH_HOST_PLUGIN_SETTINGS_H
#define RH_HOST_PLUGIN_SETTINGS_H

#include "base/error.h"
#include "config/config.h"
#include "host/host.h"

/**
 * Check every setting of every section [plugin NAME] once the plugins are loaded, and read the files that settings
 * name. A plugin that does not say what it knows (rh_plugin.settings) takes anything. May be called again, after flags
 * have set more. Blocks on files.
 * @param config that of @p host; what was read from files is kept in it
 * @return 0, RH_ENOMEM, or RH_EINVAL with file and line, key, value and hint
 */
int rh_plugin_settings_check(struct rh_config *config, const struct rh_host *host, struct rh_error *err);
/** Check rh_plugin.settings itself. @return 0, RH_ENOMEM, or RH_EPLUGIN with what is wrong */
int rh_plugin_settings_check_schema(const char *settings, struct rh_error *err);

#endif
