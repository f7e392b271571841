/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/world.h
 * @brief All inputs of a decision, as one immutable value.
 */
#ifndef RH_ENGINE_WORLD_H
#define RH_ENGINE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os/clock_steps.h"
#include "engine/ledger.h"
#include "engine/missing.h"
#include "host/operations.h"
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
	char *type;        /**< replica type label in lower case; "" when it has none */
	int32_t index;     /**< replica index label; -1 when it has none */
	uint64_t revision; /**< its resourceVersion; 0: unknown, or not a number */
	uint64_t hash;     /**< rh_hash() of the body that was last written; 0 when unknown */
	/** Of a PodGroup: rh_hash() of its last observed spec, which shows whether another client wrote it; else 0. */
	uint64_t content;
	bool deleting;
	bool retained; /**< it has no owner, but the label with the UID in owner_uid: it is never deleted */
	bool idle;     /**< of a PodGroup: its scheduler has not put it into the queue (no phase yet, or Pending) */
};

/** What the store refuses. RH_REFUSED_NAME: an object of another owner has the name of the object to create. */
enum rh_refused { RH_REFUSED_CREATE, RH_REFUSED_READ, RH_REFUSED_UPDATE, RH_REFUSED_DELETE, RH_REFUSED_NAME };

/** A request that the store refused for good, and whose cause still exists as far as known. */
struct rh_refusal {
	enum rh_refused what; /**< of pods and Services it is always a create */
	char *kind;           /**< of the object: "Pod"; owned, likewise below */
	char *name;           /**< of the object */
	char *message;        /**< the store's */
	int64_t since;        /**< microseconds: when the first was refused */
	int64_t until;        /**< when the next may be tried */
	uint32_t rounds;      /**< how often it has been tried again */
	bool single;          /**< it is about this one name: other objects of its kind are not affected */
};

/**
 * The world of one job: the cache overlaid with the writes in flight. A pod whose create is in flight exists (phase
 * pending, uid ""); a pod whose delete is in flight has deleting set.
 */
struct rh_world {
	const struct rh_host *host;
	struct rh_answers *answers; /**< of the plugin; NULL: operations wait until it answers */
	const struct rh_job *job;
	const struct rh_ledger *ledger;
	const struct rh_addresses *addresses; /**< empty on a cluster */
	const struct rh_pod *const *pods;     /**< those with the job's labels in its namespace, with any owner */
	size_t pod_count;
	const struct rh_child *const *children; /**< Services with the job's labels, and further objects */
	size_t child_count;
	const struct rh_json *objects;     /**< result of rh_build_objects(), an array; NULL: none */
	const struct rh_gang *gang;        /**< NULL: there is no gang scheduler */
	const struct rh_lookups *lookups;  /**< other objects that the job names; NULL: none, or see waiting */
	const char *waiting;               /**< for which of them the job has to wait, as a sentence; NULL: for none */
	int64_t waiting_until;             /**< when they are looked for again; microseconds */
	const struct rh_refusal *refusals; /**< oldest first */
	size_t refusal_count;
	const char *breach; /**< how the plugin broke its contract, so that a retry is useless; or NULL */
	bool gated;         /**< somebody else says when the job may run: it is of interest until its last pod has ended */
	bool set_aside; /**< breach is about the plugin's process, which failed at the job: it waits, and does not fail */
	uint64_t stalled_hash;            /**< of the last plan that was carried out, see there */
	int64_t held_since;               /**< likewise */
	const struct rh_job_status *held; /**< the status that is held back since then; NULL: none */
	int64_t patience;                 /**< microseconds that a status which only changes counts may wait; 0: none */
	int64_t peer_patience;            /**< microseconds that the end by a cause waits for replicas that run; 0: none */
	int64_t awaited;                  /**< as rh_engine_options.awaited returned it */
	bool reads_stalls;                /**< the log of rank 0 is to be read while the job runs */
	int64_t stalls_due;               /**< when it is read again; microseconds */
	struct rh_missing missing;        /**< a rank that others wait for */
	bool reads_logs;                  /**< logs of failed containers can be read, as far as known */
	int64_t now;                      /**< wall-clock microseconds */
	const struct rh_clock_steps *steps; /**< steps of the wall clock meanwhile; NULL: none */
};

/**
 * @return whether pods may mount, or get rights from, objects of @p api_version: ConfigMaps, ServiceAccounts, Roles and
 * the like; not autoscalers and PodGroups
 */
bool rh_object_serves_pods(const char *api_version);
/** Hash a further object as it is to be written, for rh_child.hash; never 0. @return 0 or RH_ENOMEM */
int rh_object_hash(const struct rh_json *object, uint64_t *ret_hash);

#endif
