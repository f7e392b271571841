/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schema/explain_field.h
 * @brief One field of a schema as a row: path, type, description, default, rules. Private to the host.
 */
#ifndef RH_SCHEMA_EXPLAIN_FIELD_H
#define RH_SCHEMA_EXPLAIN_FIELD_H

#include "base/json.h"
#include "base/str.h"
#include "roundhouse/plugin.h"

/** A place in the schema of a kind. All but the texts is borrowed. */
struct rh_explain_at {
	const struct rh_kind *kind;
	const struct rh_json *definitions;
	const struct rh_json *reference;    /**< the schema in its parent: itself, or a $ref */
	const struct rh_json *schema;       /**< the schema with all references resolved */
	const struct rh_replica_type *type; /**< the replica type that the path has named; NULL: none yet */
	struct rh_str path;                 /**< as errors word it: "spec.tfReplicaSpecs[Worker].replicas" */
	struct rh_str place;                /**< as rh_explain_descriptions() wants it: "spec.*.*.replicas" */
};

/** Free the texts. */
void rh_explain_at_deinit(struct rh_explain_at *at);
/**
 * Go to the member @p step of an object. Wherever a kind has its replicas, their place is "spec.*" for the map and
 * "spec.*.*" for those of one type.
 */
void rh_explain_descend(struct rh_explain_at *at, const char *step);
/** @return @p schema, or what it refers to; NULL when there is none */
const struct rh_json *rh_explain_resolve(const struct rh_explain_at *at, const struct rh_json *schema);
/** @return whether a schema is of this type */
bool rh_explain_is(const struct rh_json *schema, const char *type);
/** Write a type as Go does: "[]Container", "map[string]string". */
void rh_explain_print_type(const struct rh_explain_at *at, const struct rh_json *schema, struct rh_str *out);
/** Append a rule to those that are there. */
void rh_explain_join(struct rh_str *out, const char *rule);
/** Append what holds of the number of replicas of a type. */
void rh_explain_print_range(const struct rh_replica_type *type, struct rh_str *out);
/** Set a member to a text that is not empty. @return 0 or RH_ENOMEM */
int rh_explain_set(struct rh_json *row, const char *key, const struct rh_str *text);
/** Fill @p row with the description of the field at @p at, which has this schema. @return 0 or RH_ENOMEM */
int rh_explain_describe(const struct rh_explain_at *at, const struct rh_json *schema, struct rh_json *row);
/**
 * Append a row to @p list for each field below @p schema, the schema of @p at, down to types of Kubernetes.
 * @return 0 or RH_ENOMEM
 */
int rh_explain_list(struct rh_explain_at *at, const struct rh_json *schema, struct rh_json *list);

#endif
