/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/schema/schema.h
 * @brief Objects held against OpenAPI schemas: unknown fields with a "did you mean", and values of a wrong type.
 *
 * A schema document is {"root": NAME, "definitions": {NAME: SCHEMA}}, and may name the version of Kubernetes that it
 * was cut from ("kubernetes": "v1.34.4"); SCHEMA uses type, properties, items, additionalProperties, required, enum,
 * format, minimum, maximum, multipleOf, lengths, pattern, anyOf, oneOf, allOf, not (whose schemas have no $ref), $ref
 * (a NAME), x-kubernetes-validations, -list-type, -preserve-unknown-fields and -int-or-string, which without a format
 * is a quantity.
 */
#ifndef RH_JOB_RULES_SCHEMA_SCHEMA_H
#define RH_JOB_RULES_SCHEMA_SCHEMA_H

#include "base/error.h"
#include "base/json.h"
#include "job/rules/findings.h"
#include "roundhouse/plugin.h"

/** @return the schema document of pod templates that this build carries, as JSON text of *@p ret_length bytes; static
 * storage */
const char *rh_schema_pod_text(size_t *ret_length);

/**
 * @return what jobs of all kinds have in common, as JSON text of *@p ret_length bytes: an object with the OpenAPI v3
 * schemas "runPolicy", "replicaSpec" (its template is a $ref) and "status"; static storage
 */
const char *rh_schema_job_text(size_t *ret_length);
/** @return likewise "PodTemplateSpec", the fields of a template that a small CRD names, and "PodMetadata" */
const char *rh_schema_fields_text(size_t *ret_length);
/**
 * Parse rh_schema_job_text() and rh_schema_fields_text() into one object. @param[out] ret_document owned by the caller
 * @return 0 or RH_ENOMEM
 */
int rh_schema_job(struct rh_json **ret_document, struct rh_error *err);
/**
 * Put the schema of the run policy where the kind has it, with the defaults of rh_kind.run_policy in its descriptions.
 * @param job schema of the whole object
 * @param common rh_schema_job(), which loses it
 * @return 0 or RH_ENOMEM
 */
int rh_schema_put_policy(const struct rh_kind *kind, struct rh_json *job, struct rh_json *common);

/**
 * Make the schema document of a kind: metadata, runPolicy, its replica map with @p pod (a schema document of pod
 * templates; it is copied), and what rh_kind.spec_schema declares.
 * @param[out] ret_document owned by the caller
 * @return 0, RH_EPLUGIN (spec_schema is no JSON object) or RH_ENOMEM
 */
int rh_schema_of_kind(const struct rh_kind *kind, const struct rh_json *pod, struct rh_json **ret_document,
                      struct rh_error *err);
/** rh_schema_of_kind() with the pod templates that this build carries. @return likewise */
int rh_schema_of_kind_here(const struct rh_kind *kind, struct rh_json **ret_document, struct rh_error *err);
/**
 * As rh_schema_of_kind_here(), without the definitions of pods, to which rh_schema_add_used() adds: most of the cost is
 * to parse them, and a job uses few. @return likewise
 */
int rh_schema_of_kind_bare(const struct rh_kind *kind, struct rh_json **ret_document, struct rh_error *err);
/**
 * Add the definitions that the fields of an object lead to. rh_schema_check() then finds something in it if it does so
 * with rh_schema_of_kind_here(), whose advice may name more. @param document of rh_schema_of_kind_bare()
 * @return 0 or RH_ENOMEM
 */
int rh_schema_add_used(struct rh_json *document, const struct rh_json *object, struct rh_error *err);
/**
 * Make the schema document of a definition that is no kind of jobs (a row of rh_plugin.resources), with metadata of
 * @p pod. @param[out] ret_document owned by the caller. @return 0 or RH_ENOMEM
 */
int rh_schema_of_resource(const struct rh_json *resource, const struct rh_json *pod, struct rh_json **ret_document,
                          struct rh_error *err);
/** How the sentence begins, the last of a field's description, that names its default: "Default: None." */
#define RH_SCHEMA_DEFAULT "Default: "
/** @return that sentence in a description, borrowed; "": it has none */
const char *rh_schema_default(const char *description);
/** Add rh_kind.cel_rules to the document of a kind. @return 0, RH_EPLUGIN or RH_ENOMEM */
int rh_schema_add_rules(const struct rh_kind *kind, struct rh_json *document, struct rh_error *err);
/**
 * As rh_schema_of_kind(), with the fields of a pod that a definition of `roundhouse crds` names, which are all that its
 * rules can name.
 */
int rh_schema_of_definition(const struct rh_kind *kind, struct rh_json **ret_document, struct rh_error *err);

/** Names and types of fields, required ones, enums, quantities and sizes of integers. */
#define RH_SCHEMA_FIELDS 1u
/** Bounds of numbers, lengths, patterns, formats, lists and maps that repeat a key; anyOf, oneOf, allOf and not. */
#define RH_SCHEMA_LIMITS 2u
/** x-kubernetes-validations: CEL, for a new object. */
#define RH_SCHEMA_RULES 4u
/**
 * Hold @p value against the root of @p document. Findings use paths as V1 words them: map keys of additionalProperties
 * in brackets. A field that is not known is an error that says where it belongs, or what it may have been meant to be;
 * in a pod's spec ("$ref": "PodSpec") it is a warning, because it is passed on to an API server that may know it.
 * What limits and rules say about a value that @p findings have an error about is not added.
 * @param checks RH_SCHEMA_*; without RH_SCHEMA_FIELDS what a $ref names is left out
 * @return 0 or RH_ENOMEM
 */
int rh_schema_check(const struct rh_json *document, const struct rh_json *value, unsigned checks,
                    struct rh_findings *findings);
/**
 * Compile all rules and patterns of a kind, its own and those in its spec_schema, against its definition.
 * @return 0, RH_EPLUGIN ("cel_rules[2].rule: function foo() is not known; column 14") or RH_ENOMEM
 */
int rh_schema_compile_rules(const struct rh_kind *kind, struct rh_error *err);
/** Compile the rules and patterns in schemas of fields. @param what of them, for messages. @return likewise */
int rh_schema_compile_fields(const char *what, const struct rh_json *fields, struct rh_error *err);

#endif
