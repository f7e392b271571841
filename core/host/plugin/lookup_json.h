/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/plugin/lookup_json.h
 * @brief rh_kind.lookups: what it must hold, so that the objects of a job can be found and rights be made.
 */
#ifndef RH_HOST_PLUGIN_LOOKUP_JSON_H
#define RH_HOST_PLUGIN_LOOKUP_JSON_H

#include "base/error.h"

/** Check the text of rh_kind.lookups; NULL: there is none. @return 0, RH_EPLUGIN with what is wrong, or RH_ENOMEM */
int rh_lookup_json_check(const char *text, struct rh_error *err);

#endif
