/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/jobs/replicas.h
 * @brief The states in which replicas of a job are shown to a plugin, their addresses, and pods before pod().
 */
#ifndef RH_CONFORMANCE_JOBS_REPLICAS_H
#define RH_CONFORMANCE_JOBS_REPLICAS_H

#include "host/host.h"
#include "job/addresses.h"

/** How many states judge() is shown. */
#define RH_REPLICAS_PATTERNS 8
/** The one in which all replicas succeeded. */
#define RH_REPLICAS_SUCCEEDED 2

/** Replicas of a job at one moment. All zero is none. */
struct rh_replicas {
	struct rh_counts counts[RH_TYPES_MAX];
	size_t offsets[RH_TYPES_MAX];
	const struct rh_pod **pods; /**< owned; the pods are static */
};

/**
 * Make state number @p pattern: none started, all run, all succeeded, the first type failed, one of the last type
 * failed, one restarts, the first type succeeded, a mixture.
 * @return 0 or RH_ENOMEM
 */
int rh_replicas_make(struct rh_replicas *replicas, const struct rh_job *job, int pattern);
/** Free it and make it empty. */
void rh_replicas_free(struct rh_replicas *replicas);

/** Give each replica an address of one machine. @return 0 or RH_ENOMEM */
int rh_replicas_addresses(const struct rh_job *job, struct rh_addresses *ret_addresses);
/** @return the Pod of a replica as it is before pod(), owned by the caller, or NULL when memory is out */
struct rh_json *rh_replicas_pod(const struct rh_job *job, const struct rh_replica_spec *spec, int32_t index)
	__attribute__((warn_unused_result));

#endif
