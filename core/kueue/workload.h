/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/workload.h
 * @brief The Workload of a job: what it asks Kueue for.
 */
#ifndef RH_KUEUE_WORKLOAD_H
#define RH_KUEUE_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "job/job.h"
#include "kueue/pods/part.h"
#include "store/store.h"

/** The resource of Workloads. */
extern const struct rh_resource rh_kueue_workloads;
/** Held by Workloads whose job may have pods: they stay until the last one is gone. */
#define RH_KUEUE_FINALIZER "kueue.x-k8s.io/resource-in-use"
/** Annotation of a Workload: a hash of what it asks for. */
#define RH_KUEUE_ANNOTATION_HASH "roundhouse.dev/pod-sets"

/** What a job asks for, and in which queue. Texts are owned. */
struct rh_kueue_wish {
	char *queue;          /**< NULL: it names none */
	char *class;          /**< of its WorkloadPriorityClass; NULL: it names none */
	char *pod_class;      /**< the PriorityClass of its pods; NULL: they name none */
	bool prebuilt;        /**< it names a Workload that somebody made for it, as MultiKueue does */
	char *pod_sets;       /**< JSON */
	char hash[17];        /**< of these, and of the time */
	int64_t most_seconds; /**< it may run; 0: no limit */
	struct rh_kueue_part part;
};

/** @return whether jobs of @p kind can be queued: they can be suspended, and all their pods are the engine's */
bool rh_kueue_serves(const struct rh_kind *kind);
/** Read what @p job asks for. @param[out] ret_wish all zero at the call; rh_kueue_wish_deinit() it. @return 0 or
 * RH_ENOMEM */
int rh_kueue_wish_read(const struct rh_job *job, struct rh_kueue_wish *ret_wish);
/** Free what it holds and make it empty. */
void rh_kueue_wish_deinit(struct rh_kueue_wish *wish);

/** The priority of a Workload, and the class that it comes from. */
struct rh_kueue_priority {
	bool workload_class; /**< the class is a WorkloadPriorityClass, else a PriorityClass */
	const char *name;    /**< of the class, borrowed; NULL: there is none */
	int32_t value;
};

/** Whose Workload it is. Texts are borrowed. */
struct rh_kueue_owner {
	const struct rh_kind *kind;
	const char *namespace_;
	const char *name;
	const char *uid;
	uint64_t after; /**< the last revision of its former Workload, which is gone; 0: it had none */
};

/**
 * Two Workloads of one job never have the same name. Kueue (0.17) knows them by name: it may take a new one for the
 * former, which then never gets quota, or give away the quota of the new one when it forgets the former.
 * @return the name of the Workload of @p owner, owned by the caller, or NULL when memory is out
 */
char *rh_kueue_workload_name(const struct rh_kueue_owner *owner);
/** @return the Workload to create, owned by the caller, or NULL when memory is out */
struct rh_json *rh_kueue_workload_new(const struct rh_kueue_owner *owner, const struct rh_kueue_wish *wish,
                                      const struct rh_kueue_priority *priority);
/** @return the merge patch that makes a Workload without quota ask for @p wish; owned by the caller, or NULL */
struct rh_json *rh_kueue_workload_patch(const struct rh_kueue_wish *wish, const struct rh_kueue_priority *priority);
/** @return whether @p workload is in the queue, and has the priority class, of the wish */
bool rh_kueue_workload_is_current(const struct rh_json *workload, const struct rh_kueue_wish *wish);
/** @return whether it is one that rh_kueue_workload_new() made and no other client has made another one of */
bool rh_kueue_workload_is_ours(const struct rh_json *workload);

#endif
