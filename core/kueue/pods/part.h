/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/pods/part.h
 * @brief Jobs that also run with fewer workers: what they ask for at least, and with how many they were admitted.
 */
#ifndef RH_KUEUE_PODS_PART_H
#define RH_KUEUE_PODS_PART_H

#include <stdint.h>

#include "base/json.h"
#include "job/job.h"

/** The replica type that may get fewer pods: Worker, or the only one. All zero: none may. */
struct rh_kueue_part {
	char *path;    /**< of the type in the job, its members joined by dots; owned; NULL: none may */
	char *set;     /**< name of its pod set; owned */
	int32_t asked; /**< replicas that its user wants */
	int32_t now;   /**< that the job has: fewer while it is admitted with fewer */
	int32_t least; /**< that it runs with; 0: with all */
};

/** Free what it holds and make it empty. */
void rh_kueue_part_deinit(struct rh_kueue_part *part);
/**
 * Read it from the annotation RH_ANNOTATION_QUEUE_LEAST of @p job, and from the note of its admission.
 * @param[out] ret_part all zero at the call; rh_kueue_part_deinit() it, also after an error
 * @return 0 or RH_ENOMEM
 */
int rh_kueue_part_read(const struct rh_job *job, struct rh_kueue_part *ret_part);
/** @return with how many replicas @p workload is admitted; part->asked where it does not say */
int32_t rh_kueue_part_admitted(const struct rh_kueue_part *part, const struct rh_json *workload);
/** Put into a note that the job runs with @p count replicas. @return 0 or RH_ENOMEM */
int rh_kueue_part_note(const struct rh_kueue_part *part, int32_t count, struct rh_json *note);

#endif
