/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schema/crd_rules.h
 * @brief The CEL rules of a CRD; for schema/crd.c alone.
 */
#ifndef RH_SCHEMA_CRD_RULES_H
#define RH_SCHEMA_CRD_RULES_H

#include "base/error.h"
#include "base/json.h"
#include "roundhouse/plugin.h"

/** Most replica types in one job: what CEL's cost estimate is based on. */
#define RH_CRD_TYPES_MAX 8
/** Most containers of a pod: likewise. */
#define RH_CRD_CONTAINERS_MAX 64

/** The parts of a CRD's schema that carry rules. Borrowed. */
struct rh_crd_schema {
	struct rh_json *job;      /**< the whole object */
	struct rh_json *spec;     /**< spec */
	struct rh_json *holder;   /**< what the map of replica types is a member of: spec, mostly; NULL: there is no map */
	struct rh_json *replicas; /**< the map; NULL likewise */
};

/** Add the rules of @p kind, those of rh_kind.cel_rules included. @return 0, RH_EPLUGIN or RH_ENOMEM */
int rh_crd_add_rules(const struct rh_kind *kind, const struct rh_crd_schema *schema, struct rh_error *err);

#endif
