/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide/decision.h
 * @brief One decision in progress: what its rules know of each replica; for core/engine/decide.
 *
 * One decision is one pass over one world. The new ledger and the new status are built in the plan; a comparison at the
 * end finds out whether they are written. The files of this folder call each other in one direction: decide.c the
 * rules of each phase, these the rules for children and faults, and all of them decision.c and report.c.
 */
#ifndef RH_ENGINE_DECIDE_DECISION_H
#define RH_ENGINE_DECIDE_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/plan.h"
#include "engine/world.h"

/** Most replicas of one job: larger tables would let one job use up the controller's memory. */
#define RH_DECIDE_REPLICAS_MAX 1000000

/** In rh_decision.requested: the plugin wants a restart that cannot begin in this pass. */
#define RH_REQUESTED_LATER UINT32_MAX

/** The state of one replica. */
enum rh_slot {
	RH_SLOT_ABSENT,     /**< it has no pod, and none was lost */
	RH_SLOT_STARTING,   /**< its pod has not started */
	RH_SLOT_ACTIVE,     /**< its pod runs and is not being deleted */
	RH_SLOT_SUCCEEDED,  /**< it succeeded, now or before; its pod may be gone */
	RH_SLOT_FAILED,     /**< it failed for good by its restart policy */
	RH_SLOT_BROKEN,     /**< it is to be restarted and that has not been counted yet */
	RH_SLOT_RESTARTING, /**< its restart has been counted; its next pod does not exist yet */
	RH_SLOT_STALE       /**< its pod belongs to another attempt, or was stopped without a failure of its own */
};

/** One decision. Replica i of spec s has place offsets[s] + i in the tables. */
struct rh_decision {
	const struct rh_world *world;
	const struct rh_job *job;
	struct rh_plan *plan;
	struct rh_error *err;
	size_t offsets[RH_TYPES_MAX + 1];
	const struct rh_pod **pods;       /**< the pod of each replica; owned table */
	const struct rh_child **services; /**< its Service; owned table */
	uint8_t *slots;                   /**< enum rh_slot; owned table */
	/** Pods and Services that the job may adopt: owned tables, NULL while there is none. */
	const struct rh_pod **orphan_pods;
	const struct rh_child **orphan_services; /**< likewise */
	const struct rh_pod **owned;             /**< all pods of the job, including those of no replica; owned table */
	size_t owned_count;
	struct rh_counts counts[RH_TYPES_MAX];
	struct rh_judgement judgement;
	bool *held; /**< whether the plugin wants no pod of a replica yet; owned table, NULL: it wants all */
	/**
	 * For each replica the restart that the plugin wants of it: 0 for none, the number in the judgement and 1 for one
	 * that begins in this pass, else RH_REQUESTED_LATER; owned table, NULL: it wants none.
	 */
	uint32_t *requested;
	const struct rh_restart
		*requests_all; /**< of these, the one of the whole job; borrowed from the judgement, or NULL */
	size_t charges;    /**< of the restarts that begin, those that count against backoffLimit */
	bool begun;        /**< one of them has begun: the job restarts, whatever verdicts say */
	size_t first;      /**< place of the replica with the fault of this pass; SIZE_MAX: none */
	size_t creates;    /**< creates in the plan so far */
	size_t asked[2];   /**< of these, pods and Services */
	size_t allowed[2]; /**< most creates of each under the store's refusals */
	bool left;         /**< something is left that is to be deleted */
	bool equipped;     /**< the further objects that pods need belong to the job: pods may be created */
	bool verified;     /**< likewise, and they have the desired content: rights may be granted */
	bool granted;      /**< all rights are granted: leaders may be created */
	char invalid[32];  /**< the ledger's note of the findings of this pass; "": none */
};

/** Free the tables. */
void rh_decision_deinit(struct rh_decision *decision);
/** @return the spec whose table holds @p place, and its @p ret_index there */
const struct rh_replica_spec *rh_decision_spec(const struct rh_decision *decision, size_t place, int32_t *ret_index);
/** @return number of replicas of all types */
size_t rh_decision_places(const struct rh_decision *decision);
/** @return whether the spec of the type label @p type exists; then *@p ret_spec is its number */
bool rh_decision_type(const struct rh_decision *decision, const char *type, size_t *ret_spec);
/** @return whether the tables hold the replica that the labels @p type and @p index name; then *@p ret_place is its
 * place */
bool rh_decision_place(const struct rh_decision *decision, const char *type, int32_t index, size_t *ret_place);
/**
 * Correct a recorded time for steps of the wall clock since then.
 * @param time of the wall clock when it was recorded, microseconds
 * @return the same moment on the current wall clock, never earlier; periods since a recorded time start here
 */
int64_t rh_decide_time(const struct rh_decision *decision, int64_t time);
/** @return whether the plugin keeps the limits of the run policy (RH_KIND_OWN_LIMITS), as it does on a cluster */
bool rh_decision_has_own_limits(const struct rh_decision *decision);
/** Decide again no later than @p time. */
void rh_decision_wake(struct rh_decision *decision, int64_t time);
/** How notes of the ledger begin about replicas whose pods are to be evicted. */
#define RH_DECISION_EVICTION "stalled/"
/** Write that note of the replica: "stalled/Worker-2". @return @p buffer */
const char *rh_decision_eviction(const struct rh_decision *decision, size_t place, char buffer[RH_NAME_SIZE]);
/** @return whether the ledger has it: the end of the replica's pod is the eviction, or is to be taken for it */
bool rh_decision_evicts(const struct rh_decision *decision, size_t place);
/** @return whether @p child is the Service of a replica of the job */
bool rh_decide_is_service(const struct rh_decision *decision, const struct rh_child *child);
/** @return what the plugin is shown of the job, without its replicas */
struct rh_snapshot rh_decision_snapshot(const struct rh_decision *decision);
/** @return whether the plugin wants a restart of the replica, now or later */
bool rh_decide_is_requested(const struct rh_decision *decision, size_t place);
/** @return whether the replicas of the type are leaders */
bool rh_decide_leads(const struct rh_replica_spec *spec);

#endif
