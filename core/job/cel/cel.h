/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/cel/cel.h
 * @brief CEL, the language of x-kubernetes-validations, as far as rules of job kinds need it.
 *
 * An expression is compiled against the schema of what it is about, and evaluated for a value. Both are pure and
 * bounded in depth, steps and memory. What is not known (see docs/crds.md) is refused by name when a rule is compiled.
 */
#ifndef RH_JOB_CEL_CEL_H
#define RH_JOB_CEL_CEL_H

#include "base/error.h"
#include "base/json.h"
#include "job/cel/value.h"

/** A compiled expression. */
struct rh_cel;

/** What an expression is compiled for. Borrowed. */
struct rh_cel_setting {
	const struct rh_json *schema;      /**< OpenAPI v3, of self and oldSelf; lives as long as the expression */
	const struct rh_json *definitions; /**< what a $ref of a schema names; NULL: nothing; likewise */
	bool optional_old;                 /**< optionalOldSelf: oldSelf is an optional */
	enum rh_cel_kind result_kind;      /**< of the result: RH_CEL_BOOL, RH_CEL_STRING */
};

/**
 * Compile an expression.
 * @param[out] ret_cel owned by the caller
 * @return 0, RH_EINVAL ("function foo() is not known; column 14") or RH_ENOMEM
 */
int rh_cel_compile(const char *text, const struct rh_cel_setting *setting, struct rh_cel **ret_cel,
                   struct rh_error *err);
/** Free an expression. NULL is nothing. */
void rh_cel_free(struct rh_cel *cel);
RH_DEFINE_CLEANUP(cel);
/** @return whether the expression names oldSelf, and oldSelf is not an optional: it says nothing of a new object */
bool rh_cel_is_transition(const struct rh_cel *cel);
/**
 * Evaluate an expression for a new object: oldSelf is none.
 * @param room holds what the result points to
 * @return its value, or an error (RH_CEL_ERROR) as CEL words it
 */
struct rh_cel_value rh_cel_run(const struct rh_cel *cel, const struct rh_json *self, struct rh_cel_room *room);

#endif
