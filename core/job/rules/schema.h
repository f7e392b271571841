/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/schema.h
 * @brief Objects held against OpenAPI schemas: unknown fields with a "did you mean", and values of a wrong type.
 *
 * A schema document is {"root": NAME, "definitions": {NAME: SCHEMA}}, and may name the version of Kubernetes that it
 * was cut from ("kubernetes": "v1.34.4"); SCHEMA uses type, properties, items, additionalProperties, required, enum,
 * format (int32, int64), minimum, maximum, pattern, $ref (a NAME), x-kubernetes-preserve-unknown-fields and
 * x-kubernetes-int-or-string, which without a format is a quantity.
 */
#ifndef RH_JOB_RULES_SCHEMA_H
#define RH_JOB_RULES_SCHEMA_H

#include "base/error.h"
#include "base/json.h"
#include "job/rules/findings.h"
#include "roundhouse/plugin.h"

/** How the detail of a finding about a field that no schema knows begins. */
#define RH_SCHEMA_UNKNOWN "Unknown field: "

/** @return the schema document of pod templates that this build carries, as JSON text of *@p ret_length bytes; static
 * storage */
const char *rh_schema_pod_text(size_t *ret_length);

/**
 * @return what jobs of all kinds have in common, as JSON text of *@p ret_length bytes: an object with the OpenAPI v3
 * schemas "runPolicy", "replicaSpec" (its template is a $ref), "status", "podTemplate" (the fields of a template that
 * a small CRD names) and "podMetadata"; static storage
 */
const char *rh_schema_job_text(size_t *ret_length);
/** Parse rh_schema_job_text(). @param[out] ret_document owned by the caller. @return 0 or RH_ENOMEM */
int rh_schema_job(struct rh_json **ret_document, struct rh_error *err);

/**
 * Make the schema document of a kind: metadata, runPolicy, its replica map with @p pod (a schema document of pod
 * templates; its definitions are copied), and what rh_kind.spec_schema declares.
 * @param[out] ret_document owned by the caller
 * @return 0, RH_EPLUGIN (spec_schema is no JSON object) or RH_ENOMEM
 */
int rh_schema_of_kind(const struct rh_kind *kind, const struct rh_json *pod, struct rh_json **ret_document,
                      struct rh_error *err);
/**
 * Hold @p value against the root of @p document. Findings use paths as V1 words them: map keys of additionalProperties
 * in brackets. A field that is not known is an error that says where it belongs, or what it may have been meant to be;
 * in a pod's spec ("$ref": "PodSpec") it is a warning, because it is passed on to an API server that may know it.
 * @return 0 or RH_ENOMEM
 */
int rh_schema_check(const struct rh_json *document, const struct rh_json *value, struct rh_findings *findings);
/**
 * Hold the numbers and texts of @p value against "minimum", "maximum" and "pattern" of the same schemas. A value that
 * @p findings have an error about is not looked at again. A pattern that POSIX and RE2 read differently is left to the
 * API server, as are texts of more than 4096 bytes.
 * @return 0 or RH_ENOMEM
 */
int rh_schema_check_limits(const struct rh_json *document, const struct rh_json *value, struct rh_findings *findings);

#endif
