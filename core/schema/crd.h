/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schema/crd.h
 * @brief The CustomResourceDefinition of a kind, made from what its plugin declares.
 *
 * Names, printer columns and subresources are V1's (v1-behaviour A.7). The API server itself refuses
 * what V1's webhooks refused: by OpenAPI where it can express a rule, else by CEL. Rules do not apply to jobs that were
 * stored before them: a rule belongs to its field, and the API server ignores it in updates that do not change the
 * field (validation ratcheting); a rule about the whole job has that condition in itself.
 */
#ifndef RH_SCHEMA_CRD_H
#define RH_SCHEMA_CRD_H

#include "base/error.h"
#include "base/json.h"
#include "job/values/version.h"
#include "roundhouse/plugin.h"

/**
 * Make the CustomResourceDefinition of a kind in all its versions. Each keeps the fields that only others name, without
 * checking them, so that the storage version loses nothing.
 * @param kinds at least one
 * @param pod_template structural schema of pod templates (rh_crd_pod_template()), copied; NULL: a small one that names
 * few fields and keeps the others
 * @param[out] ret_crd owned by the caller
 * @return 0, RH_EPLUGIN (spec_schema, columns or cel_rules of a kind do not fit, or a field of one version cannot be
 * stored by another) or RH_ENOMEM
 */
int rh_crd_build_versions(const struct rh_versions *kinds, const struct rh_json *pod_template, struct rh_json **ret_crd,
                          struct rh_error *err);
/** rh_crd_build_versions() of one version alone. */
int rh_crd_build(const struct rh_kind *kind, const struct rh_json *pod_template, struct rh_json **ret_crd,
                 struct rh_error *err);
/**
 * Make the schema of status: the members that the core writes for the kind, and the plugin's own
 * (rh_kind.status_schema).
 * @param common rh_schema_job(), which loses it. @param[out] ret_status owned by the caller. @return 0 or RH_ENOMEM
 */
int rh_crd_status(const struct rh_kind *kind, struct rh_json *common, struct rh_json **ret_status);
/** Make that of a definition that is not a kind of jobs (rh_host_resource()). @return 0 or RH_ENOMEM */
int rh_crd_build_resource(const struct rh_json *resource, struct rh_json **ret_crd, struct rh_error *err);
/**
 * Cut the schema of core/v1 PodTemplateSpec out of an OpenAPI document of Kubernetes, version 2 ("definitions") or 3
 * ("components"), with all references put in place, as a CRD may carry it. Each of its maps keeps fields that it does
 * not name, so that fields of newer clusters are not lost.
 * @param[out] ret_schema owned by the caller
 * @return 0, RH_EINVAL (no such schema, a reference to nothing, references that never end) or RH_ENOMEM
 */
int rh_crd_pod_template(const struct rh_json *openapi, struct rh_json **ret_schema, struct rh_error *err);

#endif
