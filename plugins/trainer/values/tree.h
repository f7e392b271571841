/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trainer/values/tree.h
 * @brief JSON that expand() puts together. A tree lives in one piece of memory and goes with it.
 */
#ifndef RH_TRAINER_VALUES_TREE_H
#define RH_TRAINER_VALUES_TREE_H

#include <stdbool.h>
#include <stdint.h>

/** What a node is. */
enum tree_type { TREE_SCALAR, TREE_LIST, TREE_MAP };

/** A value. Scalars keep their JSON text, so that a number stays as it was written. */
struct tree_node {
	enum tree_type type;
	const char *key; /**< of a member, as in the text between the quotes; NULL in a list */
	const char *raw; /**< of a scalar: "\"text\"", "1", "true" */
	struct tree_node *first;
	struct tree_node *last;
	struct tree_node *next; /**< the next sibling */
};

/** All memory of the nodes. All zero is empty. */
struct tree {
	struct tree_room *rooms;
	bool failed; /**< memory ran out, or a text was no JSON; what came of it is NULL */
};

/** Free all nodes and texts. */
void tree_deinit(struct tree *tree);
/** @return the value of @p json without members that are null; NULL for NULL and for what is no JSON */
struct tree_node *tree_parse(struct tree *tree, const char *json);
/** @return the value as JSON text, owned by the caller; NULL when memory is out */
char *tree_print(const struct tree_node *node);
/** @return a text that lives as long as the tree; NULL when memory is out */
char *tree_printf(struct tree *tree, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** @return an empty map; NULL when memory is out */
struct tree_node *tree_new_map(struct tree *tree);
/** @return an empty list; NULL when memory is out */
struct tree_node *tree_new_list(struct tree *tree);
/** @return the string @p text; NULL when memory is out */
struct tree_node *tree_new_text(struct tree *tree, const char *text);
/** @return the number; NULL when memory is out */
struct tree_node *tree_new_number(struct tree *tree, int64_t number);
/** @return a deep copy; NULL for NULL and when memory is out */
struct tree_node *tree_copy(struct tree *tree, const struct tree_node *node);

/** @return member @p key of a map; NULL: there is none */
struct tree_node *tree_get(const struct tree_node *map, const char *key);
/** @return what stands at @p path, members with dots between; NULL: nothing does */
struct tree_node *tree_at(const struct tree_node *node, const char *path);
/** @return the item of a list whose member @p key is the string @p text; NULL: there is none */
struct tree_node *tree_find(const struct tree_node *list, const char *key, const char *text);
/** @return the string of a node, as it is in the JSON text, for as long as the tree; NULL: it is none */
const char *tree_text(struct tree *tree, const struct tree_node *node);
/** @return whether it is the string @p text */
bool tree_is(const struct tree_node *node, const char *text);
/** @return whether it is a whole number; then *@p ret_number is set */
bool tree_integer(const struct tree_node *node, int64_t *ret_number);

/** Set member @p key of @p map, in its place where it is there. With NULL for @p map or @p node nothing is done. */
void tree_set(struct tree *tree, struct tree_node *map, const char *key, struct tree_node *node);
/** Take member @p key away. */
void tree_remove(struct tree_node *map, const char *key);
/** Append to a list. With NULL for one of them nothing is done. */
void tree_append(struct tree_node *list, struct tree_node *node);
/** @return member @p key, made when it is absent; NULL when memory is out */
struct tree_node *tree_ensure(struct tree *tree, struct tree_node *map, const char *key, enum tree_type type);
/** Put the value of @p from into @p into, which keeps its key and place. */
void tree_replace(struct tree_node *into, const struct tree_node *from);

#endif
