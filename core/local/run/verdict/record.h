/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/verdict/record.h
 * @brief The history of each replica and the verdict on a job. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_VERDICT_RECORD_H
#define RH_LOCAL_RUN_VERDICT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "local/run.h"

/** A failure of a container that was not asked to stop. */
struct rh_run_failure {
	char container[64]; /**< "": none failed */
	int32_t exit_code;
	int32_t times; /**< in a row, each soon after the container's start; 0: not soon */
	int64_t at;    /**< wall-clock microseconds */
};

/** History of one replica, from its pods. */
struct rh_run_record {
	char *type; /**< canonical; owned */
	char *uid;  /**< of the pod that the following members describe; owned; NULL: no pod yet */
	int32_t index;
	int32_t phase;           /**< RH_PHASE_* */
	int32_t exit_code;       /**< -1: unknown */
	int32_t pods;            /**< number of pods so far */
	int32_t restarts;        /**< in place, in the present pod */
	int32_t restarts_before; /**< in place, in earlier pods */
	int64_t first_start;     /**< wall-clock microseconds, likewise below; 0: never */
	int64_t started_at;      /**< last start of its main container; 0: never */
	int64_t finished_at;
	const char *main;          /**< name of its main container; borrowed from the job */
	char failed[64];           /**< container that made the pod fail */
	bool deleting;             /**< its deletion was requested before it ended */
	struct rh_run_failure own; /**< its last failure without a request to stop */
	/** @name Its last reported fault @{ */
	int32_t blame;       /**< enum rh_blame; RH_BLAME_NONE: no fault */
	int32_t failed_code; /**< exit code; -1: unknown */
	int32_t rank;        /**< as in struct rh_pod, likewise the next */
	int32_t accused;
	int64_t failed_at;     /**< wall-clock microseconds, likewise the next */
	int64_t failing_since; /**< the first of the faults in a row of which that is the last; 0: no fault */
	char *reason;          /**< owned, likewise below; NULL: no fault */
	char *container;
	char *lines;
	/** @} */
};

/**
 * @return whether the replica's own failure is its result, though it was asked to end or goes on: it was not running
 * again, or its job failed, perhaps of that very failure. @param succeeded whether its job has
 */
bool rh_run_record_failed_before_stop(const struct rh_run_record *record, bool succeeded);
/**
 * @return whether the replica has run and did not come to an end by itself, as far as known: the report of an end may
 * be late. @param succeeded whether its job has
 */
bool rh_run_record_is_stopped(const struct rh_run_record *record, bool succeeded);

/** First fault of a job, determined when the job failed or was given up. Strings are owned. */
struct rh_run_judged {
	struct rh_run_fault fault; /**< as reported to the user; borrows from the members below */
	size_t rest;               /**< of a job whose replicas failed alike: where in text those are that had not ended */
	char *job;
	char *replica;
	char *container;
	char *reason;
	char *text;
	char *lines;
};

#endif
