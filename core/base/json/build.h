/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/build.h
 * @brief What the parsers of JSON and YAML share; for core/base alone.
 */
#ifndef RH_BASE_JSON_BUILD_H
#define RH_BASE_JSON_BUILD_H

#include "base/json.h"
#include "base/map.h"

/** The keys that an object under construction has, found without walking it when there are many. All zero is "none". */
struct rh_json_keys {
	struct rh_map *map; /**< NULL while the object is small */
	size_t count;       /**< members */
};

/** Free what @p keys holds. */
void rh_json_keys_deinit(struct rh_json_keys *keys);
/** @return whether @p object, all of whose members went through rh_json_keys_add(), has @p key */
bool rh_json_keys_have(const struct rh_json_keys *keys, const struct rh_json *object, const char *key);
/** rh_json_add() that also notes the key, which must not be there yet. @p value is taken. @return 0 or RH_ENOMEM */
int rh_json_keys_add(struct rh_json_keys *keys, struct rh_json *object, const char *key, struct rh_json *value);

/** A local that is freed when it goes out of scope. */
#define rh_auto_json_keys __attribute__((cleanup(rh_json_keys_deinit))) struct rh_json_keys

/** The document that lies between two offsets of a text; positions in messages count from the start of the text. */
struct rh_json_span {
	const char *text; /**< borrowed */
	size_t start;     /**< first byte of the document */
	size_t end;       /**< first byte after it */
	size_t values;    /**< most values that it may hold; a parse takes off what it made */
	bool lenient;     /**< as rh_json_parse_lenient() */
	bool secret;      /**< messages quote nothing of the text */
};

/** rh_json_parse() for a part of a text. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_json_parse_span(struct rh_json_span *span, struct rh_json **ret_json, struct rh_error *err);

/** Count the line and the column (in characters) of byte @p offset in @p text, both from 1. */
void rh_json_position(const char *text, size_t offset, size_t *ret_line, size_t *ret_column);

/** @return a number from its JSON text, owned by the caller; NULL when memory is out or it is too large for a double */
struct rh_json *rh_json_new_literal(const char *text, size_t length) __attribute__((warn_unused_result));

/**
 * Convert a number of the form -12.5e+3, whatever the locale is. @p text need not end with a zero.
 * @return 0, RH_EINVAL when it is too large for a double, or RH_ENOMEM
 */
int rh_json_read_number(const char *text, size_t length, double *ret_value);

#endif
