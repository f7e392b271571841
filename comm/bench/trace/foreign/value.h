/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/foreign/value.h
 * @brief What a dump of another library holds: a tree of values, read from JSON or from a pickle.
 *
 * A pickle is decoded, never executed: of its instructions those are known that put data together. One that names a
 * class or calls something is refused by name.
 */
#ifndef RH_COMM_BENCH_TRACE_FOREIGN_VALUE_H
#define RH_COMM_BENCH_TRACE_FOREIGN_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Kinds of values. */
enum rh_value_kind {
	RH_VALUE_NULL,
	RH_VALUE_FLAG,   /**< `integer` is 0 or 1 */
	RH_VALUE_NUMBER, /**< `integer`; of a fraction its whole part */
	RH_VALUE_TEXT,
	RH_VALUE_LIST, /**< of JSON and pickles, and tuples */
	RH_VALUE_MAP,  /**< `items` are a key, its value, the next key … */
	RH_VALUE_MARK  /**< inside the decoder alone */
};

/** A value. In a pickle several lists may hold the same one, and a list may hold itself. */
struct rh_value {
	enum rh_value_kind kind;
	int64_t integer;
	const char *text;        /**< ends with a NUL */
	struct rh_value **items; /**< never NULL */
	size_t count;            /**< of items */
	size_t room;             /**< for items */
};

/** Owner of all values of a file. All zero: empty. */
struct rh_values {
	void *blocks;
	size_t used; /**< of the first block */
	size_t size; /**< of the first block */
	size_t total;
};

/** Most that the values of a file may take; those of 20,000 operations with their stacks take a tenth. */
#define RH_VALUES_BYTES_MOST ((size_t)1 << 30)

/** Free all values. */
void rh_values_deinit(struct rh_values *values);
/** @return memory that lives as long as the values, aligned, zeroed; NULL: there is none, or they are too many */
void *rh_values_take(struct rh_values *values, size_t bytes);
/** @return a value of that kind, empty; NULL: out of memory */
struct rh_value *rh_value_new(struct rh_values *values, enum rh_value_kind kind);
/** @return a text, copied; NULL: out of memory */
struct rh_value *rh_value_text(struct rh_values *values, const char *bytes, size_t length);
/** Append. @return false: out of memory */
bool rh_value_append(struct rh_values *values, struct rh_value *list, struct rh_value *item);

/**
 * Read a JSON text.
 * @param[out] why a constant text, when it fails @return the value, owned by @p values; NULL: not valid
 */
struct rh_value *rh_value_parse_json(struct rh_values *values, const char *bytes, size_t length, const char **why);
/** Decode a pickle. @see rh_value_parse_json() @param[out] why written, with @p room */
struct rh_value *rh_value_parse_pickle(struct rh_values *values, const char *bytes, size_t length, char *why,
                                       size_t room);

/** @return a member of a map; NULL: it has none, or @p map is none */
const struct rh_value *rh_value_get(const struct rh_value *map, const char *key);
/** @return its text; "" if it is none */
const char *rh_value_as_text(const struct rh_value *value);
/** @return its number, also where it is written as text; @p otherwise if it is none */
int64_t rh_value_as_number(const struct rh_value *value, int64_t otherwise);
/** @return an item of a list; NULL: there is none */
const struct rh_value *rh_value_at(const struct rh_value *list, size_t index);

#endif
