/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/runtime_spec.h
 * @brief Creates the plan for a shim from a Pod object: arguments, environment, volumes, limits.
 *
 * The same input gives the same plan. The only side effect is to write folders and files of volumes, below the pod's
 * own directory.
 */
#ifndef RH_LOCAL_RUNTIME_SPEC_H
#define RH_LOCAL_RUNTIME_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "config/config.h"

/** Variable with the path of the file in which torch's @record writes an exception. */
#define RH_RUNTIME_SPEC_ERROR_VARIABLE "TORCHELASTIC_ERROR_FILE"
/** Suffix of that file, CONTAINER.error.json in the pod's private directory, unless the pod sets the variable. */
#define RH_RUNTIME_SPEC_ERROR_FILE ".error.json"

/** Address of this machine for pods: status.hostIP. */
#define RH_RUNTIME_SPEC_HOST_IP "127.0.0.1"

/**
 * Find a ConfigMap, Secret or PersistentVolumeClaim (@p kind).
 * @return the whole object, borrowed until the plan is created, or NULL
 */
typedef const struct rh_json *rh_runtime_spec_lookup_fn(void *arg, const char *kind, const char *namespace_,
                                                        const char *name);

/** Capabilities of this machine: results of rh_runtime_spec_can_mount() and rh_runtime_spec_can_limit(). */
struct rh_runtime_spec_machine {
	bool can_mount; /**< a private mount namespace: volumes appear at their mountPath, service names in /etc/hosts */
	bool can_limit; /**< cgroups: cpu and memory limits are enforced */
	struct rh_error no_limit; /**< its message has the reason if not */
};

/** Input of a plan. Borrowed for the call; paths are absolute. */
struct rh_runtime_spec_input {
	const struct rh_json *pod;      /**< object of the store: metadata with name, namespace and uid, and spec */
	const struct rh_config *config; /**< back-off times, grace period, [images] */
	rh_runtime_spec_lookup_fn *lookup;
	void *lookup_arg;
	struct rh_runtime_spec_machine machine;
	const char *const
		*environment; /**< "NAME=value", NULL-terminated: inherited by containers; NULL: this process's own */
	const char *const *variables; /**< likewise, over those that are inherited; NULL: none */
	const char *pod_dir;          /**< the pod's private directory; created with mode 0700 if missing */
	const char *pods_dir;         /**< value of the variable RH_EXEC_PODS (local/exec.h); NULL: not set */
	const char *program;          /**< value of RH_EXEC_PROGRAM; NULL: not set */
	const char *log_dir;          /**< exists; each container appends to CONTAINER.log in it */
	const char *claims_dir;       /**< folder of new claims, NAMESPACE.CLAIM below it; made if needed; NULL: none */
	const char *work_dir;    /**< working directory of containers without a workingDir: the folder of the job file */
	const char *pod_ip;      /**< "127.1.0.3" */
	const char *hosts;       /**< text of /etc/hosts with service names, or NULL */
	const char *const *gpus; /**< devices from rh_devices_pick(): as many as rh_runtime_spec_gpus() */
	size_t gpu_count;
	bool detached; /**< the pod continues when its runner ends */
};

/**
 * Create the plan of a pod (see local/shim.h). It contains secrets: keep it out of files and logs. Blocks to write the
 * files of volumes.
 * @param[out] ret_plan owned by the caller
 * @param notes receives sentences for the user, each ended by a newline, about unsupported features ("cpu limits of
 * …"); pods of one job have the same ones, so show each once; may be NULL
 * @return 0; RH_ENOENT: a ConfigMap, Secret or key is missing: the pod waits with reason
 * CreateContainerConfigError; RH_EINVAL: this pod can never run here; RH_EIO; RH_ENOMEM. The message is for the pod's
 * status
 */
int rh_runtime_spec_make(const struct rh_runtime_spec_input *input, struct rh_json **ret_plan, struct rh_str *notes,
                         struct rh_error *err);
/**
 * Get the number of GPUs of a pod (nvidia.com/gpu of its limits): the sum of all containers and sidecars, or the
 * largest sum of an init container and the sidecars before it if that is more.
 * @return a count, or RH_EINVAL when it is not an integer
 */
int rh_runtime_spec_gpus(const struct rh_json *pod, struct rh_error *err);
/** Try to create a private mount namespace in a child process. Blocks for milliseconds. @return whether it works */
bool rh_runtime_spec_can_mount(void);
/** @param[out] why_not its message has the reason; may be NULL. @return whether this process may create cgroups with
 * memory and cpu limits */
bool rh_runtime_spec_can_limit(struct rh_error *why_not);

#endif
