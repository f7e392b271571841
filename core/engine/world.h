/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/world.h
 * @brief All that a decision may depend on: one immutable value.
 */
#ifndef RH_ENGINE_WORLD_H
#define RH_ENGINE_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "engine/ledger.h"
#include "host/host.h"
#include "job/addresses.h"
#include "job/job.h"
#include "job/pod.h"

/** A child that is not a pod: a Service, or another object that the plugin named. */
struct rh_child {
	char *api_version;
	char *kind;
	char *name;
	char *uid;
	char *owner_uid;
	char *type;    /**< replica type label in lower case; "" when it has none */
	int32_t index; /**< replica index label; -1 when it has none */
	uint64_t hash; /**< rh_hash() of the body that was last written; 0 when unknown */
	bool deleting;
};

/**
 * The world of one job. What is observed is the cache overlaid with the writes in flight: a pod whose create is under
 * way is there (phase pending, uid ""), a pod whose delete is under way has deleting set.
 */
struct rh_world {
	const struct rh_host *host;
	const struct rh_job *job;
	const struct rh_ledger *ledger;
	const struct rh_addresses *addresses; /**< empty on a cluster */
	const struct rh_pod *const *pods;     /**< those with the job's labels in its namespace, whoever owns them */
	size_t pod_count;
	const struct rh_child *const *children; /**< Services with the job's labels, and further objects */
	size_t child_count;
	const struct rh_json *objects; /**< what rh_build_objects() said, an array; NULL where there is nothing to say */
	int64_t now;                   /**< wall-clock microseconds */
};

/** Hash a further object as it is to be written, for rh_child.hash; never 0. @return 0 or RH_ENOMEM */
int rh_object_hash(const struct rh_json *object, uint64_t *ret_hash);

#endif
