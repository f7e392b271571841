/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/state.h
 * @brief What is kept of jobs and Workloads; for core/kueue alone. The files call each other in one direction:
 * kueue.c act.c, both watch.c, and all of them state.c.
 */
#ifndef RH_KUEUE_STATE_H
#define RH_KUEUE_STATE_H

#include "base/map.h"
#include "kueue/admission.h"
#include "kueue/decide.h"
#include "kueue/kueue.h"
#include "kueue/workload.h"

/** What is watched. */
enum rh_kueue_watched {
	RH_KUEUE_WORKLOADS,
	RH_KUEUE_FLAVORS,
	RH_KUEUE_CLASSES,     /**< WorkloadPriorityClasses */
	RH_KUEUE_POD_CLASSES, /**< PriorityClasses */
	RH_KUEUE_WATCHES
};

/** A watch. */
struct rh_kueue_watch {
	struct rh_kueue *kueue;
	enum rh_kueue_watched what;
	uint64_t id; /**< of the store */
	bool synced;
	char *problem;          /**< why it fails; owned; NULL: it works */
	struct rh_map *objects; /**< by name, owned trees; NULL for Workloads */
};

/** A job in a queue, a Workload, or both. Texts and trees are owned. */
struct rh_kueue_entry {
	struct rh_kueue *kueue;
	const struct rh_kind *kind;
	char *uid;        /**< of the job */
	char *namespace_; /**< of both */
	char *name;       /**< of the job */

	bool known;                /**< what follows about the job was read */
	struct rh_kueue_wish wish; /**< all zero before */
	bool suspend;
	bool finished;
	bool success;
	bool ready;
	bool still;                     /**< rh_kueue_still() was called since it could last have a pod */
	struct rh_json *succeeded;      /**< rh_kueue_reclaim_read(); or NULL */
	char *message;                  /**< of a finished job; or NULL */
	char *note_workload;            /**< UID in its note; NULL: it has none */
	char note_id[RH_KUEUE_ID_SIZE]; /**< of the admission in its note */
	uint64_t revision;              /**< of the job as read */
	uint64_t awaited;               /**< that our last patch gave it */

	struct rh_json *workload;         /**< without pod sets; NULL: there is none of ours */
	uint64_t workload_revision;       /**< also of one that is gone */
	char admission[RH_KUEUE_ID_SIZE]; /**< of it */

	bool open;        /**< the engine knows that the job may run */
	uint64_t request; /**< in flight; 0: none */
	enum rh_kueue_action action;
	uint32_t rounds;  /**< failures in a row */
	int64_t again_at; /**< not before; microseconds */
	char *problem;    /**< what cannot be done, and why; NULL: nothing */
	bool dirty;       /**< it is in the list of those to be looked at */
	struct rh_kueue_entry *next;
};

/** The state. */
struct rh_kueue {
	const struct rh_host *host;
	struct rh_store *store;
	struct rh_engine *engine;
	struct rh_kueue_watch watches[RH_KUEUE_WATCHES];
	struct rh_map *entries;   /**< by UID of the job */
	struct rh_map *workloads; /**< entries by "namespace/name" of their Workload */
	struct rh_map *others;    /**< kinds that Kueue's own integration serves in a namespace, by rh_kueue_other_key() */
	struct rh_kueue_entry *dirty;
	int64_t now;
	int64_t sweep_at; /**< when entries of jobs that are gone are looked for */
	bool lost;        /**< memory was out: everything is looked at again */
};

/** @return the number in metadata.resourceVersion; 0: none */
uint64_t rh_kueue_revision(const struct rh_json *object);
/** Room for rh_kueue_other_key(). */
#define RH_KUEUE_OTHER_SIZE 320
/**
 * Write the key of a kind in a namespace. It holds for that namespace alone: who may make Workloads there must not take
 * the jobs of other tenants out of their queues.
 */
void rh_kueue_other_key(const struct rh_kind *kind, const char *namespace_, char ret_key[RH_KUEUE_OTHER_SIZE]);
/** @return the facts of a job, as far as known */
struct rh_kueue_facts rh_kueue_facts_of(const struct rh_kueue_entry *entry);
/** Look at the entry in the next step, or when its back-off ends. */
void rh_kueue_mark(struct rh_kueue_entry *entry);
/** Likewise at once, and let the engine ask again. */
void rh_kueue_stir(struct rh_kueue_entry *entry);
/** @return why a list cannot be read, so that nothing is decided, borrowed; NULL: there is no reason */
const char *rh_kueue_trouble(const struct rh_kueue *kueue);
/** @return whether all lists are complete */
bool rh_kueue_is_synced(const struct rh_kueue *kueue);
/** @return the entry of the job, made when it is missing; NULL when memory is out */
struct rh_kueue_entry *rh_kueue_entry_of(struct rh_kueue *kueue, const struct rh_kueue_owner *owner);
/** Free an entry, which no request is in flight for, and no list has. */
void rh_kueue_entry_free(struct rh_kueue_entry *entry);

/** @name watch.c @{ */
/** Begin to watch. @return 0 or RH_ENOMEM */
int rh_kueue_watch_all(struct rh_kueue *kueue);
/** End that. */
void rh_kueue_unwatch_all(struct rh_kueue *kueue);
/** A Workload as it is now. */
void rh_kueue_observe(struct rh_kueue *kueue, const struct rh_json *object);
/** @} */

/** @name act.c @{ */
/** Do what is next for the entry. @return whether nothing is left of it: the caller frees it */
bool rh_kueue_act(struct rh_kueue_entry *entry);
/** @} */

#endif
