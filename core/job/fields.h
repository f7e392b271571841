/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/fields.h
 * @brief The path of a value in an object, and typed reads with the API server's error messages.
 *
 * A place is a chain of steps on the stack; its text is made only for a message, so that
 * checking costs no allocation.
 */
#ifndef RH_JOB_FIELDS_H
#define RH_JOB_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

/** Kind of a step: RH_STEP_MEMBER ".name", RH_STEP_KEY "[name]" of a map with the user's keys, RH_STEP_ITEM "[0]". */
enum rh_step { RH_STEP_MEMBER, RH_STEP_KEY, RH_STEP_ITEM };

/** One step of a path. Texts and the chain are borrowed. */
struct rh_place {
	const struct rh_place *up; /**< NULL at the root */
	const char *name;          /**< of a member or key */
	size_t index;              /**< of an item */
	enum rh_step step;
};

/** @return the member @p name below @p up (NULL: of the object itself) */
static inline struct rh_place rh_place_member(const struct rh_place *up, const char *name)
{
	return (struct rh_place){up, name, 0, RH_STEP_MEMBER};
}

/** @return the entry @p key of the map at @p up */
static inline struct rh_place rh_place_key(const struct rh_place *up, const char *key)
{
	return (struct rh_place){up, key, 0, RH_STEP_KEY};
}

/** @return the item @p index of the list at @p up */
static inline struct rh_place rh_place_item(const struct rh_place *up, size_t index)
{
	return (struct rh_place){up, NULL, index, RH_STEP_ITEM};
}

/**
 * Append the path: "spec.pytorchReplicaSpecs[Master].replicas" as in messages of webhooks, or, when @p dotted,
 * "spec.pytorchReplicaSpecs.Master.replicas" as in schema errors of the API server.
 */
void rh_place_print(const struct rh_place *place, bool dotted, struct rh_str *out);

/** The members of one object. An absent or null member leaves a result unchanged, and is not an error. */
struct rh_fields {
	const struct rh_json *object; /**< NULL has no members */
	const struct rh_place *place; /**< of the object; NULL is the root */
	struct rh_error *err;         /**< where refusals go; may be NULL */
};

/** @return the first item of the list @p key of @p object, or NULL when there is none or it is not a list; borrowed */
struct rh_json *rh_fields_first(const struct rh_json *object, const char *key);
/** @return the text @p key of @p object, borrowed; "" when it is absent or not a string */
const char *rh_fields_text_or_empty(const struct rh_json *object, const char *key);
/** @return the time @p key of @p object in microseconds; 0 when it is absent or not an RFC 3339 time */
int64_t rh_fields_time_or_zero(const struct rh_json *object, const char *key);
/** @return @p json, or NULL when it is JSON's null: null counts as absent */
struct rh_json *rh_fields_present(struct rh_json *json);
/** Read an object. @param[out] ret_value borrowed. @return 0 or RH_EINVAL */
int rh_fields_object(const struct rh_fields *fields, const char *key, const struct rh_json **ret_value);
/** Read a text. @param[out] ret_value borrowed. @return 0 or RH_EINVAL */
int rh_fields_text(const struct rh_fields *fields, const char *key, const char **ret_value);
/** Read a boolean. @return 0 or RH_EINVAL */
int rh_fields_bool(const struct rh_fields *fields, const char *key, bool *ret_value);
/** Read an integer of 32 bits. @return 0 or RH_EINVAL */
int rh_fields_int32(const struct rh_fields *fields, const char *key, int32_t *ret_value);
/** Likewise, but what is negative acts as 0, as in V1. @param[out] ret_count kept where there is none */
int rh_fields_count(const struct rh_fields *fields, const char *key, int32_t *ret_count);
/** Read an integer of at most 53 bits. @return 0 or RH_EINVAL */
int rh_fields_int64(const struct rh_fields *fields, const char *key, int64_t *ret_value);
/**
 * Append @p value for a message: its JSON text, so that strings are in quotes; a long text is cut and gets "...".
 */
void rh_fields_show(const struct rh_json *value, struct rh_str *out);
/** Refuse the value at @p place: it is @p found, but must be of type @p expected. @return RH_EINVAL */
int rh_fields_refuse_type(struct rh_error *err, const struct rh_place *place, const char *expected,
                          const struct rh_json *found);

#endif
