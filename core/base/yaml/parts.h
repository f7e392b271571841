/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/yaml/parts.h
 * @brief What the files of the YAML module share; for core/base alone.
 */
#ifndef RH_BASE_YAML_PARTS_H
#define RH_BASE_YAML_PARTS_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"

struct rh_json;
struct rh_json_span;

/** Type of a plain scalar. */
enum rh_yaml_kind {
	RH_YAML_STRING,
	RH_YAML_NULL,
	RH_YAML_TRUE,
	RH_YAML_FALSE,
	RH_YAML_INTEGER,   /**< that an int64_t or an uint64_t holds */
	RH_YAML_REAL,      /**< any other number */
	RH_YAML_NOT_FINITE /**< .inf or .nan, which JSON cannot hold */
};

/** Bytes for a number that was resolved: every integer that a double comes near to fits; a longer scalar is text. */
#define RH_YAML_NUMBER_SIZE 320
/** A number in JSON's form: 0x1F as 31, .5 as 0.5. */
struct rh_yaml_number {
	char text[RH_YAML_NUMBER_SIZE];
};

/** Resolve a plain scalar as sigs.k8s.io/yaml does. @param[out] ret_number set for a number @return what it is */
enum rh_yaml_kind rh_yaml_resolve(const char *text, size_t length, struct rh_yaml_number *ret_number);

/** @return what to do about a complaint of libyaml, "; quote the text", to be appended; "": it says all. Static storage
 */
const char *rh_yaml_advice(const char *problem);
/** @return whether the first character of a text after white space is { or [ */
bool rh_yaml_looks_like_json(const char *text, size_t length);

/**
 * Append the JSON documents of @p whole, a text with --- lines between them, to the array @p documents. Empty ones are
 * left out.
 * @return 0, also 1 when one of them does not look like JSON, RH_EINVAL or RH_ENOMEM
 */
int rh_yaml_parse_json(const struct rh_json_span *whole, struct rh_json *documents, struct rh_error *err);

#endif
