/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/read.h
 * @brief What a JSON tree holds. Other users include base/json.h.
 */
#ifndef RH_BASE_JSON_READ_H
#define RH_BASE_JSON_READ_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/json/value.h"

struct rh_map;

/** @return what @p json is; RH_JSON_ABSENT for NULL */
enum rh_json_type rh_json_type(const struct rh_json *json);
/** @return "null", "boolean", "integer", "number", "string", "array", "object" or "absent"; static storage */
const char *rh_json_type_name(const struct rh_json *json);
/** @return the text of a string value, borrowed; NULL for anything else */
const char *rh_json_string(const struct rh_json *json);
/**
 * @return whether it is a whole number that an int64_t holds; then *@p ret_value is set, exactly. 1.0 and 1e3 are such
 * numbers too.
 */
bool rh_json_integer(const struct rh_json *json, int64_t *ret_value);
/** @return the number, as near as a double comes, or @p fallback when it is not a number */
double rh_json_number(const struct rh_json *json, double fallback);
/** Bytes for the text of a number that an int64_t or a double holds. */
#define RH_JSON_NUMBER_SIZE 32
/**
 * @return the number as JSON text: an integer of any size as it was written, any other the shortest text of its double;
 * in @p buffer or borrowed from @p json; NULL when it is not a number
 */
const char *rh_json_number_text(const struct rh_json *json, char buffer[RH_JSON_NUMBER_SIZE]);
/** @return the truth value, or @p fallback when it is not a boolean */
bool rh_json_bool(const struct rh_json *json, bool fallback);
/**
 * @return whether both trees are alike; the order of an object's members does not count, 1 and 1.0 are alike; beyond
 * int64_t, numbers are alike that are the same double, as Kubernetes reads them
 */
bool rh_json_equal(const struct rh_json *a, const struct rh_json *b);

/** @return the member @p key of an object (exact case), or NULL when it is absent or @p json is not an object */
struct rh_json *rh_json_get(const struct rh_json *json, const char *key);
/**
 * @return the members of a large object by their keys, owned by the caller, for many calls of rh_json_get_by(); NULL
 * for a small object, and when memory is out: then each call takes longer, and that is all
 */
struct rh_map *rh_json_index(const struct rh_json *object);
/** As rh_json_get(), through @p index of the object, which may be NULL. */
struct rh_json *rh_json_get_by(const struct rh_json *object, const struct rh_map *index, const char *key);
/** @return number of members or items; 0 for anything else */
size_t rh_json_size(const struct rh_json *json);
/** @return the item @p index of an array (constant time is not promised: walk with rh_json_first/next), or NULL */
struct rh_json *rh_json_item(const struct rh_json *json, size_t index);
/** @return the first member or item, or NULL */
struct rh_json *rh_json_first(const struct rh_json *json);
/** @return what follows @p value among its siblings, or NULL */
struct rh_json *rh_json_next(const struct rh_json *value);
/** @return the key under which a member stands in its object, borrowed; NULL for an array item or a root */
const char *rh_json_key(const struct rh_json *value);

#endif
