/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/jobs/fill.h
 * @brief Values made from a schema: usual ones, and such that a plugin may not expect.
 */
#ifndef RH_CONFORMANCE_JOBS_FILL_H
#define RH_CONFORMANCE_JOBS_FILL_H

#include "base/json.h"

/** Which values. All but RH_FILL_TYPE and RH_FILL_NULL fit the schema, as far as the kit can find such a value. */
enum rh_fill {
	RH_FILL_USUAL, /**< each field, small and plain */
	RH_FILL_TEXTS, /**< texts with quotes, control characters, and what is not ASCII */
	RH_FILL_LONG,  /**< texts as long as they may be, at most 16 KiB */
	RH_FILL_LARGE, /**< the largest numbers */
	RH_FILL_SMALL, /**< the smallest numbers; empty texts, maps and lists; false */
	RH_FILL_TYPE,  /**< each value of a wrong type */
	RH_FILL_NULL   /**< null in place of each value that is not a map */
};

/** A text with what breaks careless quoting. */
#define RH_FILL_HOSTILE_TEXT                                                                                  \
	"\"quoted\" \\ 'single' {{.X}} ${HOME} $(id) `id` %s%n\n\t\x01\x1f \xc3\xa9\xe6\xbc\xa2\xf0\x9f\x9a\x82 " \
	"\xe2\x80\xa8,=;"

/**
 * Make a value.
 * @param schema OpenAPI v3; "$ref" is looked up in @p definitions, which may be NULL
 * @return owned by the caller, or NULL when memory is out
 */
struct rh_json *rh_fill(const struct rh_json *schema, const struct rh_json *definitions, enum rh_fill how)
	__attribute__((warn_unused_result));

#endif
