/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/job.h
 * @brief A training job as the core sees it: the parsed form of one object, with V1's defaults (v1-behaviour A.3)
 * applied in memory.
 *
 * Differences between kinds are data, struct rh_kind. The object itself is kept; a member of it that is null is
 * absent (an API server drops those of fields that a definition names), and nothing else of it is changed.
 */
#ifndef RH_JOB_JOB_H
#define RH_JOB_JOB_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "job/policy.h"
#include "job/status/status.h"
#include "job/values/names.h"
#include "job/values/patterns.h"
#include "job/values/stall_policy.h"
#include "roundhouse/plugin.h"

/**
 * Most memory that the parsed object of a job may take (rh_json_weight()), bytes. An API server stores objects of up to
 * 1.5 MiB of text, which take up to five times that with usual fields, and 32 times that as a list of digits: so any
 * usual job fits, and no job can use up a controller's memory.
 */
#define RH_JOB_WEIGHT_MAX ((size_t)8 << 20)

/** Scope of a restart after a failure: the replica, or all of the job (docs/internals/engine.md). */
enum rh_restart_scope { RH_SCOPE_REPLICA, RH_SCOPE_JOB };

/** The replicas of one type, defaults applied. */
struct rh_replica_spec {
	const char *type;                    /**< canonical spelling where the kind knows the type; borrowed */
	const char *key;                     /**< as the user wrote it; borrowed from the object */
	const struct rh_replica_type *known; /**< NULL for a type that the kind does not know */
	int32_t replicas;
	enum rh_restart_policy policy;
	const struct rh_json *entry;     /**< {replicas, restartPolicy, template}; borrowed from object or expansion */
	const struct rh_json *template_; /**< likewise; NULL when it is missing */
};

struct rh_expansion;
struct rh_findings;

/** One job. */
struct rh_job {
	const struct rh_kind *kind; /**< borrowed */
	struct rh_json *object;     /**< without members that are null; of a large job only a part; owned */
	size_t weight;              /**< of the whole object, see rh_json_weight() */
	const char *namespace_;     /**< "default" when the object names none; borrowed like all texts here */
	const char *name;
	const char *uid;                            /**< "" before it is stored */
	const char *resource_version;               /**< "" before it is stored */
	int64_t created_at;                         /**< microseconds; 0 before it is stored */
	bool deleting;                              /**< metadata.deletionTimestamp is set */
	struct rh_replica_spec specs[RH_TYPES_MAX]; /**< in the kind's order, then unknown types by name */
	size_t spec_count;
	struct rh_run_policy policy;
	enum rh_restart_scope scope;
	struct rh_stall_policy stalls; /**< what is done when its ranks wait for one that does not come */
	int64_t terminating_timeout;   /**< microseconds until a pod that terminates is forced; RH_NEVER is unset */
	struct rh_job_status status;
	/** its replica types, where the kind has them from its plugin (job/expansion.h); owned; NULL: none yet */
	struct rh_expansion *expansion;
	struct rh_findings *refusals; /**< why the plugin expanded it no further; owned; NULL: it did not refuse */
};

/**
 * Parse @p object (taken, also on error). Fails only where the job cannot be understood at all: no name, spec or a
 * member of it of the wrong type, a number out of its range, more than RH_TYPES_MAX types; rh_job_validate() finds the
 * rest.
 * @param[out] ret_job owned by the caller
 * @return 0, RH_EINVAL (the message names the field path and value) or RH_ENOMEM
 */
int rh_job_parse(const struct rh_kind *kind, struct rh_json *object, struct rh_job **ret_job, struct rh_error *err);
/** Free a job. NULL is allowed. */
void rh_job_free(struct rh_job *job);
RH_DEFINE_CLEANUP(job);

/** @return the spec of the canonical @p type, borrowed, or NULL */
const struct rh_replica_spec *rh_job_spec(const struct rh_job *job, const char *type);
/** @return the spec of the type that the label of a pod names, in any case; borrowed, or NULL */
const struct rh_replica_spec *rh_job_spec_of_label(const struct rh_job *job, const char *label);
/** Append where a replica type stands in the job, as messages word it: "spec.pytorchReplicaSpecs[Worker]". */
void rh_job_print_spec(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_str *out);
/** @return replicas of all types together */
int64_t rh_job_total_replicas(const struct rh_job *job);
/** @return whether pod @p index of @p type has the master role (v1-behaviour C.1) */
bool rh_job_is_leader(const struct rh_job *job, const char *type, int32_t index);
/** @return the rank of a replica: its place over all types in the kind's order */
int32_t rh_job_rank(const struct rh_job *job, const char *type, int32_t index);
/** Write the name of a replica's pod (rh_kind.pod_name; else v1-behaviour C.1, C.11 for a type without index). @return
 * @p buffer */
const char *rh_job_replica_name(const struct rh_job *job, const char *type, int32_t index, char buffer[RH_NAME_SIZE]);
/** Write the name of a replica within its job: that of its pod without the job's, "worker-1". @return @p buffer */
const char *rh_job_replica_own_name(const struct rh_job *job, const char *type, int32_t index,
                                    char buffer[RH_NAME_SIZE]);
/** @return the replica as names are made of it; borrowed from the job and @p type */
struct rh_pattern_replica rh_job_pattern_replica(const struct rh_job *job, const char *type, int32_t index);
/** @return whether this program is the one to reconcile the job (runPolicy.managedBy, v1-behaviour B.6) */
bool rh_job_is_ours(const struct rh_job *job);
/** @return the container named rh_kind.container in @p pod_spec, else the first, else NULL; borrowed */
struct rh_json *rh_job_main_container(const struct rh_kind *kind, const struct rh_json *pod_spec);
/**
 * @return number of the port that the template of @p spec itself gives the name rh_kind.port_name in the main
 * container, 0 where it gives none
 */
int32_t rh_job_own_port(const struct rh_job *job, const struct rh_replica_spec *spec);
/** @return number of the port named rh_kind.port_name of the main container of @p type; rh_kind.port where it sets
 * none; -1 when there is no such type */
int32_t rh_job_port(const struct rh_job *job, const char *type);

#endif
