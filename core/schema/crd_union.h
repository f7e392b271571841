/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schema/crd_union.h
 * @brief Versions of one CRD that lose nothing of each other; for schema/crd.c alone.
 */
#ifndef RH_SCHEMA_CRD_UNION_H
#define RH_SCHEMA_CRD_UNION_H

#include "base/error.h"
#include "base/json.h"
#include "roundhouse/plugin.h"

/**
 * Let each of @p versions of a CRD keep the fields that others name and it does not: an API server stores an object
 * once, in the storage version, and drops what that version's schema does not have. Such fields are kept as they are
 * and not checked.
 * @param kind for messages
 * @return 0, RH_EPLUGIN (a field has members in one version and is a text or number in another) or RH_ENOMEM
 */
int rh_crd_unite(const struct rh_kind *kind, struct rh_json *versions, struct rh_error *err);

#endif
