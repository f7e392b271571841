/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/plugin/resources.h
 * @brief rh_plugin.resources: definitions that a plugin brings and that are no kinds of jobs.
 */
#ifndef RH_HOST_PLUGIN_RESOURCES_H
#define RH_HOST_PLUGIN_RESOURCES_H

#include "base/error.h"
#include "base/json.h"

/**
 * Parse and check @p text, so that definitions can be made of it: members, names, schemas, and rules in CEL.
 * @param[out] ret_list owned by the caller. @return 0, RH_ENOMEM, or RH_EPLUGIN with what is wrong
 */
int rh_resources_parse(const char *text, struct rh_json **ret_list, struct rh_error *err);

#endif
