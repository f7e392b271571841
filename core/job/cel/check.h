/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/cel/check.h
 * @brief Types of expressions: what an API server refuses when a definition is created.
 */
#ifndef RH_JOB_CEL_CHECK_H
#define RH_JOB_CEL_CHECK_H

#include "job/cel/ast.h"

/** What an expression is checked against. Borrowed. */
struct rh_cel_scope {
	const char *text;                  /**< of the expression, for columns */
	const struct rh_json *schema;      /**< of self and oldSelf */
	const struct rh_json *definitions; /**< what a $ref of a schema names; may be NULL */
	bool optional_old;                 /**< oldSelf is an optional */
	struct rh_cel_room *room;
	struct rh_error *err;
	bool uses_old; /**< set: oldSelf is named */
};

/**
 * Check names, functions and types of a tree, and note the functions of its calls in it.
 * @param result_kind kind of the result
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_cel_check(struct rh_cel_scope *scope, struct rh_cel_node *node, enum rh_cel_kind result_kind);

#endif
