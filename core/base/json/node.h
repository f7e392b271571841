/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/node.h
 * @brief A JSON value as cJSON has it; for core/base/json*.c alone.
 *
 * A value is a node of cJSON. Whole numbers below RH_JSON_PLAIN_END are its numbers; it neither keeps nor prints all
 * others exactly, so they are its raw nodes, with the text that they print as and the double nearest to them.
 */
#ifndef RH_BASE_JSON_NODE_H
#define RH_BASE_JSON_NODE_H

#include "base/json.h"
#include "base/json/room.h"

/** 10^15: cJSON prints whole numbers below it as they are. */
#define RH_JSON_PLAIN_END 1e15
/** Longest text of a number that cJSON reads, bytes. */
#define RH_JSON_DIGITS_MAX 63

/** A number as a node holds it. */
struct rh_json_digits {
	double value;                     /**< the nearest double */
	const char *text;                 /**< NULL: cJSON prints the value; else borrowed, or in the buffer */
	size_t length;                    /**< of the text */
	char buffer[RH_JSON_NUMBER_SIZE]; /**< room for the text */
};

/**
 * Read a number as JSON writes it: as Go prints and reads it again, so 1.0 and 1e3 are integers, and an integer beyond
 * int64_t is its text, which must outlive @p ret_digits.
 * @return 0, RH_EINVAL when it is too large for a double, or RH_ENOMEM
 */
int rh_json_digits_read(const char *text, size_t length, struct rh_json_digits *ret_digits);
/** Make the digits of a double; one that is not finite prints as null. */
void rh_json_digits_real(double value, struct rh_json_digits *ret_digits);
/** Make the digits of an integer. */
void rh_json_digits_integer(int64_t value, struct rh_json_digits *ret_digits);
/** @return whether @p text has only digits after an optional minus, and fits an int64_t */
bool rh_json_digits_whole(const char *text, size_t length, int64_t *ret_value);

/** Open a room for the nodes of @p need. @return 0 or RH_ENOMEM */
int rh_json_node_open(struct rh_json_room *room, const struct rh_json_need *need);
/** Add a key or text of @p size bytes, its zero included, to @p need. */
void rh_json_node_need(struct rh_json_need *need, size_t size);
/** @return the tree of a text that rh_json_scan() has checked, made by cJSON; NULL when memory is out */
struct rh_json *rh_json_node_parse(const char *text, size_t length);
/** @return the compact text of a tree, made by cJSON; what is not UTF-8 is kept; owned by the caller, NULL: no memory
 */
char *rh_json_node_print(const struct rh_json *json);
/** Make @p json, a number whose room is open, the number of @p digits. @return 0 or RH_ENOMEM */
int rh_json_node_set_number(struct rh_json *json, const struct rh_json_digits *digits);
/** Make @p json, an empty array or object, null. */
void rh_json_node_set_null(struct rh_json *json);
/** @return a new number owned by the caller; NULL when memory is out */
struct rh_json *rh_json_node_new_number(const struct rh_json_digits *digits);
/** Put @p value in the place of @p old, a child of @p parent, under its key; @p old is freed. */
void rh_json_node_replace(struct rh_json *parent, struct rh_json *old, struct rh_json *value);
/** Take @p child out of @p parent and free it. */
void rh_json_node_drop(struct rh_json *parent, struct rh_json *child);

#endif
