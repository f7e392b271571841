/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/plan.h
 * @brief The result of decide(), as data. It is carried out in stages; bodies are built when they are sent.
 */
#ifndef RH_ENGINE_PLAN_H
#define RH_ENGINE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os/clock.h"
#include "engine/ledger.h"
#include "job/status/status.h"

/** What one action does. */
enum rh_action_verb {
	RH_CREATE_POD,
	RH_CREATE_SERVICE,
	RH_CREATE_OBJECT, /**< index is the place in world.objects */
	RH_UPDATE_OBJECT, /**< likewise: its content differs from the desired one */
	RH_DELETE_POD,
	RH_DELETE_SERVICE,
	RH_DELETE_OBJECT,
	RH_DELETE_JOB, /**< ttlSecondsAfterFinished has expired */
	RH_ADOPT_POD,  /**< it has the job's labels and name, and no owner: the job becomes its owner */
	RH_ADOPT_SERVICE,
	RH_LOOK_OBJECT, /**< index as of RH_CREATE_OBJECT: another owner's object had its name; check whether it is free */
	RH_MAKE_OBJECT  /**< likewise: create what the plugin makes of random bytes, which are taken when it is sent */
};

/** One action. Texts are owned by the plan. */
struct rh_action {
	enum rh_action_verb verb;
	char *type;        /**< canonical replica type for pods and Services to create; else NULL */
	int32_t index;     /**< replica index, or place in world.objects */
	char *api_version; /**< for objects */
	char *kind;        /**< for objects */
	char *name;
	char *uid;  /**< precondition of a delete or adoption */
	bool force; /**< delete with grace period 0: the terminating timeout is over */
};

/** One Event to emit. */
struct rh_plan_event {
	bool warning; /**< type Warning, else Normal */
	char *reason;
	char *message;
};

/** Most pods of one attempt of a job whose logs are read: those that failed first. */
#define RH_PLAN_LOGS_MAX 16
/** How long the answer to a request for a log is awaited, microseconds. */
#define RH_PLAN_LOG_PATIENCE (10 * RH_SECOND)

/**
 * A plan. With write_ledger the ledger is written first, and confirmed before any delete of this plan; then follow
 * creates and deletes, then one status patch. Events here are the decision's; Events of creates and deletes
 * (SuccessfulCreatePod …) come from carrying them out.
 */
struct rh_plan {
	struct rh_action *actions;
	size_t action_count;
	size_t action_capacity;
	struct rh_plan_event *events;
	size_t event_count;
	size_t event_capacity;
	bool write_ledger; /**< with it, what the kind does not show of a status that is written (job/status/shown.h) */
	struct rh_ledger ledger; /**< the new ledger */
	bool write_status;
	struct rh_job_status status; /**< the new status */
	/**
	 * rh_hash() of the message for the condition Stalled, whether or not this plan writes it; 0: none. An input of the
	 * next decision once the plan is carried out.
	 */
	uint64_t stalled_hash;
	/**
	 * Wall-clock microseconds since when a status that only changes counts is held back; 0: none. Likewise an input of
	 * the next decision, with that status.
	 */
	int64_t held_since;
	/** UIDs of pods whose failed containers' logs are to be read before the first fault is judged; owned */
	char *logs[RH_PLAN_LOGS_MAX];
	size_t log_count;
	/** Pod and container of rank 0, whose log is to be read for ranks that do not come; owned; NULL: none is */
	char *stalls_pod;
	char *stalls_container;
	char *stalls_uid; /**< of that pod; owned, likewise */
	/** Name and UID of the pod of a rank that others wait for, which is to be evicted; owned; NULL: none is */
	char *evict_pod;
	char *evict_uid;
	int32_t held[RH_TYPES_MAX]; /**< for each type of the job: replicas without a pod that the plugin holds back */
	int64_t wake_at;            /**< when to decide again without a change; RH_NEVER: no timer */
	bool still;                 /**< no pod is left of a suspended job, none that runs of a finished one */
	bool done;                  /**< the job needs no further decision unless it is deleted or its spec changes, or */
	bool cleans;                /**< with done: a pod or Service of it appears, which is to go, too */
};

/** Most creates of one plan: later plans have the others once these have completed, so that decisions stay cheap while
 * a large job starts. */
#define RH_PLAN_CREATES_MAX 256

/** Pause between two reads of the log of rank 0, microseconds, and the longest: after an answer that the right is
 * missing. */
#define RH_PLAN_STALLS_PAUSE (INT64_C(30) * 1000000)
#define RH_PLAN_STALLS_PAUSE_MAX (INT64_C(600) * 1000000)

/** Free what the plan holds and make it empty. */
void rh_plan_deinit(struct rh_plan *plan);
/** Append an action with copies of the texts (each may be NULL). @return it, borrowed, or NULL when memory is out */
struct rh_action *rh_plan_act(struct rh_plan *plan, enum rh_action_verb verb, const char *type, int32_t index,
                              const char *name);
/** Append an event. @return 0 or RH_ENOMEM */
int rh_plan_emit(struct rh_plan *plan, bool warning, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/**
 * Append a delete with the precondition @p uid; nothing when @p uid is "": what has no UID yet cannot be deleted
 * safely.
 * @param force grace period 0, for pods. @return 0 or RH_ENOMEM
 */
int rh_plan_delete(struct rh_plan *plan, enum rh_action_verb verb, const char *name, const char *uid, bool force);
/** Append a pod whose log is to be read; there must be room. @return 0 or RH_ENOMEM */
int rh_plan_read_log(struct rh_plan *plan, const char *uid);
/** @return whether the plan has no action, Event, write, or log to read */
bool rh_plan_is_empty(const struct rh_plan *plan);
/** Print the plan as stable text, one line a thing, for tests and for `-v` logs. An empty one prints nothing. */
void rh_plan_print(const struct rh_plan *plan, struct rh_str *out);

/** A local plan that is freed when it goes out of scope. */
#define rh_auto_plan __attribute__((cleanup(rh_plan_deinit))) struct rh_plan

#endif
