/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/lookups/lookups.h
 * @brief Other objects that a job names and that the operations of its plugin read (rh_kind.lookups).
 *
 * A kind declares entries. Of a job each entry names at most one object. Whoever can read objects (an engine from its
 * store, a command from files) looks up those that are due, until none is; then plugins see them below "@NAME.".
 */
#ifndef RH_JOB_LOOKUPS_LOOKUPS_H
#define RH_JOB_LOOKUPS_LOOKUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/job.h"
#include "job/lookups/found.h"

/** Most entries of one kind. */
#define RH_LOOKUPS_MAX 16
/** One entry of a job. Texts are borrowed from the list. */
struct rh_lookup {
	const char *name; /**< in paths: "runtime" */
	const char *api_version;
	const char *kind;
	const char *plural;
	const char *unless;          /**< name of the entry that takes the place of this one when it is found; NULL: none */
	const char *from;            /**< path of the job that names the object: "spec.runtimeRef.name" */
	const struct rh_json *parse; /**< paths of texts that are YAML; NULL: none */
	char *object_name;           /**< metadata.name of the object; owned; NULL: the job does not name one */
	bool cluster;                /**< the object is in no namespace */
	bool required;               /**< a job waits while it is absent */
	bool own;                    /**< it counts only when the job controls it */
	bool metadata;               /**< it has nothing but apiVersion, kind and metadata */
	int32_t state;               /**< RH_LOOKUP_*; 0: it is not known yet */
	struct rh_found *found;      /**< when there is one; shared with other jobs; NULL: none */
	const struct rh_json *object; /**< of found */
};

/** The entries of a job. */
struct rh_lookups {
	struct rh_json *declared; /**< rh_kind.lookups, parsed; owned */
	char *namespace_;         /**< of the job; owned, likewise below */
	char *uid;                /**< of the job; "" before it is stored */
	struct rh_lookup items[RH_LOOKUPS_MAX];
	size_t count;
	char *flaw_path; /**< where the job, or an object that it names, is not valid; NULL: nowhere */
	char *flaw;      /**< what is wrong there */
};

/** @return rh_kind.lookups as JSON text, borrowed; NULL: the kind has none */
const char *rh_lookups_text(const struct rh_kind *kind);
/**
 * Find out which objects a job names. @param[out] ret_lookups owned by the caller; NULL when the kind declares none
 * @return 0 or RH_ENOMEM; what is wrong with the job is kept as the flaw
 */
int rh_lookups_new(const struct rh_job *job, struct rh_lookups **ret_lookups);
/** Free them. NULL is nothing. */
void rh_lookups_free(struct rh_lookups *lookups);
RH_DEFINE_CLEANUP(lookups);
/** @return the entry that is to be looked up next, borrowed; NULL: all are known, or wait for one that is not */
struct rh_lookup *rh_lookups_due(struct rh_lookups *lookups);
/** @return whether it is known of each entry whether there is an object */
bool rh_lookups_are_known(const struct rh_lookups *lookups);
/**
 * Keep what was found. One that the job must control and does not is absent; texts that are to be parsed are.
 * @param object copied; NULL: there is none. @return 0 or RH_ENOMEM; an object that does not fit becomes the flaw
 */
int rh_lookups_keep(struct rh_lookups *lookups, struct rh_lookup *lookup, const struct rh_json *object);
/** As rh_lookups_keep(), of an object that jobs share. @param found gets a user more; NULL: there is none */
int rh_lookups_share(struct rh_lookups *lookups, struct rh_lookup *lookup, struct rh_found *found);
/** @return the first entry without whose object the job has to wait; NULL: none */
const struct rh_lookup *rh_lookups_missing(const struct rh_lookups *lookups);
/** @return whether they are all there that operations need: known, none missing. NULL: the kind declares none */
bool rh_lookups_are_complete(const struct rh_kind *kind, const struct rh_lookups *lookups);
/** @return the entry called @p name, of which @p length characters count; borrowed; NULL: none, or no list */
const struct rh_lookup *rh_lookups_find(const struct rh_lookups *lookups, const char *name, size_t length);
/** @return whether both name the same objects */
bool rh_lookups_name_same(const struct rh_lookups *a, const struct rh_lookups *b);
/**
 * Find the object that a path of a plugin, "@NAME.path", begins with.
 * @param[out] ret_rest the path in it; "" for the object itself
 * @return the entry, borrowed; NULL: the path is one of the job, or there is no such entry
 */
const struct rh_lookup *rh_lookups_of_path(const struct rh_lookups *lookups, const char *path, const char **ret_rest);
/** Append a path as people read it: "ClusterTrainingRuntime torch: spec.mlPolicy" for one of another object. */
void rh_lookups_print_path(const struct rh_lookups *lookups, const char *path, struct rh_str *out);

#endif
