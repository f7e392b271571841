/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/edit.h
 * @brief Making and changing JSON trees. Other users include base/json.h.
 */
#ifndef RH_BASE_JSON_EDIT_H
#define RH_BASE_JSON_EDIT_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/json/value.h"

/** New values, owned by the caller; NULL when memory is out (also for a NULL @p text). */
struct rh_json *rh_json_new_object(void) __attribute__((warn_unused_result));
/** @see rh_json_new_object */
struct rh_json *rh_json_new_array(void) __attribute__((warn_unused_result));
/** @see rh_json_new_object */
struct rh_json *rh_json_new_string(const char *text) __attribute__((warn_unused_result));
/** @see rh_json_new_object */
struct rh_json *rh_json_new_integer(int64_t value) __attribute__((warn_unused_result));
/** @see rh_json_new_object */
struct rh_json *rh_json_new_number(double value) __attribute__((warn_unused_result));
/** @see rh_json_new_object */
struct rh_json *rh_json_new_bool(bool value) __attribute__((warn_unused_result));
/** @see rh_json_new_object */
struct rh_json *rh_json_new_null(void) __attribute__((warn_unused_result));

/**
 * Set member @p key of @p object to @p value (taken; NULL counts as out of memory); an earlier value is freed, its
 * place is kept. @return 0 or RH_ENOMEM
 */
int rh_json_set(struct rh_json *object, const char *key, struct rh_json *value);
/** rh_json_set() for a @p key that the caller knows to be absent: constant time. @return 0 or RH_ENOMEM */
int rh_json_add(struct rh_json *object, const char *key, struct rh_json *value);
/** rh_json_set() with a new string. @return 0 or RH_ENOMEM */
int rh_json_set_string(struct rh_json *object, const char *key, const char *text);
/** rh_json_set() with a new integer. @return 0 or RH_ENOMEM */
int rh_json_set_integer(struct rh_json *object, const char *key, int64_t value);
/** rh_json_set() with a new boolean. @return 0 or RH_ENOMEM */
int rh_json_set_bool(struct rh_json *object, const char *key, bool value);
/** Append @p value (taken; NULL counts as out of memory) to @p array. @return 0 or RH_ENOMEM */
int rh_json_append(struct rh_json *array, struct rh_json *value);
/**
 * Put @p value (taken; NULL counts as out of memory) in the place of item @p index of @p array, or behind the last
 * where there is no such item.
 * @return 0 or RH_ENOMEM
 */
int rh_json_set_item(struct rh_json *array, size_t index, struct rh_json *value);
/**
 * Take the member @p key out; it may be a copy that is returned. @return owned by the caller, or NULL when it was
 * absent, or when memory is out: then it is still there
 */
struct rh_json *rh_json_detach(struct rh_json *object, const char *key);
/** Take the item @p index out, as rh_json_detach(). @return owned by the caller, or NULL */
struct rh_json *rh_json_detach_item(struct rh_json *array, size_t index);
/** Free the member @p key, if it is there. */
void rh_json_remove(struct rh_json *object, const char *key);
/**
 * Free every member that is null, at any depth of @p json. Items of arrays stay, for they have a place there. An API
 * server does so with the objects of a definition: null is "not set".
 */
void rh_json_drop_nulls(struct rh_json *json);
/**
 * @return the member @p key, made as an empty object (or array) where it was absent or null; NULL when memory is out or
 * it is something else
 */
struct rh_json *rh_json_ensure_object(struct rh_json *object, const char *key);
/** @see rh_json_ensure_object */
struct rh_json *rh_json_ensure_array(struct rh_json *object, const char *key);
/**
 * Apply a JSON merge patch (RFC 7386) to @p target, which must be an object; a @p patch that is none changes nothing.
 * @return 0 or RH_ENOMEM, then @p target may be half patched
 */
int rh_json_merge(struct rh_json *target, const struct rh_json *patch);

#endif
