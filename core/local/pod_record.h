/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod_record.h
 * @brief Which pod has a folder of a run: written by the runner before the pod starts, read by other processes.
 *
 * The file RH_POD_RECORD in the pod's folder is a JSON object {"namespace", "pod", "job", "replica"}. It is there as
 * soon as the link to the folder is (local/exec.h), and goes with the folder when the pod has ended.
 */
#ifndef RH_LOCAL_POD_RECORD_H
#define RH_LOCAL_POD_RECORD_H

#include "base/error.h"

/** Name of the file in a pod's folder. */
#define RH_POD_RECORD "pod.json"

/** Which pod it is. */
struct rh_pod_record {
	const char *namespace_;
	const char *pod;     /**< its name */
	const char *job;     /**< name of its job */
	const char *replica; /**< "worker-1" */
};

/** Write the record into @p folder, which exists. Texts are borrowed for the call. @return 0, RH_EIO or RH_ENOMEM */
int rh_pod_record_write(const char *folder, const struct rh_pod_record *record, struct rh_error *err);
/**
 * Read the record of @p folder. Blocks for the file.
 * @param[out] ret_record its texts, none of them NULL, are owned by the caller, for rh_pod_record_deinit()
 * @return 0, RH_ENOENT (there is none), RH_EINVAL (it is no record), RH_EIO or RH_ENOMEM
 */
int rh_pod_record_read(const char *folder, struct rh_pod_record *ret_record);
/** Free the texts of a record that was read. All zero is allowed. */
void rh_pod_record_deinit(struct rh_pod_record *record);

/** A record that is freed when it goes out of scope. */
#define rh_auto_pod_record __attribute__((cleanup(rh_pod_record_deinit))) struct rh_pod_record

#endif
