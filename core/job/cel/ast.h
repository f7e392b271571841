/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/cel/ast.h
 * @brief A parsed CEL expression.
 */
#ifndef RH_JOB_CEL_AST_H
#define RH_JOB_CEL_AST_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"
#include "job/cel/value.h"

/** Deepest tree that is parsed. */
#define RH_CEL_DEPTH_MAX 200

struct rh_cel_function;

/** What a node does with its arguments. */
enum rh_cel_op {
	RH_CEL_OP_LITERAL,
	RH_CEL_OP_NAME,      /**< a variable */
	RH_CEL_OP_SELECT,    /**< a.name */
	RH_CEL_OP_TRY,       /**< a.?name */
	RH_CEL_OP_HAS,       /**< has(a.name) */
	RH_CEL_OP_INDEX,     /**< a[b] */
	RH_CEL_OP_TRY_INDEX, /**< a[?b] */
	RH_CEL_OP_CALL,      /**< name(a, b) */
	RH_CEL_OP_MEMBER,    /**< a.name(b) */
	RH_CEL_OP_LIST,
	RH_CEL_OP_MAP, /**< keys and values by turns */
	RH_CEL_OP_NOT,
	RH_CEL_OP_NEGATE,
	RH_CEL_OP_AND, /**< any number of arguments */
	RH_CEL_OP_OR,
	RH_CEL_OP_IF,
	RH_CEL_OP_EQUAL,
	RH_CEL_OP_UNEQUAL,
	RH_CEL_OP_LESS,
	RH_CEL_OP_LESS_EQUAL,
	RH_CEL_OP_MORE,
	RH_CEL_OP_MORE_EQUAL,
	RH_CEL_OP_IN,
	RH_CEL_OP_ADD,
	RH_CEL_OP_SUBTRACT,
	RH_CEL_OP_MULTIPLY,
	RH_CEL_OP_DIVIDE,
	RH_CEL_OP_REMAINDER,
	RH_CEL_OP_ALL, /**< a.all(name, b), and the other macros likewise */
	RH_CEL_OP_EXISTS,
	RH_CEL_OP_EXISTS_ONE,
	RH_CEL_OP_FILTER,
	RH_CEL_OP_TRANSFORM, /**< a.map(name, b), a.map(name, b, c) */
	RH_CEL_OP_OPT_MAP,   /**< a.optMap(name, b) */
	RH_CEL_OP_OPT_FLAT_MAP,
};

/** A node, owned by the room of its parse. */
struct rh_cel_node {
	enum rh_cel_op op;
	size_t at;    /**< where it stands in the text: bytes from the start */
	size_t depth; /**< of the tree below it */
	const char *name;
	struct rh_cel_value literal;
	struct rh_cel_node **args;
	size_t count;
	const struct rh_cel_function *function; /**< of calls: the first of that name; set by the check */
};

/** Parse @p text. @param[out] ret_node of @p room. @return 0, RH_EINVAL (what is wrong, with its column) or RH_ENOMEM
 */
int rh_cel_parse(const char *text, struct rh_cel_room *room, struct rh_cel_node **ret_node, struct rh_error *err);
/** Refuse something at byte @p at of @p text: "@p what; column 14". @return RH_EINVAL */
int rh_cel_refuse(struct rh_error *err, const char *text, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
