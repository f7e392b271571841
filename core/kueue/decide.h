/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/decide.h
 * @brief What is to be done for a job in a queue of Kueue, as a pure function of what is known of it and its Workload.
 */
#ifndef RH_KUEUE_DECIDE_H
#define RH_KUEUE_DECIDE_H

#include <stdbool.h>

/** What is known of a job and of its Workload. */
struct rh_kueue_facts {
	bool job;      /**< it exists */
	bool queued;   /**< it names a queue */
	bool finished; /**< it has succeeded or failed */
	bool still;    /**< no pod of it is left, or none that runs when it has finished, and none can be made */
	bool pods;     /**< of a job that exists no more: pods are left */
	bool suspend;  /**< its own suspend */
	bool noted;    /**< it has the note of some admission */
	bool ready;    /**< all its replicas run or have succeeded */

	bool other;    /**< it has a Workload that somebody else made: Kueue's own integration serves it */
	bool workload; /**< it has one of ours */
	bool deleting; /**< which is being deleted */
	bool locked;   /**< has our finalizer */
	bool same;     /**< is about the pods that the job has */
	bool current;  /**< and has its queue and priority */
	bool ended;    /**< is finished */
	bool reserved; /**< has quota */
	bool admitted; /**< is admitted */
	bool evicted;  /**< was admitted, and the quota is expected back */
	bool agreed;   /**< is admitted as the note of the job says */
	bool reported; /**< says that the pods are ready */
	bool spare;    /**< has quota for replicas that have succeeded */
	bool over;     /**< has given back quota of replicas that run again */
};

/** What is to be done next. */
enum rh_kueue_action {
	RH_KUEUE_NOTHING,
	RH_KUEUE_FORGET,  /**< nothing is left of either */
	RH_KUEUE_CREATE,  /**< make the Workload */
	RH_KUEUE_UPDATE,  /**< write what it should ask for */
	RH_KUEUE_DELETE,  /**< delete it: a new one follows */
	RH_KUEUE_UNLOCK,  /**< remove our finalizer */
	RH_KUEUE_RESUME,  /**< note the admission in the job, and let it run */
	RH_KUEUE_SUSPEND, /**< remove the note from the job, and suspend it */
	RH_KUEUE_RELEASE, /**< give the quota back */
	RH_KUEUE_REPORT,  /**< say that the pods are ready */
	RH_KUEUE_RECLAIM, /**< give the quota of replicas that have succeeded back */
	RH_KUEUE_FINISH   /**< say that the job has finished */
};

/** @return the next action; what it changes is in the facts of the next call */
enum rh_kueue_action rh_kueue_decide(const struct rh_kueue_facts *facts);
/** @return whether the job may have pods */
bool rh_kueue_may_run(const struct rh_kueue_facts *facts);

#endif
