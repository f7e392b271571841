/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json_node.h
 * @brief What a JSON value is in memory; for core/base/json*.c alone.
 *
 * A tree that was parsed or copied lies in a room: a few blocks that belong to its root and are given back with it.
 * What is put into a tree later has memory of its own. So most trees cost one allocation, and leave no holes between
 * what is kept.
 */
#ifndef RH_BASE_JSON_NODE_H
#define RH_BASE_JSON_NODE_H

#include "base/json.h"

/** Whose the memory of a value is. */
enum rh_json_hold {
	RH_JSON_OWN,  /**< its own */
	RH_JSON_ROOT, /**< its room's, which it stands first in, and which is freed with it */
	RH_JSON_LENT  /**< the room's of a root above it */
};

/** How a number is held; only core/base/json_number.c makes one. */
enum rh_json_form {
	RH_JSON_WHOLE, /**< every whole number that an int64_t holds: is.integer */
	RH_JSON_REAL,  /**< with a fraction, or written with a point or exponent and larger: is.real */
	RH_JSON_BEYOND /**< an integer larger than that: is.text, as it was written */
};

/** A value. Its text lies in the same memory as itself. */
struct rh_json {
	struct rh_json *next; /**< among its siblings */
	char *key;            /**< NULL: it is no member */
	union {
		struct {
			struct rh_json *first, *last;
		} list; /**< members or items */
		char *text;
		int64_t integer;
		double real;
		bool truth;
	} is;
	unsigned char type; /**< enum rh_json_type */
	unsigned char hold; /**< enum rh_json_hold */
	unsigned char form; /**< of a number: enum rh_json_form */
	bool key_lent;      /**< the key lies in the room, else it is its own */
};

/** One block of a room. */
struct rh_json_chunk {
	struct rh_json_chunk *next;
	size_t used;
	size_t size;
	struct rh_json data[]; /**< for its alignment */
};

/** The room of a tree that is being made: its blocks belong to the first value that is made in it. */
struct rh_json_room {
	struct rh_json_chunk *first;
	struct rh_json_chunk *last;
	size_t step; /**< bytes of the next block; not 0 */
};

/** Free the blocks of a room whose tree has come to nothing. */
void rh_json_room_deinit(struct rh_json_room *room);
/** @return a value of this type, or NULL when memory is out */
struct rh_json *rh_json_room_value(struct rh_json_room *room, enum rh_json_type type);
/** @return a copy of the first @p length bytes of @p text, zero-terminated; NULL when memory is out */
char *rh_json_room_text(struct rh_json_room *room, const char *text, size_t length);
/**
 * Make @p json, a value of the room that is null, the number that @p text is: a number as JSON writes it.
 * @return 0, RH_EINVAL when it is too large for a double, or RH_ENOMEM
 */
int rh_json_room_number(struct rh_json_room *room, const char *text, size_t length, struct rh_json *json);
/** @return a value with memory of its own and @p more bytes, all zero, behind it; NULL when memory is out */
struct rh_json *rh_json_node_new(enum rh_json_type type, size_t more);
/** @return likewise with a copy of @p text behind it, NUL-terminated, to which is.text points */
struct rh_json *rh_json_node_new_text(enum rh_json_type type, const char *text, size_t length);
/** @return whether two numbers are alike: integers as they are, others as the double that Kubernetes makes of them */
bool rh_json_number_equal(const struct rh_json *a, const struct rh_json *b);
/** Put @p value, which stands nowhere yet, behind the others of @p parent, an object or array. */
void rh_json_link(struct rh_json *parent, struct rh_json *value);

#endif
