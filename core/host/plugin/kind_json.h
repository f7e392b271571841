/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/plugin/kind_json.h
 * @brief The JSON texts of a kind: what they must hold, so that definitions and roles can be made of them.
 *
 * One plugin's mistake would otherwise show only when the definitions of all kinds are printed, or when an API server
 * refuses them. Rules in CEL are compiled against the kind's definition.
 */
#ifndef RH_HOST_PLUGIN_KIND_JSON_H
#define RH_HOST_PLUGIN_KIND_JSON_H

#include "base/error.h"
#include "roundhouse/plugin.h"

/** Check spec_schema, columns, rbac_rules, contract and cel_rules of @p kind. @return 0, RH_EPLUGIN or RH_ENOMEM */
int rh_kind_json_check(const struct rh_kind *kind, struct rh_error *err);
/** Check columns alone, as of a definition that is no kind of jobs. @return 0, RH_EPLUGIN or RH_ENOMEM */
int rh_kind_json_check_columns(const char *columns, struct rh_error *err);

#endif
