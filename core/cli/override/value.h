/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/override/value.h
 * @brief What a text on the command line means to the schema of a field.
 */
#ifndef RH_CLI_OVERRIDE_VALUE_H
#define RH_CLI_OVERRIDE_VALUE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"

/** @return whether values of @p schema (NULL: unknown) are lists */
bool rh_value_is_list(const struct rh_json *schema);
/** @return whether values of @p schema are neither lists nor objects; false for NULL */
bool rh_value_is_leaf(const struct rh_json *schema);
/**
 * Make the value that @p text means. @param schema a resolved one; NULL: JSON, or a string where it is not JSON
 * @param[out] ret_value owned by the caller; JSON's null for "null", unless it is a string
 * @return 0, RH_EINVAL (the message has the type that is wanted) or RH_ENOMEM
 */
int rh_value_make(const struct rh_json *schema, const char *text, struct rh_json **ret_value, struct rh_error *err);

#endif
