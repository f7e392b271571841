/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/values/patterns.h
 * @brief Names and labels of replicas where a kind has its own (rh_kind.pod_name, host_name, RH_KIND_OWN_LABELS); else
 * V1's (job/values/names.h).
 */
#ifndef RH_JOB_VALUES_PATTERNS_H
#define RH_JOB_VALUES_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"
#include "job/values/names.h"
#include "roundhouse/plugin.h"

/** A replica, as names are made of it. Texts are borrowed. */
struct rh_pattern_replica {
	const char *job;
	const char *namespace_;
	const char *uid;  /**< of the job */
	const char *type; /**< in any case */
	int32_t index;    /**< -1: its names have none (RH_REPLICA_UNINDEXED) */
};

/** Check the patterns of a kind. @return 0, or RH_EPLUGIN (the message says what a pattern may have) */
int rh_patterns_check(const struct rh_kind *kind, struct rh_error *err);
/** @return whether the kind has a pattern of names of pods of its own */
bool rh_patterns_has_pod(const struct rh_kind *kind);
/** @return whether the kind has a pattern of hosts of its own; else a replica is reached by the name of its pod */
bool rh_patterns_has_host(const struct rh_kind *kind);
/** @return rh_kind.pod_name as people read it: "NAME-TYPE-INDEX"; written to @p buffer */
const char *rh_patterns_describe(const struct rh_kind *kind, char buffer[RH_NAME_SIZE]);
/** @return how many characters a pod's name has beside those of job, type and index */
size_t rh_patterns_fixed(const struct rh_kind *kind);
/** Write the name of a replica within its job: that of its pod without the job's, "worker-1". @return @p buffer */
const char *rh_patterns_replica(const struct rh_kind *kind, const struct rh_pattern_replica *replica,
                                char buffer[RH_NAME_SIZE]);
/** Write the name of a replica's pod, and of its Service where it has one. @return @p buffer */
const char *rh_patterns_pod(const struct rh_kind *kind, const struct rh_pattern_replica *replica,
                            char buffer[RH_NAME_SIZE]);
/**
 * Append by what name a replica is reached on a cluster.
 * @param domain of the cluster, "cluster.local"; NULL: none is configured
 */
void rh_patterns_host(const struct rh_kind *kind, const struct rh_pattern_replica *replica, const char *domain,
                      struct rh_str *out);

/** @return the key by which the core finds pods and Services of the kind again, in place of V1's key @p label */
const char *rh_patterns_label(const struct rh_kind *kind, const char *label);
/** Write the selector of a replica type: keys sorted, comma-separated. @return @p buffer */
const char *rh_patterns_selector(const struct rh_kind *kind, const char *job, const char *type, char *buffer,
                                 size_t size);

#endif
