/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/operations.h
 * @brief The operations of plugins, as the rest of the core calls them.
 */
#ifndef RH_HOST_OPERATIONS_H
#define RH_HOST_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "config/gang.h"
#include "host/host.h"
#include "host/judgement.h"
#include "job/addresses.h"
#include "job/lookups/lookups.h"
#include "job/manifest.h"
#include "job/pod.h"
#include "job/rules/findings.h"
#include "roundhouse/plugin.h"

/**
 * Opaque: what a plugin in a process of its own answered about one job. With it an operation does not wait until the
 * plugin answers: after a moment it ends with RH_EAGAIN, and rh_answers_are_awaited(). The caller goes on with other
 * jobs, and repeats what it did for this one when it is called: the repeated operation gets the answer. Operations
 * about other jobs of the plugin end so, too, and are called in turn.
 */
struct rh_answers;
/** An answer is there, or it is the turn of the job. Asks nothing itself. */
typedef void rh_answers_ready_fn(void *arg);
/** @return empty ones, owned by the caller; NULL when memory is out */
struct rh_answers *rh_answers_new(rh_answers_ready_fn *ready, void *arg);
/** Free them; an operation in progress goes on, and its answer is dropped. Before rh_host_free(). NULL is nothing. */
void rh_answers_free(struct rh_answers *answers);
/** Forget the answers, and wait for none: what the caller did for the job has come to its end. NULL is nothing. */
void rh_answers_clear(struct rh_answers *answers);
/** @return whether rh_answers_ready_fn is to be called */
bool rh_answers_are_awaited(const struct rh_answers *answers);
/** What a plugin is shown: one job and its state at one moment. All borrowed; the caller fills it. */
struct rh_snapshot {
	const struct rh_host *host;
	const struct rh_job *job;
	const struct rh_addresses *addresses; /**< NULL or empty: a cluster's */
	const struct rh_counts *counts;       /**< one for each of job->specs; NULL outside judge() */
	const struct rh_pod *const
		*pods;             /**< pods by spec and index: slot offsets[s] + i; NULL where absent; NULL outside judge() */
	const size_t *offsets; /**< for each of job->specs where its slots start in pods */
	const struct rh_gang *gang; /**< NULL: there is no gang scheduler */
	struct rh_answers *answers; /**< NULL: operations wait until the plugin answers */
	bool *looked; /**< set when the plugin looked at single replicas, so that its answer follows them; may be NULL */
	bool stored;  /**< the job is as a store delivered it, so that UID and resourceVersion identify its content */
	const int32_t *held; /**< for each of job->specs: replicas that the last judge() held back; NULL: none */
	const struct rh_lookups *lookups; /**< other objects that the job names; NULL: none were looked up */
	int32_t attempt;
	bool suspended; /**< the job is, or is to be, suspended */
	bool finished;
};

/**
 * Let the plugin of a kind with RH_KIND_EXPANDED give @p job its replica types, or refuse it (rh_job.refusals); a job
 * that is refused keeps those that it has. Nothing happens for other kinds, before the objects that the job names are
 * there, and for a job that is too large. To be called before any other operation.
 * @param snapshot host, answers and lookups count alone
 * @return as rh_host_pod()
 */
int rh_host_expand(const struct rh_snapshot *snapshot, struct rh_job *job, struct rh_error *err);
/** rh_host_expand() with the objects that the job names taken from @p files; NULL: there are none. */
int rh_host_expand_files(const struct rh_host *host, struct rh_job *job, const struct rh_manifest *files,
                         struct rh_error *err);
/**
 * Rules of the core (rh_job_validate), and of the job's plugin once the objects that it reads are there
 * (rh_lookups_are_complete()) and it is expanded (rh_host_expand()). @return 0, RH_ENOMEM or RH_EPLUGIN
 */
int rh_host_validate(const struct rh_snapshot *snapshot, struct rh_findings *findings, struct rh_error *err);
/**
 * Let the plugin edit @p pod, the body of replica @p index of @p type, which has template, labels, owner and ports
 * already.
 * @return 0, RH_EPLUGIN, RH_EINVAL (the plugin's words), RH_ENOMEM, RH_EIO, or RH_EAGAIN (see rh_host_set_retry())
 */
int rh_host_pod(const struct rh_snapshot *snapshot, const char *type, int32_t index, struct rh_json *pod,
                struct rh_error *err);
/** Append by what name a replica of the snapshot's job is reached on a cluster (rh_kind.host_name). */
void rh_host_reach(const struct rh_snapshot *snapshot, const char *type, int32_t index, struct rh_str *out);
/** Opaque: answers of a plugin about pods that were not asked for yet. */
struct rh_pods_ahead;
/** Free them. NULL is nothing. */
void rh_pods_ahead_free(struct rh_pods_ahead *ahead);
/**
 * rh_host_pod() for a caller that asks for one pod after another of the same snapshot: a plugin in a process of its own
 * is asked for many at once. @param ahead keeps the answers between calls; starts as NULL, freed by the caller
 */
int rh_host_next_pod(const struct rh_snapshot *snapshot, struct rh_pods_ahead **ahead, const char *type, int32_t index,
                     struct rh_json *pod, struct rh_error *err);
/**
 * Collect the further objects that the job needs now. @param[out] ret_objects an array, owned by the caller.
 * @return as rh_host_pod()
 */
int rh_host_objects(const struct rh_snapshot *snapshot, struct rh_json **ret_objects, struct rh_error *err);
/**
 * Let the plugin make an object that objects() named with random bytes. @param[out] ret_object with the apiVersion,
 * kind and name of @p made; owned by the caller, who frees it by rh_json_free_secret()
 * @return as rh_host_pod()
 */
int rh_host_make(const struct rh_snapshot *snapshot, const struct rh_made *made, struct rh_json **ret_object,
                 struct rh_error *err);
/**
 * Ask what the counts mean; the core's default where the plugin has no judge(). @p judgement must be empty.
 * @return as rh_host_pod()
 */
int rh_host_judge(const struct rh_snapshot *snapshot, struct rh_judgement *judgement, struct rh_error *err);

#endif
