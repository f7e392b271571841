/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/cel/value.h
 * @brief What a CEL expression computes with. Values are borrowed from a room, or from the JSON that they were made of.
 */
#ifndef RH_JOB_CEL_VALUE_H
#define RH_JOB_CEL_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/json.h"
#include "base/str.h"

/** What a value is; as a type, RH_CEL_DYN is any. */
enum rh_cel_kind {
	RH_CEL_DYN,
	RH_CEL_ERROR, /**< text: why there is no value */
	RH_CEL_NULL,
	RH_CEL_BOOL,
	RH_CEL_INT,
	RH_CEL_UINT,
	RH_CEL_DOUBLE,
	RH_CEL_STRING,
	RH_CEL_BYTES,
	RH_CEL_DURATION,  /**< integer: nanoseconds */
	RH_CEL_TIMESTAMP, /**< integer: microseconds since 1970 */
	RH_CEL_QUANTITY,  /**< integer: thousandths */
	RH_CEL_IP,        /**< text: its 4 or 16 bytes */
	RH_CEL_CIDR,      /**< text: those of its address, and its prefix length as a byte */
	RH_CEL_URL,       /**< text: as it is written */
	RH_CEL_LIST,
	RH_CEL_MAP,
	RH_CEL_OBJECT, /**< a map whose keys a schema names; as a value it is an RH_CEL_MAP */
	RH_CEL_OPTIONAL,
	RH_CEL_TYPE /**< text: its name */
};

/** Memory that is freed as a whole. All zero is empty. */
struct rh_cel_room {
	struct rh_cel_block *blocks;
	size_t used, limit;                /**< bytes; limit 0 is the standard one */
	const struct rh_json *definitions; /**< what a $ref of a schema names; borrowed; NULL: nothing */
	bool full;                         /**< the limit was reached */
	bool failed;                       /**< memory was out */
};

/** One value. */
struct rh_cel_value {
	enum rh_cel_kind kind;
	union {
		bool flag;
		int64_t integer;
		uint64_t natural;
		double number;
		struct {
			const char *data;
			size_t length;
			bool no_overload; /**< of an error: rh_cel_no_overload() */
		} text;
		struct {
			const struct rh_cel_value *items; /**< of a map: key, value, key, value; OPTIONAL: the value, or none */
			size_t count;                     /**< of a map: pairs */
			const struct rh_json *json;   /**< what it was made of; NULL: an expression. A map of JSON has no items */
			const struct rh_json *schema; /**< of json; NULL: any */
		};
	};
};

/** Free all of it. */
void rh_cel_room_deinit(struct rh_cel_room *room);
/** @return @p size zeroed bytes that live as long as the room, or NULL: then room->full or room->failed is set */
void *rh_cel_room_take(struct rh_cel_room *room, size_t size);
/** A local room that is freed when it goes out of scope. */
#define rh_auto_cel_room __attribute__((cleanup(rh_cel_room_deinit))) struct rh_cel_room

/** @return the name of a kind in CEL: "int"; static storage */
const char *rh_cel_kind_name(enum rh_cel_kind kind);
/** @return an error; @p why lives as long as it is used */
struct rh_cel_value rh_cel_error(const char *why);
/** @return the error of a call whose arguments are of kinds that the function or operator does not take */
struct rh_cel_value rh_cel_no_overload(void);
/** @return an error whose text is in @p room: @p what, a colon, and @p which */
struct rh_cel_value rh_cel_error_about(struct rh_cel_room *room, const char *what, const char *which);
/** @return an error about a number, as rh_cel_error_about() */
struct rh_cel_value rh_cel_error_number(struct rh_cel_room *room, const char *what, int64_t which);
/** @return a boolean */
struct rh_cel_value rh_cel_bool(bool flag);
/** @return an integer, or what else is kept as one */
struct rh_cel_value rh_cel_integer(enum rh_cel_kind kind, int64_t integer);
/** @return a string of the room, copied */
struct rh_cel_value rh_cel_string(struct rh_cel_room *room, const char *data, size_t length);
/** @return an optional; @p value NULL: none */
struct rh_cel_value rh_cel_optional(struct rh_cel_room *room, const struct rh_cel_value *value);
/** @return a list of @p count items, which are borrowed */
struct rh_cel_value rh_cel_list(const struct rh_cel_value *items, size_t count);

/**
 * @return @p json as the API server gives it to a rule: by the type and format of @p schema (NULL: any)
 */
struct rh_cel_value rh_cel_of_json(struct rh_cel_room *room, const struct rh_json *json, const struct rh_json *schema);
/** @return @p schema, or what its $ref names among @p definitions; NULL when that is nothing */
const struct rh_json *rh_cel_schema(const struct rh_json *definitions, const struct rh_json *schema);
/** @return the kind of the values of a schema; RH_CEL_DYN for NULL */
enum rh_cel_kind rh_cel_kind_of_schema(const struct rh_json *schema);
/** @return whether both are equal, as == finds; false for values of kinds that cannot be compared */
bool rh_cel_equal(struct rh_cel_room *room, const struct rh_cel_value *a, const struct rh_cel_value *b);
/** Order two values. @param[out] ret_order less than, equal to or greater than 0. @return whether they can be ordered
 */
bool rh_cel_order(const struct rh_cel_value *a, const struct rh_cel_value *b, int *ret_order);
/** @return how many items, pairs, characters or bytes it has; -1 where it has no size */
int64_t rh_cel_size(const struct rh_cel_value *value);
/** Look up a key of a map. @return whether it is there */
bool rh_cel_map_get(struct rh_cel_room *room, const struct rh_cel_value *map, const struct rh_cel_value *key,
                    struct rh_cel_value *ret_value);
/** @return the keys of a map as a list; an error when memory is out */
struct rh_cel_value rh_cel_map_keys(struct rh_cel_room *room, const struct rh_cel_value *map);
/** @return the name of a field in a schema as a rule writes it, undone: "a__dash__b" is "a-b"; of the room or @p name
 */
const char *rh_cel_unescape(struct rh_cel_room *room, const char *name);

#endif
