/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/value.h
 * @brief JSON values: what they are, and their memory. Other users include base/json.h.
 */
#ifndef RH_BASE_JSON_VALUE_H
#define RH_BASE_JSON_VALUE_H

#include <stddef.h>

#include "base/mem.h"

/** Opaque JSON value. */
struct rh_json;

/** What a value is. RH_JSON_ABSENT is what a NULL pointer is. */
enum rh_json_type {
	RH_JSON_ABSENT,
	RH_JSON_NULL,
	RH_JSON_BOOL,
	RH_JSON_NUMBER,
	RH_JSON_STRING,
	RH_JSON_ARRAY,
	RH_JSON_OBJECT
};

/** Free a tree that the caller owns. NULL is ignored. */
void rh_json_free(struct rh_json *json);
/** Overwrite all texts of a tree with zeros and free it, for keys and passwords. NULL is ignored. */
void rh_json_free_secret(struct rh_json *json);
RH_DEFINE_CLEANUP(json);
/** @return bytes of memory that a copy of @p json takes; 0 for NULL. It looks at every value */
size_t rh_json_weight(const struct rh_json *json);
/** @return a deep copy owned by the caller, or NULL when memory is out */
struct rh_json *rh_json_copy(const struct rh_json *json) __attribute__((warn_unused_result));

#endif
