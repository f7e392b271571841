/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/kind.h
 * @brief What a kind's description says in fields that came after ABI 1.0, or what holds where it has none.
 *
 * A description may come from a plugin that is older than such a field, so nobody reads one directly.
 */
#ifndef RH_JOB_KIND_H
#define RH_JOB_KIND_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "job/fields.h"
#include "roundhouse/plugin.h"

/** Longest path that a description may have, terminating zero included. */
#define RH_KIND_PATH_SIZE 256
/** Most members of such a path, "spec" included. */
#define RH_KIND_STEPS_MAX 8

/** A path of a job, and the places on it. It points into itself, so it is never copied. */
struct rh_kind_path {
	char text[RH_KIND_PATH_SIZE];                 /**< "spec.cluster.replicaSpecs"; "": there is none */
	char words[RH_KIND_PATH_SIZE];                /**< the text, cut into its members */
	struct rh_place steps[RH_KIND_STEPS_MAX + 1]; /**< one for each member; one more for a key of the map */
	size_t count;                                 /**< of steps; 0: there is no such path */
};

/** @return whether @p text is a path of members below spec, or "spec" itself where @p itself allows that */
bool rh_kind_path_is_valid(const char *text, bool itself);
/** Where the map of replica types is; without steps: the kind has none. */
void rh_kind_replicas_path(const struct rh_kind *kind, struct rh_kind_path *ret_path);
/** @return whether the replica types of its jobs are those that its plugin gives (job/expansion.h) */
bool rh_kind_expands(const struct rh_kind *kind);
/** Where the run policy is; without steps: it is not in the job. */
void rh_kind_policy_path(const struct rh_kind *kind, struct rh_kind_path *ret_path);
/**
 * Where a replica type is: its own path, or @p key of the map. @param known NULL: a type that the kind does not know
 * @param key borrowed by @p ret_path
 */
void rh_kind_type_path(const struct rh_kind *kind, const struct rh_replica_type *known, const char *key,
                       struct rh_kind_path *ret_path);
/** @return the last place of a path, which points into it; NULL when it has no steps */
const struct rh_place *rh_kind_path_place(const struct rh_kind_path *path);
/** @return the name of the last member; "" when it has no steps */
const char *rh_kind_path_name(const struct rh_kind_path *path);
/** Append the path as messages word it: "spec.cluster.replicaSpecs[Worker]". */
void rh_kind_path_print(const struct rh_kind_path *path, struct rh_str *out);
/** @return what stands there in a job, borrowed, or NULL */
struct rh_json *rh_kind_path_find(const struct rh_kind_path *path, const struct rh_json *object);
/**
 * Find the object there. @param[out] ret_value borrowed; NULL when it, or what it is in, is absent
 * @return 0, or RH_EINVAL when a value on the way is not an object
 */
int rh_kind_path_read(const struct rh_kind_path *path, const struct rh_json *object, const struct rh_json **ret_value,
                      struct rh_error *err);
/**
 * @param schema of the first @p steps steps' object: that of the job for 0
 * @return the schema of the object that step @p steps is a member of, made with its "properties" where they are
 * missing; borrowed; NULL when memory is out
 */
struct rh_json *rh_kind_path_ensure_schema(const struct rh_kind_path *path, struct rh_json *schema);
/** @return the schema of what stands there, in that of a job; borrowed, or NULL */
struct rh_json *rh_kind_path_schema(const struct rh_kind_path *path, const struct rh_json *schema);

/** @return the path of a type that is not in the map (rh_replica_type.path); NULL: it is. @p known may be NULL */
const char *rh_kind_own_path(const struct rh_replica_type *known);
/** @return whether @p key is read as a member of the run policy: see rh_kind.run_policy_path */
bool rh_kind_has_policy(const struct rh_kind *kind, const char *key);
/** @return defaults of the run policy as JSON text (rh_kind.run_policy), borrowed; NULL: V1's */
const char *rh_kind_run_policy(const struct rh_kind *kind);
/** @return managedBy of a job, borrowed; NULL: it is absent, or the kind reads none */
const char *rh_kind_manager(const struct rh_kind *kind, const struct rh_json *object);
/** @return whether this program runs jobs in which managedBy is @p manager; NULL: it is absent */
bool rh_kind_is_ours(const struct rh_kind *kind, const char *manager);
/**
 * @return whether managedBy may be @p manager (rh_kind.managers). @param[out] ret_supported gets the values that it may
 * have, in quotes, when it may not; check its "failed"; NULL is nothing
 */
bool rh_kind_may_manage(const struct rh_kind *kind, const char *manager, struct rh_str *ret_supported);
/** @return the values of managedBy as JSON text (rh_kind.managers), borrowed; NULL: V1's */
const char *rh_kind_managers(const struct rh_kind *kind);
/** @return required members of spec as JSON text (rh_kind.spec_required), borrowed; NULL: V1's */
const char *rh_kind_spec_required(const struct rh_kind *kind);
/** @return default restartPolicy of the replica type @p known (NULL: one that the kind does not know); borrowed */
const char *rh_kind_restart_policy(const struct rh_kind *kind, const struct rh_replica_type *known);

#endif
