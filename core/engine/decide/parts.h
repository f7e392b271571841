/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide/parts.h
 * @brief Shared declarations of the files of decide(); for core/engine/decide.
 *
 * One decision is one pass over one world. The new ledger and the new status are built in the plan; a comparison at the
 * end finds out whether they are written.
 */
#ifndef RH_ENGINE_DECIDE_PARTS_H
#define RH_ENGINE_DECIDE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/plan.h"
#include "engine/world.h"

/** Most replicas of one job: larger tables would let one job use up the controller's memory. */
#define RH_DECIDE_REPLICAS_MAX 1000000

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
/** Decide again no later than @p time. */
void rh_decision_wake(struct rh_decision *decision, int64_t time);

/** Fill the tables with pods and Services. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_decide_tables(struct rh_decision *decision);
/** Find the state of each replica, and count. New successes go into the ledger, with their Events.
 * @return 0 or RH_ENOMEM */
int rh_decide_observe(struct rh_decision *decision);

/** Find the fault that came first and keep it in the ledger. @return 0 or RH_ENOMEM */
int rh_decide_fault(struct rh_decision *decision);
/**
 * Before a fault ends the job, or all its replicas: where the fault looks like a consequence, wait for peers that are
 * about to end and may show the cause. The decision then wakes when the wait ends.
 * @return whether the fault is to be judged later
 */
bool rh_decide_fault_waits(struct rh_decision *decision);
/**
 * Judge the ledger's fault: when it is the consequence of one replica that has not ended, or that succeeded too early,
 * that replica becomes the ledger's fault. @return 0 or RH_ENOMEM
 */
int rh_decide_fault_judge(struct rh_decision *decision);
/**
 * Set the ledger's fault when a limit ends the job, or none. With restarts in place no replica has failed for good, so
 * that it is the last end of a restarted container. @return 0 or RH_ENOMEM
 */
int rh_decide_fault_of_limit(struct rh_decision *decision, enum rh_ledger_end end);
/** Append " First fault: …" when the ledger has a fault of the running attempt. */
void rh_decide_print_fault(const struct rh_decision *decision, struct rh_str *out);

/** @return whether the restarts of this pass would exceed backoffLimit */
bool rh_decide_over_budget(const struct rh_decision *decision);
/** Count restarts and delete failed pods, or start to stop the whole job. @return 0 or RH_ENOMEM */
int rh_decide_restart(struct rh_decision *decision);
/** Continue to stop the whole job; start the next attempt once no pod is left. @return 0 or RH_ENOMEM */
int rh_decide_drain(struct rh_decision *decision);
/** Emit an Event with the exit code of the main container of the pod at @p place. @return 0 or RH_ENOMEM */
int rh_decide_emit_exit(struct rh_decision *decision, size_t place);

/** Set a condition; its reason is the kind's name and @p word. @return 1 when it changed, 0 or RH_ENOMEM */
int rh_decide_condition(struct rh_decision *decision, const char *type, bool value, const char *word,
                        const char *message);
/** Emit an Event; its reason is the kind's name and @p word. @return 0 or RH_ENOMEM */
int rh_decide_emit(struct rh_decision *decision, bool warning, const char *word, const char *message);
/** Write the counts into replicaStatuses. @return 0 or RH_ENOMEM */
int rh_decide_counts(struct rh_decision *decision);

/** A job that has finished: clean up, wait for its TTL. @return 0 or RH_ENOMEM */
int rh_decide_finished(struct rh_decision *decision);
/** The job succeeds. @return 0 or RH_ENOMEM */
int rh_decide_succeed(struct rh_decision *decision, const struct rh_verdict *verdict);
/** The job fails with @p message and the first fault in the condition. @return 0 or RH_ENOMEM */
int rh_decide_fail(struct rh_decision *decision, bool warning, const char *word, const char *message);
/** The job fails because of a limit: delete all pods. @return 0 or RH_ENOMEM */
int rh_decide_end(struct rh_decision *decision, enum rh_ledger_end end);
/** @return whether activeDeadlineSeconds has passed; if not, the decision wakes when it passes */
bool rh_decide_past_deadline(struct rh_decision *decision);

/** Suspend a running job. @return 0 or RH_ENOMEM */
int rh_decide_suspend(struct rh_decision *decision);
/** Keep a job suspended, or resume it once its pods are gone. @return 0 or RH_ENOMEM */
int rh_decide_suspended(struct rh_decision *decision);

/** Stop one pod: delete it, or force it when it has been terminating for too long. @return 0 or RH_ENOMEM */
int rh_decide_stop(struct rh_decision *decision, const struct rh_pod *pod);
/** Stop every pod of the job. @return 0 or RH_ENOMEM */
int rh_decide_stop_all(struct rh_decision *decision);
/** Delete every Service of the job. @return 0 or RH_ENOMEM */
int rh_decide_drop_services(struct rh_decision *decision);
/** Delete a Service of the job, unless its delete is in flight. @return 0 or RH_ENOMEM */
int rh_decide_drop_service(struct rh_decision *decision, const struct rh_child *service);
/** @return whether @p child is a Service of the job */
bool rh_decide_is_service(const struct rh_decision *decision, const struct rh_child *child);
/** Create missing pods and Services, adopt those without an owner, delete surplus ones.
 * @return 0 or RH_ENOMEM */
int rh_decide_children(struct rh_decision *decision);
/** @return whether the replicas of the type are leaders */
bool rh_decide_leads(const struct rh_replica_spec *spec);
/** Create, update and delete further objects, and find out whether pods may be created. @return 0 or RH_ENOMEM */
int rh_decide_objects(struct rh_decision *decision);
/** Delete the further objects that are not desired. @return 0 or RH_ENOMEM */
int rh_decide_drop_objects(struct rh_decision *decision);

/** @return whether the gang scheduler permits to create pods */
bool rh_decide_gang_is_open(const struct rh_decision *decision);
/** The job waits for its gang scheduler. @return 0 or RH_ENOMEM */
int rh_decide_gang_wait(struct rh_decision *decision);

/** @return how many more creates of @p verb (of pods or Services) the plan may have; SIZE_MAX: no limit */
size_t rh_decide_creates_allowed(struct rh_decision *decision, enum rh_action_verb verb);
/** Start with the counts of the status that is held back, as if it were written. */
void rh_decide_take_held(struct rh_decision *decision);
/** Plan a status write if it differs, or a wake-up for a delayed one. @return 0 or RH_ENOMEM */
int rh_decide_write_status(struct rh_decision *decision);
/** Set the condition Stalled by what the store refuses. @return 0 or RH_ENOMEM */
int rh_decide_stalled(struct rh_decision *decision);

#endif
