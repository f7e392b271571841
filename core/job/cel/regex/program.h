/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/cel/regex/program.h
 * @brief What regex_parse.c makes of an expression, and regex.c carries out; for these two alone.
 */
#ifndef RH_JOB_CEL_REGEX_PROGRAM_H
#define RH_JOB_CEL_REGEX_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"

/** Most nodes of a tree, and ranges of all its sets; most instructions of a program. */
#define RH_REGEX_NODES_MAX 4096
/** @see RH_REGEX_NODES_MAX */
#define RH_REGEX_CODE_MAX 20000

/** What a node of the tree is. */
enum rh_regex_op {
	RH_REGEX_EMPTY,
	RH_REGEX_SET,    /**< one character */
	RH_REGEX_CAT,    /**< left, then right */
	RH_REGEX_ALT,    /**< left or right */
	RH_REGEX_REPEAT, /**< left, least to most times; most < 0: any number */
	RH_REGEX_ASSERT, /**< a place: assertion, one of ^ $ A z b B */
};

/** Characters from low to high. */
struct rh_regex_range {
	uint32_t low, high;
};

/** A node. Indices are those of the tree's nodes. */
struct rh_regex_node {
	enum rh_regex_op op;
	int left, right;
	int least, most;
	size_t first, count; /**< RH_REGEX_SET: its ranges */
	bool inverse, fold;  /**< of a set: what is not in it; ASCII letters in both cases */
	bool lazy;           /**< of a repetition: as few as possible */
	char assertion;
};

/** The tree of an expression. */
struct rh_regex_tree {
	struct rh_regex_node *nodes;
	struct rh_regex_range *ranges;
	size_t node_count, range_count, room;
	int root;
};

/** Free what @p tree holds. */
void rh_regex_tree_deinit(struct rh_regex_tree *tree);
/** Parse an expression. @param[out] tree to be freed by the caller, also after an error. @return 0, RH_EINVAL or
 * RH_ENOMEM */
int rh_regex_tree_parse(const char *pattern, size_t length, struct rh_regex_tree *tree, struct rh_error *err);
/** @return whether @p letter is in the set @p node */
bool rh_regex_set_has(const struct rh_regex_tree *tree, const struct rh_regex_node *node, uint32_t letter);
/** Read the character at the start of @p length bytes of UTF-8. @return its bytes; a byte that starts none is itself */
size_t rh_regex_letter(const char *text, size_t length, uint32_t *ret_letter);

#endif
