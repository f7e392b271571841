/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json.h
 * @brief JSON trees.
 *
 * A tree has one owner, the holder of its root; a value inside is borrowed and lives as long as its root does.
 * Functions that put a value into a tree take it over ("taken"), also when they fail, so that no caller has to clean
 * up.
 */
#ifndef RH_BASE_JSON_H
#define RH_BASE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"

/** Opaque JSON value. */
struct rh_json;
struct rh_map;

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

/** Deepest nesting that a parse accepts. */
#define RH_JSON_DEPTH_MAX 100

/**
 * Parse one JSON document of @p length bytes; trailing white space is allowed, anything else after it is not.
 * Refused with line and column: what RFC 8259 does not allow, bytes that are not UTF-8, U+0000 (texts here end at a
 * zero), duplicate keys, numbers that are not finite and nesting beyond RH_JSON_DEPTH_MAX. One thread at a time: cJSON
 * keeps the place of a mistake in a global.
 * @param[out] ret_json owned by the caller
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_json_parse(const char *text, size_t length, struct rh_json **ret_json, struct rh_error *err);
/**
 * As rh_json_parse(), for documents of many authors (what an API server reports of all its users' objects), where what
 * one of them wrote must not hide the others: U+0000 becomes U+FFFD, of a key that stands twice the first counts, and
 * an array or object beyond RH_JSON_DEPTH_MAX becomes null, unread.
 * @param[out] ret_json owned by the caller
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_json_parse_lenient(const char *text, size_t length, struct rh_json **ret_json, struct rh_error *err);
/** Free a tree that the caller owns. NULL is nothing. */
void rh_json_free(struct rh_json *json);
RH_DEFINE_CLEANUP(json);
/** @return bytes of memory that a copy of @p json takes; 0 for NULL. It looks at every value */
size_t rh_json_weight(const struct rh_json *json);
/** @return a deep copy owned by the caller, or NULL when memory is out */
struct rh_json *rh_json_copy(const struct rh_json *json) __attribute__((warn_unused_result));
/** Print compactly, or with two spaces of indent when @p pretty; appended to @p out (check out->failed). */
void rh_json_print(const struct rh_json *json, bool pretty, struct rh_str *out);
/** Append @p text as a JSON string, in quotes; what is not UTF-8 becomes U+FFFD. */
void rh_json_quote(const char *text, struct rh_str *out);
/** Print compactly. @return owned by the caller, or NULL when memory is out */
char *rh_json_text(const struct rh_json *json) __attribute__((warn_unused_result));

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
/** @return the number, as near as a double comes, or @p fallback when it is no number */
double rh_json_number(const struct rh_json *json, double fallback);
/** Bytes for the text of a number that an int64_t or a double holds. */
#define RH_JSON_NUMBER_SIZE 32
/**
 * @return the number as JSON text: an integer of any size as it was written, any other the shortest text of its double;
 * in @p buffer or borrowed from @p json; NULL when it is no number
 */
const char *rh_json_number_text(const struct rh_json *json, char buffer[RH_JSON_NUMBER_SIZE]);
/** @return the truth value, or @p fallback when it is no boolean */
bool rh_json_bool(const struct rh_json *json, bool fallback);
/**
 * @return whether both trees are alike; the order of an object's members does not count, 1 and 1.0 are alike; beyond
 * int64_t, numbers are alike that are the same double, as Kubernetes reads them
 */
bool rh_json_equal(const struct rh_json *a, const struct rh_json *b);

/** @return the member @p key of an object (exact case), or NULL when it is absent or @p json is no object */
struct rh_json *rh_json_get(const struct rh_json *json, const char *key);
/**
 * Walk a path of members and items: "spec.template.containers[0].name"; a key with dots stands in brackets and quotes:
 * `metadata.labels["training.kubeflow.org/job-name"]`. A path that is not well formed finds nothing.
 * @return borrowed, or NULL when any step is absent
 */
struct rh_json *rh_json_at(const struct rh_json *json, const char *path);
/** Where a list was looked at last. All zero is nowhere. Good until the tree is changed. */
struct rh_json_spot {
	const struct rh_json *list;
	struct rh_json *item;
	size_t index; /**< of the item */
};

/** As rh_json_at(); items of one list that are asked for in their order are found at once. @param spot NULL: none */
struct rh_json *rh_json_at_near(const struct rh_json *json, const char *path, struct rh_json_spot *spot);
/** @return the string at @p path, borrowed, or NULL when it is absent or no string */
const char *rh_json_string_at(const struct rh_json *json, const char *path);
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
