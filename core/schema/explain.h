/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schema/explain.h
 * @brief Documentation of a kind and its fields for `roundhouse explain`, taken from the plugin itself and the core's
 * schema.
 */
#ifndef RH_SCHEMA_EXPLAIN_H
#define RH_SCHEMA_EXPLAIN_H

#include "base/error.h"
#include "base/json.h"
#include "host/host.h"

/**
 * Explain a kind ("pytorchjob": kind, plural or singular, in any case) or one of its fields ("tfjob.spec.runPolicy",
 * "mpijob.spec.mpiReplicaSpecs[Worker].replicas"; lists and replica types need not be written).
 *
 * @param[out] ret_page owned by the caller: an object with kind, plural, singular, apiVersion and plugin (name,
 * release, file); for a kind also container, port, replicaTypes, rules and contract (rh_kind.contract); for a field
 * path, type, description, default and rules; for both fields, a list of {path, type, description, default, rules}.
 * Members that do not apply are absent.
 * @return 0, RH_ENOENT (no such kind or field; the message lists those that exist), RH_EPLUGIN or RH_ENOMEM
 */
int rh_explain(const struct rh_host *host, const char *what, struct rh_json **ret_page, struct rh_error *err);

#endif
