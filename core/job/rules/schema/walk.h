/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/schema/walk.h
 * @brief The checks that schema.c makes at each value of an object, each in a file of its own; for these files alone.
 */
#ifndef RH_JOB_RULES_SCHEMA_WALK_H
#define RH_JOB_RULES_SCHEMA_WALK_H

#include <stdbool.h>

#include "base/json.h"
#include "base/str.h"
#include "job/rules/findings.h"

/** What a walk carries along. Borrowed, but for the path. */
struct rh_schema_walk {
	const struct rh_json *document;
	const struct rh_json *definitions;
	struct rh_findings *findings;
	size_t earlier;     /**< how many findings there were before the walk */
	struct rh_str path; /**< of the value: one growing text that each level cuts back */
	unsigned checks;    /**< RH_SCHEMA_* */
	bool passed_on;     /**< inside of what a job hands to its pods, known or not */
	bool part; /**< inside of anyOf, oneOf, allOf or not: fields that are not named there are known elsewhere */
};

/** @return the schema, or what its $ref names; NULL when that is nothing */
const struct rh_json *rh_schema_resolve(const struct rh_schema_walk *walk, const struct rh_json *schema);
/** @return whether @p value is of the type that @p schema, which is no reference, asks for */
bool rh_schema_type_fits(const struct rh_json *schema, const struct rh_json *value);
/** Add the error that a value has another type than that. @return 0 or RH_ENOMEM */
int rh_schema_wrong_type(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value);
/** @return whether the findings had an error about the value of the walk before it */
bool rh_schema_is_refused(const struct rh_schema_walk *walk);

/** Required members, enums, quantities and sizes of integers; @p value has the type. @return 0 or RH_ENOMEM */
int rh_schema_fields(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value);
/** The member @p key, which the path ends with, is none of the @p properties. @return 0 or RH_ENOMEM */
int rh_schema_unknown_field(struct rh_schema_walk *walk, const struct rh_json *properties, const char *key);
/** Bounds, lengths, patterns, formats and lists without doubles; @p value has the type. @return 0 or RH_ENOMEM */
int rh_schema_limits(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value);
/** x-kubernetes-validations of the schema; @p value has the type. @return 0 or RH_ENOMEM */
int rh_schema_rules(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value);

#endif
