/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/override/set.h
 * @brief Sets one field of an object, by the schema of its kind.
 */
#ifndef RH_CLI_OVERRIDE_SET_H
#define RH_CLI_OVERRIDE_SET_H

#include "base/error.h"
#include "base/json.h"

/**
 * Set the field at @p path to what @p text means to its schema: an integer, a truth value, a string, a quantity, or
 * JSON for a list or an object; "null" removes the field, unless it is a string. Objects and lists on the way are made;
 * an item of a list must exist or be the next one; a replica type must exist.
 * @param document schema of the kind, see rh_schema_of_kind()
 * @return 0, RH_EINVAL (then @p object may have new empty objects on the way; the message names the nearest field) or
 * RH_ENOMEM
 */
int rh_field_set(const struct rh_json *document, struct rh_json *object, const char *path, const char *text,
                 struct rh_error *err);

#endif
